//! One file a fault: what it asks of a node, how it is put in and taken out, and how it is measured.
//!
//! What it does: injects and heals, and *measures that it took*; a fault that does not take within its limit is an
//! error of the run. What it does not: choose. The harness resolves roles to nodes, and writes what was asked,
//! resolved and measured into the history.
//!
//! Every fault is one value of [`Fault`], listed in [`ALL`]; its [`About`] is what the scenarios' checker, `explain`,
//! `doctor` and `docs/faults.md` read. Faults overlap: each is known by its [`Order`]'s number, and healing one leaves
//! the others in.

use clusters::{Capability, Cluster};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;

pub mod add_broker;
pub mod bandwidth;
pub mod cancel_reassignment;
pub mod clock_rate;
pub mod clock_step;
pub mod clock_strobe;
mod clocks;
pub mod composition;
pub mod corrupt;
pub mod cpu_limit;
pub mod crash;
pub mod crash_loop;
pub mod cut_network;
pub mod delay;
pub mod descriptor_limit;
pub mod disk_at_call;
pub mod disk_corrupt;
pub mod disk_error;
pub mod disk_full;
pub mod disk_hang;
pub mod disk_replace;
pub mod disk_roll_back;
pub mod disk_slow;
pub mod disk_sync_fails_once;
pub mod disk_sync_lies;
pub mod disk_truncate;
mod disks;
pub mod duplicate;
pub mod elect;
mod ended;
pub mod flap;
pub mod grow_partitions;
mod hands;
mod limits;
mod links;
pub mod loss;
pub mod machine_pause;
pub mod memory_limit;
pub mod mtu_black_hole;
mod params;
pub mod pause;
pub mod power_cut;
mod ready;
pub mod reassign;
pub mod recreate_topic;
pub mod remove_broker;
pub mod reorder;
pub mod reset;
pub mod resign_controller;
pub mod restart;
pub mod rolling_restart;
pub mod set_config;
pub mod set_feature;
pub mod set_property;
pub mod shapes;
pub mod slow_start;
pub mod stop;
pub mod twin;
pub mod unregister_broker;
pub mod voters;

pub use params::{Default, Kind, Param, ParamError, Params, Value};

/// What was measured: `quantity_unit` to number.
pub type Measured = BTreeMap<String, f64>;

/// Every fault there is.
pub const ALL: &[&dyn Fault] = &[
    &crash::Crash,
    &stop::Stop,
    &restart::Restart,
    &rolling_restart::RollingRestart,
    &set_property::SetProperty,
    &twin::Twin,
    &crash_loop::CrashLoop,
    &slow_start::SlowStart,
    &pause::Pause,
    &cpu_limit::CpuLimit,
    &memory_limit::MemoryLimit,
    &descriptor_limit::DescriptorLimit,
    &machine_pause::MachinePause,
    &power_cut::PowerCut,
    &power_cut::PowerCutStopping,
    &power_cut::PowerCutStarting,
    &disk_error::DiskError,
    &disk_sync_fails_once::DiskSyncFailsOnce,
    &disk_sync_lies::DiskSyncLies,
    &disk_full::DiskFull,
    &disk_slow::DiskSlow,
    &disk_hang::DiskHang,
    &disk_corrupt::DiskCorrupt,
    &disk_truncate::DiskTruncate,
    &disk_replace::DiskReplace,
    &disk_roll_back::DiskRollBack,
    &disk_at_call::DiskCutAtCall,
    &disk_at_call::DiskKillAtCall,
    &cut_network::CutNetwork,
    &flap::Flap,
    &delay::Delay,
    &loss::Loss,
    &duplicate::Duplicate,
    &reorder::Reorder,
    &corrupt::Corrupt,
    &bandwidth::Bandwidth,
    &reset::Reset,
    &mtu_black_hole::MtuBlackHole,
    &elect::ElectPreferred,
    &elect::ElectUnclean,
    &reassign::Reassign,
    &cancel_reassignment::CancelReassignment,
    &grow_partitions::GrowPartitions,
    &recreate_topic::RecreateTopic,
    &set_config::SetMinIsr,
    &set_config::SetConfig,
    &unregister_broker::UnregisterBroker,
    &remove_broker::RemoveBroker,
    &add_broker::AddBroker,
    &voters::RemoveVoter,
    &voters::AddVoter,
    &resign_controller::ResignController,
    &set_feature::SetFeature,
    &clock_step::ClockStep,
    &clock_rate::ClockRate,
    &clock_strobe::ClockStrobe,
];

/// The fault of that name.
pub fn find(name: &str) -> Option<&'static dyn Fault> {
    ALL.iter().copied().find(|fault| fault.about().name == name)
}

/// Why a fault did not take, or did not heal.
#[derive(Debug, thiserror::Error)]
pub enum NotTaken {
    /// The cluster refused.
    #[error("{0}")]
    Cluster(#[from] clusters::Error),
    /// It was asked, and not seen to take within its limit.
    #[error("{0}")]
    NotSeen(String),
    /// A program that was started does not serve: it ended by itself, or answered nobody within its limit. The fault
    /// has done what it could; this is the system's own doing.
    #[error("{0}")]
    NotStarted(String),
}

/// What a fault is, for people and for the scenarios' checker.
#[derive(Debug)]
pub struct About {
    /// Its name in scenarios and histories: lower-case words with dashes.
    pub name: &'static str,
    /// One sentence about it.
    pub text: &'static str,
    /// What it needs of each node.
    pub needs: Capability,
    /// What it may be told, beside its targets.
    pub params: &'static [Param],
    /// How it heals, in a sentence.
    pub heals: &'static str,
    /// What is measured when it is put in and when it is healed: `quantity_unit`, and what that is.
    pub measures: &'static [(&'static str, &'static str)],
    /// What it does to the node's program while it is in.
    pub program: Program,
}

/// What a fault does to the program of its targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// It goes on, or its end was not asked for.
    GoesOn,
    /// It stands still, and healing has it go on.
    StandsStill,
    /// It ends, and healing starts it again.
    Ends,
    /// It ends and is started again, once or often, while the fault is put in; it runs while it is in.
    Restarts,
    /// The machine loses its power, and what its disk had not synced.
    LosesPower,
}

/// One fault, as the harness orders it: resolved and checked.
#[derive(Clone, Debug)]
pub struct Order {
    /// The fault's number in the history, unique in the run.
    pub id: u64,
    /// The targets, each once, in rising order.
    pub nodes: Vec<i32>,
    /// What it is told; complete and within bounds.
    pub params: Params,
    /// For what the fault draws by chance.
    pub seed: u64,
}

/// What a fault works on.
#[derive(Clone, Copy)]
pub struct Field<'a> {
    /// The cluster and its ground.
    pub cluster: &'a Cluster,
}

/// A fault on its way in or out.
pub type Doing<'a> = Pin<Box<dyn Future<Output = Result<Measured, NotTaken>> + Send + 'a>>;

/// A fault of one or several nodes.
pub trait Fault: Send + Sync {
    /// What it is.
    fn about(&self) -> &'static About;

    /// Puts it in on all targets, and measures that it took.
    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a>;

    /// Takes it out on all targets, and measures that it is gone.
    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a>;
}

/// The worst of what was measured on several nodes: the largest of each quantity.
fn worst(all: impl IntoIterator<Item = Measured>) -> Measured {
    let mut worst = Measured::new();
    for (quantity, value) in all.into_iter().flatten() {
        let known = worst.entry(quantity).or_insert(value);
        *known = known.max(value);
    }
    worst
}
