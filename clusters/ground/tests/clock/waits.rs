//! Waits on clocks that are false end when they should.

use std::time::{Duration, Instant};

use ground::ClockRule;

use crate::scenarios::{Bench, Client, SECOND, step};

/// Those that wait for the wall clock to show something.
const WALL: &[&str] = &["nanosleep", "pthread-wall", "timerfd-wall", "semaphore"];
/// Those that wait for the monotonic clock to show something.
const MONOTONIC: &[&str] = &[
    "park",
    "condvar",
    "channel",
    "pthread-monotonic",
    "timerfd-monotonic",
];
/// Those that wait for a time to pass.
const RELATIVE: &[&str] = &["sleep"];

/// Those that wait for a time to pass, and then again if the monotonic clock does not show it; woken meanwhile by
/// something else, they go by that clock alone.
const BOTH: &[&str] = &["tokio"];

/// What a wait of 200 ms may be late by on a busy machine. One on the wrong clock would take hours, or no time.
const LATE: Duration = Duration::from_millis(400);

pub fn check(bench: &Bench) {
    let address = bench.power(1);
    bench.start(1, &["{self}", "__app"]);
    // Each way on a connection of its own, all at once.
    let all = |wall_ms: u64, monotonic_ms: u64, relative_ms: u64| {
        let both_ms = monotonic_ms.max(relative_ms);
        std::thread::scope(|scope| {
            for (ways, least_ms, most_ms) in [
                (WALL, wall_ms, wall_ms),
                (MONOTONIC, monotonic_ms, monotonic_ms),
                (RELATIVE, relative_ms, relative_ms),
                (BOTH, monotonic_ms, both_ms),
            ] {
                for way in ways {
                    scope.spawn(move || takes(&mut Client::of(address), way, [least_ms, most_ms]));
                }
            }
        });
    };
    all(200, 200, 200);
    // An hour ahead, two behind.
    for step_s in [3600, -7200] {
        bench.ground.set_clock(1, 1, step(step_s * SECOND)).unwrap();
        all(200, 200, 200);
    }
    // Both clocks at twice the speed, and a minute on: a wait for them takes half the time.
    let both = ClockRule {
        rate_ppm: 1_000_000,
        monotonic: true,
        ..step(60 * SECOND)
    };
    bench.ground.set_clock(1, 2, both).unwrap();
    all(100, 100, 200);
    // At half the speed, twice the time. The monotonic clock is a minute and more ahead for good.
    let slow = ClockRule {
        rate_ppm: -500_000,
        ..both
    };
    bench
        .ground
        .set_clock(1, 2, ClockRule { step_ns: 0, ..slow })
        .unwrap();
    all(400, 400, 200);
    bench.ground.clear_clock(1, 2).unwrap();
    bench.ground.clear_clock(1, 1).unwrap();
    all(200, 200, 200);
}

fn takes(client: &mut Client, way: &str, ms: [u64; 2]) {
    let began = Instant::now();
    client.ask(&format!("{way} 200"));
    let (took, [least, most]) = (began.elapsed(), ms.map(Duration::from_millis));
    assert!(
        least <= took + Duration::from_millis(1) && took < most + LATE,
        "{way}: {took:?} instead of {least:?} to {most:?}"
    );
}
