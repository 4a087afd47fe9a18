//! From formatted disks to a cluster that serves and is what the plan asks for; and what may come in between: a signal, a
//! node that ends, a limit. Each is told at once, in the words of the nodes' own logs.

use super::alarm_error;
use super::boot::Alarms;
use super::nodes::Alarm;
use crate::error::Error;
use crate::plan::Plan;
use client::calls::{CreateTopic, Layout};
use client::observer::ClusterView;
use clusters::{Cluster, Event};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tokio::sync::{broadcast, watch};

/// How long a cluster that serves may take until it has created the topic.
const TOPIC_LIMIT: Duration = Duration::from_secs(30);
/// Between two attempts at creating the topic.
const PAUSE: Duration = Duration::from_millis(20);

/// Why a cluster does not serve.
#[derive(Debug)]
pub enum Unready {
    /// A signal asked the run to end.
    Interrupted(i32),
    /// It cannot.
    Failed(Error),
}

impl From<Error> for Unready {
    fn from(error: Error) -> Unready {
        Unready::Failed(error)
    }
}

/// Formats all disks.
///
/// # Errors
/// 70, with the reason from the log of the node whose disk was not formatted; or a signal.
pub async fn format(cluster: &Cluster) -> Result<(), Unready> {
    let events = cluster.events();
    tokio::select! {
        done = cluster.format() => match done.map_err(|e| not_formatted(cluster, e))?.first() {
            None => Ok(()),
            Some(node) => Err(left_empty(*node).into()),
        },
        signal = interrupt(events) => Err(Unready::Interrupted(signal)),
    }
}

/// A node whose data is not on its disk would lose nothing with its power: whatever it passes, it has not passed.
fn left_empty(node: i32) -> Error {
    Error::internal(
        format!("formatting the disk of node {node}"),
        "the format step ended well and left the disk empty: what the node writes goes elsewhere, where no fault of \
         its disk reaches it",
        "see the log folders in its server.properties; a path with letters beyond ASCII is not read as it stands by \
         every system (--out names another)",
    )
}

/// The signal that asks the run to end. Never, where none comes.
async fn interrupt(mut events: broadcast::Receiver<Event>) -> i32 {
    loop {
        match events.recv().await {
            Ok(Event::Interrupt { signal }) => return signal,
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        }
    }
}

fn not_formatted(cluster: &Cluster, error: clusters::Error) -> Error {
    match error {
        clusters::Error::Format { node, how, log } => Error::internal(
            format!("formatting the disk of node {node}"),
            format!("the format step {how}; {}", log_says(&log)),
            read_log(cluster, node),
        ),
        error => Error::internal(
            "formatting the nodes' disks",
            error,
            "`ackall doctor` tries what that needs",
        ),
    }
}

/// A node that did not start, or ended before all served.
pub fn not_started(cluster: &Cluster, node: i32, why: &str) -> Error {
    Error::internal(format!("starting node {node}"), why, read_log(cluster, node))
}

fn log_says(log: &str) -> String {
    if log.is_empty() {
        return "its log is empty".into();
    }
    format!("its log says: {log}")
}

fn read_log(cluster: &Cluster, node: i32) -> String {
    let log = cluster.log_path(node);
    log.map_or("read the nodes' logs in the run's folder".into(), |log| {
        format!("read {}", log.display())
    })
}

/// What ends a start: a node that ended, or a signal.
pub async fn end(cluster: &Cluster, alarms: &mut Alarms) -> Unready {
    match alarms.next().await {
        Alarm::Interrupted(signal) => Unready::Interrupted(signal),
        Alarm::NodeDied { node, how } => {
            let why = format!("it {how}; {}", log_says(&cluster.log_reason(node)));
            not_started(cluster, node, &why).into()
        }
        alarm @ Alarm::Full(_) => alarm_error(&alarm).into(),
    }
}

/// Waits until every node serves.
///
/// # Errors
/// 70, with the reason from the log of a node that ended, or of those that do not serve in time; or a signal.
pub async fn serving(
    view: watch::Receiver<ClusterView>,
    cluster: &Cluster,
    alarms: &mut Alarms,
) -> Result<(), Unready> {
    tokio::select! {
        up = all_serve(view, cluster) => up.map_err(|why| {
            not_up(cluster, "waiting until the cluster serves".into(), &why).into()
        }),
        end = end(cluster, alarms) => Err(end),
    }
}

/// Looks whether a cluster that serves is what was asked for, and creates the topic.
///
/// # Errors
/// 70, where it is not, or does not take the topic.
pub async fn as_planned(plan: &Plan, cluster: &Cluster, clients: &client::Cluster) -> Result<(), Error> {
    check_levels(&plan.features, clients).await?;
    create_topic(plan, cluster, clients).await
}

/// Looks whether the feature levels in force are those of the plan, as a broker tells any client.
///
/// # Errors
/// 70, where they are not, or no broker tells.
async fn check_levels(asked: &BTreeMap<String, i16>, clients: &client::Cluster) -> Result<(), Error> {
    let what = "looking which feature levels are in force";
    let connection = clients.connect_any().await.map_err(|e| {
        let why = e.map_or("there are no brokers".into(), |e| e.to_string());
        Error::internal(what, why, "read the brokers' logs in the run's folder")
    })?;
    for (name, asked) in asked {
        let told = connection.server().features.get(name);
        // A server leaves out what has level 0.
        let in_force = told.map_or(0, |feature| feature.finalised);
        if in_force != *asked {
            return Err(Error::internal(
                format!("{what}, by ApiVersions"),
                format!(
                    "{name} has level {in_force}, and {asked} was asked for when the disks were formatted"
                ),
                "see what the format step said, in the nodes' logs",
            ));
        }
    }
    Ok(())
}

/// Creates the topic as soon as a broker takes it.
async fn create_topic(plan: &Plan, cluster: &Cluster, clients: &client::Cluster) -> Result<(), Error> {
    let minimum = plan.topic.min_insync_replicas.to_string();
    let topic = CreateTopic {
        name: plan.topic.name.clone(),
        layout: Layout::Assigned(plan.assignment.clone()),
        configs: BTreeMap::from([("min.insync.replicas".to_string(), minimum)]),
        timeout: Duration::from_secs(1),
    };
    let deadline = Instant::now() + TOPIC_LIMIT;
    let mut why = String::from("nobody answered");
    while Instant::now() < deadline {
        match clients.connect_any().await {
            Ok(mut connection) => match connection.create_topic(&topic).await {
                Ok(created) if created.error.is_none() => return Ok(()),
                // An attempt that was not answered may have worked.
                Ok(created) if created.error.to_string() == "TOPIC_ALREADY_EXISTS" => return Ok(()),
                Ok(created) => why = format!("{} {}", created.error, created.message.unwrap_or_default()),
                Err(e) => why = e.to_string(),
            },
            Err(e) => why = e.map_or("there are no brokers".into(), |e| e.to_string()),
        }
        tokio::time::sleep(PAUSE).await;
    }
    let what = format!("creating the topic {} within {TOPIC_LIMIT:?}", plan.topic.name);
    Err(not_up(cluster, what, &why))
}

/// Waits until every broker is in the metadata log and not fenced, a controller is active, and each node has said what
/// the system's description waits for.
///
/// # Errors
/// What is missing past the limit.
async fn all_serve(mut view: watch::Receiver<ClusterView>, cluster: &Cluster) -> Result<(), String> {
    let limit = cluster.ready_limit();
    let unfenced = |view: &ClusterView| view.brokers.values().filter(|broker| !broker.fenced).count();
    let all_unfenced =
        |view: &ClusterView| unfenced(view) >= crate::plan::BROKERS as usize && view.quorum.leader >= 0;
    let ready = async {
        if view.wait_for(all_unfenced).await.is_err() {
            return false;
        }
        while !cluster.all_said_ready() {
            tokio::time::sleep(PAUSE).await;
        }
        true
    };
    if tokio::time::timeout(limit, ready).await == Ok(true) {
        return Ok(());
    }
    let view = view.borrow();
    Err(format!(
        "{} of {} brokers serve after {limit:?}, and the active controller is {}",
        unfenced(&view),
        crate::plan::BROKERS,
        view.quorum.leader
    ))
}

/// A cluster that did not come up, with what its nodes' logs say.
fn not_up(cluster: &Cluster, what: String, why: &str) -> Error {
    let logs: Vec<String> = cluster
        .nodes()
        .iter()
        .map(|node| format!("node {}: {}", node.id, cluster.log_reason(node.id)))
        .collect();
    Error::internal(
        what,
        format!("{why}; the nodes' logs say: {}", logs.join("; ")),
        "read the nodes' logs in the run's folder",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use client::fake::Fake;

    const ELR: &str = "eligible.leader.replicas.version";

    #[tokio::test]
    async fn a_level_that_is_not_in_force_is_told() {
        let fake = Fake::start(0).await.unwrap();
        let clients = client::Cluster::new([(0, fake.address())].into(), client::Options::default());
        let asked = |level| BTreeMap::from([(ELR.to_owned(), level)]);
        // A server leaves out what has level 0.
        check_levels(&asked(0), &clients).await.unwrap();
        let error = check_levels(&asked(1), &clients).await.unwrap_err();
        assert!(error.why.contains("has level 0, and 1 was asked for"), "{error}");
        fake.change(|state| state.features.insert(ELR.into(), 1));
        check_levels(&asked(1), &clients).await.unwrap();
        let error = check_levels(&asked(0), &clients).await.unwrap_err();
        assert!(error.why.contains("has level 1, and 0 was asked for"), "{error}");
    }
}
