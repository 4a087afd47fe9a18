//! The configuration of a node: Kafka's `server.properties`, with the properties of [`table`].

mod address;
mod file;
mod listeners;
pub mod table;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use address::host_and_port;
pub use address::{BootstrapServer, Listener, Voter, resolve};
use file::Values;
use listeners::Listeners;
pub use listeners::MoreListener;

use crate::failure::Failure;

/// No request between nodes may take longer, whatever is configured: a node that does not answer is tried
/// again on a fresh connection.
pub const REQUEST_LIMIT: Duration = Duration::from_secs(1);
/// The longest that a fetch between nodes may be held, so that its answer comes well within
/// [`REQUEST_LIMIT`].
pub const HELD_FETCH_LIMIT: Duration = Duration::from_millis(500);

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A member of the metadata quorum.
    Controller,
    /// A holder of partitions.
    Broker,
}

/// The configuration of a node.
#[derive(Debug, Clone)]
pub struct Config {
    /// What it is.
    pub role: Role,
    /// Its number.
    pub node_id: i32,
    /// The controllers, where they are fixed (`controller.quorum.voters`, `kraft.version` 0). Empty where
    /// the voters are named in the metadata log (`kraft.version` 1, KIP-853): then whom to ask for them is in
    /// [`Config::bootstrap_servers`].
    pub voters: Vec<Voter>,
    /// `controller.quorum.bootstrap.servers`. Never empty where `voters` is; without meaning where it is not.
    pub bootstrap_servers: Vec<BootstrapServer>,
    /// Where it listens for other nodes.
    pub listener: Listener,
    /// What these are told.
    pub advertised: Listener,
    /// Listeners beside that one.
    pub more_listeners: Vec<MoreListener>,
    /// The name of the controllers' listener.
    pub controller_listener: String,
    /// Its folder.
    pub log_dir: PathBuf,
    /// `broker.session.timeout.ms`.
    pub session_timeout: Duration,
    /// `broker.heartbeat.interval.ms`.
    pub heartbeat_interval: Duration,
    /// `controller.quorum.election.timeout.ms`.
    pub election_timeout: Duration,
    /// `controller.quorum.election.backoff.max.ms`.
    pub election_backoff_max: Duration,
    /// `controller.quorum.fetch.timeout.ms`.
    pub fetch_timeout: Duration,
    /// How long any request between nodes may take.
    pub request_timeout: Duration,
    /// `controlled.shutdown.max.wait.ms`.
    pub shutdown_wait: Duration,
    /// `replica.lag.time.max.ms`.
    pub replica_lag_time_max: Duration,
    /// `replica.fetch.wait.max.ms`, within [`HELD_FETCH_LIMIT`].
    pub replica_fetch_wait: Duration,
    /// `replica.fetch.backoff.ms`.
    pub replica_fetch_backoff: Duration,
    /// `min.insync.replicas`.
    pub min_insync_replicas: i32,
    /// `default.replication.factor`.
    pub default_replication_factor: i16,
    /// `num.partitions`.
    pub num_partitions: i32,
    /// `log.flush.interval.messages`.
    pub flush_interval_messages: i64,
    /// `log.segment.bytes`.
    pub segment_bytes: u64,
    /// `metadata.log.segment.bytes`.
    pub metadata_segment_bytes: u64,
    /// `metadata.log.max.record.bytes.between.snapshots`.
    pub snapshot_after_bytes: u64,
    /// `metadata.log.max.snapshot.interval.ms`; none where it is 0: bytes alone decide.
    pub snapshot_interval: Option<Duration>,
    /// `message.max.bytes`.
    pub message_max_bytes: usize,
    /// `unclean.leader.election.enable`.
    pub unclean_leader_election: bool,
    /// The bug that `--bug` switched on. No property sets it: none is on unless the command line names it.
    pub bug: Option<raft::Bug>,
}

impl Config {
    /// Whether the voters are named in the metadata log, and may change (`kraft.version` 1, KIP-853).
    pub fn has_dynamic_quorum(&self) -> bool {
        self.voters.is_empty()
    }

    /// Reads the file at `path`.
    ///
    /// # Errors
    /// When it cannot be read, or says what cannot be.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            Failure::usage(
                format!("Cannot read the configuration {}.", path.display()),
                format!("{error}."),
                "Name a server.properties with --config.",
            )
        })?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// Reads the text of a file called `origin`.
    ///
    /// # Errors
    /// When it says what cannot be.
    pub fn parse(origin: &str, text: &str) -> Result<Self, Failure> {
        let values = Values::parse(origin, text)?;
        let read = Reader { origin, values };
        read.config()
    }
}

/// Turns checked values into a configuration.
struct Reader<'a> {
    origin: &'a str,
    values: Values,
}

impl Reader<'_> {
    fn config(&self) -> Result<Config, Failure> {
        let role = self.role()?;
        let voters = self.voters()?;
        let bootstrap_servers = self.bootstrap_servers()?;
        if voters.is_empty() && bootstrap_servers.is_empty() {
            return Err(self.bad(
                "controller.quorum.voters",
                "Neither this names the controllers, nor controller.quorum.bootstrap.servers whom to ask for them.",
            ));
        }
        let node_id = self.required_number("node.id")?;
        let fixed = !voters.is_empty();
        if fixed && (role == Role::Controller) != voters.iter().any(|voter| voter.id == node_id) {
            return Err(self.bad(
                "controller.quorum.voters",
                "A controller must be among the voters, and a broker must not.",
            ));
        }
        self.only_plaintext()?;
        if self.values.truth("auto.create.topics.enable") {
            return Err(self.bad(
                "auto.create.topics.enable",
                "Topics are never created by asking for them.",
            ));
        }
        let listeners = Listeners::of(&self.values, role == Role::Controller)
            .map_err(|(property, why)| self.bad(property, why))?;
        Ok(Config {
            role,
            node_id,
            voters,
            bootstrap_servers,
            listener: listeners.listener,
            advertised: listeners.advertised,
            more_listeners: listeners.more,
            controller_listener: self.values.list("controller.listener.names").concat(),
            log_dir: self.log_dir()?,
            session_timeout: self.time("broker.session.timeout.ms"),
            heartbeat_interval: self.time("broker.heartbeat.interval.ms"),
            election_timeout: self.time("controller.quorum.election.timeout.ms"),
            election_backoff_max: self.time("controller.quorum.election.backoff.max.ms"),
            fetch_timeout: self.time("controller.quorum.fetch.timeout.ms"),
            request_timeout: self
                .time("controller.quorum.request.timeout.ms")
                .min(REQUEST_LIMIT),
            shutdown_wait: self.time("controlled.shutdown.max.wait.ms"),
            replica_lag_time_max: self.time("replica.lag.time.max.ms"),
            replica_fetch_wait: self.time("replica.fetch.wait.max.ms").min(HELD_FETCH_LIMIT),
            replica_fetch_backoff: self.time("replica.fetch.backoff.ms"),
            min_insync_replicas: self.int("min.insync.replicas"),
            default_replication_factor: i16::try_from(self.int("default.replication.factor"))
                .map_err(|_| self.bad("default.replication.factor", "It is too large."))?,
            num_partitions: self.int("num.partitions"),
            flush_interval_messages: self.values.number("log.flush.interval.messages"),
            segment_bytes: self.values.number("log.segment.bytes").unsigned_abs(),
            metadata_segment_bytes: self.values.number("metadata.log.segment.bytes").unsigned_abs(),
            snapshot_after_bytes: self
                .values
                .number("metadata.log.max.record.bytes.between.snapshots")
                .unsigned_abs(),
            snapshot_interval: Some(self.time("metadata.log.max.snapshot.interval.ms"))
                .filter(|interval| !interval.is_zero()),
            message_max_bytes: usize::try_from(self.int("message.max.bytes")).unwrap_or(usize::MAX),
            unclean_leader_election: self.values.truth("unclean.leader.election.enable"),
            bug: None,
        })
    }

    fn role(&self) -> Result<Role, Failure> {
        match self.values.list("process.roles")[..] {
            ["controller"] => Ok(Role::Controller),
            ["broker"] => Ok(Role::Broker),
            _ => Err(self.bad("process.roles", "It must be either controller or broker.")),
        }
    }

    fn voters(&self) -> Result<Vec<Voter>, Failure> {
        let mut voters = Vec::<Voter>::new();
        for text in self.values.list("controller.quorum.voters") {
            let voter = Voter::parse(text).ok_or_else(|| {
                self.bad(
                    "controller.quorum.voters",
                    format!("'{text}' is not id@host:port, or its host has no address."),
                )
            })?;
            if voters.iter().any(|other| other.id == voter.id) {
                return Err(self.bad(
                    "controller.quorum.voters",
                    format!("Voter {} occurs twice.", voter.id),
                ));
            }
            voters.push(voter);
        }
        Ok(voters)
    }

    fn bootstrap_servers(&self) -> Result<Vec<BootstrapServer>, Failure> {
        let property = "controller.quorum.bootstrap.servers";
        let mut servers = Vec::<BootstrapServer>::new();
        for text in self.values.list(property) {
            let server = BootstrapServer::parse(text).ok_or_else(|| {
                self.bad(
                    property,
                    format!("'{text}' is not host:port, or its host has no address."),
                )
            })?;
            // Once is enough to ask it.
            if !servers.contains(&server) {
                servers.push(server);
            }
        }
        Ok(servers)
    }

    fn only_plaintext(&self) -> Result<(), Failure> {
        let property = "listener.security.protocol.map";
        match self
            .values
            .list(property)
            .into_iter()
            .find(|entry| !entry.ends_with(":PLAINTEXT"))
        {
            Some(entry) => Err(self.bad(property, format!("'{entry}' is not NAME:PLAINTEXT."))),
            None => Ok(()),
        }
    }

    fn log_dir(&self) -> Result<PathBuf, Failure> {
        match self.values.list("log.dirs")[..] {
            [dir] => Ok(dir.into()),
            _ => Err(self.bad("log.dirs", "It must name exactly one folder.")),
        }
    }

    fn required_number(&self, property: &'static str) -> Result<i32, Failure> {
        match self.int(property) {
            number if number >= 0 => Ok(number),
            _ => Err(self.bad(property, "It is not set, and has no default.")),
        }
    }

    /// A property of type int: the file's reader has checked its range.
    fn int(&self, property: &str) -> i32 {
        i32::try_from(self.values.number(property)).unwrap_or(i32::MAX)
    }

    fn time(&self, property: &str) -> Duration {
        Duration::from_millis(self.values.number(property).unsigned_abs())
    }

    fn bad(&self, property: &'static str, why: impl Into<String>) -> Failure {
        let value = self.values.text(property);
        let doc = table::find(property).map_or("", |property| property.doc);
        Failure::usage(
            format!("Cannot use {}: {property}={value}", self.origin),
            why,
            format!("{property}: {doc}"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broker(extra: &str) -> Result<Config, Failure> {
        let text = format!(
            "# a broker\nprocess.roles=broker\nnode.id=1\ncontroller.quorum.voters=100@127.0.0.1:9093,101@127.0.0.2:9093\n\
             listeners=PLAINTEXT://127.0.0.1:9092\ncontroller.listener.names=CONTROLLER\nlog.dirs=/d\n{extra}\n"
        );
        Config::parse("it", &text)
    }

    #[test]
    fn defaults_are_kafkas() {
        let config = broker("").unwrap();
        assert_eq!(
            (config.role, config.node_id, config.voters.len()),
            (Role::Broker, 1, 2)
        );
        assert_eq!(config.replica_lag_time_max, Duration::from_secs(30));
        assert_eq!(config.request_timeout, REQUEST_LIMIT);
        assert_eq!(config.flush_interval_messages, i64::MAX);
        assert_eq!(config.advertised, config.listener);
    }

    #[test]
    fn what_is_said_is_taken() {
        let config = broker("min.insync.replicas = 2\nadvertised.listeners=PLAINTEXT://b:1").unwrap();
        assert_eq!(config.min_insync_replicas, 2);
        assert_eq!(
            (config.advertised.host.as_str(), config.advertised.port),
            ("b", 1)
        );
    }

    #[test]
    fn an_unknown_name_gets_the_nearest_one() {
        let failure = broker("min.insync.replica=2").unwrap_err().to_string();
        assert!(failure.contains("Did you mean min.insync.replicas?"), "{failure}");
        assert_eq!(failure.lines().count(), 3);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for bad in [
            "node.id=2",
            "min.insync.replicas=0",
            "min.insync.replicas=x",
            "unclean.leader.election.enable=yes",
            "listener.security.protocol.map=PLAINTEXT:SSL",
            "auto.create.topics.enable=true",
            "advertised.listeners=PLAINTEXT",
            "nonsense",
            "num.partitions=3\\",
        ] {
            let failure = broker(bad).unwrap_err();
            assert_eq!(failure.to_string().lines().count(), 3, "{failure}");
        }
        assert!(Config::parse("it", "process.roles=broker,controller").is_err());
        let twice = broker("").map(|_| ()).and_then(|()| {
            Config::parse(
                "it",
                "process.roles=broker\ncontroller.quorum.voters=1@127.0.0.1:1,1@127.0.0.1:2",
            )
        });
        assert!(twice.unwrap_err().to_string().contains("occurs twice"));
        assert!(Config::parse("it", "process.roles=broker\ncontroller.quorum.voters=x").is_err());
    }

    #[test]
    fn voters_in_the_log_need_somebody_to_ask() {
        let controller = |quorum: &str| {
            let text = format!(
                "process.roles=controller\nnode.id=1\nlisteners=CONTROLLER://127.0.0.1:9093\nlog.dirs=/d\n{quorum}\n"
            );
            Config::parse("it", &text)
        };
        let found =
            controller("controller.quorum.bootstrap.servers=127.0.0.1:1,[::1]:2,127.0.0.1:1").unwrap();
        assert!(found.has_dynamic_quorum());
        let ports: Vec<_> = found.bootstrap_servers.iter().map(|server| server.port).collect();
        assert_eq!(ports, [1, 2]);
        // Where both are named the voters are fixed, as in Kafka.
        let both = "controller.quorum.bootstrap.servers=127.0.0.1:1\ncontroller.quorum.voters=1@127.0.0.1:1";
        assert!(!controller(both).unwrap().has_dynamic_quorum());
        for bad in [
            "",
            "controller.quorum.bootstrap.servers=",
            "controller.quorum.bootstrap.servers=127.0.0.1",
            "controller.quorum.bootstrap.servers=:1",
            "controller.quorum.bootstrap.servers=1@127.0.0.1:1",
        ] {
            let refused = controller(bad).unwrap_err().to_string();
            assert_eq!(refused.lines().count(), 3, "{refused}");
        }
    }

    #[test]
    fn snapshots_come_by_bytes_and_by_time() {
        let config = broker("").unwrap();
        assert_eq!(config.metadata_segment_bytes, 1 << 30);
        assert_eq!(config.snapshot_after_bytes, 20 << 20);
        assert_eq!(config.snapshot_interval, Some(Duration::from_secs(3600)));
        let never = broker("metadata.log.max.snapshot.interval.ms=0").unwrap();
        assert_eq!(never.snapshot_interval, None);
    }
}
