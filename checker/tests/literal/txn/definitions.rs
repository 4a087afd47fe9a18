//! The anomalies by their definitions: every pair of versions, every simple cycle.

use super::{Step, Txn};
use checker::Level;
use history::Kind;
use std::collections::{BTreeMap, BTreeSet};

/// What is assumed of registers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Assumed {
    /// Writes follow reads.
    pub writes_follow_reads: bool,
    /// Keys are sequential.
    pub sequential_keys: bool,
    /// Keys are linearizable.
    pub linearizable_keys: bool,
}

/// What there is.
#[derive(Debug, Default)]
pub struct Anomalies {
    /// What is no cycle, with how many there are.
    pub direct: BTreeMap<&'static str, u64>,
    /// The names of all cycles.
    pub cycles: BTreeSet<String>,
    /// Whether no transaction is known to precede another.
    pub no_edges: bool,
    /// Whether two longest lists contradict each other: which of them is the order is anyone's choice.
    pub tie: bool,
}

impl Anomalies {
    /// Whether a level rules one of them out.
    pub fn break_level(&self, level: Level) -> bool {
        let mut names = self
            .cycles
            .iter()
            .map(String::as_str)
            .chain(self.direct.keys().copied());
        names.any(|name| ruled_out(level).contains(&name))
    }
}

/// The names that a level rules out.
pub fn ruled_out(level: Level) -> Vec<&'static str> {
    const PL1: &[&str] = &["G0", "duplicate-elements", "cyclic-versions"];
    const PL2: &[&str] = &[
        "G1a",
        "G1b",
        "G1c",
        "incompatible-order",
        "future-read",
        "dirty-update",
    ];
    const SINGLE: &[&str] = &["G-single-item", "G-nonadjacent-item"];
    const PROCESS: &[&str] = &[
        "G0-process",
        "G1c-process",
        "G-single-item-process",
        "G-nonadjacent-item-process",
    ];
    const REALTIME: &[&str] = &[
        "G0-realtime",
        "G1c-realtime",
        "G-single-item-realtime",
        "G-nonadjacent-item-realtime",
    ];
    let snapshot = [PL1, PL2, &["internal", "lost-update"], SINGLE];
    match level {
        Level::ReadUncommitted => PL1.to_vec(),
        Level::ReadCommitted | Level::MonotonicAtomicView => [PL1, PL2].concat(),
        Level::CursorStability => [PL1, PL2, &["lost-update"]].concat(),
        Level::RepeatableRead => [PL1, PL2, &["lost-update", "G2-item"], SINGLE].concat(),
        Level::ReadAtomic => [PL1, PL2, &["internal"]].concat(),
        Level::Causal => [PL1, PL2, &["internal", "G0-process", "G1c-process"]].concat(),
        Level::ParallelSnapshotIsolation => [PL1, PL2, &["internal", "lost-update"]].concat(),
        Level::SnapshotIsolation => snapshot.concat(),
        Level::Serializable => [&snapshot.concat()[..], &["G2-item"]].concat(),
        Level::StrongSessionSnapshotIsolation => [&snapshot.concat()[..], PROCESS].concat(),
        Level::StrongSessionSerializable => {
            [&snapshot.concat()[..], PROCESS, &["G2-item", "G2-item-process"]].concat()
        }
        Level::StrongSnapshotIsolation => [&snapshot.concat()[..], REALTIME].concat(),
        Level::StrongSerializable => {
            [&snapshot.concat()[..], REALTIME, &["G2-item", "G2-item-realtime"]].concat()
        }
    }
}

/// The order of clients that is looked at besides data.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clock {
    None,
    Process,
    Realtime,
}

fn clock(level: Level) -> Clock {
    let name = level.text();
    if name.starts_with("strong-session") || level == Level::Causal {
        Clock::Process
    } else if name.starts_with("strong") {
        Clock::Realtime
    } else {
        Clock::None
    }
}

type Edge = (usize, usize, &'static str);

/// A version of a key: a value, or none for the initial one.
type Version = Option<i64>;

/// All anomalies, with the clients' order that a level looks at.
pub fn anomalies(txns: &[Txn], lists: bool, level: Level, assumed: &Assumed) -> Anomalies {
    let mut found = Anomalies::default();
    direct(txns, lists, &mut found);
    let keys: BTreeSet<i64> = txns.iter().flat_map(|txn| &txn.steps).map(key).collect();
    let mut edges: BTreeSet<Edge> = BTreeSet::new();
    for key in keys {
        if lists {
            list_edges(txns, key, &mut edges, &mut found);
        } else {
            register_edges(txns, key, assumed, &mut edges, &mut found);
        }
    }
    for (one, from) in txns.iter().enumerate() {
        for (other, to) in txns.iter().enumerate() {
            match clock(level) {
                Clock::Realtime if from.before(to) => _ = edges.insert((one, other, "realtime")),
                Clock::Process if from.process == to.process && from.before(to) => {
                    edges.insert((one, other, "process"));
                }
                _ => {}
            }
        }
    }
    edges.retain(|(from, to, _)| from != to);
    found.no_edges = edges.is_empty();
    cycles(txns.len(), &edges, &mut found.cycles);
    found
}

fn key(step: &Step) -> i64 {
    match step {
        Step::Write(key, _) | Step::Read(key, _) => *key,
    }
}

/// Who wrote a value.
fn writer(txns: &[Txn], key: i64, value: i64) -> Option<usize> {
    txns.iter().position(|txn| txn.writes(key).contains(&value))
}

/// Who installed a value: its writer, where it did not abort.
fn installer(txns: &[Txn], key: i64, value: i64) -> Option<usize> {
    writer(txns, key, value).filter(|writer| txns[*writer].kind != Kind::Fail)
}

/// Reads of a key by committed transactions.
fn reads(txns: &[Txn], key: i64) -> Vec<(usize, Vec<i64>)> {
    let mut reads = Vec::new();
    for (which, txn) in txns.iter().enumerate().filter(|(_, txn)| txn.ok()) {
        for step in &txn.steps {
            if let Step::Read(of, list) = step
                && *of == key
            {
                reads.push((which, list.clone()));
            }
        }
    }
    reads
}

fn list_edges(txns: &[Txn], key: i64, edges: &mut BTreeSet<Edge>, found: &mut Anomalies) {
    let reads = reads(txns, key);
    let longest = reads.iter().map(|(_, list)| list.len()).max().unwrap_or(0);
    let order = reads
        .iter()
        .map(|(_, list)| list)
        .find(|list| list.len() == longest)
        .cloned()
        .unwrap_or_default();
    found.tie |= reads
        .iter()
        .any(|(_, list)| list.len() == longest && *list != order);
    for (_, list) in &reads {
        if !order.starts_with(list) || turned(txns, key, list) {
            *found.direct.entry("incompatible-order").or_default() += 1;
        }
    }
    let installers = |values: &[i64]| -> Vec<usize> {
        values
            .iter()
            .filter_map(|value| installer(txns, key, *value))
            .collect()
    };
    // What committed and nobody saw comes after all that was seen.
    let seen: BTreeSet<i64> = reads.iter().flat_map(|(_, list)| list).copied().collect();
    let mut unseen: Vec<usize> = Vec::new();
    for (which, txn) in txns.iter().enumerate().filter(|(_, txn)| txn.ok()) {
        unseen.extend(
            txn.writes(key)
                .iter()
                .filter(|value| !seen.contains(value))
                .map(|_| which),
        );
    }
    for (place, value) in order.iter().enumerate() {
        for from in installers(&[*value]) {
            for to in installers(&order[place + 1..]).into_iter().chain(unseen.clone()) {
                edges.insert((from, to, "ww"));
            }
        }
    }
    for (reader, list) in &reads {
        if let Some(writer) = list.last().and_then(|last| installer(txns, key, *last)) {
            edges.insert((writer, *reader, "wr"));
        }
        let after = if order.starts_with(list) {
            Some(list.len())
        } else {
            let last = list.last();
            last.and_then(|last| order.iter().position(|value| value == last))
                .map(|place| place + 1)
        };
        if let Some(after) = after {
            for to in installers(&order[after..]).into_iter().chain(unseen.clone()) {
                edges.insert((*reader, to, "rw"));
            }
        }
    }
    dirty_updates(txns, key, &order, found);
}

/// Whether a list has two elements of one transaction in another order than it wrote them.
fn turned(txns: &[Txn], key: i64, list: &[i64]) -> bool {
    let place = |of: &Vec<i64>, value: i64| of.iter().position(|one| *one == value);
    let turned = |writes: &Vec<i64>, one: i64, other: i64| match (place(writes, one), place(writes, other)) {
        (Some(one), Some(other)) => one > other,
        _ => false,
    };
    let all: Vec<Vec<i64>> = txns.iter().map(|txn| txn.writes(key)).collect();
    (0..list.len()).any(|at| {
        list[at..]
            .iter()
            .any(|other| all.iter().any(|writes| turned(writes, list[at], *other)))
    })
}

fn dirty_updates(txns: &[Txn], key: i64, order: &[i64], found: &mut Anomalies) {
    for (place, value) in order.iter().enumerate() {
        let aborted = writer(txns, key, *value).is_some_and(|writer| txns[writer].kind == Kind::Fail);
        let later = order[place + 1..]
            .iter()
            .any(|later| writer(txns, key, *later).is_some_and(|writer| txns[writer].ok()));
        if aborted && later {
            *found.direct.entry("dirty-update").or_default() += 1;
        }
    }
}

/// What a committed transaction read first of a key before it wrote it, and what it wrote last.
fn touch(txn: &Txn, of: i64) -> (Option<Version>, Option<i64>) {
    let first = txn.steps.iter().find(|step| key(step) == of);
    let read = match first {
        Some(Step::Read(_, list)) => Some(list.first().copied()),
        _ => None,
    };
    (read, txn.writes(of).last().copied())
}

fn register_edges(
    txns: &[Txn],
    key: i64,
    assumed: &Assumed,
    edges: &mut BTreeSet<Edge>,
    found: &mut Anomalies,
) {
    let install = |version: Version| -> Option<usize> {
        let writer = installer(txns, key, version?)?;
        (txns[writer].writes(key).last() == version.as_ref()).then_some(writer)
    };
    let reads = reads(txns, key);
    let mut versions: BTreeSet<Version> = reads.iter().map(|(_, list)| list.first().copied()).collect();
    for txn in txns {
        versions.extend(
            txn.writes(key)
                .last()
                .filter(|value| install(Some(**value)).is_some())
                .map(|value| Some(*value)),
        );
    }
    versions.insert(None);
    let before = version_order(txns, key, assumed, &versions);
    for (reader, list) in &reads {
        if let Some(writer) = install(list.first().copied()) {
            edges.insert((writer, *reader, "wr"));
        }
    }
    if before.iter().any(|(one, other)| one == other) {
        *found.direct.entry("cyclic-versions").or_default() += 1;
        return;
    }
    for (one, other) in before {
        let Some(to) = install(other) else { continue };
        if let Some(from) = install(one) {
            edges.insert((from, to, "ww"));
        }
        for (reader, _) in reads.iter().filter(|(_, list)| list.first().copied() == one) {
            edges.insert((*reader, to, "rw"));
        }
    }
}

/// Which version precedes which, by what is assumed, and whatever follows from that.
fn version_order(
    txns: &[Txn],
    key: i64,
    assumed: &Assumed,
    versions: &BTreeSet<Version>,
) -> BTreeSet<(Version, Version)> {
    let mut before: BTreeSet<(Version, Version)> = versions
        .iter()
        .filter(|version| version.is_some())
        .map(|version| (None, *version))
        .collect();
    for one in txns.iter().filter(|txn| txn.ok()) {
        let (read, wrote) = touch(one, key);
        if let (true, Some(read), Some(wrote)) = (assumed.writes_follow_reads, read, wrote)
            // A transaction that reads what it writes later is told of as that.
            && read != Some(wrote)
        {
            before.insert((read, Some(wrote)));
        }
        let Some(left) = wrote.map(Some).or(read) else {
            continue;
        };
        for other in txns.iter().filter(|txn| txn.ok()) {
            let session = assumed.sequential_keys && one.process == other.process;
            if !(one.before(other) && (session || assumed.linearizable_keys)) {
                continue;
            }
            let (read, wrote) = touch(other, key);
            for met in read.into_iter().chain(wrote.map(Some)) {
                if met != left {
                    before.insert((left, met));
                }
            }
        }
    }
    loop {
        let more: Vec<(Version, Version)> = before
            .iter()
            .flat_map(|(one, two)| {
                before
                    .iter()
                    .filter(move |(from, _)| from == two)
                    .map(move |(_, three)| (*one, *three))
            })
            .filter(|pair| !before.contains(pair))
            .collect();
        if more.is_empty() {
            return before;
        }
        before.extend(more);
    }
}

fn direct(txns: &[Txn], lists: bool, found: &mut Anomalies) {
    let mut updates: BTreeMap<(i64, Version), BTreeSet<usize>> = BTreeMap::new();
    for (which, txn) in txns.iter().enumerate().filter(|(_, txn)| txn.ok()) {
        for (place, step) in txn.steps.iter().enumerate() {
            let Step::Read(key, list) = step else { continue };
            for name in of_read(txns, which, place, *key, list, lists) {
                *found.direct.entry(name).or_default() += 1;
            }
            let touched = txn.steps[..place].iter().any(|step| self::key(step) == *key);
            if !touched && !txn.writes(*key).is_empty() {
                updates
                    .entry((*key, list.last().copied()))
                    .or_default()
                    .insert(which);
            }
        }
    }
    let lost = updates.values().filter(|by| by.len() > 1).count() as u64;
    if lost > 0 {
        found.direct.insert("lost-update", lost);
    }
}

/// What is wrong with one read.
fn of_read(
    txns: &[Txn],
    reader: usize,
    place: usize,
    key: i64,
    list: &[i64],
    lists: bool,
) -> Vec<&'static str> {
    let mut names = Vec::new();
    let aborted =
        |value: &i64| writer(txns, key, *value).is_some_and(|writer| txns[writer].kind == Kind::Fail);
    if list.iter().any(|value| writer(txns, key, *value).is_none()) {
        names.push("thin-air-read");
    }
    if list.iter().any(aborted) {
        names.push("G1a");
    }
    if let Some(last) = list.last()
        && let Some(writer) = installer(txns, key, *last)
        && writer != reader
        && txns[writer].writes(key).last() != Some(last)
    {
        names.push("G1b");
    }
    if (1..list.len()).any(|place| list[..place].contains(&list[place])) {
        names.push("duplicate-elements");
    }
    let later = txns[reader].steps[place..].iter().filter_map(|step| match step {
        Step::Write(to, value) if *to == key => Some(*value),
        _ => None,
    });
    if later.into_iter().any(|value| list.contains(&value)) {
        names.push("future-read");
    }
    if !fits(&txns[reader].steps[..place], key, list, lists) {
        names.push("internal");
    }
    names
}

/// Whether a read is what the steps before it make it.
fn fits(before: &[Step], of: i64, list: &[i64], lists: bool) -> bool {
    let mut known: Option<Vec<i64>> = None;
    let mut appended: Vec<i64> = Vec::new();
    for step in before.iter().filter(|step| key(step) == of) {
        match step {
            Step::Read(_, seen) => {
                known = Some(seen.clone());
                appended.clear();
            }
            Step::Write(_, value) if lists => appended.push(*value),
            Step::Write(_, value) => known = Some(vec![*value]),
        }
    }
    match known {
        Some(known) => list == [known, appended].concat(),
        None => list.ends_with(&appended),
    }
}

fn cycles(count: usize, edges: &BTreeSet<Edge>, names: &mut BTreeSet<String>) {
    fn go(
        path: &mut Vec<usize>,
        kinds: &mut Vec<&'static str>,
        edges: &BTreeSet<Edge>,
        names: &mut BTreeSet<String>,
    ) {
        let Some(last) = path.last().copied() else { return };
        for (_, to, kind) in edges.range((last, 0, "")..(last + 1, 0, "")) {
            kinds.push(kind);
            if *to == path[0] {
                names.insert(name(kinds));
            } else if *to > path[0] && !path.contains(to) {
                path.push(*to);
                go(path, kinds, edges, names);
                path.pop();
            }
            kinds.pop();
        }
    }
    for start in 0..count {
        go(&mut vec![start], &mut Vec::new(), edges, names);
    }
}

/// The name of a cycle, by its edges.
fn name(kinds: &[&str]) -> String {
    let rw = kinds.iter().filter(|kind| **kind == "rw").count();
    let adjacent =
        (0..kinds.len()).any(|place| kinds[place] == "rw" && kinds[(place + 1) % kinds.len()] == "rw");
    let class = match rw {
        0 if kinds.contains(&"wr") => "G1c",
        0 => "G0",
        1 => "G-single-item",
        _ if adjacent => "G2-item",
        _ => "G-nonadjacent-item",
    };
    let clock = if kinds.contains(&"realtime") {
        "-realtime"
    } else if kinds.contains(&"process") {
        "-process"
    } else {
        ""
    };
    format!("{class}{clock}")
}
