//! One connection to one node: one request at a time.

use crate::error::{Cause, Error, SentBytes};
use crate::frame;
use crate::versions::{ServerVersions, VersionRange};
use bytes::Bytes;
use kafka_protocol::protocol::Request;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// How to connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How long the connection, its ApiVersions exchange included, may take.
    pub connect_timeout: Duration,
    /// How long a request may take where the call sets no limit of its own.
    pub request_timeout: Duration,
    /// The network device to go through (SO_BINDTODEVICE), `observer` for one.
    pub bind_device: Option<String>,
    /// The client id that servers log.
    pub client_id: String,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            connect_timeout: Duration::from_secs(1),
            request_timeout: Duration::from_secs(1),
            bind_device: None,
            client_id: "ackall".into(),
        }
    }
}

/// A connection. Owned by one task; a request's failure after a byte of it left closes it.
#[derive(Debug)]
pub struct Connection {
    stream: Option<TcpStream>,
    address: SocketAddr,
    options: Options,
    versions: ServerVersions,
    correlation: i32,
}

impl Connection {
    /// Connects, and asks for the server's versions.
    ///
    /// # Errors
    /// Where the server cannot be reached, or does not answer ApiVersions, in time. [`SentBytes::No`]: what an
    /// operation means to send has not begun.
    pub async fn connect(address: SocketAddr, options: Options) -> Result<Connection, Error> {
        let limit = options.connect_timeout;
        let failed = |cause| Error {
            address,
            call: "connect",
            sent: SentBytes::No,
            cause,
        };
        let opened = async {
            let stream = open(address, &options)
                .await
                .map_err(|why| failed(Cause::Refused(why)))?;
            let mut connection = Connection {
                stream: Some(stream),
                address,
                options: options.clone(),
                versions: ServerVersions::default(),
                correlation: 0,
            };
            connection.versions = connection
                .api_versions()
                .await
                .map_err(|error| failed(error.cause))?;
            Ok(connection)
        };
        timeout(limit, opened)
            .await
            .unwrap_or_else(|_| Err(failed(Cause::TimedOut(limit))))
    }

    /// Whom it is connected to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What the server said it can do.
    pub fn server(&self) -> &ServerVersions {
        &self.versions
    }

    /// Whether a request can still be sent, as far as is known here: the server has not closed the connection.
    pub fn is_open(&self) -> bool {
        self.stream
            .as_ref()
            .is_some_and(|stream| still_open(stream).is_ok())
    }

    /// The highest version of a call that both sides know, no higher than `at_most`.
    pub(crate) fn version<R: Request>(&self, call: &'static str, at_most: i16) -> Result<i16, Error> {
        let ours = VersionRange {
            min: R::VERSIONS.min,
            max: R::VERSIONS.max.min(at_most),
        };
        let theirs = self.versions.calls.get(&R::KEY);
        theirs
            .and_then(|theirs| ours.highest_common(*theirs))
            .ok_or_else(|| {
                let theirs = theirs.map_or("none".into(), VersionRange::to_string);
                self.failed(
                    call,
                    SentBytes::No,
                    Cause::Unsupported {
                        theirs,
                        ours: ours.to_string(),
                    },
                )
            })
    }

    /// How long a request may take that the server answers at once.
    pub(crate) fn limit(&self) -> Duration {
        self.options.request_timeout
    }

    /// Sends a request in a version and waits so long for its answer.
    pub(crate) async fn call<R: Request>(
        &mut self,
        call: &'static str,
        version: i16,
        request: &R,
        limit: Duration,
    ) -> Result<R::Response, Error> {
        self.correlation = self.correlation.wrapping_add(1);
        let correlation = self.correlation;
        let bytes = frame::encode(request, version, correlation, &self.options.client_id)
            .map_err(|why| self.failed(call, SentBytes::No, Cause::Encode(why)))?;
        // Taken out, so that a caller that gives up half-way (drops this future) leaves a closed connection.
        let Some(mut stream) = self.stream.take() else {
            return Err(self.failed(call, SentBytes::No, Cause::Closed));
        };
        still_open(&stream).map_err(|why| self.failed(call, SentBytes::No, Cause::Disconnected(why)))?;
        let mut sent = SentBytes::No;
        let exchanged = timeout(limit, exchange(&mut stream, &bytes, correlation, &mut sent)).await;
        let answer = exchanged.unwrap_or(Err(Cause::TimedOut(limit)));
        let frame = answer.map_err(|cause| self.failed(call, sent, cause))?;
        let body = frame::decode::<R>(frame, version)
            .map_err(|why| self.failed(call, sent, Cause::Malformed(why)))?;
        self.stream = Some(stream);
        Ok(body)
    }

    /// An error of a call on this connection.
    pub(crate) fn failed(&self, call: &'static str, sent: SentBytes, cause: Cause) -> Error {
        Error {
            address: self.address,
            call,
            sent,
            cause,
        }
    }

    /// An answer that lacks what was asked for.
    pub(crate) fn lacks(&self, call: &'static str, what: &str) -> Error {
        self.failed(
            call,
            SentBytes::Yes,
            Cause::Malformed(format!("it says nothing of {what}")),
        )
    }
}

async fn open(address: SocketAddr, options: &Options) -> io::Result<TcpStream> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    if let Some(device) = &options.bind_device {
        bind_device(&socket, device)?;
    }
    let stream = socket.connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

#[cfg(target_os = "linux")]
fn bind_device(socket: &TcpSocket, device: &str) -> io::Result<()> {
    socket.bind_device(Some(device.as_bytes())).map_err(|why| {
        io::Error::new(
            why.kind(),
            format!("the device {device} cannot be bound to: {why}"),
        )
    })
}

#[cfg(not(target_os = "linux"))]
fn bind_device(_: &TcpSocket, device: &str) -> io::Result<()> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        format!("only Linux can bind a connection to the device {device}"),
    ))
}

/// Between two requests a server has nothing to say: silence is a connection that is open.
///
/// Without this, a request sent after the server's end of the connection was seen would count as sent.
fn still_open(stream: &TcpStream) -> io::Result<()> {
    match stream.try_read(&mut [0]) {
        Err(nothing) if nothing.kind() == io::ErrorKind::WouldBlock => Ok(()),
        Err(broken) => Err(broken),
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "bytes that no request asked for",
        )),
    }
}

/// Writes a frame and reads the answer's. `sent` tells whether the kernel took a byte, also where the future
/// is dropped half-way.
async fn exchange(
    stream: &mut TcpStream,
    request: &[u8],
    correlation: i32,
    sent: &mut SentBytes,
) -> Result<Bytes, Cause> {
    let mut rest = request;
    while !rest.is_empty() {
        let taken = stream.write(rest).await.map_err(Cause::Disconnected)?;
        if taken == 0 {
            return Err(Cause::Disconnected(io::ErrorKind::WriteZero.into()));
        }
        *sent = SentBytes::Yes;
        rest = &rest[taken..];
    }
    let length = stream.read_i32().await.map_err(Cause::Disconnected)?;
    let length = usize::try_from(length)
        .ok()
        .filter(|length| *length <= frame::MAX_FRAME_BYTES)
        .ok_or_else(|| Cause::Malformed(format!("a frame of {length} bytes")))?;
    let answer = read_frame(stream, length).await?;
    match frame::correlation(&answer).map_err(Cause::Malformed)? {
        found if found == correlation => Ok(answer),
        found => Err(Cause::Malformed(format!(
            "it answers request {found}, {correlation} was asked"
        ))),
    }
}

/// Reads so many bytes, asking for memory as they come and not as they are announced.
async fn read_frame(stream: &mut TcpStream, length: usize) -> Result<Bytes, Cause> {
    let mut answer = Vec::new();
    stream
        .take(length as u64)
        .read_to_end(&mut answer)
        .await
        .map_err(Cause::Disconnected)?;
    if answer.len() < length {
        return Err(Cause::Disconnected(io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(answer.into())
}
