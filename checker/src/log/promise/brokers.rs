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
    /// Whether it is the registration of another process that shows it: that cleans nothing.
    pub is_takeover: bool,
}

/// Silent damage to a disk: it lies about syncing, or bytes that were synced changed, or are gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    /// What it was, for people.
    pub what: String,
    /// Whether it goes on while the process runs, as lies do.
    pub goes_on: bool,
    /// Whether the fault that does it is at work still: any start may be from before the damage.
    at_work: bool,
    /// The last start that the damage was done to.
    start: u32,
}

/// Each start of a node has twice its number; what takes its registration over while it runs has that and one.
const STEP: u32 = 2;

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
    damage: Option<Damage>,
    /// Whether a second process with its number may have taken over, and was not killed yet.
    has_second: bool,
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

    /// The damage to a broker's disk, unless an incarnation that started on what was left of it has registered.
    pub fn damage(&self, broker: i32) -> Option<&Damage> {
        let broker = self.0.get(&broker)?;
        let is_over =
            |damage: &Damage| !damage.goes_on && broker.registered.is_some_and(|start| start > damage.start);
        broker.damage.as_ref().filter(|damage| !is_over(damage))
    }

    /// A disk's damage begins, which goes on while the process runs, or is done while it stands still; gives it.
    pub fn damaged(&mut self, node: i32, what: String, goes_on: bool) -> Damage {
        let broker = self.0.entry(node).or_default();
        let damage = Damage {
            what,
            goes_on,
            at_work: !goes_on,
            start: broker.current,
        };
        broker.damage.insert(damage).clone()
    }

    /// A process starts while a fault damages its disk: on what is left, unless another start follows; gives the damage.
    pub fn damaged_again(&mut self, node: i32) -> Option<Damage> {
        let broker = self.0.get_mut(&node)?;
        let damage = broker.damage.as_mut().filter(|damage| damage.at_work)?;
        damage.start = broker.current.saturating_sub(1);
        Some(damage.clone())
    }

    /// A disk's damage is done.
    pub fn damage_done(&mut self, node: i32) {
        let broker = self.0.entry(node).or_default();
        if let Some(damage) = &mut broker.damage {
            if damage.goes_on {
                damage.start = broker.current;
            }
            (damage.goes_on, damage.at_work) = (false, false);
        }
    }

    /// A disk is swapped for another: an unclean stop, however its process ended.
    pub fn swapped(&mut self, node: i32, at: u64, what: String) -> UncleanStop {
        let broker = self.0.entry(node).or_default();
        broker.stopped(node, broker.current, at, what, Taken::Untold)
    }

    /// A second process of a node is started, which takes its registration over.
    pub fn second_started(&mut self, node: i32, at: u64) -> UncleanStop {
        let broker = self.0.entry(node).or_default();
        broker.has_second = true;
        let what = format!("takeover of broker {node}'s registration by a second process");
        broker.stopped(node, broker.current, at, what, Taken::Untold)
    }

    /// A second process of a node is killed; gives the unclean stop, where it held the registration.
    pub fn second_killed(&mut self, node: i32, at: u64) -> Option<UncleanStop> {
        let broker = self.0.entry(node).or_default();
        broker.has_second = false;
        let what = format!("death of the second process of broker {node}");
        (!broker.current.is_multiple_of(STEP))
            .then(|| broker.stopped(node, broker.current, at, what, Taken::Untold))
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
            broker.begin(broker.current.saturating_add(STEP) / STEP * STEP);
        }
    }

    /// A process started or ended; gives the unclean stop, if it is one that no fault has told of before. Where it lost its
    /// power, its disk lost what was taken.
    ///
    /// A start whose forerunner's end was not seen is the end of that one: it came about no later than then, and no
    /// earlier than it was asked.
    pub fn process(
        &mut self,
        seen: &NodeProcess,
        at: u64,
        asked: u64,
        taken_by_power: Taken,
    ) -> Option<UncleanStop> {
        let broker = self.0.entry(seen.node).or_default();
        let number = seen.start.saturating_mul(STEP);
        let before = broker.current;
        let start = broker.start(number);
        let (what, taken) = match seen.event {
            NodeEvent::Started => {
                let is_later = before > 0 && number > before;
                let was_unseen = is_later && broker.start(before).ended.is_none();
                let what = format!("an end of broker {} that was not seen", seen.node);
                let stop = was_unseen.then(|| broker.stopped(seen.node, before, asked, what, Taken::Untold));
                broker.begin(number);
                return stop;
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
            number,
            at,
            format!("{what} of broker {}", seen.node),
            taken,
        ))
    }

    /// A committed record speaks of a broker; gives the unclean stop where it unregisters it.
    pub fn record(&mut self, state: &BrokerState, at: u64) -> Option<UncleanStop> {
        let broker = self.0.entry(state.broker).or_default();
        match state.change {
            BrokerChange::Registered => return broker.register(state, at),
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
            is_takeover: false,
        };
        // The end of an earlier start may be seen late: the later start's counts.
        if self.last_unclean.as_ref().is_none_or(|last| last.start <= start) {
            self.last_unclean = Some(stop.clone());
        }
        stop
    }

    /// A registration belongs to the last start, unless its incarnation is known, or may be that of an earlier
    /// start which ended before its registration was seen. Then it waits for what only a live process can bring
    /// about: unfencing. Where the last start has registered already and runs, another process takes over: gives the
    /// unclean stop that this is.
    fn register(&mut self, state: &BrokerState, at: u64) -> Option<UncleanStop> {
        let incarnation = if state.incarnation.is_empty() {
            format!("epoch {}", state.epoch)
        } else {
            state.incarnation.clone()
        };
        if let Some(start) = self.incarnations.get(&incarnation) {
            self.registered = Some(*start);
            return None;
        }
        let has_second = self.has_second;
        let current = self.start(self.current);
        let is_another = current.registered && (current.ended.is_none() || has_second);
        if is_another && self.current.is_multiple_of(STEP) && self.current > 0 {
            let what = format!(
                "takeover of broker {}'s registration by another process",
                state.broker
            );
            let stop = self.stopped(state.broker, self.current, at, what, Taken::Untold);
            self.begin(self.current.saturating_add(1));
            self.registered_as(incarnation);
            // Of a second process that was known it was told when that was started.
            return (!has_second).then_some(UncleanStop {
                is_takeover: true,
                ..stop
            });
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
        None
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
