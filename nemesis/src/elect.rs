//! Elections that the client asks for: the preferred replica is to lead again, or, where nobody leads, somebody is to
//! though records are lost by it.
//!
//! An election of a designated replica, as KIP-966 plans it (DesiredLeaders in a third version of ElectLeaders), is in no
//! released protocol and in no Kafka, so there is no fault for it: a reassignment that names the replica first, and a
//! preferred election, come nearest.

use crate::hands::{self, Look, View, Wish};
use crate::{About, Doing, Fault, Field, Measured, NotTaken, Order, Program};
use client::calls::{DescribedPartition, Election};
use clusters::Capability;

/// The fault: the first replica leads.
pub struct ElectPreferred;

/// The fault: somebody leads.
pub struct ElectUnclean;

const MEASURES: &[(&str, &str)] = &[
    hands::ASKED,
    hands::SEEN,
    (
        "epochs",
        "by how much the leader's epoch grew: 0 where no election was needed",
    ),
];

/// What the first is.
const PREFERRED: About = About {
    name: "elect-preferred",
    text: "the partition's first replica is elected, which must be in sync; the targets are not looked at",
    needs: Capability::Client,
    params: &[hands::TOPIC, hands::PARTITION],
    heals: "nothing is left to undo: the partition has a leader",
    measures: MEASURES,
    program: Program::GoesOn,
};

/// What the second is.
const UNCLEAN: About = About {
    name: "elect-unclean",
    text: "where nobody leads the partition, any replica that is there is elected, though it lacks records: one of the ISR or ELR that is there goes before. The targets are not looked at; to designate one is in no released protocol (KIP-966 plans it)",
    needs: Capability::Client,
    params: &[hands::TOPIC, hands::PARTITION],
    heals: "nothing is left to undo: the partition has a leader",
    measures: MEASURES,
    program: Program::GoesOn,
};

impl Fault for ElectPreferred {
    fn about(&self) -> &'static About {
        &PREFERRED
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(elected(field, order, Election::Preferred))
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(led(field, order))
    }
}

impl Fault for ElectUnclean {
    fn about(&self) -> &'static About {
        &UNCLEAN
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(elected(field, order, Election::Unclean))
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(led(field, order))
    }
}

async fn elected(field: Field<'_>, order: &Order, election: Election) -> Result<Measured, NotTaken> {
    let (topic, index) = hands::target(order);
    let before = hands::topic(field.cluster, &topic).await?;
    let before = before.partitions.iter().find(|it| it.partition == index);
    let epoch = before.map_or(0, |partition| partition.leader_epoch);
    let asked_ms = hands::done(field.cluster, &Wish::Elect(election, topic.clone(), index)).await?;
    let leads = |partition: &DescribedPartition| match election {
        Election::Preferred => partition.replicas.first() == Some(&partition.leader),
        Election::Unclean => partition.leader >= 0,
    };
    let (now, seen_ms) = until(field, &topic, index, leads).await?;
    Ok(Measured::from([
        ("asked_ms".into(), asked_ms),
        ("seen_ms".into(), seen_ms),
        ("epochs".into(), f64::from((now - epoch).max(0))),
    ]))
}

async fn led(field: Field<'_>, order: &Order) -> Result<Measured, NotTaken> {
    let (topic, index) = hands::target(order);
    let (_, seen_ms) = until(field, &topic, index, |partition| partition.leader >= 0).await?;
    Ok(Measured::from([("seen_ms".into(), seen_ms)]))
}

/// Waits for a partition's state; the leader's epoch then.
async fn until(
    field: Field<'_>,
    topic: &str,
    index: i32,
    is_so: impl Fn(&DescribedPartition) -> bool,
) -> Result<(i32, f64), NotTaken> {
    let found = |view: &View| match view {
        View::Topic(topic) => {
            let partition = topic.partitions.iter().find(|it| it.partition == index)?;
            is_so(partition).then_some(partition.leader_epoch)
        }
        _ => None,
    };
    let what = format!("a leader of {topic}-{index}");
    hands::seen(field.cluster, Look::Topic(topic), &what, found).await
}
