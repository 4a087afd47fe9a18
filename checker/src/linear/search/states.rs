//! The states of a model by number, and what operations do to them: each step is made once.

use crate::linear::Model;
use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;

/// The first state's number.
pub(crate) const FIRST: u32 = 0;

/// Where an operation is not possible.
const NOWHERE: u32 = u32::MAX;

/// States and steps of a model, over kinds of operations: equal operations are of one kind.
pub(crate) struct States<'a, M: Model> {
    model: &'a M,
    kinds: Vec<&'a M::Op>,
    states: Vec<M::State>,
    by_content: HashTable<u32>,
    steps: FxHashMap<(u32, u32), u32>,
    outside: u64,
}

impl<'a, M: Model> States<'a, M> {
    pub(crate) fn new(model: &'a M, kinds: Vec<&'a M::Op>) -> States<'a, M> {
        let mut states = States {
            model,
            kinds,
            states: Vec::new(),
            by_content: HashTable::new(),
            steps: FxHashMap::default(),
            outside: 0,
        };
        states.number(model.initial());
        states
    }

    fn number(&mut self, state: M::State) -> u32 {
        let hash = FxBuildHasher.hash_one(&state);
        let states = &self.states;
        if let Some(known) = self
            .by_content
            .find(hash, |number| states[*number as usize] == state)
        {
            return *known;
        }
        let number = states.len() as u32;
        self.outside += self.model.state_bytes(&state);
        self.states.push(state);
        let states = &self.states;
        self.by_content.insert_unique(hash, number, |number| {
            FxBuildHasher.hash_one(&states[*number as usize])
        });
        number
    }

    /// The state after an operation of a kind.
    #[inline]
    pub(crate) fn step(&mut self, state: u32, kind: u32) -> Option<u32> {
        let after = match self.steps.get(&(state, kind)) {
            Some(known) => *known,
            None => self.make(state, kind),
        };
        (after != NOWHERE).then_some(after)
    }

    fn make(&mut self, state: u32, kind: u32) -> u32 {
        let made = self
            .model
            .step(&self.states[state as usize], self.kinds[kind as usize]);
        let after = made.map_or(NOWHERE, |state| self.number(state));
        self.steps.insert((state, kind), after);
        after
    }

    /// Whether a state leads to one in which an operation of a kind is possible.
    pub(crate) fn reaches(&self, state: u32, kind: u32) -> bool {
        self.model
            .reaches(&self.states[state as usize], self.kinds[kind as usize])
    }

    /// Whether operations of a kind reset.
    pub(crate) fn resets(&self, kind: u32) -> bool {
        self.model.resets(self.kinds[kind as usize])
    }

    /// How many steps were made.
    pub(crate) fn made(&self) -> usize {
        self.steps.len()
    }

    /// Bytes that they hold.
    pub(crate) fn bytes(&self) -> u64 {
        let state = size_of::<M::State>() as u64 + 5;
        self.states.capacity() as u64 * state + self.steps.capacity() as u64 * 14 + self.outside
    }
}
