//! What all limits of resources share: put on every target, seen to hold for its processes, lifted, seen to be gone.

use crate::{Field, Measured, NotTaken, Order, ready, worst};
use clusters::{Cluster, Limit, LimitSeen};
use std::time::Duration;

/// How long a limit may take to hold for every process of a node: one that is just being started is taken in then.
const LIMIT: Duration = Duration::from_secs(2);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// Puts a limit on all targets; measures the processes under it, the fewest of any node.
pub(crate) async fn put_on(field: Field<'_>, order: &Order, limit: Limit) -> Result<Measured, NotTaken> {
    let mut fewest = u64::MAX;
    for node in &order.nodes {
        let done = field.cluster.set_limit(*node, order.id, limit);
        let seen = match done {
            Ok(_) => held(field.cluster, *node, order.id).await,
            Err(why) => Err(why.into()),
        };
        match seen {
            Ok(seen) => fewest = fewest.min(seen.processes),
            Err(why) => {
                for node in &order.nodes {
                    field.cluster.clear_limit(*node, order.id)?;
                }
                return Err(why);
            }
        }
    }
    Ok(Measured::from([("processes".into(), fewest as f64)]))
}

async fn held(cluster: &Cluster, node: i32, fault: u64) -> Result<LimitSeen, NotTaken> {
    let limit = cluster.patience(LIMIT);
    let deadline = tokio::time::Instant::now() + limit;
    loop {
        let seen = cluster.limit_seen(node, fault)?;
        if seen.processes > 0 {
            return Ok(seen);
        }
        if tokio::time::Instant::now() >= deadline {
            return Err(NotTaken::NotSeen(format!(
                "the limit holds for no process of node {node} within {limit:?}"
            )));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Lifts a limit from all targets, starts what it has ended, and sees that it is gone; what `measure` makes of what
/// each node's limit has met, the worst of it.
pub(crate) async fn lift(
    field: Field<'_>,
    order: &Order,
    measure: impl Fn(&LimitSeen) -> Measured,
) -> Result<Measured, NotTaken> {
    let mut measured = Vec::new();
    for node in &order.nodes {
        measured.push(measure(&field.cluster.limit_seen(*node, order.id)?));
        field.cluster.clear_limit(*node, order.id)?;
        if field.cluster.limit_seen(*node, order.id).is_ok() {
            return Err(NotTaken::NotSeen(format!(
                "node {node} is limited still after the heal"
            )));
        }
        if field.cluster.runs(*node) {
            measured.push(ready::all_accept(field.cluster, &[*node]).await?);
        } else {
            measured.push(ready::started(field.cluster, &[*node]).await?);
        }
    }
    Ok(worst(measured))
}
