//! How one partition changes: the ISR that is wanted, the ELR that follows, and who leads (KIP-966, "Eligible Leader
//! Replicas" and "Leader election").

use crate::image::Partition;
use records::PartitionChange;
use uuid::Uuid;

/// min.insync.replicas, but never more than there are replicas (KIP-966, "Additional High Watermark advance
/// requirement").
pub fn effective_min_isr(configured: i32, replicas: usize) -> usize {
    usize::try_from(configured).unwrap_or(0).min(replicas)
}

/// What a change starts from, and aims at.
pub(crate) struct Change<'a> {
    pub(crate) topic_id: Uuid,
    pub(crate) partition_id: i32,
    pub(crate) partition: &'a Partition,
    /// The ISR that is wanted.
    pub(crate) target_isr: Vec<i32>,
    /// Replicas that came back without their log's end: they leave ISR and ELR.
    pub(crate) unclean: Option<i32>,
    pub(crate) elr_enabled: bool,
    pub(crate) min_isr: usize,
    /// Whether a leader may be elected that lacks records.
    pub(crate) unclean_allowed: bool,
    /// Whether a new leader says that it has recovered.
    pub(crate) recovered: bool,
}

/// A leader that was found.
struct Elected {
    leader: i32,
    unclean: bool,
}

impl Change<'_> {
    /// The record that makes the change; none where nothing changes.
    pub(crate) fn build(mut self, acceptable: impl Fn(i32) -> bool) -> Option<PartitionChange> {
        let mut record = PartitionChange {
            partition_id: self.partition_id,
            topic_id: self.topic_id,
            ..PartitionChange::default()
        };
        let mut elr = self.elr_of(&self.target_isr);
        match self.elect(&elr, acceptable) {
            Some(elected) if elected.leader != self.partition.leader => {
                record.leader = Some(elected.leader);
                if elected.unclean {
                    self.target_isr = vec![elected.leader];
                    elr.clear();
                    record.leader_recovery_state = (!self.partition.recovering).then_some(1);
                } else if !self.target_isr.contains(&elected.leader) {
                    // From the ELR: it is the whole ISR, and the rule holds for the new one too.
                    self.target_isr = vec![elected.leader];
                    elr = self.elr_of(&self.target_isr);
                }
            }
            Some(_) => {}
            None => record.leader = (self.partition.leader >= 0).then_some(-1),
        }
        self.write(&mut record, elr);
        (!record.is_no_op()).then_some(record)
    }

    /// The ELR's rule: emptied where the ISR is large enough; else its members stay, who leaves the ISR joins, and who
    /// came back unclean leaves.
    fn elr_of(&self, isr: &[i32]) -> Vec<i32> {
        if !self.elr_enabled {
            return self.partition.elr.clone();
        }
        if isr.len() >= self.min_isr {
            return Vec::new();
        }
        let mut elr: Vec<i32> = Vec::new();
        for id in self.partition.elr.iter().chain(&self.partition.isr) {
            if !isr.contains(id) && !elr.contains(id) && self.unclean != Some(*id) {
                elr.push(*id);
            }
        }
        elr
    }

    /// The current leader where it may stay; else the first replica that may lead; else, where everything is empty, the
    /// last known leader; else whoever is allowed to though it lacks records.
    fn elect(&self, elr: &[i32], acceptable: impl Fn(i32) -> bool) -> Option<Elected> {
        let eligible = |id: i32| {
            let member = self.target_isr.contains(&id) || (self.target_isr.is_empty() && elr.contains(&id));
            member && acceptable(id)
        };
        let clean = |leader: i32| Elected {
            leader,
            unclean: false,
        };
        if eligible(self.partition.leader) {
            return Some(clean(self.partition.leader));
        }
        let replicas = &self.partition.replicas;
        if let Some(id) = replicas.iter().copied().find(|id| eligible(*id)) {
            return Some(clean(id));
        }
        let unclean = |leader: i32| Elected {
            leader,
            unclean: true,
        };
        if self.elr_enabled
            && self.target_isr.is_empty()
            && elr.is_empty()
            && let [last] = self.partition.last_known_elr[..]
            && acceptable(last)
        {
            return Some(unclean(last));
        }
        if self.unclean_allowed {
            return replicas.iter().copied().find(|id| acceptable(*id)).map(unclean);
        }
        None
    }

    fn write(self, record: &mut PartitionChange, elr: Vec<i32>) {
        let partition = self.partition;
        let changed = |now: &[i32], was: &[i32]| now != was;
        // Without ELR the last member of the ISR stays in it: the last replica standing.
        let may_be_empty = self.elr_enabled;
        if changed(&self.target_isr, &partition.isr) && (may_be_empty || !self.target_isr.is_empty()) {
            record.isr = Some(self.target_isr);
        }
        if changed(&elr, &partition.elr) {
            record.eligible_leader_replicas = Some(elr);
        }
        if self.elr_enabled {
            let leader = record.leader.unwrap_or(partition.leader);
            let last_known = if leader >= 0 {
                Vec::new()
            } else if partition.last_known_elr.is_empty() && partition.leader >= 0 {
                vec![partition.leader]
            } else {
                partition.last_known_elr.clone()
            };
            if changed(&last_known, &partition.last_known_elr) {
                record.last_known_elr = Some(last_known);
            }
        }
        if self.recovered && partition.recovering && record.leader.is_none() {
            record.leader_recovery_state = Some(0);
        }
    }
}
