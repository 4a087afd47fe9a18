//! The active controller resigns. No request asks for that; what does is a controlled stop, in which a leader of the quorum
//! tells the others that it goes. So it is stopped, another is active, and it is started again.

use crate::ended::{How, ended};
use crate::hands;
use crate::{About, Doing, Fault, Field, Measured, NotTaken, Order, Program, ready, worst};
use clusters::{Capability, RoleKind};

/// The fault.
pub struct ResignController;

/// What it is.
const ABOUT: About = About {
    name: "resign-controller",
    text: "the active controller resigns: it gets SIGTERM, tells the quorum that it goes, and ends; once another is active, where there are others, it is started again. The target must be the active controller",
    needs: Capability::Process,
    params: &[],
    heals: "nothing is left to undo: the program accepts a connection, and a controller is active",
    measures: &[
        (
            "stopped_ms",
            "from the signal until the program was seen to end, not by SIGKILL",
        ),
        (
            "active_ms",
            "from then on until a broker knew an active controller of a later epoch",
        ),
        ("epochs", "by how much the quorum's epoch grew"),
        ("accepts_ms", "from the start until it accepts a connection"),
    ],
    program: Program::Restarts,
};

impl Fault for ResignController {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let cluster = field.cluster;
            let look = |it: &client::calls::QuorumDescription| Some((it.leader, it.epoch, it.voters.len()));
            let ((active, epoch, voters), _) = hands::quorum(cluster, "an active controller", look).await?;
            if order.nodes != [active] {
                return Err(NotTaken::NotSeen(format!(
                    "node {active} is the active controller, and {:?} was to resign: only an active one can",
                    order.nodes
                )));
            }
            let stopped_ms = ended(cluster, active, How::Stop).await?;
            let mut measured = Measured::from([("stopped_ms".into(), stopped_ms)]);
            // One that is alone is active again only once it is back.
            let is_alone = voters == 1;
            if is_alone {
                measured.extend(ready::started(cluster, &order.nodes).await?);
            }
            let later = |it: &client::calls::QuorumDescription| {
                let is_another = is_alone || it.leader != active;
                (it.epoch > epoch && is_another).then_some(it.epoch)
            };
            let what = format!("an active controller of a later epoch than {epoch}");
            let (now, active_ms) = hands::quorum(cluster, &what, later).await?;
            measured.insert("active_ms".into(), active_ms);
            measured.insert("epochs".into(), f64::from(now - epoch));
            if !is_alone {
                measured.extend(ready::started(cluster, &order.nodes).await?);
            }
            Ok(measured)
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let accepts = ready::all_accept(field.cluster, &order.nodes).await?;
            let controllers = field.cluster.of_role(RoleKind::Controller).count();
            let what = format!("an active controller among {controllers}");
            let ((), active_ms) = hands::quorum(field.cluster, &what, |_| Some(())).await?;
            Ok(worst([
                accepts,
                Measured::from([("active_ms".into(), active_ms)]),
            ]))
        })
    }
}
