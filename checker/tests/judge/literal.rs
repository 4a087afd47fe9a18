//! The log anomalies, word for word: slow, and meant to be obviously right. Shares nothing with the checker but
//! the history's types.

use history::{Body, History, Key, Kind, LogEnd, Process};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// How many instances of each anomaly there are, on both sides of the promise.
pub type Counts = BTreeMap<&'static str, u64>;

struct Ack {
    value: u64,
    offset: Option<i64>,
    node: Option<i32>,
    invoked: u64,
    completed: u64,
    index: u64,
}

struct Shown {
    offset: i64,
    value: Option<u64>,
    index: u64,
    last: bool,
    /// Of a poll.
    epoch: Option<i32>,
    polled: bool,
}

/// What a poll asked for and was answered.
struct Polled {
    from: i64,
    records: Vec<i64>,
    invoked: u64,
}

/// The log starts at this offset, or (where only a record was shown) no higher.
struct Start {
    offset: i64,
    exact: bool,
    invoked: u64,
    completed: u64,
}

/// An answer about an end of the log: the node, the epoch asked for, and the high watermark.
struct Answer {
    node: i32,
    epoch: Option<i32>,
    high_watermark: Option<i64>,
    invoked: u64,
    completed: u64,
}

#[derive(Default)]
struct Log {
    answers: Vec<Answer>,
    sent: BTreeSet<u64>,
    refused: BTreeSet<u64>,
    polls: Vec<Polled>,
    acks: Vec<Ack>,
    shown: Vec<Shown>,
    starts: Vec<Start>,
    passed: Vec<(i64, i64)>,
    complete: Option<(i64, i64)>,
}

/// Counts them.
pub fn counts(history: &History) -> Counts {
    let mut counts = Counts::new();
    for (key, log) in logs(history) {
        let topic = history
            .header
            .topics
            .iter()
            .find(|topic| *topic.name == *key.topic)
            .unwrap();
        count(&log, topic.log_start_may_move, &mut counts);
    }
    counts.retain(|_, count| *count > 0);
    counts
}

fn logs(history: &History) -> BTreeMap<Key, Log> {
    let mut logs: BTreeMap<Key, Log> = BTreeMap::new();
    let mut open: HashMap<Process, u64> = HashMap::new();
    for entry in &history.entries {
        if entry.kind == Kind::Invoke {
            open.insert(entry.process, entry.time);
        }
        let completed = entry.time;
        let mut begun = || open.remove(&entry.process).unwrap_or(completed);
        match &entry.body {
            Body::Send(send) => {
                let log = logs.entry(send.key.clone()).or_default();
                log.sent.insert(send.value);
                if entry.kind == Kind::Invoke {
                    continue;
                }
                if entry.kind == Kind::Fail {
                    log.refused.insert(send.value);
                }
                let (invoked, offset) = (begun(), send.offset.filter(|offset| *offset >= 0));
                if entry.kind == Kind::Ok && send.acks == -1 {
                    log.acks.push(Ack {
                        value: send.value,
                        offset,
                        node: send.node,
                        invoked,
                        completed,
                        index: entry.index,
                    });
                    if let Some(offset) = offset {
                        let value = Some(send.value);
                        log.shown.push(Shown {
                            offset,
                            value,
                            index: entry.index,
                            last: false,
                            polled: false,
                            epoch: None,
                        });
                        log.starts.push(Start {
                            offset,
                            exact: false,
                            invoked,
                            completed,
                        });
                    }
                }
            }
            Body::Poll(poll) if entry.kind != Kind::Invoke => {
                let log = logs.entry(poll.key.clone()).or_default();
                let invoked = begun();
                log.polls.push(Polled {
                    from: poll.from,
                    records: poll.records.iter().map(|r| r.offset).collect(),
                    invoked,
                });
                for r in &poll.records {
                    let (offset, value) = (r.offset, r.value);
                    log.shown.push(Shown {
                        offset,
                        value,
                        index: entry.index,
                        last: poll.last,
                        polled: true,
                        epoch: Some(r.epoch),
                    });
                    log.starts.push(Start {
                        offset,
                        exact: false,
                        invoked,
                        completed,
                    });
                }
                if let (Kind::Ok, Some(node)) = (entry.kind, poll.node) {
                    log.answers.push(Answer {
                        node,
                        epoch: None,
                        high_watermark: poll.high_watermark,
                        invoked,
                        completed,
                    });
                }
                if let Some(offset) = poll.log_start {
                    log.starts.push(Start {
                        offset,
                        exact: true,
                        invoked,
                        completed,
                    });
                }
                if let Some(highest) = poll.records.iter().map(|r| r.offset).max().filter(|_| poll.last) {
                    log.passed.push((poll.from, highest));
                }
            }
            Body::ListOffsets(asked) if entry.kind != Kind::Invoke => {
                let invoked = begun();
                if entry.kind == Kind::Ok {
                    logs.entry(asked.key.clone()).or_default().answers.push(Answer {
                        node: asked.node,
                        epoch: Some(asked.epoch),
                        high_watermark: asked.offset.filter(|_| asked.which == LogEnd::Latest),
                        invoked,
                        completed,
                    });
                }
                if let (Kind::Ok, LogEnd::Earliest, Some(offset)) = (entry.kind, asked.which, asked.offset) {
                    let log = logs.entry(asked.key.clone()).or_default();
                    log.starts.push(Start {
                        offset,
                        exact: true,
                        invoked,
                        completed,
                    });
                }
            }
            Body::FinalRead(read) => {
                let log = logs.entry(read.key.clone()).or_default();
                if let Some(offset) = read.start {
                    log.starts.push(Start {
                        offset,
                        exact: true,
                        invoked: completed,
                        completed,
                    });
                }
                log.complete = read.start.zip(read.end).filter(|_| read.complete);
            }
            _ => {}
        }
    }
    logs
}

fn count(log: &Log, log_start_may_move: bool, counts: &mut Counts) {
    let mut add = |name, count: usize| *counts.entry(name).or_default() += count as u64;
    let values_at = |offset: i64| -> BTreeSet<u64> {
        log.shown
            .iter()
            .filter(|s| s.offset == offset)
            .filter_map(|s| s.value)
            .collect()
    };
    let offsets_of = |value: u64| -> BTreeSet<i64> {
        log.shown
            .iter()
            .filter(|s| s.value == Some(value))
            .map(|s| s.offset)
            .collect()
    };
    let in_final = |offset: Option<i64>, value: u64| {
        log.shown
            .iter()
            .any(|s| s.last && s.value == Some(value) && offset.is_none_or(|o| s.offset == o))
    };
    let offsets: BTreeSet<i64> = log.shown.iter().map(|s| s.offset).collect();
    let values: BTreeSet<u64> = log.shown.iter().filter_map(|s| s.value).collect();

    let corrupt: BTreeSet<i64> = log
        .shown
        .iter()
        .filter(|s| s.value.is_none())
        .map(|s| s.offset)
        .collect();
    add("corrupt", corrupt.len());
    add(
        "phantom",
        values.iter().filter(|value| !log.sent.contains(value)).count(),
    );
    add(
        "inconsistent-offsets",
        offsets
            .iter()
            .filter(|offset| values_at(**offset).len() > 1)
            .count(),
    );
    add(
        "duplicate",
        values
            .iter()
            .filter(|value| offsets_of(**value).len() > 1)
            .count(),
    );
    let reassigned = |ack: &&Ack| {
        log.shown.iter().any(|s| {
            Some(s.offset) == ack.offset && s.value.is_some_and(|v| v != ack.value) && s.index > ack.index
        })
    };
    add("offset-reassigned", log.acks.iter().filter(reassigned).count());
    let too_low = |b: &&Ack| {
        log.acks
            .iter()
            .any(|a| a.completed < b.invoked && b.offset.is_some() && a.offset > b.offset)
    };
    add(
        "append-order-violates-real-time",
        log.acks.iter().filter(too_low).count(),
    );

    let rose = |start: &&Start| {
        start.exact
            && log
                .starts
                .iter()
                .any(|a| a.completed < start.invoked && a.offset < start.offset)
    };
    let rises: BTreeSet<i64> = log.starts.iter().filter(rose).map(|start| start.offset).collect();
    add(
        "log-start-moved",
        if log_start_may_move { 0 } else { rises.len() },
    );

    let read = |value: u64| log.shown.iter().any(|s| s.polled && s.value == Some(value));
    add("G1a", log.refused.iter().filter(|value| read(**value)).count());
    let good_at = |offset: i64| log.shown.iter().any(|s| s.offset == offset && s.value.is_some());
    let skips =
        |a: i64, b: i64| !log_start_may_move && offsets.iter().any(|o| a < *o && *o < b && good_at(*o));
    for poll in &log.polls {
        for two in poll.records.windows(2) {
            add("int-nonmonotonic-poll", usize::from(two[1] <= two[0]));
            add("int-poll-skip", usize::from(skips(two[0], two[1])));
        }
        if let Some(first) = poll.records.first() {
            add("nonmonotonic-poll", usize::from(*first < poll.from));
            add("poll-skip", usize::from(skips(poll.from - 1, *first)));
        }
    }
    let passed = |ack: &Ack, offset: i64| {
        let passes = |poll: &Polled| {
            let goes_over = |two: &[i64]| two[0] < offset && offset < two[1];
            let steps = [&[poll.from - 1], &*poll.records].concat();
            ack.completed < poll.invoked && steps.windows(2).any(goes_over)
        };
        log.polls.iter().any(passes)
    };
    let told = |offset: i64| {
        let passed = log
            .passed
            .iter()
            .any(|(from, highest)| *from <= offset && offset <= *highest);
        log.complete.is_some() || passed
    };
    let lost = |ack: &&Ack| {
        !log_start_may_move
            && !read(ack.value)
            && ack
                .offset
                .is_some_and(|offset| !told(offset) && passed(ack, offset))
    };
    add("lost-write", log.acks.iter().filter(lost).count());

    count_shown(log, log_start_may_move, counts);
    count_epochs(log, counts);
    let mut add = |name, count: usize| *counts.entry(name).or_default() += count as u64;
    for ack in log.acks.iter().filter(|ack| !in_final(ack.offset, ack.value)) {
        match (log.complete, ack.offset) {
            (Some((_, end)), Some(offset)) if offset >= end => add("acked-tail-lost", 1),
            (Some((start, _)), Some(offset)) if offset < start && log_start_may_move => {}
            (Some((start, _)), None) if start > 0 && log_start_may_move => {}
            (Some(_), _) => add("acked-then-lost", 1),
            (None, Some(offset)) => {
                let passed = log
                    .passed
                    .iter()
                    .any(|(from, highest)| *from <= offset && offset <= *highest);
                add("acked-then-lost", usize::from(passed));
            }
            (None, None) => {}
        }
    }
}

/// What was shown and is gone.
fn count_shown(log: &Log, log_start_may_move: bool, counts: &mut Counts) {
    let read: BTreeSet<(i64, u64)> = log
        .shown
        .iter()
        .filter(|s| s.epoch.is_some() && !s.last)
        .filter_map(|s| Some((s.offset, s.value?)))
        .collect();
    let is_gone = |(offset, value): &&(i64, u64)| {
        let stays = log
            .shown
            .iter()
            .any(|s| s.last && s.offset == *offset && s.value == Some(*value));
        let told = match log.complete {
            Some((start, end)) => *offset >= start || *offset >= end || !log_start_may_move,
            None => log
                .passed
                .iter()
                .any(|(from, highest)| from <= offset && offset <= highest),
        };
        !stays && told
    };
    *counts.entry("visible-then-lost").or_default() += read.iter().filter(is_gone).count() as u64;
}

/// Epochs, leaders and high watermarks.
fn count_epochs(log: &Log, counts: &mut Counts) {
    let mut add = |name, count: usize| *counts.entry(name).or_default() += count as u64;
    let whole: Vec<&Shown> = log.shown.iter().filter(|s| s.value.is_some()).collect();
    let falls = |a: &Shown, b: &Shown| a.offset < b.offset && a.epoch > b.epoch && b.epoch.is_some();
    let fallen: BTreeSet<i64> = whole
        .iter()
        .filter(|b| {
            whole
                .iter()
                .any(|a| falls(a, b) && (a.index == b.index || (a.last && b.last)))
        })
        .map(|b| b.offset)
        .collect();
    let changes = |a: &Shown, b: &Shown| {
        (a.offset, a.value) == (b.offset, b.value) && a.epoch.is_some() && b.epoch > a.epoch
    };
    let changed: BTreeSet<i64> = whole
        .iter()
        .filter(|b| whole.iter().any(|a| changes(a, b)))
        .map(|b| b.offset)
        .collect();
    add("epoch-lineage", fallen.len() + changed.len());

    let mut led: BTreeSet<(i32, i32)> = log
        .answers
        .iter()
        .filter_map(|a| Some((a.epoch?, a.node)))
        .collect();
    for ack in &log.acks {
        let mine = log
            .shown
            .iter()
            .filter(|s| s.value == Some(ack.value) && Some(s.offset) == ack.offset);
        led.extend(mine.filter_map(|s| Some((s.epoch?, ack.node?))));
    }
    let epochs: BTreeSet<i32> = led.iter().map(|(epoch, _)| *epoch).collect();
    let leaders = |epoch: i32| led.iter().filter(|(of, _)| *of == epoch).count();
    add(
        "two-leaders-in-one-epoch",
        epochs.iter().filter(|epoch| leaders(**epoch) > 1).count(),
    );

    let before = |b: &&Answer, holds: &dyn Fn(&Answer, &Answer) -> bool| {
        log.answers.iter().any(|a| a.completed < b.invoked && holds(a, b))
    };
    let falls_back = |a: &Answer, b: &Answer| a.node == b.node && b.epoch.is_some() && a.epoch > b.epoch;
    add(
        "epoch-regression",
        log.answers.iter().filter(|b| before(b, &falls_back)).count(),
    );
    let is_lower = |a: &Answer, b: &Answer| {
        let comparable = match (a.epoch, b.epoch) {
            (Some(a), Some(b)) => a <= b,
            (None, None) => a.node == b.node,
            _ => false,
        };
        comparable && b.high_watermark.is_some() && a.high_watermark > b.high_watermark
    };
    add(
        "high-watermark-regression",
        log.answers.iter().filter(|b| before(b, &is_lower)).count(),
    );
}
