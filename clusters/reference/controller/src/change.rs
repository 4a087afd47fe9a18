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
    /// `min.insync.replicas`, as configured: how many that is depends on the replicas that the change ends with.
    pub(crate) min_insync_replicas: i32,
    /// Whether a leader may be elected that lacks records.
    pub(crate) unclean_allowed: bool,
    /// Whether a new leader says that it has recovered.
    pub(crate) recovered: bool,
    /// Whether the first replica is to lead, where it may, rather than whoever does.
    pub(crate) prefer_first: bool,
    /// Who holds replicas, and who comes and goes.
    pub(crate) assignment: Assignment,
}

/// A partition's replicas, and those among them that a reassignment adds and removes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assignment {
    pub(crate) replicas: Vec<i32>,
    pub(crate) adding: Vec<i32>,
    pub(crate) removing: Vec<i32>,
}

impl Assignment {
    /// As it stands.
    pub(crate) fn of(partition: &Partition) -> Assignment {
        Assignment {
            replicas: partition.replicas.clone(),
            adding: partition.adding_replicas.clone(),
            removing: partition.removing_replicas.clone(),
        }
    }

    /// Nothing comes or goes.
    pub(crate) fn settled(replicas: Vec<i32>) -> Assignment {
        Assignment {
            replicas,
            adding: Vec::new(),
            removing: Vec::new(),
        }
    }
}

/// A list without some of its members.
pub(crate) fn without(list: &[i32], members: &[i32]) -> Vec<i32> {
    list.iter().copied().filter(|id| !members.contains(id)).collect()
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
        self.complete_reassignment();
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
        // Whoever holds no replica any more must not fetch on, nor be counted: a new epoch tells all.
        let gone = |id: &i32| !self.assignment.replicas.contains(id);
        if self.partition.replicas.iter().any(gone) && record.leader.is_none() && self.partition.leader >= 0 {
            record.leader = Some(self.partition.leader);
        }
        self.write(&mut record, elr);
        (!record.is_no_op()).then_some(record)
    }

    /// A reassignment ends once all whom it adds are in sync, and enough stay in sync without those whom it removes.
    fn complete_reassignment(&mut self) {
        let Assignment {
            replicas,
            adding,
            removing,
        } = &self.assignment;
        if adding.is_empty() && removing.is_empty() {
            return;
        }
        let left = without(replicas, removing);
        let isr = without(&self.target_isr, removing);
        let needed = effective_min_isr(self.min_insync_replicas, left.len()).max(1);
        if adding.iter().all(|id| isr.contains(id)) && isr.len() >= needed {
            self.assignment = Assignment::settled(left);
            self.target_isr = isr;
        }
    }

    /// The ELR's rule: emptied where the ISR is large enough; else its members stay, who leaves the ISR joins, and who
    /// came back unclean leaves.
    fn elr_of(&self, isr: &[i32]) -> Vec<i32> {
        if !self.elr_enabled {
            return self.partition.elr.clone();
        }
        let replicas = &self.assignment.replicas;
        if isr.len() >= effective_min_isr(self.min_insync_replicas, replicas.len()) {
            return Vec::new();
        }
        let mut elr: Vec<i32> = Vec::new();
        let members = self.partition.elr.iter().chain(&self.partition.isr);
        for id in members.filter(|id| replicas.contains(id)) {
            if !isr.contains(id) && !elr.contains(id) && self.unclean != Some(*id) {
                elr.push(*id);
            }
        }
        elr
    }

    /// The first replica where it is preferred and may lead; else the current leader where it may stay; else the first replica that may lead; else, where everything is empty, the
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
        let replicas = &self.assignment.replicas;
        if self.prefer_first
            && let Some(first) = replicas.first().copied().filter(|first| eligible(*first))
        {
            return Some(clean(first));
        }
        if eligible(self.partition.leader) {
            return Some(clean(self.partition.leader));
        }
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
            && replicas.contains(&last)
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
                let known = partition.last_known_elr.iter().copied();
                known.filter(|id| self.assignment.replicas.contains(id)).collect()
            };
            if changed(&last_known, &partition.last_known_elr) {
                record.last_known_elr = Some(last_known);
            }
        }
        write_assignment(record, partition, self.assignment);
        if self.recovered && partition.recovering && record.leader.is_none() {
            record.leader_recovery_state = Some(0);
        }
    }
}

fn write_assignment(record: &mut PartitionChange, partition: &Partition, assignment: Assignment) {
    let changed = |now: Vec<i32>, was: &[i32]| (now != was).then_some(now);
    if assignment.replicas != partition.replicas && !partition.directories.is_empty() {
        // A new replica says itself in which folder it is, as in Kafka.
        let known = |id: &i32| partition.replicas.iter().position(|other| other == id);
        let directory = |id: &i32| known(id).and_then(|at| partition.directories.get(at));
        let directories = assignment.replicas.iter().map(directory);
        record.directories = Some(directories.map(|it| it.copied().unwrap_or_default()).collect());
    }
    record.replicas = changed(assignment.replicas, &partition.replicas);
    record.adding_replicas = changed(assignment.adding, &partition.adding_replicas);
    record.removing_replicas = changed(assignment.removing, &partition.removing_replicas);
}
