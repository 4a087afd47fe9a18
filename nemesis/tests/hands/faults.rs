//! The harness's side: each fault in, seen, and out.

use client::calls::{ConfigResource, CreateTopic, DescribedPartition, DescribedTopic, Layout as Placed};
use client::{Connection, Options};
use clusters::{Cluster, Layout, RoleKind, Signal, System};
use ground::Ground;
use nemesis::{Field, Measured, NotTaken, Order, Params, Value};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

pub const TOPIC: &str = "night";
pub const MIN_ISR: &str = "min.insync.replicas";
const ELR: &str = "eligible.leader.replicas.version";
/// How long a state may take to come about.
const PATIENCE: Duration = Duration::from_secs(30);

/// Nights in a cluster of its own each: as it is laid out, and with voters that may change.
pub const NIGHTS: [&str; 2] = ["fixed", "voters"];

pub fn run(which: &str, folder: &Path) -> ExitCode {
    ground::sys::set_name("ackall-harness");
    let (ground, events) = Ground::attach().unwrap();
    let property = |(key, value): (&str, &str)| (key.to_string(), value.to_string());
    let layout = Layout {
        disk: ground::DiskKind::Fuse,
        run_dir: folder,
        system: System::reference(),
        controllers: 3,
        brokers: 3,
        cluster_id: "AAAAAAAAAAAAAAAAAAAAAQ".into(),
        properties: [
            ("broker.session.timeout.ms", "1500"),
            ("broker.heartbeat.interval.ms", "250"),
            ("replica.lag.time.max.ms", "1500"),
            ("controller.quorum.election.timeout.ms", "300"),
            ("controller.quorum.fetch.timeout.ms", "600"),
        ]
        .map(property)
        .into(),
        features: match which {
            "voters" => BTreeMap::from([(clusters::KRAFT_VERSION.to_string(), 1)]),
            _ => BTreeMap::new(),
        },
        bug: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let cluster = Cluster::lay_out(ground, events, layout).unwrap();
        cluster.format().await.unwrap();
        for node in cluster.nodes() {
            cluster.start(node.id).unwrap();
        }
        let night = Night { cluster };
        night.create().await;
        match which {
            "voters" => night.voters_change().await,
            _ => night.hands_are_used().await,
        }
    });
    ExitCode::SUCCESS
}

pub struct Night {
    pub cluster: Cluster,
}

pub type Said<'a> = &'a [(&'a str, Value)];

pub fn order(name: &str, id: u64, nodes: &[i32], said: Said<'_>) -> Order {
    let about = nemesis::find(name).unwrap().about();
    let said = said.iter();
    let said = said.map(|(name, value)| (name.to_string(), value.clone()));
    Order {
        id,
        nodes: nodes.to_vec(),
        params: Params::check(about.params, &said.collect()).unwrap(),
        seed: 5,
    }
}

fn is_documented(name: &str, measured: &Measured) {
    let known = nemesis::find(name).unwrap().about().measures;
    for quantity in measured.keys() {
        assert!(
            known.iter().any(|(it, _)| it == quantity),
            "{name} measures {quantity}"
        );
    }
}

impl Night {
    async fn hands_are_used(&self) {
        self.settings_change_and_go_back().await;
        self.a_partition_moves_and_comes_back().await;
        self.leaders_are_elected().await;
        self.a_registration_goes_and_comes_back().await;
        self.a_topic_grows_and_is_made_again().await;
        self.any_setting_changes_and_goes_back().await;
        self.a_move_is_cancelled().await;
        self.a_broker_is_removed_and_added_again().await;
        self.nodes_restart_one_after_the_other().await;
        self.the_active_controller_resigns().await;
        self.power_goes_while_a_node_stops_or_starts().await;
        self.a_zone_loses_its_power().await;
        self.a_second_process_is_refused_and_takes_over_from_one_that_is_silent()
            .await;
        self.a_broker_joins_and_leaves().await;
        self.snapshots_are_forced_small().await;
        self.fixed_voters_stay().await;
        self.what_cannot_take_is_said().await;
    }

    async fn voters_change(&self) {
        self.voters_are_removed_and_added_again().await;
        self.a_new_controller_votes_and_goes().await;
    }

    pub async fn inject(&self, name: &str, order: &Order) -> Result<Measured, NotTaken> {
        let cluster = &self.cluster;
        let measured = nemesis::find(name)
            .unwrap()
            .inject(Field { cluster }, order)
            .await?;
        is_documented(name, &measured);
        println!("{name} in: {measured:?}");
        Ok(measured)
    }

    pub async fn heal(&self, name: &str, order: &Order) -> Measured {
        let cluster = &self.cluster;
        let healed = nemesis::find(name).unwrap().heal(Field { cluster }, order).await;
        let measured = healed.unwrap();
        is_documented(name, &measured);
        println!("{name} out: {measured:?}");
        measured
    }

    /// Asks any broker that answers.
    pub async fn ask<T>(&self, act: impl AsyncFn(&mut Connection) -> Result<T, client::Error>) -> Option<T> {
        for node in self.cluster.of_role(RoleKind::Broker) {
            if let Ok(mut connection) = Connection::connect(node.address, Options::default()).await
                && let Ok(answer) = act(&mut connection).await
            {
                return Some(answer);
            }
        }
        None
    }

    pub async fn topic(&self) -> Option<DescribedTopic> {
        self.ask(async |it| it.describe_topic_partitions(TOPIC).await)
            .await
    }

    pub async fn until(&self, what: &str, is_so: impl Fn(&DescribedPartition) -> bool) {
        let began = Instant::now();
        loop {
            let topic = self.topic().await;
            let partition = topic.as_ref().and_then(|topic| topic.partitions.first());
            if partition.is_some_and(&is_so) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "in vain: {what}: {partition:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn create(&self) {
        // One that comes later would not lead, nor be in sync, at first.
        for broker in 0..3 {
            self.until_so("unfenced", false, async || self.listed(broker).await)
                .await;
        }
        let began = Instant::now();
        let topic = CreateTopic {
            name: TOPIC.into(),
            layout: Placed::Assigned(vec![vec![0, 1]]),
            configs: BTreeMap::from([(MIN_ISR.to_string(), "1".to_string())]),
            timeout: Duration::from_secs(1),
        };
        loop {
            let created = self.ask(async |it| it.create_topic(&topic).await).await;
            // TOPIC_ALREADY_EXISTS
            if created.is_some_and(|it| it.error.is_none() || it.error.0 == 36) {
                break;
            }
            assert!(began.elapsed() < PATIENCE, "the topic was not made");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        self.until("both in sync", |it| it.isr.len() == 2 && it.leader == 0)
            .await;
    }

    /// A broker tells what it has applied, which another may have before it: each look waits.
    pub async fn until_so<T: PartialEq + std::fmt::Debug>(
        &self,
        what: &str,
        wanted: T,
        look: impl AsyncFn() -> Option<T>,
    ) {
        let (began, wanted) = (Instant::now(), Some(wanted));
        loop {
            let is = look().await;
            if is == wanted {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "in vain: {what} {wanted:?}: {is:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub async fn until_min_isr(&self, wanted: &str) {
        let resource = ConfigResource::Topic(TOPIC.into());
        let look = async || {
            let described = self.ask(async |it| it.describe_configs(&resource).await).await?;
            described.configs.get(MIN_ISR)?.value.clone()
        };
        self.until_so(MIN_ISR, wanted.to_owned(), look).await;
    }

    async fn until_level(&self, wanted: i16) {
        let look = async || {
            let versions = self.ask(async |it| it.api_versions().await).await?;
            Some(versions.features.get(ELR).map_or(0, |feature| feature.finalised))
        };
        self.until_so(ELR, wanted, look).await;
    }

    pub async fn until_replicas(&self, wanted: &[i32]) {
        self.until(&format!("on {wanted:?}"), |it| it.replicas == wanted)
            .await;
    }

    async fn settings_change_and_go_back(&self) {
        let two = order("set-min-isr", 1, &[0], &[("replicas", Value::Number(2.0))]);
        let measured = self.inject("set-min-isr", &two).await.unwrap();
        assert_eq!(measured["before_replicas"], 1.0);
        self.until_min_isr("2").await;
        self.heal("set-min-isr", &two).await;
        self.until_min_isr("1").await;
        let off = order("set-feature", 2, &[0], &[("level", Value::Number(0.0))]);
        let measured = self.inject("set-feature", &off).await.unwrap();
        assert_eq!(measured["before_level"], 1.0);
        self.until_level(0).await;
        self.heal("set-feature", &off).await;
        self.until_level(1).await;
    }

    async fn a_partition_moves_and_comes_back(&self) {
        let off_0 = order("reassign", 3, &[0], &[]);
        let measured = self.inject("reassign", &off_0).await.unwrap();
        assert_eq!(measured["moved"], 1.0);
        self.until_replicas(&[1, 2]).await;
        self.heal("reassign", &off_0).await;
        self.until_replicas(&[0, 1]).await;
    }

    async fn leaders_are_elected(&self) {
        // 1 has led since the partition came back from it: only that 0 left the ISR says that its end was noticed.
        self.cluster.signal(0, Signal::Kill).unwrap();
        self.until("1 alone leads", |it| it.leader == 1 && it.isr == [1])
            .await;
        self.start(0).await;
        self.until("both in sync", |it| it.isr.len() == 2).await;
        let preferred = order("elect-preferred", 4, &[0], &[]);
        let measured = self.inject("elect-preferred", &preferred).await.unwrap();
        assert_eq!(measured["epochs"], 1.0);
        self.until("0 leads", |it| it.leader == 0).await;
        self.heal("elect-preferred", &preferred).await;
        let measured = self.inject("elect-preferred", &preferred).await.unwrap();
        assert_eq!(measured["epochs"], 0.0, "it leads already");
        // 0 alone is in sync, and goes; 1 comes back and may not lead by itself.
        self.cluster.signal(1, Signal::Kill).unwrap();
        self.until("0 alone", |it| it.isr == [0]).await;
        self.cluster.signal(0, Signal::Kill).unwrap();
        self.until("nobody", |it| it.leader == -1).await;
        self.start(1).await;
        self.until_so("1 unfenced", false, async || self.listed(1).await)
            .await;
        self.until("nobody still", |it| {
            it.leader == -1 && it.elr.as_deref() == Some(&[0])
        })
        .await;
        let unclean = order("elect-unclean", 5, &[1], &[]);
        let measured = self.inject("elect-unclean", &unclean).await.unwrap();
        assert!(measured["epochs"] >= 1.0, "{measured:?}");
        self.until("1 leads", |it| it.leader == 1 && it.isr == [1]).await;
        self.heal("elect-unclean", &unclean).await;
        self.start(0).await;
        self.until("both in sync", |it| it.isr.len() == 2).await;
    }

    /// Starts a node whose end was asked for, once it was seen.
    async fn start(&self, node: i32) {
        self.until_so("an end", false, async || Some(self.cluster.runs(node)))
            .await;
        self.cluster.start(node).unwrap();
    }

    /// Whether a broker is fenced; none where it is not registered.
    pub async fn listed(&self, node: i32) -> Option<bool> {
        let about = self.ask(async |it| it.describe_cluster().await).await?;
        let broker = about.brokers.iter().find(|broker| broker.node == node)?;
        Some(broker.fenced)
    }

    async fn a_registration_goes_and_comes_back(&self) {
        let living = order("unregister-broker", 6, &[2], &[]);
        self.inject("unregister-broker", &living).await.unwrap();
        self.heal("unregister-broker", &living).await;
        let unfenced = async || self.listed(2).await;
        self.until_so("2 unfenced", false, unfenced).await;
        self.cluster.signal(2, Signal::Kill).unwrap();
        self.until_so("an end", false, async || Some(self.cluster.runs(2)))
            .await;
        let dead = order("unregister-broker", 7, &[2], &[]);
        self.inject("unregister-broker", &dead).await.unwrap();
        self.until_so("2 not listed", true, async || {
            Some(self.listed(2).await.is_none())
        })
        .await;
        self.cluster.start(2).unwrap();
        self.heal("unregister-broker", &dead).await;
        self.until_so("2 unfenced", false, unfenced).await;
    }

    async fn a_topic_grows_and_is_made_again(&self) {
        let grow = order("grow-partitions", 8, &[0], &[("more", Value::Number(2.0))]);
        let measured = self.inject("grow-partitions", &grow).await.unwrap();
        assert_eq!(measured["partitions"], 3.0);
        let count = async || Some(self.topic().await?.partitions.len());
        self.until_so("partitions", 3, count).await;
        self.heal("grow-partitions", &grow).await;
        let old = self.topic().await.unwrap();
        let again = order("recreate-topic", 9, &[0], &[]);
        self.inject("recreate-topic", &again).await.unwrap();
        self.heal("recreate-topic", &again).await;
        let is_new = async || Some(self.topic().await?.id != old.id);
        self.until_so("another topic", true, is_new).await;
        self.until_so("partitions", 3, count).await;
        self.until_replicas(&[0, 1]).await;
        self.until_min_isr("1").await;
    }

    async fn what_cannot_take_is_said(&self) {
        for (name, nodes, said) in [
            ("reassign", &[0, 1, 2][..], &[][..]),
            ("set-feature", &[0], &[("level", Value::Number(7.0))]),
            // The reference cluster has no settings of a broker's own.
            ("set-config", &[0], &[("of", Value::Text("broker".into()))]),
            ("resign-controller", &[0], &[]),
            ("elect-preferred", &[0], &[("partition", Value::Number(77.0))]),
        ] {
            let why = self
                .inject(name, &order(name, 10, nodes, said))
                .await
                .unwrap_err();
            println!("{name}: {why}");
        }
        let cluster = &self.cluster;
        let not_in = order("set-min-isr", 11, &[0], &[]);
        let healed = nemesis::find("set-min-isr")
            .unwrap()
            .heal(Field { cluster }, &not_in);
        assert!(healed.await.is_err());
    }
}
