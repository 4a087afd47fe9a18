//! The campaign's own process inside the ground: a cluster, the load, the probes, and round after round.

use super::figures::{ELECTION_TIMEOUT, FETCH_TIMEOUT, Figures, Round};
use super::load::{CREATORS, Load, create};
use super::probe::{Seen, probe};
use super::{Kind, ROUNDS, round};
use clusters::{Cluster, Event, Layout, RoleKind, System};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

const CONTROLLERS: i32 = 3;
const BROKERS: i32 = 2;
/// Calls of the ground block their thread for a while: more threads than those, so that the probes go on.
const WORKERS: usize = 6;
/// A cluster id in Kafka's form; no other cluster is near.
const CLUSTER_ID: &str = "QuorumCampaignAAAAAAAA";
/// What the campaign's own failures end with.
const INTERNAL: u8 = 70;
/// A shell's status of a process that SIGINT ended.
const INTERRUPTED: i32 = 130;

/// A cluster under load, and all that is seen of it.
pub struct Stage {
    /// The cluster.
    pub cluster: Arc<Cluster>,
    /// What its controllers said.
    pub seen: Arc<Seen>,
    /// What was created.
    pub load: Arc<Load>,
    /// Nodes whose end was asked for.
    pub expected: Arc<Mutex<BTreeSet<i32>>>,
}

impl Stage {
    /// The controllers' numbers.
    pub fn controllers(&self) -> Vec<i32> {
        self.cluster
            .of_role(RoleKind::Controller)
            .map(|node| node.id)
            .collect()
    }

    /// The brokers' addresses.
    pub fn brokers(&self) -> Vec<SocketAddr> {
        self.cluster
            .of_role(RoleKind::Broker)
            .map(|node| node.address)
            .collect()
    }

    /// From now on the ends of these nodes' programs are (or are not) expected.
    pub fn expect(&self, nodes: &[i32], expected: bool) {
        let mut all = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        for node in nodes {
            if expected {
                all.insert(*node);
            } else {
                all.remove(node);
            }
        }
    }
}

/// The role `__harness`: `RUN_DIR KIND ROUNDS [BUG]`.
pub fn main(args: &[String]) -> ExitCode {
    let [run_dir, kind, rounds, bug @ ..] = args else {
        return ExitCode::from(64);
    };
    let (Some(kind), Ok(rounds)) = (Kind::named(kind), rounds.parse()) else {
        return ExitCode::from(64);
    };
    let run_dir = PathBuf::from(run_dir);
    let done = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()
        .map_err(|e| e.to_string())
        .and_then(|runtime| runtime.block_on(campaign(&run_dir, kind, rounds, bug.first().cloned())));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{}: {why}", kind.name());
            ExitCode::from(INTERNAL)
        }
    }
}

async fn campaign(run_dir: &Path, kind: Kind, rounds: usize, bug: Option<String>) -> Result<(), String> {
    let stage = set(run_dir, bug).await?;
    let mut figures = Figures {
        kind: kind.name().into(),
        asked: rounds,
        rounds: Vec::new(),
        epochs: 0,
        wrong: Vec::new(),
        not_taken: None,
    };
    for n in 0..rounds {
        let mut made = Round {
            round: n,
            ..Round::default()
        };
        let stop = round::round(&stage, kind, &mut made).await.err();
        tell(kind, &made);
        figures.rounds.push(made);
        match stop {
            None => {}
            Some(round::Stop::NotTaken(why)) => {
                figures.not_taken = Some(format!("round {n}: {why}"));
                break;
            }
            Some(round::Stop::Wrong(why)) => {
                stage.seen.break_rule(format!("round {n}: {why}"));
                break;
            }
        }
    }
    let trouble = stage.cluster.trouble().into_iter();
    figures.wrong = stage.seen.wrong();
    figures
        .wrong
        .extend(trouble.map(|(node, line)| format!("the log of node {node} says: {line}")));
    let first = figures.rounds.first().map_or(0, |round| round.before.1);
    figures.epochs = figures.rounds.last().map_or(0, |round| round.after.1 - first);
    let text = serde_json::to_vec_pretty(&figures).map_err(|e| e.to_string())?;
    fs::write(run_dir.join(ROUNDS), text).map_err(|e| format!("writing {ROUNDS}: {e}"))
}

fn tell(kind: Kind, round: &Round) {
    let ms = |value: Option<f64>| value.map_or("–".into(), |ms| format!("{ms:.0}"));
    eprintln!(
        "{:<17} round {:<3} {:?} healed {:<18} · epoch {} → {} · failover {} ms · first packet {} ms · leader {} ms · ack {} ms · {} topics, {} lost",
        kind.name(),
        round.round,
        round.victims,
        round.healed,
        round.before.1,
        round.after.1,
        ms(round.failover_ms),
        ms(round.first_frame_ms),
        ms(round.leader_ms),
        ms(round.ack_ms),
        round.acked,
        round.lost.len(),
    );
}

async fn set(run_dir: &Path, bug: Option<String>) -> Result<Stage, String> {
    let words = |e: &dyn std::fmt::Display| e.to_string();
    let (ground, events) = ground::Ground::attach().map_err(|e| words(&e))?;
    let ms = |time: std::time::Duration| time.as_millis().to_string();
    let properties = [
        ("broker.session.timeout.ms", "1500".to_string()),
        ("broker.heartbeat.interval.ms", "250".to_string()),
        ("controller.quorum.election.timeout.ms", ms(ELECTION_TIMEOUT)),
        ("controller.quorum.fetch.timeout.ms", ms(FETCH_TIMEOUT)),
    ];
    let layout = Layout {
        disk: ground::DiskKind::Fuse,
        run_dir,
        system: System::reference(),
        controllers: CONTROLLERS,
        brokers: BROKERS,
        cluster_id: CLUSTER_ID.into(),
        properties: properties.map(|(key, value)| (key.to_string(), value)).into(),
        features: BTreeMap::new(),
        bug,
    };
    let cluster = Arc::new(Cluster::lay_out(ground, events, layout).map_err(|e| words(&e))?);
    cluster.format().await.map_err(|e| words(&e))?;
    let file = fs::File::create(run_dir.join("topics.jsonl")).map_err(|e| words(&e))?;
    let stage = Stage {
        cluster: cluster.clone(),
        seen: Arc::default(),
        load: Arc::new(Load::new(file)),
        expected: Arc::default(),
    };
    tokio::spawn(watch(
        cluster.events(),
        stage.seen.clone(),
        stage.expected.clone(),
        cluster.clone(),
    ));
    for node in cluster.nodes() {
        cluster.start(node.id).map_err(|e| words(&e))?;
    }
    for node in cluster.of_role(RoleKind::Controller) {
        tokio::spawn(probe(stage.seen.clone(), node.id, node.address));
    }
    for creator in 0..CREATORS {
        tokio::spawn(create(stage.load.clone(), creator, stage.brokers()));
    }
    Ok(stage)
}

/// A node's program that ends unasked breaks a rule; a signal to the front, or a full disk, ends the campaign.
async fn watch(
    mut events: tokio::sync::broadcast::Receiver<Event>,
    seen: Arc<Seen>,
    expected: Arc<Mutex<BTreeSet<i32>>>,
    cluster: Arc<Cluster>,
) {
    loop {
        match events.recv().await {
            Ok(Event::ProgramEnded {
                node, status, signal, ..
            }) => {
                let asked = expected
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .contains(&node);
                if !asked {
                    seen.break_rule(format!(
                        "node {node} ended unasked with status {status:?}, signal {signal:?}; its log ends: {}",
                        cluster.log_tail(node)
                    ));
                }
            }
            Ok(Event::Interrupt { .. }) => std::process::exit(INTERRUPTED),
            Ok(Event::DiskFull { node, why }) => {
                eprintln!("the disk of node {node} is full: {why}");
                std::process::exit(INTERNAL.into());
            }
            // No fault of disks is in this campaign.
            Ok(Event::DiskCrashed { .. }) | Err(tokio::sync::broadcast::error::RecvError::Lagged(_)) => {}
            Err(tokio::sync::broadcast::error::RecvError::Closed) => return,
        }
    }
}
