//! The kinds of faults, and when a round heals its own.

use std::time::Duration;

/// A fault on the quorum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// SIGKILL to the leader.
    LeaderKilled,
    /// SIGSTOP to the leader.
    LeaderPaused,
    /// Every link of the leader to another node is cut, both ways.
    LeaderIsolated,
    /// SIGKILL to two of three controllers.
    MajorityLost,
    /// Two of three controllers isolated.
    MajorityIsolated,
    /// The power of all controllers and brokers, at one instant.
    AllPowerCut,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 6] = [
        Kind::LeaderKilled,
        Kind::LeaderPaused,
        Kind::LeaderIsolated,
        Kind::MajorityLost,
        Kind::MajorityIsolated,
        Kind::AllPowerCut,
    ];

    /// Its name, for people and folders.
    pub fn name(self) -> &'static str {
        match self {
            Kind::LeaderKilled => "leader-killed",
            Kind::LeaderPaused => "leader-paused",
            Kind::LeaderIsolated => "leader-isolated",
            Kind::MajorityLost => "majority-lost",
            Kind::MajorityIsolated => "majority-isolated",
            Kind::AllPowerCut => "all-power-cut",
        }
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether those that the fault spares are a majority, and must find a leader while it lasts.
    pub fn leaves_a_majority(self) -> bool {
        matches!(
            self,
            Kind::LeaderKilled | Kind::LeaderPaused | Kind::LeaderIsolated
        )
    }

    /// Who is hit in a round, of the controllers with their leader. Of a majority the leader is one in two of three
    /// rounds, and both followers are in the third.
    pub fn victims(self, round: usize, leader: i32, controllers: &[i32]) -> Vec<i32> {
        let followers: Vec<i32> = controllers.iter().copied().filter(|id| *id != leader).collect();
        match self {
            Kind::LeaderKilled | Kind::LeaderPaused | Kind::LeaderIsolated => vec![leader],
            Kind::MajorityLost | Kind::MajorityIsolated => match round % 3 {
                2 => followers,
                n => vec![leader, followers[n % followers.len()]],
            },
            Kind::AllPowerCut => controllers.to_vec(),
        }
    }

    /// When a round heals.
    pub fn hold(self, round: usize) -> Hold {
        match (self, round % 4) {
            // Nobody is there to wait for.
            (Kind::AllPowerCut, _) | (_, 1) => Hold::NotAtAll,
            (_, 0) => Hold::UntilItShows,
            (_, 2) => Hold::For(super::figures::FETCH_TIMEOUT / 2),
            (_, _) => Hold::For(super::figures::FETCH_TIMEOUT * 5 / 4),
        }
    }
}

/// How long a fault lasts: the moments matter, since a heal may meet an election half-way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// It is healed as soon as it was measured.
    NotAtAll,
    /// So long after it was put in: before any follower has missed its leader, and while they vote.
    For(Duration),
    /// Until another leader is active, or, without a majority, until nobody that answers leads.
    UntilItShows,
}

impl Hold {
    /// For people.
    pub fn text(self) -> String {
        match self {
            Hold::NotAtAll => "at once".into(),
            Hold::For(time) => format!("after {} ms", time.as_millis()),
            Hold::UntilItShows => "when it had shown".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_read_back_and_others_are_not() {
        for kind in Kind::ALL {
            assert_eq!(Kind::named(kind.name()), Some(kind));
        }
        assert_eq!(Kind::named("leader"), None);
    }

    #[test]
    fn a_majority_is_two_of_three_with_and_without_the_leader() {
        let victims: BTreeSet<Vec<i32>> = (0..6)
            .map(|round| Kind::MajorityLost.victims(round, 101, &[100, 101, 102]))
            .collect();
        let expected = [vec![100, 102], vec![101, 100], vec![101, 102]];
        assert_eq!(victims, BTreeSet::from(expected));
    }

    #[test]
    fn two_rounds_have_the_two_ends_of_a_fault() {
        assert_eq!(Kind::LeaderKilled.hold(0), Hold::UntilItShows);
        assert_eq!(Kind::LeaderKilled.hold(1), Hold::NotAtAll);
        assert_eq!(Kind::AllPowerCut.hold(0), Hold::NotAtAll);
    }
}
