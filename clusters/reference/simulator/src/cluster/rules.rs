//! The rules of ISR and ELR, checked on the image after every committed record.

use controller::{Image, Partition, effective_min_isr};

use crate::quorum::Violation;

/// Checks the image that a record led to, and the step there.
pub(super) fn check(before: &Image, after: &Image, (min_isr, elr): (usize, bool)) -> Result<(), Violation> {
    for (topic, contents) in after.topics() {
        for (number, partition) in &contents.partitions {
            let broken = standing(after, partition, min_isr, elr).or_else(|| {
                let was = before.partition(*topic, *number)?;
                step(was, partition)
            });
            if let Some(rule) = broken {
                let was = before.partition(*topic, *number);
                return Err(Violation::Application(format!(
                    "{rule}: {partition:?} after {was:?}"
                )));
            }
        }
    }
    Ok(())
}

/// The first rule that the state breaks.
fn standing(image: &Image, partition: &Partition, min_isr: usize, elr: bool) -> Option<&'static str> {
    let Partition {
        replicas,
        isr,
        elr: eligible,
        leader,
        ..
    } = partition;
    let fenced = |id: &i32| image.brokers().get(id).is_none_or(|broker| broker.fenced);
    // Without eligible leader replicas the last member stays, fenced, and nobody leads.
    let last_standing = !elr && isr.len() == 1 && *leader < 0;
    let min_isr = effective_min_isr(i32::try_from(min_isr).unwrap_or(i32::MAX), replicas.len());
    let rules = [
        (
            isr.iter().any(fenced) && !last_standing,
            "a fenced broker is in the ISR",
        ),
        (isr.iter().any(|id| eligible.contains(id)), "ISR and ELR overlap"),
        (
            isr.iter().chain(eligible).any(|id| !replicas.contains(id)),
            "ISR or ELR has a member that is no replica",
        ),
        (
            isr.len() >= min_isr && !eligible.is_empty(),
            "the ISR is large enough, yet there is an ELR",
        ),
        (
            *leader >= 0 && !isr.contains(leader),
            "the leader is not in the ISR",
        ),
        (*leader >= 0 && fenced(leader), "the leader is fenced"),
    ];
    rules.iter().find(|(broken, _)| *broken).map(|(_, rule)| *rule)
}

/// The first rule that the step breaks.
fn step(was: &Partition, is: &Partition) -> Option<&'static str> {
    let changed = was != is;
    let elected = is.leader >= 0 && is.leader != was.leader;
    let eligible = was.isr.contains(&is.leader) || was.elr.contains(&is.leader);
    // With nobody eligible left, by this very change or before it, the last known leader may come
    // back, and says so.
    let recovery =
        was.isr.is_empty() && is.elr.is_empty() && was.last_known_elr == [is.leader] && is.recovering;
    let rules = [
        (
            changed && is.partition_epoch != was.partition_epoch + 1,
            "the partition epoch did not grow by one",
        ),
        (is.leader_epoch < was.leader_epoch, "the leader epoch fell"),
        (
            is.leader != was.leader && is.leader_epoch != was.leader_epoch + 1,
            "another leader, but not the next leader epoch",
        ),
        (
            elected && !eligible && !recovery,
            "the new leader was neither in the ISR nor eligible",
        ),
    ];
    rules.iter().find(|(broken, _)| *broken).map(|(_, rule)| *rule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use records::{Record, RegisterBroker, Topic};
    use uuid::Uuid;

    const TOPIC: Uuid = Uuid::from_u128(1);

    fn image(fenced: &[i32], partition: &Partition) -> Image {
        let config = controller::Config {
            cluster_id: String::new(),
            session_timeout_ms: 1,
            min_insync_replicas: 2,
            unclean_leader_election: false,
            num_partitions: 1,
            default_replication_factor: 1,
        };
        let mut controller = controller::Controller::new(config);
        let broker = |id| {
            Record::RegisterBroker(RegisterBroker {
                broker_id: id,
                is_migrating_zk_broker: false,
                incarnation_id: Uuid::nil(),
                broker_epoch: 1,
                end_points: vec![],
                features: vec![],
                rack: None,
                fenced: fenced.contains(&id),
                in_controlled_shutdown: false,
                log_dirs: vec![],
            })
        };
        let topic = Topic {
            name: "t".to_owned(),
            topic_id: TOPIC,
        };
        let made = records::Partition {
            partition_id: 0,
            topic_id: TOPIC,
            replicas: partition.replicas.clone(),
            isr: partition.isr.clone(),
            eligible_leader_replicas: partition.elr.clone(),
            last_known_elr: partition.last_known_elr.clone(),
            leader: partition.leader,
            leader_recovery_state: i8::from(partition.recovering),
            leader_epoch: partition.leader_epoch,
            partition_epoch: partition.partition_epoch,
            ..records::Partition::default()
        };
        let records = (0..3)
            .map(broker)
            .chain([Record::Topic(topic), Record::Partition(made)]);
        for record in records {
            controller.replay(0, 0, &record).unwrap();
        }
        controller.image().clone()
    }

    fn partition(isr: &[i32], elr: &[i32], leader: i32) -> Partition {
        Partition {
            replicas: vec![0, 1, 2],
            isr: isr.to_vec(),
            elr: elr.to_vec(),
            last_known_elr: vec![],
            leader,
            recovering: false,
            leader_epoch: 4,
            partition_epoch: 7,
            removing_replicas: vec![],
            adding_replicas: vec![],
            directories: vec![],
        }
    }

    fn verdict(fenced: &[i32], partition: &Partition) -> Result<(), Violation> {
        let image = image(fenced, partition);
        check(&image, &image, (2, true))
    }

    #[test]
    fn a_sound_state_passes_and_each_unsound_one_fails() {
        assert_eq!(verdict(&[2], &partition(&[0, 1], &[], 0)), Ok(()));
        assert_eq!(verdict(&[1, 2], &partition(&[0], &[1], 0)), Ok(()));
        assert_eq!(verdict(&[0, 1], &partition(&[], &[0, 1], -1)), Ok(()));
        for (fenced, unsound) in [
            (&[1][..], partition(&[0, 1], &[], 0)),
            (&[], partition(&[0], &[0], 0)),
            (&[], partition(&[0], &[8], 0)),
            (&[], partition(&[0, 1], &[2], 0)),
            (&[], partition(&[0, 1], &[], 2)),
        ] {
            assert!(verdict(fenced, &unsound).is_err(), "{unsound:?}");
        }
    }

    #[test]
    fn without_elr_only_the_last_replica_standing_may_be_fenced() {
        let check = |fenced: &[i32], partition: &Partition| {
            let image = image(fenced, partition);
            check(&image, &image, (2, false))
        };
        assert_eq!(check(&[0], &partition(&[0], &[], -1)), Ok(()));
        assert!(check(&[0], &partition(&[0, 1], &[], -1)).is_err());
        assert!(check(&[0], &partition(&[0], &[], 0)).is_err());
    }

    #[test]
    fn steps_go_forward_and_leaders_are_eligible() {
        let was = partition(&[0], &[1], 0);
        let next = |leader, isr: &[i32], leader_epoch, partition_epoch| Partition {
            leader_epoch,
            partition_epoch,
            ..partition(isr, &[], leader)
        };
        assert_eq!(step(&was, &was), None);
        assert_eq!(step(&was, &next(1, &[1], 5, 8)), None);
        assert!(step(&was, &next(1, &[1], 5, 9)).is_some());
        assert!(step(&was, &next(1, &[1], 4, 8)).is_some());
        assert!(step(&was, &next(0, &[0], 3, 8)).is_some());
        assert!(step(&was, &next(2, &[2], 5, 8)).is_some());
    }

    #[test]
    fn the_last_known_leader_comes_back_only_when_nobody_is_eligible() {
        let alone = Partition {
            last_known_elr: vec![2],
            ..partition(&[], &[], -1)
        };
        let back = Partition {
            leader_epoch: 5,
            partition_epoch: 8,
            recovering: true,
            ..partition(&[2], &[], 2)
        };
        assert_eq!(step(&alone, &back), None);
        assert!(
            step(
                &alone,
                &Partition {
                    recovering: false,
                    ..back.clone()
                }
            )
            .is_some()
        );
        let passed_over = Partition { elr: vec![1], ..back };
        assert!(step(&alone, &passed_over).is_some());
    }
}
