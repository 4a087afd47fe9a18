//! Frames: a length, a header, a body.

use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::messages::{RequestHeader, ResponseHeader};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Request, StrBytes};

/// The largest answer taken. Our fetches ask for at most a few MiB; what claims more is not Kafka's protocol.
pub(crate) const MAX_FRAME_BYTES: usize = 64 << 20;

/// A request as bytes, its length first.
pub(crate) fn encode<R: Request>(
    request: &R,
    version: i16,
    correlation: i32,
    client_id: &str,
) -> Result<Bytes, String> {
    let header = RequestHeader::default()
        .with_request_api_key(R::KEY)
        .with_request_api_version(version)
        .with_correlation_id(correlation)
        .with_client_id(Some(StrBytes::from_string(client_id.to_owned())));
    let mut frame = BytesMut::zeroed(4);
    header
        .encode(&mut frame, R::header_version(version))
        .map_err(|e| e.to_string())?;
    request.encode(&mut frame, version).map_err(|e| e.to_string())?;
    let length = i32::try_from(frame.len() - 4).map_err(|_| "it is longer than 2 GiB".to_owned())?;
    frame[..4].copy_from_slice(&length.to_be_bytes());
    Ok(frame.freeze())
}

/// The correlation id of an answer's frame (without its length).
pub(crate) fn correlation(frame: &[u8]) -> Result<i32, String> {
    let mut head = frame;
    head.try_get_i32()
        .map_err(|_| format!("a frame of {} bytes has no correlation id", frame.len()))
}

/// The body of an answer's frame (without its length).
pub(crate) fn decode<R: Request>(mut frame: Bytes, version: i16) -> Result<R::Response, String> {
    ResponseHeader::decode(&mut frame, R::Response::header_version(version)).map_err(|e| e.to_string())?;
    R::Response::decode(&mut frame, version).map_err(|e| e.to_string())
}
