//! Heartbeats and sessions.

use super::*;

#[test]
fn heartbeats_unfence_whoever_has_seen_its_registration() {
    let mut world = World::new(1, 0);
    world.register(0, -1).unwrap();
    let mut heartbeat = Heartbeat {
        broker_id: 0,
        broker_epoch: world.epoch(0),
        current_metadata_offset: world.log.len() as i64 - 2,
        want_fence: false,
        want_shut_down: false,
    };
    let early = world.controller.heartbeat(0, &heartbeat);
    assert!(early.records.is_empty() && early.reply.unwrap().is_fenced);
    heartbeat.broker_epoch += 1;
    assert_eq!(
        world.controller.heartbeat(0, &heartbeat).reply,
        Err(ErrorCode::StaleBrokerEpoch)
    );
    heartbeat.broker_id = 5;
    assert_eq!(
        world.controller.heartbeat(0, &heartbeat).reply,
        Err(ErrorCode::BrokerIdNotRegistered)
    );
    assert!(!world.beat(0, false).unwrap().is_fenced);
}

#[test]
fn a_controlled_shutdown_moves_leaders_first() {
    let mut world = World::new(1, 3);
    world.topic(&[0, 1, 2], 2);
    let asked = world.beat(0, true).unwrap();
    assert!(!asked.should_shut_down);
    assert_eq!(world.state(), (1, vec![1, 2], vec![]));
    world.beat(1, false).unwrap();
    assert!(
        !world.beat(0, true).unwrap().should_shut_down,
        "2 has not seen it"
    );
    world.beat(2, false).unwrap();
    assert!(world.beat(0, true).unwrap().should_shut_down);
    let clean = world.epoch(0);
    world.start(0, clean);
    assert_eq!(world.state(), (1, vec![1, 2], vec![]));
}

#[test]
fn a_new_active_controller_gives_fresh_leases() {
    let mut world = World::new(1, 2);
    world.now += 10 * TIMEOUT;
    world.controller.activate(world.now);
    assert!(world.controller.tick(world.now + TIMEOUT - 1).is_empty());
    assert_eq!(world.controller.next_deadline_ms(), Some(world.now + TIMEOUT));
    assert!(!world.controller.tick(world.now + TIMEOUT).is_empty());
}

#[test]
fn a_broker_that_leads_nothing_may_go_at_once() {
    let mut world = World::new(1, 3);
    world.topic(&[0, 1, 2], 2);
    assert!(world.beat(2, true).unwrap().should_shut_down);
    assert!(world.broker(2).fenced);
    assert_eq!(world.state(), (0, vec![0, 1], vec![]));
    let previous = world.epoch(2);
    assert!(
        world.register(2, previous).is_ok(),
        "its next life need not wait for its lease to end"
    );
}

#[test]
fn the_last_of_the_isr_may_go_and_is_eligible_when_it_is_back() {
    let mut world = World::new(1, 1);
    world.topic(&[0], 1);
    assert!(!world.beat(0, true).unwrap().should_shut_down);
    assert_eq!(world.state(), (-1, vec![], vec![0]));
    assert!(world.beat(0, true).unwrap().should_shut_down);
    let clean = world.epoch(0);
    world.start(0, clean);
    assert_eq!(world.state(), (0, vec![0], vec![]));
}

#[test]
fn whoever_wants_the_fence_is_fenced_and_stays_so_while_it_wants_it() {
    let mut world = World::new(1, 2);
    world.topic(&[0, 1], 1);
    let mut heartbeat = Heartbeat {
        broker_id: 0,
        broker_epoch: world.epoch(0),
        current_metadata_offset: 1000,
        want_fence: true,
        want_shut_down: false,
    };
    for _ in 0..2 {
        let outcome = world.controller.heartbeat(world.now, &heartbeat);
        world.append(outcome.records);
        assert!(outcome.reply.unwrap().is_fenced);
        assert_eq!(world.state(), (1, vec![1], vec![]));
    }
    heartbeat.want_fence = false;
    let outcome = world.controller.heartbeat(world.now, &heartbeat);
    world.append(outcome.records);
    assert!(!outcome.reply.unwrap().is_fenced);
}

#[test]
fn who_was_fenced_amid_its_shutdown_comes_back_by_a_registration_only() {
    let mut world = World::new(1, 2);
    world.topic(&[0, 1], 1);
    world.beat(0, true).unwrap();
    world.now += TIMEOUT;
    world.beat(1, false).unwrap();
    let records = world.controller.tick(world.now);
    world.append(records);
    let answer = world.beat(0, false).unwrap();
    assert!(answer.is_fenced && answer.should_shut_down);
    world.start(0, -1);
    assert!(!world.broker(0).fenced);
}

#[test]
fn records_stand_in_the_order_in_which_they_may_be_seen() {
    let mut world = World::new(1, 1);
    world.topic(&[0], 1);
    let kinds = |records: &[Record]| -> Vec<bool> {
        records
            .iter()
            .map(|record| matches!(record, Record::PartitionChange(_)))
            .collect()
    };
    world.now += TIMEOUT;
    let fence = world.controller.tick(world.now);
    assert_eq!(kinds(&fence), [true, false], "the partitions, then the fence");
    world.append(fence);
    let before = world.log.len();
    world.beat(0, false).unwrap();
    let unfence: Vec<Record> = world.log[before..]
        .iter()
        .map(|(_, record)| record.clone())
        .collect();
    assert_eq!(kinds(&unfence), [false, true], "unfenced, then the partitions");
}

#[test]
fn one_expired_broker_is_fenced_a_call_and_none_that_was_heard() {
    let mut world = World::new(1, 3);
    world.now += TIMEOUT - 1;
    world.beat(1, false).unwrap();
    assert!(world.controller.tick(world.now).is_empty());
    world.now += 1;
    for id in [0, 2] {
        let records = world.controller.tick(world.now);
        world.append(records);
        assert!(world.broker(id).fenced);
    }
    assert!(world.controller.tick(world.now).is_empty());
    assert!(!world.broker(1).fenced);
}
