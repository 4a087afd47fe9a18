//! Frames: a length, a header, a body.

use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::messages::{ApiKey, RequestHeader, ResponseHeader};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Request, StrBytes};
use tokio::io::{AsyncRead, AsyncReadExt};

/// The largest frame that is taken, as in Kafka (`socket.request.max.bytes`). Memory is asked for as bytes
/// come, not as they are announced.
pub const MAX_FRAME_BYTES: usize = 100 << 20;

/// Why bytes are not what they should be: the connection that brought them is closed.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The length is impossible.
    #[error("a frame announces {0} bytes")]
    Length(i32),
    /// The header or the body cannot be read, or written.
    #[error("{what} cannot be coded: {why}")]
    Codec {
        /// Which part.
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// It answers another request.
    #[error("an answer is to request {found}, {expected} was asked")]
    Correlation {
        /// The number that was sent.
        expected: i32,
        /// The number that came back.
        found: i32,
    },
    /// The connection failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

impl FrameError {
    fn codec(what: &'static str) -> impl Fn(String) -> Self {
        move |why| Self::Codec { what, why }
    }
}

/// Reads a frame's content; `None` when the other side has closed the connection between frames.
///
/// # Errors
/// When the connection fails, or the length is impossible.
pub async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Result<Option<Bytes>, FrameError> {
    let announced = match stream.read_i32().await {
        Ok(length) => length,
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let length = usize::try_from(announced)
        .ok()
        .filter(|length| *length <= MAX_FRAME_BYTES)
        .ok_or(FrameError::Length(announced))?;
    // A small frame is read in one go; a large one as far as it really comes.
    let mut content = Vec::with_capacity(length.min(64 << 10));
    stream.take(length as u64).read_to_end(&mut content).await?;
    if content.len() < length {
        return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into());
    }
    Ok(Some(content.into()))
}

/// The head of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Which call, as a number.
    pub key: i16,
    /// In which version.
    pub version: i16,
    /// The request's number on its connection.
    pub correlation: i32,
}

/// Reads the fields that every request's header begins with.
///
/// # Errors
/// When the frame is too short.
pub fn head(mut frame: &[u8]) -> Result<Head, FrameError> {
    let short = |_| FrameError::codec("a request's header")("it is cut short".into());
    Ok(Head {
        key: frame.try_get_i16().map_err(short)?,
        version: frame.try_get_i16().map_err(short)?,
        correlation: frame.try_get_i32().map_err(short)?,
    })
}

/// Takes the header off a request's frame; the rest is the body.
///
/// # Errors
/// When it is malformed.
pub fn strip_header(mut frame: Bytes, key: ApiKey, version: i16) -> Result<Bytes, FrameError> {
    RequestHeader::decode(&mut frame, key.request_header_version(version))
        .map_err(|error| FrameError::codec("a request's header")(error.to_string()))?;
    Ok(frame)
}

/// Reads the body of a request or of an answer.
///
/// # Errors
/// When it is malformed.
pub fn decode<T: Decodable>(mut body: Bytes, version: i16) -> Result<T, FrameError> {
    T::decode(&mut body, version).map_err(|error| FrameError::codec("a body")(error.to_string()))
}

/// A request as a frame, its length first.
///
/// # Errors
/// When a field does not exist in this version.
pub fn request<R: Request>(
    request: &R,
    version: i16,
    correlation: i32,
    client_id: &StrBytes,
) -> Result<Bytes, FrameError> {
    let header = RequestHeader::default()
        .with_request_api_key(R::KEY)
        .with_request_api_version(version)
        .with_correlation_id(correlation)
        .with_client_id(Some(client_id.clone()));
    join(&header, R::header_version(version), request, version)
}

/// An answer as a frame, its length first.
///
/// # Errors
/// When a field does not exist in this version.
pub fn response<R: Encodable + HeaderVersion>(
    response: &R,
    version: i16,
    correlation: i32,
) -> Result<Bytes, FrameError> {
    let header = ResponseHeader::default().with_correlation_id(correlation);
    join(&header, R::header_version(version), response, version)
}

fn join(
    header: &impl Encodable,
    header_version: i16,
    body: &impl Encodable,
    version: i16,
) -> Result<Bytes, FrameError> {
    let mut frame = BytesMut::zeroed(4);
    header
        .encode(&mut frame, header_version)
        .map_err(|error| FrameError::codec("a header")(error.to_string()))?;
    body.encode(&mut frame, version)
        .map_err(|error| FrameError::codec("a body")(error.to_string()))?;
    let length = i32::try_from(frame.len() - 4)
        .map_err(|_| FrameError::codec("a frame")("it is longer than 2 GiB".into()))?;
    frame[..4].copy_from_slice(&length.to_be_bytes());
    Ok(frame.freeze())
}

/// Reads an answer's frame.
///
/// # Errors
/// When it is malformed, or answers another request.
pub fn answer<R: Request>(
    mut frame: Bytes,
    version: i16,
    correlation: i32,
) -> Result<R::Response, FrameError> {
    let header = ResponseHeader::decode(&mut frame, R::Response::header_version(version))
        .map_err(|error| FrameError::codec("an answer's header")(error.to_string()))?;
    if header.correlation_id != correlation {
        return Err(FrameError::Correlation {
            expected: correlation,
            found: header.correlation_id,
        });
    }
    decode(frame, version)
}
