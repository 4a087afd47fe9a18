//! Shorter cycles by real time: where one transaction had ended when a later one of the cycle began, what lies between
//! them need not be told.

use super::anomaly::CycleAnomaly;
use super::cycle::EdgeKind;
use super::search::{Hop, Ring};
use super::store::{End, Store};

/// Longer cycles are left as they are: each round looks at every pair.
const LONGEST: usize = 256;

/// The cycle without what real time makes needless. It stays the anomaly that it is.
pub(super) fn shorten(store: &Store, ring: &Ring) -> Ring {
    let mut short = ring.clone();
    if ring.hops.len() > LONGEST || !ring.kinds().contains(&EdgeKind::Realtime) {
        return short;
    }
    let anomaly = CycleAnomaly::of(&ring.kinds());
    while let Some(next) = without_most(store, &short) {
        if CycleAnomaly::of(&next.kinds()) != anomaly {
            break;
        }
        short = next;
    }
    short
}

fn precedes(store: &Store, one: u32, other: u32) -> bool {
    let (one, other) = (
        store.transactions[one as usize],
        store.transactions[other as usize],
    );
    one.end == End::Committed && one.ended.is_some_and(|ended| ended < other.began)
}

/// The cycle with its longest stretch without rw that real time spans made one hop. None where there is none of two
/// hops or more.
fn without_most(store: &Store, ring: &Ring) -> Option<Ring> {
    let count = ring.hops.len();
    let at = |place: usize| ring.hops[place % count];
    let stretches = (0..count).flat_map(|first| {
        let no_rw = (1..count).take_while(move |length| at(first + length - 1).kind != EdgeKind::Rw);
        no_rw.map(move |length| (length, first))
    });
    let spanned = stretches
        .filter(|(length, first)| *length > 1 && precedes(store, at(*first).from, at(first + length).from));
    let (length, first) = spanned.max()?;
    let mut hops = vec![Hop {
        from: at(first).from,
        kind: EdgeKind::Realtime,
    }];
    hops.extend((first + length..first + count).map(at));
    Some(Ring { hops })
}
