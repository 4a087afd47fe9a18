//! Which epoch each stretch of the followed log is of, to compare it with a leader's by (KIP-101, KIP-595).

/// Epochs in rising order, each with the offset of its first record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Epochs(Vec<(i32, i64)>);

impl Epochs {
    /// Those of a log that begins after a snapshot, whose last record is of that epoch.
    pub fn after_snapshot(epoch: i32, end_offset: i64) -> Epochs {
        Epochs(vec![(epoch, end_offset)])
    }

    /// Takes a batch in.
    pub fn note(&mut self, epoch: i32, base_offset: i64) {
        if self.0.last().is_none_or(|(last, _)| *last < epoch) {
            self.0.push((epoch, base_offset));
        }
    }

    /// The epoch of the last record; 0 for a log without one, as Kafka's followers begin.
    pub fn last(&self) -> i32 {
        self.0.last().map_or(0, |(epoch, _)| *epoch)
    }

    /// The epoch of the record at an offset, and where that epoch begins; none where it is before what is known.
    pub fn at(&self, offset: i64) -> Option<(i32, i64)> {
        self.0.iter().rev().find(|(_, start)| *start <= offset).copied()
    }

    /// Up to where this log, which ends at `end`, may agree with one in which `epoch` is the greatest epoch not above
    /// this log's last, and ends at `epoch_end`.
    pub fn common(&self, end: i64, epoch: i32, epoch_end: i64) -> i64 {
        let after = self.0.partition_point(|(own, _)| *own <= epoch);
        let own_end = self.0.get(after).map_or(end, |(_, start)| *start);
        own_end.min(epoch_end).max(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epochs() -> Epochs {
        let mut epochs = Epochs::default();
        for (epoch, base) in [(1, 0), (1, 3), (4, 5), (6, 9)] {
            epochs.note(epoch, base);
        }
        epochs
    }

    #[test]
    fn the_epoch_of_a_record_is_that_of_its_stretch() {
        let epochs = epochs();
        let at = |offset| epochs.at(offset).map(|(epoch, _)| epoch);
        assert_eq!(
            [at(0), at(4), at(5), at(8), at(20)].map(Option::unwrap),
            [1, 1, 4, 4, 6]
        );
        assert_eq!((epochs.last(), Epochs::default().last()), (6, 0));
        let later = Epochs::after_snapshot(4, 7);
        assert_eq!((later.last(), later.at(6), later.at(7)), (4, None, Some((4, 7))));
    }

    #[test]
    fn logs_agree_up_to_the_shorter_end_of_an_epoch() {
        let epochs = epochs();
        // The leader's epoch 4 goes on where ours ended; ends before; is missing here; all is missing.
        assert_eq!(epochs.common(12, 4, 30), 9);
        assert_eq!(epochs.common(12, 4, 7), 7);
        assert_eq!(epochs.common(12, 3, 30), 5);
        assert_eq!(epochs.common(12, 6, 10), 10);
        assert_eq!(epochs.common(12, 0, 2), 0);
        assert_eq!(epochs.common(12, 6, 12), 12, "nothing here is contradicted");
        assert_eq!(Epochs::after_snapshot(4, 7).common(9, 3, 5), 5);
    }
}
