//! Connections of a fake.

use super::{Reaction, Shared, answers, quorum};
use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::messages::{
    AddRaftVoterRequest, ApiKey, ApiVersionsRequest, CreateTopicsRequest, DescribeClusterRequest,
    DescribeQuorumRequest, DescribeTopicPartitionsRequest, FetchRequest, FetchSnapshotRequest,
    ListOffsetsRequest, MetadataRequest, ProduceRequest, RemoveRaftVoterRequest, RequestHeader,
    ResponseHeader,
};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, Request};
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

pub(super) async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(serve(stream, shared.clone()));
    }
}

/// Serves one connection until it breaks, or a script breaks it.
async fn serve(mut stream: TcpStream, shared: Arc<Shared>) -> Option<()> {
    loop {
        let length = stream.read_i32().await.ok()?;
        let mut frame = vec![0; usize::try_from(length).ok()?];
        stream.read_exact(&mut frame).await.ok()?;
        let answer = answer(frame.into(), &shared).await?;
        stream.write_all(&answer).await.ok()?;
    }
}

/// The whole frame that answers a request; none to disconnect.
async fn answer(mut frame: Bytes, shared: &Shared) -> Option<Bytes> {
    let key = (&frame[..]).try_get_i16().ok()?;
    let version = frame.get(2..4)?.try_get_i16().ok()?;
    let call = ApiKey::try_from(key).ok()?;
    let header = RequestHeader::decode(&mut frame, call.request_header_version(version)).ok()?;
    let reaction = {
        let mut state = shared.lock();
        state.asked.push(key);
        state.script.get_mut(&key).and_then(|script| script.pop_front())
    };
    if shared.lock().hangs {
        return pending().await;
    }
    match reaction {
        Some(Reaction::Disconnect) => return None,
        Some(Reaction::Silence) => pending().await,
        Some(Reaction::Garbage) => return Some(Bytes::from_static(&[0, 0, 0, 2, 0, 0])),
        _ => {}
    }
    let asked = Asked {
        frame,
        version,
        correlation: header.correlation_id,
        reaction,
    };
    let answer = match call {
        ApiKey::ApiVersions => asked.by(|_: ApiVersionsRequest| answers::api_versions(&shared.lock())),
        ApiKey::Produce => asked.by(|request: ProduceRequest| {
            let produced = answers::produce(&mut shared.lock(), &request, reaction);
            shared.changed.notify_waiters();
            produced
        }),
        ApiKey::Fetch => fetch(asked, shared).await,
        ApiKey::ListOffsets => {
            asked.by(|request: ListOffsetsRequest| answers::list_offsets(&shared.lock(), &request, reaction))
        }
        ApiKey::Metadata => asked.by(|request: MetadataRequest| answers::metadata(&shared.lock(), &request)),
        ApiKey::DescribeQuorum => {
            asked.by(|_: DescribeQuorumRequest| quorum::describe_quorum(&shared.lock(), version))
        }
        ApiKey::FetchSnapshot => asked
            .by(|request: FetchSnapshotRequest| quorum::fetch_snapshot(&shared.lock(), &request, reaction)),
        ApiKey::AddRaftVoter => asked.by(|request: AddRaftVoterRequest| {
            quorum::add_raft_voter(&mut shared.lock(), &request, reaction)
        }),
        ApiKey::RemoveRaftVoter => asked.by(|request: RemoveRaftVoterRequest| {
            quorum::remove_raft_voter(&mut shared.lock(), &request, reaction)
        }),
        ApiKey::DescribeTopicPartitions => asked.by(|request: DescribeTopicPartitionsRequest| {
            answers::describe_topic_partitions(&shared.lock(), &request)
        }),
        ApiKey::DescribeCluster => {
            asked.by(|_: DescribeClusterRequest| answers::describe_cluster(&shared.lock()))
        }
        ApiKey::CreateTopics => asked.by(|request: CreateTopicsRequest| {
            answers::create_topics(&mut shared.lock(), &request, reaction)
        }),
        _ => None,
    };
    answer.filter(|_| reaction != Some(Reaction::DoThenDisconnect))
}

/// Waits as a fetch asks to, and answers it.
async fn fetch(mut asked: Asked, shared: &Shared) -> Option<Bytes> {
    let request = FetchRequest::decode(&mut asked.frame, asked.version).ok()?;
    let wait = Duration::from_millis(u64::try_from(request.max_wait_ms).unwrap_or(0));
    let deadline = Instant::now() + wait;
    loop {
        let changed = shared.changed.notified();
        if shared.lock().hangs {
            return pending().await;
        }
        let (ready, answer) = answers::fetch(&shared.lock(), &request, asked.version, asked.reaction);
        if ready || Instant::now() >= deadline {
            return asked.encode::<FetchRequest>(&answer);
        }
        // Late or not, the next look decides.
        let _ = timeout_at(deadline, changed).await;
    }
}

struct Asked {
    frame: Bytes,
    version: i16,
    correlation: i32,
    reaction: Option<Reaction>,
}

impl Asked {
    fn by<R: Request>(mut self, respond: impl FnOnce(R) -> R::Response) -> Option<Bytes> {
        let request = R::decode(&mut self.frame, self.version).ok()?;
        self.encode::<R>(&respond(request))
    }

    fn encode<R: Request>(&self, response: &R::Response) -> Option<Bytes> {
        let mut frame = BytesMut::zeroed(4);
        ResponseHeader::default()
            .with_correlation_id(self.correlation)
            .encode(&mut frame, R::Response::header_version(self.version))
            .ok()?;
        response.encode(&mut frame, self.version).ok()?;
        let length = i32::try_from(frame.len() - 4).ok()?;
        frame[..4].copy_from_slice(&length.to_be_bytes());
        Some(frame.freeze())
    }
}
