//! When brokers were last heard of, by id and epoch, and how far they have applied. Volatile: a new active controller
//! knows nothing of it, and gives every unfenced broker a fresh lease (KAFKA-18138, KAFKA-19130).

use crate::Controller;
use std::collections::BTreeMap;

/// The contacts with all brokers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contacts(BTreeMap<(i32, i64), Contact>);

/// The last contact with one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Contact {
    pub(crate) at_ms: u64,
    pub(crate) metadata_offset: i64,
}

impl Contacts {
    /// A broker was heard of, or is to be taken as heard of.
    pub(crate) fn touch(&mut self, id: i32, epoch: i64, now_ms: u64) {
        self.0.entry((id, epoch)).or_default().at_ms = now_ms;
    }

    /// A broker says how far it has applied.
    pub(crate) fn heard(&mut self, id: i32, epoch: i64, metadata_offset: i64, now_ms: u64) {
        let contact = Contact {
            at_ms: now_ms,
            metadata_offset,
        };
        self.0.insert((id, epoch), contact);
    }

    pub(crate) fn get(&self, id: i32, epoch: i64) -> Option<Contact> {
        self.0.get(&(id, epoch)).copied()
    }

    /// The broker's session ends: it was told that it may go, and its next life need not wait.
    pub(crate) fn forget(&mut self, id: i32) {
        self.0.retain(|(other, _), _| *other != id);
    }

    /// Former lives of the broker are over.
    pub(crate) fn forget_others(&mut self, id: i32, epoch: i64) {
        self.0.retain(|(other, its), _| *other != id || *its == epoch);
    }
}

impl Controller {
    /// When [`Controller::tick`] has something to do next.
    pub fn next_deadline_ms(&self) -> Option<u64> {
        self.unfenced_contacts()
            .map(|(_, last)| last.saturating_add(self.config.session_timeout_ms))
            .min()
    }

    /// An unfenced broker whose session has ended, if there is one.
    pub(crate) fn expired(&self, now_ms: u64) -> Option<i32> {
        self.unfenced_contacts()
            .find(|(_, last)| last.saturating_add(self.config.session_timeout_ms) <= now_ms)
            .map(|(id, _)| id)
    }

    /// Whether this life of the broker was heard of within the session's time-out.
    pub(crate) fn has_session(&self, id: i32, epoch: i64, now_ms: u64) -> bool {
        let ends = |contact: Contact| contact.at_ms.saturating_add(self.config.session_timeout_ms);
        self.contacts
            .get(id, epoch)
            .is_some_and(|contact| ends(contact) > now_ms)
    }

    /// The unfenced brokers and when they were last heard of.
    fn unfenced_contacts(&self) -> impl Iterator<Item = (i32, u64)> {
        let unfenced = self.image.brokers().iter().filter(|(_, broker)| !broker.fenced);
        unfenced.map(|(id, broker)| {
            let contact = self.contacts.get(*id, broker.epoch);
            (*id, contact.map_or(0, |contact| contact.at_ms))
        })
    }

    /// The lowest metadata offset among active brokers: what all of them have seen.
    pub(crate) fn lowest_active_offset(&self) -> i64 {
        let active = self
            .image
            .brokers()
            .iter()
            .filter(|(_, broker)| broker.is_active());
        let offset = |(id, broker): (&i32, &crate::Broker)| {
            self.contacts
                .get(*id, broker.epoch)
                .map_or(-1, |contact| contact.metadata_offset)
        };
        active.map(offset).min().unwrap_or(i64::MAX)
    }
}
