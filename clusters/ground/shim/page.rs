//! What the clock shim and a node's init have in common: where the two pages are, and what is in them.
//!
//! Compiled twice: into the ground, and into the shim. So: no std, no dependency, and nothing that can panic.
//!
//! All times are nanoseconds. A rate is a fraction of [`RATE_ONE`]: what a clock gains in a nanosecond.

use core::sync::atomic::{AtomicI32, AtomicI64, AtomicU64, Ordering, fence};

/// The bits behind the point of a rate: 4e-15, and room for a clock that is a thousand times too fast.
pub const RATE_BITS: u32 = 48;
/// The strobes that one node may have at a time: what has room in the page, and more than anybody asks for.
pub const MAX_STROBES: usize = 8;
/// The processes of a node that can say what they are shown.
pub const MAX_REPORTS: usize = 256;

/// How one clock is shown: the truth, plus `offset`, plus `rate` since `anchor`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    pub anchor: i64,
    pub offset: i64,
    pub rate: i64,
}

impl Line {
    /// What the clock is ahead by at the true time `t`.
    pub fn gain(self, t: i64) -> i64 {
        if self.rate == 0 {
            return self.offset;
        }
        let since = t.wrapping_sub(self.anchor);
        self.offset
            .wrapping_add(((since as i128 * self.rate as i128) >> RATE_BITS) as i64)
    }

    /// The true time at which the clock shows `shown`.
    pub fn truth(self, shown: i64) -> i64 {
        let behind = shown.wrapping_sub(self.offset);
        let since = behind.wrapping_sub(self.anchor);
        // A rate of -1 would be a clock that stands; the ground gives out none, and nothing may divide by zero here.
        let speed = (1_i128 << RATE_BITS) + self.rate as i128;
        if self.rate == 0 || speed <= 0 {
            return behind;
        }
        self.anchor
            .wrapping_add((((since as i128) << RATE_BITS) / speed) as i64)
    }
}

/// A clock that is ahead by `amplitude` every other `period`, from the second one after `anchor` on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flicker {
    pub anchor: i64,
    pub amplitude: i64,
    pub period: i64,
}

impl Flicker {
    /// What it adds at the true time `t`.
    pub fn gain(self, t: i64) -> i64 {
        if self.period <= 0 || t < self.anchor {
            return 0;
        }
        ((t.wrapping_sub(self.anchor) / self.period) & 1) * self.amplitude
    }
}

/// Three numbers in shared memory.
#[repr(C)]
pub struct Three([AtomicI64; 3]);

impl Three {
    fn get(&self) -> [i64; 3] {
        [&self.0[0], &self.0[1], &self.0[2]].map(|number| number.load(Ordering::Relaxed))
    }

    fn put(&self, numbers: [i64; 3]) {
        for (place, number) in self.0.iter().zip(numbers) {
            place.store(number, Ordering::Relaxed);
        }
    }
}

/// All that is in force at a time.
#[repr(C, align(64))]
pub struct Side {
    wall: Three,
    monotonic: Three,
    strobes: AtomicU64,
    strobe: [Three; MAX_STROBES],
}

/// The page of rules: init writes, the shim reads.
///
/// There are two sides. The one that `generation` names is in force; init fills the other and then turns the page, so
/// that no reader ever waits for a writer that has lost its CPU.
#[repr(C)]
pub struct Rules {
    generation: AtomicU64,
    /// Rises whenever init wants to know what the processes are shown.
    pub asked: AtomicU64,
    sides: [Side; 2],
}

impl Rules {
    fn read<T>(&self, of: impl Fn(&Side) -> T) -> T {
        loop {
            let generation = self.generation.load(Ordering::Acquire);
            // `& 1` is within two sides.
            let value = of(&self.sides[(generation & 1) as usize]);
            fence(Ordering::Acquire);
            if self.generation.load(Ordering::Relaxed) == generation {
                return value;
            }
        }
    }

    /// What the wall clock is ahead by at the true time `t`.
    #[inline]
    pub fn wall_gain(&self, t: i64) -> i64 {
        self.read(|side| line(&side.wall).gain(t).wrapping_add(flickers(side, t)))
    }

    /// What the monotonic clock is ahead by at the true time `t`.
    #[inline]
    pub fn monotonic_gain(&self, t: i64) -> i64 {
        self.read(|side| line(&side.monotonic).gain(t))
    }

    /// The true time at which the wall clock shows `shown`, as it looks at the true time that `now` gives. `now` is
    /// asked only where that matters.
    pub fn wall_truth(&self, shown: i64, now: impl Fn() -> i64) -> i64 {
        let strobes = self.read(|side| side.strobes.load(Ordering::Relaxed));
        let now = if strobes == 0 { 0 } else { now() };
        self.read(|side| line(&side.wall).truth(shown.wrapping_sub(flickers(side, now))))
    }

    /// The true time at which the monotonic clock shows `shown`.
    pub fn monotonic_truth(&self, shown: i64) -> i64 {
        self.read(|side| line(&side.monotonic).truth(shown))
    }

    /// Puts other rules in force. One writer only; strobes beyond [`MAX_STROBES`] are left out.
    pub fn write(&self, wall: Line, monotonic: Line, strobes: &[Flicker]) {
        let next = self.generation.load(Ordering::Relaxed).wrapping_add(1);
        let side = &self.sides[(next & 1) as usize];
        // A reader that still is on this side, from two pages ago, must see that the page has turned since.
        fence(Ordering::Release);
        side.wall.put([wall.anchor, wall.offset, wall.rate]);
        side.monotonic
            .put([monotonic.anchor, monotonic.offset, monotonic.rate]);
        for (place, strobe) in side.strobe.iter().zip(strobes) {
            place.put([strobe.anchor, strobe.amplitude, strobe.period]);
        }
        let count = if strobes.len() < MAX_STROBES {
            strobes.len()
        } else {
            MAX_STROBES
        };
        side.strobes.store(count as u64, Ordering::Relaxed);
        self.generation.store(next, Ordering::Release);
    }
}

fn line(three: &Three) -> Line {
    let [anchor, offset, rate] = three.get();
    Line { anchor, offset, rate }
}

#[inline]
fn flickers(side: &Side, t: i64) -> i64 {
    let count = side.strobes.load(Ordering::Relaxed) as usize;
    let mut gain = 0_i64;
    for three in side.strobe.iter().take(count) {
        let [anchor, amplitude, period] = three.get();
        let flicker = Flicker {
            anchor,
            amplitude,
            period,
        };
        gain = gain.wrapping_add(flicker.gain(t));
    }
    gain
}

/// What a process says that it is shown. Written by the process, while it holds `lock`; read and cleared by init.
#[repr(C, align(64))]
pub struct Report {
    /// Whose it is, in the node's own numbers; 0 is nobody's.
    pub pid: AtomicI32,
    /// 1 while it is written.
    pub lock: AtomicI32,
    /// Rises with every report.
    pub count: AtomicU64,
    /// When, on the true monotonic clock; and what the process was shown instead.
    pub monotonic_true: AtomicI64,
    pub monotonic_shown: AtomicI64,
    /// The true wall clock, and what the process was shown instead.
    pub wall_true: AtomicI64,
    pub wall_shown: AtomicI64,
    /// How far apart the truths before and after were: what is shown belongs to some instant in between.
    pub window: AtomicI64,
}

/// The page of reports.
#[repr(C)]
pub struct Reports(pub [Report; MAX_REPORTS]);
