//! Runs on demand: a seed, a bug, so many events, and what may go wrong.

use raft::{Bug, Timeouts};

use super::schedule::{Decision, Schedule, Script};
use super::settings::MILLISECOND;
use super::trace::Trace;
use super::{Counts, FaultKind, Ledger, Settings, Violation, World};

/// How many events a run has at least, where nothing else is said: a step is one event given to one
/// node's machine.
pub const MIN_EVENTS: u64 = 10_000;

/// How many lines of a trace are kept for who wants to read the end of it.
pub const TRACE_LINES: usize = 400;

/// A run to be made.
#[derive(Debug, Clone)]
pub struct Order {
    /// The seed.
    pub seed: u64,
    /// The bug to switch on.
    pub bug: Option<Bug>,
    /// The number of events after which it ends, once the cycle is over.
    pub min_events: u64,
    /// The decisions that may be carried out.
    pub schedule: Schedule,
    /// How many lines of the trace to keep.
    pub trace_lines: usize,
}

impl Order {
    /// A whole run of a seed, without a trace.
    pub fn new(seed: u64, bug: Option<Bug>, min_events: u64) -> Self {
        Self {
            seed,
            bug,
            min_events,
            schedule: Schedule::all(),
            trace_lines: 0,
        }
    }

    /// The run that a script is of.
    pub fn of(script: &Script) -> Self {
        let ids = script.decisions.iter().map(|decision| decision.id);
        Self {
            schedule: Schedule::only(ids),
            ..Self::new(script.seed, script.bug, script.min_events)
        }
    }
}

/// A run that was made.
#[derive(Debug, Clone)]
pub struct Run {
    /// The rule that broke, if any.
    pub broken: Option<Violation>,
    /// What it had in it.
    pub counts: Counts,
    /// The decisions that were carried out.
    pub decisions: Vec<Decision>,
    /// Stands for all that happened.
    pub hash: u64,
    /// The end of the trace.
    pub lines: Vec<String>,
}

impl Run {
    /// The rule's name.
    pub fn rule(&self) -> Option<&'static str> {
        self.broken.as_ref().map(Violation::rule)
    }

    /// Whether it shows anything: something went wrong, and after it something was committed.
    pub fn counts_as_run(&self) -> bool {
        self.counts.commits_after_fault > 0
    }
}

/// The settings of a seed: those of any, and for a bug those under which it shows soon. They change
/// the sizes and what goes wrong, never what is checked.
pub fn settings_for(seed: u64, bug: Option<Bug>) -> Settings {
    let settings = Settings {
        bug,
        ..Settings::for_seed(seed)
    };
    match bug {
        // Votes are contradicted where elections are many and messages late: short time-outs.
        Some(Bug::VoteNotPersisted | Bug::VotedKeyDropped) => Settings {
            voters: 3 + 2 * usize::from(seed % 2 == 1),
            observers: 0,
            timeouts: hasty(settings.timeouts),
            ..fixed(settings)
        },
        // The Raft paper's figure 8 takes five voters, and records that arrive one by one.
        Some(Bug::CommitWithoutOwnEpoch) => Settings {
            voters: 5,
            observers: 0,
            timeouts: hasty(settings.timeouts),
            fetch_max: 1,
            chaos: 20 * MILLISECOND,
            ..fixed(settings)
        },
        // What was not synced is lost with the power only.
        Some(Bug::AckBeforeSync) => Settings {
            voters: 3,
            observers: 0,
            timeouts: hasty(settings.timeouts),
            ..fixed(settings)
        },
        Some(Bug::TwoVoterChanges) => Settings {
            dynamic: true,
            timeouts: hasty(settings.timeouts),
            ..settings
        },
        _ => settings,
    }
}

/// Voters that are fixed, no snapshots, and no faults but of power and network.
fn fixed(settings: Settings) -> Settings {
    Settings {
        dynamic: false,
        snapshots_per_mille: 0,
        without: vec![FaultKind::Pause, FaultKind::Drift, FaultKind::Kill],
        ..settings
    }
}

/// Time-outs shorter than messages take when the network is slow: an election follows the other.
fn hasty(timeouts: Timeouts) -> Timeouts {
    Timeouts {
        election_timeout: timeouts.election_timeout / 8,
        election_backoff_max: timeouts.election_backoff_max / 8,
        fetch_timeout: timeouts.fetch_timeout * 3 / 20,
        fetch_max_wait: timeouts.fetch_max_wait / 2,
        ..timeouts
    }
}

/// Makes a run.
pub fn run(order: Order) -> Run {
    let settings = settings_for(order.seed, order.bug);
    run_with(order, settings)
}

/// Makes a run with settings of one's own.
pub fn run_with(order: Order, settings: Settings) -> Run {
    let ledger = Ledger::new(&settings);
    let trace = Trace::keeping(order.trace_lines);
    let (mut world, begun) = match World::with(order.seed, settings, ledger, order.schedule, trace) {
        Ok(world) => (world, Ok(())),
        Err(broken) => {
            let (world, violation) = *broken;
            (world, Err(violation))
        }
    };
    let result = begun.and_then(|()| world.run_script(order.min_events));
    Run {
        broken: result.err(),
        counts: world.counts(),
        decisions: world.schedule.made().to_vec(),
        hash: world.trace.hash(),
        lines: world.trace.lines().map(str::to_owned).collect(),
    }
}
