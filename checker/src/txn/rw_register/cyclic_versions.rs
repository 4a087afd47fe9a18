//! Cyclic versions: what is assumed of keys makes a key's versions precede each other in a circle.

use super::versions::Versions;
use crate::txn::found::{Instances, example};

/// Versions of a circle that are shown.
const SHOWN: usize = 12;

/// Finds them: one for each key.
pub(super) fn find(versions: &Versions<'_>) -> Instances {
    let store = versions.store;
    let mut found = Instances::default();
    for (key, circle) in &versions.cyclic {
        found.add(|| {
            let shown: Vec<String> = circle
                .iter()
                .take(SHOWN)
                .map(|node| versions.version(*node).map_or("nil".into(), |element| store.value(element)))
                .collect();
            let writers = circle.iter().take(SHOWN).filter_map(|node| versions.installer(*node));
            let operations = writers.map(|by| store.transactions[by as usize].index).collect();
            let text = format!(
                "{} versions of {} precede each other in a circle: {}; what is assumed of its order is dropped",
                circle.len(),
                store.key_name(*key),
                shown.join(", ")
            );
            example(operations, text)
        });
    }
    found
}
