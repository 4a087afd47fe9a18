//! A partition is moved off the targets: they leave its replicas, brokers that hold none take their places as far as
//! there are any, and when it heals it moves back.

use crate::hands::{self, Found, Look, View, Wish};
use crate::{About, Doing, Fault, Field, Measured, NotTaken, Order, Program};
use clusters::{Capability, RoleKind};

/// The fault.
pub struct Reassign;

/// What it is.
const ABOUT: About = About {
    name: "reassign",
    text: "the partition moves off the targets: other brokers take their places where there are any; one that others are left to hold shrinks",
    needs: Capability::Client,
    params: &[hands::TOPIC, hands::PARTITION],
    heals: "the partition moves back to the replicas that it had, and all of them are in sync",
    measures: &[
        hands::ASKED,
        hands::SEEN,
        ("moved", "how many of the targets held a replica"),
    ],
    program: Program::GoesOn,
};

/// The replicas that orders found.
static FOUND: Found<Vec<i32>> = Found::new();

impl Fault for Reassign {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let (topic, index) = hands::target(order);
            let Move { before, after, moved } = off_the_targets(field, order).await?;
            FOUND.keep(order, before);
            let mut measured = moved_to(field, &topic, index, after).await?;
            measured.insert("moved".into(), moved as f64);
            Ok(measured)
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let (topic, index) = hands::target(order);
            moved_to(field, &topic, index, FOUND.take(order)?).await
        })
    }
}

/// A partition's way off the targets.
pub(crate) struct Move {
    /// The replicas that it has.
    pub(crate) before: Vec<i32>,
    /// And is to have.
    pub(crate) after: Vec<i32>,
    /// How many of the targets held one.
    pub(crate) moved: usize,
}

/// Where the order's partition would go: off its targets, to brokers that hold none.
pub(crate) async fn off_the_targets(field: Field<'_>, order: &Order) -> Result<Move, NotTaken> {
    let (topic, index) = hands::target(order);
    let known = hands::topic(field.cluster, &topic).await?;
    let partition = known.partitions.iter().find(|it| it.partition == index);
    let before = partition.map(|it| it.replicas.clone()).unwrap_or_default();
    let stays = |id: &i32| !order.nodes.contains(id);
    let brokers = field.cluster.of_role(RoleKind::Broker).map(|node| node.id);
    let spare = brokers.filter(|id| stays(id) && !before.contains(id));
    let kept = before.iter().copied().filter(stays);
    let after: Vec<i32> = kept.chain(spare).take(before.len()).collect();
    if after.is_empty() {
        return Err(NotTaken::NotSeen(format!(
            "{topic}-{index} has the replicas {before:?}, and nobody else could hold it"
        )));
    }
    let moved = before.iter().filter(|id| !stays(id)).count();
    Ok(Move { before, after, moved })
}

/// Moves the partition, and waits until it has these replicas and no others, all in sync.
pub(crate) async fn moved_to(
    field: Field<'_>,
    topic: &str,
    index: i32,
    replicas: Vec<i32>,
) -> Result<Measured, NotTaken> {
    let wish = Wish::Reassign(topic.to_owned(), index, Some(replicas.clone()));
    let asked_ms = hands::done(field.cluster, &wish).await?;
    let is_there = |view: &View| match view {
        View::Topic(topic) => {
            let partition = topic.partitions.iter().find(|it| it.partition == index)?;
            let in_sync = replicas.iter().all(|id| partition.isr.contains(id));
            (partition.replicas == replicas && in_sync).then_some(())
        }
        _ => None,
    };
    let what = format!("{topic}-{index} on {replicas:?}, all in sync,");
    let ((), seen_ms) = hands::seen(field.cluster, Look::Topic(topic), &what, is_there).await?;
    Ok(Measured::from([
        ("asked_ms".into(), asked_ms),
        ("seen_ms".into(), seen_ms),
    ]))
}
