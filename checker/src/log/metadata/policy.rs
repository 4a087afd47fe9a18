//! Whether a leader may be elected that lacks records: by configuration, as the metadata log sets it.

use crate::log::faults::{Act, Faults};
use history::{ConfigChange, FaultAction, Header};
use std::collections::BTreeMap;

/// Allows it for a topic, or for all.
const UNCLEAN: &str = "unclean.leader.election.enable";
/// The recovery manager's strategy (KIP-966).
const STRATEGY: &str = "unclean.recovery.strategy";
/// Restarts nodes with another property.
const SET_PROPERTY: &str = "set-property";
/// The resource type of topics.
const TOPIC: i8 = 2;
/// The resource type of brokers; the empty name is the cluster's default.
const BROKER: i8 = 4;

/// What a configuration says of elections past the members of ISR and ELR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Allowed {
    /// None is allowed, but that of the last known leader.
    LastKnown,
    /// Only where ISR and ELR are empty: the Balanced recovery.
    Balanced,
    /// At any time: unclean election is enabled, or the recovery is Proactive.
    Always,
    /// The history does not tell what the nodes were started with.
    Untold,
}

/// The values in force.
pub(crate) struct Policy<'a> {
    values: BTreeMap<(&'a str, i8, &'a str), &'a str>,
    fixed: Option<&'a BTreeMap<String, String>>,
    /// Restarts of nodes with another property that matters, by the time at which they were asked.
    restarts: Vec<u64>,
}

impl<'a> Policy<'a> {
    /// As nodes are started.
    pub fn of(header: &'a Header, faults: &Faults<'_>) -> Policy<'a> {
        let matters = |act: &&Act<'_>| {
            act.fault.action == FaultAction::Inject
                && act
                    .param("property")
                    .or_else(|| act.param("key"))
                    .is_none_or(is_known)
        };
        Policy {
            values: BTreeMap::new(),
            fixed: header.server.as_ref(),
            restarts: faults
                .named(SET_PROPERTY)
                .filter(matters)
                .map(|act| act.asked.time)
                .collect(),
        }
    }

    /// Takes a configuration record in.
    pub fn take(&mut self, change: &'a ConfigChange) {
        if !is_known(&change.name) {
            return;
        }
        let key = (&*change.name, change.resource_type, &*change.resource);
        match &change.value {
            Some(value) => self.values.insert(key, value),
            None => self.values.remove(&key),
        };
    }

    /// What is allowed for a topic, in a record that was seen at a time.
    pub fn allows(&self, topic: &str, time: u64) -> Allowed {
        let (unclean, strategy) = (self.value(UNCLEAN, topic), self.value(STRATEGY, topic));
        let is =
            |value: Option<&str>, word: &str| value.is_some_and(|value| value.eq_ignore_ascii_case(word));
        if is(unclean, "true") || is(strategy, "proactive") || is(strategy, "aggressive") {
            return Allowed::Always;
        }
        if self.fixed.is_none() || self.restarts.iter().any(|asked| *asked <= time) {
            return Allowed::Untold;
        }
        match is(strategy, "balanced") {
            true => Allowed::Balanced,
            false => Allowed::LastKnown,
        }
    }

    /// The topic's own value, or that of any broker, or of all, or what nodes were started with.
    fn value(&self, name: &str, topic: &str) -> Option<&str> {
        let of_brokers = || {
            let mut of_brokers = self.values.iter();
            let found = of_brokers.find(|((key, of, _), _)| *key == name && *of == BROKER);
            found.map(|(_, value)| *value)
        };
        let fixed = || self.fixed?.get(name).map(String::as_str);
        self.values
            .get(&(name, TOPIC, topic))
            .copied()
            .or_else(of_brokers)
            .or_else(fixed)
    }
}

fn is_known(name: &str) -> bool {
    name == UNCLEAN || name == STRATEGY
}
