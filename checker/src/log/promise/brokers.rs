//! Brokers: which of their processes registered, and which ended uncleanly.

use super::Loss;
use history::{BrokerChange, BrokerState, NodeEvent, NodeProcess};
use std::collections::BTreeMap;

/// What an unclean stop took from the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Nothing: the process ended, the machine did not.
    Nothing,
    /// These records, by topic and partition, and how many.
    Records(BTreeMap<(String, i32), u64>),
    /// A loss of power of which no disk tells.
    Untold,
}

impl Taken {
    /// What a disk's ledger says.
    pub fn told(loss: Loss<'_>) -> Taken {
        let mut records = BTreeMap::new();
        for run in &loss.0.records {
            let count = u64::try_from(run.to.saturating_sub(run.from)).unwrap_or(0);
            *records.entry((run.topic.to_string(), run.partition)).or_insert(0) += count;
        }
        Taken::Records(records)
    }

    /// How many records of a partition went.
    pub fn records_of(&self, topic: &str, partition: i32) -> u64 {
        match self {
            Taken::Records(records) => records.get(&(topic.to_owned(), partition)).copied().unwrap_or(0),
            Taken::Nothing | Taken::Untold => 0,
        }
    }
}

/// An unclean stop: the end of a broker's process that left no clean marker behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UncleanStop {
    /// The broker.
    pub broker: i32,
    /// The number of the start that ended.
    pub start: u32,
    /// When it was asked, or seen where nobody asked.
    pub at: u64,
    /// What it was, for people.
    pub what: String,
    /// What it took.
    pub taken: Taken,
}

/// All brokers.
#[derive(Default)]
pub(super) struct Brokers(BTreeMap<i32, Broker>);

#[derive(Default)]
struct Broker {
    /// The number of its last start; 0 before any was seen.
    current: u32,
    starts: BTreeMap<u32, Start>,
    /// Which start each incarnation that registered belongs to.
    incarnations: BTreeMap<String, u32>,
    /// The start whose registration was committed last.
    registered: Option<u32>,
    /// A registration that may belong to an earlier start: its broker epoch and incarnation.
    doubtful: Option<(i64, String)>,
    last_unclean: Option<UncleanStop>,
}

#[derive(Default)]
struct Start {
    stop_asked: bool,
    registered: bool,
    ended: Option<Ended>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    Clean,
    Unclean,
}

impl Brokers {
    /// The broker's last unclean stop, unless an incarnation that started after it has registered.
    pub fn unclean(&self, broker: i32) -> Option<&UncleanStop> {
        let broker = self.0.get(&broker)?;
        broker
            .last_unclean
            .as_ref()
            .filter(|stop| broker.registered.is_none_or(|start| start <= stop.start))
    }

    /// Whether there is no such stop.
    pub fn is_clean(&self, broker: i32) -> bool {
        self.unclean(broker).is_none()
    }

    /// The broker's last unclean stop, whatever came after it.
    pub fn last_unclean(&self, broker: i32) -> Option<&UncleanStop> {
        self.0.get(&broker)?.last_unclean.as_ref()
    }

    /// A fault that ends the process was asked. None where the process had ended cleanly before: an honest disk
    /// has synced all by then.
    pub fn fault(&mut self, node: i32, at: u64, what: String, taken: Taken) -> Option<UncleanStop> {
        let broker = self.0.entry(node).or_default();
        let start = broker.current;
        (broker.start(start).ended != Some(Ended::Clean))
            .then(|| broker.stopped(node, start, at, what, taken))
    }

    /// A start was asked. Its process may register before the entry that tells of the start is written.
    pub fn start_asked(&mut self, node: i32) {
        let broker = self.0.entry(node).or_default();
        if broker.start(broker.current).ended.is_some() {
            broker.begin(broker.current + 1);
        }
    }

    /// A process started or ended; gives the unclean stop, if it is one that no fault has told of before. Where it lost its
    /// power, its disk lost what was taken.
    pub fn process(&mut self, seen: &NodeProcess, at: u64, taken_by_power: Taken) -> Option<UncleanStop> {
        let broker = self.0.entry(seen.node).or_default();
        let start = broker.start(seen.start);
        let (what, taken) = match seen.event {
            NodeEvent::Started => {
                broker.begin(seen.start);
                return None;
            }
            NodeEvent::StopAsked => {
                start.stop_asked = true;
                return None;
            }
            _ if start.ended.is_some() => return None,
            NodeEvent::Exited { status: 0 } if start.stop_asked && start.registered => {
                start.ended = Some(Ended::Clean);
                return None;
            }
            NodeEvent::Exited { status } => (format!("exit with status {status}"), Taken::Nothing),
            NodeEvent::Killed { signal: Some(signal) } => {
                (format!("death by signal {signal}"), Taken::Nothing)
            }
            NodeEvent::Killed { signal: None } => ("loss of power".to_owned(), taken_by_power),
        };
        Some(broker.stopped(
            seen.node,
            seen.start,
            at,
            format!("{what} of broker {}", seen.node),
            taken,
        ))
    }

    /// A committed record speaks of a broker; gives the unclean stop where it unregisters it.
    pub fn record(&mut self, state: &BrokerState, at: u64) -> Option<UncleanStop> {
        let broker = self.0.entry(state.broker).or_default();
        match state.change {
            BrokerChange::Registered => broker.register(state),
            BrokerChange::Unfenced => broker.unfence(state.epoch),
            BrokerChange::Fenced | BrokerChange::ControlledShutdown => {}
            BrokerChange::Unregistered => {
                let what = format!("unregistration of broker {}", state.broker);
                return Some(broker.stopped(state.broker, broker.current, at, what, Taken::Nothing));
            }
        }
        None
    }
}

impl Broker {
    /// A start begins, unless it was known to have begun.
    fn begin(&mut self, start: u32) {
        if start > self.current {
            self.current = start;
            self.doubtful = None;
        }
    }

    fn start(&mut self, number: u32) -> &mut Start {
        self.starts.entry(number).or_default()
    }

    fn stopped(&mut self, broker: i32, start: u32, at: u64, what: String, taken: Taken) -> UncleanStop {
        self.start(start).ended = Some(Ended::Unclean);
        let stop = UncleanStop {
            broker,
            start,
            at,
            what,
            taken,
        };
        // The end of an earlier start may be seen late: the later start's counts.
        if self.last_unclean.as_ref().is_none_or(|last| last.start <= start) {
            self.last_unclean = Some(stop.clone());
        }
        stop
    }

    /// A registration belongs to the last start, unless its incarnation is known, or may be that of an earlier
    /// start which ended before its registration was seen. Then it waits for what only a live process can bring
    /// about: unfencing.
    fn register(&mut self, state: &BrokerState) {
        let incarnation = if state.incarnation.is_empty() {
            format!("epoch {}", state.epoch)
        } else {
            state.incarnation.clone()
        };
        if let Some(start) = self.incarnations.get(&incarnation) {
            self.registered = Some(*start);
            return;
        }
        let earlier_unseen = self
            .starts
            .range(..self.current)
            .next_back()
            .is_some_and(|(_, start)| !start.registered);
        match self.doubtful.take() {
            None if earlier_unseen => self.doubtful = Some((state.epoch, incarnation)),
            // The one before was the earlier start's.
            _ => self.registered_as(incarnation),
        }
    }

    fn unfence(&mut self, epoch: i64) {
        if let Some((_, incarnation)) = self.doubtful.take_if(|(doubtful, _)| *doubtful == epoch) {
            self.registered_as(incarnation);
        }
    }

    fn registered_as(&mut self, incarnation: String) {
        let start = self.current;
        self.start(start).registered = true;
        self.incarnations.insert(incarnation, start);
        self.registered = Some(start);
    }
}
