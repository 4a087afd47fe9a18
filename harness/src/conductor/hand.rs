//! A cluster by hand: it stands until somebody ends it, and does meanwhile what is asked over its control socket, one
//! thing at a time, with the very code that steps of a scenario use.

use super::boot::{Attached, Booted};
use super::faults::{Acted, In, Undone};
use super::nodes::Alarm;
use super::progress::Progress;
use super::start::{self, Unready};
use super::{alarm_error, steps, wire};
use crate::error::{Error, Status, nearest};
use crate::hand::{Ask, Hand, Heal, Hurt, NodeState, State, Told};
use crate::plan::Plan;
use crate::scenario::{Act, Said, Targets};
use crate::target::Target;
use clusters::RoleKind;
use ground::{Call, Door, Entry, Ground};
use nemesis::{About, Kind};
use rand_core::Rng;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// How long the healing at the end may take: with the cluster everything goes within a second anyway.
const END_LIMIT: Duration = Duration::from_millis(600);
/// How long a caller may take to ask.
const ASK_PATIENCE: Duration = Duration::from_secs(10);
/// The pause after a call that could not be taken: descriptors are used up.
const PAUSE: Duration = Duration::from_millis(50);

/// A question, and where its answer goes.
struct Asked {
    ask: Ask,
    reply: oneshot::Sender<Reply>,
}

/// An answer, and the way into a node beside it.
type Reply = (Told, Option<Entry>);

/// How a cluster by hand ends.
enum End {
    /// Somebody asked for it.
    Down,
    /// A signal.
    Signal(i32),
}

/// What is done with a question.
enum Step {
    Answered(Told, Option<Entry>),
    Ended(End),
}

/// Stands, serves, and ends. The status is 0 where somebody asked for the end.
///
/// # Errors
/// Where it does not come up, or its ground fails.
pub async fn by_hand(
    plan: &Plan,
    run_dir: &Path,
    hand: &Hand,
    shown: (Progress, bool),
    began: Instant,
) -> Result<Status, Error> {
    let (progress, json) = shown;
    let attached = Attached::join()?;
    let ground = attached.ground.clone();
    let door = ground
        .door()
        .map_err(|e| Error::internal(e.what, e.why, e.next))?;
    let mut booted = match Booted::stand(plan, run_dir, began, attached, &hand.host_ports).await {
        Ok(booted) => booted,
        Err(Unready::Interrupted(signal)) => return Ok(Status::of_signal(signal)),
        Err(Unready::Failed(error)) => return Err(error),
    };
    let alarms = booted.alarms.take();
    let mut table = Table {
        plan,
        run_dir,
        hand,
        ground,
        booted,
        alarms,
        waiting: VecDeque::new(),
        progress,
    };
    let end = match table.come_up().await? {
        Some(end) => end,
        None => {
            let mut asked = listen(door)?;
            table.show(json);
            table.serve(&mut asked).await?
        }
    };
    table.end().await?;
    Ok(match end {
        End::Down => Status::Pass,
        End::Signal(signal) => Status::of_signal(signal),
    })
}

/// Takes calls: a thread each, since each waits for its turn.
fn listen(door: Door) -> Result<mpsc::UnboundedReceiver<Asked>, Error> {
    let (asks, asked) = mpsc::unbounded_channel();
    let take = move || {
        while !asks.is_closed() {
            let (Ok(call), asks) = (door.accept(), asks.clone()) else {
                std::thread::sleep(PAUSE);
                continue;
            };
            let thread = std::thread::Builder::new().name("call".into());
            // Where there is no room for a thread the caller sees the end of its call.
            let _ = thread.spawn(move || answer(&call, &asks));
        }
    };
    let thread = std::thread::Builder::new().name("door".into()).spawn(take);
    thread.map_err(|e| Error::internal("serving the control socket", e, "see `ulimit -u`"))?;
    Ok(asked)
}

/// One question, and its answer. A caller that is gone hears none.
fn answer(call: &Call, asks: &mpsc::UnboundedSender<Asked>) {
    let ask = match call.receive_within::<Ask>(ASK_PATIENCE) {
        Ok(Some(ask)) => ask,
        Ok(None) => return,
        Err(e) => {
            let error = Error::usage(
                "reading a question",
                e,
                "use the same `ackall` that the cluster was started with",
            );
            let _ = call.send(&Told::Failed(error));
            return;
        }
    };
    let (reply, answer) = oneshot::channel();
    if asks.send(Asked { ask, reply }).is_err() {
        return;
    }
    // Without an answer the cluster has ended, which the end of the call says.
    if let Ok((told, entry)) = answer.blocking_recv() {
        let _ = match entry {
            Some(entry) => call.send_entry(&told, &entry),
            None => call.send(&told),
        };
    }
}

/// All that a cluster by hand holds.
struct Table<'a> {
    plan: &'a Plan,
    run_dir: &'a Path,
    hand: &'a Hand,
    ground: Ground,
    booted: Booted,
    alarms: super::boot::Alarms,
    /// Questions that came while another was being done.
    waiting: VecDeque<Asked>,
    progress: Progress,
}

impl Table<'_> {
    /// Waits until all serve; the end, where a signal comes first.
    async fn come_up(&mut self) -> Result<Option<End>, Error> {
        let cluster = self.booted.cluster.clone();
        match start::serving(self.booted.view.clone(), &cluster, &mut self.alarms).await {
            Ok(()) => Ok(None),
            Err(Unready::Interrupted(signal)) => Ok(Some(End::Signal(signal))),
            Err(Unready::Failed(error)) => Err(error),
        }
    }

    fn show(&self, json: bool) {
        if !self.hand.shows {
            return;
        }
        let state = self.state();
        if json {
            say!("{}", serde_json::json!(state));
        } else {
            state.lines().iter().for_each(|line| say!("{line}"));
        }
    }

    async fn serve(&mut self, asked: &mut mpsc::UnboundedReceiver<Asked>) -> Result<End, Error> {
        loop {
            let next = match self.waiting.pop_front() {
                Some(next) => next,
                None => tokio::select! {
                    alarm = self.alarms.next() => {
                        if let Some(end) = self.hear(alarm)? {
                            return Ok(end);
                        }
                        continue;
                    }
                    // The door's thread holds a sender for good.
                    Some(next) = asked.recv() => next,
                },
            };
            match self.one(next.ask, asked).await? {
                Step::Answered(told, entry) => _ = next.reply.send((told, entry)),
                Step::Ended(end) => {
                    let _ = next.reply.send((Told::Ends, None));
                    return Ok(end);
                }
            }
        }
    }

    /// An alarm; the end, where it is one.
    fn hear(&self, alarm: Alarm) -> Result<Option<End>, Error> {
        if let Alarm::NodeDied { node, how } = &alarm {
            let log = self.booted.cluster.log_tail(*node);
            self.progress
                .line(&format!("node {node} {how}, unasked; its log ends: {log}"));
            return Ok(None);
        }
        ended(&alarm).map(Some)
    }

    async fn one(&mut self, ask: Ask, asked: &mut mpsc::UnboundedReceiver<Asked>) -> Result<Step, Error> {
        let told = match ask {
            Ask::State => Ok(Told::State(self.state())),
            Ask::Faults => Ok(Told::Faults(
                self.booted
                    .faults
                    .iter()
                    .map(|(id, one)| hurt(*id, one))
                    .collect(),
            )),
            Ask::Down => return Ok(Step::Ended(End::Down)),
            Ask::Enter { node } => match self.enter(&node) {
                Ok((told, entry)) => return Ok(Step::Answered(told, Some(entry))),
                Err(error) => Err(error),
            },
            Ask::Fault {
                name,
                targets,
                params,
            } => {
                let doing = inject(self.plan, &mut self.booted, &name, &targets, &params);
                match until(doing, &mut self.alarms, asked, &mut self.waiting).await? {
                    Ok(told) => told.map(Told::Fault),
                    Err(end) => return Ok(Step::Ended(end)),
                }
            }
            Ask::Heal(which) => {
                let doing = heal(&mut self.booted, which);
                match until(doing, &mut self.alarms, asked, &mut self.waiting).await? {
                    Ok(told) => told.map(Told::Healed),
                    Err(end) => return Ok(Step::Ended(end)),
                }
            }
        };
        let told = told.unwrap_or_else(Told::Failed);
        match &told {
            Told::Fault(hurt) => self.progress.line(&format!("in: {}", hurt.line())),
            Told::Healed(all) => all
                .iter()
                .for_each(|one| self.progress.line(&format!("healed: {}", one.line()))),
            _ => {}
        }
        Ok(Step::Answered(told, None))
    }

    fn enter(&self, node: &str) -> Result<(Told, Entry), Error> {
        let what = format!("entering {node:?}");
        let nodes = resolve(self.plan, &self.booted, "", &[node.to_string()], &what, 0)?;
        let [node] = nodes[..] else {
            return Err(Error::usage(
                what,
                format!("{nodes:?} are several nodes"),
                "name one",
            ));
        };
        let home = self.booted.cluster.node(node).map(|found| found.home.clone());
        let home = home.map_err(|e| Error::usage(what.clone(), e, "`ackall ps` shows the nodes"))?;
        let entry = self
            .ground
            .entry(node)
            .map_err(|e| Error::new(Status::Unknown, what, e.why, e.next))?;
        Ok((Told::Entry { node, home }, entry))
    }

    fn state(&self) -> State {
        let view = self.booted.view.borrow();
        let node = |node: &clusters::Node| {
            let is_fenced = view.brokers.get(&node.id).is_none_or(|broker| broker.fenced);
            let state = match (self.booted.cluster.runs(node.id), node.role) {
                (false, _) => "down",
                (true, RoleKind::Broker) if is_fenced => "fenced",
                (true, _) => "up",
            };
            NodeState {
                node: node.id,
                role: match node.role {
                    RoleKind::Broker => "broker".into(),
                    RoleKind::Controller => "controller".into(),
                },
                address: node.address,
                host_address: node.host,
                state: state.into(),
                leads: view
                    .partitions
                    .values()
                    .filter(|partition| partition.leader == node.id)
                    .count(),
                active: view.quorum.leader == node.id,
            }
        };
        let mut nodes: Vec<NodeState> = self.booted.cluster.nodes().iter().map(node).collect();
        nodes.sort_by_key(|node| node.node);
        State {
            name: self.hand.name.clone(),
            run: self.run_dir.to_path_buf(),
            front: self.hand.front,
            nodes,
            faults: self.booted.faults.len(),
        }
    }

    /// Heals what is in, as far as that can be done at once.
    async fn end(&mut self) -> Result<(), Error> {
        // What is not healed by then ends with the cluster; the history says how far it came.
        let _ = tokio::time::timeout(END_LIMIT, self.booted.heal_all()).await;
        wire::write(&self.booted.cluster, self.run_dir)
    }
}

/// Does something that takes its time; the end, where that comes first.
async fn until<T>(
    doing: impl Future<Output = T>,
    alarms: &mut super::boot::Alarms,
    asked: &mut mpsc::UnboundedReceiver<Asked>,
    waiting: &mut VecDeque<Asked>,
) -> Result<Result<T, End>, Error> {
    let mut doing = std::pin::pin!(doing);
    loop {
        tokio::select! {
            done = &mut doing => return Ok(Ok(done)),
            alarm = alarms.fatal() => return ended(&alarm).map(Err),
            Some(next) = asked.recv() => {
                if next.ask == Ask::Down {
                    let _ = next.reply.send((Told::Ends, None));
                    return Ok(Err(End::Down));
                }
                waiting.push_back(next);
            }
        }
    }
}

fn ended(alarm: &Alarm) -> Result<End, Error> {
    match alarm {
        Alarm::Interrupted(signal) => Ok(End::Signal(*signal)),
        alarm => Err(alarm_error(alarm)),
    }
}

fn hurt(id: u64, one: &In) -> Hurt {
    Hurt {
        id,
        name: one.fault.about().name.into(),
        nodes: one.order.nodes.clone(),
        asked: one.asked.clone(),
        measured: one.measured.clone(),
    }
}

/// Puts a fault in.
async fn inject(
    plan: &Plan,
    booted: &mut Booted,
    name: &str,
    targets: &[String],
    params: &BTreeMap<String, String>,
) -> Result<Hurt, Error> {
    let what = format!("putting in {name}");
    let Some(fault) = nemesis::find(name) else {
        return Err(unknown_fault(name));
    };
    let about = fault.about();
    let act = Act {
        fault: Some(name.into()),
        heal: None,
        target: match targets {
            [one] => Targets::One(one.clone()),
            all => Targets::Several(all.to_vec()),
        },
        params: params
            .iter()
            .map(|(name, text)| (name.clone(), said(about, name, text)))
            .collect(),
        named: None,
    };
    act.params(about)
        .map_err(|why| Error::usage(&what, why, format!("ackall explain {name}   has its parameters")))?;
    let pick = booted.fault_seeds.next_u64();
    let nodes = resolve(plan, booted, name, targets, &what, pick)?;
    let id = booted.next_fault;
    match booted.inject(&act, nodes).await {
        Ok(Acted::Done) => {}
        Ok(Acted::Refused(why)) => return Err(not_now(what, why)),
        Err(undone) => {
            let error = undone.into_error();
            // Some of it may be in.
            let out = booted.heal_one(id).await;
            let next = match out {
                Ok(_) => {
                    "what of it was in was taken out again; `ackall doctor` tries what it needs".to_string()
                }
                Err(_) => format!("some of it may be in: ackall fault heal {id}"),
            };
            return Err(Error { next, ..error });
        }
    }
    match booted.faults.get(&id) {
        Some(one) => Ok(hurt(id, one)),
        None => Err(Error::internal(
            what,
            "it is not in the list of faults",
            "report this: it is a bug",
        )),
    }
}

/// The error of a name that no fault has.
pub fn unknown_fault(name: &str) -> Error {
    let near = nearest(name, nemesis::ALL.iter().map(|fault| fault.about().name));
    Error::usage(
        format!("finding the fault {name:?}"),
        format!("there is none of that name; the nearest are {}", near.join(", ")),
        "ackall explain   lists them",
    )
}

/// What was typed, as the parameter wants it: what it does not want is refused with its bounds.
fn said(about: &About, name: &str, text: &str) -> Said {
    let is_number = about
        .params
        .iter()
        .any(|param| param.name == name && matches!(param.kind, Kind::Number { .. }));
    match text.parse::<f64>() {
        Ok(number) if is_number => Said::Number(number),
        _ => Said::Text(text.into()),
    }
}

/// The nodes that targets mean now.
fn resolve(
    plan: &Plan,
    booted: &Booted,
    fault: &str,
    targets: &[String],
    what: &str,
    pick: u64,
) -> Result<Vec<i32>, Error> {
    let wrong = |why: String| Error::usage(what, why, "ackall explain targets; `ackall ps` shows the nodes");
    if targets.is_empty() {
        return Err(wrong("nobody is meant".into()));
    }
    for text in targets {
        if let Target::Number(number) = Target::parse(text).map_err(wrong)?
            && booted.cluster.node(number).is_err()
        {
            let nodes: Vec<String> = booted
                .cluster
                .nodes()
                .iter()
                .map(|node| node.id.to_string())
                .collect();
            return Err(wrong(format!(
                "there is no node {number}; there are {}",
                nodes.join(", ")
            )));
        }
    }
    let act = Act {
        fault: Some(fault.into()),
        heal: None,
        target: Targets::Several(targets.to_vec()),
        params: BTreeMap::new(),
        named: None,
    };
    let by_hand = |why: String| {
        why.replace(
            "the partition under load is not in the metadata log",
            "by hand no partition is under load: name one, as in leader:TOPIC-0",
        )
    };
    steps::resolve(plan, booted, &act, pick).map_err(|why| not_now(what.into(), by_hand(why)))
}

/// What the state of now does not allow.
fn not_now(what: String, why: String) -> Error {
    Error::new(
        Status::Unknown,
        what,
        why,
        "`ackall fault list` and `ackall ps` show what is",
    )
}

/// Takes faults out.
async fn heal(booted: &mut Booted, which: Heal) -> Result<Vec<Hurt>, Error> {
    let healed = match which {
        Heal::All => booted.heal_all().await.map_err(Undone::into_error)?,
        Heal::One(id) => {
            if !booted.faults.contains_key(&id) {
                return Err(not_in(booted, id));
            }
            booted
                .may_heal(id)
                .map_err(|why| not_now(format!("healing fault {id}"), why))?;
            booted
                .heal_one(id)
                .await
                .map_err(Undone::into_error)?
                .into_iter()
                .collect()
        }
    };
    Ok(healed.iter().map(|one| hurt(one.order.id, one)).collect())
}

fn not_in(booted: &Booted, id: u64) -> Error {
    let there: Vec<String> = booted.faults.keys().map(u64::to_string).collect();
    let there = if there.is_empty() {
        "no fault is".into()
    } else {
        format!("{} are", there.join(", "))
    };
    Error::usage(
        format!("healing fault {id}"),
        format!("it is not in; {there}"),
        "ackall fault list",
    )
}
