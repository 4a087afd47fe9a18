//! Small random histories of a register: lawful ones, and the same with one thing changed.

use checker::linear::{Operation, RegisterOp};

/// A stream of numbers (SplitMix64).
pub struct Draw(pub u64);

impl Draw {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// What histories are like.
pub struct Shape {
    pub operations: u64,
    pub values: u64,
    pub times: u64,
    pub pending_percent: u64,
    pub cas: bool,
}

impl Shape {
    pub fn draw(draw: &mut Draw, cas: bool) -> Shape {
        let operations = 1 + draw.below(8);
        Shape {
            operations,
            values: 1 + draw.below(4),
            // Few times make ties.
            times: 2 + draw.below(3 * operations),
            pending_percent: [0, 20, 50][draw.below(3) as usize],
            cas,
        }
    }
}

/// A history that some register made, one time in two with an answer changed. The register holds 0 at first.
pub fn history(draw: &mut Draw, shape: &Shape) -> Vec<Operation<RegisterOp>> {
    // Each operation has an interval and a moment in it; in the order of moments they are answered.
    let mut intervals: Vec<(u64, u64, u64)> = (0..shape.operations)
        .map(|_| {
            let mut times = [0; 3].map(|_| draw.below(shape.times));
            times.sort_unstable();
            (times[1], times[0], times[2])
        })
        .collect();
    intervals.sort_unstable();
    let mut state = 0;
    let mut history: Vec<Operation<RegisterOp>> = intervals
        .into_iter()
        .map(|(_, invoked, completed)| {
            let op = answered(draw, shape, &mut state);
            if draw.chance(shape.pending_percent) {
                Operation::pending(op, invoked)
            } else {
                Operation::completed(op, invoked, completed).expect("times are sorted")
            }
        })
        .collect();
    if draw.chance(50) {
        let changed = draw.below(history.len() as u64) as usize;
        history[changed].op = any(draw, shape);
    }
    // The order in which operations are listed means nothing.
    for place in (1..history.len()).rev() {
        history.swap(place, draw.below(place as u64 + 1) as usize);
    }
    history
}

fn answered(draw: &mut Draw, shape: &Shape, state: &mut u32) -> RegisterOp {
    // A pending one may or may not have happened.
    match any(draw, shape) {
        RegisterOp::Write(value) => {
            *state = value;
            RegisterOp::Write(value)
        }
        RegisterOp::Cas(old, new) if old == *state => {
            *state = new;
            RegisterOp::Cas(old, new)
        }
        RegisterOp::Cas(old, _) => RegisterOp::Differs(old),
        _ => RegisterOp::Read(*state),
    }
}

fn any(draw: &mut Draw, shape: &Shape) -> RegisterOp {
    let mut value = || draw.below(shape.values) as u32;
    let (first, second) = (value(), value());
    match draw.below(if shape.cas { 5 } else { 2 }) {
        0 => RegisterOp::Write(first),
        1 => RegisterOp::Read(first),
        4 => RegisterOp::Differs(first),
        _ => RegisterOp::Cas(first, second),
    }
}
