//! Linearizability by its definition, slowly: every order of the operations is tried.

use checker::linear::{Model, Operation};

/// Whether there is an order of all completed operations, and of any pending ones, that real time and the object
/// allow.
pub fn linearizable<M: Model>(model: &M, history: &[Operation<M::Op>]) -> bool {
    order(model, history, &model.initial(), &mut vec![false; history.len()])
}

fn order<M: Model>(model: &M, history: &[Operation<M::Op>], state: &M::State, done: &mut [bool]) -> bool {
    let left: Vec<usize> = (0..history.len()).filter(|op| !done[*op]).collect();
    if left.iter().all(|op| history[*op].completed_at().is_none()) {
        return true;
    }
    for op in &left {
        // An operation comes after all that completed before it was invoked.
        let follows = |other: &usize| {
            let completed = history[*other].completed_at();
            completed.is_some_and(|completed| completed < history[*op].invoked_at())
        };
        if left.iter().any(follows) {
            continue;
        }
        if let Some(after) = model.step(state, &history[*op].op) {
            done[*op] = true;
            let found = order(model, history, &after, done);
            done[*op] = false;
            if found {
                return true;
            }
        }
    }
    false
}
