//! Registers of which each value is written once need no search (Gibbons and Korach, "Testing shared memories",
//! 1997).
//!
//! All operations of one value, its write and its reads, stand together in every order. The *zone* of a value lies
//! between the first completion among them and the last invocation. Where the first comes before the second, the
//! register must have held the value from the one to the other: two such zones cannot overlap. Where it does not,
//! all of them were open together for a while, and one moment of it is enough, unless it lies wholly within some
//! other value's zone.
//!
//! Intervals are closed: an invocation at the time of a completion comes before it.

use super::walk::simple;
use crate::linear::models::register::{Register, RegisterOp};
use crate::linear::operations::Operation;
use rustc_hash::FxHashMap;

/// What is known of a value.
#[derive(Clone, Copy)]
struct Zone {
    /// When it was written.
    written: u64,
    /// The last invocation.
    last_invoked: u64,
    /// The first completion; none where there is none.
    first_completed: Option<u64>,
}

/// Times at which the register must have held one value.
struct Held {
    from: u64,
    to: u64,
}

/// Whether a register's history is linearizable, where each value is written once, and never the initial one;
/// nothing where it is not so.
pub(crate) fn decide<Op>(
    register: Register,
    operations: &[Operation<Op>],
    op: impl Fn(&Op) -> RegisterOp,
) -> Option<bool> {
    let what = |operation: &Operation<Op>| simple(op(&operation.op));
    let mut zones = writes(register, operations, what)?;
    // The initial value is held from before all times to its last read.
    let mut initial_until: Option<u64> = None;
    for operation in operations {
        let (RegisterOp::Read(value), Some(completed)) = (what(operation), operation.completed_at()) else {
            continue;
        };
        let invoked = operation.invoked_at();
        if value == register.initial {
            initial_until = initial_until.max(Some(invoked));
            continue;
        }
        let Some(zone) = zones.get_mut(value) else {
            return Some(false);
        };
        if completed < zone.written {
            return Some(false);
        }
        zone.last_invoked = zone.last_invoked.max(invoked);
        zone.first_completed = Some(
            zone.first_completed
                .map_or(completed, |first| first.min(completed)),
        );
    }
    Some(fit(zones, initial_until))
}

/// Zones by value: a table where the values' numbers allow it.
enum Zones {
    Table(Vec<Option<Zone>>),
    Map(FxHashMap<u32, Zone>),
}

impl Zones {
    fn get_mut(&mut self, value: u32) -> Option<&mut Zone> {
        match self {
            Zones::Table(table) => table.get_mut(value as usize)?.as_mut(),
            Zones::Map(map) => map.get_mut(&value),
        }
    }

    /// Puts a zone in; whether there was none.
    fn put(&mut self, value: u32, zone: Zone) -> bool {
        match self {
            Zones::Table(table) => {
                let place = value as usize;
                if place >= table.len() {
                    table.resize(place + 1, None);
                }
                table[place].replace(zone).is_none()
            }
            Zones::Map(map) => map.insert(value, zone).is_none(),
        }
    }

    fn all(self) -> Box<dyn Iterator<Item = Zone>> {
        match self {
            Zones::Table(table) => Box::new(table.into_iter().flatten()),
            Zones::Map(map) => Box::new(map.into_values()),
        }
    }
}

/// The writes; nothing where a value is written twice or something else is done than writing and reading.
fn writes<Op>(
    register: Register,
    operations: &[Operation<Op>],
    what: impl Fn(&Operation<Op>) -> RegisterOp,
) -> Option<Zones> {
    let mut largest = operations.iter().map(|operation| match what(operation) {
        RegisterOp::Write(value) => Some(value),
        // Those that never completed say nothing.
        RegisterOp::Read(_) => Some(0),
        RegisterOp::Differs(_) if operation.completed_at().is_none() => Some(0),
        RegisterOp::Differs(_) | RegisterOp::Cas(..) => None,
    });
    let largest = largest.try_fold(0, |most, value| Some(most.max(value?)))?;
    let mut zones = if (largest as usize) < operations.len() * 2 + 1024 {
        Zones::Table(Vec::with_capacity(largest as usize + 1))
    } else {
        Zones::Map(FxHashMap::default())
    };
    for operation in operations {
        if let RegisterOp::Write(value) = what(operation) {
            let zone = Zone {
                written: operation.invoked_at(),
                last_invoked: operation.invoked_at(),
                first_completed: operation.completed_at(),
            };
            if value == register.initial || !zones.put(value, zone) {
                return None;
            }
        }
    }
    Some(zones)
}

/// Whether the zones have room beside each other.
fn fit(zones: Zones, initial_until: Option<u64>) -> bool {
    let (mut held, mut moments): (Vec<Held>, Vec<Held>) = Default::default();
    // What nobody saw and never completed need not have happened.
    for (zone, completed) in zones.all().filter_map(|zone| Some((zone, zone.first_completed?))) {
        if completed < zone.last_invoked {
            held.push(Held {
                from: completed,
                to: zone.last_invoked,
            });
        } else {
            moments.push(Held {
                from: zone.last_invoked,
                to: completed,
            });
        }
    }
    if !held.is_sorted_by_key(|held| held.from) {
        held.sort_unstable_by_key(|held| held.from);
    }
    let after_initial = |until: u64| {
        held.first().is_none_or(|first| first.from >= until)
            && moments.iter().all(|moment| moment.to >= until)
    };
    if !initial_until.is_none_or(after_initial) {
        return false;
    }
    if held.windows(2).any(|pair| pair[0].to > pair[1].from) {
        return false;
    }
    moments.iter().all(|moment| {
        let before = held.partition_point(|held| held.from < moment.from);
        before == 0 || held[before - 1].to <= moment.to
    })
}
