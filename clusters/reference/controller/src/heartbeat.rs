//! Heartbeats (KIP-631): a broker's way from fenced to unfenced, and through its controlled shutdown to its end.

use crate::error_code::ErrorCode;
use crate::image::Broker;
use crate::{Controller, Outcome};

/// A broker's heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// The broker.
    pub broker_id: i32,
    /// Its epoch.
    pub broker_epoch: i64,
    /// The last metadata offset that it has applied.
    pub current_metadata_offset: i64,
    /// Whether it wants to be fenced.
    pub want_fence: bool,
    /// Whether it wants to shut down.
    pub want_shut_down: bool,
}

/// The answer to a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartbeatAnswer {
    /// Whether it has seen its own registration.
    pub is_caught_up: bool,
    /// Whether it is fenced now.
    pub is_fenced: bool,
    /// Whether it may shut down now.
    pub should_shut_down: bool,
}

/// What a heartbeat leads to.
enum Next {
    /// Nothing.
    Stay,
    Unfence,
    Fence,
    /// Others are to lead first.
    BeginShutdown,
    /// It may go, and is fenced if it is not yet.
    Shutdown,
}

impl Controller {
    /// A broker's heartbeat.
    pub fn heartbeat(
        &mut self,
        now_ms: u64,
        request: &Heartbeat,
    ) -> Outcome<Result<HeartbeatAnswer, ErrorCode>> {
        let (id, epoch) = (request.broker_id, request.broker_epoch);
        let Some(broker) = self.image.brokers().get(&id) else {
            return Outcome::reply(Err(ErrorCode::BrokerIdNotRegistered));
        };
        if broker.epoch != epoch {
            return Outcome::reply(Err(ErrorCode::StaleBrokerEpoch));
        }
        self.contacts
            .heard(id, epoch, request.current_metadata_offset, now_ms);
        let is_caught_up = request.current_metadata_offset >= broker.registered_at;
        let was_fenced = broker.fenced;
        let next = match (was_fenced, broker.controlled_shutdown_at) {
            (true, _) => after_fenced(broker, request, is_caught_up),
            (false, Some(begun)) => self.after_controlled_shutdown(id, begun),
            (false, None) => self.after_unfenced(request),
        };
        let (records, is_fenced) = match next {
            Next::Stay => (Vec::new(), was_fenced),
            Next::Unfence => (self.unfence(id, epoch), false),
            Next::BeginShutdown => (self.begin_shutdown(id, epoch), false),
            Next::Fence => (self.fence(id, epoch), true),
            Next::Shutdown if was_fenced => (Vec::new(), true),
            Next::Shutdown => (self.fence(id, epoch), true),
        };
        let should_shut_down = matches!(next, Next::Shutdown);
        if should_shut_down {
            self.contacts.forget(id);
        }
        Outcome {
            records,
            reply: Ok(HeartbeatAnswer {
                is_caught_up,
                is_fenced,
                should_shut_down,
            }),
        }
    }

    fn after_unfenced(&self, request: &Heartbeat) -> Next {
        match (request.want_shut_down, request.want_fence) {
            (true, _) if self.leads(request.broker_id) => Next::BeginShutdown,
            (true, _) => Next::Shutdown,
            (false, true) => Next::Fence,
            (false, false) => Next::Stay,
        }
    }

    /// It may go once it leads nothing and all active brokers have seen that others do.
    fn after_controlled_shutdown(&self, id: i32, begun: i64) -> Next {
        match self.leads(id) || begun > self.lowest_active_offset() {
            true => Next::Stay,
            false => Next::Shutdown,
        }
    }

    fn leads(&self, id: i32) -> bool {
        let mut partitions = self
            .image
            .topics()
            .values()
            .flat_map(|topic| topic.partitions.values());
        partitions.any(|partition| partition.leader == id)
    }
}

fn after_fenced(broker: &Broker, request: &Heartbeat, is_caught_up: bool) -> Next {
    // Whoever was in controlled shutdown when it was fenced comes back by a registration only.
    if request.want_shut_down || broker.controlled_shutdown_at.is_some() {
        return Next::Shutdown;
    }
    match is_caught_up && !request.want_fence {
        true => Next::Unfence,
        false => Next::Stay,
    }
}
