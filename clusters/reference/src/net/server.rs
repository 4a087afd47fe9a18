//! Connections that others open: frames in, answers out in the order of the requests.
//!
//! Each connection has a reader and a writer. The reader hands requests to the node's core together with a
//! [`Reply`]; the writer waits for the replies in turn. A request that is malformed, or of a call or a
//! version that was not advertised, closes the connection, as does a reply that is dropped.

use std::sync::Arc;

use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::{ApiKey, ApiVersionsResponse};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion};
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};

use super::frame::{self, FrameError, Head};
use crate::api::Catalogue;

/// Requests of one connection that may wait for an answer; the next is not read before one is given.
const MAX_IN_FLIGHT: usize = 256;

/// A request, and how to answer it.
#[derive(Debug)]
pub struct Incoming {
    /// Which call.
    pub key: ApiKey,
    /// In which version: one that was advertised.
    pub version: i16,
    /// The body.
    pub body: Bytes,
    /// The name of the listener that it came in by.
    pub listener: Arc<str>,
    /// Where the answer goes.
    pub reply: Reply,
}

impl Incoming {
    /// The body, and how to answer.
    ///
    /// # Errors
    /// When the body is malformed; the connection is then closed.
    pub fn decode<T: Decodable>(self) -> Result<(T, Reply), FrameError> {
        Ok((frame::decode(self.body, self.version)?, self.reply))
    }
}

/// The answer that somebody waits for. Dropping it closes the connection.
#[derive(Debug)]
pub struct Reply {
    to: oneshot::Sender<Option<Bytes>>,
    version: i16,
    correlation: i32,
}

impl Reply {
    /// Answers.
    pub fn send<R: Encodable + HeaderVersion>(self, response: &R) {
        match frame::response(response, self.version, self.correlation) {
            // Nobody waits any more: the connection is gone.
            Ok(frame) => drop(self.to.send(Some(frame))),
            Err(error) => crate::diary::failed!("an answer was not sent: {error}"),
        }
    }

    /// Answers with nothing, which only Produce with acks=0 wants.
    pub fn nothing(self) {
        drop(self.to.send(None));
    }

    /// The version that the request was in, and the answer must be in.
    pub fn version(&self) -> i16 {
        self.version
    }
}

/// Accepts connections of the listener of that name until it is dropped.
pub async fn serve<E>(
    listener: TcpListener,
    name: Arc<str>,
    catalogue: Catalogue,
    core: mpsc::UnboundedSender<E>,
) where
    E: From<Incoming> + Send + 'static,
{
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(connection(stream, name.clone(), catalogue, core.clone()));
            }
            // Too many open files, or a connection that was gone before it was taken.
            Err(error) => {
                crate::diary::warning!("a connection was not accepted: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// The pause after a connection that could not be accepted, so that a lack of descriptors does not become
/// a lack of processor time.
const ACCEPT_PAUSE: std::time::Duration = std::time::Duration::from_millis(50);

async fn connection<E: From<Incoming>>(
    stream: TcpStream,
    listener: Arc<str>,
    catalogue: Catalogue,
    core: mpsc::UnboundedSender<E>,
) {
    // Without it answers would wait for the other side's acknowledgements; with it failing they do.
    let _ = stream.set_nodelay(true);
    let (read, write) = stream.into_split();
    let (answers, pending) = mpsc::channel(MAX_IN_FLIGHT);
    // When one half ends so does the other: dropping the reader drops `answers`, and the writer ends once
    // the last answer is sent; a writer that fails drops `pending`.
    tokio::select! {
        read = reader(read, listener, catalogue, core, answers) => {
            match read {
                // The other side is gone, as happens every day.
                Ok(()) | Err(FrameError::Io(_)) => {}
                Err(error) => crate::diary::warning!("a connection is closed: {error}"),
            }
        }
        () = writer(write, pending) => {}
    }
}

type Answer = oneshot::Receiver<Option<Bytes>>;

async fn reader<E: From<Incoming>>(
    mut stream: OwnedReadHalf,
    listener: Arc<str>,
    catalogue: Catalogue,
    core: mpsc::UnboundedSender<E>,
    answers: mpsc::Sender<Answer>,
) -> Result<(), FrameError> {
    while let Some(frame) = frame::read(&mut stream).await? {
        let head = frame::head(&frame)?;
        let (to, answer) = oneshot::channel();
        if answers.send(answer).await.is_err() {
            return Ok(());
        }
        let reply = Reply {
            to,
            version: head.version,
            correlation: head.correlation,
        };
        let Some(key) = catalogue.supports(head.key, head.version) else {
            refuse(head, reply, catalogue)?;
            continue;
        };
        let incoming = Incoming {
            key,
            version: head.version,
            body: frame::strip_header(frame, key, head.version)?,
            listener: listener.clone(),
            reply,
        };
        if core.send(incoming.into()).is_err() {
            return Ok(());
        }
    }
    // The other side will send no more; it may still wait for answers.
    drop(answers);
    std::future::pending().await
}

/// A version of ApiVersions that is not known is answered in version 0, with what is (KIP-511).
fn refuse(head: Head, reply: Reply, catalogue: Catalogue) -> Result<(), FrameError> {
    if head.key != ApiKey::ApiVersions as i16 {
        return Err(FrameError::Codec {
            what: "a request",
            why: format!("call {} in version {} is not supported", head.key, head.version),
        });
    }
    let answer = ApiVersionsResponse::default()
        .with_error_code(ResponseError::UnsupportedVersion.code())
        .with_api_keys(catalogue.api_versions());
    Reply { version: 0, ..reply }.send(&answer);
    Ok(())
}

async fn writer(mut stream: OwnedWriteHalf, mut pending: mpsc::Receiver<Answer>) {
    while let Some(answer) = pending.recv().await {
        match answer.await {
            Ok(Some(frame)) => {
                if stream.write_all(&frame).await.is_err() {
                    return;
                }
            }
            Ok(None) => {}
            Err(_) => return,
        }
    }
}
