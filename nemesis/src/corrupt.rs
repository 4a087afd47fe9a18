//! One bit of some packets is flipped: under their checksum, and the receiving kernel drops them; or past it, and the
//! application reads them.

use crate::links::{self, PEERS, PORT, WAY};
use crate::{About, Doing, Fault, Field, Kind, Order, Param, Program};
use clusters::{Capability, Effect};

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
        let ppm = links::ppm(order.params.number("corrupt_percent"));
        let effect = match order.params.text("checksum") {
            "fits" => Effect::CorruptPastChecksum { ppm },
            _ => Effect::Corrupt { ppm },
        };
        Box::pin(links::inject_drawn(field, order, ppm, effect, "flipped_percent"))
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(links::heal(field, order))
    }
}
