//! Addresses in a configuration: of listeners, of voters, and of those whom to ask for the voters.

use std::net::{SocketAddr, ToSocketAddrs};

/// `NAME://host:port`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// Its name.
    pub name: String,
    /// The host, as written.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl Listener {
    /// Reads one.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, rest) = text.split_once("://")?;
        let (host, port) = host_and_port(rest)?;
        (!name.is_empty()).then(|| Self {
            name: name.to_owned(),
            host,
            port,
        })
    }

    /// The address to bind; an empty host is every interface.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        let host = if self.host.is_empty() {
            "0.0.0.0"
        } else {
            &self.host
        };
        resolve(host, self.port)
    }
}

/// A controller of the quorum: `id@host:port`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Voter {
    /// The node.
    pub id: i32,
    /// Its host, as written.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Where it is reached.
    pub address: SocketAddr,
}

impl Voter {
    /// Reads one.
    pub fn parse(text: &str) -> Option<Self> {
        let (id, rest) = text.split_once('@')?;
        let (host, port) = host_and_port(rest)?;
        let address = resolve(&host, port).ok()?;
        Some(Self {
            id: id.parse().ok().filter(|id| *id >= 0)?,
            host,
            port,
            address,
        })
    }
}

/// A controller to ask who the voters are, whose id is not known: `host:port`
/// (`controller.quorum.bootstrap.servers`, KIP-853).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootstrapServer {
    /// Its host, as written.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Where it is reached.
    pub address: SocketAddr,
}

impl BootstrapServer {
    /// Reads one.
    pub fn parse(text: &str) -> Option<Self> {
        let (host, port) = host_and_port(text).filter(|(host, _)| !host.is_empty() && !host.contains('@'))?;
        let address = resolve(&host, port).ok()?;
        Some(Self { host, port, address })
    }
}

/// `host:port`; an IPv6 address stands in brackets.
pub(crate) fn host_and_port(text: &str) -> Option<(String, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Some((host.to_owned(), port.parse().ok()?))
}

/// The first address of a name.
///
/// # Errors
/// When it has none.
pub fn resolve(host: &str, port: u16) -> std::io::Result<SocketAddr> {
    (host, port)
        .to_socket_addrs()?
        .next()
        .ok_or_else(|| std::io::Error::other(format!("{host} has no address")))
}
