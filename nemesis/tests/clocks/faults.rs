//! The harness's side: each fault in, measured, and out.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clusters::{Cluster, Layout, Signal, System};
use ground::Ground;
use nemesis::{Field, Measured, NotTaken, Order, Params, Value};

const CONTROLLER: i32 = 100;
const BROKER: i32 = 0;
const LONG: Duration = Duration::from_secs(10);

pub fn run(folder: &Path) -> ExitCode {
    ground::sys::set_name("ackall-harness");
    let (ground, events) = Ground::attach().unwrap();
    let layout = Layout {
        disk: ground::DiskKind::Fuse,
        run_dir: folder,
        system: System::reference(),
        controllers: 1,
        brokers: 1,
        cluster_id: "clocksclocksclocksclcc".into(),
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
        cluster.format().await.unwrap();
        for node in cluster.nodes() {
            cluster.start(node.id).unwrap();
        }
        let night = Night { cluster };
        night.serves();
        night.every_fault_takes_and_heals().await;
        night.faults_overlap().await;
        night.what_cannot_be_seen_is_said().await;
    });
    ExitCode::SUCCESS
}

struct Night {
    cluster: Cluster,
}

type Said<'a> = &'a [(&'a str, f64)];

impl Night {
    fn order(&self, name: &str, id: u64, nodes: &[i32], said: Said<'_>, clocks: Option<&str>) -> Order {
        let about = nemesis::find(name).unwrap().about();
        let mut all: BTreeMap<String, Value> = said
            .iter()
            .map(|(name, value)| (name.to_string(), Value::Number(*value)))
            .collect();
        all.extend(clocks.map(|word| ("clocks".into(), Value::Text(word.into()))));
        Order {
            id,
            nodes: nodes.to_vec(),
            params: Params::check(about.params, &all).unwrap(),
            seed: 0,
        }
    }

    async fn inject(&self, name: &str, order: &Order) -> Result<Measured, NotTaken> {
        let field = Field {
            cluster: &self.cluster,
        };
        nemesis::find(name).unwrap().inject(field, order).await
    }

    async fn heal(&self, name: &str, order: &Order) -> Result<Measured, NotTaken> {
        let field = Field {
            cluster: &self.cluster,
        };
        nemesis::find(name).unwrap().heal(field, order).await
    }

    /// Both nodes answer Kafka's ApiVersions, and have nothing to complain of.
    fn serves(&self) {
        for node in self.cluster.nodes() {
            let began = Instant::now();
            while let Err(why) = api_versions(node.address) {
                let log = self.cluster.log_tail(node.id);
                assert!(began.elapsed() < LONG, "node {}: {why}; {log}", node.id);
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        assert_eq!(self.cluster.trouble(), []);
    }

    async fn every_fault_takes_and_heals(&self) {
        let both = Some("wall-and-monotonic");
        /// The fault, its parameters, its clocks; and the quantity that tells, what it is to be, and the bound.
        type Case<'a> = (&'a str, Said<'a>, Option<&'a str>, (&'a str, f64, f64));
        let cases: &[Case<'_>] = &[
            (
                "clock-step",
                &[("step_ms", 300_000.0)],
                None,
                ("offset_ms", 300_000.0, 1.1),
            ),
            (
                "clock-step",
                &[("step_ms", -300_000.0)],
                None,
                ("offset_ms", -300_000.0, 1.1),
            ),
            ("clock-step", &[("step_ms", 86.5)], None, ("offset_ms", 86.5, 1.1)),
            (
                "clock-step",
                &[("step_ms", 2_000.0)],
                both,
                ("offset_ms", 2_000.0, 1.1),
            ),
            (
                "clock-rate",
                &[("rate_ppm", 500_000.0)],
                None,
                ("rate_ppm", 500_000.0, 300.0),
            ),
            (
                "clock-rate",
                &[("rate_ppm", -500_000.0)],
                None,
                ("rate_ppm", -500_000.0, 300.0),
            ),
            (
                "clock-rate",
                &[("rate_ppm", 200_000.0)],
                both,
                ("rate_ppm", 200_000.0, 300.0),
            ),
            (
                "clock-rate",
                &[("rate_ppm", -200_000.0)],
                both,
                ("rate_ppm", -200_000.0, 300.0),
            ),
            (
                "clock-strobe",
                &[("amplitude_ms", 262_144.0), ("period_ms", 20.0)],
                None,
                ("swing_ms", 262_144.0, 1.1),
            ),
            (
                "clock-strobe",
                &[("amplitude_ms", -4.0), ("period_ms", 1.0)],
                None,
                ("swing_ms", 4.0, 0.5),
            ),
        ];
        for (id, (name, said, clocks, (quantity, expected, bound))) in cases.iter().enumerate() {
            let order = self.order(name, id as u64, &[BROKER, CONTROLLER], said, *clocks);
            let injected = self.inject(name, &order).await.unwrap();
            println!("{name} {said:?}: {injected:?}");
            let value = injected[*quantity];
            assert!(
                (value - expected).abs() <= *bound,
                "{name} {said:?}: {injected:?}"
            );
            assert_eq!(injected["processes"], 2.0);
            assert!(injected["error_us"] < 1_100.0, "{injected:?}");
            self.serves();
            let healed = self.heal(name, &order).await.unwrap();
            assert!(healed["offset_ms"].abs() < 1.1, "{name}: {healed:?}");
            assert_eq!(healed["processes"], 2.0);
            self.serves();
        }
    }

    /// Healing one leaves the others in; a loss of power does, too; and what is stopped or gone heals all the same.
    async fn faults_overlap(&self) {
        let step = self.order("clock-step", 20, &[BROKER], &[("step_ms", 5_000.0)], None);
        let back = self.order(
            "clock-step",
            21,
            &[BROKER, CONTROLLER],
            &[("step_ms", -700.0)],
            None,
        );
        self.inject("clock-step", &step).await.unwrap();
        self.inject("clock-step", &back).await.unwrap();
        self.assert_offsets(&[(BROKER, 4_300), (CONTROLLER, -700)]).await;
        self.cluster
            .power_off(&[BROKER], 22, clusters::Policy::default())
            .unwrap();
        self.cluster.power_on(BROKER).unwrap();
        self.cluster.start(BROKER).unwrap();
        self.assert_offsets(&[(BROKER, 4_300), (CONTROLLER, -700)]).await;
        let healed = self.heal("clock-step", &step).await.unwrap();
        assert!((healed["offset_ms"] + 700.0).abs() < 1.1, "{healed:?}");
        self.assert_offsets(&[(BROKER, -700), (CONTROLLER, -700)]).await;
        self.cluster.signal(BROKER, Signal::Stop).unwrap();
        let error = self.inject("clock-step", &step).await.unwrap_err();
        assert!(error.to_string().contains("stopped"), "{error}");
        let healed = self.heal("clock-step", &step).await.unwrap();
        assert_eq!(healed["processes"], 0.0);
        self.cluster.signal(BROKER, Signal::Continue).unwrap();
        self.cluster
            .power_off(&[BROKER], 23, clusters::Policy::default())
            .unwrap();
        let healed = self.heal("clock-step", &back).await.unwrap();
        assert_eq!(healed["processes"], 1.0, "{healed:?}");
        self.cluster.power_on(BROKER).unwrap();
        self.cluster.start(BROKER).unwrap();
        self.assert_offsets(&[(BROKER, 0), (CONTROLLER, 0)]).await;
        self.serves();
    }

    async fn assert_offsets(&self, expected: &[(i32, i64)]) {
        for (node, ms) in expected {
            let began = Instant::now();
            let since = ground::sys::monotonic_ns();
            loop {
                let seen = self.cluster.clock_seen(*node).unwrap();
                let new = seen.processes.iter().find(|process| process.at_ns > since);
                if let Some(process) = new {
                    let off = process.wall_offset_ns - ms * 1_000_000;
                    assert!(off.abs() < 1_100_000, "node {node}: {process:?}");
                    break;
                }
                assert!(began.elapsed() < LONG, "node {node}: {seen:?}");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }

    async fn what_cannot_be_seen_is_said(&self) {
        let none = self.order("clock-step", 30, &[BROKER], &[("step_ms", 0.5)], None);
        let error = self.inject("clock-step", &none).await.unwrap_err();
        assert!(error.to_string().contains("1 ms"), "{error}");
        let back = self.order(
            "clock-step",
            31,
            &[BROKER],
            &[("step_ms", -5.0)],
            Some("wall-and-monotonic"),
        );
        let error = self.inject("clock-step", &back).await.unwrap_err();
        assert!(error.to_string().contains("never goes backwards"), "{error}");
        self.cluster.signal(BROKER, Signal::Kill).unwrap();
        let step = self.order("clock-step", 32, &[BROKER], &[], None);
        let error = self.inject("clock-step", &step).await.unwrap_err();
        assert!(error.to_string().contains("no process runs"), "{error}");
        self.heal("clock-step", &step).await.unwrap();
    }
}

/// Asks a node for its ApiVersions, version 0, by hand.
fn api_versions(address: SocketAddr) -> std::io::Result<()> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_millis(300))?;
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    // Size 10; key 18, version 0, correlation 7, no client id.
    stream.write_all(&[0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xff])?;
    let mut answer = [0; 10];
    stream.read_exact(&mut answer)?;
    // After the size: the correlation, and no error.
    if answer[4..] == [0, 0, 0, 7, 0, 0] {
        Ok(())
    } else {
        Err(std::io::Error::other(format!("it answered {answer:?}")))
    }
}
