//! From a laid-out ground to a running cluster under load, and back.

use super::faults::In;
use super::nodes::{self, Alarm, Expected};
use super::start::{self, Unready};
use crate::error::{Error, Status};
use crate::plan::Plan;
use crate::streams::{Stream, stream};
use crate::target::Names;
use client::Options;
use client::calls::Acks;
use client::observer::{ClusterView, Observer, ObserverOptions};
use clusters::{Cluster, Layout, ProgramTold, RoleKind};
use history::{Body, Header, Kind, NodeEvent, NodeProcess, Process, Recorder, Step, TopicPlan};
use results::store;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::{mpsc, watch};
use workloads::{Append, AppendPlan, Context, Counters, FinalReadPlan, Processes, final_read};

/// A producer's rest after an acknowledgement: several thousand records in a run, not hundreds of thousands.
const PRODUCER_PAUSE: Duration = Duration::from_millis(1);

/// Fatal alarms, and the rest.
pub struct Alarms {
    receiver: mpsc::UnboundedReceiver<Alarm>,
}

impl Alarms {
    /// Takes them away; what is left behind is silent.
    pub fn take(&mut self) -> Alarms {
        let (_, silent) = mpsc::unbounded_channel();
        Alarms {
            receiver: std::mem::replace(&mut self.receiver, silent),
        }
    }

    /// The next alarm of any kind. Never, where there is none.
    pub async fn next(&mut self) -> Alarm {
        match self.receiver.recv().await {
            Some(alarm) => alarm,
            None => std::future::pending().await,
        }
    }

    /// The next alarm that must end the run at once: a signal, or a full disk.
    pub async fn fatal(&mut self) -> Alarm {
        loop {
            match self.next().await {
                Alarm::NodeDied { .. } => continue,
                alarm => return alarm,
            }
        }
    }
}

/// A running cluster under load.
pub struct Booted {
    /// The run's history.
    pub recorder: Arc<Recorder>,
    /// The cluster.
    pub cluster: Arc<Cluster>,
    /// The committed metadata.
    pub view: watch::Receiver<ClusterView>,
    /// What producers did so far.
    pub counters: watch::Receiver<Counters>,
    /// What must be known at once.
    pub alarms: Alarms,
    /// The names that acts gave.
    pub names: Names,
    /// Which nodes' ends are expected.
    pub expected: Expected,
    /// Faults that are in, by their numbers.
    pub faults: BTreeMap<u64, In>,
    /// The next fault's number.
    pub next_fault: u64,
    /// Seeds of what faults draw by chance, one each.
    pub fault_seeds: rand_chacha::ChaCha8Rng,
    observer: Option<Observer>,
    load: Option<Append>,
    context: Context,
    first_exec: Instant,
    first_ack: Option<tokio::task::JoinHandle<Option<Instant>>>,
}

/// The ground, as the harness's process finds it.
pub struct Attached {
    /// To ask.
    pub ground: ground::Ground,
    /// What it says unasked.
    pub events: std::sync::mpsc::Receiver<clusters::Event>,
}

impl Attached {
    /// Joins it, once.
    pub fn join() -> Result<Attached, Error> {
        let (ground, events) = ground::Ground::attach()
            .map_err(|e| Error::internal("joining the ground", e, "`ackall run` starts the ground itself"))?;
        Ok(Attached { ground, events })
    }
}

impl Booted {
    /// Lays out, formats, starts, creates the topic, and puts the load on.
    ///
    /// # Errors
    /// What came in between.
    pub async fn boot(plan: &Plan, run_dir: &Path, began: Instant) -> Result<Booted, Unready> {
        let mut booted = Booted::stand(plan, run_dir, began, Attached::join()?, &[]).await?;
        booted.load(plan).await?;
        Ok(booted)
    }

    /// Lays out, formats, starts and observes: a cluster without load. Ports of the host's loopback lead to its brokers,
    /// in their order, where there are some.
    ///
    /// # Errors
    /// What came in between.
    pub async fn stand(
        plan: &Plan,
        run_dir: &Path,
        began: Instant,
        attached: Attached,
        host_ports: &[u16],
    ) -> Result<Booted, Unready> {
        let recorder = recorder(plan, run_dir, began)?;
        let cluster = lay_out(plan, run_dir, attached, host_ports)?;
        start::format(&cluster).await?;
        let expected = Expected::default();
        let (sender, receiver) = mpsc::unbounded_channel();
        tokio::spawn(nodes::watch(
            cluster.clone(),
            cluster.events(),
            recorder.clone(),
            expected.clone(),
            sender.clone(),
        ));
        let stalled = recorder.clone();
        tokio::spawn(async move {
            let why = nodes::stalls(stalled).await;
            let _ = sender.send(Alarm::Full(format!("the history cannot be written: {why}")));
        });
        tell_programs(&cluster, recorder.clone());
        let first_exec = Instant::now();
        for node in cluster.nodes() {
            cluster
                .start(node.id)
                .map_err(|e| start::not_started(&cluster, node.id, &e.to_string()))?;
        }
        let controllers = cluster
            .of_role(RoleKind::Controller)
            .map(|node| (node.id, node.address))
            .collect();
        let options = ObserverOptions {
            controllers,
            bind_device: Some(ground::OBSERVER_DEVICE.into()),
        };
        let observer = Observer::start(options, recorder.clone());
        let brokers = cluster
            .of_role(RoleKind::Broker)
            .map(|node| (node.id, node.address))
            .collect();
        let clients = Arc::new(client::Cluster::new(brokers, Options::default()));
        let context = Context {
            cluster: clients,
            recorder: recorder.clone(),
            processes: Processes::new(),
            seed: plan.workload.seed,
        };
        Ok(Booted {
            view: observer.view(),
            counters: watch::channel(Counters::default()).1,
            recorder,
            cluster,
            alarms: Alarms { receiver },
            names: Names::default(),
            expected,
            faults: BTreeMap::new(),
            next_fault: 1,
            fault_seeds: stream(plan.seed, Stream::Faults),
            observer: Some(observer),
            load: None,
            context,
            first_exec,
            first_ack: None,
        })
    }

    /// Waits until the cluster serves and is as planned, and puts the load on.
    async fn load(&mut self, plan: &Plan) -> Result<(), Unready> {
        let cluster = self.cluster.clone();
        start::serving(self.view.clone(), &cluster, &mut self.alarms).await?;
        let clients = &self.context.cluster;
        tokio::select! {
            done = start::as_planned(plan, &cluster, clients) => done?,
            end = start::end(&cluster, &mut self.alarms) => return Err(end),
        }
        let load = Append::start(append_plan(plan), self.context.clone())
            .map_err(|e| Error::internal("starting the load", e, "report this: the plan was checked"))?;
        self.counters = load.counters();
        let mut counters = load.counters();
        self.first_ack = Some(tokio::spawn(async move {
            let acked = counters.wait_for(|now| now.acked > 0).await.is_ok();
            acked.then(Instant::now)
        }));
        self.load = Some(load);
        Ok(())
    }

    /// Writes a step into the history.
    pub fn step(&self, name: &str, reached: bool, text: &str) -> Result<(), Error> {
        let body = Body::Step(Step {
            name: name.into(),
            reached,
            text: text.into(),
        });
        record(&self.recorder, Process::Harness, body)
    }

    /// Seconds from the first node's exec to the first acknowledged record.
    pub async fn boot_to_first_ack(&mut self) -> Option<f64> {
        let first_ack = self.first_ack.take()?;
        if !first_ack.is_finished() {
            first_ack.abort();
        }
        let acked = first_ack.await.ok()??;
        Some(acked.saturating_duration_since(self.first_exec).as_secs_f64())
    }

    /// Ends the load, reads everything, ends the observer.
    pub async fn finish(&mut self, plan: &Plan, limit: Duration) -> Result<(), Error> {
        let failed =
            |e: &dyn std::fmt::Display| Error::internal("recording the run", e, "`df` shows what is full");
        if let Some(load) = self.load.take() {
            load.stop().await.map_err(|e| failed(&e))?;
        }
        let read = FinalReadPlan {
            topic: plan.topic.name.clone(),
            partitions: plan.topic.partitions,
            min_insync_replicas: plan.topic.min_insync_replicas,
            limit,
        };
        final_read(read, self.context.clone(), self.view.clone())
            .await
            .map_err(|e| failed(&e))?;
        if let Some(observer) = self.observer.take() {
            use client::observer::ObserverError;
            match observer.stop().await {
                // Whatever the cluster does to its metadata log is in the history.
                Ok(()) => {}
                Err(ObserverError::Recorder(e)) => return Err(failed(&e)),
                Err(e) => self.step("observer", false, &format!("the observer ended: {e}"))?,
            }
        }
        Ok(())
    }
}

/// Records an entry that is no client's operation.
pub fn record(recorder: &Recorder, process: Process, body: Body) -> Result<(), Error> {
    recorder.record(process, Kind::Ok, body).map(|_| ()).map_err(|e| {
        Error::internal(
            "writing the history",
            e,
            "free some space, or name another place with --out",
        )
    })
}

/// From now on the history tells of every start of a node's program, and of every stop that it is asked for.
fn tell_programs(cluster: &Cluster, recorder: Arc<Recorder>) {
    cluster.on_program(move |node, told| {
        let (start, event) = match told {
            ProgramTold::Started(start) => (start, NodeEvent::Started),
            ProgramTold::StopAsked(start) => (start, NodeEvent::StopAsked),
        };
        let body = Body::Node(NodeProcess { node, event, start });
        // A history that takes no more entries ends the run by its next one.
        let _ = recorder.record(Process::Observer, Kind::Ok, body);
    });
}

fn recorder(plan: &Plan, run_dir: &Path, began: Instant) -> Result<Arc<Recorder>, Error> {
    let header = Header {
        schema: history::SCHEMA,
        ackall_version: plan.ackall_version.clone(),
        started_at: humantime::format_rfc3339_millis(SystemTime::now()).to_string(),
        scenario: plan.scenario.clone(),
        seed: plan.seed,
        system: plan.system.clone(),
        promises: plan.promises.clone(),
        requirements: plan.requirements.clone(),
        // By hand there is none.
        topics: [TopicPlan {
            name: plan.topic.name.clone(),
            partitions: plan.topic.partitions,
            replication_factor: plan.topic.replication_factor,
            min_insync_replicas: plan.topic.min_insync_replicas,
            log_start_may_move: false,
        }]
        .into_iter()
        .filter(|topic| topic.partitions > 0)
        .collect(),
        features: plan.features.clone(),
        server: Some(plan.server.clone()),
    };
    let path = run_dir.join(store::HISTORY);
    std::fs::File::create(&path)
        .and_then(|file| Recorder::new(file, &header, began))
        .map(Arc::new)
        .map_err(|e| Error::internal(format!("writing {}", path.display()), e, "free some space"))
}

fn lay_out(
    plan: &Plan,
    run_dir: &Path,
    attached: Attached,
    host_ports: &[u16],
) -> Result<Arc<Cluster>, Error> {
    let layout = Layout {
        run_dir,
        system: super::read_system(run_dir)?,
        controllers: crate::plan::CONTROLLERS,
        brokers: crate::plan::BROKERS,
        cluster_id: cluster_id(run_dir),
        properties: plan.server.clone(),
        features: plan.features.clone(),
        bug: plan.bug.clone(),
        disk: plan.disk,
    };
    let Attached { ground, events } = attached;
    Cluster::lay_out_for_host(ground, events, layout, host_ports)
        .map(Arc::new)
        .map_err(|e| match e {
            // The machine lacks something: its own three lines.
            clusters::Error::Ground(e) if e.machine => Error::new(Status::Unavailable, e.what, e.why, e.next),
            e => Error::internal(
                "laying the cluster out",
                e,
                "`ackall doctor` tries what that needs",
            ),
        })
}

/// A cluster id that no other run has, in Kafka's base64 form: of the run folder's name. It begins with a letter:
/// a dash there would be taken for an option by the command that formats a disk, which Kafka's own ids avoid too.
fn cluster_id(run_dir: &Path) -> String {
    use std::hash::{DefaultHasher, Hash, Hasher};
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    /// Kafka's ids are 16 bytes in base64 without padding: 22 characters, the last with 2 bits.
    const CHARACTERS: usize = 21;
    /// The alphabet's first half has letters only.
    const LETTERS: usize = 32;
    let mut hasher = DefaultHasher::new();
    run_dir.hash(&mut hasher);
    std::process::id().hash(&mut hasher);
    let mut state = hasher.finish();
    let mut id = String::new();
    for n in 0..CHARACTERS {
        let drawn = (state >> 58) as usize;
        id.push(char::from(ALPHABET[if n == 0 { drawn % LETTERS } else { drawn }]));
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
    }
    id + "A"
}

fn append_plan(plan: &Plan) -> AppendPlan {
    let [least, largest] = plan.workload.record_bytes;
    AppendPlan {
        topic: plan.topic.name.clone(),
        partitions: plan.topic.partitions,
        producers: plan.workload.producers as u32,
        record_bytes: (least as usize, largest as usize),
        readers: plan.workload.readers,
        producer_timeout: Duration::from_millis(plan.workload.producer_timeout_ms),
        acks: Acks::All,
        pause: PRODUCER_PAUSE,
    }
}

#[cfg(test)]
mod tests {
    use super::cluster_id;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn cluster_ids_differ_and_are_never_taken_for_options() {
        let ids: BTreeSet<String> = (0..1000)
            .map(|n| cluster_id(Path::new(&format!("runs/calm/{n}"))))
            .collect();
        assert_eq!(ids.len(), 1000);
        for id in ids {
            assert_eq!(id.len(), 22);
            assert!(id.starts_with(|c: char| c.is_ascii_alphabetic()), "{id}");
        }
    }
}
