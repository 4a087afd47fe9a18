//! The final read.

use super::{Bench, PATIENT, TOPIC, assert_well_formed, polls};
use crate::{FinalReadPlan, WorkloadError, final_read, value};
use client::ClusterView;
use client::fake::Reaction;
use history::{Body, Kind, LogPlace, PartitionState, Process};
use std::time::Duration;
use tokio::sync::watch;

/// How long a read that cannot succeed is tried for.
const IN_VAIN: Duration = Duration::from_millis(400);

fn plan(limit: Duration) -> FinalReadPlan {
    FinalReadPlan {
        topic: TOPIC.into(),
        partitions: 2,
        min_insync_replicas: 2,
        limit,
    }
}

/// What the observer sees of both partitions.
fn view(leader: i32, isr: &[i32]) -> watch::Sender<ClusterView> {
    let mut view = ClusterView::default();
    for partition in 0..2 {
        let key = history::Key {
            topic: TOPIC.into(),
            id: "".into(),
            partition,
        };
        let state = PartitionState {
            key,
            replicas: vec![1, 2, 3],
            isr: isr.to_vec(),
            elr: Vec::new(),
            last_known_elr: Vec::new(),
            leader,
            leader_epoch: 3,
            partition_epoch: 7,
            recovering: false,
            elects: true,
            at: LogPlace::of(1, 1),
        };
        view.partitions.insert((TOPIC.into(), partition), state);
    }
    watch::channel(view).0
}

fn fill(bench: &Bench, records: u64) {
    bench.fake.change(|state| {
        for partition in 0..2 {
            for sequence in 0..records {
                let payload = value::payload(value::value(partition, sequence).unwrap(), 64);
                let batch = client::batch::encode_one(payload, 0).unwrap();
                state.log(TOPIC, partition as i32).append(&batch, 1);
            }
        }
    });
}

#[tokio::test]
async fn everything_is_read_from_start_to_end() {
    let bench = Bench::new(2).await;
    fill(&bench, 5);
    let view = view(1, &[1, 2]);
    let reads = final_read(plan(PATIENT), bench.context.clone(), view.subscribe())
        .await
        .unwrap();
    assert_eq!(reads.len(), 2);
    for read in &reads {
        assert_eq!(
            (read.start, read.end, read.complete, &read.reason),
            (Some(0), Some(5), true, &None)
        );
    }
    let entries = bench.entries();
    assert_well_formed(&entries);
    let polls = polls(&entries, Kind::Ok);
    assert!(polls.iter().all(|poll| poll.last));
    assert_eq!(polls.iter().map(|poll| poll.records.len()).sum::<usize>(), 10);
    let asked = entries
        .iter()
        .filter(|entry| entry.kind == Kind::Ok)
        .filter_map(|entry| match &entry.body {
            Body::ListOffsets(asked) => Some((asked.node, asked.epoch)),
            _ => None,
        });
    assert_eq!(asked.collect::<Vec<_>>(), [(1, 3); 4]);
    let told = entries
        .iter()
        .filter(|entry| matches!(entry.body, Body::FinalRead(_)));
    assert!(
        told.clone()
            .all(|entry| entry.process == Process::Harness && entry.kind == Kind::Ok)
    );
    assert_eq!(told.count(), 2);
}

#[tokio::test]
async fn an_empty_partition_is_complete() {
    let bench = Bench::new(2).await;
    let view = view(1, &[1, 2]);
    let reads = final_read(plan(PATIENT), bench.context.clone(), view.subscribe())
        .await
        .unwrap();
    assert!(reads.iter().all(|read| read.complete && read.end == Some(0)));
}

#[tokio::test]
async fn it_waits_for_the_isr_to_come_back() {
    let bench = Bench::new(2).await;
    fill(&bench, 1);
    let below = view(1, &[1]);
    let whole = view(1, &[1, 2]).borrow().clone();
    let reading = final_read(plan(PATIENT), bench.context.clone(), below.subscribe());
    let heal = async {
        tokio::task::yield_now().await;
        assert!(bench.entries().is_empty(), "nothing is asked below min ISR");
        below.send_replace(whole);
    };
    let (reads, ()) = tokio::join!(reading, heal);
    assert!(reads.unwrap().iter().all(|read| read.complete));
}

#[tokio::test]
async fn below_min_isr_it_is_incomplete_and_says_so() {
    let bench = Bench::new(2).await;
    fill(&bench, 1);
    for (view, told) in [(view(1, &[1]), "ISR [1]"), (view(-1, &[1, 2]), "leader -1")] {
        let reads = final_read(plan(IN_VAIN), bench.context.clone(), view.subscribe())
            .await
            .unwrap();
        for read in reads {
            assert_eq!((read.complete, read.start, read.end), (false, None, None));
            assert!(read.reason.unwrap().contains(told));
        }
    }
    let empty = watch::channel(ClusterView::default()).0;
    let reads = final_read(plan(IN_VAIN), bench.context.clone(), empty.subscribe())
        .await
        .unwrap();
    assert!(reads[0].reason.as_deref().unwrap().contains("no such partition"));
}

#[tokio::test]
async fn a_partition_with_fewer_replicas_needs_all_of_them() {
    let bench = Bench::new(2).await;
    let view = view(1, &[1, 2]);
    view.send_modify(|view| {
        view.partitions
            .values_mut()
            .for_each(|state| state.replicas = vec![1, 2])
    });
    let plan = FinalReadPlan {
        min_insync_replicas: 3,
        ..plan(PATIENT)
    };
    let reads = final_read(plan, bench.context.clone(), view.subscribe())
        .await
        .unwrap();
    assert!(reads.iter().all(|read| read.complete));
}

#[tokio::test]
async fn an_end_that_cannot_be_reached_is_incomplete() {
    let bench = Bench::new(2).await;
    fill(&bench, 3);
    // The log ends before the end that is answered: its tail is refused for ever.
    bench.fake.change(|state| {
        for partition in 0..2 {
            state.log(TOPIC, partition).high_watermark = Some(9);
        }
    });
    let view = view(1, &[1, 2]);
    let reads = final_read(plan(IN_VAIN), bench.context.clone(), view.subscribe())
        .await
        .unwrap();
    for read in &reads {
        assert_eq!((read.start, read.end, read.complete), (Some(0), Some(9), false));
        assert!(
            read.reason.as_deref().unwrap().contains("offset 3 of 9"),
            "{read:?}"
        );
    }
    assert_well_formed(&bench.entries());
}

#[tokio::test]
async fn errors_on_the_way_are_gone_past_on_fresh_clients() {
    let bench = Bench::new(2).await;
    fill(&bench, 3);
    bench.fake.change(|state| {
        state.react(1, [Reaction::Refuse(6), Reaction::Disconnect]);
        state.react(2, [Reaction::Refuse(78), Reaction::Disconnect]);
    });
    let view = view(1, &[1, 2]);
    let reads = final_read(plan(PATIENT), bench.context.clone(), view.subscribe())
        .await
        .unwrap();
    assert!(reads.iter().all(|read| read.complete));
    assert_well_formed(&bench.entries());
}

#[tokio::test]
async fn a_full_disk_ends_it_with_an_error() {
    let bench = Bench::new(2).await;
    fill(&bench, 3);
    bench.paper.fill_after(300);
    let view = view(1, &[1, 2]);
    let error = final_read(plan(PATIENT), bench.context.clone(), view.subscribe())
        .await
        .unwrap_err();
    assert!(matches!(error, WorkloadError::Recorder(_)), "{error}");
}
