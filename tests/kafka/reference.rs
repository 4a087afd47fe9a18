//! A cluster on the loopback interface: its nodes are processes of the executable under test, and, where asked for,
//! one controller of Apache Kafka.

use client::calls::{CreateTopic, Layout, QuorumDescription};
use client::{Connection, ErrorCode, Options};
use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;
use storage::meta_properties::MetaProperties;

use crate::jvm::Kafka;
use crate::process::Process;
use crate::support::{ackall, until};

/// How long a state of a cluster may take.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// The cluster's id, of a form that Kafka takes too.
pub const CLUSTER_ID: &str = "MkU3OEVBNTcwNTJENDM2Qk";
/// Controllers' numbers begin here, brokers' at 0.
const FIRST_CONTROLLER: i32 = 100;

/// A cluster.
pub struct Reference<'k> {
    folder: PathBuf,
    addresses: BTreeMap<i32, SocketAddr>,
    running: BTreeMap<i32, Process>,
    kind: Kind<'k>,
}

/// What is special about a cluster.
#[derive(Clone, Copy)]
enum Kind<'k> {
    /// Nothing.
    Plain,
    /// Its first controller is Kafka's.
    Mixed(&'k Kafka),
    /// Its voters may change: the first controller is the only one at first. Snapshots are taken often.
    Changing,
}

/// Addresses that are free.
pub fn free(count: usize) -> Vec<SocketAddr> {
    let held: Vec<_> = (0..count)
        .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
        .collect();
    held.iter()
        .map(|listener| listener.local_addr().unwrap())
        .collect()
}

/// Runs what talks to a cluster.
pub fn block<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(work)
}

impl<'k> Reference<'k> {
    /// Formats and starts one in `folder`.
    pub fn start(folder: &Path, controllers: i32, brokers: i32) -> Reference<'k> {
        Reference::start_as(Kind::Plain, folder, controllers, brokers)
    }

    /// The same, with a first controller of Kafka's, in a folder that was formatted here too.
    pub fn start_mixed(kafka: &'k Kafka, controllers: i32, brokers: i32) -> Reference<'k> {
        Reference::start_as(Kind::Mixed(kafka), kafka.folder(), controllers, brokers)
    }

    /// The same, with one voter, and other controllers that may become voters.
    pub fn start_changing(folder: &Path, controllers: i32, brokers: i32) -> Reference<'k> {
        Reference::start_as(Kind::Changing, folder, controllers, brokers)
    }

    fn start_as(kind: Kind<'k>, folder: &Path, controllers: i32, brokers: i32) -> Reference<'k> {
        let ids = (FIRST_CONTROLLER..FIRST_CONTROLLER + controllers).chain(0..brokers);
        let addresses = ids.zip(free((controllers + brokers) as usize)).collect();
        let mut cluster = Reference {
            folder: folder.to_owned(),
            addresses,
            running: BTreeMap::new(),
            kind,
        };
        for id in cluster.addresses.keys().copied().collect::<Vec<_>>() {
            cluster.format(id);
            cluster.start_node(id);
        }
        cluster
    }

    /// Whether a node is Kafka's.
    pub fn is_apache(&self, id: i32) -> bool {
        matches!(self.kind, Kind::Mixed(_)) && id == FIRST_CONTROLLER
    }

    /// A node's configuration.
    pub fn config(&self, id: i32) -> PathBuf {
        self.folder.join(format!("{id}.properties"))
    }

    fn format(&self, id: i32) {
        let (role, listener) = match id >= FIRST_CONTROLLER {
            true => ("controller", "CONTROLLER"),
            false => ("broker", "PLAINTEXT"),
        };
        let voters = self.addresses.range(FIRST_CONTROLLER..);
        let voters: Vec<String> = voters.map(|(id, address)| format!("{id}@{address}")).collect();
        let quorum = match self.kind {
            Kind::Changing => format!(
                "controller.quorum.bootstrap.servers={}\nmetadata.log.max.record.bytes.between.snapshots=600",
                self.addresses[&FIRST_CONTROLLER]
            ),
            Kind::Plain | Kind::Mixed(_) => format!("controller.quorum.voters={}", voters.join(",")),
        };
        let first_voters: &[&str] = match self.kind {
            Kind::Changing if id == FIRST_CONTROLLER => &["--standalone"],
            Kind::Changing if id > FIRST_CONTROLLER => &["--no-initial-controllers"],
            _ => &[],
        };
        // The follower whose patience ends last finds the others ready to vote for it: that is Kafka's.
        let fetch_timeout = if self.is_apache(id) { 1200 } else { 600 };
        let text = format!(
            "process.roles={role}\nnode.id={id}\n{quorum}\nlisteners={listener}://{}\n\
             controller.listener.names=CONTROLLER\n\
             listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n\
             log.dirs={}\ncontroller.quorum.election.timeout.ms=300\n\
             controller.quorum.fetch.timeout.ms={fetch_timeout}\nbroker.heartbeat.interval.ms=250\n\
             broker.session.timeout.ms=1500\nreplica.lag.time.max.ms=1500\nreplica.fetch.backoff.ms=100\n",
            self.addresses[&id],
            self.folder.join(id.to_string()).display(),
        );
        fs::write(self.config(id), text).unwrap();
        let formatted = ackall()
            .args(["node", "format", "--cluster-id", CLUSTER_ID, "--config"])
            .arg(self.config(id))
            .args(first_voters)
            .output()
            .unwrap();
        assert!(formatted.status.success(), "{formatted:?}");
    }

    /// Starts a node.
    pub fn start_node(&mut self, id: i32) {
        let command = match self.kind {
            Kind::Mixed(kafka) if self.is_apache(id) => kafka.node(&self.config(id)),
            _ => {
                let mut command = ackall();
                command.args(["node", "start", "--config"]).arg(self.config(id));
                command
            }
        };
        let process = Process::start(command, &self.folder.join(format!("{id}.said")));
        self.running.insert(id, process);
    }

    /// Kills a node.
    pub fn kill(&mut self, id: i32) {
        drop(self.running.remove(&id).unwrap());
    }

    /// Stops all that run.
    pub fn stop(&mut self) {
        // Brokers first: their controlled shutdown needs the controllers.
        for (id, process) in std::mem::take(&mut self.running) {
            let (status, said) = process.stop();
            // A JVM that was told to stop says so in its status.
            assert!(status.success() || self.is_apache(id), "{said}");
        }
    }

    /// The controllers that run.
    pub fn controllers(&self) -> Vec<i32> {
        self.running
            .range(FIRST_CONTROLLER..)
            .map(|(id, _)| *id)
            .collect()
    }

    /// Where a node listens.
    pub fn address(&self, id: i32) -> SocketAddr {
        self.addresses[&id]
    }

    /// The id of a node's folder, in Kafka's text form.
    pub fn directory_id(&self, id: i32) -> String {
        let path = self.folder.join(id.to_string()).join("meta.properties");
        storage::format_uuid(MetaProperties::read(&path).unwrap().unwrap().directory_id)
    }

    /// The files of a controller's metadata log, by their end.
    pub fn metadata_files(&self, id: i32, extension: &str) -> Vec<PathBuf> {
        let folder = self.folder.join(id.to_string()).join("__cluster_metadata-0");
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = entries
            .filter(|path| path.extension().is_some_and(|found| found == extension))
            .collect();
        files.sort();
        files
    }

    /// What the active controller says of the quorum, once there is one.
    pub fn quorum(&self) -> QuorumDescription {
        until("an active controller", PATIENCE, || {
            self.controllers().into_iter().find_map(|id| {
                let asked = block(async {
                    let mut connection = Connection::connect(self.address(id), Options::default()).await?;
                    connection.describe_quorum().await
                });
                asked
                    .ok()
                    .filter(|told| told.error.is_none() && told.leader == id)
            })
        })
    }

    /// Waits until every running voter has all that is committed now.
    pub fn until_caught_up(&self) -> i64 {
        let end = self.quorum().high_watermark;
        until("all logs at the high watermark", PATIENCE, || {
            let voters = self.quorum().voters;
            let mut alive = voters
                .iter()
                .filter(|voter| self.running.contains_key(&voter.node));
            alive.all(|voter| voter.log_end_offset >= end).then_some(())
        });
        end
    }

    /// Creates a topic with these replicas, through a broker.
    pub fn create_topic(&self, broker: i32, name: &str, replicas: &[&[i32]], configs: &[(&str, &str)]) {
        let topic = CreateTopic {
            name: name.into(),
            layout: Layout::Assigned(replicas.iter().map(|list| list.to_vec()).collect()),
            configs: configs
                .iter()
                .map(|(key, value)| (key.to_string(), value.to_string()))
                .collect(),
            timeout: Duration::from_secs(3),
        };
        until("the topic", PATIENCE, || {
            let created = block(async {
                let mut connection = Connection::connect(self.address(broker), Options::default()).await?;
                connection.create_topic(&topic).await
            });
            // An attempt before may have created it, its answer too late.
            let there = created.ok().map(|created| created.error);
            (there.is_some_and(|error| error.is_none() || error == ErrorCode::TOPIC_ALREADY_EXISTS))
                .then_some(())
        });
    }

    /// Waits until a broker says that a topic's first partition has this ISR.
    pub fn until_isr(&self, broker: i32, topic: &str, isr: &[i32]) {
        until(&format!("the ISR {isr:?}"), PATIENCE, || {
            let described = block(async {
                let mut connection = Connection::connect(self.address(broker), Options::default()).await?;
                connection.describe_topic_partitions(topic).await
            });
            let partition = described.ok()?.partitions.into_iter().next()?;
            let mut found = partition.isr;
            found.sort_unstable();
            (found == isr).then_some(())
        });
    }
}
