//! One round: a fault, its heal, and what is measured of both.

use super::check::{By, missing_in_log, missing_on_broker, read_log};
use super::figures::{Round, UNIT};
use super::kind::{Hold, Kind};
use super::probe::{Inner, Sighting};
use super::stage::Stage;
use clusters::{Cluster, Policy, Port};
use ground::sys::monotonic_ns;
use nemesis::crash::Crash;
use nemesis::cut_network::CutNetwork;
use nemesis::pause::Pause;
use nemesis::power_cut::PowerCut;
use nemesis::{Fault, Field, Measured, NotTaken, Order, Params};
use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// In units: how long a leader is waited for. Longer than the bound, so that a wait that breaks it is measured.
const LEADER_LIMIT: u32 = 20;
/// How long all may take to be as before: brokers restart, register, are unfenced.
const SETTLE_LIMIT: Duration = Duration::from_secs(40);
/// How long the wire may take to deliver a first frame after a heal: TCP's back-off ends at a second or two.
const FRAME_LIMIT: Duration = Duration::from_secs(10);
/// So many topics are acknowledged between two faults, at the least: something to lose.
const TOPICS: usize = 15;
/// Between two looks at what was seen.
const LOOK: Duration = Duration::from_millis(2);
/// Rounds begin at different moments after the last one: a few of a leader's and its followers' timers apart.
const PHASES: (u64, u64) = (37, 100);
/// A node's ledger of power cuts, in its home.
const LEDGER: &str = "disk-ledger.jsonl";

/// Why the rounds end.
pub enum Stop {
    /// The fault, or its heal, was not seen.
    NotTaken(String),
    /// The cluster did not do what it must.
    Wrong(String),
}

impl From<NotTaken> for Stop {
    fn from(error: NotTaken) -> Stop {
        Stop::NotTaken(error.to_string())
    }
}

impl From<clusters::Error> for Stop {
    fn from(error: clusters::Error) -> Stop {
        Stop::NotTaken(error.to_string())
    }
}

/// Makes a round. What was measured is in `made` also where it ends early.
pub async fn round(stage: &Stage, kind: Kind, made: &mut Round) -> Result<(), Stop> {
    let controllers = stage.controllers();
    let hold = kind.hold(made.round);
    made.healed = hold.text();
    stage.load.begin_round(made.round);
    let at_rest_ns = monotonic_ns();
    made.before = settled(stage, at_rest_ns).await?;
    let enough = || (stage.load.count_after(at_rest_ns) >= TOPICS).then_some(());
    until(SETTLE_LIMIT, enough).await.ok_or_else(|| {
        Stop::Wrong(format!(
            "fewer than {TOPICS} topics were created in {SETTLE_LIMIT:?}"
        ))
    })?;
    sleep(Duration::from_millis(made.round as u64 * PHASES.0 % PHASES.1)).await;
    // A quorum at rest keeps its leader; where it did not, the one of now is the victim.
    made.before = settled(stage, monotonic_ns()).await?;
    let (leader, epoch) = made.before;
    made.victims = kind.victims(made.round, leader, &controllers);
    stage.seen.lock().forget_sightings();

    let fault = made.round as u64 + 1;
    let fault_ns = monotonic_ns();
    let began = Instant::now();
    let took = inject(stage, kind, &made.victims, fault).await?;
    keep(made, "", took);
    let in_force_ns = monotonic_ns();
    let mut elected = None;
    match hold {
        Hold::NotAtAll => {}
        Hold::For(time) => sleep(time.saturating_sub(began.elapsed())).await,
        Hold::UntilItShows if kind.leaves_a_majority() => {
            let other = leader_seen(stage, |seen| seen.epoch > epoch).await;
            let other = other.ok_or_else(|| no_leader(stage, "while the fault lasted, among a majority"))?;
            made.failover_ms = Some(ms(other.at_ns, fault_ns));
            elected = Some(other.epoch);
        }
        Hold::UntilItShows => nobody_leads(stage, kind, &made.victims, in_force_ns).await?,
    }

    let links = links(&controllers, &made.victims);
    let committed = stage.seen.lock().log.end;
    stage.cluster.mark(&links)?;
    let heal_ns = monotonic_ns();
    let (healed, first) = tokio::join!(
        heal(stage, kind, &made.victims, fault),
        first_frame(&stage.cluster, &links)
    );
    keep(made, "healed_", healed?);
    let first_ns = first?;
    made.first_frame_ms = Some(ms(first_ns, heal_ns));

    // A leader of old is believed once it has committed something since: one that was cut off still claims to lead.
    let back = leader_seen(stage, |seen| {
        seen.asked_ns >= first_ns
            && (seen.epoch > epoch || seen.epoch == epoch && seen.high_watermark > committed)
    });
    let back = back.await.ok_or_else(|| no_leader(stage, "after the heal"))?;
    made.leader_ms = Some(ms(back.at_ns, first_ns));
    let acked = until(SETTLE_LIMIT, || stage.load.first_after(first_ns)).await;
    let acked = acked.ok_or_else(|| {
        Stop::Wrong(format!(
            "no topic was created within {SETTLE_LIMIT:?} of the first packet"
        ))
    })?;
    made.ack_ms = Some(ms(acked, first_ns));
    made.after = settled(stage, monotonic_ns()).await?;
    made.disturbed = elected.is_some_and(|elected| made.after.1 != elected);
    stage.expect(&all_nodes(&stage.cluster), false);
    check(stage, made).await
}

fn ms(later_ns: u64, earlier_ns: u64) -> f64 {
    later_ns.saturating_sub(earlier_ns) as f64 / 1e6
}

/// Sums what was measured of several nodes.
fn keep(made: &mut Round, prefix: &str, measured: Vec<Measured>) {
    for (name, value) in measured.into_iter().flatten() {
        let kept = made.took.entry(format!("{prefix}{name}")).or_default();
        // Times are the slowest node's; counts add up.
        *kept = if name.ends_with("_ms") {
            kept.max(value)
        } else {
            *kept + value
        };
    }
}

fn all_nodes(cluster: &Cluster) -> Vec<i32> {
    cluster.nodes().iter().map(|node| node.id).collect()
}

/// The directed links between controllers with a victim at one end.
fn links(controllers: &[i32], victims: &[i32]) -> Vec<(Port, Port)> {
    let pairs = controllers
        .iter()
        .flat_map(|from| controllers.iter().map(move |to| (*from, *to)));
    pairs
        .filter(|(from, to)| from != to && (victims.contains(from) || victims.contains(to)))
        .map(|(from, to)| (Port::Node(from), Port::Node(to)))
        .collect()
}

async fn inject(stage: &Stage, kind: Kind, victims: &[i32], fault: u64) -> Result<Vec<Measured>, Stop> {
    match kind {
        Kind::LeaderKilled | Kind::MajorityLost => {
            stage.expect(victims, true);
            each_inject(&Crash, stage, victims, fault).await
        }
        Kind::LeaderPaused => each_inject(&Pause, stage, victims, fault).await,
        Kind::LeaderIsolated | Kind::MajorityIsolated => {
            each_inject(&CutNetwork, stage, victims, fault).await
        }
        Kind::AllPowerCut => cut_all_power(stage, fault),
    }
}

async fn each_inject(
    fault: &'static dyn Fault,
    stage: &Stage,
    victims: &[i32],
    id: u64,
) -> Result<Vec<Measured>, Stop> {
    let mut tasks = JoinSet::new();
    for victim in victims.iter().copied() {
        let cluster = stage.cluster.clone();
        tasks.spawn(async move {
            let order = order(fault, victim, id)?;
            fault.inject(Field { cluster: &cluster }, &order).await
        });
    }
    join(tasks).await
}

async fn each_heal(
    fault: &'static dyn Fault,
    cluster: &Arc<Cluster>,
    victims: &[i32],
    id: u64,
) -> Result<Vec<Measured>, Stop> {
    let mut tasks = JoinSet::new();
    for victim in victims.iter().copied() {
        let cluster = cluster.clone();
        tasks.spawn(async move {
            let order = order(fault, victim, id)?;
            fault.heal(Field { cluster: &cluster }, &order).await
        });
    }
    join(tasks).await
}

/// A fault of one node, with nothing said but that. Each node's has a number of its own in the round.
fn order(fault: &dyn Fault, node: i32, round: u64) -> Result<Order, NotTaken> {
    let params = Params::check(fault.about().params, &BTreeMap::new());
    Ok(Order {
        id: round << 32 | u64::from(node.unsigned_abs()),
        nodes: vec![node],
        params: params.map_err(|why| NotTaken::NotSeen(why.to_string()))?,
        seed: round,
    })
}

async fn join(mut tasks: JoinSet<Result<Measured, NotTaken>>) -> Result<Vec<Measured>, Stop> {
    let mut all = Vec::new();
    while let Some(done) = tasks.join_next().await {
        all.push(done.map_err(|panic| Stop::NotTaken(panic.to_string()))??);
    }
    Ok(all)
}

/// Every node at one instant, which a fault of one node is not. It took where each node's own disk has it in its ledger.
fn cut_all_power(stage: &Stage, fault: u64) -> Result<Vec<Measured>, Stop> {
    let nodes = all_nodes(&stage.cluster);
    stage.expect(&nodes, true);
    let cuts = stage.cluster.power_off(&nodes, fault, Policy::default())?;
    let mut all = Vec::new();
    for node in stage.cluster.nodes() {
        let Some(cut) = cuts.iter().find(|cut| cut.node == node.id) else {
            return Err(Stop::NotTaken(format!(
                "node {} was not among those whose power was cut",
                node.id
            )));
        };
        let path = node.home.join(LEDGER);
        let ledger = fs::read_to_string(&path)
            .map_err(|e| Stop::NotTaken(format!("reading {}: {e}", path.display())))?;
        let mut lines = ledger
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        if !lines.any(|line| line["kind"] == "cut" && line["fault"] == fault) {
            return Err(Stop::NotTaken(format!(
                "the ledger of node {} does not know of the cut",
                node.id
            )));
        }
        all.push(Measured::from([
            ("dead_ms".into(), ms(cut.dead_at_ns, cut.cut_at_ns)),
            ("lost_bytes".into(), cut.loss.bytes as f64),
            ("lost_files".into(), cut.loss.files as f64),
        ]));
    }
    Ok(all)
}

async fn heal(stage: &Stage, kind: Kind, victims: &[i32], fault: u64) -> Result<Vec<Measured>, Stop> {
    let cluster = &stage.cluster;
    match kind {
        Kind::LeaderKilled | Kind::MajorityLost => each_heal(&Crash, cluster, victims, fault).await,
        Kind::LeaderPaused => each_heal(&Pause, cluster, victims, fault).await,
        Kind::LeaderIsolated | Kind::MajorityIsolated => {
            each_heal(&CutNetwork, cluster, victims, fault).await
        }
        Kind::AllPowerCut => each_heal(&PowerCut, cluster, &all_nodes(cluster), fault).await,
    }
}

/// When the first of these links delivered a frame since they were marked.
async fn first_frame(cluster: &Cluster, links: &[(Port, Port)]) -> Result<u64, Stop> {
    let began = Instant::now();
    while began.elapsed() < FRAME_LIMIT {
        let first = cluster.first_frames(links)?.into_iter().flatten().min();
        if let Some(first) = first {
            return Ok(first);
        }
        sleep(LOOK).await;
    }
    Err(Stop::NotTaken(format!(
        "the wire delivered no frame between controllers within {FRAME_LIMIT:?} of the heal"
    )))
}

async fn until<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if began.elapsed() > limit {
            return None;
        }
        sleep(LOOK).await;
    }
}

async fn leader_seen(stage: &Stage, wanted: impl Fn(&Sighting) -> bool) -> Option<Sighting> {
    until(UNIT * LEADER_LIMIT, || stage.seen.lock().sighting(&wanted)).await
}

fn no_leader(stage: &Stage, when: &str) -> Stop {
    let latest = format!("{:?}", stage.seen.lock().latest);
    Stop::Wrong(format!(
        "no active leader within {:?} {when}; controllers say {latest}",
        UNIT * LEADER_LIMIT
    ))
}

/// Waits until no controller that answers leads: without a majority nobody may for long.
async fn nobody_leads(stage: &Stage, kind: Kind, victims: &[i32], since_ns: u64) -> Result<(), Stop> {
    let all = stage.controllers().into_iter();
    let answers: Vec<i32> = all
        .filter(|id| kind != Kind::MajorityLost || !victims.contains(id))
        .collect();
    let fallen = |inner: &Inner| {
        answers.iter().all(|id| {
            let said = inner.latest.get(id);
            said.is_some_and(|said| said.asked_ns > since_ns && !said.leads)
        })
    };
    let fell = until(UNIT * LEADER_LIMIT, || fallen(&stage.seen.lock()).then_some(())).await;
    fell.ok_or_else(|| {
        Stop::Wrong(format!(
            "somebody leads without a majority: {:?}",
            stage.seen.lock().latest
        ))
    })
}

/// Waits until all is as before a fault: every controller names the same leader in the same epoch, that leader is
/// active, and topics are created again. Gives leader and epoch.
async fn settled(stage: &Stage, since_ns: u64) -> Result<(i32, i32), Stop> {
    let controllers = stage.controllers();
    let at_rest = || {
        stage.load.first_after(since_ns)?;
        let inner = stage.seen.lock();
        let (leader, epoch) = inner.agreed(&controllers, since_ns)?;
        let active =
            |seen: &Sighting| seen.asked_ns >= since_ns && (seen.node, seen.epoch) == (leader, epoch);
        inner.sighting(active).map(|_| (leader, epoch))
    };
    until(SETTLE_LIMIT, at_rest).await.ok_or_else(|| {
        let latest = format!("{:?}", stage.seen.lock().latest);
        let created = if stage.load.first_after(since_ns).is_some() {
            "topics are created"
        } else {
            "no topic is created"
        };
        Stop::Wrong(format!(
            "the cluster was not at rest within {SETTLE_LIMIT:?}: {created}; controllers say {latest}"
        ))
    })
}

/// All that was acknowledged must be there: in the whole log, and on each broker.
async fn check(stage: &Stage, made: &mut Round) -> Result<(), Stop> {
    let acked = stage.load.acked();
    made.acked = acked.len();
    let (leader, epoch) = made.after;
    let so_far = stage.seen.lock().log.clone();
    let address = stage.cluster.node(leader)?.address;
    let again = read_log(address, epoch, so_far.end).await.map_err(Stop::Wrong)?;
    if let Some(departs) = so_far.departs(&again) {
        stage.seen.break_rule(format!("round {}: {departs}", made.round));
    }
    for wrong in &again.wrong {
        stage
            .seen
            .break_rule(format!("round {}: read again, {wrong}", made.round));
    }
    made.lost = missing_in_log(&acked, &again);
    let brokers = stage.brokers();
    let (one, other) = tokio::join!(
        missing_on_broker(&acked, brokers[0], By::Metadata),
        missing_on_broker(&acked, brokers[1], By::Describe),
    );
    for found in [one, other] {
        made.lost.extend(found.map_err(Stop::Wrong)?);
    }
    Ok(())
}
