use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};

use super::*;
use crate::testing::{Contents, Draws, Folder, after_power_cuts, batch, contents, folder_of};
use crate::{EpochEnd, EpochEntry};

const BIG: LogConfig = LogConfig {
    segment_bytes: 1 << 20,
};
const SMALL: LogConfig = LogConfig { segment_bytes: 300 };
const ALL: ReadLimit = ReadLimit {
    max_bytes: usize::MAX,
    at_least_one: false,
    upper_bound: i64::MAX,
};

fn open(folder: &Folder, config: LogConfig) -> (Log, Recovery) {
    Log::open(folder.path(), config, 0).unwrap()
}

fn entries(log: &Log) -> Vec<(i32, i64)> {
    log.epochs()
        .entries()
        .iter()
        .map(|entry| (entry.leader_epoch, entry.start_offset))
        .collect()
}

fn segments(folder: &Folder) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.retain(|path| Segment::base_offset_of(path).is_some());
    paths.sort();
    paths
}

/// `count` batches of one record each, of epoch 0.
fn fill(log: &mut Log, count: i64) {
    for _ in 0..count {
        log.append_as_leader(&mut batch(0, 0, 1, 20), 0).unwrap();
    }
}

#[test]
fn a_leader_assigns_offsets_and_epoch() {
    let folder = Folder::new();
    let (mut log, recovery) = open(&folder, BIG);
    assert_eq!(recovery, Recovery::default());
    let mut two = [batch(77, 9, 2, 1), batch(3, 1, 3, 1)].concat();
    let appended = log.append_as_leader(&mut two, 4).unwrap();
    assert_eq!(
        appended,
        Appended {
            first_offset: 0,
            end_offset: 5,
            rolled: false
        }
    );
    let read = log.read(0, ALL).unwrap();
    assert_eq!(read, two);
    let headers: Vec<_> = Batches::new(&read).map(|batch| batch.unwrap().0).collect();
    assert_eq!(
        headers
            .iter()
            .map(|h| (h.base_offset, h.leader_epoch))
            .collect::<Vec<_>>(),
        [(0, 4), (2, 4)]
    );
    assert_eq!(entries(&log), [(4, 0)]);
}

#[test]
fn what_does_not_continue_the_log_is_refused() {
    let folder = Folder::new();
    let (mut log, _) = open(&folder, BIG);
    log.append_as_follower(&batch(0, 3, 2, 1)).unwrap();
    let refused = |log: &mut Log, bytes: &[u8]| log.append_as_follower(bytes).unwrap_err();
    assert!(matches!(
        refused(&mut log, &batch(3, 3, 1, 1)),
        StorageError::NotContiguous {
            expected: 2,
            found: 3,
            ..
        }
    ));
    assert!(matches!(
        refused(&mut log, &batch(1, 3, 1, 1)),
        StorageError::NotContiguous { .. }
    ));
    assert!(matches!(
        refused(&mut log, &batch(2, 2, 1, 1)),
        StorageError::EpochWentBack {
            latest: 3,
            found: 2,
            ..
        }
    ));
    assert!(matches!(
        refused(&mut log, &batch(2, 3, 1, 1)[1..]),
        StorageError::Batch { .. }
    ));
    let half_bad = [batch(2, 3, 1, 1), batch(3, 2, 1, 1)].concat();
    assert!(matches!(
        refused(&mut log, &half_bad),
        StorageError::EpochWentBack { .. }
    ));
    assert!(log.append_as_leader(&mut batch(0, 0, 1, 1), 2).is_err());
    assert!(log.assign_epoch(2).is_err());
    assert_eq!(log.end_offset(), 2);
    log.append_as_follower(&batch(2, 3, 1, 1)).unwrap();
    assert_eq!(log.end_offset(), 3);
}

#[test]
fn segments_roll_and_are_read_across() {
    let folder = Folder::new();
    let (mut log, _) = open(&folder, SMALL);
    fill(&mut log, 20);
    assert!(segments(&folder).len() > 3);
    assert!(
        segments(&folder)
            .iter()
            .all(|path| fs::metadata(path).unwrap().len() <= SMALL.segment_bytes)
    );
    for offset in 0..20 {
        let read = log.read(offset, ALL).unwrap();
        assert_eq!(Batches::new(&read).count() as i64, 20 - offset);
        let offsets: Vec<_> = log
            .headers(offset)
            .unwrap()
            .map(|h| h.unwrap().base_offset)
            .collect();
        assert_eq!(offsets, (offset..20).collect::<Vec<_>>());
    }
    assert!(log.read(20, ALL).unwrap().is_empty());
    assert_eq!(log.headers(20).unwrap().count(), 0);
    for outside in [-1, 21, i64::MAX, i64::MIN] {
        assert!(matches!(
            log.read(outside, ALL),
            Err(StorageError::OutOfRange { .. })
        ));
        assert!(log.headers(outside).is_err());
    }
}

#[test]
fn a_read_keeps_to_its_limits() {
    let folder = Folder::new();
    let (mut log, _) = open(&folder, SMALL);
    for base_offset in [0, 3, 6, 9] {
        log.append_as_follower(&batch(base_offset, 0, 3, 20)).unwrap();
    }
    let one = batch(0, 0, 3, 20).len();
    let count = |offset, max_bytes, at_least_one, upper_bound| {
        Batches::new(
            &log.read(
                offset,
                ReadLimit {
                    max_bytes,
                    at_least_one,
                    upper_bound,
                },
            )
            .unwrap(),
        )
        .count()
    };
    // By size: whole batches only.
    assert_eq!(count(0, one - 1, false, 12), 0);
    assert_eq!(count(0, one - 1, true, 12), 1);
    assert_eq!(count(0, 2 * one, false, 12), 2);
    assert_eq!(count(0, 3 * one - 1, true, 12), 2);
    // By bound: no batch that reaches it.
    assert_eq!(count(0, usize::MAX, true, 9), 3);
    assert_eq!(count(0, usize::MAX, true, 8), 2);
    assert_eq!(count(0, usize::MAX, true, 2), 0);
    // From inside a batch: that batch.
    assert_eq!(count(4, usize::MAX, false, 12), 3);
}

#[test]
fn a_torn_tail_is_cut_at_every_byte() {
    let folder = Folder::new();
    let (mut log, _) = open(&folder, BIG);
    fill(&mut log, 3);
    drop(log);
    let path = segments(&folder).remove(0);
    let whole = fs::read(&path).unwrap();
    let last_from = whole.len() - whole.len() / 3;
    for length in last_from..whole.len() {
        // Cut off, or never written though the size was: zeros.
        for tail in [0, whole.len() - length] {
            let torn = [&whole[..length], &vec![0; tail]].concat();
            if torn == whole {
                continue; // the batch itself ends in a zero
            }
            fs::write(&path, torn).unwrap();
            let (mut log, recovery) = open(&folder, BIG);
            assert_eq!(log.end_offset(), 2, "cut at {length}, {tail} zeros");
            assert_eq!(recovery.cut_bytes as usize, length - last_from + tail);
            assert_eq!(recovery.reason.is_some(), length + tail > last_from);
            assert_eq!(log.read(0, ALL).unwrap(), whole[..last_from]);
            fill(&mut log, 1);
            assert_eq!(log.read(0, ALL).unwrap(), whole);
            drop(log);
            assert_eq!(open(&folder, BIG).1, Recovery::default());
        }
    }
}

#[test]
fn damage_in_the_middle_takes_all_that_follows() {
    let folder = Folder::new();
    let (mut log, _) = open(&folder, SMALL);
    for epoch in 0..12 {
        log.append_as_leader(&mut batch(0, 0, 1, 20), epoch).unwrap();
    }
    drop(log);
    let paths = segments(&folder);
    assert_eq!(paths.len(), 4);
    let mut damaged = fs::read(&paths[1]).unwrap();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    fs::write(&paths[1], damaged).unwrap();
    let (log, recovery) = open(&folder, SMALL);
    assert_eq!((log.end_offset(), recovery.removed_segments), (4, 2));
    assert!(recovery.reason.unwrap().contains("CRC"));
    assert_eq!(entries(&log), [(0, 0), (1, 1), (2, 2), (3, 3)]);
    assert_eq!(segments(&folder), paths[..2]);
}

#[test]
fn a_gap_or_an_older_epoch_between_segments_ends_the_log() {
    let folder = Folder::new();
    let (mut log, _) = open(&folder, SMALL);
    fill(&mut log, 12);
    drop(log);
    let paths = segments(&folder);
    fs::remove_file(&paths[1]).unwrap();
    let (mut log, recovery) = open(&folder, SMALL);
    assert_eq!((log.end_offset(), recovery.removed_segments), (3, 2));
    // A segment whose removal was undone by a loss of power, after the log went on in a later epoch.
    let old = fs::read(&paths[0]).unwrap();
    for _ in 0..3 {
        log.append_as_leader(&mut batch(0, 0, 1, 20), 5).unwrap();
    }
    drop(log);
    let mut stale = Vec::new();
    for (at, (header, bytes)) in Batches::new(&old).map(|batch| batch.unwrap()).enumerate() {
        let mut bytes = bytes.to_vec();
        batch::set_base_offset(&mut bytes, 6 + at as i64).unwrap();
        stale.extend(bytes);
        assert_eq!(header.leader_epoch, 0);
    }
    fs::write(&paths[2], stale).unwrap();
    let (log, recovery) = open(&folder, SMALL);
    assert_eq!((log.end_offset(), entries(&log)), (6, vec![(0, 0), (5, 3)]));
    assert!(recovery.reason.unwrap().contains("epoch 0 follows 5"));
}

#[test]
fn foreign_and_empty_files_do_no_harm() {
    let folder = Folder::new();
    for name in [
        "00000000000000000000.index",
        "1.log",
        "x.log",
        "+0000000000000000001.log",
        "99999999999999999999.log",
    ] {
        fs::write(folder.file(name), "not a log").unwrap();
    }
    fs::write(folder.file("00000000000000000007.log"), "").unwrap();
    fs::write(folder.file("leader-epoch-checkpoint"), "nonsense").unwrap();
    let (log, recovery) = open(&folder, BIG);
    assert_eq!((log.start_offset(), log.end_offset()), (7, 7));
    assert_eq!(recovery, Recovery::default());
    assert!(folder.file("x.log").exists());
}

#[test]
fn truncation_goes_to_the_boundary_at_or_below() {
    let folder = Folder::new();
    let (mut log, _) = open(&folder, SMALL);
    for (epoch, base_offset) in [(0, 0), (0, 3), (2, 6), (5, 9)] {
        log.append_as_follower(&batch(base_offset, epoch, 3, 20)).unwrap();
    }
    log.sync().unwrap();
    assert_eq!(log.truncate_to(100).unwrap(), 12);
    assert_eq!(log.truncate_to(11).unwrap(), 9);
    assert_eq!((log.synced_offset(), entries(&log)), (9, vec![(0, 0), (2, 6)]));
    assert_eq!(log.truncate_to(4).unwrap(), 3);
    assert_eq!(entries(&log), [(0, 0)]);
    log.append_as_follower(&batch(3, 7, 1, 20)).unwrap();
    assert_eq!(log.truncate_to(0).unwrap(), 0);
    assert!(entries(&log).is_empty());
    assert_eq!(segments(&folder).len(), 1);
}

/// As a leader that never got to append: the cache must forget the epoch though no record goes.
#[test]
fn truncation_to_the_end_forgets_an_epoch_without_records() {
    let folder = Folder::new();
    let (mut log, _) = open(&folder, BIG);
    fill(&mut log, 2);
    log.assign_epoch(6).unwrap();
    assert_eq!(log.epochs().latest(), Some(6));
    assert_eq!(
        LeaderEpochs::read(&folder.file(epochs::FILE_NAME))
            .unwrap()
            .unwrap(),
        *log.epochs()
    );
    assert_eq!(log.truncate_to(2).unwrap(), 2);
    assert_eq!(entries(&log), [(0, 0)]);
    log.assign_epoch(6).unwrap();
    drop(log);
    assert_eq!(entries(&open(&folder, BIG).0), [(0, 0)]);
}

#[test]
fn the_start_moves_up_and_segments_go() {
    let folder = Folder::new();
    let (mut log, _) = open(&folder, SMALL);
    for epoch in 0..12 {
        log.append_as_leader(&mut batch(0, 0, 1, 20), epoch / 5).unwrap();
    }
    log.advance_start(4).unwrap();
    log.advance_start(2).unwrap();
    assert_eq!((log.start_offset(), segments(&folder).len()), (4, 3));
    assert_eq!(entries(&log), [(0, 4), (1, 5), (2, 10)]);
    assert!(log.read(3, ALL).is_err() && log.read(4, ALL).is_ok());
    assert!(log.advance_start(13).is_err());
    drop(log);
    let (log, _) = Log::open(folder.path(), SMALL, 4).unwrap();
    assert_eq!(
        (log.start_offset(), entries(&log)),
        (4, vec![(0, 4), (1, 5), (2, 10)])
    );
    drop(log);
    // Without its checkpoint it begins where its segments do.
    let (mut log, _) = open(&folder, SMALL);
    assert_eq!(log.start_offset(), 3);
    log.advance_start(12).unwrap();
    assert_eq!((log.start_offset(), log.end_offset()), (12, 12));
    log.truncate_to(5).unwrap();
    assert_eq!((log.start_offset(), log.end_offset()), (5, 5));
}

#[test]
fn a_log_that_ends_below_its_start_begins_afresh_there() {
    let folder = Folder::new();
    let (mut log, _) = open(&folder, BIG);
    fill(&mut log, 3);
    drop(log);
    let (mut log, _) = Log::open(folder.path(), BIG, 9).unwrap();
    assert_eq!(
        (log.start_offset(), log.end_offset(), entries(&log)),
        (9, 9, vec![])
    );
    fill(&mut log, 1);
    log.reset_to(20).unwrap();
    assert_eq!(
        (log.start_offset(), log.end_offset(), log.synced_offset()),
        (20, 20, 20)
    );
    drop(log);
    assert_eq!(open(&folder, BIG).0.end_offset(), 20);
}

#[test]
fn only_a_sync_moves_the_synced_offset() {
    let folder = Folder::new();
    let (mut log, _) = open(&folder, SMALL);
    fill(&mut log, 9);
    assert_eq!(log.synced_offset(), 0);
    assert_eq!(log.sync().unwrap(), 9);
    fill(&mut log, 1);
    assert_eq!(log.synced_offset(), 9);
    drop(log);
    // Opening syncs what it found.
    assert_eq!(open(&folder, SMALL).0.synced_offset(), 10);
}

#[test]
fn after_a_failed_sync_nothing_more_is_written() {
    let folder = Folder::new();
    let (mut log, _) = open(&folder, BIG);
    fill(&mut log, 1);
    log.folder_dirty = true;
    fs::remove_dir_all(folder.path()).unwrap();
    assert!(matches!(log.sync(), Err(StorageError::Io { tried: "open", .. })));
    for refused in [
        log.append_as_leader(&mut batch(0, 0, 1, 1), 0).map(|_| ()),
        log.append_as_follower(&batch(1, 0, 1, 1)).map(|_| ()),
        log.truncate_to(0).map(|_| ()),
        log.reset_to(0),
        log.advance_start(1),
        log.assign_epoch(1),
        log.sync().map(|_| ()),
    ] {
        assert!(matches!(refused, Err(StorageError::Offline { .. })));
    }
    assert!(log.read(0, ALL).is_ok());
}

/// What the scan found right may rot, or be changed under a running node.
#[test]
fn damage_found_while_reading_is_an_error() {
    let folder = Folder::new();
    let (mut log, _) = open(&folder, BIG);
    fill(&mut log, 2);
    let path = segments(&folder).remove(0);
    OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(30)
        .unwrap();
    assert!(log.read(0, ALL).is_err());
    fs::write(&path, [0xff; 300]).unwrap();
    assert!(matches!(log.read(1, ALL), Err(StorageError::Rotten { .. })));
    assert!(log.headers(1).is_err());
}

#[test]
fn a_timestamp_finds_its_record() {
    let folder = Folder::new();
    let (mut log, _) = open(&folder, SMALL);
    for base_offset in [0, 3, 6] {
        // The batch's timestamp is its base offset.
        log.append_as_follower(&batch(base_offset, 0, 3, 20)).unwrap();
    }
    assert_eq!(log.offset_for_timestamp(-5).unwrap(), Some((0, 0)));
    assert_eq!(log.offset_for_timestamp(1).unwrap(), Some((3, 3)));
    assert_eq!(log.offset_for_timestamp(6).unwrap(), Some((6, 6)));
    assert_eq!(log.offset_for_timestamp(7).unwrap(), None);
}

/// Where each epoch ends, asked of the cache, is what a walk over all batches says.
#[test]
fn epoch_ends_are_those_of_the_batches() {
    let folder = Folder::new();
    let (mut log, _) = open(&folder, SMALL);
    for epoch in [2, 2, 4, 4, 4, 7] {
        log.append_as_leader(&mut batch(0, 0, 1, 1), epoch).unwrap();
    }
    let end = |epoch| log.epochs().end_offset_for(epoch, log.end_offset());
    let some = |leader_epoch, end_offset| {
        Some(EpochEnd {
            leader_epoch,
            end_offset,
        })
    };
    assert_eq!([end(-1), end(0), end(1)], [None, some(0, 0), some(1, 0)]);
    assert_eq!([end(2), end(3), end(4)], [some(2, 2), some(2, 2), some(4, 5)]);
    assert_eq!([end(6), end(7), end(8)], [some(4, 5), some(7, 6), None]);
    assert_eq!(
        log.epochs().entries()[0],
        EpochEntry {
            leader_epoch: 2,
            start_offset: 0
        }
    );
    assert_eq!(
        [log.epochs().epoch_at(0), log.epochs().epoch_at(4)],
        [Some(2), Some(4)]
    );
}

/// What a log must be like, kept as a list of (base offset, next offset, epoch, bytes).
#[derive(Default)]
struct Model {
    start: i64,
    end: i64,
    batches: Vec<(i64, i64, i32, Vec<u8>)>,
    latest: i32,
}

impl Model {
    fn append(&mut self, epoch: i32, bytes: &[u8]) {
        for (header, bytes) in Batches::new(bytes).map(|batch| batch.unwrap()) {
            assert_eq!(header.base_offset, self.end);
            self.end = header.next_offset();
            self.batches
                .push((header.base_offset, self.end, epoch, bytes.to_vec()));
        }
        self.latest = epoch;
    }

    fn truncate(&mut self, offset: i64) {
        let boundary = self
            .batches
            .iter()
            .find(|b| b.1 > offset)
            .map_or(self.end.min(offset), |b| b.0.min(offset));
        self.batches.retain(|b| b.1 <= offset);
        if boundary <= self.start {
            // Nothing readable is left.
            self.batches.clear();
            self.start = offset.min(self.start);
            self.end = self.start;
        } else {
            self.end = boundary;
        }
        self.latest = self.batches.last().map_or(0, |b| b.2);
    }

    /// (epoch, start) as the batches have it, those that can be read.
    fn epochs(&self) -> Vec<(i32, i64)> {
        let mut found: Vec<(i32, i64)> = Vec::new();
        for (base, _, epoch, _) in self.batches.iter().filter(|b| b.1 > self.start) {
            if found.last().is_none_or(|last| last.0 != *epoch) {
                found.push((*epoch, (*base).max(self.start)));
            }
        }
        found
    }

    fn check(&self, log: &Log, draws: &mut Draws) {
        assert_eq!((log.start_offset(), log.end_offset()), (self.start, self.end));
        // An epoch without records is known to a live log only.
        let mut epochs = log.epochs().clone();
        epochs.truncate_from_end(self.end);
        let epochs: Vec<_> = epochs
            .entries()
            .iter()
            .map(|e| (e.leader_epoch, e.start_offset))
            .collect();
        assert_eq!(epochs, self.epochs());
        let offset = self.start + draws.below((self.end - self.start) as u64 + 1) as i64;
        let upper_bound = self.start + draws.below((self.end - self.start) as u64 + 1) as i64;
        let limit = ReadLimit {
            max_bytes: draws.below(900) as usize,
            at_least_one: draws.below(2) == 0,
            upper_bound,
        };
        let mut expected: Vec<u8> = Vec::new();
        for (_, next, _, bytes) in self.batches.iter().filter(|b| b.1 > offset) {
            let free = limit.at_least_one && expected.is_empty();
            if *next > upper_bound || !free && expected.len() + bytes.len() > limit.max_bytes {
                break;
            }
            expected.extend(bytes);
        }
        assert_eq!(
            log.read(offset, limit).unwrap(),
            expected,
            "read at {offset}, {limit:?}"
        );
        let bases: Vec<_> = self
            .batches
            .iter()
            .filter(|b| b.1 > offset)
            .map(|b| b.0)
            .collect();
        let found: Vec<_> = log
            .headers(offset)
            .unwrap()
            .map(|header| header.unwrap().base_offset)
            .collect();
        assert_eq!(found, bases);
    }
}

/// Random appends, truncations, moves of the start, syncs and openings, against the model.
#[test]
fn a_log_behaves_as_a_list_of_batches() {
    for seed in 0..60 {
        let mut draws = Draws(seed);
        let folder = Folder::new();
        let config = LogConfig {
            segment_bytes: 200 + draws.below(3000),
        };
        let (mut log, _) = open(&folder, config);
        let mut model = Model::default();
        for _ in 0..60 {
            match draws.below(12) {
                0..=5 => {
                    let epoch =
                        model.latest.max(log.epochs().latest().unwrap_or(0)) + (draws.below(6) / 5) as i32;
                    let mut bytes = Vec::new();
                    for _ in 0..=draws.below(3) {
                        bytes.extend(batch(
                            0,
                            0,
                            1 + draws.below(4) as usize,
                            draws.below(120) as usize,
                        ));
                    }
                    log.append_as_leader(&mut bytes, epoch).unwrap();
                    model.append(epoch, &bytes);
                }
                6 => {
                    let offset = (model.end - draws.below(30) as i64 + 2).max(0);
                    let end = log.truncate_to(offset).unwrap();
                    if offset < model.end || offset < model.start {
                        model.truncate(offset);
                    }
                    assert!(end <= offset.max(model.end));
                }
                7 => {
                    let offset = model.start + draws.below((model.end - model.start) as u64 / 2 + 1) as i64;
                    log.advance_start(offset).unwrap();
                    model.start = offset;
                }
                8 => assert_eq!(log.sync().unwrap(), model.end),
                9 => log.assign_epoch(log.epochs().latest().unwrap_or(0) + 1).unwrap(),
                _ => {
                    drop(log);
                    let (opened, recovery) = Log::open(folder.path(), config, model.start).unwrap();
                    assert_eq!(recovery, Recovery::default());
                    log = opened;
                }
            }
            model.check(&log, &mut draws);
        }
    }
}

/// Bytes changed anywhere, tails cut, files of noise: opening repairs, never panics, and has nothing
/// left to do the next time.
#[test]
fn whatever_the_disk_holds_a_log_opens() {
    for seed in 0..200 {
        let mut draws = Draws(seed);
        let folder = Folder::new();
        let (mut log, _) = open(&folder, SMALL);
        for epoch in 0..15 {
            log.append_as_leader(&mut batch(0, 0, 1, 20), epoch / 4).unwrap();
        }
        let whole = log.read(0, ALL).unwrap();
        drop(log);
        let mut noise = Vec::new();
        for path in segments(&folder) {
            let mut bytes = fs::read(&path).unwrap();
            for _ in 0..draws.below(3) {
                let at = draws.below(bytes.len() as u64) as usize;
                match draws.below(4) {
                    0 => bytes.truncate(at + 1),
                    1 => bytes.extend((0..draws.below(200)).map(|_| draws.0 as u8)),
                    _ => bytes[at] = draws.below(256) as u8,
                }
            }
            fs::write(&path, &bytes).unwrap();
            noise.extend(bytes);
        }
        let (log, recovery) = open(&folder, SMALL);
        let kept = log.read(log.start_offset(), ALL).unwrap();
        assert!(noise.starts_with(&kept));
        assert!(kept.len() <= whole.len());
        assert_eq!(recovery.cut_bytes as usize, noise.len() - kept.len());
        drop(log);
        assert_eq!(open(&folder, SMALL).1, Recovery::default());
    }
}

fn id(end_offset: i64, epoch: i32) -> SnapshotId {
    SnapshotId { end_offset, epoch }
}

fn open_after(folder: &Folder, snapshot: Option<SnapshotId>) -> (Log, Recovery) {
    Log::open_after(folder.path(), SMALL, snapshot).unwrap()
}

/// Twelve batches of one record in four segments: epoch 0 from 0, 1 from 5, 2 from 10 on.
fn twelve() -> (Folder, Log) {
    let folder = Folder::new();
    let (mut log, _) = open(&folder, SMALL);
    for epoch in 0..12 {
        log.append_as_leader(&mut batch(0, 0, 1, 20), epoch / 5).unwrap();
    }
    log.sync().unwrap();
    assert_eq!(segments(&folder).len(), 4);
    (folder, log)
}

#[test]
fn the_epoch_before_an_offset_is_known_down_to_the_start() {
    let (folder, mut log) = twelve();
    let before = |log: &Log| [-1, 0, 1, 4, 5, 6, 7, 12, 13].map(|at| log.epoch_before(at));
    let (zero, one, two) = (Some(0), Some(1), Some(2));
    assert_eq!(before(&log), [None, None, zero, zero, zero, one, one, two, None]);
    log.advance_start(6).unwrap();
    assert_eq!(before(&log), [None, None, None, None, None, one, one, two, None]);
    log.advance_start(12).unwrap();
    assert_eq!((log.epoch_before(12), log.last_epoch()), (two, two));
    // A truncation to the start leaves what lies before it.
    log.append_as_follower(&batch(12, 5, 1, 20)).unwrap();
    log.truncate_to(12).unwrap();
    assert_eq!((log.epoch_before(12), log.last_epoch()), (two, two));
    log.truncate_to(11).unwrap();
    assert_eq!((log.epoch_before(11), log.last_epoch()), (None, None));
    log.reset_after(id(40, 7)).unwrap();
    assert_eq!(
        (log.start_offset(), log.end_offset(), log.synced_offset()),
        (40, 40, 40)
    );
    assert_eq!((log.epoch_before(40), log.last_epoch()), (Some(7), Some(7)));
    assert!(entries(&log).is_empty());
    drop(log);
    let (log, recovery) = open_after(&folder, Some(id(40, 7)));
    assert_eq!(
        (log.end_offset(), log.last_epoch(), recovery),
        (40, Some(7), Recovery::default())
    );
    drop(log);
    // Without the snapshot nothing is known of what lies below.
    assert_eq!(open(&folder, SMALL).0.last_epoch(), None);
}

#[test]
fn a_boundary_is_where_a_batch_begins_or_the_log_ends() {
    let folder = Folder::new();
    let (mut log, _) = open(&folder, SMALL);
    assert!(log.is_batch_boundary(0).unwrap());
    for base_offset in [0, 3, 6, 9] {
        log.append_as_follower(&batch(base_offset, 0, 3, 20)).unwrap();
    }
    let boundaries = |log: &Log| -> Vec<i64> {
        (-1..14)
            .filter(|&offset| log.is_batch_boundary(offset).unwrap())
            .collect()
    };
    assert_eq!(boundaries(&log), [0, 3, 6, 9, 12]);
    log.advance_start(4).unwrap();
    assert_eq!(boundaries(&log), [6, 9, 12]);
    log.reset_to(13).unwrap();
    assert_eq!(boundaries(&log), [13]);
}

#[test]
fn a_log_goes_on_where_the_snapshot_ends() {
    let (folder, log) = twelve();
    drop(log);
    let (log, recovery) = open_after(&folder, None);
    assert_eq!((log.start_offset(), recovery), (0, Recovery::default()));
    drop(log);
    let (log, recovery) = open_after(&folder, Some(SnapshotId::BOOTSTRAP));
    assert_eq!(
        (log.start_offset(), log.epoch_before(0), recovery),
        (0, None, Recovery::default())
    );
    drop(log);
    for (snapshot, kept) in [(id(4, 0), 3), (id(7, 1), 2), (id(12, 2), 1)] {
        let (log, recovery) = open_after(&folder, Some(snapshot));
        assert_eq!((log.start_offset(), log.end_offset()), (snapshot.end_offset, 12));
        assert_eq!(log.epoch_before(snapshot.end_offset), Some(snapshot.epoch));
        assert_eq!(recovery, Recovery::default());
        assert_eq!(segments(&folder).len(), kept, "what lies wholly below is gone");
    }
}

#[test]
fn a_log_that_does_not_lead_up_to_the_snapshot_is_replaced() {
    for snapshot in [
        id(20, 2), // beyond its end
        id(7, 2),  // the record before is of epoch 1
        id(6, 4),  // it has nothing of that epoch
    ] {
        let (folder, log) = twelve();
        drop(log);
        let (mut log, recovery) = open_after(&folder, Some(snapshot));
        let end = snapshot.end_offset;
        assert_eq!((log.start_offset(), log.end_offset()), (end, end));
        assert_eq!(log.last_epoch(), Some(snapshot.epoch));
        assert_eq!(recovery.reason.is_some(), end < 12);
        log.append_as_follower(&batch(end, 4, 1, 20)).unwrap();
        drop(log);
        let (log, recovery) = open_after(&folder, Some(snapshot));
        assert_eq!((log.end_offset(), log.last_epoch()), (end + 1, Some(4)));
        assert_eq!(recovery, Recovery::default());
    }
}

#[test]
fn a_hole_between_snapshot_and_log_is_refused_and_nothing_removed() {
    let (folder, mut log) = twelve();
    log.advance_start(7).unwrap();
    drop(log);
    let kept = contents(folder.path());
    for snapshot in [None, Some(SnapshotId::BOOTSTRAP), Some(id(5, 0))] {
        let error = Log::open_after(folder.path(), SMALL, snapshot).unwrap_err();
        assert!(matches!(error, StorageError::Hole { start: 6, .. }), "{error}");
        assert!(error.to_string().contains(folder.path().to_str().unwrap()));
        assert_eq!(segments(&folder).len(), 2);
        assert_eq!(
            contents(folder.path())
                .into_iter()
                .filter(|(name, _)| name.ends_with(".log"))
                .collect::<Vec<_>>(),
            kept.clone()
                .into_iter()
                .filter(|(name, _)| name.ends_with(".log"))
                .collect::<Vec<_>>()
        );
    }
    assert_eq!(open_after(&folder, Some(id(7, 1))).0.end_offset(), 12);
}

/// Below the start nothing is read any more: damage there, and gaps, cost nothing above it.
#[test]
fn what_is_torn_or_missing_below_the_start_does_no_harm() {
    let (whole, log) = twelve();
    let above = log.read(7, ALL).unwrap();
    drop(log);
    let names: Vec<_> = segments(&whole)
        .iter()
        .map(|path| path.file_name().unwrap().to_owned())
        .collect();
    // For each of the two segments below 7: whole, torn, empty, gone.
    for fates in 0..16 {
        let folder = folder_of(&contents(whole.path()));
        for (at, fate) in [(0, fates % 4), (1, fates / 4)] {
            let path = folder.path().join(&names[at]);
            let bytes = fs::read(&path).unwrap();
            match fate {
                0 => {}
                1 => fs::write(&path, &bytes[..bytes.len() / 2]).unwrap(),
                2 => fs::write(&path, "").unwrap(),
                _ => fs::remove_file(&path).unwrap(),
            }
        }
        let (log, recovery) = open_after(&folder, Some(id(7, 1)));
        assert_eq!((log.start_offset(), log.end_offset()), (7, 12), "fates {fates}");
        assert_eq!(log.read(7, ALL).unwrap(), above);
        assert_eq!(
            (entries(&log), recovery),
            (vec![(1, 7), (2, 10)], Recovery::default())
        );
    }
}

/// Opens what each loss of power left, twice, and hands it to `check`.
fn check_all(left: &BTreeSet<Contents>, snapshot: Option<SnapshotId>, check: impl Fn(&Log)) {
    for contents in left {
        let folder = folder_of(contents);
        let opened = Log::open_after(folder.path(), SMALL, snapshot);
        let (log, _) = opened.unwrap_or_else(|error| panic!("{error}: {:?}", contents.keys()));
        check(&log);
        drop(log);
        let (log, recovery) = open_after(&folder, snapshot);
        check(&log);
        assert_eq!(recovery, Recovery::default());
    }
}

#[test]
fn the_start_moves_up_safely() {
    for end_offset in [4, 7, 9, 12] {
        let (folder, mut log) = twelve();
        let above = log.read(end_offset, ALL).unwrap();
        let snapshot = id(end_offset, log.epoch_before(end_offset).unwrap());
        let (moved, left) = after_power_cuts(folder.path(), || log.advance_start(end_offset));
        moved.unwrap();
        assert!(left.during.len() as i64 > end_offset / 3, "{}", left.during.len());
        // Even one who does not know the start finds all above it.
        for contents in &left.during {
            let (log, recovery) = open(&folder_of(contents), SMALL);
            assert_eq!((log.end_offset(), recovery), (12, Recovery::default()));
            assert_eq!(log.read(end_offset, ALL).unwrap(), above);
        }
        check_all(&left.during, Some(snapshot), |log| {
            assert_eq!((log.start_offset(), log.end_offset()), (end_offset, 12));
            assert_eq!(log.read(end_offset, ALL).unwrap(), above);
            assert_eq!(log.epoch_before(end_offset), Some(snapshot.epoch));
        });
    }
}

/// The snapshot lies beyond the log's end, or within it where the log went another way.
#[test]
fn a_snapshot_is_installed_safely() {
    for snapshot in [id(20, 5), id(12, 5), id(7, 5), id(7, 2)] {
        let (folder, mut log) = twelve();
        let (installed, left) = after_power_cuts(folder.path(), || log.reset_after(snapshot));
        installed.unwrap();
        assert!(left.during.len() >= 6, "{}", left.during.len());
        let end = snapshot.end_offset;
        check_all(&left.during, Some(snapshot), |log| {
            assert_eq!((log.start_offset(), log.end_offset()), (end, end));
            assert_eq!(log.last_epoch(), Some(snapshot.epoch));
        });
    }
}

/// The repair itself may be cut short, and what it repaired then is repaired again.
#[test]
fn an_opening_is_safe() {
    for snapshot in [Some(id(7, 1)), Some(id(20, 5)), Some(id(7, 5))] {
        let (folder, log) = twelve();
        drop(log);
        let opened = || open_after(&folder, snapshot).0;
        let (log, left) = after_power_cuts(folder.path(), opened);
        let (start, end, last) = (log.start_offset(), log.end_offset(), log.last_epoch());
        assert!(left.during.len() > 1);
        if end == 12 {
            // No gap is left that would cost more than was to go, whoever opens it.
            for contents in &left.during {
                assert_eq!(open(&folder_of(contents), SMALL).0.end_offset(), end);
            }
        }
        check_all(&left.during, snapshot, |log| {
            assert_eq!(
                (log.start_offset(), log.end_offset(), log.last_epoch()),
                (start, end, last)
            );
        });
    }
}

#[test]
fn a_truncation_leaves_a_beginning_of_the_log() {
    for offset in [10, 7, 4, 1, 0] {
        let (folder, mut log) = twelve();
        let whole = log.read(0, ALL).unwrap();
        let (truncated, left) = after_power_cuts(folder.path(), || {
            log.truncate_to(offset).unwrap();
            log.sync()
        });
        assert_eq!(truncated.unwrap(), offset);
        check_all(&left.during, None, |log| {
            assert!((offset..=12).contains(&log.end_offset()), "{}", log.end_offset());
            assert!(whole.starts_with(&log.read(0, ALL).unwrap()));
        });
        check_all(&left.after, None, |log| assert_eq!(log.end_offset(), offset));
    }
}
