//! One bit of some packets is flipped: under their checksum, and the receiving kernel drops them; or past it, and the
//! application reads them.

use crate::links::{self, DRAWN_LIMIT, PEERS, PORT, WAY};
use crate::{About, Doing, Fault, Field, Kind, Measured, Order, Param, Program};
use clusters::{Capability, Effect, RuleCounts};

/// The fault.
pub struct Corrupt;

/// What it is.
const ABOUT: About = About {
    name: "corrupt",
    text: "one bit of some packets is flipped; unless asked, checksums tell, and the receiving kernel drops the packet",
    needs: Capability::Links,
    params: &[
        links::share("corrupt_percent", "how many are flipped", 1.0),
        Param {
            name: "checksum",
            text: "tells: the packet's checksums do not fit, and its receiver drops it; fits: a bit of a TCP segment's data is flipped and the checksum made to fit, and the application reads what nobody wrote",
            kind: Kind::Word(&["tells", "fits"]),
        },
        WAY,
        PEERS,
        PORT,
    ],
    heals: "frames pass as they are",
    measures: &[
        (
            "met_frames",
            "packets (TCP segments with data, where the checksum fits) that met it by then",
        ),
        ("flipped_percent", "how many of them were flipped"),
        ("seen_ms", "from the order until it was seen to take"),
        links::HEALED,
    ],
    program: Program::GoesOn,
};

impl Fault for Corrupt {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let links = links::links(field.cluster, order);
            let ppm = links::ppm(order.params.number("corrupt_percent"));
            let effect = match order.params.text("checksum") {
                "fits" => Effect::CorruptPastChecksum { ppm },
                _ => Effect::Corrupt { ppm },
            };
            let rule = links::rule(order, effect);
            let took = |counts: &RuleCounts| links::drawn(counts, ppm);
            let (counts, seen_ms) = links::put_in(field, order, (&links, rule), DRAWN_LIMIT, took).await?;
            Ok(Measured::from([
                ("met_frames".into(), counts.offered as f64),
                ("flipped_percent".into(), links::struck_percent(&counts)),
                ("seen_ms".into(), seen_ms),
            ]))
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let links = links::links(field.cluster, order);
            links::take_out(field, order, &links, links::HEALED.0).await
        })
    }
}
