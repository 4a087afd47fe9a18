//! Registrations: twins, other clusters, features, amendments, removed registrations, controllers.

use super::*;
use records::{EndPoint, Feature, UnregisterBroker};

#[test]
fn a_living_twin_is_refused_and_a_dead_one_is_not() {
    let mut world = World::new(1, 1);
    world.now += TIMEOUT - 1;
    assert_eq!(world.register(0, -1), Err(ErrorCode::DuplicateBrokerRegistration));
    world.now += 1;
    assert!(world.register(0, -1).is_ok());
}

#[test]
fn after_a_fail_over_an_unfenced_broker_has_a_twins_lease_and_a_fenced_one_has_not() {
    let mut world = World::new(1, 2);
    world.fence(1);
    world.fail_over();
    assert_eq!(world.register(0, -1), Err(ErrorCode::DuplicateBrokerRegistration));
    assert!(world.register(1, -1).is_ok());
}

#[test]
fn another_cluster_and_a_negative_id_are_refused() {
    let mut world = World::new(1, 0);
    let mut request = world.registration(9, -1);
    request.cluster_id = "other".into();
    assert_eq!(
        world.ask_registration(&request),
        Err(ErrorCode::InconsistentClusterId)
    );
    request.cluster_id = "c".into();
    request.broker_id = -1;
    assert_eq!(world.ask_registration(&request), Err(ErrorCode::InvalidRequest));
    request.broker_id = 9;
    assert_eq!(world.ask_registration(&request), Ok(1));
}

#[test]
fn a_broker_must_support_the_levels_in_force_of_the_features_it_names() {
    let feature = |name: &str, max| Feature {
        name: name.into(),
        min: 0,
        max,
    };
    for (elr, name, max, expected) in [
        (1, ELR_FEATURE, 1, Ok(1)),
        (1, ELR_FEATURE, 0, Err(ErrorCode::UnsupportedVersion)),
        (0, ELR_FEATURE, 0, Ok(1)),
        (1, "another", 0, Ok(1)),
    ] {
        let mut world = World::new(elr, 0);
        let mut request = world.registration(0, -1);
        request.features = vec![feature(name, max)];
        assert_eq!(world.ask_registration(&request), expected, "{elr} {name} {max}");
    }
}

#[test]
fn a_new_life_has_the_batchs_first_offset_for_its_epoch() {
    let mut world = World::new(1, 3);
    world.topic(&[0, 1, 2], 2);
    world.now += TIMEOUT;
    let next = world.log.len() as i64;
    // It still leads: its partition changes first, in the same batch.
    assert_eq!(world.register(0, -1), Ok(next));
    assert!(matches!(world.log[next as usize].1, Record::PartitionChange(_)));
    assert!(matches!(world.log.last().unwrap().1, Record::RegisterBroker(_)));
    assert_eq!(world.epoch(0), next);
    assert!(world.broker(0).fenced);
    assert!(world.broker(0).registered_at > next);
    world.replays();
}

#[test]
fn the_same_incarnation_amends_and_keeps_epoch_and_state() {
    let mut world = World::new(1, 3);
    world.topic(&[0, 1, 2], 2);
    let request = world.registration(5, -1);
    let epoch = world.ask_registration(&request).unwrap();
    let amended = |end_point: &str, request: &RegisterBroker| RegisterBroker {
        end_points: vec![EndPoint {
            name: end_point.into(),
            host: "h".into(),
            port: 1,
            security_protocol: 0,
        }],
        ..request.clone()
    };
    assert_eq!(world.ask_registration(&amended("a", &request)), Ok(epoch));
    assert!(world.broker(5).fenced, "fenced as before");
    world.beat(5, false).unwrap();
    assert_eq!(world.ask_registration(&amended("b", &request)), Ok(epoch));
    assert!(!world.broker(5).fenced, "unfenced as before");
    assert_eq!(world.broker(5).end_points[0].name, "b");

    let incarnation_id = world.broker(0).incarnation;
    let leader = RegisterBroker {
        incarnation_id,
        ..world.registration(0, -1)
    };
    world.beat(0, true).unwrap();
    world.ask_registration(&leader).unwrap();
    assert!(
        world.broker(0).controlled_shutdown_at.is_some(),
        "shutting down as before"
    );
    world.replays();
}

/// The three brokers hold the topic; 1 is in the ELR, and its registration is removed.
fn unregistered(elr: i16) -> World {
    let mut world = World::new(elr, 3);
    world.topic(&[0, 1, 2], 3);
    world.fence(1);
    let removed = UnregisterBroker {
        broker_id: 1,
        broker_epoch: world.epoch(1),
    };
    world.append(vec![Record::UnregisterBroker(removed)]);
    world
}

#[test]
fn a_removed_registration_makes_the_next_one_unclean_whatever_it_says() {
    for previous in [-2, -1, 0, 3] {
        let mut world = unregistered(1);
        assert_eq!(world.state(), (0, vec![0, 2], vec![1]));
        world.register(1, previous).unwrap();
        assert_eq!(world.state(), (0, vec![0, 2], vec![]), "{previous}");
    }
    let mut world = unregistered(0);
    world.register(1, -1).unwrap();
    assert_eq!(world.state(), (0, vec![0, 2], vec![]));
}

#[test]
fn a_controller_registers() {
    let mut world = World::new(1, 0);
    let mut request = RegisterController {
        controller_id: 100,
        incarnation_id: Uuid::from_u128(4),
        end_points: vec![],
        features: vec![Feature {
            name: ELR_FEATURE.into(),
            min: 0,
            max: 1,
        }],
    };
    let outcome = world.controller.register_controller(&request);
    assert_eq!(outcome.reply, Ok(()));
    world.append(outcome.records);
    assert_eq!(
        world.controller.image().controllers()[&100].incarnation,
        Uuid::from_u128(4)
    );
    world.replays();
    request.features[0].max = 0;
    let refused = world.controller.register_controller(&request);
    assert_eq!(refused.reply, Err(ErrorCode::UnsupportedVersion));
    assert!(refused.records.is_empty());
}

#[test]
fn an_unregistered_broker_leaves_the_isr_and_leads_nothing() {
    let mut world = World::new(1, 3);
    world.topic(&[0, 1, 2], 2);
    world.unregister(0).unwrap();
    assert_eq!(world.state(), (1, vec![1, 2], vec![]));
    assert!(!world.controller.image().brokers().contains_key(&0));
    assert_eq!(world.unregister(0), Err(ErrorCode::BrokerIdNotRegistered));
    // It still holds what it had, and is asked to show it.
    world.start(0, -1);
    world.alter(&[1, 2, 0]).unwrap();
    world.unregister(2).unwrap();
    world.unregister(1).unwrap();
    assert_eq!(world.state(), (0, vec![0], vec![1]));
    world.start(1, -1);
    assert_eq!(
        world.state(),
        (0, vec![0], vec![]),
        "nobody knows what it lost meanwhile"
    );
    world.replays();
}
