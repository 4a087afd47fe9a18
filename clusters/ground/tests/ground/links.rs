//! One node, and every fault of its links, as real TCP sees it; the observer sees none of it.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use ground::{Effect, Ground, LinkRule, Policy, Port, RuleCounts, WHOLE_PPM};

use crate::app::PORT;
use crate::client::{Client, await_answer};

const TO: (Port, Port) = (Port::Clients, Port::Node(1));
const BACK: (Port, Port) = (Port::Node(1), Port::Clients);
const BRIEF: Duration = Duration::from_millis(400);
const LONG: Duration = Duration::from_secs(20);
const MS: u64 = 1_000_000;
const FAULT: u64 = 3;

struct Links<'a> {
    ground: &'a Ground,
    address: Ipv4Addr,
}

/// Checks all of it on the links between the clients and a node whose program answers.
pub fn check(ground: &Ground, address: Ipv4Addr) {
    let links = Links { ground, address };
    drop(await_answer(address));
    links.a_delay_is_measured_where_it_is_exact();
    links.one_ports_traffic_is_cut();
    links.lost_and_doubled_and_reordered_frames_are_made_good();
    links.a_flipped_bit_never_reaches_an_application_unless_asked();
    links.a_slow_link_takes_its_time();
    links.a_connection_is_reset();
    links.long_packets_vanish();
    links.faults_overlap();
    links.a_rule_outlives_the_power();
    links.what_cannot_be_done_is_refused();
}

impl Links<'_> {
    fn set(&self, fault: u64, links: &[(Port, Port)], effect: Effect) {
        self.ground
            .set_rule(fault, links, LinkRule::of(effect, 11))
            .unwrap();
    }

    fn counts(&self, fault: u64) -> RuleCounts {
        self.ground.rule_counts(fault).unwrap()
    }

    /// Heals; after that all is as it was.
    fn heal(&self, fault: u64) {
        self.ground.clear_rule(fault).unwrap();
        assert!(self.ground.rule_counts(fault).is_err());
        assert_eq!(self.ground.free_links(&[TO, BACK]).unwrap(), [true, true]);
        let (mut client, began) = (self.connect(), Instant::now());
        assert_eq!(client.ask("echo healed").unwrap(), "healed");
        assert!(began.elapsed() < LONG);
    }

    fn connect(&self) -> Client {
        Client::connect(self.address, LONG).unwrap()
    }

    fn observed(&self) {
        let mut observer = Client::observe(self.address, LONG).unwrap();
        assert_eq!(observer.ask("echo seen").unwrap(), "seen");
    }

    fn a_delay_is_measured_where_it_is_exact(&self) {
        let effect = Effect::Delay {
            delay_ns: 10 * MS,
            jitter_ns: 0,
        };
        self.set(FAULT, &[TO, BACK], effect);
        let mut client = self.connect();
        // On a machine that is busy with something else, one of a few times.
        let on_time = (0..5).any(|_| {
            for _ in 0..20 {
                let began = Instant::now();
                assert_eq!(client.ask("echo late").unwrap(), "late");
                assert!(began.elapsed() >= Duration::from_millis(20));
            }
            let held = self.counts(FAULT).held.unwrap();
            assert!(held.min_ns >= 10 * MS, "{held:?}");
            held.median_ns <= 13 * MS
        });
        assert!(on_time, "{:?}", self.counts(FAULT));
        assert_eq!(self.counts(FAULT).links_met, 2);
        self.observed();
        self.heal(FAULT);
    }

    fn one_ports_traffic_is_cut(&self) {
        let cut = |port| LinkRule {
            port: Some(port),
            ..LinkRule::of(Effect::Cut, 0)
        };
        self.ground.set_rule(FAULT, &[TO], cut(PORT + 1)).unwrap();
        assert_eq!(self.connect().ask("echo other").unwrap(), "other");
        assert_eq!(self.counts(FAULT).offered, 0);
        self.ground.set_rule(FAULT, &[TO], cut(PORT)).unwrap();
        assert!(Client::connect(self.address, BRIEF).is_err());
        let counts = self.counts(FAULT);
        assert!(counts.struck > 0 && counts.delivered == 0, "{counts:?}");
        self.observed();
        self.heal(FAULT);
    }

    fn lost_and_doubled_and_reordered_frames_are_made_good(&self) {
        let ppm = 100_000;
        for effect in [
            Effect::Loss { ppm },
            Effect::Duplicate { ppm },
            Effect::Reorder { ppm, hold_ns: 2 * MS },
        ] {
            self.set(FAULT, &[TO, BACK], effect);
            let mut client = self.connect();
            // Enough to draw from.
            while self.counts(FAULT).offered < 400 {
                self.echoes(&mut client, 4_000);
            }
            let counts = self.counts(FAULT);
            let share = counts.struck as f64 / counts.offered as f64;
            assert!((0.04..=0.16).contains(&share), "{effect:?} {counts:?}");
            self.heal(FAULT);
        }
    }

    /// A long word comes back as it was.
    fn echoes(&self, client: &mut Client, length: usize) {
        let word: String = (0..length).map(|n| char::from(b'a' + (n % 23) as u8)).collect();
        let answer = client.ask(&format!("echo {word}")).unwrap();
        assert!(
            answer == word,
            "{} bytes of {length} came back changed",
            answer.len()
        );
    }

    fn a_flipped_bit_never_reaches_an_application_unless_asked(&self) {
        self.set(FAULT, &[TO, BACK], Effect::Corrupt { ppm: 100_000 });
        let mut client = self.connect();
        while self.counts(FAULT).struck < 30 {
            self.echoes(&mut client, 4_000);
        }
        self.heal(FAULT);
        let past = Effect::CorruptPastChecksum { ppm: WHOLE_PPM };
        let mut client = self.connect();
        self.set(FAULT, &[BACK], past);
        let word = "a".repeat(500);
        // A bit may be flipped to the end of a line, or the end of it to something else: then it is no answer at all.
        let changed = (0..20).any(|_| {
            client
                .ask(&format!("echo {word}"))
                .is_ok_and(|answer| answer != word)
        });
        assert!(changed, "{:?}", self.counts(FAULT));
        self.heal(FAULT);
    }

    fn a_slow_link_takes_its_time(&self) {
        let effect = Effect::Bandwidth {
            bits_per_second: 2_000_000,
            queue_bytes: 1_000_000,
        };
        self.set(FAULT, &[TO], effect);
        let (mut client, began) = (self.connect(), Instant::now());
        self.echoes(&mut client, 100_000);
        let took = began.elapsed();
        assert!(
            took >= Duration::from_millis(400),
            "100 kB at 2 Mbit/s took {took:?}"
        );
        self.heal(FAULT);
        let (mut client, began) = (self.connect(), Instant::now());
        self.echoes(&mut client, 100_000);
        assert!(began.elapsed() < took);
    }

    fn a_connection_is_reset(&self) {
        let mut client = self.connect();
        self.echoes(&mut client, 10);
        self.set(FAULT, &[TO], Effect::Reset { ppm: WHOLE_PPM });
        let error = client.ask("echo x").unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
        assert!(self.counts(FAULT).struck > 0);
        self.observed();
        self.heal(FAULT);
    }

    fn long_packets_vanish(&self) {
        let mut client = Client::connect(self.address, BRIEF).unwrap();
        self.set(FAULT, &[TO, BACK], Effect::BlackHole { mtu_bytes: 600 });
        self.echoes(&mut client, 400);
        assert!(client.ask(&format!("echo {}", "x".repeat(1000))).is_err());
        assert!(self.counts(FAULT).struck > 0);
        self.heal(FAULT);
    }

    fn faults_overlap(&self) {
        self.set(1, &[TO, BACK], Effect::Cut);
        self.set(2, &[TO], Effect::Cut);
        assert!(Client::connect(self.address, BRIEF).is_err());
        self.ground.clear_rule(1).unwrap();
        assert_eq!(self.ground.free_links(&[TO, BACK]).unwrap(), [false, true]);
        assert!(Client::connect(self.address, BRIEF).is_err());
        self.heal(2);
    }

    fn a_rule_outlives_the_power(&self) {
        self.set(FAULT, &[TO], Effect::Cut);
        self.ground.power_off(&[1], 9, Policy::default()).unwrap();
        assert_eq!(self.ground.free_links(&[BACK]).unwrap(), [false]);
        self.ground.power_on(1).unwrap();
        assert!(Client::connect(self.address, BRIEF).is_err());
        self.ground.clear_rule(FAULT).unwrap();
        // No program runs, but its kernel answers.
        let refused = Client::connect(self.address, LONG).err().unwrap();
        assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    }

    fn what_cannot_be_done_is_refused(&self) {
        let observers = [(Port::Observer, Port::Node(1))];
        let cut = LinkRule::of(Effect::Cut, 0);
        let why = self.ground.set_rule(FAULT, &observers, cut).unwrap_err().why;
        assert!(why.contains("observer"), "{why}");
        let nobody = [(Port::Node(7), Port::Node(1))];
        assert!(self.ground.set_rule(FAULT, &nobody, cut).is_err());
        let more = LinkRule::of(Effect::Loss { ppm: WHOLE_PPM + 1 }, 0);
        assert!(self.ground.set_rule(FAULT, &[TO], more).is_err());
        assert!(self.ground.rule_counts(FAULT).is_err());
    }
}
