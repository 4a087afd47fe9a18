//! Producers and readers.

use super::{Bench, PATIENT, TOPIC, assert_well_formed, polls, sends};
use crate::{Append, AppendPlan, Counters, WorkloadError, value};
use client::calls::Acks;
use client::fake::Reaction;
use client::outcome::ROWS;
use client::{Cluster, Options, Outcome};
use history::Kind;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

const PRODUCE: i16 = 0;
const FETCH: i16 = 1;

fn plan(producers: u32, readers: u32) -> AppendPlan {
    AppendPlan {
        topic: TOPIC.into(),
        partitions: 2,
        producers,
        record_bytes: (64, 256),
        readers,
        producer_timeout: PATIENT,
        acks: Acks::All,
        pause: Duration::from_millis(1),
    }
}

/// Runs until the counters say so, then stops.
async fn run(bench: &Bench, plan: AppendPlan, enough: impl FnMut(&Counters) -> bool) -> Counters {
    let append = Append::start(plan, bench.context.clone()).unwrap();
    let mut counters = append.counters();
    timeout(PATIENT, counters.wait_for(enough))
        .await
        .expect("it is stuck")
        .expect("it ended by itself");
    append.stop().await.unwrap()
}

#[tokio::test]
async fn what_is_acknowledged_is_read_and_all_of_it_is_told() {
    let bench = Bench::new(2).await;
    let done = run(&bench, plan(3, 1), |now| {
        now.acked >= 40 && now.records_read >= 40
    })
    .await;
    let entries = bench.entries();
    assert_well_formed(&entries);
    let acked = sends(&entries, Kind::Ok);
    assert_eq!((acked.len() as u64, done.fail, done.info), (done.acked, 0, 0));
    let values: BTreeSet<_> = acked.iter().map(|(_, send)| send.value).collect();
    assert_eq!(values.len(), acked.len(), "values are unique");
    let (_, first) = &acked[0];
    assert_eq!((first.node, first.acks, first.key.id.len()), (Some(1), -1, 22));
    // Every record read stands where its acknowledgement said.
    let places: BTreeSet<_> = acked
        .iter()
        .map(|(_, send)| (send.key.clone(), send.offset.unwrap(), send.value))
        .collect();
    let reads = polls(&entries, Kind::Ok);
    let read = reads.iter().flat_map(|poll| {
        poll.records
            .iter()
            .map(|record| (poll.key.clone(), record.offset, record.value.unwrap()))
    });
    assert!(read.clone().count() as u64 == done.records_read);
    assert!(read.clone().all(|place| places.contains(&place)));
    assert!(
        reads
            .iter()
            .flat_map(|poll| &poll.records)
            .all(|record| record.epoch == 3)
    );
}

#[tokio::test]
async fn each_row_of_the_table_ends_a_send_as_it_says() {
    for row in ROWS.iter().filter(|row| !row.code.is_none()) {
        let bench = Bench::new(2).await;
        bench
            .fake
            .change(|state| state.react(PRODUCE, [Reaction::Refuse(row.code.0)]));
        let done = run(&bench, plan(1, 0), |now| now.acked >= 1).await;
        let entries = bench.entries();
        assert_well_formed(&entries);
        let ended = sends(&entries, row.outcome.kind());
        assert_eq!(ended[0].1.error.as_deref(), Some(row.code.to_string().as_str()));
        assert_eq!(ended[0].1.offset, None);
        let expected = if row.outcome == Outcome::Fail {
            (1, 0)
        } else {
            (0, 1)
        };
        assert_eq!((done.fail, done.info), expected, "{}", row.code);
        // A client that must end has a successor with another number; another one goes on.
        let next = sends(&entries, Kind::Ok)[0].0;
        assert_eq!(next != ended[0].0, row.ends_process, "{}", row.code);
        assert_eq!(
            next != ended[0].0,
            row.outcome == Outcome::Info || row.ends_process
        );
    }
}

#[tokio::test]
async fn a_disconnect_after_bytes_left_is_info_and_the_record_may_be_there() {
    for (reaction, landed) in [(Reaction::Disconnect, false), (Reaction::DoThenDisconnect, true)] {
        let bench = Bench::new(2).await;
        bench.fake.change(|state| state.react(PRODUCE, [reaction]));
        run(&bench, plan(1, 1), |now| {
            now.acked >= 5 && now.records_read >= 5 + u64::from(landed)
        })
        .await;
        let entries = bench.entries();
        assert_well_formed(&entries);
        let infos = sends(&entries, Kind::Info);
        assert_eq!(infos.len(), 1);
        assert!(
            infos[0]
                .1
                .error
                .as_deref()
                .unwrap()
                .contains("bytes of it had left")
        );
        let read: BTreeSet<_> = polls(&entries, Kind::Ok)
            .iter()
            .flat_map(|poll| poll.records.clone())
            .collect();
        assert_eq!(
            read.iter().any(|record| record.value == Some(infos[0].1.value)),
            landed
        );
    }
}

#[tokio::test]
async fn a_broker_that_does_not_answer_ends_the_send_as_info() {
    let bench = Bench::new(2).await;
    bench
        .fake
        .change(|state| state.react(PRODUCE, [Reaction::Silence]));
    let plan = AppendPlan {
        producer_timeout: Duration::from_millis(200),
        ..plan(1, 0)
    };
    let done = run(&bench, plan, |now| now.acked >= 1).await;
    assert!(done.fail == 0 && done.info >= 1);
    assert_well_formed(&bench.entries());
}

#[tokio::test]
async fn a_refused_connection_is_fail_and_the_client_goes_on() {
    let bench = Bench::new(2).await;
    // The broker is known by another's address, at which nobody listens: look-ups work, sends do not.
    let nobody = tokio::net::TcpListener::bind(("127.0.0.1", 0))
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let brokers = [(0, bench.fake.address()), (1, nobody)].into();
    let options = Options {
        connect_timeout: PATIENT,
        request_timeout: PATIENT,
        ..Options::default()
    };
    let cluster = Arc::new(Cluster::new(brokers, options).with_lookup(PATIENT, PATIENT));
    let context = crate::Context {
        cluster,
        ..bench.context.clone()
    };
    let bench = Bench { context, ..bench };
    let done = run(&bench, plan(1, 0), |now| now.fail >= 2).await;
    assert_eq!((done.ok, done.info), (0, 0));
    let entries = bench.entries();
    assert_well_formed(&entries);
    let failed = sends(&entries, Kind::Fail);
    assert!(
        failed[0]
            .1
            .error
            .as_deref()
            .unwrap()
            .contains("no byte of it left")
    );
    assert_eq!(failed[0].0, failed[1].0, "a failure does not end the client");
}

#[tokio::test]
async fn without_a_leader_nothing_is_sent_nor_told() {
    let bench = Bench::new(2).await;
    let lead = |leader| {
        bench
            .fake
            .change(|state| (0..2).for_each(|p| state.log(TOPIC, p).leader = leader))
    };
    lead(-1);
    let append = Append::start(plan(2, 1), bench.context.clone()).unwrap();
    let asked = || {
        bench
            .fake
            .change(|state| state.asked.iter().filter(|call| **call == 3).count())
    };
    timeout(PATIENT, async {
        while asked() < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .expect("nobody asks for a leader");
    assert!(bench.entries().is_empty());
    lead(1);
    timeout(PATIENT, append.counters().wait_for(|now| now.acked >= 1))
        .await
        .unwrap()
        .unwrap();
    append.stop().await.unwrap();
}

#[tokio::test]
async fn a_reader_beyond_the_log_starts_again_at_its_start() {
    let bench = Bench::new(2).await;
    run(&bench, plan(1, 0), |now| now.acked >= 10).await;
    bench.fake.change(|state| {
        for partition in 0..2 {
            let log = state.log(TOPIC, partition);
            let first = log.batches.first().map_or(0, |(_, end, _)| *end);
            log.batches.retain(|(base, _, _)| *base >= first);
            log.start = first;
        }
    });
    run(&bench, plan(0, 1), |now| now.records_read >= 8).await;
    let entries = bench.entries();
    assert_well_formed(&entries);
    let failed = polls(&entries, Kind::Fail);
    assert_eq!(failed[0].error.as_deref(), Some("OFFSET_OUT_OF_RANGE"));
    assert!(
        polls(&entries, Kind::Ok)
            .iter()
            .any(|poll| poll.from == 1 && !poll.records.is_empty())
    );
}

#[tokio::test]
async fn a_hurt_record_is_read_without_a_value() {
    let bench = Bench::new(2).await;
    let hurt = |payload: bytes::Bytes| {
        let batch = client::batch::encode_one(payload, 0).unwrap();
        bench.fake.change(|state| state.log(TOPIC, 0).append(&batch, 1));
    };
    hurt(value::payload(9, 64));
    hurt(value::payload(9, 64).slice(..60));
    run(&bench, plan(0, 1), |now| now.records_read >= 2).await;
    let reads = polls(&bench.entries(), Kind::Ok);
    let values: Vec<_> = reads
        .iter()
        .flat_map(|poll| poll.records.iter().map(|record| record.value))
        .collect();
    assert_eq!(values, [Some(9), None]);
}

#[tokio::test]
async fn polls_that_fail_and_polls_without_an_answer_are_told_apart() {
    let bench = Bench::new(2).await;
    bench
        .fake
        .change(|state| state.react(FETCH, [Reaction::Refuse(6), Reaction::Disconnect]));
    run(&bench, plan(1, 1), |now| now.records_read >= 2).await;
    let entries = bench.entries();
    assert_well_formed(&entries);
    assert_eq!(
        polls(&entries, Kind::Fail)[0].error.as_deref(),
        Some("NOT_LEADER_OR_FOLLOWER")
    );
    assert_eq!(polls(&entries, Kind::Info).len(), 1);
}

#[tokio::test]
async fn a_full_disk_ends_the_workload_with_an_error() {
    let bench = Bench::new(2).await;
    bench.paper.fill_after(2000);
    let append = Append::start(plan(2, 1), bench.context.clone()).unwrap();
    let mut counters = append.counters();
    // Its end closes the channel, so that a conductor waiting for counts is woken.
    timeout(PATIENT, counters.wait_for(|_| false))
        .await
        .expect("it goes on unrecorded")
        .unwrap_err();
    let error = append.stop().await.unwrap_err();
    assert!(matches!(error, WorkloadError::Recorder(_)), "{error}");
}

#[tokio::test]
async fn a_seed_repeats_partitions_and_sizes() {
    let mut sent = Vec::new();
    for _ in 0..2 {
        let bench = Bench::new(2).await;
        run(&bench, plan(1, 0), |now| now.acked >= 10).await;
        let invoked = sends(&bench.entries(), Kind::Invoke);
        sent.push(
            invoked
                .iter()
                .take(10)
                .map(|(_, send)| (send.key.partition, send.value))
                .collect::<Vec<_>>(),
        );
    }
    assert_eq!(sent[0], sent[1]);
}

#[tokio::test]
async fn the_end_of_each_partition_is_asked_for_in_the_leaders_epoch() {
    let bench = Bench::new(2).await;
    let append = Append::start(plan(1, 1), bench.context.clone()).unwrap();
    let ends = || {
        let entries = bench.entries().into_iter().filter(|entry| entry.kind == Kind::Ok);
        let ends = entries.filter_map(|entry| match entry.body {
            history::Body::ListOffsets(asked) => Some(asked),
            _ => None,
        });
        ends.collect::<Vec<_>>()
    };
    let asked_of = |partition| ends().iter().filter(|end| end.key.partition == partition).count();
    let enough = async {
        while asked_of(0) < 2 || asked_of(1) < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENT, enough).await.expect("it is stuck");
    append.stop().await.unwrap();
    assert_well_formed(&bench.entries());
    let is_latest = |end: &history::ListOffsets| end.which == history::LogEnd::Latest && end.epoch == 3;
    assert!(ends().iter().all(is_latest));
}
