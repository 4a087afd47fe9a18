//! A new broker joins the cluster, and leaves it.

use crate::hands::{self, Found, Wish};
use crate::{About, Doing, Fault, Field, Measured, NotTaken, Order, Program};
use clusters::{Capability, Cluster, Guest, RoleKind};
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// The fault.
pub struct AddBroker;

/// How long a controlled shutdown may take of a native program: leaders are moved first.
const STOP_LIMIT: Duration = Duration::from_secs(30);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// What it is.
const ABOUT: About = About {
    name: "add-broker",
    text: "a broker joins on a machine of its own, with a number that nobody has; partitions come to it only where somebody places them there. The targets are not looked at",
    needs: Capability::Client,
    params: &[],
    heals: "it gets SIGTERM and ends by itself, its registration is removed, and its machine is gone",
    measures: &[
        ("broker", "its number"),
        (
            "seen_ms",
            "from its start until a broker listed it as unfenced; when healing, until none listed it any more",
        ),
        ("stopped_ms", "from the signal until its program was seen to end"),
        hands::ASKED,
    ],
    program: Program::GoesOn,
};

/// The brokers of orders.
static FOUND: Found<Guest> = Found::new();

impl Fault for AddBroker {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let guest = field.cluster.invite_new(RoleKind::Broker).await?;
            FOUND.keep(order, guest.clone());
            field.cluster.start_guest(&guest)?;
            let seen_ms = hands::broker_is(field.cluster, guest.node.id, true)
                .await
                .map_err(|why| with_log(field.cluster, &guest, &why))?;
            Ok(Measured::from([
                ("broker".into(), f64::from(guest.node.id)),
                ("seen_ms".into(), seen_ms),
            ]))
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let (cluster, guest) = (field.cluster, FOUND.take(order)?);
            let limit = cluster.patience(STOP_LIMIT);
            let began = Instant::now();
            cluster.stop_guest(&guest)?;
            while cluster.guest_runs(&guest) && began.elapsed() < limit {
                sleep(PAUSE).await;
            }
            if cluster.guest_runs(&guest) {
                let why = NotTaken::NotSeen(format!("it did not end within {limit:?}"));
                return Err(with_log(cluster, &guest, &why));
            }
            let stopped_ms = began.elapsed().as_secs_f64() * 1e3;
            cluster.dismiss(&guest, order.id)?;
            let asked_ms = hands::done(cluster, &Wish::Unregister(guest.node.id)).await?;
            let seen_ms = hands::broker_is(cluster, guest.node.id, false).await?;
            Ok(Measured::from([
                ("stopped_ms".into(), stopped_ms),
                ("asked_ms".into(), asked_ms),
                ("seen_ms".into(), seen_ms),
            ]))
        })
    }
}

/// The same, with what the guest itself says.
pub(crate) fn with_log(cluster: &Cluster, guest: &Guest, why: &NotTaken) -> NotTaken {
    NotTaken::NotSeen(format!(
        "{why}; the log of node {} on its own machine ends: {}",
        guest.node.id,
        cluster.guest_log_tail(guest)
    ))
}
