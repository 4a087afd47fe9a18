//! Each search by itself against the definition: in use, the first that is quick enough hides the others.

#[path = "../../tests/linear/draw.rs"]
mod draw;
#[path = "../../tests/linear/literal.rs"]
mod literal;

use super::limits::Limits;
use super::mask::{Mask, Wide};
use super::models::register::{Register, RegisterOp};
use super::operations::Operation;
use super::register::{breadth::Breadth, depth::Depth, walk::Walk, zones};
use super::search::window::Window;
use super::search::{Found, Search};
use super::timeline::Timeline;
use crate::Budget;
use draw::{Draw, Shape, history};
use std::sync::atomic::AtomicBool;

const REGISTER: Register = Register { initial: 0 };

/// Runs a search in slices of so many steps.
fn found(mut search: impl Search, steps: u64) -> bool {
    let (budget, stop) = (Budget::unlimited(), AtomicBool::new(false));
    loop {
        let limits = Limits {
            steps,
            memory: u64::MAX,
            budget: &budget,
            stop: &stop,
        };
        if let Some(found) = search.run(&limits) {
            return found == Found::Order;
        }
    }
}

fn all<K: Mask>(history: &[Operation<RegisterOp>]) -> [bool; 3] {
    let walk = Walk::new(REGISTER, history, |op| *op);
    let timeline = Timeline::new(&REGISTER, history);
    if walk.impossible.is_some() {
        assert!(!found(Depth::<K>::new(&walk, false), 1), "{history:?}");
    }
    [
        found(Depth::<K>::new(&walk, false), 1),
        found(Breadth::<K>::relaxed_first(&walk), 1),
        found(Window::<Register, K>::new(&REGISTER, &timeline), 1),
    ]
}

#[test]
fn every_search_agrees_with_the_definition() {
    let asked = std::env::var("ACKALL_FUZZ").ok();
    let rounds: u64 = asked.and_then(|asked| asked.parse().ok()).unwrap_or(10_000);
    let (mut lawful, mut by_zones) = (0, 0);
    for round in 0..rounds {
        let mut draw = Draw(3 << 40 | round);
        let mut shape = Shape::draw(&mut draw, round % 2 == 0);
        // One time in four there are many values, so that writes are often unique.
        shape.values *= [1, 1, 1, 4][draw.below(4) as usize];
        let history = history(&mut draw, &shape);
        let expected = literal::linearizable(&REGISTER, &history);
        lawful += u64::from(expected);
        assert_eq!(all::<u64>(&history), [expected; 3], "round {round}: {history:?}");
        assert_eq!(all::<Wide>(&history), [expected; 3], "round {round}: {history:?}");
        if let Some(fit) = zones::decide(REGISTER, &history, |op| *op) {
            by_zones += 1;
            assert_eq!(fit, expected, "round {round}: {history:?}");
        }
    }
    let often = rounds / 20;
    assert!(
        lawful > often && rounds - lawful > often && by_zones > often,
        "{lawful} {by_zones}"
    );
}
