//! Nodes with real disks: powered, cut, and back, as those with disks of ours.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ground::{DiskEffect, DiskKind, DiskRule, DiskSwap, Ground, Policy, PowerCut, Profile, Remainder};

use crate::client::{Client, await_answer};
use crate::scenarios::Bench;

/// Cuts whose cost is measured.
const ROUNDS: u64 = 11;
/// Cut, remount and power on, without the program's own time: the goal, and what a busy machine may make of it.
const COST: Duration = Duration::from_millis(100);
const COST_AT_MOST: Duration = Duration::from_secs(2);

/// What the tests work on: nodes 1 and 2, with power and program.
pub struct Pair<'a> {
    pub bench: &'a Bench,
    pub kind: DiskKind,
    pub addresses: [std::net::Ipv4Addr; 2],
}

impl Pair<'_> {
    pub fn check(&self) {
        self.nobody_but_the_node_sees_its_mount();
        self.a_cut_takes_what_was_not_synced_and_tells_it();
        self.both_at_once_under_load();
        self.a_cut_before_anything_runs();
        self.what_a_real_disk_cannot_leave_is_refused();
        self.faults_of_its_calls_are_refused();
        self.the_cost();
    }

    fn ground(&self) -> &Ground {
        &self.bench.ground
    }

    fn client(&self, node: i32) -> Client {
        await_answer(self.addresses[node as usize - 1])
    }

    fn back(&self, node: i32) {
        self.ground().power_on(node).unwrap();
        self.bench.start_app(node);
        drop(self.client(node));
    }

    fn cut(&self, nodes: &[i32], fault: u64) -> Vec<PowerCut> {
        self.ground().power_off(nodes, fault, Policy::default()).unwrap()
    }

    fn home(&self, node: i32) -> PathBuf {
        self.bench.home(node)
    }

    fn nobody_but_the_node_sees_its_mount(&self) {
        assert_eq!(self.client(1).ask("write seen sync text").unwrap(), "ok");
        for folder in ["mount", "disk"] {
            assert_eq!(
                fs::read_dir(self.home(1).join(folder)).unwrap().count(),
                0,
                "{folder}"
            );
        }
        let stats = self.ground().disk_stats(1).unwrap();
        assert!(stats.written >= 4096 && stats.syncs >= 1, "{stats:?}");
    }

    fn a_cut_takes_what_was_not_synced_and_tells_it(&self) {
        let mut client = self.client(1);
        for question in ["write safe sync text", "write lost no words"] {
            assert_eq!(client.ask(question).unwrap(), "ok");
        }
        let cut = self.cut(&[1], 100).remove(0);
        assert!(cut.dead_at_ns >= cut.cut_at_ns, "{cut:?}");
        assert_eq!((cut.loss.bytes, cut.loss.files), (5, 1));
        assert!(
            client.is_silent_for(Duration::from_millis(300)),
            "a dead machine says nothing"
        );
        let saved = fs::read_to_string(self.home(1).join("lost/100/lost@0")).unwrap();
        assert_eq!(saved, "words");
        let ledger = fs::read_to_string(self.home(1).join("disk-ledger.jsonl")).unwrap();
        let kind = format!("\"disk\":\"{}\"", self.kind.word());
        assert!(
            ledger.contains("\"fault\":100,") && ledger.contains(&kind),
            "{ledger}"
        );
        self.back(1);
        let mut client = self.client(1);
        assert_eq!(client.ask("read safe").unwrap(), "text");
        assert!(client.ask("read lost").unwrap().contains("No such file"));
    }

    fn both_at_once_under_load(&self) {
        for fault in 110..115 {
            for node in [1, 2] {
                assert_eq!(self.client(node).ask("busy").unwrap(), "ok");
                assert_eq!(
                    self.client(node)
                        .ask(&format!("write round{fault} sync text"))
                        .unwrap(),
                    "ok"
                );
            }
            let cuts = self.cut(&[1, 2], fault);
            assert_eq!(cuts[0].cut_at_ns, cuts[1].cut_at_ns);
            for node in [1, 2] {
                self.back(node);
                let kept = self.client(node).ask(&format!("read round{fault}")).unwrap();
                assert_eq!(kept, "text", "node {node}");
            }
        }
    }

    /// Power comes back and goes again, before a program runs and while it starts.
    fn a_cut_before_anything_runs(&self) {
        self.cut(&[1], 120);
        self.ground().power_on(1).unwrap();
        let cut = self.cut(&[1], 121).remove(0);
        assert_eq!((cut.loss.bytes, cut.loss.files), (0, 0));
        self.ground().power_on(1).unwrap();
        self.bench.start_app(1);
        self.cut(&[1], 122);
        self.back(1);
        assert_eq!(self.client(1).ask("read safe").unwrap(), "text");
    }

    fn faults_of_its_calls_are_refused(&self) {
        let hang = DiskRule::of(DiskEffect::Hang);
        let refused = [
            self.ground().set_disk_rule(1, 80, hang).map(drop),
            self.ground().disk_rule_counts(1, 80).map(drop),
            self.ground().swap_disk(1, 80, DiskSwap::ToEmpty).map(drop),
        ];
        for refused in refused {
            let error = refused.unwrap_err();
            assert!(error.why.contains(self.kind.word()), "{error}");
            assert!(error.next.contains("--disk fuse"), "{error}");
        }
    }

    fn what_a_real_disk_cannot_leave_is_refused(&self) {
        let strict = Policy {
            profile: Profile::PosixStrict,
            ..Policy::default()
        };
        for policy in [Remainder::Torn.into(), strict] {
            let refused = self.ground().power_off(&[1], 130, policy).unwrap_err();
            assert!(refused.why.contains("decides itself"), "{refused}");
            assert!(
                refused.next.contains("--disk fuse") && !refused.machine,
                "{refused}"
            );
        }
        assert_eq!(self.client(1).ask("echo on").unwrap(), "on");
    }

    fn the_cost(&self) {
        let mut all = Vec::new();
        for round in 0..ROUNDS {
            assert_eq!(self.client(1).ask("write some no text").unwrap(), "ok");
            let began = Instant::now();
            self.cut(&[1], 200 + round);
            self.ground().power_on(1).unwrap();
            all.push(began.elapsed());
            self.bench.start_app(1);
        }
        all.sort();
        let median = all[all.len() / 2];
        let within = if median <= COST { "within" } else { "above" };
        println!(
            "  {}: cut, remount and power on in {median:.1?} (median of {ROUNDS}, {:.1?} to {:.1?}): {within} {COST:?}",
            self.kind.word(),
            all[0],
            all[all.len() - 1]
        );
        assert!(median <= COST_AT_MOST, "{all:?}");
    }
}
