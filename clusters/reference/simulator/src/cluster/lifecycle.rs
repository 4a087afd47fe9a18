//! A broker's life: registration, heartbeats, the end.

use controller::{ErrorCode, Heartbeat, RegisterBroker};
use raft::Nanos;
use uuid::Uuid;

use super::app::Cluster;
use super::broker::{Role, Stopping};
use super::controllers::TOPIC;
use super::message::{Arrival, Event, Letter, Reply, Request};
use super::settings::Flaw;
use crate::Random;
use crate::quorum::{MILLISECOND, Post};

/// Times in a thousand that a broker decides to stop, at a heartbeat.
const STOPS_PER_MILLE: u64 = 15;

/// An incarnation's id says whose and which it is.
pub(super) fn incarnation(broker: i32, life: u64) -> Uuid {
    let broker = u128::from(broker.unsigned_abs());
    Uuid::from_u128(broker << 64 | u128::from(life))
}

/// Which life an incarnation's id is of.
pub(super) fn life_of(incarnation: Uuid) -> u64 {
    u64::try_from(incarnation.as_u128() & u128::from(u64::MAX)).unwrap_or(u64::MAX)
}

impl Cluster {
    /// Registers, or sends a heartbeat.
    pub(super) fn see_to_registration(&mut self, node: usize, random: &mut Random) {
        let calm = self.calm_since.is_some();
        let broker = self.broker_mut(node);
        let (id, life) = (broker.id(), broker.life);
        let Some(process) = &mut broker.process else {
            return;
        };
        let Some(controller) = process.controller else {
            return;
        };
        let request = match process.epoch {
            None => Request::Register(RegisterBroker {
                broker_id: id,
                cluster_id: "simulated".to_owned(),
                incarnation_id: incarnation(id, life),
                previous_broker_epoch: process.previous_epoch,
                end_points: Vec::new(),
                features: Vec::new(),
                log_dirs: Vec::new(),
                rack: None,
            }),
            Some(broker_epoch) => {
                let tired = !calm && random.per_mille(STOPS_PER_MILLE);
                if tired && process.stopping == Stopping::No {
                    process.stopping = Stopping::Asked;
                }
                Request::Heartbeat(Heartbeat {
                    broker_id: id,
                    broker_epoch,
                    current_metadata_offset: process.applied - 1,
                    want_fence: false,
                    want_shut_down: process.stopping != Stopping::No,
                })
            }
        };
        self.ask_controller(node, controller, request);
    }

    pub(super) fn ask_controller(&mut self, node: usize, controller: usize, request: Request) {
        let origin = self.broker_mut(node).origin();
        let letter = Letter::Request(controller, origin, request);
        self.posts.push(Post::Message {
            from: node,
            to: controller,
            event: Event::Arrival(Arrival(letter)),
        });
    }

    pub(super) fn on_reply(&mut self, node: usize, reply: Reply) {
        let Some(process) = &mut self.broker_mut(node).process else {
            return;
        };
        match reply {
            Reply::Registered(Ok(epoch)) => process.epoch = Some(epoch),
            // A live session of an earlier life: ask again until it has ended.
            Reply::Registered(Err(_)) => {}
            Reply::Heartbeat(Ok(answer)) => {
                if answer.should_shut_down && process.stopping == Stopping::Asked {
                    process.stopping = Stopping::Granted;
                }
            }
            Reply::Heartbeat(Err(ErrorCode::StaleBrokerEpoch | ErrorCode::BrokerIdNotRegistered)) => {
                process.epoch = None;
            }
            Reply::Heartbeat(Err(_)) => {}
            Reply::Altered(partition, answer) => self.on_altered(node, partition, answer),
        }
    }

    /// The end in good order: everything is on disk, and so is the file that says so.
    pub(super) fn stop_if_granted(&mut self, node: usize) -> bool {
        let broker = self.broker_mut(node);
        let granted = |process: &super::broker::Process| process.stopping == Stopping::Granted;
        let Some(process) = broker.process.take_if(|process| granted(process)) else {
            return false;
        };
        broker.clean_shutdown = process.epoch;
        true
    }

    /// The end without order: of each log, some of the end may be gone.
    pub(super) fn crash_broker(&mut self, node: usize, random: &mut Random) {
        let poses = self.settings.flaw == Some(Flaw::PosesAsClean);
        let broker = self.broker_mut(node);
        let id = broker.id();
        let life = broker.life;
        let Some(process) = broker.process.take() else {
            return;
        };
        if poses {
            broker.clean_shutdown = process.epoch;
        }
        for (log, high_watermark) in broker.logs.iter_mut().zip(&mut broker.high_watermarks) {
            log.truncate(match random.index(3) {
                0 => log.len(),
                1 => 0,
                _ => random.index(log.len() + 1),
            });
            *high_watermark = 0;
        }
        self.crashed_life.insert(id, life);
        for promise in &mut self.promises {
            promise.stopped_uncleanly(id);
        }
    }

    /// Takes in what the metadata says of this broker's partitions.
    pub(super) fn adopt_metadata(&mut self, now: Nanos, node: usize) {
        for partition in 0..self.settings.partitions {
            let broker = self.broker_mut(node);
            let id = broker.id();
            let Some(process) = &broker.process else {
                return;
            };
            let number = i32::try_from(partition).unwrap_or(i32::MAX);
            let state = process.metadata.image().partition(TOPIC, number);
            let (true, Some(state)) = (process.sees_itself(id), state.cloned()) else {
                continue;
            };
            let known = &process.replicas[partition];
            if state.partition_epoch <= known.partition_epoch {
                continue;
            }
            let same_leader = state.leader_epoch == known.leader_epoch && !matches!(known.role, Role::None);
            if same_leader {
                self.refresh(node, partition, &state);
            } else {
                self.take_part(now, node, partition, &state);
            }
        }
    }

    /// How long until a broker's next look at its registration.
    pub(super) fn heartbeat_pause(random: &mut Random) -> Nanos {
        random.between(15, 40) * MILLISECOND
    }
}
