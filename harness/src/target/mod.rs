//! Targets: who is meant by a word of a scenario.
//!
//! What it does: reads targets, resolves them to nodes by the state of now, and says what can never be resolved. Pure:
//! the same words, state and draw mean the same nodes. What it does not: wait, or record; the conductor does.
//!
//! ```text
//! target    = NAME | NUMBER | set [":" how-many] | "leader" [":" partition] | "last" [":" partition]
//!           | "active-controller" | how-many
//! set       = "brokers" | "controllers" | "nodes"
//!           | ("replicas" | "follower" | "in-isr" | "out-of-isr" | "in-elr" | "out-of-elr") [":" partition]
//! how-many  = "one" | "any" | "minority" | "majority" | "all"
//! partition = TOPIC "-" NUMBER
//! ```
//!
//! Where nothing is said: one; the partition under load, its number 0. A how-many alone is of brokers. A name that an
//! act gave goes before any word of the grammar, so that `as = "last"` makes `last` that node for good.

mod resolve;

#[cfg(test)]
pub use resolve::tests::partition as partition_for_tests;
pub use resolve::{Names, World};

use std::fmt;

/// In conditions: the replicas of the partition under load that no act named.
pub const OTHERS: &str = "others";

/// How targets are written, for people.
pub const GRAMMAR: &str = "\
a name that an act gave (`as`), or a node's number;
brokers, controllers, nodes, each with :one, :any, :minority, :majority or :all (one where nothing is said);
one, any, minority, majority, all: of the brokers;
leader, last (the one replica that no act named, else the only member of the ISR);
replicas, follower, in-isr, out-of-isr, in-elr, out-of-elr, with a how-many as above;
active-controller;
those of partitions are of partition 0 of the topic under load, or as in leader:TOPIC-3 and in-isr:TOPIC-0:all";

/// Who is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A node by its number.
    Number(i32),
    /// So many of a set.
    Of(Set, HowMany),
    /// Who leads a partition.
    Leader(Place),
    /// The last replica standing.
    Last(Place),
    /// Who leads the metadata quorum.
    ActiveController,
}

/// A set of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Set {
    /// All brokers.
    Brokers,
    /// All controllers.
    Controllers,
    /// All of both.
    Nodes,
    /// Some of a partition's replicas.
    Replicas(Part, Place),
}

/// Which of a partition's replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All.
    All,
    /// In the ISR, and not the leader.
    Follower,
    /// In the ISR.
    InIsr,
    /// Not in the ISR.
    OutOfIsr,
    /// Eligible leader replicas.
    InElr,
    /// Neither in the ISR nor eligible.
    OutOfElr,
}

/// A partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The one under load.
    UnderLoad,
    /// That one.
    Named(String, i32),
}

/// How many of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HowMany {
    /// One, drawn.
    One,
    /// At least one, drawn.
    Any,
    /// The most that are fewer than the rest, drawn.
    Minority,
    /// The fewest that are more than the rest, drawn.
    Majority,
    /// All.
    All,
}

/// The words that a target can begin with.
pub const WORDS: [&str; 17] = [
    "leader",
    "follower",
    "last",
    "replicas",
    "in-isr",
    "out-of-isr",
    "in-elr",
    "out-of-elr",
    "active-controller",
    "brokers",
    "controllers",
    "nodes",
    "one",
    "any",
    "minority",
    "majority",
    "all",
];

impl Target {
    /// Reads a target that is no name.
    ///
    /// # Errors
    /// Why it is none.
    pub fn parse(text: &str) -> Result<Target, String> {
        let mut parts = text.split(':');
        // A split has a first part.
        let word = parts.next().unwrap_or_default();
        let rest: Vec<&str> = parts.collect();
        if let (Ok(number), true) = (word.parse(), rest.is_empty()) {
            return Ok(Target::Number(number));
        }
        let superfluous = || {
            Err(format!(
                "target {text:?}: nothing can follow {word:?} in that way"
            ))
        };
        let place = |rest: &[&str]| match rest {
            [] => Some(Place::UnderLoad),
            [partition] => named_place(partition),
            _ => None,
        };
        let set = match word {
            "leader" => return place(&rest).map_or_else(superfluous, |place| Ok(Target::Leader(place))),
            "last" => return place(&rest).map_or_else(superfluous, |place| Ok(Target::Last(place))),
            "active-controller" if rest.is_empty() => return Ok(Target::ActiveController),
            "brokers" => Set::Brokers,
            "controllers" => Set::Controllers,
            "nodes" => Set::Nodes,
            _ => match (Part::named(word), HowMany::named(word)) {
                (Some(part), _) => {
                    let (at, rest) = match rest.split_first() {
                        Some((first, rest)) if HowMany::named(first).is_none() => (named_place(first), rest),
                        _ => (Some(Place::UnderLoad), &rest[..]),
                    };
                    let (Some(at), Some(how_many)) = (at, how_many(rest)) else {
                        return superfluous();
                    };
                    return Ok(Target::Of(Set::Replicas(part, at), how_many));
                }
                (None, Some(how_many)) if rest.is_empty() => return Ok(Target::Of(Set::Brokers, how_many)),
                _ => {
                    let near = crate::error::nearest(word, WORDS).join(", ");
                    return Err(format!(
                        "nobody is named {text:?} yet, and it is no role; the nearest are {near}"
                    ));
                }
            },
        };
        how_many(&rest).map_or_else(superfluous, |how_many| Ok(Target::Of(set, how_many)))
    }

    /// The partition whose state decides, where one does.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Target::Of(Set::Replicas(_, place), _) | Target::Leader(place) | Target::Last(place) => {
                Some(place)
            }
            _ => None,
        }
    }

    /// Whether the nodes can be brokers.
    pub fn can_be_broker(&self, controllers: &[i32]) -> bool {
        match self {
            Target::Number(number) => !controllers.contains(number),
            Target::Of(Set::Controllers, _) | Target::ActiveController => false,
            _ => true,
        }
    }

    /// How many nodes it means, where that is known before the run.
    pub fn size(&self, brokers: usize, controllers: usize, replicas: usize) -> Option<usize> {
        match self {
            Target::Number(_) | Target::Leader(_) | Target::Last(_) | Target::ActiveController => Some(1),
            Target::Of(_, HowMany::One) => Some(1),
            Target::Of(set, how_many) => {
                let of = match set {
                    Set::Brokers => brokers,
                    Set::Controllers => controllers,
                    Set::Nodes => brokers + controllers,
                    Set::Replicas(Part::All, _) => replicas,
                    Set::Replicas(..) => return None,
                };
                how_many.of(of)
            }
        }
    }
}

fn named_place(text: &str) -> Option<Place> {
    let (topic, number) = text.rsplit_once('-')?;
    let number = number.parse().ok().filter(|number| *number >= 0)?;
    (!topic.is_empty()).then(|| Place::Named(topic.into(), number))
}

fn how_many(rest: &[&str]) -> Option<HowMany> {
    match rest {
        [] => Some(HowMany::One),
        [word] => HowMany::named(word),
        _ => None,
    }
}

impl Part {
    fn named(word: &str) -> Option<Part> {
        Some(match word {
            "replicas" => Part::All,
            "follower" => Part::Follower,
            "in-isr" => Part::InIsr,
            "out-of-isr" => Part::OutOfIsr,
            "in-elr" => Part::InElr,
            "out-of-elr" => Part::OutOfElr,
            _ => return None,
        })
    }
}

impl HowMany {
    fn named(word: &str) -> Option<HowMany> {
        Some(match word {
            "one" => HowMany::One,
            "any" => HowMany::Any,
            "minority" => HowMany::Minority,
            "majority" => HowMany::Majority,
            "all" => HowMany::All,
            _ => return None,
        })
    }

    /// How many of so many; none where that is drawn.
    fn of(self, all: usize) -> Option<usize> {
        match self {
            HowMany::One => Some(1),
            HowMany::Any => None,
            HowMany::Minority => Some(all.saturating_sub(1) / 2),
            HowMany::Majority => Some(all / 2 + 1),
            HowMany::All => Some(all),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::UnderLoad => write!(f, "the partition under load"),
            Place::Named(topic, number) => write!(f, "{topic}-{number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_is_read() {
        let load = Place::UnderLoad;
        let night = Place::Named("my-night".into(), 3);
        for (text, target) in [
            ("100", Target::Number(100)),
            ("all", Target::Of(Set::Brokers, HowMany::All)),
            ("brokers", Target::Of(Set::Brokers, HowMany::One)),
            (
                "controllers:minority",
                Target::Of(Set::Controllers, HowMany::Minority),
            ),
            ("nodes:any", Target::Of(Set::Nodes, HowMany::Any)),
            ("leader", Target::Leader(load.clone())),
            ("leader:my-night-3", Target::Leader(night.clone())),
            ("last", Target::Last(load.clone())),
            (
                "follower",
                Target::Of(Set::Replicas(Part::Follower, load.clone()), HowMany::One),
            ),
            (
                "in-isr:all",
                Target::Of(Set::Replicas(Part::InIsr, load), HowMany::All),
            ),
            (
                "out-of-elr:my-night-3:majority",
                Target::Of(Set::Replicas(Part::OutOfElr, night), HowMany::Majority),
            ),
            ("active-controller", Target::ActiveController),
        ] {
            assert_eq!(Target::parse(text), Ok(target), "{text}");
        }
    }

    #[test]
    fn what_is_no_target_is_told_with_the_nearest() {
        let error = Target::parse("leder").unwrap_err();
        assert!(error.contains("leader"), "{error}");
        for bad in [
            "",
            "leader:",
            "leader:all",
            "leader:night",
            "leader:-3",
            "brokers:some",
            "brokers:all:all",
            "in-isr:night-0:some",
            "all:all",
            "active-controller:one",
            "7:one",
            "last:x-1:one",
        ] {
            assert!(Target::parse(bad).is_err(), "{bad}");
        }
    }
}
