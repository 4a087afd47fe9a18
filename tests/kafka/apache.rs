//! A node of Apache Kafka, controller and broker in one, followed by our observer.

use client::calls::{CreateTopic, Layout};
use client::{ClusterView, Connection, Observer, ObserverOptions, Options};
use history::{Header, Recorder};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

use crate::dump;
use crate::jvm::{Kafka, kafka};
use crate::process::Process;
use crate::reference::{CLUSTER_ID, block, free};

/// How long a node may take to start, and to show a change.
const PATIENCE: Duration = Duration::from_secs(60);
const NODE: i32 = 1;

/// A running node.
struct Apache {
    process: Process,
    controller: SocketAddr,
    broker: SocketAddr,
    disk: PathBuf,
}

impl Apache {
    /// Formats and starts one.
    fn start(kafka: &Kafka) -> Apache {
        let [controller, broker] = free(2)[..] else {
            panic!("two addresses were asked for")
        };
        let disk = kafka.folder().join("disk");
        let config = kafka.folder().join("server.properties");
        let text = format!(
            "process.roles=broker,controller\nnode.id={NODE}\ncontroller.quorum.voters={NODE}@{controller}\n\
             listeners=PLAINTEXT://{broker},CONTROLLER://{controller}\nadvertised.listeners=PLAINTEXT://{broker}\n\
             controller.listener.names=CONTROLLER\n\
             listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\nlog.dirs={}\n\
             offsets.topic.replication.factor=1\ninitial.broker.registration.timeout.ms=30000\n",
            disk.display()
        );
        fs::write(&config, text).unwrap();
        let elr = "eligible.leader.replicas.version=1";
        let path = config.to_str().unwrap();
        let format = ["format", "-t", CLUSTER_ID, "-c", path, "--feature", elr];
        kafka.tool("kafka.tools.StorageTool", &format).unwrap();
        let command = kafka.node(&config);
        let process = Process::start(command, &kafka.folder().join("node.said"));
        Apache {
            process,
            controller,
            broker,
            disk,
        }
    }

    /// A connection to the broker, which takes them some time after it was unfenced.
    async fn connect(&self) -> Connection {
        let tries = async {
            loop {
                match Connection::connect(self.broker, Options::default()).await {
                    Ok(connection) => return connection,
                    Err(_) => sleep(Duration::from_millis(50)).await,
                }
            }
        };
        let connection = timeout(PATIENCE, tries).await;
        connection
            .unwrap_or_else(|_| panic!("the broker takes no connection; it said {}", self.process.said()))
    }
}

/// A history nobody asked for: the view is what is looked at.
fn recorder(path: &Path) -> Arc<Recorder> {
    let header = Header {
        schema: history::SCHEMA,
        ackall_version: "0".into(),
        started_at: "2026-01-01T00:00:00Z".into(),
        scenario: "test".into(),
        seed: 0,
        system: "apache-kafka".into(),
        promises: Vec::new(),
        requirements: Vec::new(),
        topics: Vec::new(),
        features: BTreeMap::new(),
        server: None,
    };
    Arc::new(Recorder::new(File::create(path).unwrap(), &header, Instant::now()).unwrap())
}

async fn seen(observer: &Observer, what: &str, seen: impl FnMut(&ClusterView) -> bool) -> ClusterView {
    let mut view = observer.view();
    let found = timeout(PATIENCE, view.wait_for(seen)).await;
    let last = observer.view().borrow().clone();
    let found = found.unwrap_or_else(|_| panic!("{what} is never seen; the last view: {last:#?}"));
    found
        .unwrap_or_else(|_| panic!("the observer ended before it saw {what}"))
        .clone()
}

#[test]
fn the_observer_follows_kafkas_own_metadata_log() {
    let Some(kafka) = kafka("apache") else { return };
    let node = Apache::start(&kafka);
    let history = kafka.folder().join("history.jsonl");
    let followed = block(async { timeout(2 * PATIENCE, follow(&node, &history)).await });
    followed.expect("it goes on and on");
    let text = fs::read(&history).unwrap();
    assert!(history::read(&text[..]).unwrap().entries.len() > 5);

    let disk = node.disk.join("__cluster_metadata-0");
    let (_, said) = node.process.stop();
    let mut files: Vec<PathBuf> = fs::read_dir(&disk)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|kind| kind == "log" || kind == "checkpoint")
        })
        .collect();
    files.sort();
    let files: Vec<&Path> = files.iter().map(AsRef::as_ref).collect();
    let records = dump::assert_same(&kafka, &files);
    // What Kafka itself wrote is read here as Kafka reads it.
    for kind in [
        "LeaderChange",
        "REGISTER_CONTROLLER_RECORD",
        "REGISTER_BROKER_RECORD",
        "PARTITION_RECORD",
    ] {
        assert!(
            dump::count(&records, kind) > 0,
            "no {kind} in {records:#?}\n{said}"
        );
    }
}

async fn follow(node: &Apache, history: &Path) {
    let options = ObserverOptions {
        controllers: [(NODE, node.controller)].into(),
        bind_device: None,
    };
    let observer = Observer::start(options, recorder(history));
    let up = |view: &ClusterView| view.brokers.get(&NODE).is_some_and(|broker| !broker.fenced);
    let view = seen(&observer, "an unfenced broker", up).await;
    assert_eq!(view.features["eligible.leader.replicas.version"], 1);
    assert_eq!(view.quorum.leader, NODE);
    let topic = CreateTopic {
        name: "night".into(),
        layout: Layout::Automatic {
            partitions: 2,
            replication_factor: 1,
        },
        configs: [("retention.ms".to_owned(), "1234567".to_owned())].into(),
        timeout: Duration::from_secs(5),
    };
    let mut connection = node.connect().await;
    let created = connection.create_topic(&topic).await.unwrap();
    assert!(created.error.is_none(), "{created:?}");
    let view = seen(&observer, "both partitions", |view| {
        view.partition("night", 1).is_some()
    })
    .await;
    assert_eq!(view.topic_config("night", "retention.ms"), Some("1234567"));
    // The broker's own view comes after the log.
    let described = loop {
        let described = connection.describe_topic_partitions("night").await.unwrap();
        if described.partitions.len() == 2 {
            break described;
        }
        sleep(Duration::from_millis(20)).await;
    };
    for partition in described.partitions {
        let state = view.partition("night", partition.partition).unwrap();
        assert_eq!((state.leader, state.leader_epoch), (NODE, partition.leader_epoch));
        assert_eq!(
            (&state.isr, &state.replicas),
            (&partition.isr, &partition.replicas)
        );
    }
    assert!(!observer.has_ended());
    observer.stop().await.unwrap();
}
