//! The configuration of a node: Kafka's `server.properties`, with the properties of [`table`].

mod address;
mod file;
pub mod table;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use address::{Listener, Voter, resolve};
use file::Values;

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
    /// The controllers.
    pub voters: Vec<Voter>,
    /// Where it listens.
    pub listener: Listener,
    /// What clients are told.
    pub advertised: Listener,
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
    /// `message.max.bytes`.
    pub message_max_bytes: usize,
    /// `unclean.leader.election.enable`.
    pub unclean_leader_election: bool,
}

impl Config {
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
        let node_id = self.required_number("node.id")?;
        if (role == Role::Controller) != voters.iter().any(|voter| voter.id == node_id) {
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
        let listener = self.listener("listeners", role)?;
        let advertised = if self.values.list("advertised.listeners").is_empty() {
            listener.clone()
        } else {
            self.listener("advertised.listeners", role)?
        };
        Ok(Config {
            role,
            node_id,
            voters,
            listener,
            advertised,
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
            message_max_bytes: usize::try_from(self.int("message.max.bytes")).unwrap_or(usize::MAX),
            unclean_leader_election: self.values.truth("unclean.leader.election.enable"),
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
        if voters.is_empty() {
            return Err(self.bad(
                "controller.quorum.voters",
                "It must name at least one controller.",
            ));
        }
        Ok(voters)
    }

    /// The one listener that matters: the controllers' own, or the one that is not theirs.
    fn listener(&self, property: &'static str, role: Role) -> Result<Listener, Failure> {
        let controllers = self.values.list("controller.listener.names");
        let mut fitting = Vec::new();
        for text in self.values.list(property) {
            let listener = Listener::parse(text)
                .ok_or_else(|| self.bad(property, format!("'{text}' is not NAME://host:port.")))?;
            if controllers.contains(&listener.name.as_str()) == (role == Role::Controller) {
                fitting.push(listener);
            }
        }
        match fitting.len() {
            1 => Ok(fitting.remove(0)),
            found => Err(self.bad(
                property,
                format!("It must name exactly one listener that this role serves; it names {found}."),
            )),
        }
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
        assert!(Config::parse("it", "process.roles=broker\ncontroller.quorum.voters=x").is_err());
    }
}
