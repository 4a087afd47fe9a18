use std::fs;
use std::path::PathBuf;

use bytes::Bytes;

use super::*;
use crate::batch::{self, seal_crc};
use crate::steps;
use crate::testing::{Contents, Draws, Folder, after_power_cuts, batch, contents, folder_of};
use crate::{BatchBuilder, Batches, ControlType, StorageError};

const ID: SnapshotId = SnapshotId {
    end_offset: 42,
    epoch: 3,
};

fn id(end_offset: i64, epoch: i32) -> SnapshotId {
    SnapshotId { end_offset, epoch }
}

fn header() -> SnapshotHeader {
    SnapshotHeader {
        last_contained_log_timestamp: 1000,
        quorum: Vec::new(),
    }
}

/// A snapshot of `records` records of `bytes` bytes each.
fn write(folder: &Folder, id: SnapshotId, records: usize, bytes: usize) -> u64 {
    let mut writer = SnapshotWriter::create(folder.path(), id, &header(), 1005).unwrap();
    for at in 0..records {
        writer.append(&vec![at as u8; bytes]).unwrap();
    }
    writer.finish().unwrap()
}

fn names(folder: &Folder) -> Vec<String> {
    contents(folder.path()).into_keys().collect()
}

/// Every byte of a whole snapshot, written down by hand from the format: a batch header, then records;
/// the two sums were computed apart from this code.
#[test]
fn a_tiny_snapshot_is_kafkas_to_the_byte() {
    #[rustfmt::skip]
    let golden: Vec<u8> = [
        // --- the header's batch
        &[0, 0, 0, 0, 0, 0, 0, 0][..],      // base offset 0
        &[0, 0, 0, 71],                     // 71 bytes follow
        &[0, 0, 0, 3],                      // leader epoch: the snapshot's
        &[2],                               // magic
        &HEADER_CRC.to_be_bytes(),
        &[0, 0x20],                         // attributes: control
        &[0, 0, 0, 0],                      // last offset delta
        &[0, 0, 0, 0, 0, 0, 3, 0xed],       // base timestamp 1005
        &[0, 0, 0, 0, 0, 0, 3, 0xed],       // max timestamp 1005
        &[0xff; 8], &[0xff; 2], &[0xff; 4], // no producer, epoch, sequence
        &[0, 0, 0, 1],                      // one record
        &[42],                              // its length 21, zigzag
        &[0, 0, 0],                         // attributes, timestamp delta, offset delta
        &[8], &[0, 0, 0, 3],                // key: 4 bytes, version 0, type 3
        &[22],                              // value: 11 bytes
        &[0, 0],                            // version 0
        &[0, 0, 0, 0, 0, 0, 3, 0xe8],       // last contained log timestamp 1000
        &[0],                               // no tagged fields
        &[0],                               // no headers
        // --- one batch of data
        &[0, 0, 0, 0, 0, 0, 0, 1],          // base offset 1
        &[0, 0, 0, 59],
        &[0, 0, 0, 3],
        &[2],
        &DATA_CRC.to_be_bytes(),
        &[0, 0],                            // attributes: none
        &[0, 0, 0, 0],
        &[0, 0, 0, 0, 0, 0, 3, 0xed],
        &[0, 0, 0, 0, 0, 0, 3, 0xed],
        &[0xff; 8], &[0xff; 2], &[0xff; 4],
        &[0, 0, 0, 1],
        &[18],                              // length 9
        &[0, 0, 0],
        &[1],                               // no key
        &[6], &[1, 20, 0],                  // value: frame 1, NoOpRecord (20), version 0
        &[0],
        // --- the footer's batch
        &[0, 0, 0, 0, 0, 0, 0, 2],          // base offset 2
        &[0, 0, 0, 63],
        &[0, 0, 0, 3],
        &[2],
        &FOOTER_CRC.to_be_bytes(),
        &[0, 0x20],
        &[0, 0, 0, 0],
        &[0, 0, 0, 0, 0, 0, 3, 0xed],
        &[0, 0, 0, 0, 0, 0, 3, 0xed],
        &[0xff; 8], &[0xff; 2], &[0xff; 4],
        &[0, 0, 0, 1],
        &[26],                              // length 13
        &[0, 0, 0],
        &[8], &[0, 0, 0, 4],                // key: version 0, type 4
        &[6], &[0, 0, 0],                   // value: version 0, no tagged fields
        &[0],
    ]
    .concat();
    let folder = Folder::new();
    let mut writer = SnapshotWriter::create(folder.path(), ID, &header(), 1005).unwrap();
    writer.append(&[1, 20, 0]).unwrap();
    assert_eq!(writer.id(), ID);
    assert_eq!(writer.finish().unwrap(), golden.len() as u64);
    let path = folder.file("00000000000000000042-0000000003.checkpoint");
    assert_eq!(fs::read(&path).unwrap(), golden);
    assert_eq!(names(&folder).len(), 1, "nothing is left beside it");
}

/// Of the bytes from the attributes on; computed with another implementation of CRC-32C.
const HEADER_CRC: u32 = 0xa3d3_a503;
const DATA_CRC: u32 = 0x1f56_66f3;
const FOOTER_CRC: u32 = 0xef11_f97b;

#[test]
fn a_name_is_kafkas_and_nothing_else_is_one() {
    assert_eq!(
        SnapshotId::BOOTSTRAP.file_name(),
        "00000000000000000000-0000000000.checkpoint"
    );
    for id in [SnapshotId::BOOTSTRAP, ID, id(i64::MAX, i32::MAX)] {
        assert_eq!(SnapshotId::parse(&id.file_name()), Some(id));
    }
    for other in [
        "",
        "bootstrap.checkpoint",
        "42-3.checkpoint",
        "00000000000000000042-0000000003.checkpoint.part",
        "00000000000000000042-0000000003.checkpoint.deleted",
        "00000000000000000042-0000000003-0.checkpoint",
        "0000000000000000004x-0000000003.checkpoint",
        "+0000000000000000042-0000000003.checkpoint",
        "00000000000000000042-9999999999.checkpoint",
        "99999999999999999999-0000000003.checkpoint",
        "00000000000000000042.log",
        "\u{00e9}000000000000000042-0000000003.checkpoint",
    ] {
        assert_eq!(SnapshotId::parse(other), None, "{other}");
    }
    assert!(id(9, 1) < id(10, 1) && id(9, 1) < id(9, 2));
}

#[test]
fn what_was_written_is_read() {
    let folder = Folder::new();
    let quorum = vec![
        ControlRecord {
            control_type: ControlType::KRaftVersion,
            value: Bytes::from_static(&[0, 0, 0, 1, 0]),
        },
        ControlRecord {
            control_type: ControlType::KRaftVoters,
            value: Bytes::from_static(&[0, 0, 1, 0]),
        },
    ];
    let header = SnapshotHeader { quorum, ..header() };
    let mut writer = SnapshotWriter::create(folder.path(), ID, &header, 1005).unwrap();
    let values: Vec<Vec<u8>> = (0..500_usize).map(|at| vec![at as u8; 1 + at * 3]).collect();
    for value in &values {
        writer.append(value).unwrap();
    }
    // One that fills more than a batch has one of its own.
    let big = vec![7; 3 * BATCH_BYTES];
    writer.append(&big).unwrap();
    let size = writer.finish().unwrap();

    let reader = SnapshotReader::open(folder.path(), ID).unwrap();
    assert_eq!((reader.id(), reader.size(), reader.header()), (ID, size, &header));
    let batches: Vec<_> = reader.batches().map(Result::unwrap).collect();
    let controls: Vec<_> = batches.iter().map(SnapshotBatch::is_control).collect();
    let last = controls.len() - 1;
    assert!(
        controls
            .iter()
            .enumerate()
            .all(|(at, &is)| is == (at == 0 || at == last))
    );
    assert!(last > 6, "several batches of data");
    for batch in &batches[1..last - 1] {
        assert!(batch.bytes.len() <= BATCH_BYTES);
    }
    assert_eq!(batches[0].header.record_count, 3);
    let mut next_offset = 0;
    for batch in &batches {
        assert_eq!(
            (batch.header.base_offset, batch.header.leader_epoch),
            (next_offset, 3)
        );
        next_offset = batch.header.next_offset();
    }
    let mut read = Vec::new();
    for batch in &batches[1..last] {
        for record in batch.records().unwrap() {
            let record = record.unwrap();
            assert_eq!(record.key, None);
            read.push(record.value.unwrap().to_vec());
        }
    }
    assert_eq!(read[..500], values);
    assert_eq!(read[500..], [big]);
}

#[test]
fn a_snapshot_may_stand_for_nothing() {
    let folder = Folder::new();
    write(&folder, SnapshotId::BOOTSTRAP, 0, 0);
    let reader = SnapshotReader::open(folder.path(), SnapshotId::BOOTSTRAP).unwrap();
    assert_eq!(reader.batches().count(), 2);
}

#[test]
fn what_does_not_belong_into_a_snapshot_is_refused() {
    let folder = Folder::new();
    let mut writer = SnapshotWriter::create(folder.path(), ID, &header(), 0).unwrap();
    for bad in [0, MAX_RECORD_BYTES + 1] {
        assert!(matches!(
            writer.append(&vec![1; bad]),
            Err(StorageError::SnapshotRecord { length, .. }) if length == bad
        ));
    }
    writer.append(&[1]).unwrap();
    writer.finish().unwrap();
    assert!(matches!(
        SnapshotWriter::create(folder.path(), ID, &header(), 0),
        Err(StorageError::SnapshotExists { .. })
    ));
    for control_type in [
        ControlType::LeaderChange,
        ControlType::SnapshotHeader,
        ControlType::SnapshotFooter,
    ] {
        let quorum = vec![ControlRecord {
            control_type,
            value: Bytes::new(),
        }];
        let header = SnapshotHeader { quorum, ..header() };
        let refused = SnapshotWriter::create(folder.path(), id(50, 3), &header, 0);
        assert!(refused.unwrap_err().to_string().contains("does not belong"));
    }
    for bad in [id(-1, 0), id(0, -1)] {
        assert!(SnapshotWriter::create(folder.path(), bad, &header(), 0).is_err());
        assert!(SnapshotReceiver::begin(folder.path(), bad, 1).is_err());
    }
    assert_eq!(names(&folder), [ID.file_name()]);
}

#[test]
fn who_is_dropped_early_leaves_nothing() {
    let folder = Folder::new();
    let mut writer = SnapshotWriter::create(folder.path(), ID, &header(), 0).unwrap();
    writer.append(&[1; 100]).unwrap();
    // Another of the same snapshot at the same time: each has a file of its own.
    let mut receiver = SnapshotReceiver::begin(folder.path(), ID, 10).unwrap();
    receiver.append(0, &[1; 10]).unwrap();
    assert_eq!(names(&folder).len(), 2);
    assert!(list(folder.path()).unwrap().is_empty());
    drop(writer);
    assert_eq!(names(&folder).len(), 1);
    drop(receiver);
    assert!(names(&folder).is_empty());
}

/// The bytes of a snapshot of `ID`.
fn sample() -> Vec<u8> {
    let folder = Folder::new();
    write(&folder, ID, 3, 20);
    fs::read(ID.path(folder.path())).unwrap()
}

#[test]
fn a_snapshot_comes_in_chunks() {
    let whole = sample();
    for chunk in [1, 7, 100, whole.len()] {
        let (from, to) = (
            folder_of(&[(ID.file_name(), whole.clone())].into()),
            Folder::new(),
        );
        let leader = SnapshotReader::open(from.path(), ID).unwrap();
        let mut receiver = SnapshotReceiver::begin(to.path(), ID, leader.size()).unwrap();
        while !receiver.is_complete() {
            let position = receiver.position();
            let bytes = leader.read_at(position, chunk).unwrap();
            receiver.append(position, &bytes).unwrap();
        }
        assert_eq!((receiver.id(), receiver.size()), (ID, leader.size()));
        let reader = receiver.finish().unwrap();
        assert_eq!(reader.header(), leader.header());
        assert_eq!(reader.batches().count(), 3);
        assert_eq!(contents(to.path()), [(ID.file_name(), whole.clone())].into());
        assert!(leader.read_at(leader.size(), 10).unwrap().is_empty());
        assert!(matches!(
            leader.read_at(leader.size() + 1, 10),
            Err(StorageError::SnapshotPosition { .. })
        ));
    }
}

#[test]
fn a_chunk_out_of_place_is_refused_and_not_taken() {
    let whole = sample();
    let folder = Folder::new();
    let mut receiver = SnapshotReceiver::begin(folder.path(), ID, whole.len() as u64).unwrap();
    receiver.append(0, &whole[..10]).unwrap();
    for (position, bytes) in [
        (0, &whole[..10]),
        (9, &whole[9..20]),
        (11, &whole[11..20]),
        (u64::MAX, &whole[..1]),
        (10, &whole[..]),
    ] {
        assert!(matches!(
            receiver.append(position, bytes),
            Err(StorageError::SnapshotChunk { expected: 10, .. })
        ));
    }
    assert_eq!(receiver.position(), 10);
    receiver.append(10, &whole[10..]).unwrap();
    receiver.append(whole.len() as u64, &[]).unwrap();
    receiver.finish().unwrap();
}

/// Tries to take in `bytes` as snapshot `id`, and returns what is said against it.
fn refused(id: SnapshotId, bytes: &[u8]) -> String {
    let folder = Folder::new();
    // One that has the name already stays as it is.
    fs::write(id.path(folder.path()), "old").unwrap();
    let mut receiver = SnapshotReceiver::begin(folder.path(), id, bytes.len() as u64).unwrap();
    receiver.append(0, bytes).unwrap();
    let error = receiver.finish().unwrap_err();
    assert_eq!(
        contents(folder.path()),
        [(id.file_name(), b"old".to_vec())].into()
    );
    // The reader says the same, with the file's own name.
    fs::write(id.path(folder.path()), bytes).unwrap();
    let read = SnapshotReader::open(folder.path(), id).unwrap_err();
    let (
        StorageError::Snapshot { reason, position, .. },
        StorageError::Snapshot {
            reason: said,
            position: at,
            path,
        },
    ) = (&error, &read)
    else {
        panic!("{error}; {read}")
    };
    assert_eq!((reason, position), (said, at));
    assert_eq!(path, &id.path(folder.path()));
    let text = read.to_string();
    assert!(
        text.contains(&id.file_name()) && text.contains(&format!("byte {at}")),
        "{text}"
    );
    assert!(text.contains("remove it"), "{text}");
    text
}

#[test]
fn every_cut_and_every_flipped_bit_is_found() {
    let good = sample();
    for length in 0..good.len() {
        refused(ID, &good[..length]);
    }
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 8);
        refused(ID, &bad);
    }
    assert!(refused(ID, &[]).contains("is empty"));
}

#[test]
fn a_receiver_that_lacks_bytes_does_not_finish() {
    let whole = sample();
    let folder = Folder::new();
    let mut receiver = SnapshotReceiver::begin(folder.path(), ID, whole.len() as u64 + 1).unwrap();
    receiver.append(0, &whole).unwrap();
    assert!(!receiver.is_complete());
    let said = receiver.finish().unwrap_err().to_string();
    assert!(said.contains("bytes came"), "{said}");
    assert!(names(&folder).is_empty());
}

/// A control batch of records of these keys and values.
fn control(base_offset: i64, records: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut builder = BatchBuilder::new(0).control();
    for (key, value) in records {
        builder.push(Some(key), Some(value), &[]).unwrap();
    }
    builder.build(base_offset, 3).unwrap().to_vec()
}

const HEADER: (&[u8], &[u8]) = (&[0, 0, 0, 3], &[0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0]);
const FOOTER: (&[u8], &[u8]) = (&[0, 0, 0, 4], &[0, 0, 0]);
const VOTERS: (&[u8], &[u8]) = (&[0, 0, 0, 6], &[0, 0, 1, 0]);

#[test]
fn batches_that_are_sound_but_no_snapshot_are_refused() {
    let (head, foot) = (control(0, &[HEADER]), control(2, &[FOOTER]));
    let data = batch(1, 3, 1, 5);
    let snapshot = |parts: &[&[u8]]| refused(ID, &parts.concat());
    let ok = Folder::new();
    fs::write(ID.path(ok.path()), [&head[..], &data, &foot].concat()).unwrap();
    SnapshotReader::open(ok.path(), ID).unwrap();

    assert!(snapshot(&[&head, &data]).contains("without a footer"));
    assert!(snapshot(&[&batch(0, 3, 1, 5), &control(1, &[FOOTER])]).contains("not begin with a header"));
    assert!(snapshot(&[&head, &data, &foot, &batch(3, 3, 1, 5)]).contains("after its footer"));
    assert!(snapshot(&[&head, &data, &foot, &control(3, &[FOOTER])]).contains("after its footer"));
    assert!(snapshot(&[&head, &batch(2, 3, 1, 5), &control(3, &[FOOTER])]).contains("1 is due"));
    assert!(snapshot(&[&head, &batch(1, 2, 1, 5), &foot]).contains("leader epoch 2"));
    assert!(snapshot(&[&control(0, &[FOOTER])]).contains("not a header"));
    assert!(snapshot(&[&control(0, &[HEADER, HEADER])]).contains("does not belong"));
    assert!(snapshot(&[&head, &control(1, &[HEADER])]).contains("not the footer"));
    assert!(snapshot(&[&head, &control(1, &[FOOTER, VOTERS])]).contains("not the footer"));
    assert!(snapshot(&[&head, &control(1, &[VOTERS])]).contains("not the footer"));
    for (body, word) in [
        (&[0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0][..], "version 1"),
        (&[0, 0, 0, 0, 0, 0, 0, 0, 0, 9], "cut short"),
        (&[0], "cut short"),
        (&[], "cut short"),
    ] {
        assert!(snapshot(&[&control(0, &[(HEADER.0, body)])]).contains(word));
    }
    for (body, word) in [
        (&[0, 1, 0][..], "version 1"),
        (&[0, 0], "cut short"),
        (&[], "cut short"),
    ] {
        assert!(snapshot(&[&head, &control(1, &[(FOOTER.0, body)])]).contains(word));
    }
    for key in [&[0, 0, 0, 9][..], &[0, 1, 0, 3], &[0, 0, 0], &[]] {
        assert!(snapshot(&[&control(0, &[(key, HEADER.1)])]).contains("not understood"));
    }
    // The right bytes under another epoch's name.
    assert!(refused(id(42, 4), &sample()).contains("leader epoch 3"));
}

#[test]
fn a_compressed_batch_of_data_passes_and_says_so_when_it_is_walked() {
    let mut data = batch(1, 3, 1, 50);
    data[22] |= 4;
    seal_crc(&mut data);
    let folder = Folder::new();
    let whole = [control(0, &[HEADER]), data, control(2, &[FOOTER])].concat();
    fs::write(ID.path(folder.path()), whole).unwrap();
    let reader = SnapshotReader::open(folder.path(), ID).unwrap();
    let data = reader.batches().nth(1).unwrap().unwrap();
    assert!(data.records().is_err());
}

/// Noise of every kind: an error, never a panic.
#[test]
fn noise_is_refused() {
    let good = sample();
    for seed in 0..300 {
        let mut draws = Draws(seed);
        let mut bad = good.clone();
        for _ in 0..=draws.below(4) {
            let at = draws.below(bad.len() as u64) as usize;
            match draws.below(4) {
                0 => bad.truncate(at + 1),
                1 => bad.extend((0..draws.below(200)).map(|_| draws.0 as u8)),
                2 => batch::set_leader_epoch(&mut bad, draws.0 as i32).unwrap_or(()),
                _ => bad[at] ^= 1 + draws.below(255) as u8,
            }
        }
        if bad != good {
            refused(ID, &bad);
        }
    }
}

/// What was sound when it was opened, and rots while it is read.
#[test]
fn damage_after_the_opening_is_an_error() {
    let folder = Folder::new();
    write(&folder, ID, 3, 20);
    let reader = SnapshotReader::open(folder.path(), ID).unwrap();
    let path = ID.path(folder.path());
    let mut bytes = fs::read(&path).unwrap();
    let first = Batches::new(&bytes).next().unwrap().unwrap().0.total_bytes;
    bytes[first + 70] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let read: Vec<_> = reader.batches().map(|batch| batch.is_ok()).collect();
    assert_eq!(read, [true, false]);
    fs::write(&path, "").unwrap();
    assert!(reader.batches().next().unwrap().is_err());
    assert!(reader.read_at(0, 10).is_err());
}

#[test]
fn a_reader_outlives_its_file() {
    let folder = Folder::new();
    write(&folder, ID, 3, 20);
    let reader = SnapshotReader::open(folder.path(), ID).unwrap();
    fs::remove_file(ID.path(folder.path())).unwrap();
    assert_eq!(reader.batches().filter(Result::is_ok).count(), 3);
    assert!(matches!(
        SnapshotReader::open(folder.path(), ID),
        Err(StorageError::Io { tried: "open", .. })
    ));
}

#[test]
fn snapshots_are_listed_and_leftovers_go() {
    let folder = Folder::new();
    assert_eq!(newest(folder.path()).unwrap(), None);
    let all = [SnapshotId::BOOTSTRAP, id(9, 2), id(10, 1), id(10, 2)];
    for id in [2, 0, 3, 1].map(|at: usize| all[at]) {
        write(&folder, id, 1, 5);
    }
    let others = ["00000000000000000000.log", "quorum-state", "bootstrap.checkpoint"];
    // Ours, Kafka's, and one that Kafka was about to remove.
    let leftovers = [
        "00000000000000000042-0000000003-0.checkpoint.part",
        "00000000000000000042-0000000003-1234567890.checkpoint.part",
        "00000000000000000009-0000000001.checkpoint.deleted",
    ];
    for name in others.iter().chain(&leftovers) {
        fs::write(folder.file(name), "x").unwrap();
    }
    assert_eq!(list(folder.path()).unwrap(), all);
    assert_eq!(newest(folder.path()).unwrap(), Some(id(10, 2)));
    assert_eq!(
        (clean(folder.path()).unwrap(), clean(folder.path()).unwrap()),
        (3, 0)
    );
    assert_eq!(names(&folder).len(), all.len() + others.len());
    assert_eq!(list(folder.path()).unwrap(), all);
    assert!(list(&PathBuf::from("/nowhere")).is_err());
}

#[test]
fn the_newest_stays_whatever_is_asked() {
    let folder = Folder::new();
    write(&folder, SnapshotId::BOOTSTRAP, 1, 5);
    assert!(remove_older_than(folder.path(), id(100, 9)).unwrap().is_empty());
    assert_eq!(list(folder.path()).unwrap(), [SnapshotId::BOOTSTRAP]);
    for end in [10, 20, 30] {
        write(&folder, id(end, 1), 1, 5);
    }
    assert_eq!(
        remove_older_than(folder.path(), id(20, 1)).unwrap(),
        [SnapshotId::BOOTSTRAP, id(10, 1)]
    );
    assert_eq!(list(folder.path()).unwrap(), [id(20, 1), id(30, 1)]);
    assert_eq!(remove_older_than(folder.path(), id(100, 9)).unwrap(), [id(20, 1)]);
    assert_eq!(list(folder.path()).unwrap(), [id(30, 1)]);
}

/// Whatever a loss of power leaves while a snapshot is written, and older ones are removed: each that has
/// a name is whole, and there is always one.
#[test]
fn a_loss_of_power_leaves_whole_snapshots() {
    let folder = Folder::new();
    write(&folder, SnapshotId::BOOTSTRAP, 1, 5);
    write(&folder, id(10, 1), 1, 5);
    let bytes = sample();
    let newest_of = |contents: &Contents| newest(folder_of(contents).path()).unwrap();
    let (_, left) = after_power_cuts(folder.path(), || write(&folder, id(15, 1), 2, 5));
    assert!(
        left.after.iter().all(|left| newest_of(left) == Some(id(15, 1))),
        "durable"
    );
    let (_, left) = after_power_cuts(folder.path(), || {
        write(&folder, id(20, 1), 2, 5);
        remove_older_than(folder.path(), id(20, 1)).unwrap();
        let mut receiver = SnapshotReceiver::begin(folder.path(), ID, bytes.len() as u64).unwrap();
        receiver.append(0, &bytes).unwrap();
        receiver.finish().unwrap();
        remove_older_than(folder.path(), ID).unwrap();
    });
    assert_eq!(list(folder.path()).unwrap(), [ID]);
    assert!(
        left.after.iter().all(|left| newest_of(left) == Some(ID)),
        "durable"
    );
    assert!(left.during.len() >= 10, "{}", left.during.len());
    for contents in &left.during {
        let folder = folder_of(contents);
        clean(folder.path()).unwrap();
        let found = list(folder.path()).unwrap();
        assert!(
            found.last().is_some_and(|newest| *newest >= id(10, 1)),
            "{found:?}"
        );
        for id in found {
            SnapshotReader::open(folder.path(), id).unwrap();
        }
    }
}

/// A process ended between giving a snapshot its name and making that durable; the next one finds it, and
/// removes what it replaces.
#[test]
fn a_name_is_durable_before_what_it_replaces_goes() {
    let folder = Folder::new();
    write(&folder, id(10, 1), 1, 5);
    let (_, left) = after_power_cuts(folder.path(), || {
        let path = id(20, 1).path(folder.path());
        fs::copy(id(10, 1).path(folder.path()), &path).unwrap();
        steps::name_changed(&path);
        remove_older_than(folder.path(), id(20, 1)).unwrap()
    });
    for contents in &left.during {
        assert!(newest(folder_of(contents).path()).unwrap().is_some());
    }
    assert_eq!(list(folder.path()).unwrap(), [id(20, 1)]);
}
