//! A partition's log, as a model: which record was written by whom.

/// A record: nothing but its identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) leader_epoch: i32,
    pub(super) number: u64,
}

/// Where the records of the largest epoch not above `epoch` end, and that epoch.
pub(super) fn end_of(log: &[Entry], epoch: i32) -> (Option<i32>, usize) {
    let end = log.partition_point(|entry| entry.leader_epoch <= epoch);
    (end.checked_sub(1).map(|last| log[last].leader_epoch), end)
}

/// Where a follower's log, which ends at `offset` with a record of `epoch`, parts from this one.
pub(super) fn divergence(log: &[Entry], offset: usize, epoch: Option<i32>) -> Option<(Option<i32>, usize)> {
    let epoch = epoch?;
    let (floor, end) = end_of(log, epoch);
    (floor != Some(epoch) || end < offset).then_some((floor, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(epochs: &[i32]) -> Vec<Entry> {
        let entries = epochs.iter().map(|epoch| Entry {
            leader_epoch: *epoch,
            number: 0,
        });
        entries.collect()
    }

    #[test]
    fn logs_part_where_the_leaders_epochs_say() {
        let leader = log(&[0, 0, 2, 2]);
        assert_eq!(divergence(&leader, 2, Some(0)), None);
        assert_eq!(divergence(&leader, 0, None), None);
        assert_eq!(divergence(&leader, 3, Some(0)), Some((Some(0), 2)));
        assert_eq!(divergence(&leader, 3, Some(1)), Some((Some(0), 2)));
        assert_eq!(divergence(&leader, 5, Some(2)), Some((Some(2), 4)));
    }
}
