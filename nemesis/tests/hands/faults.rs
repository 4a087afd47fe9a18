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

const TOPIC: &str = "night";
const MIN_ISR: &str = "min.insync.replicas";
const ELR: &str = "eligible.leader.replicas.version";
/// How long a state may take to come about.
const PATIENCE: Duration = Duration::from_secs(30);

pub fn run(folder: &Path) -> ExitCode {
    ground::sys::set_name("ackall-harness");
    let (ground, events) = Ground::attach().unwrap();
    let property = |(key, value): (&str, &str)| (key.to_string(), value.to_string());
    let layout = Layout {
        run_dir: folder,
        system: System::reference(),
        controllers: 1,
        brokers: 3,
        cluster_id: "AAAAAAAAAAAAAAAAAAAAAQ".into(),
        properties: [
            ("broker.session.timeout.ms", "1500"),
            ("broker.heartbeat.interval.ms", "250"),
            ("replica.lag.time.max.ms", "1500"),
        ]
        .map(property)
        .into(),
        features: BTreeMap::new(),
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
        night.settings_change_and_go_back().await;
        night.a_partition_moves_and_comes_back().await;
        night.leaders_are_elected().await;
        night.a_registration_goes_and_comes_back().await;
        night.a_topic_grows_and_is_made_again().await;
        night.what_cannot_take_is_said().await;
    });
    ExitCode::SUCCESS
}

struct Night {
    cluster: Cluster,
}

type Said<'a> = &'a [(&'a str, Value)];

fn order(name: &str, id: u64, nodes: &[i32], said: Said<'_>) -> Order {
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
    async fn inject(&self, name: &str, order: &Order) -> Result<Measured, NotTaken> {
        let cluster = &self.cluster;
        let measured = nemesis::find(name)
            .unwrap()
            .inject(Field { cluster }, order)
            .await?;
        is_documented(name, &measured);
        println!("{name} in: {measured:?}");
        Ok(measured)
    }

    async fn heal(&self, name: &str, order: &Order) -> Measured {
        let cluster = &self.cluster;
        let healed = nemesis::find(name).unwrap().heal(Field { cluster }, order).await;
        let measured = healed.unwrap();
        is_documented(name, &measured);
        println!("{name} out: {measured:?}");
        measured
    }

    /// Asks any broker that answers.
    async fn ask<T>(&self, act: impl AsyncFn(&mut Connection) -> Result<T, client::Error>) -> Option<T> {
        for node in self.cluster.of_role(RoleKind::Broker) {
            if let Ok(mut connection) = Connection::connect(node.address, Options::default()).await
                && let Ok(answer) = act(&mut connection).await
            {
                return Some(answer);
            }
        }
        None
    }

    async fn topic(&self) -> Option<DescribedTopic> {
        self.ask(async |it| it.describe_topic_partitions(TOPIC).await)
            .await
    }

    async fn partition(&self) -> DescribedPartition {
        self.topic().await.unwrap().partitions[0].clone()
    }

    async fn until(&self, what: &str, is_so: impl Fn(&DescribedPartition) -> bool) {
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

    async fn min_isr(&self) -> String {
        let resource = ConfigResource::Topic(TOPIC.into());
        let described = self.ask(async |it| it.describe_configs(&resource).await).await;
        described.unwrap().configs[MIN_ISR].value.clone().unwrap()
    }

    async fn level(&self) -> i16 {
        let versions = self.ask(async |it| it.api_versions().await).await.unwrap();
        versions.features.get(ELR).map_or(0, |feature| feature.finalised)
    }

    async fn settings_change_and_go_back(&self) {
        let two = order("set-min-isr", 1, &[0], &[("replicas", Value::Number(2.0))]);
        let measured = self.inject("set-min-isr", &two).await.unwrap();
        assert_eq!(
            (measured["before_replicas"], &self.min_isr().await[..]),
            (1.0, "2")
        );
        self.heal("set-min-isr", &two).await;
        assert_eq!(self.min_isr().await, "1");
        let off = order("set-feature", 2, &[0], &[("level", Value::Number(0.0))]);
        let measured = self.inject("set-feature", &off).await.unwrap();
        assert_eq!((measured["before_level"], self.level().await), (1.0, 0));
        self.heal("set-feature", &off).await;
        assert_eq!(self.level().await, 1);
    }

    async fn a_partition_moves_and_comes_back(&self) {
        let off_0 = order("reassign", 3, &[0], &[]);
        let measured = self.inject("reassign", &off_0).await.unwrap();
        assert_eq!(measured["moved"], 1.0);
        assert_eq!(self.partition().await.replicas, [1, 2]);
        self.heal("reassign", &off_0).await;
        assert_eq!(self.partition().await.replicas, [0, 1]);
    }

    async fn leaders_are_elected(&self) {
        self.cluster.signal(0, Signal::Kill).unwrap();
        self.until("1 leads", |it| it.leader == 1).await;
        self.cluster.start(0).unwrap();
        self.until("both in sync", |it| it.isr.len() == 2).await;
        let preferred = order("elect-preferred", 4, &[0], &[]);
        let measured = self.inject("elect-preferred", &preferred).await.unwrap();
        assert_eq!((measured["epochs"], self.partition().await.leader), (1.0, 0));
        self.heal("elect-preferred", &preferred).await;
        let measured = self.inject("elect-preferred", &preferred).await.unwrap();
        assert_eq!(measured["epochs"], 0.0, "it leads already");
        // 0 alone is in sync, and goes; 1 comes back and may not lead by itself.
        self.cluster.signal(1, Signal::Kill).unwrap();
        self.until("0 alone", |it| it.isr == [0]).await;
        self.cluster.signal(0, Signal::Kill).unwrap();
        self.until("nobody", |it| it.leader == -1).await;
        self.cluster.start(1).unwrap();
        self.until_unfenced(1).await;
        assert_eq!(self.partition().await.leader, -1);
        let unclean = order("elect-unclean", 5, &[1], &[]);
        let measured = self.inject("elect-unclean", &unclean).await.unwrap();
        assert!(measured["epochs"] >= 1.0, "{measured:?}");
        assert_eq!(self.partition().await.leader, 1);
        self.heal("elect-unclean", &unclean).await;
        self.cluster.start(0).unwrap();
        self.until("both in sync", |it| it.isr.len() == 2).await;
    }

    async fn until_unfenced(&self, node: i32) {
        let began = Instant::now();
        while self.listed(node).await != Some(false) {
            assert!(began.elapsed() < PATIENCE, "{node} is not there");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Whether a broker is fenced; none where it is not registered.
    async fn listed(&self, node: i32) -> Option<bool> {
        let about = self.ask(async |it| it.describe_cluster().await).await?;
        let broker = about.brokers.iter().find(|broker| broker.node == node)?;
        Some(broker.fenced)
    }

    async fn a_registration_goes_and_comes_back(&self) {
        let living = order("unregister-broker", 6, &[2], &[]);
        self.inject("unregister-broker", &living).await.unwrap();
        self.heal("unregister-broker", &living).await;
        assert_eq!(self.listed(2).await, Some(false));
        self.cluster.signal(2, Signal::Kill).unwrap();
        while self.cluster.runs(2) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let dead = order("unregister-broker", 7, &[2], &[]);
        self.inject("unregister-broker", &dead).await.unwrap();
        assert_eq!(self.listed(2).await, None);
        self.cluster.start(2).unwrap();
        self.heal("unregister-broker", &dead).await;
        assert_eq!(self.listed(2).await, Some(false));
    }

    async fn a_topic_grows_and_is_made_again(&self) {
        let grow = order("grow-partitions", 8, &[0], &[("more", Value::Number(2.0))]);
        let measured = self.inject("grow-partitions", &grow).await.unwrap();
        assert_eq!(measured["partitions"], 3.0);
        assert_eq!(self.topic().await.unwrap().partitions.len(), 3);
        self.heal("grow-partitions", &grow).await;
        let old = self.topic().await.unwrap();
        let again = order("recreate-topic", 9, &[0], &[]);
        self.inject("recreate-topic", &again).await.unwrap();
        self.heal("recreate-topic", &again).await;
        let new = self.topic().await.unwrap();
        assert_ne!(new.id, old.id);
        assert_eq!(
            (new.partitions.len(), &new.partitions[0].replicas[..]),
            (3, &[0, 1][..])
        );
        assert_eq!(self.min_isr().await, "1");
    }

    async fn what_cannot_take_is_said(&self) {
        for (name, nodes, said) in [
            ("reassign", &[0, 1, 2][..], &[][..]),
            ("set-feature", &[0], &[("level", Value::Number(7.0))]),
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
