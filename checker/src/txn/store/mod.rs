//! Transactions in columns: each operation is taken apart as it comes and dropped.
//!
//! Keys and elements (a value under a key) are numbered. A list that was read is the beginning of an *order* of its
//! key: a list grown as longer reads come, so that all reads which agree share one, and each is two numbers.

mod elements;
mod keys;
mod orders;
mod take;

pub(super) use elements::{Element, Elements};
pub(super) use keys::Keys;
pub(super) use orders::{Order, Orders};
pub(super) use take::take;

use crate::Operations;
use std::fmt::Write;
use std::ops::Range;

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It took effect.
    Committed,
    /// It did not.
    Aborted,
    /// Nobody knows.
    Unknown,
}

/// One step of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It wrote an element.
    Write {
        /// The element.
        element: u32,
    },
    /// It read a list: so many elements of an order.
    List {
        /// The key.
        key: u32,
        /// The order; any where `length` is 0.
        order: u32,
        /// How many of its elements.
        length: u32,
    },
    /// It read a value.
    Value {
        /// The key.
        key: u32,
        /// The element; none is the initial value.
        element: Option<Element>,
    },
}

/// A transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transaction {
    /// Its process.
    pub(super) process: u64,
    /// The place of its invocation in the stream.
    pub(super) began: u64,
    /// The place of its completion, where it has one that says how it ended.
    pub(super) ended: Option<u64>,
    /// The index of the entry that proves it: its completion, or its invocation.
    pub(super) index: u64,
    /// How it ended.
    pub(super) end: End,
    /// Where its steps begin.
    first: u32,
}

/// All transactions.
#[derive(Debug, Default)]
pub(super) struct Store {
    /// The keys.
    pub(super) keys: Keys,
    /// What was written or read under them.
    pub(super) elements: Elements,
    /// Lists that were read.
    pub(super) orders: Orders,
    /// The transactions, numbered by when they ended.
    pub(super) transactions: Vec<Transaction>,
    /// All steps, one transaction's after another's. Of those that did not commit, writes alone.
    pub(super) steps: Vec<Step>,
    /// How many there are of each outcome.
    pub(super) operations: Operations,
}

impl Store {
    /// The number of transactions.
    pub(super) fn count(&self) -> u32 {
        self.transactions.len() as u32
    }

    /// The places of a transaction's steps.
    pub(super) fn places(&self, transaction: u32) -> Range<usize> {
        let first = |which: usize| self.transactions.get(which).map(|one| one.first as usize);
        let which = transaction as usize;
        first(which).unwrap_or(0)..first(which + 1).unwrap_or(self.steps.len())
    }

    /// A transaction's steps.
    pub(super) fn steps(&self, transaction: u32) -> &[Step] {
        &self.steps[self.places(transaction)]
    }

    /// How a transaction ended.
    pub(super) fn end(&self, transaction: u32) -> End {
        self.transactions[transaction as usize].end
    }

    /// The transactions that committed, with their steps.
    pub(super) fn committed(&self) -> impl Iterator<Item = (u32, &[Step])> + '_ {
        (0..self.count())
            .filter(|which| self.end(*which) == End::Committed)
            .map(|which| (which, self.steps(which)))
    }

    /// The lists that committed transactions read: the reader, the key, the list's order and length.
    pub(super) fn lists_read(&self) -> impl Iterator<Item = (u32, u32, u32, u32)> + '_ {
        self.committed().flat_map(|(reader, steps)| {
            steps.iter().filter_map(move |step| match *step {
                Step::List { key, order, length } => Some((reader, key, order, length)),
                _ => None,
            })
        })
    }

    /// The values that committed transactions read, initial ones apart: the reader, the key, the element.
    pub(super) fn values_read(&self) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        self.committed().flat_map(|(reader, steps)| {
            steps.iter().filter_map(move |step| match *step {
                Step::Value {
                    key,
                    element: Some(element),
                } => Some((reader, key, element.get())),
                _ => None,
            })
        })
    }

    /// The key of a step.
    pub(super) fn key(&self, step: Step) -> u32 {
        match step {
            Step::Write { element } => self.elements.key(element),
            Step::List { key, .. } | Step::Value { key, .. } => key,
        }
    }

    /// Who wrote an element, where it is known and did not abort: a version that exists.
    pub(super) fn installer(&self, element: u32) -> Option<u32> {
        self.elements
            .writer(element)
            .filter(|writer| self.end(*writer) != End::Aborted)
    }

    /// A list that was read.
    pub(super) fn list(&self, order: u32, length: u32) -> &[u32] {
        if length == 0 {
            return &[];
        }
        &self.orders.get(order).elements[..length as usize]
    }

    /// A list that was read, or none.
    pub(super) fn list_of(&self, read: Option<(u32, u32)>) -> &[u32] {
        read.map_or(&[], |(order, length)| self.list(order, length))
    }

    /// An element, for people.
    pub(super) fn value(&self, element: u32) -> String {
        self.keys.value(self.elements.datum(element))
    }

    /// A key, for people.
    pub(super) fn key_name(&self, key: u32) -> String {
        self.keys.name(key)
    }

    /// The end of a list, for people: long ones are cut at the beginning.
    pub(super) fn list_text(&self, order: u32, length: u32) -> String {
        let list = self.list(order, length);
        let cut = list.len().saturating_sub(LIST_SHOWN);
        let mut text = String::from(if cut > 0 { "[..." } else { "[" });
        for (place, element) in list[cut..].iter().enumerate() {
            let space = if place > 0 || cut > 0 { " " } else { "" };
            // Writing to a text cannot fail.
            let _ = write!(text, "{space}{}", self.value(*element));
        }
        text.push(']');
        text
    }

    /// What a transaction did, for people.
    pub(super) fn text(&self, transaction: u32) -> String {
        let steps = self.steps(transaction);
        let mut text = String::from("[");
        for (place, step) in steps.iter().take(STEPS_SHOWN).enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            let _ = write!(text, "{comma}{}", self.step_text(*step));
        }
        if steps.len() > STEPS_SHOWN {
            let _ = write!(text, ", and {} more", steps.len() - STEPS_SHOWN);
        }
        text.push(']');
        text
    }

    fn step_text(&self, step: Step) -> String {
        let key = self.key_name(self.key(step));
        match step {
            Step::Write { element } => format!("{} {key} {}", self.orders.verb(), self.value(element)),
            Step::List { order, length, .. } => format!("r {key} {}", self.list_text(order, length)),
            Step::Value { element, .. } => {
                let value = element.map_or("nil".into(), |element| self.value(element.get()));
                format!("r {key} {value}")
            }
        }
    }
}

/// Elements of a list that are shown.
const LIST_SHOWN: usize = 12;
/// Steps of a transaction that are shown.
const STEPS_SHOWN: usize = 8;
