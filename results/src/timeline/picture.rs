//! Everything that a timeline draws, in seconds.

use super::canvas::Time;
use super::rows::{self, Row};
use super::states::{State, records, states};
use crate::faults::seconds;
use crate::story;
use checker::{BadInterval, Verdict};
use history::{Body, Entry, FaultAction, History, Kind};
use std::collections::BTreeMap;

/// What is drawn of one partition.
pub(super) struct Picture {
    pub span: Time,
    pub replicas: Vec<i32>,
    pub states: Vec<State>,
    /// Where steps began, and the final read.
    pub flags: Vec<(String, f64)>,
    pub bands: Vec<Band>,
    /// When nothing was promised; none where the checker keeps no ledger of the partition.
    pub bad: Option<Vec<BadInterval>>,
    /// When acknowledgements came.
    pub acks: Vec<f64>,
    /// When acknowledgements came of records that were lost.
    pub lost: Vec<f64>,
    /// When operations ended in a refusal, or in nothing.
    pub not_ok: Vec<f64>,
    /// The high watermark, as answers to consumers showed it.
    pub high_watermarks: Vec<(f64, i64)>,
    /// The story in words.
    pub rows: Vec<Row>,
}

/// A fault on a broker.
pub(super) struct Band {
    pub node: i32,
    pub name: String,
    pub from: f64,
    pub to: Option<f64>,
}

/// The flag of the final read.
const FINAL_READ: &str = "final read";

impl Picture {
    pub fn of(history: &History, verdict: &Verdict, topic: &str, partition: i32) -> Picture {
        let mut picture = Picture {
            span: Time { from: 0.0, to: 0.0 },
            replicas: replicas(history, topic, partition),
            states: states(history, topic, partition),
            flags: Vec::new(),
            bands: bands(history),
            bad: bad(verdict, topic, partition),
            acks: Vec::new(),
            lost: lost(verdict, topic, partition),
            not_ok: Vec::new(),
            high_watermarks: Vec::new(),
            rows: rows::of(history, verdict, topic, partition),
        };
        for entry in &history.entries {
            picture.note(entry, topic, partition);
        }
        picture.span = span(history, &picture);
        picture
    }

    fn note(&mut self, entry: &Entry, topic: &str, partition: i32) {
        let at = seconds(entry.time);
        let mine = |key: &history::Key| key.partition == partition && &*key.topic == topic;
        match (&entry.body, entry.kind) {
            (Body::Step(step), _) => self.flag(&step.name, at),
            (Body::Send(send), Kind::Ok) if mine(&send.key) => self.acks.push(at),
            (Body::Send(send), Kind::Fail | Kind::Info) if mine(&send.key) => self.not_ok.push(at),
            (Body::Poll(poll), kind) if mine(&poll.key) => {
                if poll.last {
                    self.flag(FINAL_READ, at);
                }
                if kind == Kind::Ok {
                    self.high_watermarks
                        .extend(poll.high_watermark.map(|offset| (at, offset)));
                }
            }
            _ => {}
        }
    }

    /// A flag stands where its name is first met: a step has two entries.
    fn flag(&mut self, name: &str, at: f64) {
        if !self.flags.iter().any(|(known, _)| known == name) {
            self.flags.push((name.to_string(), at));
        }
    }
}

/// From the first that is known of the partition to the end of the history: the boot is left out.
fn span(history: &History, picture: &Picture) -> Time {
    /// A picture needs some time; a history of one instant has none.
    const LEAST: f64 = 0.001;
    let first_state = picture.states.first().map(|state| seconds(state.from));
    let firsts = [
        first_state,
        picture.acks.first().copied(),
        picture.flags.first().map(|(_, at)| *at),
    ];
    let from = firsts.into_iter().flatten().reduce(f64::min).unwrap_or(0.0);
    let to = history.entries.last().map_or(0.0, |entry| seconds(entry.time));
    Time {
        from,
        to: to.max(from + LEAST),
    }
}

fn replicas(history: &History, topic: &str, partition: i32) -> Vec<i32> {
    let mut replicas: Vec<i32> = records(history, topic, partition)
        .flat_map(|(_, state)| state.replicas.iter().copied())
        .collect();
    replicas.sort_unstable();
    replicas.dedup();
    replicas
}

/// From each fault's measured start to its measured end.
fn bands(history: &History) -> Vec<Band> {
    let mut bands: BTreeMap<(u64, i32), Band> = BTreeMap::new();
    for entry in &history.entries {
        let (Body::Fault(fault), Kind::Ok) = (&entry.body, entry.kind) else {
            continue;
        };
        let at = seconds(entry.time);
        for node in &fault.nodes {
            match fault.action {
                FaultAction::Inject => {
                    let band = Band {
                        node: *node,
                        name: fault.name.clone(),
                        from: at,
                        to: None,
                    };
                    bands.insert((fault.id, *node), band);
                }
                FaultAction::Heal => {
                    if let Some(band) = bands.get_mut(&(fault.id, *node)) {
                        band.to = Some(at);
                    }
                }
            }
        }
    }
    bands.into_values().collect()
}

/// The times in which nothing was promised.
pub(super) fn bad(verdict: &Verdict, topic: &str, partition: i32) -> Option<Vec<BadInterval>> {
    let mut ledgers = verdict
        .promise
        .partitions
        .iter()
        .filter(|p| p.topic == topic && p.partition == partition);
    ledgers.next().map(|ledger| ledger.bad.clone())
}

fn lost(verdict: &Verdict, topic: &str, partition: i32) -> Vec<f64> {
    losses(verdict, topic, partition)
        .filter_map(|instance| instance.acked_at)
        .map(seconds)
        .collect()
}

/// The lost records of one partition.
pub(super) fn losses<'a>(
    verdict: &'a Verdict,
    topic: &'a str,
    partition: i32,
) -> impl Iterator<Item = &'a checker::Instance> {
    verdict
        .anomalies
        .iter()
        .filter(|anomaly| story::is_loss(&anomaly.name))
        .flat_map(|anomaly| &anomaly.instances)
        .filter(move |instance| {
            instance.topic.as_deref() == Some(topic) && instance.partition == Some(partition)
        })
}
