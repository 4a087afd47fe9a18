//! A reassignment that is under way is cancelled: the replicas that were to come go again, and the partition stays where
//! it was.

use crate::hands::{self, Found, Look, View, Wish};
use crate::links::number;
use crate::reassign::{Move, moved_to, off_the_targets};
use crate::{About, Doing, Fault, Field, Measured, NotTaken, Order, Program};
use clusters::Capability;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// The fault.
pub struct CancelReassignment;

/// What it is.
const ABOUT: About = About {
    name: "cancel-reassignment",
    text: "the partition is to move off the targets, as by `reassign`, and while that is under way it is cancelled",
    needs: Capability::Client,
    params: &[
        hands::TOPIC,
        hands::PARTITION,
        number(
            "after_ms",
            "how long it may go on; one that is complete by then cannot be cancelled, and the fault has not taken",
            (0.0, 10_000.0),
            0.0,
        ),
    ],
    heals: "the partition has the replicas that it had in their old order, which a cancelled move leaves changed, and all of them are in sync",
    measures: &[
        hands::ASKED,
        hands::SEEN,
        (
            "under_way_ms",
            "from when a broker said that it has begun until the request to cancel it",
        ),
        ("moved", "how many of the targets held a replica"),
    ],
    program: Program::GoesOn,
};

/// The replicas that orders found.
static FOUND: Found<Vec<i32>> = Found::new();

impl Fault for CancelReassignment {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let (topic, index) = hands::target(order);
            let Move { before, after, moved } = off_the_targets(field, order).await?;
            let begin = Wish::Reassign(topic.clone(), index, Some(after.clone()));
            hands::done(field.cluster, &begin).await?;
            let began = Instant::now();
            sleep(Duration::from_secs_f64(order.params.number("after_ms") / 1e3)).await;
            let under_way_ms = began.elapsed().as_secs_f64() * 1e3;
            let cancel = Wish::Reassign(topic.clone(), index, None);
            let asked_ms = hands::done(field.cluster, &cancel).await?;
            // What says whether it was cancelled, or complete, is where the partition is once nothing moves.
            let settled = |view: &View| match view {
                View::Moves(moves) => (!moves.contains(&(topic.clone(), index))).then_some(()),
                _ => None,
            };
            let what = format!("{topic}-{index} at rest");
            hands::seen(field.cluster, Look::Moves, &what, settled).await?;
            let is_at = |view: &View| match view {
                View::Topic(topic) => {
                    let partition = topic.partitions.iter().find(|it| it.partition == index)?;
                    let mut is: Vec<i32> = partition.replicas.clone();
                    is.sort_unstable();
                    let is_one = |of: &[i32]| {
                        let mut of = of.to_vec();
                        of.sort_unstable();
                        of == is
                    };
                    (is_one(&before) || is_one(&after)).then(|| is_one(&before))
                }
                _ => None,
            };
            let what = format!("{topic}-{index} on {before:?}");
            let (came_back, seen_ms) = hands::seen(field.cluster, Look::Topic(&topic), &what, is_at).await?;
            if !came_back {
                moved_to(field, &topic, index, before).await?;
                return Err(NotTaken::NotSeen(format!(
                    "the move of {topic}-{index} was complete before it could be cancelled: it takes longer with more \
                     records, or a broker that is slow or cut off"
                )));
            }
            FOUND.keep(order, before);
            Ok(Measured::from([
                ("asked_ms".into(), asked_ms),
                ("seen_ms".into(), seen_ms),
                ("under_way_ms".into(), under_way_ms),
                ("moved".into(), moved as f64),
            ]))
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let (topic, index) = hands::target(order);
            moved_to(field, &topic, index, FOUND.take(order)?).await
        })
    }
}
