//! Reads of lists that reach as far as an element of some kind.

use crate::txn::store::Store;

/// The reads that reach the place which `first` finds in their list, if it finds one: the reader, the key, the element
/// there. `first` is asked once of each list, however many transactions read it.
pub(super) fn reads_of(
    store: &Store,
    first: impl FnMut(&[u32]) -> Option<usize>,
) -> impl Iterator<Item = (u32, u32, u32)> {
    let lists = store.orders.all().iter().map(|order| &order.elements[..]);
    let firsts: Vec<Option<usize>> = lists.map(first).collect();
    // Mostly there is none, and no read needs to be looked at.
    let any = firsts.iter().any(Option::is_some);
    let reads = any.then(|| store.lists_read()).into_iter().flatten();
    reads.filter_map(move |(reader, key, order, length)| {
        let place = firsts.get(order as usize).copied().flatten()?;
        let element = store.list(order, length).get(place)?;
        Some((reader, key, *element))
    })
}
