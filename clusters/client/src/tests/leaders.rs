//! Who leads, when brokers disagree or do not answer.

use super::{PATIENT, TOPIC, options, topic_id};
use crate::fake::{Fake, Reaction};
use crate::{Cluster, Leaders};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// Three brokers, each with its own idea of leader and epoch.
async fn brokers(ideas: [(i32, i32); 3]) -> Vec<Fake> {
    let mut fakes = Vec::new();
    for (node, (leader, epoch)) in (0..).zip(ideas) {
        let fake = Fake::start(node).await.unwrap();
        fake.change(|state| {
            let log = state.log(TOPIC, 0);
            (log.id, log.leader, log.leader_epoch, log.isr) = (topic_id(), leader, epoch, vec![leader]);
        });
        fakes.push(fake);
    }
    fakes
}

fn cluster(fakes: &[Fake], grace: Duration) -> Arc<Cluster> {
    let addresses: BTreeMap<_, _> = (0..).zip(fakes.iter().map(Fake::address)).collect();
    Arc::new(Cluster::new(addresses, options(PATIENT)).with_lookup(PATIENT, grace))
}

#[tokio::test]
async fn the_highest_epoch_wins_over_the_majority() {
    let fakes = brokers([(0, 4), (0, 4), (2, 5)]).await;
    let (topic, leader) = Leaders::new(cluster(&fakes, PATIENT), TOPIC)
        .find(0, None)
        .await
        .unwrap();
    assert_eq!(
        (leader.node, leader.epoch, leader.address),
        (2, 5, fakes[2].address())
    );
    assert_eq!(topic.id, topic_id());
}

#[tokio::test]
async fn a_broker_that_never_answers_does_not_hold_the_others_up() {
    let fakes = brokers([(0, 4), (1, 5), (0, 4)]).await;
    fakes[0].change(|state| state.react(3, [Reaction::Silence]));
    let before = Instant::now();
    let grace = Duration::from_secs(1);
    let (_, leader) = Leaders::new(cluster(&fakes, grace), TOPIC)
        .find(0, None)
        .await
        .unwrap();
    assert_eq!(leader.node, 1);
    assert!(before.elapsed() < PATIENT, "it was not waited for");
}

#[tokio::test]
async fn leaders_are_asked_anew_only_after_a_failure() {
    let fakes = brokers([(0, 4), (0, 4), (0, 4)]).await;
    let leaders = Leaders::new(cluster(&fakes, PATIENT), TOPIC);
    assert_eq!(leaders.find(0, None).await.unwrap().1.node, 0);
    for fake in &fakes {
        fake.change(|state| (state.log(TOPIC, 0).leader, state.log(TOPIC, 0).leader_epoch) = (1, 5));
    }
    assert_eq!(
        leaders.find(0, None).await.unwrap().1.node,
        0,
        "nothing has failed yet"
    );
    assert_eq!(leaders.find(0, Some(Instant::now())).await.unwrap().1.node, 1);
}

#[tokio::test]
async fn no_leader_and_no_topic_are_none() {
    let fakes = brokers([(0, 4), (-1, 5), (0, 4)]).await;
    let leaders = Leaders::new(cluster(&fakes, PATIENT), TOPIC);
    assert!(leaders.find(0, None).await.is_none(), "epoch 5 has no leader");
    assert!(
        leaders.find(1, None).await.is_none(),
        "there is no such partition"
    );
    assert!(
        Leaders::new(cluster(&fakes, PATIENT), "nowhere")
            .find(0, None)
            .await
            .is_none()
    );
}
