//! Why one transaction precedes another, by the registers.

use super::versions::Versions;
use crate::txn::cycle::EdgeKind;
use crate::txn::store::Step;

/// The reason for an edge, with the names that the two go by.
pub(super) fn reason(
    versions: &Versions<'_>,
    from: (u32, &str),
    to: (u32, &str),
    kind: EdgeKind,
) -> Option<String> {
    let store = versions.store;
    store.steps(from.0).iter().find_map(|step| match (*step, kind) {
        (Step::Write { element }, EdgeKind::Wr) if versions.installer(element).is_some() => {
            let read = |step: &Step| matches!(step, Step::Value { element: Some(read), .. } if read.get() == element);
            store.steps(to.0).iter().any(read).then(|| {
                let (key, value) = (store.key_name(store.key(*step)), store.value(element));
                format!("{} read {}'s write of {value} to {key}", to.1, from.1)
            })
        }
        (Step::Write { element }, EdgeKind::Ww) if versions.installer(element).is_some() => {
            let later = later(versions, element, to.0)?;
            let (key, value) = (store.key_name(store.key(*step)), store.value(element));
            let later = store.value(later);
            Some(format!("{} wrote {value} to {key}, which {} overwrote with {later}", from.1, to.1))
        }
        (Step::Value { key, element }, EdgeKind::Rw) => {
            let version = element.map(|element| element.get());
            let later = later(versions, versions.node(key, version), to.0)?;
            let read = version.map_or("nil".into(), |element| store.value(element));
            let (key, later) = (store.key_name(key), store.value(later));
            Some(format!("{} read {key} as {read}, which {} overwrote with {later}", from.1, to.1))
        }
        _ => None,
    })
}

/// The version that a transaction installed right after another.
fn later(versions: &Versions<'_>, version: u32, by: u32) -> Option<u32> {
    let next = versions.next(version);
    next.into_iter()
        .find(|next| versions.installer(*next) == Some(by))
}
