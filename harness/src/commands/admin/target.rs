//! Whom to ask, and finding the active controller from there.

use super::args::TargetArgs;
use crate::error::{Error, Status};
use client::calls::QuorumDescription;
use client::{Connection, ErrorCode, Options};
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;
use tokio::time::Instant;

/// The pause before everybody is asked again.
const PAUSE: Duration = Duration::from_millis(100);

/// Whom to ask.
pub struct Target {
    /// Brokers pass questions to the active controller on; of the controllers it answers itself.
    kind: Kind,
    addresses: Vec<SocketAddr>,
    timeout: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Brokers,
    Controllers,
}

/// Somebody who answers for the active controller, and what it said of the quorum.
pub struct Answered {
    /// To it.
    pub connection: Connection,
    /// The cluster.
    pub cluster_id: String,
    /// What it said.
    pub quorum: QuorumDescription,
}

impl Target {
    /// Reads the command line.
    pub fn of(args: &TargetArgs) -> Result<Target, Error> {
        let timeout = humantime::parse_duration(&args.timeout)
            .map_err(|e| Error::usage(format!("reading --timeout {}", args.timeout), e, "--timeout 10s"))?;
        let bootstrap = &args.bootstrap;
        let (kind, flag, texts) = if bootstrap.bootstrap_server.is_empty() {
            (
                Kind::Controllers,
                "--bootstrap-controller",
                &bootstrap.bootstrap_controller,
            )
        } else {
            (Kind::Brokers, "--bootstrap-server", &bootstrap.bootstrap_server)
        };
        let mut addresses = Vec::new();
        for text in texts {
            let wrong = |why: String| {
                Error::usage(format!("reading {flag} {text}"), why, format!("{flag} HOST:PORT"))
            };
            let found = text.to_socket_addrs().map_err(|e| wrong(e.to_string()))?.next();
            addresses.push(found.ok_or_else(|| wrong("the host has no address".into()))?);
        }
        Ok(Target {
            kind,
            addresses,
            timeout,
        })
    }

    /// How long to try.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Asks until the active controller has answered, itself or through a broker.
    pub async fn active_controller(&self, what: &str) -> Result<Answered, Error> {
        let deadline = Instant::now() + self.timeout;
        loop {
            let mut whys = Vec::new();
            for address in &self.addresses {
                match self.ask(*address).await {
                    Ok(answered) => return Ok(answered),
                    Err(why) => whys.push(why),
                }
            }
            if Instant::now() + PAUSE >= deadline {
                return Err(Error::new(
                    Status::Fail,
                    what,
                    format!("nobody answered within {:?}: {}", self.timeout, whys.join("; ")),
                    "are the addresses right, and does a majority of the controllers run? --timeout 60s waits longer",
                ));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn ask(&self, address: SocketAddr) -> Result<Answered, String> {
        let mut connection = connect(address).await?;
        let told = |error: client::Error| error.to_string();
        let quorum = connection.describe_quorum().await.map_err(told)?;
        if quorum.error.is_none() {
            return self.answered(connection, quorum).await;
        }
        let refused = format!("DescribeQuorum to {address}: {}", quorum.error);
        if self.kind == Kind::Brokers || quorum.error != ErrorCode::NOT_LEADER_OR_FOLLOWER {
            return Err(refused);
        }
        let leader = leader_of(&mut connection, &quorum).await.ok_or(refused)?;
        let mut connection = connect(leader).await?;
        let quorum = connection.describe_quorum().await.map_err(told)?;
        match quorum.error.error() {
            None => self.answered(connection, quorum).await,
            Some(error) => Err(format!("DescribeQuorum to {leader}: {error}")),
        }
    }

    async fn answered(
        &self,
        mut connection: Connection,
        quorum: QuorumDescription,
    ) -> Result<Answered, String> {
        let described = match self.kind {
            Kind::Brokers => connection.describe_cluster().await,
            Kind::Controllers => connection.describe_controllers().await,
        };
        let described = described.map_err(|error| error.to_string())?;
        match described.error.error() {
            None => Ok(Answered {
                connection,
                cluster_id: described.cluster_id,
                quorum,
            }),
            Some(error) => Err(format!("DescribeCluster to {}: {error}", connection.address())),
        }
    }
}

async fn connect(address: SocketAddr) -> Result<Connection, String> {
    Connection::connect(address, Options::default())
        .await
        .map_err(|error| error.to_string())
}

/// Where the active controller is, as a controller that is not it sees it.
async fn leader_of(connection: &mut Connection, quorum: &QuorumDescription) -> Option<SocketAddr> {
    let listed = quorum
        .nodes
        .iter()
        .find(|node| node.node == quorum.leader)
        .and_then(|node| node.listeners.first());
    if let Some(listener) = listed {
        return resolve(&listener.host, listener.port);
    }
    // Apache Kafka's says nothing but that it does not lead.
    let described = connection.describe_controllers().await.ok()?;
    let leader = described
        .brokers
        .iter()
        .find(|node| node.node == described.controller)?;
    resolve(&leader.host, u16::try_from(leader.port).ok()?)
}

fn resolve(host: &str, port: u16) -> Option<SocketAddr> {
    (host, port).to_socket_addrs().ok()?.next()
}
