//! Power cuts in bad moments, and of a zone.

use crate::faults::{Night, order};
use client::{Connection, Options};
use nemesis::{Measured, Value};
use std::time::Duration;

fn after(ms: f64) -> [(&'static str, Value); 1] {
    [("after_ms", Value::Number(ms))]
}

fn is_of_a_cut(measured: &Measured) {
    let (first, last) = (measured["silent_first_ms"], measured["dead_ms"]);
    assert!(0.0 < first && first <= last && last < 2_000.0, "{measured:?}");
}

impl Night {
    /// Whether a node answers at all: not even a refusal comes from one without power.
    async fn is_silent(&self, node: i32) -> bool {
        let address = self.cluster.node(node).unwrap().address;
        let knock = tokio::net::TcpStream::connect(address);
        tokio::time::timeout(Duration::from_millis(200), knock)
            .await
            .is_err()
    }

    async fn answers(&self, node: i32) -> bool {
        let address = self.cluster.node(node).unwrap().address;
        Connection::connect(address, Options::default()).await.is_ok()
    }

    pub async fn power_goes_while_a_node_stops_or_starts(&self) {
        let start = self.cluster.last_start(1);
        let stopping = order("power-cut-stopping", 40, &[1], &after(0.0));
        let measured = self.inject("power-cut-stopping", &stopping).await.unwrap();
        is_of_a_cut(&measured);
        assert!(measured["stopping_ms"] < 1_000.0, "{measured:?}");
        assert!(!self.cluster.runs(1) && self.is_silent(1).await);
        assert_eq!(self.cluster.last_start(1), start);
        self.heal("power-cut-stopping", &stopping).await;
        assert!(self.answers(1).await);
        // One that has stopped by then was not cut while it stopped: it is said; its power is gone all the same.
        let late = order("power-cut-stopping", 41, &[2], &after(5_000.0));
        let why = self.inject("power-cut-stopping", &late).await.unwrap_err();
        assert!(why.to_string().contains("had ended before"), "{why}");
        self.heal("power-cut-stopping", &late).await;

        let start = self.cluster.last_start(1);
        for (id, ms, listened) in [(42, 0.0, 0.0), (43, 3_000.0, 1.0)] {
            let starting = order("power-cut-starting", id, &[1], &after(ms));
            let measured = self.inject("power-cut-starting", &starting).await.unwrap();
            is_of_a_cut(&measured);
            assert!(
                (ms..ms + 1_000.0).contains(&measured["starting_ms"]),
                "{measured:?}"
            );
            assert_eq!(measured["listened"], listened, "{measured:?}");
            assert!(!self.cluster.runs(1) && self.is_silent(1).await);
            self.heal("power-cut-starting", &starting).await;
            assert!(self.answers(1).await);
        }
        assert_eq!(
            self.cluster.last_start(1),
            start + 4,
            "each is started, cut, and started again"
        );
        self.until("both in sync", |it| it.isr.len() == 2).await;
    }

    pub async fn a_zone_loses_its_power(&self) {
        let zone = order("power-cut", 44, &[0, 1, 2], &[]);
        let measured = self.inject("power-cut", &zone).await.unwrap();
        is_of_a_cut(&measured);
        for node in [0, 1, 2] {
            assert!(!self.cluster.runs(node) && self.is_silent(node).await, "{node}");
        }
        self.heal("power-cut", &zone).await;
        for node in [0, 1, 2] {
            assert!(self.answers(node).await, "{node}");
        }
        self.until("both in sync", |it| it.leader >= 0 && it.isr.len() == 2)
            .await;
    }
}
