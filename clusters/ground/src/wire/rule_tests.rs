//! Every effect, on a wire between sockets: that it takes, by how much, that it ends, and that it leaves the rest be.

use std::time::{Duration, Instant};

use super::bench::{Bench, ROOM};
use super::packet_view::Segment;
use super::packet_view::tests::{is_whole, segment};
use super::queue::MOST_BYTES;
use crate::link_rule::{Effect, Flap, LONGEST_NS, LinkRule, RuleCounts, WHOLE_PPM};
use crate::proto::{FromWire, OBSERVER, ToWire};

/// Ports that are neither the clients' nor the observer's.
const A: u8 = 2;
const B: u8 = 3;
const WAY: [(u8, u8); 1] = [(A, B)];
const ACK: u8 = 0x10;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const MS: u64 = 1_000_000;

fn rule(effect: Effect) -> LinkRule {
    LinkRule::of(effect, 7)
}

/// Frames to a port, each with its number.
fn numbered(to: u8, count: u32) -> Vec<Vec<u8>> {
    let frame = |n: u32| {
        let mut frame = vec![0; 60];
        frame[..6].copy_from_slice(&[2, 0, 10, 9, 0, to]);
        frame[20..24].copy_from_slice(&n.to_be_bytes());
        frame
    };
    (0..count).map(frame).collect()
}

fn number(frame: &[u8]) -> u32 {
    u32::from_be_bytes(frame[20..24].try_into().unwrap())
}

fn numbers(frames: &[Vec<u8>]) -> Vec<u32> {
    frames.iter().map(|frame| number(frame)).collect()
}

/// Frames pass, all of them and at once.
fn is_whole_again(bench: &Bench) {
    let frames = numbered(B, 100);
    assert_eq!(bench.exchange(A, B, &frames), frames);
}

fn struck_share(counts: &RuleCounts) -> f64 {
    counts.struck as f64 / counts.offered as f64
}

#[test]
fn a_one_way_cut_passes_nothing_one_way_and_everything_the_other() {
    let bench = Bench::new(4);
    bench.set_rule(1, &WAY, rule(Effect::Cut));
    let (to, back) = (numbered(B, 500), numbered(A, 500));
    assert!(bench.exchange(A, B, &to).is_empty());
    assert_eq!(bench.exchange(B, A, &back), back);
    let counts = bench.rule_counts(1);
    assert_eq!((counts.offered, counts.struck, counts.delivered), (500, 500, 0));
    assert_eq!((counts.links, counts.links_met), (1, 1));
    let link = bench.link(A, B);
    assert!(link.cut && link.dropped == 500 && link.passed == 0, "{link:?}");
    bench.clear_rule(1);
    is_whole_again(&bench);
    assert!(!bench.link(A, B).cut);
}

#[test]
fn a_port_is_cut_and_the_rest_of_the_pair_is_not() {
    let bench = Bench::new(4);
    let cut = LinkRule {
        port: Some(9093),
        ..rule(Effect::Cut)
    };
    bench.set_rule(1, &WAY, cut);
    let data = segment(B, [40_000, 9092], ACK, b"data");
    let to = segment(B, [40_000, 9093], ACK, b"control");
    let from = segment(B, [9093, 40_000], ACK, b"control");
    let other = numbered(B, 1).remove(0);
    let arrived = bench.exchange(A, B, &[data.clone(), to, from, other.clone()]);
    assert_eq!(arrived, [data, other]);
    let counts = bench.rule_counts(1);
    assert_eq!((counts.offered, counts.struck), (2, 2));
}

#[test]
fn healing_one_of_two_cuts_leaves_the_other() {
    let bench = Bench::new(4);
    bench.set_rule(1, &[(A, B), (B, A)], rule(Effect::Cut));
    bench.set_rule(2, &WAY, rule(Effect::Cut));
    let frames = numbered(B, 20);
    assert!(bench.exchange(A, B, &frames).is_empty());
    bench.clear_rule(1);
    assert!(bench.exchange(A, B, &frames).is_empty());
    assert_eq!(bench.exchange(B, A, &numbered(A, 20)).len(), 20);
    assert_eq!(bench.rule_counts(2).struck, 40, "each rule meets all");
    bench.clear_rule(2);
    is_whole_again(&bench);
}

#[test]
fn thirty_percent_are_lost_where_thirty_are_asked() {
    let bench = Bench::new(4);
    bench.set_rule(1, &WAY, rule(Effect::Loss { ppm: 300_000 }));
    let frames = numbered(B, 4000);
    let arrived = bench.exchange(A, B, &frames);
    let counts = bench.rule_counts(1);
    assert_eq!(counts.offered, 4000);
    assert!((0.27..=0.33).contains(&struck_share(&counts)), "{counts:?}");
    assert_eq!(arrived.len() as u64, 4000 - counts.struck);
    assert_eq!(counts.delivered, arrived.len() as u64);
    let back = numbered(A, 500);
    assert_eq!(bench.exchange(B, A, &back), back);
    bench.clear_rule(1);
    is_whole_again(&bench);
}

#[test]
fn a_seed_repeats_its_draws_whatever_else_is_on_the_link() {
    let bench = Bench::new(4);
    let lost = |seed, beside: Option<Effect>| {
        if let Some(beside) = beside {
            bench.set_rule(1, &WAY, rule(beside));
        }
        bench.set_rule(2, &WAY, LinkRule::of(Effect::Loss { ppm: 300_000 }, seed));
        let arrived = numbers(&bench.exchange(A, B, &numbered(B, 200)));
        bench.clear_rule(1);
        bench.clear_rule(2);
        arrived
    };
    let alone = lost(5, None);
    assert_eq!(alone, lost(5, None));
    assert_ne!(alone, lost(6, None));
    let besides = lost(5, Some(Effect::Loss { ppm: 500_000 }));
    assert!(besides.len() < alone.len() && besides.iter().all(|n| alone.contains(n)));
}

/// Sends frames a millisecond apart, or later where a socket might be full before it is read, and waits until all were
/// held and delivered.
fn held(bench: &Bench, fault: u64, count: u32) -> (RuleCounts, Vec<Vec<u8>>) {
    let mut arrived = Vec::new();
    for frame in numbered(B, count) {
        bench.put(A, &frame);
        let sent = number(&frame) as usize + 1;
        loop {
            std::thread::sleep(Duration::from_millis(1));
            arrived.extend(bench.arrived(B));
            if sent - arrived.len() < ROOM {
                break;
            }
        }
    }
    let deadline = Instant::now() + Duration::from_secs(10);
    while arrived.len() < count as usize && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
        arrived.extend(bench.arrived(B));
    }
    (bench.rule_counts(fault), arrived)
}

#[test]
fn ten_milliseconds_asked_are_nine_to_thirteen() {
    let bench = Bench::new(4);
    let effect = Effect::Delay {
        delay_ns: 10 * MS,
        jitter_ns: 0,
    };
    // On a machine that is busy with something else, one of a few times.
    let on_time = (0..5).any(|_| {
        bench.set_rule(1, &WAY, rule(effect));
        let (counts, arrived) = held(&bench, 1, 100);
        assert_eq!(
            numbers(&arrived),
            (0..100).collect::<Vec<_>>(),
            "all, and in order"
        );
        let held = counts.held.unwrap();
        assert_eq!((counts.struck, counts.delivered, counts.overtaken), (100, 100, 0));
        assert!(
            held.min_ns >= 10 * MS && held.max_ns >= held.median_ns,
            "{held:?}"
        );
        (9 * MS..=13 * MS).contains(&held.median_ns)
    });
    assert!(on_time, "{:?}", bench.rule_counts(1));
    let back = numbered(A, 50);
    assert_eq!(bench.exchange(B, A, &back), back, "the other way is not delayed");
    bench.clear_rule(1);
    is_whole_again(&bench);
}

#[test]
fn jitter_reorders_and_stays_within_its_bounds() {
    let bench = Bench::new(4);
    let effect = Effect::Delay {
        delay_ns: 20 * MS,
        jitter_ns: 15 * MS,
    };
    bench.set_rule(1, &WAY, rule(effect));
    let (counts, arrived) = held(&bench, 1, 200);
    let mut order = numbers(&arrived);
    assert!(!order.is_sorted());
    order.sort_unstable();
    assert_eq!(order, (0..200).collect::<Vec<_>>());
    assert!(counts.overtaken > 10, "{counts:?}");
    let held = counts.held.unwrap();
    assert!((5 * MS..10 * MS).contains(&held.min_ns), "{held:?}");
    assert!(held.max_ns >= 30 * MS, "{held:?}");
}

#[test]
fn delays_add_and_each_is_measured_by_itself() {
    let bench = Bench::new(4);
    for (fault, delay_ns) in [(1, 20 * MS), (2, 30 * MS)] {
        let jitter_ns = 0;
        bench.set_rule(fault, &WAY, rule(Effect::Delay { delay_ns, jitter_ns }));
    }
    let began = Instant::now();
    bench.put(A, &numbered(B, 1)[0]);
    bench.await_rule(1, |counts| counts.delivered == 1);
    assert!(began.elapsed() >= Duration::from_millis(50));
    let [one, two] = [1, 2].map(|fault| bench.rule_counts(fault).held.unwrap().min_ns);
    assert!(one >= 20 * MS && two >= 30 * MS && two - one == 10 * MS);
}

#[test]
fn what_waits_is_delivered_when_its_fault_heals() {
    let bench = Bench::new(4);
    let effect = Effect::Delay {
        delay_ns: LONGEST_NS,
        jitter_ns: LONGEST_NS / 2,
    };
    bench.set_rule(1, &WAY, rule(effect));
    let frames = numbered(B, ROOM as u32);
    frames.iter().for_each(|frame| bench.put(A, frame));
    bench.await_rule(1, |counts| counts.struck == ROOM as u64);
    assert!(bench.arrived(B).is_empty());
    bench.clear_rule(1);
    assert_eq!(
        bench.arrived(B).len(),
        ROOM,
        "by the time that the heal is answered"
    );
    is_whole_again(&bench);
}

#[test]
fn what_waits_is_dropped_by_a_cut_or_a_pulled_cable() {
    let mut bench = Bench::new(4);
    let effect = Effect::Delay {
        delay_ns: 50 * MS,
        jitter_ns: 0,
    };
    bench.set_rule(1, &WAY, rule(effect));
    let send = |bench: &Bench| {
        let before = bench.rule_counts(1).struck;
        bench.put(A, &numbered(B, 1)[0]);
        bench.await_rule(1, |counts| counts.struck == before + 1);
    };
    send(&bench);
    bench.set_rule(2, &WAY, rule(Effect::Cut));
    assert_eq!(bench.await_rule(2, |counts| counts.struck == 1).offered, 1);
    bench.clear_rule(2);
    send(&bench);
    bench.ask(ToWire::Unplug { ports: vec![B] });
    bench.nodes[usize::from(B)] = bench.plug(B);
    std::thread::sleep(Duration::from_millis(60));
    assert!(bench.arrived(B).is_empty());
    assert_eq!(bench.rule_counts(1).delivered, 0);
    // The rule is as it was.
    send(&bench);
    bench.await_rule(1, |counts| counts.delivered == 1);
}

#[test]
fn what_does_not_fit_the_queue_is_unasked_loss() {
    let bench = Bench::new(4);
    let effect = Effect::Delay {
        delay_ns: LONGEST_NS,
        jitter_ns: 0,
    };
    bench.set_rule(1, &WAY, rule(effect));
    let mut big = vec![0; 65_536];
    big[..6].copy_from_slice(&[2, 0, 10, 9, 0, B]);
    let fit = MOST_BYTES / big.len();
    for _ in 0..fit + 3 {
        bench.put(A, &big);
    }
    let counts = bench.await_rule(1, |counts| counts.offered == fit as u64 + 3);
    assert_eq!(counts.overflowed, 3);
    assert_eq!(bench.link(A, B).unasked, 3);
    bench.ask(ToWire::Unplug { ports: vec![B] });
}

#[test]
fn doubled_frames_arrive_twice() {
    let bench = Bench::new(4);
    bench.set_rule(1, &WAY, rule(Effect::Duplicate { ppm: 250_000 }));
    let arrived = numbers(&bench.exchange(A, B, &numbered(B, 1000)));
    let counts = bench.rule_counts(1);
    assert!((0.21..=0.29).contains(&struck_share(&counts)), "{counts:?}");
    assert_eq!(arrived.len() as u64, 1000 + counts.struck);
    assert!(arrived.is_sorted());
    let doubled = arrived.windows(2).filter(|two| two[0] == two[1]).count();
    assert_eq!(doubled as u64, counts.struck);
    bench.clear_rule(1);
    is_whole_again(&bench);
}

#[test]
fn held_back_frames_are_overtaken() {
    let bench = Bench::new(4);
    let effect = Effect::Reorder {
        ppm: 200_000,
        hold_ns: 10 * MS,
    };
    bench.set_rule(1, &WAY, rule(effect));
    let (counts, arrived) = held(&bench, 1, 200);
    let order = numbers(&arrived);
    assert_eq!(order.len(), 200);
    assert!(!order.is_sorted());
    assert!((0.1..=0.3).contains(&struck_share(&counts)), "{counts:?}");
    assert!(counts.overtaken > counts.struck / 2, "{counts:?}");
    bench.clear_rule(1);
    is_whole_again(&bench);
}

#[test]
fn flipped_bits_show_in_the_checksum() {
    let bench = Bench::new(4);
    bench.set_rule(1, &WAY, rule(Effect::Corrupt { ppm: 200_000 }));
    let frame = segment(B, [1, 2], ACK, b"some data");
    let arrived = bench.exchange(A, B, &vec![frame.clone(); 1000]);
    let counts = bench.rule_counts(1);
    assert!((0.16..=0.24).contains(&struck_share(&counts)), "{counts:?}");
    let flipped: Vec<_> = arrived.iter().filter(|arrived| **arrived != frame).collect();
    assert_eq!((arrived.len(), flipped.len() as u64), (1000, counts.struck));
    assert!(
        flipped.iter().all(|flipped| !is_whole(flipped)),
        "no application sees one"
    );
    let bits = |other: &[u8]| -> u32 {
        let pairs = frame.iter().zip(other);
        pairs.map(|(a, b)| (a ^ b).count_ones()).sum()
    };
    assert!(flipped.iter().all(|flipped| bits(flipped) == 1));
    // What is no packet is not met.
    bench.exchange(A, B, &numbered(B, 50));
    assert_eq!(bench.rule_counts(1).offered, 1000);
    bench.clear_rule(1);
    is_whole_again(&bench);
}

#[test]
fn flipped_bits_past_the_checksum_are_in_the_data_and_whole() {
    let bench = Bench::new(4);
    bench.set_rule(1, &WAY, rule(Effect::CorruptPastChecksum { ppm: 500_000 }));
    let (data, alone) = (
        segment(B, [1, 2], ACK, b"some data"),
        segment(B, [1, 2], ACK, b""),
    );
    let arrived = bench.exchange(A, B, &vec![data.clone(); 400]);
    let counts = bench.rule_counts(1);
    let flipped: Vec<_> = arrived.iter().filter(|arrived| **arrived != data).collect();
    assert_eq!(flipped.len() as u64, counts.struck);
    assert!((0.4..=0.6).contains(&struck_share(&counts)), "{counts:?}");
    assert!(
        flipped
            .iter()
            .all(|flipped| is_whole(flipped) && flipped[54..] != data[54..])
    );
    let alone = vec![alone; 50];
    assert_eq!(bench.exchange(A, B, &alone), alone);
    assert_eq!(bench.rule_counts(1).offered, 400);
}

#[test]
fn a_rate_is_kept_and_a_full_queue_drops() {
    let bench = Bench::new(4);
    let effect = Effect::Bandwidth {
        bits_per_second: 1_000_000,
        queue_bytes: 5_000,
    };
    bench.set_rule(1, &WAY, rule(effect));
    let mut frame = vec![0; 1000];
    frame[..6].copy_from_slice(&[2, 0, 10, 9, 0, B]);
    let began = Instant::now();
    // 8 ms each: the first is on its way, so many wait, the rest find no room.
    for _ in 0..8 {
        bench.put(A, &frame);
    }
    let counts = bench.await_rule(1, |counts| counts.delivered + counts.overflowed == 8);
    let took = began.elapsed();
    assert!((5..=7).contains(&counts.delivered), "{counts:?}");
    assert!(
        took >= Duration::from_millis(8 * counts.delivered),
        "{took:?} {counts:?}"
    );
    assert!(counts.held.unwrap().min_ns >= 8 * MS);
    assert_eq!(bench.link(A, B).unasked, 0, "it was asked for");
    assert_eq!(bench.arrived(B).len() as u64, counts.delivered);
    bench.clear_rule(1);
    is_whole_again(&bench);
}

#[test]
fn an_established_connection_is_reset_at_both_ends() {
    let bench = Bench::new(4);
    bench.set_rule(1, &WAY, rule(Effect::Reset { ppm: WHOLE_PPM }));
    let syn = segment(B, [1, 2], SYN, b"");
    assert_eq!(bench.exchange(A, B, std::slice::from_ref(&syn)), [syn]);
    let arrived = bench.exchange(A, B, &[segment(B, [1, 2], ACK, b"data")]);
    let resets = [arrived, bench.arrived(A)].concat();
    assert_eq!(resets.len(), 2);
    for reset in &resets {
        assert!(is_whole(reset) && Segment::of(reset).is_some());
        assert_eq!(reset[47], RST);
    }
    let counts = bench.rule_counts(1);
    assert_eq!((counts.offered, counts.struck, counts.delivered), (1, 1, 0));
    bench.clear_rule(1);
    is_whole_again(&bench);
}

#[test]
fn long_packets_vanish_and_short_ones_pass() {
    let bench = Bench::new(4);
    bench.set_rule(1, &WAY, rule(Effect::BlackHole { mtu_bytes: 1000 }));
    let [fits, long] = [1000, 1001].map(|mtu: usize| segment(B, [1, 2], ACK, &vec![0; mtu - 40]));
    let frames = [fits.clone(), long.clone(), fits.clone(), long];
    assert_eq!(bench.exchange(A, B, &frames), [fits.clone(), fits]);
    let counts = bench.rule_counts(1);
    assert_eq!((counts.offered, counts.struck, counts.delivered), (4, 2, 2));
    bench.clear_rule(1);
    assert_eq!(bench.exchange(A, B, &frames).len(), 4);
}

#[test]
fn a_flapping_link_is_cut_and_whole_in_turns() {
    let bench = Bench::new(4);
    let flap = Flap {
        on_ns: 40 * MS,
        off_ns: 20 * MS,
    };
    let rule = LinkRule {
        flap: Some(flap),
        ..rule(Effect::Cut)
    };
    bench.set_rule(1, &WAY, rule);
    let began = Instant::now();
    let (mut sent, mut arrived) = (0, 0);
    while began.elapsed() < Duration::from_millis(600) {
        arrived += bench.exchange(A, B, &numbered(B, 1)).len() as u64;
        sent += 1;
        std::thread::sleep(Duration::from_millis(1));
    }
    let counts = bench.rule_counts(1);
    assert_eq!((counts.struck, counts.spared), (sent - arrived, arrived));
    assert!(
        (0.5..=0.85).contains(&(counts.struck as f64 / sent as f64)),
        "{counts:?}"
    );
    bench.clear_rule(1);
    is_whole_again(&bench);
}

#[test]
fn the_observers_links_are_touched_by_a_stopped_machine_alone() {
    let bench = Bench::new(4);
    let ask = |pairs: &[(u8, u8)], effect| {
        bench.ask(ToWire::SetRule {
            fault: 1,
            pairs: pairs.to_vec(),
            rule: rule(effect),
        })
    };
    let refused = |answer| matches!(answer, FromWire::Failed { .. });
    assert!(refused(ask(&[(A, B), (A, OBSERVER)], Effect::Cut)));
    assert!(refused(ask(&[(OBSERVER, A)], Effect::Loss { ppm: 1 })));
    is_whole_again(&bench);
    assert!(!refused(ask(&[(A, OBSERVER), (OBSERVER, A)], Effect::Silence)));
    assert!(bench.exchange(OBSERVER, A, &numbered(A, 5)).is_empty());
}

#[test]
fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let bench = Bench::new(4);
    let refused = |message| matches!(bench.ask(message), FromWire::Failed { .. });
    let set = |pairs: &[(u8, u8)], effect| ToWire::SetRule {
        fault: 1,
        pairs: pairs.to_vec(),
        rule: rule(effect),
    };
    assert!(refused(set(&[(A, 64)], Effect::Cut)));
    assert!(refused(set(&WAY, Effect::Loss { ppm: WHOLE_PPM + 1 })));
    assert!(refused(ToWire::RuleCounts { fault: 1 }));
    assert!(refused(ToWire::Free { pairs: vec![(64, A)] }));
    is_whole_again(&bench);
    bench.clear_rule(1);
}

#[test]
fn a_rule_replaces_the_faults_earlier_one_and_links_say_whether_they_are_free() {
    let bench = Bench::new(4);
    let free = |pairs: &[(u8, u8)]| match bench.ask(ToWire::Free {
        pairs: pairs.to_vec(),
    }) {
        FromWire::Free { free } => free,
        other => panic!("{other:?}"),
    };
    let all = [(A, B), (B, A), (A, 9)];
    assert_eq!(free(&all), [true, true, false]);
    bench.set_rule(1, &[(A, B), (A, B)], rule(Effect::Cut));
    bench.exchange(A, B, &numbered(B, 3));
    assert_eq!(bench.rule_counts(1).links, 1);
    assert_eq!(free(&all), [false, true, false]);
    bench.set_rule(1, &[(B, A)], rule(Effect::Loss { ppm: 0 }));
    assert_eq!(free(&all), [true, false, false]);
    assert_eq!(bench.rule_counts(1).offered, 0);
    is_whole_again(&bench);
}
