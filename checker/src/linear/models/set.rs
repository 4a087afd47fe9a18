//! A set: `add` an element, `read` all of it. It begins empty, or with what is given.
//!
//! An add that failed did not happen; one without an answer may have. A read answers a set, or a list in any order.
//!
//! Nothing is ever taken out, so that all reads of one order are a chain, each within the next, and a read still to come
//! says what may not be added before it. A state is how many reads of the chain it covers, and what it has towards the
//! next one: elements that are added once by their number alone (which ones it has, the search knows: they are the
//! operations that are done), others one by one.

use super::values::{Values, elements};
use crate::linear::Model;
use crate::linear::model::{Completion, Decoded, Recorded};
use crate::linear::operations::Operation;
use history::Value;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Set {
    /// Shared with what is fitted.
    values: Arc<Values>,
    initial: Arc<[u32]>,
    chain: Chain,
}

/// What was done to a set, and what it answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SetOp {
    /// This was added.
    Add(u32),
    /// It was read, and had these, ascending.
    Read(Arc<[u32]>),
}

/// What a set has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SetState {
    /// How many reads of the chain it covers.
    covered: u32,
    /// How many elements it has of the next read that are added once; beyond the last, whether it has any.
    once: u32,
    /// The elements that it has of the next read, or beyond the last, that are added more than once; ascending.
    often: Box<[u32]>,
}

/// The reads of a history, each within the next.
#[derive(Clone, Debug, Default)]
struct Chain {
    /// Places by read; those that are in no chain with the others have none.
    places: FxHashMap<Arc<[u32]>, u32>,
    /// By place: how many elements it has that those before have not.
    grows: Vec<u32>,
    /// By element: the first read that has it, and whether it is added once.
    elements: FxHashMap<u32, (u32, bool)>,
}

/// The place of what is in no read.
const BEYOND: u32 = u32::MAX;

impl Chain {
    fn of(operations: &[Operation<SetOp>], initial: &[u32]) -> Chain {
        let mut chain = Chain::default();
        let mut reads: Vec<&Arc<[u32]>> = vec![];
        for operation in operations {
            match &operation.op {
                SetOp::Add(element) => {
                    let often =
                        chain.elements.contains_key(element) || initial.binary_search(element).is_ok();
                    chain.elements.insert(*element, (BEYOND, !often));
                }
                SetOp::Read(read) if operation.certain() => reads.push(read),
                SetOp::Read(_) => {}
            }
        }
        reads.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
        reads.dedup();
        let mut last: &[u32] = &[];
        for read in reads {
            if !within(last, read) {
                continue;
            }
            let place = chain.grows.len() as u32;
            let mut grows = 0;
            for element in read.iter() {
                let (first, _) = chain.elements.entry(*element).or_insert((BEYOND, false));
                if *first == BEYOND {
                    *first = place;
                    grows += 1;
                }
            }
            chain.grows.push(grows);
            chain.places.insert(read.clone(), place);
            last = read;
        }
        chain
    }

    /// Goes on to the reads that are now covered.
    fn settle(&self, mut state: SetState) -> SetState {
        while self.grows.get(state.covered as usize) == Some(&(state.once + state.often.len() as u32)) {
            state = SetState {
                covered: state.covered + 1,
                once: 0,
                often: Box::default(),
            };
        }
        state
    }

    fn add(&self, state: &SetState, element: u32) -> Option<SetState> {
        let (first, once) = self.elements.get(&element).copied().unwrap_or((BEYOND, false));
        let all_read = state.covered as usize == self.grows.len();
        if first < state.covered {
            return Some(state.clone());
        }
        // What is beyond the last read nobody tells apart: there is some of it, or none. Before, only what the next read
        // has may be added.
        if all_read {
            return Some(SetState {
                once: 1,
                ..state.clone()
            });
        }
        if first != state.covered {
            return None;
        }
        let mut after = state.clone();
        if once {
            after.once += 1;
        } else if let Err(place) = state.often.binary_search(&element) {
            let mut often = state.often.to_vec();
            often.insert(place, element);
            after.often = often.into();
        }
        Some(self.settle(after))
    }
}

/// Whether one ascending list is part of another.
fn within(small: &[u32], large: &[u32]) -> bool {
    let mut rest = large.iter();
    small.iter().all(|element| rest.any(|other| other == element))
}

impl Set {
    /// One that begins with these; empty where nothing is given.
    ///
    /// # Errors
    /// Where that is no list.
    pub(crate) fn new(initial: Option<&Value>) -> Result<Set, String> {
        let mut set = Set::default();
        if let Some(initial) = initial {
            set.initial = set.numbers(elements("the initial value", initial)?);
        }
        Ok(set)
    }

    fn numbers(&mut self, elements: &[Value]) -> Arc<[u32]> {
        let values = Arc::make_mut(&mut self.values);
        let mut numbers: Vec<u32> = elements.iter().map(|element| values.number(element)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.into()
    }
}

impl Model for Set {
    type Op = SetOp;
    type State = SetState;

    fn initial(&self) -> SetState {
        let empty = SetState {
            covered: 0,
            once: 0,
            often: Box::default(),
        };
        let start = self.chain.settle(empty);
        // What is there at first is not added once: it cannot be counted.
        let full = self
            .initial
            .iter()
            .try_fold(start, |state, element| self.chain.add(&state, *element));
        full.unwrap_or(SetState {
            covered: BEYOND,
            once: 0,
            often: Box::default(),
        })
    }

    fn step(&self, state: &SetState, op: &SetOp) -> Option<SetState> {
        match op {
            SetOp::Add(element) => self.chain.add(state, *element),
            SetOp::Read(read) => {
                let place = *self.chain.places.get(read)?;
                let exact = state.covered == place + 1 && state.once == 0 && state.often.is_empty();
                exact.then(|| state.clone())
            }
        }
    }

    fn reads_only(&self, op: &SetOp) -> bool {
        matches!(op, SetOp::Read(_))
    }

    fn state_bytes(&self, state: &SetState) -> u64 {
        state.often.len() as u64 * 4
    }

    fn looks_ahead(&self) -> bool {
        true
    }

    fn fitted(&self, operations: &[Operation<SetOp>]) -> Option<Set> {
        Some(Set {
            chain: Chain::of(operations, &self.initial),
            ..self.clone()
        })
    }

    fn refutes(&self, operations: &[Operation<SetOp>]) -> bool {
        let apart = |op: &SetOp| matches!(op, SetOp::Read(read) if !self.chain.places.contains_key(read));
        operations
            .iter()
            .any(|operation| operation.certain() && apart(&operation.op))
    }
}

impl Recorded for Set {
    fn decode(
        &mut self,
        f: &str,
        invoked: &Value,
        completion: Completion<'_>,
    ) -> Result<Decoded<SetOp>, String> {
        Ok(match (f, completion) {
            ("add" | "read", Completion::Fail) | ("read", Completion::Unknown) => Decoded::Skip,
            ("add", _) => Decoded::One(SetOp::Add(Arc::make_mut(&mut self.values).number(invoked))),
            ("read", Completion::Ok(read)) => {
                Decoded::One(SetOp::Read(self.numbers(elements("what was read", read)?)))
            }
            _ => return Err(format!("expected add or read, found {f:?}")),
        })
    }

    fn words(&self, op: &SetOp) -> String {
        match op {
            SetOp::Add(element) => format!("add {}", self.values.value(*element)),
            SetOp::Read(read) => format!("read {}", self.values.list(read)),
        }
    }
}
