//! Requests to other nodes. Each ends within the limit it is given; whoever asked tries again.
//!
//! A connection carries one request at a time. It is kept for the next one only after a whole answer: a
//! request that fails or times out closes it, and every other idle one to that node, since they most
//! likely lead to the same dead end (a node that was restarted, a link that was cut).

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kafka_protocol::protocol::{Request, StrBytes};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::frame::{self, FrameError};

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// None came in time.
    #[error("no answer from {0} within {1:?}")]
    Late(SocketAddr, Duration),
    /// The other side closed the connection.
    #[error("{0} closed the connection")]
    Closed(SocketAddr),
    /// The connection, or what came over it, is broken.
    #[error("{0}: {1}")]
    Broken(SocketAddr, FrameError),
}

/// The connections that this node keeps to others.
#[derive(Debug, Clone)]
pub struct Peers {
    client_id: StrBytes,
    limit: Duration,
    idle: Arc<Mutex<HashMap<SocketAddr, Vec<TcpStream>>>>,
}

impl Peers {
    /// None yet. Every request, its connection included, ends within `limit`.
    pub fn new(node_id: i32, limit: Duration) -> Self {
        Self {
            client_id: StrBytes::from_string(format!("node-{node_id}")),
            limit,
            idle: Arc::default(),
        }
    }

    /// The same connections, for requests that may take another time.
    pub fn within(&self, limit: Duration) -> Self {
        Self {
            limit,
            ..self.clone()
        }
    }

    /// Asks a node.
    ///
    /// # Errors
    /// When no whole answer comes in time.
    pub async fn call<R: Request>(
        &self,
        to: SocketAddr,
        version: i16,
        request: &R,
    ) -> Result<R::Response, CallError> {
        let outcome = timeout(self.limit, self.exchange(to, version, request))
            .await
            .unwrap_or(Err(CallError::Late(to, self.limit)));
        if outcome.is_err() {
            self.forget(to);
        }
        outcome
    }

    async fn exchange<R: Request>(
        &self,
        to: SocketAddr,
        version: i16,
        request: &R,
    ) -> Result<R::Response, CallError> {
        let broken = |error| CallError::Broken(to, error);
        // A fresh number would only tell requests on one connection apart, and there is only one.
        let correlation = 1;
        let bytes = frame::request(request, version, correlation, &self.client_id).map_err(broken)?;
        let mut stream = match self.take(to) {
            Some(stream) => stream,
            None => connect(to).await.map_err(|error| broken(error.into()))?,
        };
        stream
            .write_all(&bytes)
            .await
            .map_err(|error| broken(error.into()))?;
        let answer = frame::read(&mut stream)
            .await
            .map_err(broken)?
            .ok_or(CallError::Closed(to))?;
        let answer = frame::answer::<R>(answer, version, correlation).map_err(broken)?;
        self.keep(to, stream);
        Ok(answer)
    }

    fn take(&self, to: SocketAddr) -> Option<TcpStream> {
        self.locked(|idle| idle.get_mut(&to).and_then(Vec::pop))
    }

    fn keep(&self, to: SocketAddr, stream: TcpStream) {
        self.locked(|idle| idle.entry(to).or_default().push(stream));
    }

    fn forget(&self, to: SocketAddr) {
        self.locked(|idle| idle.remove(&to));
    }

    fn locked<T>(&self, act: impl FnOnce(&mut HashMap<SocketAddr, Vec<TcpStream>>) -> T) -> T {
        act(&mut self.idle.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn connect(to: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(to).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}
