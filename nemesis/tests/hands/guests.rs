//! Machines beside the cluster's own, and properties that a restart brings.

use crate::faults::{Night, order};
use client::calls::{ConfigResource, Fetch, TopicRef};
use client::{Connection, Options};
use clusters::Signal;
use nemesis::Value;
use std::time::Duration;

impl Night {
    /// Where a broker is listed, and whether it is fenced.
    async fn place(&self, node: i32) -> Option<(String, bool)> {
        let about = self.ask(async |it| it.describe_cluster().await).await?;
        let broker = about.brokers.iter().find(|broker| broker.node == node)?;
        Some((broker.host.clone(), broker.fenced))
    }

    fn own_host(&self, node: i32) -> String {
        self.cluster.node(node).unwrap().address.ip().to_string()
    }

    pub async fn a_second_process_is_refused_and_takes_over_from_one_that_is_silent(&self) {
        let watch = |ms| [("watch_ms", Value::Number(ms))];
        let first = (self.own_host(2), false);
        let place = async || self.place(2).await;
        let controller = order("twin", 50, &[100], &watch(700.0));
        let measured = self.inject("twin", &controller).await.unwrap();
        assert!(
            measured["frames"] > 0.0 && measured["epochs"] >= 0.0,
            "{measured:?}"
        );
        self.heal("twin", &controller).await;
        // The first one's session lives: the second is refused, again and again.
        let refused = order("twin", 51, &[2], &watch(500.0));
        let measured = self.inject("twin", &refused).await.unwrap();
        assert!(measured["frames"] > 0.0, "{measured:?}");
        assert_eq!((measured["registrations"], measured["second_serves"]), (0.0, 0.0));
        self.until_so("2 at its own address", first.clone(), place).await;
        let again = order("twin", 52, &[2], &watch(0.0));
        let why = self.inject("twin", &again).await.unwrap_err();
        assert!(why.to_string().contains("plays node 2 already"), "{why}");
        let start = self.cluster.last_start(2);
        let healed = self.heal("twin", &refused).await;
        assert_eq!((healed["restarted"], self.cluster.last_start(2)), (0.0, start));
        // The first one stands still until its session has ended: the second is registered in its place.
        self.cluster.signal(2, Signal::Stop).unwrap();
        self.until_so("2 fenced", true, async || self.listed(2).await)
            .await;
        let taken = order("twin", 53, &[2], &watch(3_000.0));
        let measured = self.inject("twin", &taken).await.unwrap();
        assert_eq!(measured["second_serves"], 1.0, "{measured:?}");
        assert!(measured["registrations"] >= 1.0, "{measured:?}");
        let (host, fenced) = self.place(2).await.unwrap();
        assert!(host != first.0 && !fenced, "{host} {fenced}");
        self.cluster.signal(2, Signal::Continue).unwrap();
        let healed = self.heal("twin", &taken).await;
        assert_eq!(
            (healed["restarted"], self.cluster.last_start(2)),
            (1.0, start + 1),
            "it does not register by itself"
        );
        self.until_so("2 at its own address", first.clone(), place).await;
        // Cut off, it is replaced too; the second is healed first, and the first is back once it is not cut off any more.
        let cut = order("cut-network", 57, &[2], &[]);
        self.inject("cut-network", &cut).await.unwrap();
        self.until_so("2 fenced", true, async || self.listed(2).await)
            .await;
        let taken = order("twin", 58, &[2], &watch(2_000.0));
        let measured = self.inject("twin", &taken).await.unwrap();
        assert_eq!(measured["second_serves"], 1.0, "{measured:?}");
        let healed = self.heal("twin", &taken).await;
        assert_eq!(healed["restarted"], 1.0);
        assert!(!healed.contains_key("seen_ms"), "{healed:?}");
        self.heal("cut-network", &cut).await;
        self.until_so("2 at its own address", first, place).await;
    }

    pub async fn a_broker_joins_and_leaves(&self) {
        for id in [54, 55] {
            let joins = order("add-broker", id, &[0], &[]);
            let measured = self.inject("add-broker", &joins).await.unwrap();
            assert_eq!(measured["broker"], 3.0);
            self.until_so("3 unfenced", false, async || self.listed(3).await)
                .await;
            self.heal("add-broker", &joins).await;
            self.until_so("3 not listed", true, async || {
                Some(self.listed(3).await.is_none())
            })
            .await;
        }
    }

    /// Whether the active controller's log begins with a snapshot.
    async fn has_snapshot(&self) -> Option<bool> {
        let quorum = self.ask(async |it| it.describe_quorum().await).await?;
        let address = self.cluster.node(quorum.leader).ok()?.address;
        let mut connection = Connection::connect(address, Options::default()).await.ok()?;
        let from_the_start = Fetch {
            topic: TopicRef {
                name: client::observer::METADATA_TOPIC.into(),
                id: client::TopicId::from_u128(1),
            },
            partition: 0,
            offset: 0,
            current_leader_epoch: quorum.epoch,
            last_fetched_epoch: 0,
            known_high_watermark: None,
            max_wait: Duration::from_millis(1),
            max_bytes: 1,
        };
        let fetched = connection.fetch(&from_the_start).await.ok()?;
        fetched.error.is_none().then_some(fetched.snapshot.is_some())
    }

    fn configuration(&self, node: i32) -> String {
        let home = &self.cluster.node(node).unwrap().home;
        std::fs::read_to_string(home.join("server.properties")).unwrap()
    }

    pub async fn snapshots_are_forced_small(&self) {
        const NODES: [i32; 3] = [100, 101, 102];
        let has = async || self.has_snapshot().await;
        self.until_so("a snapshot", false, has).await;
        let before = NODES.map(|node| self.configuration(node));
        let starts = || NODES.map(|node| self.cluster.last_start(node));
        let (small, started) = (order("set-property", 56, &NODES, &[]), starts());
        self.inject("set-property", &small).await.unwrap();
        assert_eq!(starts(), started.map(|start| start + 1));
        for node in NODES {
            let text = self.configuration(node);
            assert!(
                text.contains("\nmetadata.log.max.record.bytes.between.snapshots=1000\n"),
                "{text}"
            );
        }
        // Some thousand bytes of metadata.
        for value in ["2", "1"].iter().cycle().take(60) {
            let change = [(crate::faults::MIN_ISR.to_string(), Some(value.to_string()))];
            let topic = ConfigResource::Topic(crate::faults::TOPIC.into());
            self.ask(async |it| it.alter_configs(&topic, &change.clone().into()).await)
                .await;
        }
        self.until_so("a snapshot", true, has).await;
        self.heal("set-property", &small).await;
        assert_eq!(NODES.map(|node| self.configuration(node)), before);
        assert_eq!(starts(), started.map(|start| start + 2));
    }
}
