//! Each rule of a leader, where it holds and where it does not.

mod toy;

use std::collections::{BTreeMap, BTreeSet};

use replication::{
    AlterIsrError, AlteredIsr, Broker, Completion, Effects, FollowerFetch, IsrMember, Leader, Now, Partition,
    Refusal, Replica, Settings, Transition,
};
use toy::ToyLog;

const LAG: u64 = 100;

type Registrations = BTreeMap<i32, Broker>;

/// Broker 1 leads replicas 1, 2, 3; its log has `LOG` records of epoch 0 when its epoch, 5, begins.
struct Case {
    replica: Replica,
    brokers: Registrations,
    ms: u64,
    log_end: i64,
}

const LOG: i64 = 10;

fn registrations() -> Registrations {
    let broker = |id: i32| Broker {
        broker_epoch: 100 + i64::from(id),
        fenced: false,
        in_controlled_shutdown: false,
    };
    (1..=4).map(|id| (id, broker(id))).collect()
}

fn partition(isr: &[i32]) -> Partition {
    Partition {
        leader: Some(1),
        leader_epoch: 5,
        partition_epoch: 20,
        isr: isr.to_vec(),
        replicas: vec![1, 2, 3],
    }
}

impl Case {
    fn new(min_insync_replicas: usize, isr: &[i32]) -> Self {
        Self::of(min_insync_replicas, &partition(isr))
    }

    fn of(min_insync_replicas: usize, partition: &Partition) -> Self {
        let settings = Settings {
            min_insync_replicas,
            replica_lag_time_max_ms: LAG,
        };
        let mut case = Self {
            replica: Replica::new(1, 101, settings, 4),
            brokers: registrations(),
            ms: 1_000,
            log_end: LOG,
        };
        match case.metadata(partition) {
            Transition::BecameLeader {
                leader_epoch: 5,
                start_offset: LOG,
                ..
            } => case,
            other => panic!("{other:?}"),
        }
    }

    fn metadata(&mut self, partition: &Partition) -> Transition {
        let log = ToyLog::of(&vec![0; self.log_end as usize]);
        let now = Now {
            ms: self.ms,
            log_end: self.log_end,
            brokers: &self.brokers,
        };
        self.replica.metadata(partition, &log, now)
    }

    fn leader(&self) -> &Leader {
        self.replica.leader().unwrap()
    }

    fn with<T>(&mut self, act: impl FnOnce(&mut Leader, Now<'_, Registrations>) -> T) -> T {
        let now = Now {
            ms: self.ms,
            log_end: self.log_end,
            brokers: &self.brokers,
        };
        act(self.replica.leader_mut().unwrap(), now)
    }

    fn append(&mut self, records: i64) -> Effects {
        self.log_end += records;
        self.with(|leader, now| leader.appended(now))
    }

    fn fetch(&mut self, replica: i32, fetch_offset: i64) -> Effects {
        self.fetch_as(replica, 100 + i64::from(replica), fetch_offset)
    }

    fn fetch_as(&mut self, replica: i32, broker_epoch: i64, fetch_offset: i64) -> Effects {
        let fetch = FollowerFetch {
            replica,
            broker_epoch,
            fetch_offset,
        };
        self.with(|leader, now| leader.fetched(&fetch, now))
    }

    fn tick_after(&mut self, ms: u64) -> Effects {
        self.ms += ms;
        self.with(|leader, now| leader.tick(now))
    }

    fn answer(&mut self, proposal: u64, answer: Result<AlteredIsr, AlterIsrError>) -> Effects {
        self.with(|leader, now| leader.isr_answer(proposal, answer, now))
    }

    fn committed(&mut self, proposal: u64, partition_epoch: i32, isr: &[i32]) -> Effects {
        self.answer(
            proposal,
            Ok(AlteredIsr {
                leader_epoch: 5,
                partition_epoch,
                isr: isr.to_vec(),
            }),
        )
    }

    fn high_watermark(&self) -> i64 {
        self.leader().high_watermark()
    }
}

fn set(ids: &[i32]) -> BTreeSet<i32> {
    ids.iter().copied().collect()
}

#[test]
fn the_high_watermark_waits_for_every_member_of_the_isr() {
    let mut case = Case::new(2, &[1, 2, 3]);
    assert_eq!(case.append(2).high_watermark, None);
    assert_eq!(case.fetch(2, 12).high_watermark, None, "3 has not fetched yet");
    assert_eq!(case.fetch(3, 11).high_watermark, Some(11));
    assert_eq!(case.fetch(3, 12).high_watermark, Some(12));
    assert_eq!(case.fetch(3, 12), Effects::default());
}

#[test]
fn the_high_watermark_never_decreases() {
    let mut case = Case::new(2, &[1, 2, 3]);
    let _ = case.fetch(2, 10);
    assert_eq!(case.fetch(3, 10).high_watermark, Some(10));
    // A follower that was truncated, or lost records.
    assert_eq!(case.fetch(3, 2).high_watermark, None);
    assert_eq!(case.high_watermark(), 10);
}

/// KIP-966: with a committed ISR below the min ISR nothing becomes visible, acks=1 records included.
#[test]
fn below_the_min_isr_the_high_watermark_stands_still() {
    let mut alone = Case::new(2, &[1]);
    assert_eq!(alone.append(1).high_watermark, None);
    assert_eq!(
        (alone.high_watermark(), alone.leader().admit_acks_all()),
        (4, Err(Refusal::NotEnoughReplicas))
    );
    let mut enough = Case::new(1, &[1]);
    assert_eq!(enough.append(1).high_watermark, Some(11));
    assert_eq!(enough.leader().admit_acks_all(), Ok(()));
}

/// It is the committed ISR that counts for that, not the maximal one.
#[test]
fn a_proposed_member_does_not_yet_make_up_the_min_isr() {
    let mut case = Case::new(2, &[1]);
    let proposal = case.fetch(2, 10).alter_isr.unwrap();
    assert_eq!(case.leader().maximal_isr(), set(&[1, 2]));
    assert_eq!(
        (case.high_watermark(), case.leader().admit_acks_all()),
        (4, Err(Refusal::NotEnoughReplicas))
    );
    assert_eq!(
        case.committed(proposal.proposal, 21, &[1, 2]).high_watermark,
        Some(10)
    );
    assert_eq!(case.leader().admit_acks_all(), Ok(()));
}

/// But it must have the records already.
#[test]
fn a_proposed_member_holds_the_high_watermark_back() {
    let mut case = Case::new(2, &[1, 2]);
    let _ = case.fetch(2, 10);
    assert!(case.fetch(3, 10).alter_isr.is_some());
    let _ = case.append(1);
    assert_eq!(case.fetch(2, 11).high_watermark, None);
    assert_eq!(case.fetch(3, 11).high_watermark, Some(11));
}

#[test]
fn a_member_about_to_be_removed_holds_the_high_watermark_back() {
    let mut case = Case::new(2, &[1, 2, 3]);
    let _ = case.append(1);
    case.ms += LAG + 1;
    let _ = case.fetch(2, 11);
    let proposal = case.tick_after(0).alter_isr.unwrap();
    assert_eq!(
        proposal.isr,
        [
            IsrMember {
                broker: 1,
                broker_epoch: 101
            },
            IsrMember {
                broker: 2,
                broker_epoch: 102
            }
        ]
    );
    assert_eq!(
        (case.high_watermark(), case.leader().maximal_isr()),
        (4, set(&[1, 2, 3]))
    );
    assert_eq!(
        case.committed(proposal.proposal, 21, &[1, 2]).high_watermark,
        Some(11)
    );
}

/// A replica outside the ISR that has caught up and may join is waited for, so that it can join.
#[test]
fn a_caught_up_replica_outside_the_isr_holds_the_high_watermark_back() {
    for eligible in [true, false] {
        let mut case = Case::new(2, &[1, 2]);
        let proposal = case.fetch(3, 10).alter_isr.unwrap();
        let _ = case.answer(proposal.proposal, Err(AlterIsrError::Rejected));
        case.brokers.get_mut(&3).unwrap().fenced = !eligible;
        let _ = case.append(1);
        assert_eq!(
            case.fetch(2, 11).high_watermark,
            Some(if eligible { 10 } else { 11 })
        );
        // Once it lags, no longer.
        case.ms += LAG + 1;
        assert_eq!(case.fetch(2, 11).high_watermark, eligible.then_some(11));
    }
}

#[test]
fn the_effective_min_isr_is_no_more_than_the_replicas() {
    let two = |isr: &[i32]| Partition {
        replicas: vec![1, 2],
        ..partition(isr)
    };
    let mut case = Case::of(5, &two(&[1, 2]));
    assert_eq!(
        two(&[1]).effective_min_isr(&Settings {
            min_insync_replicas: 5,
            replica_lag_time_max_ms: 0
        }),
        2
    );
    assert_eq!(
        (case.leader().effective_min_isr(), case.leader().admit_acks_all()),
        (2, Ok(()))
    );
    assert_eq!(case.fetch(2, 10).high_watermark, Some(10));
    assert!(Case::of(5, &two(&[1])).leader().admit_acks_all().is_err());
}

#[test]
fn a_replica_joins_at_the_high_watermark_and_the_start_of_the_epoch() {
    let mut case = Case::new(1, &[1]);
    assert_eq!(case.high_watermark(), 10);
    assert_eq!(case.fetch(2, 9).alter_isr, None);
    assert!(case.fetch(2, 10).alter_isr.is_some());
    // The high watermark alone does not do: 4 here, the epoch begins at 10 (KAFKA-7128).
    let mut behind = Case::new(2, &[1]);
    assert_eq!(behind.high_watermark(), 4);
    assert_eq!(behind.fetch(2, 9).alter_isr, None);
    assert!(behind.fetch(2, 10).alter_isr.is_some());
    // Nor does the start of the epoch.
    let mut ahead = Case::new(1, &[1]);
    let _ = ahead.append(5);
    assert_eq!(ahead.fetch(2, 14).alter_isr, None);
    assert!(ahead.fetch(2, 15).alter_isr.is_some());
}

#[test]
fn only_an_eligible_broker_joins() {
    let mut case = Case::new(2, &[1]);
    let broker = case.brokers[&2];
    for ineligible in [
        Some(Broker {
            fenced: true,
            ..broker
        }),
        Some(Broker {
            in_controlled_shutdown: true,
            ..broker
        }),
        Some(Broker {
            broker_epoch: 99,
            ..broker
        }), // the fetch is of a registration not heard of yet
        None,
    ] {
        match ineligible {
            Some(broker) => case.brokers.insert(2, broker),
            None => case.brokers.remove(&2),
        };
        assert_eq!(case.fetch(2, 10).alter_isr, None, "{ineligible:?}");
    }
    case.brokers.insert(2, broker);
    assert!(case.fetch(2, 10).alter_isr.is_some());
}

#[test]
fn a_fetch_without_a_broker_epoch_passes_that_check() {
    let proposal = Case::new(2, &[1]).fetch_as(2, -1, 10).alter_isr.unwrap();
    assert_eq!(
        proposal.isr[1],
        IsrMember {
            broker: 2,
            broker_epoch: -1
        }
    );
}

/// KIP-903: a fetch sent before the follower registered anew says nothing about what it has now.
#[test]
fn a_fetch_of_an_earlier_incarnation_is_not_noted() {
    let mut case = Case::new(2, &[1, 2]);
    assert_eq!(case.fetch_as(2, 90, 10), Effects::default());
    assert_eq!(case.fetch_as(2, 102, 10).high_watermark, Some(10));
    assert_eq!(case.fetch(7, 10), Effects::default(), "no replica");
}

#[test]
fn a_follower_that_lags_leaves_and_one_that_keeps_up_stays() {
    let mut case = Case::new(2, &[1, 2, 3]);
    assert_eq!(
        case.tick_after(LAG).alter_isr,
        None,
        "a new leader gives everyone time"
    );
    let _ = case.fetch(2, 10);
    let proposal = case.tick_after(1).alter_isr.unwrap();
    assert_eq!(
        proposal
            .isr
            .iter()
            .map(|member| member.broker)
            .collect::<Vec<_>>(),
        [1, 2]
    );
    assert_eq!((proposal.leader_epoch, proposal.partition_epoch), (5, 20));
    // One in flight is enough.
    assert_eq!(case.tick_after(10 * LAG).alter_isr, None);
}

/// A follower that always fetches what there was a moment ago keeps up, though it is never at the end.
#[test]
fn a_follower_just_behind_a_busy_leader_stays() {
    let mut case = Case::new(2, &[1, 2]);
    let mut seen = case.log_end;
    for _ in 0..20 {
        case.ms += LAG / 2;
        let _ = case.append(3);
        let _ = case.fetch(2, seen);
        seen = case.log_end;
        assert_eq!(case.tick_after(0).alter_isr, None);
    }
    // One that falls behind ever more does not.
    for _ in 0..3 {
        let _ = case.append(9);
        let _ = case.fetch(2, seen + 1);
        case.ms += LAG / 2;
    }
    assert!(case.tick_after(0).alter_isr.is_some());
}

#[test]
fn answers_are_heeded_by_kind() {
    let begin = || {
        let mut case = Case::new(2, &[1]);
        let proposal = case.fetch(2, 10).alter_isr.unwrap();
        (case, proposal)
    };
    // Given up: the committed ISR stands, and it may be tried again.
    let (mut case, first) = begin();
    assert_eq!(
        case.answer(first.proposal, Err(AlterIsrError::Rejected)),
        Effects::default()
    );
    assert!(case.leader().pending().is_none());
    let second = case.fetch(2, 10).alter_isr.unwrap();
    assert_ne!(first.proposal, second.proposal);
    // A late answer to the first says nothing about the second.
    assert_eq!(case.committed(first.proposal, 21, &[1, 2]), Effects::default());
    assert_eq!(
        (case.leader().partition_epoch(), case.leader().pending()),
        (20, Some(&second))
    );

    // Outdated: pending until metadata comes.
    let (mut case, first) = begin();
    assert_eq!(
        case.answer(first.proposal, Err(AlterIsrError::Outdated)),
        Effects::default()
    );
    assert_eq!(case.leader().pending(), Some(&first));
    assert_eq!(case.fetch(2, 10).alter_isr, None);

    // Anything else: once more, the same.
    let (mut case, first) = begin();
    let again = case
        .answer(first.proposal, Err(AlterIsrError::Retriable))
        .alter_isr;
    assert_eq!(again, Some(first));
}

#[test]
fn an_answer_of_another_epoch_is_ignored() {
    let mut case = Case::new(2, &[1]);
    let proposal = case.fetch(2, 10).alter_isr.unwrap().proposal;
    let isr = vec![1, 2];
    for (leader_epoch, partition_epoch) in [(4, 21), (6, 21), (5, 19)] {
        let altered = AlteredIsr {
            leader_epoch,
            partition_epoch,
            isr: isr.clone(),
        };
        assert_eq!(case.answer(proposal, Ok(altered)), Effects::default());
        assert_eq!(case.leader().committed_isr(), &set(&[1]));
    }
    // The same partition epoch: there was nothing to change.
    let _ = case.committed(proposal, 20, &[1, 2]);
    assert_eq!(case.leader().committed_isr(), &set(&[1, 2]));
}

#[test]
fn metadata_overtakes_a_proposal() {
    let mut case = Case::new(2, &[1, 2]);
    let _ = case.fetch(2, 10);
    let proposal = case.fetch(3, 10).alter_isr.unwrap().proposal;
    assert_eq!(
        case.metadata(&partition(&[1, 2, 3])),
        Transition::Stale,
        "the same partition epoch"
    );
    assert!(case.leader().pending().is_some());
    let newer = Partition {
        partition_epoch: 21,
        ..partition(&[1])
    };
    assert_eq!(case.metadata(&newer), Transition::Updated(Effects::default()));
    assert_eq!(
        (case.leader().committed_isr(), case.leader().pending()),
        (&set(&[1]), None)
    );
    assert_eq!(case.committed(proposal, 22, &[1, 2, 3]), Effects::default());
    assert_eq!(case.leader().partition_epoch(), 21);
}

#[test]
fn metadata_may_change_the_replicas() {
    let mut case = Case::new(2, &[1, 2]);
    let _ = case.append(1);
    assert_eq!(case.fetch(2, 11).high_watermark, Some(11));
    let moved = Partition {
        partition_epoch: 21,
        replicas: vec![1, 2, 4],
        ..partition(&[1, 2])
    };
    assert!(matches!(case.metadata(&moved), Transition::Updated(_)));
    assert!(case.leader().has_replica(4) && !case.leader().has_replica(3));
    assert_eq!(case.fetch(3, 11), Effects::default());
    assert!(case.fetch(4, 11).alter_isr.is_some());
}

/// What followers were known to have under one epoch is not counted under the next.
#[test]
fn a_new_epoch_of_the_same_leader_begins_with_nothing_known() {
    let mut case = Case::new(2, &[1, 2]);
    let _ = case.fetch(2, 10);
    let _ = case.append(1);
    let next = Partition {
        leader_epoch: 6,
        partition_epoch: 21,
        ..partition(&[1, 2])
    };
    match case.metadata(&next) {
        Transition::BecameLeader {
            leader_epoch: 6,
            start_offset: 11,
            effects,
        } => assert_eq!(effects, Effects::default()),
        other => panic!("{other:?}"),
    }
    assert_eq!(case.append(1).high_watermark, None);
    assert_eq!(case.fetch(2, 12).high_watermark, Some(12));
}

#[test]
fn proposals_are_never_numbered_alike() {
    let mut case = Case::new(2, &[1]);
    let first = case.fetch(2, 10).alter_isr.unwrap().proposal;
    let away = Partition {
        leader: Some(2),
        leader_epoch: 6,
        partition_epoch: 21,
        ..partition(&[2])
    };
    assert_eq!(
        case.metadata(&away),
        Transition::BecameFollower {
            leader: Some(2),
            leader_epoch: 6
        }
    );
    let back = Partition {
        leader_epoch: 7,
        partition_epoch: 22,
        ..partition(&[1])
    };
    assert!(matches!(case.metadata(&back), Transition::BecameLeader { .. }));
    assert_ne!(case.fetch(2, 10).alter_isr.unwrap().proposal, first);
}

#[test]
fn acks_all_completes_at_the_high_watermark() {
    let mut case = Case::new(2, &[1, 2]);
    let _ = case.append(1);
    assert_eq!(case.leader().completion(11), Completion::Waiting);
    let _ = case.fetch(2, 11);
    assert_eq!(
        (case.leader().completion(11), case.leader().completion(12)),
        (Completion::Acknowledged, Completion::Waiting)
    );
    // The ISR has shrunk below the min ISR since: replicated, but to too few.
    let shrunk = Partition {
        partition_epoch: 21,
        ..partition(&[1])
    };
    assert!(matches!(case.metadata(&shrunk), Transition::Updated(_)));
    assert_eq!(
        case.leader().completion(11),
        Completion::NotEnoughReplicasAfterAppend
    );
    // Here the maximal ISR counts.
    assert!(case.fetch(2, 11).alter_isr.is_some());
    assert_eq!(case.leader().completion(11), Completion::Acknowledged);
}

#[test]
fn the_latest_offset_is_not_told_before_the_epoch_is_reached() {
    let mut case = Case::new(2, &[1, 2]);
    assert_eq!(case.leader().latest_offset(), Err(Refusal::OffsetNotAvailable));
    let _ = case.fetch(2, 9);
    assert_eq!(
        (case.high_watermark(), case.leader().latest_offset()),
        (9, Err(Refusal::OffsetNotAvailable))
    );
    let _ = case.fetch(2, 10);
    assert_eq!(case.leader().latest_offset(), Ok(10));
}

#[test]
fn a_changed_min_isr_takes_effect_with_the_next_event() {
    let mut case = Case::new(2, &[1]);
    assert_eq!(case.append(1).high_watermark, None);
    case.replica.set_settings(Settings {
        min_insync_replicas: 1,
        replica_lag_time_max_ms: LAG,
    });
    assert_eq!(case.tick_after(0).high_watermark, Some(11));
}

#[test]
fn an_own_broker_epoch_goes_into_proposals() {
    let mut case = Case::new(2, &[1]);
    case.replica.set_broker_epoch(777);
    assert_eq!(
        case.fetch(2, 10).alter_isr.unwrap().isr[0],
        IsrMember {
            broker: 1,
            broker_epoch: 777
        }
    );
}
