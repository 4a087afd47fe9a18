//! Power cuts of several nodes, in bad moments, and what they leave by policy and profile.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ground::{Event, Ground, Policy, PowerCut, Profile, Remainder, Signal};

use crate::client::{Client, await_answer};
use crate::scenarios::{Bench, LONG};

/// From the cut until the last process is gone; a few ms are usual.
const DEAD: Duration = Duration::from_secs(2);

/// A zone: what the test works on.
pub struct Zone<'a> {
    pub bench: &'a Bench,
    pub addresses: [std::net::Ipv4Addr; 3],
}

impl Zone<'_> {
    pub fn check(&self) {
        self.policies_choose_what_is_left();
        self.profiles_differ();
        self.a_zone_dies_in_silence();
        self.a_kill_among_them_is_heard();
        self.a_cut_during_a_controlled_stop();
        self.a_cut_during_recovery();
    }

    fn ground(&self) -> &Ground {
        &self.bench.ground
    }

    fn disk(&self, node: i32, file: &str) -> PathBuf {
        self.bench.home(node).join("disk").join(file)
    }

    fn client(&self, node: i32) -> Client {
        await_answer(self.addresses[node as usize - 1])
    }

    fn cut(&self, nodes: &[i32], fault: u64, policy: Policy) -> Vec<PowerCut> {
        let cuts = self.ground().power_off(nodes, fault, policy).unwrap();
        for cut in &cuts {
            let took = Duration::from_nanos(cut.dead_at_ns - cut.cut_at_ns);
            assert!(took < DEAD, "{cut:?}");
            assert_eq!(cut.cut_at_ns, cuts[0].cut_at_ns);
        }
        assert_eq!(cuts.len(), nodes.len());
        cuts
    }

    fn back(&self, nodes: &[i32]) {
        for node in nodes {
            self.ground().power_on(*node).unwrap();
            self.bench.start_app(*node);
            drop(self.client(*node));
        }
    }

    fn policies_choose_what_is_left(&self) {
        let expected = [
            (Remainder::OnlySynced, None, (4, 0)),
            (Remainder::NamesWithoutData, Some(""), (4, 0)),
            (Remainder::Everything, Some("text"), (0, 4)),
        ];
        for (fault, (remainder, left, bytes)) in (20..).zip(expected) {
            let file = format!("by-{}", remainder.word());
            assert_eq!(
                self.client(1).ask(&format!("write {file} no text")).unwrap(),
                "ok"
            );
            let cut = self.cut(&[1], fault, remainder.into()).remove(0);
            assert_eq!((cut.loss.bytes, cut.loss.kept_unsynced), bytes, "{remainder:?}");
            let is = fs::read_to_string(self.disk(1, &file)).ok();
            assert_eq!(is.as_deref(), left, "{remainder:?}");
            self.back(&[1]);
        }
    }

    fn profiles_differ(&self) {
        for (fault, profile, comes_back) in [(30, Profile::Ext4, false), (31, Profile::PosixStrict, true)] {
            let mut client = self.client(2);
            for question in ["write marker sync text", "remove marker", "write log data text"] {
                assert_eq!(client.ask(question).unwrap(), "ok", "{question}");
            }
            let policy = Policy {
                profile,
                ..Policy::default()
            };
            self.cut(&[2], fault, policy);
            assert_eq!(self.disk(2, "marker").exists(), comes_back, "{profile:?}");
            self.back(&[2]);
        }
    }

    /// Nodes 2 and 3 hold a connection to 1, and write down when they hear of its end.
    fn hold(&self) {
        for node in [2, 3] {
            let question = format!("hold {}", self.addresses[0]);
            assert_eq!(self.client(node).ask(&question).unwrap(), "ok");
        }
    }

    fn a_zone_dies_in_silence(&self) {
        self.hold();
        // Whatever was written, however late, is kept: had a node heard of another's end, it would be there.
        self.cut(&[1, 2, 3], 40, Remainder::Everything.into());
        for node in [2, 3] {
            assert!(!self.disk(node, "heard").exists(), "node {node} heard of it");
        }
        self.back(&[1, 2, 3]);
    }

    fn a_kill_among_them_is_heard(&self) {
        self.hold();
        self.ground().signal(1, Signal::Kill).unwrap();
        for node in [2, 3] {
            self.await_file(node, "heard");
        }
        match self.bench.events.recv_timeout(LONG).unwrap() {
            Event::ProgramEnded { node: 1, .. } => {}
            other => panic!("{other:?}"),
        }
        self.bench.start_app(1);
        drop(self.client(1));
    }

    fn a_cut_during_a_controlled_stop(&self) {
        self.run(
            1,
            "trap 'echo half >stopping; sleep 60' TERM; echo >up; sleep 60 & wait",
        );
        self.await_file(1, "up");
        self.ground().signal(1, Signal::Terminate).unwrap();
        self.await_file(1, "stopping");
        let cut = self.cut(&[1], 50, Policy::default()).remove(0);
        assert!(cut.loss.bytes >= 5, "{cut:?}");
        assert!(!self.disk(1, "stopping").exists());
        let saved = self.bench.home(1).join("lost/50/stopping@0");
        assert_eq!(fs::read_to_string(saved).unwrap(), "half\n");
        self.ground().power_on(1).unwrap();
    }

    /// Power comes back, and goes again: before a program runs, as it starts, and while it puts its files in order.
    fn a_cut_during_recovery(&self) {
        self.cut(&[1], 60, Policy::default());
        self.ground().power_on(1).unwrap();
        self.bench
            .ground
            .start(1, self.bench.program(1, &["sleep", "60"]))
            .unwrap();
        self.cut(&[1], 61, Policy::default());
        for fault in 62..65 {
            self.ground().power_on(1).unwrap();
            self.run(1, "echo half >recovered; echo >recovering; sleep 60");
            self.await_file(1, "recovering");
            self.cut(&[1], fault, Policy::default());
            assert!(!self.disk(1, "recovered").exists(), "of a life that is over");
        }
        let ledger = fs::read_to_string(self.bench.home(1).join("disk-ledger.jsonl")).unwrap();
        for fault in 60..65 {
            let line = |line: &&str| line.contains(&format!("\"fault\":{fault},"));
            assert_eq!(ledger.lines().filter(line).count(), 1, "{fault}: {ledger}");
        }
        self.back(&[1]);
        assert!(
            self.bench.events.try_recv().is_err(),
            "a power cut ends programs without an event"
        );
    }

    /// Runs a shell's script in place of the node's program.
    fn run(&self, node: i32, script: &str) {
        if self.ground().signal(node, Signal::Kill).is_ok() {
            // Its own program, where one ran.
            while self.bench.events.recv_timeout(Duration::from_millis(50)).is_ok() {}
        }
        let program = self.bench.program(node, &["sh", "-c", script]);
        self.ground().start(node, program).unwrap();
    }

    fn await_file(&self, node: i32, file: &str) {
        let deadline = Instant::now() + LONG;
        while !self.disk(node, file).exists() {
            assert!(Instant::now() < deadline, "node {node} makes no {file}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
