//! What a broken rule is called.

use std::fmt;

use raft::Fatal;

/// A broken rule. Nodes are named by their place in the simulation, which is also their id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Violation {
    /// Two leaders in one epoch.
    ElectionSafety(String),
    /// A leader changed its log other than by appending.
    LeaderAppendOnly(String),
    /// Two logs agree on a record, and not on what precedes it.
    LogMatching(String),
    /// A leader lacks what was committed in an earlier epoch.
    LeaderCompleteness(String),
    /// Two nodes applied different records at one offset, or one is in a state that no whole
    /// number of committed batches makes.
    StateMachineSafety(String),
    /// A node voted for two candidates in an epoch.
    VoteContradicted(String),
    /// A vote was answered that a crash would undo.
    VoteNotDurable(String),
    /// A high watermark moved back.
    HighWatermarkMovedBack(String),
    /// A leader committed what is durable on less than a majority.
    CommitNotDurable(String),
    /// An epoch moved back.
    EpochMovedBack(String),
    /// A majority that is up and connected has nobody who commits, for too long.
    NoLeader(String),
    /// On a whole network, somebody asks for votes for ever.
    StuckProspective(String),
    /// A node that had been cut off came back, and a healthy quorum lost its leader or its epoch.
    ReturnDisturbs(String),
    /// A machine gave up.
    Fatal(Fatal),
    /// A machine did what no driver could carry out.
    Contract(String),
    /// A machine asks to be woken in the past: the driver would spin.
    BusyLoop(String),
    /// The quorum did not work again in time after the last fault healed.
    Stuck(String),
    /// A rule of the application's.
    Application(String),
}

/// The rules by which a bug counts as caught: what the protocol promises to its users. The others
/// are how it keeps the promises, or what its code says of itself.
pub const NAMED: [&str; 11] = [
    "ElectionSafety",
    "LeaderAppendOnly",
    "LogMatching",
    "LeaderCompleteness",
    "StateMachineSafety",
    "VoteContradicted",
    "EpochMovedBack",
    "HighWatermarkMovedBack",
    "NoLeader",
    "StuckProspective",
    "ReturnDisturbs",
];

impl Violation {
    /// The rule's name, without the case.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::ElectionSafety(_) => "ElectionSafety",
            Self::LeaderAppendOnly(_) => "LeaderAppendOnly",
            Self::LogMatching(_) => "LogMatching",
            Self::LeaderCompleteness(_) => "LeaderCompleteness",
            Self::StateMachineSafety(_) => "StateMachineSafety",
            Self::VoteContradicted(_) => "VoteContradicted",
            Self::VoteNotDurable(_) => "VoteNotDurable",
            Self::HighWatermarkMovedBack(_) => "HighWatermarkMovedBack",
            Self::CommitNotDurable(_) => "CommitNotDurable",
            Self::EpochMovedBack(_) => "EpochMovedBack",
            Self::NoLeader(_) => "NoLeader",
            Self::StuckProspective(_) => "StuckProspective",
            Self::ReturnDisturbs(_) => "ReturnDisturbs",
            Self::Fatal(_) => "Fatal",
            Self::Contract(_) => "Contract",
            Self::BusyLoop(_) => "BusyLoop",
            Self::Stuck(_) => "Stuck",
            Self::Application(_) => "Application",
        }
    }

    /// Whether it is one of [`NAMED`].
    pub fn is_named(&self) -> bool {
        NAMED.contains(&self.rule())
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fatal(reason) => write!(f, "Fatal: {reason}"),
            Self::ElectionSafety(text)
            | Self::LeaderAppendOnly(text)
            | Self::LogMatching(text)
            | Self::LeaderCompleteness(text)
            | Self::StateMachineSafety(text)
            | Self::VoteContradicted(text)
            | Self::VoteNotDurable(text)
            | Self::HighWatermarkMovedBack(text)
            | Self::CommitNotDurable(text)
            | Self::EpochMovedBack(text)
            | Self::NoLeader(text)
            | Self::StuckProspective(text)
            | Self::ReturnDisturbs(text)
            | Self::Contract(text)
            | Self::BusyLoop(text)
            | Self::Stuck(text)
            | Self::Application(text) => write!(f, "{}: {text}", self.rule()),
        }
    }
}
