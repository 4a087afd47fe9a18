//! What the tests of disks' faults work on.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clusters::{Cluster, Event, Layout, System};
use ground::Ground;
use nemesis::{Field, Measured, NotTaken, Order, Params, Value};
use tokio::sync::broadcast::Receiver;

use crate::scribe::{self, FOLDERS, PORT, Told};

pub const LONG: Duration = Duration::from_secs(10);
/// The nodes.
pub const ONE: i32 = 100;
pub const TWO: i32 = 101;

/// A system whose nodes do nothing but keep their disks busy.
fn scribes() -> System {
    let start = ["{self}", "__scribe", "{disk}"];
    let mut system = System::of_commands("scribes", &["{self}", "__format", "{disk}"], &start, PORT);
    system.trouble = vec!["panicked at".into()];
    system
}

pub struct Night {
    pub cluster: Cluster,
    folder: PathBuf,
    pub events: Receiver<Event>,
    orders: u64,
}

pub type Said<'a> = &'a [(&'a str, Value)];

pub fn n(number: f64) -> Value {
    Value::Number(number)
}

pub fn t(text: &str) -> Value {
    Value::Text(text.into())
}

impl Night {
    pub async fn new(folder: &Path) -> Night {
        let (ground, events) = Ground::attach().unwrap();
        let layout = Layout {
            disk: ground::DiskKind::Fuse,
            run_dir: folder,
            system: scribes(),
            controllers: 2,
            brokers: 0,
            cluster_id: "disks".into(),
            properties: BTreeMap::new(),
            features: BTreeMap::new(),
            bug: None,
        };
        let cluster = Cluster::lay_out(ground, events, layout).unwrap();
        cluster.format().await.unwrap();
        for node in cluster.nodes() {
            cluster.start(node.id).unwrap();
        }
        let events = cluster.events();
        let folder = folder.to_path_buf();
        Night {
            cluster,
            folder,
            events,
            orders: 0,
        }
    }

    pub fn order(&mut self, name: &str, nodes: &[i32], said: Said<'_>) -> Order {
        let about = nemesis::find(name).unwrap().about();
        let said = said.iter().map(|(name, value)| (name.to_string(), value.clone()));
        self.orders += 1;
        Order {
            id: self.orders,
            nodes: nodes.to_vec(),
            params: Params::check(about.params, &said.collect()).unwrap(),
            seed: 5,
        }
    }

    pub async fn inject(&self, name: &str, order: &Order) -> Result<Measured, NotTaken> {
        let field = Field {
            cluster: &self.cluster,
        };
        let done = nemesis::find(name).unwrap().inject(field, order).await;
        println!("{name} in: {done:?}");
        done
    }

    pub async fn heal(&self, name: &str, order: &Order) -> Result<Measured, NotTaken> {
        let field = Field {
            cluster: &self.cluster,
        };
        let done = nemesis::find(name).unwrap().heal(field, order).await;
        println!("{name} out: {done:?}");
        done
    }

    /// What the program of a node tells, by log folder.
    pub fn told(&self, node: i32) -> Vec<Told> {
        let began = Instant::now();
        loop {
            match scribe::ask(self.cluster.node(node).unwrap().address) {
                Ok(told) => return told,
                Err(why) => assert!(
                    began.elapsed() < LONG,
                    "{node}: {why}; {}",
                    self.cluster.log_tail(node)
                ),
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until a node's program tells what is wanted, from now on.
    pub fn until(&self, node: i32, what: &str, is: impl Fn(&[Told], &[Told]) -> bool) -> Vec<Told> {
        let before = self.told(node);
        let began = Instant::now();
        loop {
            let now = self.told(node);
            if is(&before, &now) {
                return now;
            }
            assert!(
                began.elapsed() < LONG,
                "node {node}: no {what}: {before:?}, {now:?}"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Both logs of a node are written and synced, and read, and nothing is met.
    pub fn well(&self, node: i32) {
        self.until(node, "good life", |before, now| {
            let fine = |(before, now): (&Told, &Told)| {
                now.synced > before.synced + 2
                    && now.looks > before.looks + 2
                    && (now.eio, now.enospc, now.unreadable) == (before.eio, before.enospc, before.unreadable)
                    && now.bad == 0
            };
            before.iter().zip(now).all(fine)
        });
    }

    /// A node's log as the host sees it.
    pub fn log(&self, node: i32, folder: usize) -> File {
        File::open(self.log_path(node, folder)).unwrap()
    }

    pub fn log_path(&self, node: i32, folder: usize) -> PathBuf {
        let home = self.folder.join("nodes").join(node.to_string());
        home.join("disk").join(FOLDERS[folder]).join("0.log")
    }

    pub fn home(&self, node: i32) -> PathBuf {
        self.folder.join("nodes").join(node.to_string())
    }
}
