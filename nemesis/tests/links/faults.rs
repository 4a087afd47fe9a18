//! The harness's side: each fault in, measured, and out.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use super::chatter::FLIPPED;
use clusters::{Cluster, Layout, Port, System};
use ground::Ground;
use nemesis::{Field, Measured, NotTaken, Order, Params, Value};

const PORT: u16 = 7000;
/// The nodes that talk; a fourth, the broker, talks to them.
const CONTROLLERS: [i32; 3] = [100, 101, 102];

pub fn run(folder: &Path) -> ExitCode {
    ground::sys::set_name("ackall-harness");
    let (ground, events) = Ground::attach().unwrap();
    let layout = Layout {
        disk: ground::DiskKind::Fuse,
        run_dir: folder,
        system: talkative(),
        controllers: 3,
        brokers: 1,
        cluster_id: "links".into(),
        properties: BTreeMap::new(),
        features: BTreeMap::new(),
        bug: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let cluster = Cluster::lay_out(ground, events, layout).unwrap();
        for node in cluster.nodes() {
            cluster.start(node.id).unwrap();
        }
        let night = Night { cluster };
        night.every_fault_takes_and_heals().await;
        night.cuts_have_shapes().await;
        night.faults_overlap().await;
        night.what_cannot_take_is_said().await;
    });
    ExitCode::SUCCESS
}

/// A system whose nodes do nothing but talk.
fn talkative() -> System {
    let start = ["{self}", "__chatter", "{voters}", "{address}:7000"];
    let mut system = System::of_commands("talkative", &["true"], &start, PORT);
    system.trouble = vec![FLIPPED.into()];
    system
}

struct Night {
    cluster: Cluster,
}

type Said<'a> = &'a [(&'a str, Value)];

impl Night {
    fn order(&self, name: &str, id: u64, nodes: &[i32], said: Said<'_>) -> Order {
        let about = nemesis::find(name).unwrap().about();
        let said = said
            .iter()
            .map(|(name, value)| (name.to_string(), value.clone()))
            .collect();
        Order {
            id,
            nodes: nodes.to_vec(),
            params: Params::check(about.params, &said).unwrap(),
            seed: 5,
        }
    }

    fn field(&self) -> Field<'_> {
        Field {
            cluster: &self.cluster,
        }
    }

    async fn inject(&self, name: &str, order: &Order) -> Result<Measured, NotTaken> {
        let fault = nemesis::find(name).unwrap();
        let measured = fault.inject(self.field(), order).await?;
        is_documented(name, &measured);
        Ok(measured)
    }

    async fn heal(&self, name: &str, order: &Order) -> Measured {
        let fault = nemesis::find(name).unwrap();
        let measured = fault.heal(self.field(), order).await.unwrap();
        is_documented(name, &measured);
        assert!(
            self.cluster.rule_counts(order.id).is_err(),
            "{name} has left its rule"
        );
        measured
    }

    /// Whether no rule is on any link between nodes.
    fn is_clean(&self) -> bool {
        let links = self.links();
        self.cluster
            .free_links(&links)
            .unwrap()
            .into_iter()
            .all(|free| free)
    }

    fn links(&self) -> Vec<(Port, Port)> {
        let ids: Vec<i32> = self.cluster.nodes().iter().map(|node| node.id).collect();
        let pairs = ids.iter().flat_map(|from| ids.iter().map(move |to| (*from, *to)));
        let pairs = pairs.filter(|(from, to)| from != to);
        pairs
            .map(|(from, to)| (Port::Node(from), Port::Node(to)))
            .collect()
    }

    async fn every_fault_takes_and_heals(&self) {
        let number = |n: f64| Value::Number(n);
        let word = |word: &str| Value::Text(word.into());
        // Each with the quantity that tells, and the bounds that it keeps where the fault is what was asked.
        let all: [(&str, Said<'_>, &str, (f64, f64)); 14] = [
            ("cut-network", &[], "passed_frames", (0.0, 0.0)),
            ("cut-network", &[("way", word("in"))], "passed_frames", (0.0, 0.0)),
            (
                "cut-network",
                &[("port", number(7000.0))],
                "passed_frames",
                (0.0, 0.0),
            ),
            (
                "cut-network",
                &[("map", word("100>101 0>100"))],
                "cut_links",
                (2.0, 2.0),
            ),
            (
                "flap",
                &[("cut_ms", number(150.0)), ("whole_ms", number(400.0))],
                "dropped_frames",
                (1.0, 1e9),
            ),
            ("delay", &[("delay_ms", number(10.0))], "median_ms", (10.0, 13.0)),
            (
                "delay",
                &[("delay_ms", number(10.0)), ("jitter_ms", number(5.0))],
                "least_ms",
                (5.0, 15.0),
            ),
            (
                "loss",
                &[("loss_percent", number(10.0))],
                "lost_percent",
                (0.1, 100.0),
            ),
            ("duplicate", &[], "doubled_percent", (0.1, 100.0)),
            (
                "reorder",
                &[("hold_ms", number(3.0))],
                "overtaken_frames",
                (1.0, 1e9),
            ),
            ("corrupt", &[], "flipped_percent", (0.1, 100.0)),
            (
                "corrupt",
                &[("checksum", word("fits"))],
                "flipped_percent",
                (0.1, 100.0),
            ),
            ("bandwidth", &[], "least_ms", (0.336, 1e6)),
            ("mtu-black-hole", &[], "dropped_frames", (1.0, 1e9)),
        ];
        for (name, said, quantity, (least, most)) in all {
            let order = self.order(name, 3, &[100], said);
            let measured = self.inject(name, &order).await.unwrap();
            let value = measured[quantity];
            assert!((least..=most).contains(&value), "{name} {said:?}: {measured:?}");
            if said.contains(&("checksum", word("fits"))) {
                // It is on its way to the program that reads it.
                while self.cluster.trouble().is_empty() {
                    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
                }
            } else {
                // Before that was asked, none did: checksums tell.
                let flipped = self.cluster.trouble();
                let asked = matches!(name, "bandwidth" | "mtu-black-hole");
                assert!(asked || flipped.is_empty(), "{name}: {flipped:?}");
            }
            let healed = self.heal(name, &order).await;
            println!("{name} {said:?}: {measured:?}; healed: {healed:?}");
            assert!(self.is_clean(), "{name}");
        }
        let order = self.order("reset", 4, &[100], &[]);
        assert!(self.inject("reset", &order).await.unwrap()["reset_frames"] >= 1.0);
        self.heal("reset", &order).await;
    }

    async fn cuts_have_shapes(&self) {
        for (shape, nodes, links) in [
            ("isolate", &CONTROLLERS[..2], 10.0),
            ("split", &CONTROLLERS[..2], 8.0),
            ("halves", &CONTROLLERS[..], 4.0),
            ("majorities-ring", &CONTROLLERS[..], 3.0),
            ("bridge", &CONTROLLERS[..], 2.0),
        ] {
            let order = self.order("cut-network", 9, nodes, &[("shape", Value::Text(shape.into()))]);
            let measured = self.inject("cut-network", &order).await.unwrap();
            assert_eq!(measured["cut_links"], links, "{shape}");
            self.heal("cut-network", &order).await;
            assert!(self.is_clean(), "{shape}");
        }
    }

    async fn faults_overlap(&self) {
        let (cut, delay) = (
            self.order("cut-network", 1, &[100], &[]),
            self.order("delay", 2, &[100, 101], &[("delay_ms", Value::Number(20.0))]),
        );
        self.inject("cut-network", &cut).await.unwrap();
        self.inject("delay", &delay).await.unwrap();
        self.heal("cut-network", &cut).await;
        let before = self.cluster.rule_counts(2).unwrap().delivered;
        let again = self.inject("cut-network", &cut).await.unwrap();
        assert_eq!(again["passed_frames"], 0.0);
        self.heal("delay", &delay).await;
        assert!(
            before > 0 && self.cluster.rule_counts(1).is_ok(),
            "the cut is still in"
        );
        self.heal("cut-network", &cut).await;
        assert!(self.is_clean());
    }

    async fn what_cannot_take_is_said(&self) {
        // Nobody talks to a node without power: what is asked is not seen, and nothing of it stays.
        self.cluster.power_off(&[0], 77, Default::default()).unwrap();
        let said = [("map", Value::Text("0>100".into()))];
        let order = self.order("cut-network", 5, &[0], &said);
        let why = self.inject("cut-network", &order).await.unwrap_err().to_string();
        assert!(why.contains("did not show it"), "{why}");
        assert!(self.cluster.rule_counts(5).is_err());
        for bad in ["0>7", "nonsense", "clients>clients"] {
            let order = self.order("cut-network", 6, &[0], &[("map", Value::Text(bad.into()))]);
            assert!(self.inject("cut-network", &order).await.is_err(), "{bad}");
        }
        let two = self.order(
            "cut-network",
            6,
            &[100, 101],
            &[("shape", Value::Text("bridge".into()))],
        );
        assert!(self.inject("cut-network", &two).await.is_err());
        assert!(self.cluster.rule_counts(6).is_err());
    }
}

/// Whatever is measured is among what the fault says it measures.
fn is_documented(name: &str, measured: &Measured) {
    let about = nemesis::find(name).unwrap().about();
    for quantity in measured.keys() {
        assert!(
            about.measures.iter().any(|(known, _)| known == quantity),
            "{name} measures {quantity:?} and does not say so"
        );
    }
}
