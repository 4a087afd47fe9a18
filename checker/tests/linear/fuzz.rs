//! The searches and the definition agree.

use crate::draw::{Draw, Shape, history};
use crate::literal::linearizable;
use checker::Budget;
use checker::linear::{Answer, Model, Operation, Register, RegisterOp, check_operations};

/// How many histories each test draws; `ACKALL_FUZZ` asks for another number.
fn rounds() -> u64 {
    let asked = std::env::var("ACKALL_FUZZ").ok();
    asked.and_then(|asked| asked.parse().ok()).unwrap_or(10_000)
}

#[test]
fn registers_agree_with_the_definition() {
    agree(1, false);
}

#[test]
fn cas_registers_agree_with_the_definition() {
    agree(2, true);
}

fn agree(seed: u64, cas: bool) {
    let mut verdicts = [0; 2];
    for round in 0..rounds() {
        let mut draw = Draw(seed << 40 | round);
        let shape = Shape::draw(&mut draw, cas);
        let drawn = history(&mut draw, &shape);
        let register = Register { initial: 0 };
        let expected = linearizable(&register, &drawn);
        verdicts[usize::from(expected)] += 1;
        match check_operations(&register, &drawn, &Budget::unlimited()) {
            Answer::Linearizable => assert!(expected, "round {round}: {drawn:#?}"),
            Answer::NotLinearizable(stuck) => {
                assert!(!expected, "round {round}: {drawn:#?}");
                assert_order(&register, &drawn, &stuck.linearized, stuck.at);
            }
            Answer::Unknown(spent) => panic!("round {round}: {spent}"),
        }
    }
    assert!(
        verdicts.iter().all(|count| *count > rounds() / 20),
        "{verdicts:?}"
    );
}

/// An order that got stuck is one that the object and real time allow, and takes in all that completed before.
fn assert_order(model: &Register, history: &[Operation<RegisterOp>], order: &[usize], at: usize) {
    let mut state = model.initial();
    for (place, op) in order.iter().enumerate() {
        state = model
            .step(&state, &history[*op].op)
            .expect("each step is possible");
        let overtaken = order[place + 1..].iter().any(|later| {
            let completed = history[*later].completed_at();
            completed.is_some_and(|completed| completed < history[*op].invoked_at())
        });
        assert!(!overtaken, "{order:?} of {history:?}");
    }
    assert!(
        !order.contains(&at) || history[at].completed_at().is_none(),
        "{order:?} at {at}"
    );
    let end = history[at].completed_at().expect("it completed");
    for (op, operation) in history.iter().enumerate() {
        if operation.completed_at().is_some_and(|completed| completed < end) {
            assert!(order.contains(&op), "{op} is not in {order:?} of {history:?}");
        }
    }
}
