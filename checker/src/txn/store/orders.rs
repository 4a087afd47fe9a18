//! Lists that were read, each as the beginning of a longer one that agrees with it.

use super::keys::Datum;

/// A list of a key's elements that some read was.
#[derive(Debug)]
pub(in crate::txn) struct Order {
    /// Its elements.
    pub(in crate::txn) elements: Vec<u32>,
    /// Their values.
    pub(super) data: Vec<Datum>,
}

/// All of them.
#[derive(Debug, Default)]
pub(in crate::txn) struct Orders {
    all: Vec<Order>,
    /// For each key its orders.
    of_key: Vec<Vec<u32>>,
    /// Whether the history is one of lists.
    lists: bool,
}

/// So many of a key's orders, the latest, are compared with a read: a key with more is broken however they are told
/// apart.
const COMPARED: usize = 8;

impl Orders {
    /// For a history of lists, or of registers.
    pub(super) fn new(lists: bool) -> Orders {
        Orders {
            lists,
            ..Orders::default()
        }
    }

    /// What a write is called.
    pub(super) fn verb(&self) -> &'static str {
        if self.lists { "append" } else { "w" }
    }

    /// An order.
    pub(in crate::txn) fn get(&self, order: u32) -> &Order {
        &self.all[order as usize]
    }

    /// All orders, by number.
    pub(in crate::txn) fn all(&self) -> &[Order] {
        &self.all
    }

    /// A key's orders.
    pub(in crate::txn) fn of_key(&self, key: u32) -> &[u32] {
        self.of_key.get(key as usize).map_or(&[], Vec::as_slice)
    }

    /// The order that a list of a key begins, or goes on from; a new one where there is none. `number` numbers the
    /// elements that are new to the order.
    pub(super) fn place(&mut self, key: u32, list: &[Datum], mut number: impl FnMut(Datum) -> u32) -> u32 {
        let at = key as usize;
        if self.of_key.len() <= at {
            self.of_key.resize_with(at + 1, Vec::new);
        }
        for which in self.of_key[at].iter().rev().take(COMPARED) {
            let order = &mut self.all[*which as usize];
            let common = order.data.len().min(list.len());
            if order.data[..common] == list[..common] {
                for datum in &list[common..] {
                    order.data.push(*datum);
                    order.elements.push(number(*datum));
                }
                return *which;
            }
        }
        let which = self.all.len() as u32;
        self.of_key[at].push(which);
        self.all.push(Order {
            elements: list.iter().map(|datum| number(*datum)).collect(),
            data: list.to_vec(),
        });
        which
    }
}
