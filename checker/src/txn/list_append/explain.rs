//! Why one transaction precedes another, by the lists.

use super::versions::Versions;
use crate::txn::store::Step;

/// The elements that a transaction appended.
fn appended<'a>(versions: &Versions<'a>, by: u32) -> impl Iterator<Item = u32> + 'a {
    versions.store.steps(by).iter().filter_map(|step| match step {
        Step::Write { element } => Some(*element),
        _ => None,
    })
}

/// For ww.
pub(super) fn overwrote(versions: &Versions<'_>, from: (u32, &str), to: (u32, &str)) -> Option<String> {
    let store = versions.store;
    for element in appended(versions, to.0) {
        let key = store.elements.key(element);
        let place = versions.place(element);
        let end = place.unwrap_or(versions.list(key).len());
        let Some((before, _)) = versions.previous(key, end).filter(|(_, by)| *by == from.0) else {
            continue;
        };
        let (key, before, element) = (store.key_name(key), store.value(before), store.value(element));
        let (from, to) = (from.1, to.1);
        return Some(match place {
            Some(_) => format!("{from} appended {before} to {key}, and {to} appended {element} after it"),
            None => format!(
                "{from} appended {before} to {key}, the last that anyone read, and {to} appended {element}, which \
                 nobody read"
            ),
        });
    }
    None
}

/// For wr.
pub(super) fn read_from(versions: &Versions<'_>, from: (u32, &str), to: (u32, &str)) -> Option<String> {
    let store = versions.store;
    store.steps(to.0).iter().find_map(|step| {
        let Step::List { key, order, length } = *step else {
            return None;
        };
        let last = *store.list(order, length).last()?;
        (store.installer(last)? == from.0).then(|| {
            let (value, key) = (store.value(last), store.key_name(key));
            format!("{} read {}'s append of {value} to {key}", to.1, from.1)
        })
    })
}

/// For rw.
pub(super) fn missed(versions: &Versions<'_>, from: (u32, &str), to: (u32, &str)) -> Option<String> {
    let store = versions.store;
    store.steps(from.0).iter().find_map(|step| {
        let Step::List { key, order, length } = *step else {
            return None;
        };
        let next = versions.next(key, versions.after(order, length)?);
        let element = match next {
            Some((element, by)) => (by == to.0).then_some(element)?,
            None => appended(versions, to.0)
                .find(|element| store.elements.key(*element) == key && !versions.is_seen(*element))?,
        };
        let (read, value) = (store.list_text(order, length), store.value(element));
        let key = store.key_name(key);
        Some(format!(
            "{} read {key} as {read}, without {}'s append of {value}",
            from.1, to.1
        ))
    })
}
