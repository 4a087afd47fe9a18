//! Settings, moves, brokers and controllers that come and go.

use crate::faults::{MIN_ISR, Night, TOPIC, order};
use client::calls::ConfigResource;
use clusters::Signal;
use nemesis::Value;

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

impl Night {
    /// Whether the resource has the setting of its own, and what it is.
    async fn own(&self, resource: &ConfigResource, key: &str) -> Option<Option<String>> {
        let described = self.ask(async |it| it.describe_configs(resource).await).await?;
        let own = described.configs.get(key).filter(|config| config.is_own);
        Some(own.and_then(|config| config.value.clone()))
    }

    pub async fn any_setting_changes_and_goes_back(&self) {
        const UNCLEAN: &str = "unclean.leader.election.enable";
        let all = (ConfigResource::AllBrokers, "all-brokers", MIN_ISR, "2");
        let topic = (ConfigResource::Topic(TOPIC.into()), "topic", UNCLEAN, "true");
        for (id, (resource, of, key, value)) in (20..).zip([all, topic]) {
            let before = self.own(&resource, key).await.unwrap();
            assert_ne!(before.as_deref(), Some(value));
            let said = [("of", text(of)), ("key", text(key)), ("value", text(value))];
            let order = order("set-config", id, &[0], &said);
            self.inject("set-config", &order).await.unwrap();
            let own = async || self.own(&resource, key).await;
            self.until_so(key, Some(value.to_owned()), own).await;
            self.heal("set-config", &order).await;
            self.until_so(key, before, own).await;
        }
    }

    pub async fn a_move_is_cancelled(&self) {
        // Broker 2 cannot catch up while it stands still, so the move to it stays under way.
        self.cluster.signal(2, Signal::Stop).unwrap();
        let off_0 = order(
            "cancel-reassignment",
            30,
            &[0],
            &[("after_ms", Value::Number(400.0))],
        );
        let moves = async || {
            let listed = self.ask(async |it| it.list_reassignments().await).await?;
            Some(listed.ongoing.into_iter().map(|it| it.adding).collect::<Vec<_>>())
        };
        let seen = self.until_so("a move", vec![vec![2]], moves);
        let (measured, ()) = tokio::join!(self.inject("cancel-reassignment", &off_0), seen);
        let measured = measured.unwrap();
        assert_eq!(measured["moved"], 1.0);
        assert!(
            (400.0..2_000.0).contains(&measured["under_way_ms"]),
            "{measured:?}"
        );
        self.until_so("no move", Vec::<Vec<i32>>::new(), moves).await;
        self.until("on 0 and 1", |it| it.replicas == [0, 1] || it.replicas == [1, 0])
            .await;
        self.cluster.signal(2, Signal::Continue).unwrap();
        self.heal("cancel-reassignment", &off_0).await;
        self.until_replicas(&[0, 1]).await;
        // One that is complete cannot be cancelled: it is said, and moved back.
        let late = order(
            "cancel-reassignment",
            31,
            &[0],
            &[("after_ms", Value::Number(2_000.0))],
        );
        let why = self.inject("cancel-reassignment", &late).await.unwrap_err();
        assert!(why.to_string().contains("complete before"), "{why}");
        self.until_replicas(&[0, 1]).await;
    }

    pub async fn a_broker_is_removed_and_added_again(&self) {
        let start = self.cluster.last_start(2);
        let two = order("remove-broker", 32, &[2], &[]);
        self.inject("remove-broker", &two).await.unwrap();
        assert!(!self.cluster.runs(2));
        self.until_so("2 not listed", true, async || {
            Some(self.listed(2).await.is_none())
        })
        .await;
        self.heal("remove-broker", &two).await;
        assert!(self.cluster.runs(2));
        assert_eq!(self.cluster.last_start(2), start + 1);
        self.until_so("2 unfenced", false, async || self.listed(2).await)
            .await;
    }

    pub async fn nodes_restart_one_after_the_other(&self) {
        const NODES: [i32; 4] = [0, 1, 100, 101];
        let starts = || NODES.map(|node| self.cluster.last_start(node));
        let before = starts();
        for (id, how) in [(33, "stop"), (34, "crash")] {
            let rolling = order("rolling-restart", id, &NODES, &[("how", text(how))]);
            let measured = self.inject("rolling-restart", &rolling).await.unwrap();
            assert_eq!(measured["restarts"], 4.0);
            assert!(measured["caught_up_ms"] > 0.0);
            self.heal("rolling-restart", &rolling).await;
        }
        assert_eq!(starts(), before.map(|start| start + 2));
        self.until("both in sync", |it| it.isr.len() == 2).await;
    }

    /// The active controller, and the quorum's epoch.
    async fn active(&self) -> Option<(i32, i32)> {
        let quorum = self.ask(async |it| it.describe_quorum().await).await?;
        (quorum.error.is_none() && quorum.leader >= 0).then_some((quorum.leader, quorum.epoch))
    }

    pub async fn the_active_controller_resigns(&self) {
        self.until_so("an active controller", true, async || {
            Some(self.active().await.is_some())
        })
        .await;
        let Some((active, epoch)) = self.active().await else {
            panic!("an active controller was there, and is not any more");
        };
        let passive = [100, 101, 102].into_iter().find(|id| *id != active).unwrap();
        let start = self.cluster.last_start(active);
        let wrong = order("resign-controller", 35, &[passive], &[]);
        let why = self.inject("resign-controller", &wrong).await.unwrap_err();
        assert!(why.to_string().contains("is the active controller"), "{why}");
        assert_eq!(self.active().await, Some((active, epoch)), "nobody was stopped");
        let resign = order("resign-controller", 36, &[active], &[]);
        let measured = self.inject("resign-controller", &resign).await.unwrap();
        assert!(measured["epochs"] >= 1.0, "{measured:?}");
        let is_another = async || {
            let (now, later) = self.active().await?;
            Some(now != active && later > epoch)
        };
        self.until_so("another active controller", true, is_another).await;
        assert_eq!(self.cluster.last_start(active), start + 1);
        self.heal("resign-controller", &resign).await;
    }
}
