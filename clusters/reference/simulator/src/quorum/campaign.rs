//! Runs on demand: a seed, a bug, so many events, and what may go wrong.

use raft::Bug;

use super::schedule::{Decision, Schedule, Script};
use super::trace::Trace;
use super::{Counts, Ledger, Settings, Violation, World};

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

/// The settings of a seed: those of any, and for a bug those under which it has a chance to show.
pub fn settings_for(seed: u64, bug: Option<Bug>) -> Settings {
    Settings {
        bug,
        ..Settings::for_seed(seed)
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
        Err((world, violation)) => (world, Err(violation)),
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
