//! From a run that fails to the fewest decisions with which it still breaks the same rule.
//!
//! Delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002):
//! parts of the schedule are left out, ever smaller ones, as long as the rule still breaks. What
//! is left is minimal in the sense that no single decision can be left out.

use super::campaign::{Order, Run, run};
use super::schedule::{Decision, DecisionId, Schedule, Script};

/// A run may take so many times the events of the run that failed before it counts as one that
/// does not: with other decisions the same rule may break a little later, and never to break it
/// should not cost a whole run.
const PATIENCE: u64 = 2;

/// What came of shrinking.
#[derive(Debug, Clone)]
pub struct Shrunk {
    /// The smallest schedule found.
    pub script: Script,
    /// The run that it gives, with its trace.
    pub run: Run,
    /// How many decisions there were before.
    pub from: usize,
    /// How many runs it took.
    pub runs: u64,
}

/// Shrinks a run that failed. `progress` is told of each schedule that still fails.
///
/// None when the run, made again, does not fail: it would be no run of this code.
pub fn shrink(order: &Order, trace_lines: usize, mut progress: impl FnMut(usize)) -> Option<Shrunk> {
    let first = run(order.clone());
    let rule = first.rule()?;
    let limit = first.counts.events.saturating_mul(PATIENCE).min(order.min_events);
    let mut runs = 1;
    let mut breaks = |ids: &[DecisionId]| {
        runs += 1;
        let tried = run(Order {
            schedule: Schedule::only(ids.iter().copied()),
            min_events: limit,
            ..order.clone()
        });
        (tried.rule() == Some(rule)).then(|| ids_of(&tried.decisions))
    };
    let mut ids = ids_of(&first.decisions);
    if let Some(same) = breaks(&ids) {
        ids = minimal(same, |ids| {
            let kept = breaks(ids);
            kept.inspect(|kept| progress(kept.len()))
        });
    }
    let run = run(Order {
        schedule: Schedule::only(ids),
        min_events: limit,
        trace_lines,
        ..order.clone()
    });
    (run.rule() == Some(rule)).then(|| Shrunk {
        script: Script {
            seed: order.seed,
            bug: order.bug,
            min_events: limit,
            decisions: run.decisions.clone(),
        },
        run,
        from: first.decisions.len(),
        runs,
    })
}

fn ids_of(decisions: &[Decision]) -> Vec<DecisionId> {
    decisions.iter().map(|decision| decision.id).collect()
}

/// The fewest of these that `keeps` accepts; it says which of those that it is given were used.
fn minimal<T: Copy + PartialEq>(mut items: Vec<T>, mut keeps: impl FnMut(&[T]) -> Option<Vec<T>>) -> Vec<T> {
    let mut parts = 2;
    while !items.is_empty() {
        let size = items.len().div_ceil(parts);
        let mut shrunk = false;
        let mut from = 0;
        while from < items.len() {
            let to = (from + size).min(items.len());
            let without: Vec<T> = [&items[..from], &items[to..]].concat();
            match keeps(&without) {
                Some(used) => {
                    items = used;
                    shrunk = true;
                }
                None => from = to,
            }
        }
        if size == 1 && !shrunk {
            break;
        }
        parts = if shrunk { 2.max(parts / 2) } else { parts * 2 };
        parts = parts.min(items.len().max(1));
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_stays_and_all_else_goes() {
        for needed in [vec![], vec![3], vec![0, 41], vec![7, 8, 30, 99]] {
            let mut runs = 0;
            let found = minimal((0..100).collect(), |items: &[u32]| {
                runs += 1;
                let all = needed.iter().all(|item| items.contains(item));
                all.then(|| items.to_vec())
            });
            assert_eq!(found, needed);
            assert!(runs < 300, "{runs}");
        }
    }

    #[test]
    fn what_cannot_shrink_stays() {
        let found = minimal(vec![1, 2, 3], |items: &[u32]| {
            (items.len() == 3).then(|| items.to_vec())
        });
        assert_eq!(found, [1, 2, 3]);
    }
}
