//! Every fault of processes and resources for itself: what it does is seen from outside, not by its own word; and that
//! it is gone after the heal.

use super::left::{groups, stands_still};
use super::program::REQUESTS;
use super::stage::Stage;
use nemesis::{Measured, Order};
use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The node that suffers.
const NODE: i32 = 101;

/// All of them.
pub async fn all(stage: &Stage) {
    ends(stage).await;
    restarts(stage).await;
    stands(stage).await;
    match &stage.no_cgroups {
        None => {
            processor(stage).await;
            memory(stage).await;
        }
        Some(why) => println!("SKIPPED cgroups: {why}"),
    }
    descriptors(stage).await;
}

async fn in_and_out(stage: &Stage, name: &str, order: &Order) -> (Measured, Measured) {
    let put_in = stage
        .inject(name, order)
        .await
        .unwrap_or_else(|why| panic!("{name}: {why}"));
    let taken_out = stage
        .heal(name, order)
        .await
        .unwrap_or_else(|why| panic!("{name}: {why}"));
    stage
        .is_whole()
        .await
        .unwrap_or_else(|why| panic!("{name} has left: {why}"));
    (put_in, taken_out)
}

async fn ends(stage: &Stage) {
    for (name, quantity) in [("crash", "dead_ms"), ("stop", "stopped_ms")] {
        let order = stage.order(name, 1, &[NODE], &[]);
        let start = stage.cluster.last_start(NODE);
        let measured = stage.inject(name, &order).await.unwrap();
        assert!(
            (0.0..5_000.0).contains(&measured[quantity]),
            "{name}: {measured:?}"
        );
        assert!(!answers(stage), "{name}: it answers still");
        assert!(
            stage.inject(name, &order).await.is_err(),
            "{name}: nothing is left that could end"
        );
        stage.heal(name, &order).await.unwrap();
        assert!(
            answers(stage) && stage.cluster.last_start(NODE) == start + 1,
            "{name}"
        );
        stage.is_whole().await.unwrap();
    }
}

async fn restarts(stage: &Stage) {
    let start = stage.cluster.last_start(NODE);
    let order = stage.order("restart", 2, &[NODE, 100], &[]);
    let (measured, healed) = in_and_out(stage, "restart", &order).await;
    assert!(measured["accepts_ms"] > 0.0 && healed.contains_key("accepts_ms"));
    assert_eq!(stage.cluster.last_start(NODE), start + 1);
    let order = stage.order("crash-loop", 3, &[NODE], &[("times", 4.0), ("life_ms", 20.0)]);
    let (measured, _) = in_and_out(stage, "crash-loop", &order).await;
    assert_eq!(
        (measured["crashes"], stage.cluster.last_start(NODE)),
        (4.0, start + 5)
    );
    let order = stage.order("slow-start", 4, &[NODE], &[("delay_ms", 300.0)]);
    let began = Instant::now();
    let (measured, _) = in_and_out(stage, "slow-start", &order).await;
    assert!((300.0..600.0).contains(&measured["delay_ms"]), "{measured:?}");
    assert!(began.elapsed() >= Duration::from_millis(300));
    assert_eq!(stage.cluster.last_start(NODE), start + 6);
}

async fn stands(stage: &Stage) {
    let order = stage.order("pause", 5, &[NODE], &[]);
    stage.inject("pause", &order).await.unwrap();
    assert!(stands_still(&stage.cluster, NODE));
    assert!(connects(stage), "its kernel accepts still");
    stage.heal("pause", &order).await.unwrap();
    assert!(answers(stage));
    stage.is_whole().await.unwrap();
    let order = stage.order("machine-pause", 6, &[NODE], &[]);
    let measured = stage.inject("machine-pause", &order).await.unwrap();
    assert!(stands_still(&stage.cluster, NODE));
    assert!(measured["dropped_frames"] > 0.0 && measured["passed_frames"] == 0.0);
    assert!(!connects(stage), "its kernel accepts nothing");
    stage.heal("machine-pause", &order).await.unwrap();
    assert!(answers(stage) && !stands_still(&stage.cluster, NODE));
    stage.is_whole().await.unwrap();
}

async fn processor(stage: &Stage) {
    let order = stage.order("cpu-limit", 7, &[NODE], &[("share_percent", 10.0)]);
    stage.inject("cpu-limit", &order).await.unwrap();
    let limited = ask(stage, "burn").unwrap();
    // A tenth of 500 ms, and a period's more where it had not begun to count.
    assert!(limited <= 120, "{limited} ms of processor in 500");
    stage.cluster.signal(NODE, clusters::Signal::Kill).unwrap();
    while stage.cluster.runs(NODE) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    stage.cluster.start(NODE).unwrap();
    let limited = again(stage, "burn").await;
    assert!(limited <= 120, "a new program is limited too: {limited} ms");
    let healed = stage.heal("cpu-limit", &order).await.unwrap();
    assert!(healed["throttled_ms"] > 100.0, "{healed:?}");
    let most = (0..10).map(|_| ask(stage, "burn").unwrap()).max();
    assert!(most > Some(120), "{most:?} ms of processor after the heal");
    stage.is_whole().await.unwrap();
}

async fn memory(stage: &Stage) {
    let order = stage.order("memory-limit", 8, &[NODE], &[("memory_mib", 24.0)]);
    assert_eq!(ask(stage, "eat 64").unwrap(), 64);
    stage.inject("memory-limit", &order).await.unwrap();
    assert_eq!(groups().len(), 1);
    assert_eq!(ask(stage, "eat 2").unwrap(), 2);
    assert!(ask(stage, "eat 64").is_err(), "the kernel kills it");
    let deadline = Instant::now() + Duration::from_secs(5);
    while stage.cluster.runs(NODE) && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!stage.cluster.runs(NODE));
    let healed = stage.heal("memory-limit", &order).await.unwrap();
    assert!(healed["refused_times"] > 0.0, "{healed:?}");
    assert_eq!(ask(stage, "eat 64").unwrap(), 64);
    stage.is_whole().await.unwrap();
}

async fn descriptors(stage: &Stage) {
    let order = stage.order("descriptor-limit", 9, &[NODE], &[("descriptors", 64.0)]);
    assert_eq!(ask(stage, "open 200").unwrap(), 200);
    stage.inject("descriptor-limit", &order).await.unwrap();
    let opened = ask(stage, "open 200").unwrap();
    assert!((1..64).contains(&opened), "{opened} files opened");
    stage.heal("descriptor-limit", &order).await.unwrap();
    assert_eq!(ask(stage, "open 200").unwrap(), 200);
    stage.is_whole().await.unwrap();
}

fn connects(stage: &Stage) -> bool {
    let mut address = stage.cluster.node(NODE).unwrap().address;
    address.set_port(REQUESTS);
    TcpStream::connect_timeout(&address, Duration::from_millis(300)).is_ok()
}

fn answers(stage: &Stage) -> bool {
    let deadline = Instant::now() + Duration::from_secs(2);
    loop {
        match ask(stage, "open 1") {
            Ok(answer) => return answer == 1,
            Err(_) if !stage.cluster.runs(NODE) || Instant::now() >= deadline => return false,
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

async fn again(stage: &Stage, question: &str) -> u64 {
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        match ask(stage, question) {
            Ok(answer) => return answer,
            Err(why) if Instant::now() >= deadline => panic!("{question}: {why}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

fn ask(stage: &Stage, question: &str) -> io::Result<u64> {
    let mut address = stage.cluster.node(NODE).map_err(io::Error::other)?.address;
    address.set_port(REQUESTS);
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_millis(500))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    writeln!(stream, "{question}")?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    answer.trim().parse().map_err(io::Error::other)
}
