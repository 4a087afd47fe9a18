//! A topic gets more partitions, and keeps them.

use crate::hands::{self, Look, View, Wish};
use crate::links::number;
use crate::{About, Doing, Fault, Field, Measured, NotTaken, Order, Program};
use clusters::Capability;

/// The fault.
pub struct GrowPartitions;

/// What it is.
const ABOUT: About = About {
    name: "grow-partitions",
    text: "the topic gets more partitions; the targets are not looked at",
    needs: Capability::Client,
    params: &[hands::TOPIC, number("more", "how many more", (1.0, 100.0), 1.0)],
    heals: "partitions never go: each still has a leader",
    measures: &[
        hands::ASKED,
        hands::SEEN,
        ("partitions", "how many there were then, each with a leader"),
    ],
    program: Program::GoesOn,
};

impl Fault for GrowPartitions {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let topic = order.params.text("topic");
            let has = hands::topic(field.cluster, topic).await?.partitions.len();
            // A whole number within bounds.
            let count = has + order.params.number("more") as usize;
            let wish = Wish::Grow(topic.to_owned(), i32::try_from(count).unwrap_or(i32::MAX));
            let asked_ms = hands::done(field.cluster, &wish).await?;
            let mut measured = led(field, topic, count).await?;
            measured.insert("asked_ms".into(), asked_ms);
            Ok(measured)
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(led(field, order.params.text("topic"), 1))
    }
}

/// Waits until so many partitions, at least, are there, and each has a leader.
async fn led(field: Field<'_>, topic: &str, count: usize) -> Result<Measured, NotTaken> {
    let found = |view: &View| match view {
        View::Topic(topic) => {
            let led = topic.partitions.iter().all(|partition| partition.leader >= 0);
            (led && topic.partitions.len() >= count).then_some(topic.partitions.len())
        }
        _ => None,
    };
    let what = format!("{topic:?} with {count} partitions that lead");
    let (count, seen_ms) = hands::seen(field.cluster, Look::Topic(topic), &what, found).await?;
    Ok(Measured::from([
        ("partitions".into(), count as f64),
        ("seen_ms".into(), seen_ms),
    ]))
}
