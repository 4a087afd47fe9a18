//! The decisions that hurt, each with a name: so that a run is repeated without some of them.
//!
//! A run's chances are of two kinds. How long a message takes or a disk needs is drawn from the
//! world's stream, and is nobody's fault. What goes wrong (a fault of the plan, a node that loses
//! power between two actions, a phase of the script) is a *decision*: its chances come from the seed
//! and its own name, never from a stream that other decisions draw from, and it is asked of the
//! [`Schedule`] before it is done. A schedule that permits only some of them gives a run of its own,
//! the same every time. This is what shrinking removes, one after another.

use std::collections::BTreeSet;
use std::fmt;
use std::fmt::Write as _;
use std::str::FromStr;

use raft::Nanos;

use super::settings::MILLISECOND;

/// A decision's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DecisionId {
    /// A fault of the plan, by its number.
    Fault(u64),
    /// A node that crashes within a list of actions: which, and the how manieth list of its.
    Within(u64, u64),
    /// A phase of the script, by its number.
    Phase(u64),
}

impl fmt::Display for DecisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(number) => write!(f, "fault-{number}"),
            Self::Within(node, list) => write!(f, "within-{node}-{list}"),
            Self::Phase(number) => write!(f, "phase-{number}"),
        }
    }
}

/// What is no decision's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoDecision(String);

impl fmt::Display for NoDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} names no decision: they are fault-N, within-NODE-N and phase-N",
            self.0
        )
    }
}

impl std::error::Error for NoDecision {}

impl FromStr for DecisionId {
    type Err = NoDecision;

    fn from_str(name: &str) -> Result<Self, NoDecision> {
        let refused = || NoDecision(name.to_owned());
        let number = |text: Option<&str>| text.and_then(|text| text.parse().ok()).ok_or_else(refused);
        let mut parts = name.split('-');
        let id = match parts.next() {
            Some("fault") => Self::Fault(number(parts.next())?),
            Some("within") => Self::Within(number(parts.next())?, number(parts.next())?),
            Some("phase") => Self::Phase(number(parts.next())?),
            _ => return Err(refused()),
        };
        match parts.next() {
            None => Ok(id),
            Some(_) => Err(refused()),
        }
    }
}

/// A decision that was carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Its name.
    pub id: DecisionId,
    /// When.
    pub at: Nanos,
    /// What it came to.
    pub what: String,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, at, what } = self;
        let (whole, part) = (at / MILLISECOND, at % MILLISECOND / 1000);
        write!(f, "{:<16} # {whole}.{part:03} ms  {what}", id.to_string())
    }
}

/// Which decisions are carried out, and which have been.
#[derive(Debug, Clone, Default)]
pub struct Schedule {
    only: Option<BTreeSet<DecisionId>>,
    made: Vec<Decision>,
}

impl Schedule {
    /// One that permits everything.
    pub fn all() -> Self {
        Self::default()
    }

    /// One that permits these.
    pub fn only(ids: impl IntoIterator<Item = DecisionId>) -> Self {
        Self {
            only: Some(ids.into_iter().collect()),
            made: Vec::new(),
        }
    }

    /// Whether to carry a decision out, which then counts as done.
    pub fn permits(&mut self, at: Nanos, id: DecisionId, what: impl FnOnce() -> String) -> bool {
        let permitted = self.only.as_ref().is_none_or(|only| only.contains(&id));
        if permitted {
            self.made.push(Decision { id, at, what: what() });
        }
        permitted
    }

    /// What was carried out, in order.
    pub fn made(&self) -> &[Decision] {
        &self.made
    }
}

/// A failing run, to be kept in a file and replayed: what it takes besides the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// The seed.
    pub seed: u64,
    /// The name of the bug that was on, if any.
    pub bug: Option<raft::Bug>,
    /// How many events the run was to have.
    pub min_events: u64,
    /// The decisions to carry out, with what they came to in the run that the script is of.
    pub decisions: Vec<Decision>,
}

/// The first line of a script, and its version.
const HEAD: &str = "ackall quorum schedule 1";

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEAD}\nseed {}", self.seed)?;
        if let Some(bug) = self.bug {
            writeln!(f, "bug {bug}")?;
        }
        writeln!(f, "min-events {}", self.min_events)?;
        self.decisions
            .iter()
            .try_for_each(|decision| writeln!(f, "{decision}"))
    }
}

/// Why a text is no script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoScript {
    line: usize,
    why: String,
}

impl fmt::Display for NoScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl std::error::Error for NoScript {}

impl FromStr for Script {
    type Err = NoScript;

    fn from_str(text: &str) -> Result<Self, NoScript> {
        let mut lines = (1..).zip(text.lines());
        if lines.next().map(|(_, line)| line) != Some(HEAD) {
            let why = format!("a schedule begins with {HEAD:?}");
            return Err(NoScript { line: 1, why });
        }
        let mut seed = None;
        let mut script = Self {
            seed: 0,
            bug: None,
            min_events: 0,
            decisions: Vec::new(),
        };
        for (line, text) in lines {
            let refused = |why: &dyn fmt::Display| NoScript {
                line,
                why: why.to_string(),
            };
            let (words, note) = text.split_once('#').unwrap_or((text, ""));
            let number = |text: &str| text.parse::<u64>().map_err(|error| refused(&error));
            match words.trim().split_once(' ') {
                None if words.trim().is_empty() => {}
                None => script.decisions.push(Decision {
                    id: words.trim().parse().map_err(|error| refused(&error))?,
                    at: 0,
                    what: note.trim().to_owned(),
                }),
                Some(("seed", value)) => seed = Some(number(value)?),
                Some(("min-events", value)) => script.min_events = number(value)?,
                Some(("bug", value)) => script.bug = Some(value.parse().map_err(|error| refused(&error))?),
                Some((other, _)) => {
                    let mut why = String::new();
                    let _ = write!(why, "{other:?} is neither seed, bug, min-events nor a decision");
                    return Err(refused(&why));
                }
            }
        }
        let missing = || NoScript {
            line: 1,
            why: "no line says which seed".to_owned(),
        };
        script.seed = seed.ok_or_else(missing)?;
        Ok(script)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: [DecisionId; 3] = [
        DecisionId::Fault(17),
        DecisionId::Within(3, 1042),
        DecisionId::Phase(0),
    ];

    #[test]
    fn names_are_read_as_they_are_written() {
        for id in IDS {
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        for wrong in [
            "",
            "fault",
            "fault-",
            "fault-x",
            "fault-1-2",
            "within-3",
            "crash-1",
        ] {
            assert!(wrong.parse::<DecisionId>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_what_is_permitted_is_done_and_noted() {
        let mut schedule = Schedule::only([IDS[0]]);
        let done: Vec<_> = IDS.map(|id| schedule.permits(5, id, || "x".to_owned())).into();
        assert_eq!(done, [true, false, false]);
        assert_eq!(schedule.made().len(), 1);
        let mut all = Schedule::all();
        assert!(IDS.into_iter().all(|id| all.permits(5, id, String::new)));
    }

    #[test]
    fn a_script_says_all_it_takes() {
        let script = Script {
            seed: 12,
            bug: Some(raft::Bug::NoPreVote),
            min_events: 10_000,
            decisions: vec![Decision {
                id: IDS[1],
                at: 1_500_000,
                what: "node 3 loses power".to_owned(),
            }],
        };
        let read: Script = script.to_string().parse().unwrap();
        assert_eq!((read.seed, read.bug, read.min_events), (12, script.bug, 10_000));
        assert_eq!(read.decisions[0].id, IDS[1]);
        assert!(read.decisions[0].what.contains("1.500 ms  node 3 loses power"));
    }

    #[test]
    fn what_is_no_script_is_refused_with_the_line() {
        let wrong = |text: &str| text.parse::<Script>().unwrap_err().to_string();
        assert!(wrong("").starts_with("line 1"));
        assert!(wrong(HEAD).contains("which seed"));
        assert!(wrong(&format!("{HEAD}\nseed x")).starts_with("line 2"));
        assert!(wrong(&format!("{HEAD}\nseed 1\nbug none-such")).starts_with("line 3"));
        assert!(wrong(&format!("{HEAD}\nseed 1\nfault-x")).starts_with("line 3"));
        assert!(wrong(&format!("{HEAD}\nseed 1\nspeed 2")).starts_with("line 3"));
    }
}
