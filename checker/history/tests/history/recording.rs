//! What is recorded can be read, and entries from many threads stand in the order of their times.

use crate::samples;
use history::*;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Writes where the test can look; each `write` counts.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<(Vec<u8>, usize)>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut shared = self.0.lock().unwrap();
        shared.0.extend(bytes);
        shared.1 += 1;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn each_entry_is_one_write_that_has_happened_when_record_returns() {
    let file = Shared::default();
    let recorder = Recorder::new(file.clone(), &samples::header(), Instant::now()).unwrap();
    for (place, body) in samples::bodies().into_iter().enumerate() {
        assert_eq!(
            recorder.record(Process::Observer, Kind::Ok, body).unwrap(),
            place as u64
        );
        let (bytes, writes) = &*file.0.lock().unwrap();
        assert_eq!(*writes, place + 2);
        assert_eq!(read(&**bytes).unwrap().entries.len(), place + 1);
    }
}

#[test]
fn threads_may_share_a_recorder() {
    const THREADS: u64 = 4;
    const EACH: usize = 200;
    let file = Shared::default();
    let recorder = Recorder::new(file.clone(), &samples::header(), Instant::now()).unwrap();
    std::thread::scope(|scope| {
        for client in 0..THREADS {
            let recorder = &recorder;
            scope.spawn(move || {
                for body in samples::bodies().into_iter().cycle().take(EACH) {
                    recorder.record(Process::Client(client), Kind::Ok, body).unwrap();
                }
            });
        }
    });
    let history = read(&*file.0.lock().unwrap().0).unwrap();
    assert_eq!(history.entries.len(), THREADS as usize * EACH);
    assert_eq!(history.dropped, None);
}

/// A disk that is full.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::from(io::ErrorKind::StorageFull))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error() {
    let error = Recorder::new(Full, &samples::header(), Instant::now())
        .err()
        .unwrap();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}

#[test]
fn what_was_before_the_clocks_zero_is_at_zero() {
    let before = Instant::now();
    let began = Instant::now();
    let recorder = Recorder::new(Shared::default(), &samples::header(), began).unwrap();
    assert_eq!(recorder.at(before), 0);
    assert!(recorder.now() <= recorder.now());
}
