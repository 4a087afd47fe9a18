//! Voters of the metadata quorum come and go (KIP-853): one of them votes no more, or a new controller is added. Only a
//! cluster whose voters are named in the log (`kraft.version` 1) can do it.

use crate::add_broker::with_log;
use crate::hands::{self, Found, Wish};
use crate::{About, Doing, Fault, Field, Measured, NotTaken, Order, Program, worst};
use client::TopicId;
use client::calls::{AddVoter as Add, Listener, QuorumDescription, RemoveVoter as Remove};
use clusters::{Capability, Cluster, Guest, RoleKind};

/// The fault: one votes no more.
pub struct RemoveVoter;

/// The fault: a new one votes.
pub struct AddVoter;

/// What the first is.
const REMOVE: About = About {
    name: "remove-voter",
    text: "the controller is removed from the voters, and follows without a vote; the active one too, which then is active no more. Needs a cluster whose voters may change (feature kraft.version 1)",
    needs: Capability::Client,
    params: &[],
    heals: "it is added to the voters again, once it has caught up; its program must run for that",
    measures: MEASURES,
    program: Program::GoesOn,
};

/// What the second is.
const ADD: About = About {
    name: "add-voter",
    text: "a controller joins on a machine of its own, with a number that nobody has, and is added to the voters once it has caught up. The targets are not looked at; needs a cluster whose voters may change (feature kraft.version 1)",
    needs: Capability::Client,
    params: &[],
    heals: "it is removed from the voters, and its machine is gone",
    measures: MEASURES,
    program: Program::GoesOn,
};

const MEASURES: &[(&str, &str)] = &[
    hands::ASKED,
    (
        "seen_ms",
        "from then on until the active controller was heard to count the voters so",
    ),
    ("voters", "how many voters there are then"),
    (
        "followed_ms",
        "from the new controller's start until the active one knew of it as a follower",
    ),
];

/// A voter, as the quorum knows it.
#[derive(Clone)]
struct Voter {
    node: i32,
    folder: TopicId,
    listeners: Vec<Listener>,
}

/// The voters that orders removed.
static REMOVED: Found<Vec<Voter>> = Found::new();
/// The voters that orders added.
static ADDED: Found<(Guest, Voter)> = Found::new();

impl Fault for RemoveVoter {
    fn about(&self) -> &'static About {
        &REMOVE
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let known = |quorum: &QuorumDescription| Some(quorum.clone());
            let (quorum, _) = hands::quorum(field.cluster, "the quorum", known).await?;
            let voters = order.nodes.iter().map(|node| voter(&quorum, *node));
            let voters: Vec<Voter> = voters.collect::<Result<_, _>>()?;
            REMOVED.keep(order, voters.clone());
            let mut measured = Vec::new();
            for voter in &voters {
                measured.push(removed(field.cluster, voter).await?);
            }
            Ok(worst(measured))
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let mut measured = Vec::new();
            for voter in REMOVED.take(order)? {
                measured.push(added(field.cluster, &voter).await?);
            }
            Ok(worst(measured))
        })
    }
}

impl Fault for AddVoter {
    fn about(&self) -> &'static About {
        &ADD
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let cluster = field.cluster;
            let known = |quorum: &QuorumDescription| Some(quorum.clone());
            let (quorum, _) = hands::quorum(cluster, "the quorum", known).await?;
            // The listener's name is the quorum's own.
            let of_one = quorum.voters.first().map_or(-1, |it| it.node);
            let name = voter(&quorum, of_one)?.listeners.remove(0).name;
            let guest = cluster.invite_new(RoleKind::Controller).await?;
            let node = guest.node.id;
            let listeners = vec![Listener {
                name,
                host: guest.node.address.ip().to_string(),
                port: guest.node.address.port(),
            }];
            let mut voter = Voter {
                node,
                folder: TopicId::nil(),
                listeners,
            };
            ADDED.keep(order, (guest.clone(), voter.clone()));
            cluster.start_guest(&guest)?;
            let follows = |quorum: &QuorumDescription| {
                let mut observers = quorum.observers.iter();
                observers.find(|it| it.node == node).map(|it| it.directory)
            };
            let what = format!("controller {node} among the followers");
            let followed = hands::quorum(cluster, &what, follows).await;
            let (folder, followed_ms) = followed.map_err(|why| with_log(cluster, &guest, &why))?;
            voter.folder = folder;
            ADDED.keep(order, (guest, voter.clone()));
            let mut measured = added(cluster, &voter).await?;
            measured.insert("followed_ms".into(), followed_ms);
            Ok(measured)
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let (guest, voter) = ADDED.take(order)?;
            let measured = removed(field.cluster, &voter).await?;
            field.cluster.dismiss(&guest, order.id)?;
            Ok(measured)
        })
    }
}

/// A voter of the quorum, by its number.
fn voter(quorum: &QuorumDescription, node: i32) -> Result<Voter, NotTaken> {
    let cannot = |why: &str| NotTaken::NotSeen(format!("node {node} cannot come or go as a voter: {why}"));
    let voters: Vec<i32> = quorum.voters.iter().map(|it| it.node).collect();
    let found = quorum.voters.iter().find(|it| it.node == node);
    let found = found.ok_or_else(|| cannot(&format!("the voters are {voters:?}")))?;
    let of_it = quorum.nodes.iter().find(|it| it.node == node);
    let listeners = of_it.map(|it| it.listeners.clone()).unwrap_or_default();
    if found.directory.is_nil() || listeners.is_empty() {
        return Err(cannot(
            "the voters are fixed; they may change where the cluster begins with the feature kraft.version at level 1",
        ));
    }
    Ok(Voter {
        node,
        folder: found.directory,
        listeners,
    })
}

async fn removed(cluster: &Cluster, voter: &Voter) -> Result<Measured, NotTaken> {
    let wish = Wish::RemoveVoter(Remove {
        cluster_id: None,
        node: voter.node,
        directory: voter.folder,
        timeout: hands::WITHIN,
    });
    changed(cluster, &wish, voter, false).await
}

async fn added(cluster: &Cluster, voter: &Voter) -> Result<Measured, NotTaken> {
    let wish = Wish::AddVoter(Add {
        cluster_id: None,
        node: voter.node,
        directory: voter.folder,
        listeners: voter.listeners.clone(),
        timeout: hands::WITHIN,
    });
    changed(cluster, &wish, voter, true).await
}

async fn changed(cluster: &Cluster, wish: &Wish, voter: &Voter, votes: bool) -> Result<Measured, NotTaken> {
    let asked_ms = hands::done(cluster, wish).await?;
    let is_so = |quorum: &QuorumDescription| {
        let mut all = quorum.voters.iter();
        let is_in = all.any(|it| it.node == voter.node && it.directory == voter.folder);
        (is_in == votes).then_some(quorum.voters.len())
    };
    let what = format!(
        "a quorum {} node {}",
        if votes { "with" } else { "without" },
        voter.node
    );
    let (voters, seen_ms) = hands::quorum(cluster, &what, is_so).await?;
    Ok(Measured::from([
        ("asked_ms".into(), asked_ms),
        ("seen_ms".into(), seen_ms),
        ("voters".into(), voters as f64),
    ]))
}
