//! The harness's side: the cluster, and how faults are put in and healed.

use super::left::Whole;
use super::{each, rounds};
use clusters::{Cluster, Layout, System};
use ground::{Ground, Limit};
use nemesis::{Field, Measured, NotTaken, Order, Params, Value};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// A cluster, and what is known of it.
pub struct Stage {
    /// The cluster.
    pub cluster: Cluster,
    /// What it is like when nothing is in.
    pub whole: Whole,
    /// Why there are no cgroups here, where there are none: not for an ordinary user.
    pub no_cgroups: Option<String>,
}

/// The role `__harness compositions FOLDER SEED ROUNDS each|not`.
pub fn main(folder: &Path, seed: u64, count: usize, each: bool) -> ExitCode {
    ground::sys::set_name("ackall-harness");
    let (ground, events) = Ground::attach().unwrap();
    let layout = Layout {
        disk: ground::DiskKind::Fuse,
        run_dir: folder,
        system: talkative(),
        // All of one role, so that each talks to each: a fault of links is seen by what passes them.
        controllers: 4,
        brokers: 0,
        cluster_id: "compositions".into(),
        properties: BTreeMap::new(),
        features: BTreeMap::new(),
        bug: None,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let done = runtime.block_on(async {
        let cluster = Cluster::lay_out(ground, events, layout).unwrap();
        for node in cluster.nodes() {
            cluster.start(node.id).unwrap();
        }
        let stage = Stage {
            whole: Whole::of(&cluster).await,
            no_cgroups: no_cgroups(&cluster),
            cluster,
        };
        if each {
            each::all(&stage).await;
        }
        rounds::all(&stage, seed, count).await
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(70)
        }
    }
}

/// Tries a limit, and lifts it again.
fn no_cgroups(cluster: &Cluster) -> Option<String> {
    let node = cluster.nodes()[0].id;
    match cluster.set_limit(node, 0, Limit::Cpu { permille: 500 }) {
        Ok(_) => {
            cluster.clear_limit(node, 0).unwrap();
            None
        }
        Err(clusters::Error::Ground(error)) if error.machine => Some(error.why),
        Err(error) => panic!("{error}"),
    }
}

fn talkative() -> System {
    let start = ["{self}", "__talker", "{voters}", "{address}:7000", "{disk}"];
    System::of_commands("talkative", &["true"], &start, 7000)
}

impl Stage {
    /// An order with what is said, the rest by default.
    pub fn order(&self, name: &str, id: u64, nodes: &[i32], said: &[(&str, f64)]) -> Order {
        let about = nemesis::find(name).unwrap().about();
        let said = said
            .iter()
            .map(|(name, number)| (name.to_string(), Value::Number(*number)));
        Order {
            id,
            nodes: nodes.to_vec(),
            params: Params::check(about.params, &said.collect()).unwrap(),
            seed: id,
        }
    }

    /// Puts a fault in.
    pub async fn inject(&self, name: &str, order: &Order) -> Result<Measured, NotTaken> {
        let cluster = &self.cluster;
        nemesis::find(name)
            .unwrap()
            .inject(Field { cluster }, order)
            .await
    }

    /// Takes it out.
    pub async fn heal(&self, name: &str, order: &Order) -> Result<Measured, NotTaken> {
        let cluster = &self.cluster;
        nemesis::find(name).unwrap().heal(Field { cluster }, order).await
    }

    /// Waits until nothing is left of any fault.
    pub async fn is_whole(&self) -> Result<(), String> {
        let deadline = Instant::now() + Duration::from_secs(5);
        loop {
            let left = self.whole.left_over(&self.cluster).await;
            match left.first() {
                None => return Ok(()),
                Some(_) if Instant::now() >= deadline => return Err(left.join("; ")),
                Some(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }
}
