//! A controller's own registration with the active controller (KIP-919): who it is, where it listens, what it
//! supports. It asks until the committed metadata names this life of it; the active one simply writes it down.

use controller::RegisterController;
use kafka_protocol::messages::controller_registration_request::{self, Listener};
use kafka_protocol::messages::{ControllerRegistrationRequest, ControllerRegistrationResponse};
use kafka_protocol::protocol::StrBytes;
use records::{EndPoint, Feature};
use uuid::Uuid;

use super::Node;
use super::requests::Served;
use crate::diary::{info, warning};
use crate::features;
use crate::net::peers::Peers;
use crate::net::server::Incoming;
use crate::quorum::Fatal;
use controller::ErrorCode;

/// The version of the request.
const VERSION: i16 = 0;
/// The number of PLAINTEXT among the security protocols.
const PLAINTEXT: i16 = 0;
/// How long after a request another is made, if the metadata does not show this life of the controller yet.
const RETRY_MS: u64 = 500;

/// How far the registration is.
pub(super) struct Registering {
    peers: Peers,
    /// This life of the controller.
    incarnation: Uuid,
    /// When to ask next; none while there is nobody to ask, or nothing to ask for.
    not_before: Option<u64>,
}

impl Registering {
    pub(super) fn new(peers: Peers) -> Self {
        Self {
            peers,
            incarnation: Uuid::new_v4(),
            not_before: None,
        }
    }

    pub(super) fn next_deadline(&self) -> Option<u64> {
        self.not_before
    }
}

impl Node {
    /// Takes the registration of another controller.
    pub(super) fn register_controller(&mut self, incoming: Incoming) -> Served {
        let (request, reply) = incoming.decode::<ControllerRegistrationRequest>()?;
        let answer = |error: Option<ErrorCode>| {
            ControllerRegistrationResponse::default().with_error_code(error.map_or(0, ErrorCode::code))
        };
        if self.active.is_none() {
            reply.send(&answer(Some(ErrorCode::NotController)));
            return Ok(Ok(()));
        }
        let end_point = |listener: Listener| EndPoint {
            name: listener.name.to_string(),
            host: listener.host.to_string(),
            port: listener.port,
            security_protocol: listener.security_protocol,
        };
        let feature = |feature: controller_registration_request::Feature| Feature {
            name: feature.name.to_string(),
            min: feature.min_supported_version,
            max: feature.max_supported_version,
        };
        let asked = RegisterController {
            controller_id: request.controller_id,
            incarnation_id: request.incarnation_id,
            end_points: request.listeners.into_iter().map(end_point).collect(),
            features: request.features.into_iter().map(feature).collect(),
        };
        info!("controller {} registers", asked.controller_id);
        let outcome = self.state.register_controller(&asked);
        Ok(self.decide(outcome, move |decided| {
            reply.send(&answer(decided.and_then(|registered| registered).err()));
        }))
    }

    /// Registers this controller, unless the metadata shows that it is.
    pub(super) fn register_itself(&mut self) -> Result<(), Fatal> {
        let registered = self.state.image().controllers().get(&self.config.node_id);
        let current = registered.is_some_and(|known| known.incarnation == self.registering.incarnation);
        // Before there is metadata, its version does not say that controllers may register.
        let now = self.clock.ms();
        if current || self.state.image().features().is_empty() {
            // The pause holds all the same: another node of this id would be answered record by record.
            self.registering.not_before = self.registering.not_before.filter(|at| *at > now);
            return Ok(());
        }
        if self.registering.not_before.is_some_and(|at| at > now) {
            return Ok(());
        }
        self.registering.not_before = Some(now.saturating_add(RETRY_MS));
        let request = self.registration_of_itself();
        if self.active.is_some() {
            let outcome = self.state.register_controller(&request);
            if let Err(error) = outcome.reply {
                warning!("this controller cannot register: {error:?}");
            }
            return self.append(&outcome.records).map(|_| ());
        }
        let Some(leader) = self.quorum.leader_address() else {
            return Ok(());
        };
        let (peers, message) = (self.registering.peers.clone(), message(request));
        tokio::spawn(async move {
            // The metadata will show whether it was of use.
            if let Ok(answer) = peers.call(leader, VERSION, &message).await
                && answer.error_code != 0
                && answer.error_code != ErrorCode::NotController.code()
            {
                warning!(
                    "the registration of this controller is refused: error {}",
                    answer.error_code
                );
            }
        });
        Ok(())
    }

    fn registration_of_itself(&self) -> RegisterController {
        let end_point = EndPoint {
            name: self.config.controller_listener.clone(),
            host: self.config.advertised.host.clone(),
            port: self.config.advertised.port,
            security_protocol: PLAINTEXT,
        };
        let feature = |feature: &features::Feature| Feature {
            name: feature.name.to_owned(),
            min: feature.least,
            max: feature.most,
        };
        RegisterController {
            controller_id: self.config.node_id,
            incarnation_id: self.registering.incarnation,
            end_points: vec![end_point],
            features: features::SUPPORTED.iter().map(feature).collect(),
        }
    }
}

fn message(request: RegisterController) -> ControllerRegistrationRequest {
    let text = StrBytes::from_string;
    let listener = |end_point: EndPoint| {
        Listener::default()
            .with_name(text(end_point.name))
            .with_host(text(end_point.host))
            .with_port(end_point.port)
            .with_security_protocol(end_point.security_protocol)
    };
    let feature = |feature: Feature| {
        controller_registration_request::Feature::default()
            .with_name(text(feature.name))
            .with_min_supported_version(feature.min)
            .with_max_supported_version(feature.max)
    };
    ControllerRegistrationRequest::default()
        .with_controller_id(request.controller_id)
        .with_incarnation_id(request.incarnation_id)
        .with_listeners(request.end_points.into_iter().map(listener).collect())
        .with_features(request.features.into_iter().map(feature).collect())
}
