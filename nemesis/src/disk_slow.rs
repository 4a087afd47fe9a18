//! Calls to a disk take longer, each by its own draw; others go on meanwhile.

use crate::disks::{self, ACCEPTS, CALLS, MET, PATH, SEEN, SKIP, TIMES};
use crate::links::{ms, ns, number};
use crate::{About, Doing, Fault, Field, Kind, Measured, NotTaken, Order, Param, Program};
use clusters::{Capability, DiskEffect, DiskRuleCounts, Spread};

/// The fault.
pub struct DiskSlow;

/// How long on average.
const DELAY: Param = number(
    "delay_ms",
    "how long a call waits, on average",
    (0.1, 60_000.0),
    50.0,
);
/// How they differ.
const SPREAD: Param = Param {
    name: "spread",
    text: "how waits differ: not at all; evenly, from nothing to twice delay_ms; or exponentially, most of them short and \
           some very long",
    kind: Kind::Word(&["fixed", "uniform", "exponential"]),
};
/// How long at most.
const MOST: Param = number("most_ms", "no call waits longer", (0.1, 60_000.0), 10_000.0);

/// What it is.
const ABOUT: About = About {
    name: "disk-slow",
    text: "calls to the disk are answered later, each by its own draw; calls that it is not for go on meanwhile",
    needs: Capability::Disk,
    params: &[DELAY, SPREAD, MOST, CALLS, PATH, SKIP, TIMES],
    heals: "calls are answered at once, those that wait too",
    measures: &[
        MET,
        ("delayed_calls", "calls that were answered late, by then"),
        (
            "mean_delay_ms",
            "how long they waited on average, by the disk's clock, the most of any node",
        ),
        ("longest_delay_ms", "the longest wait"),
        SEEN,
        ACCEPTS,
    ],
    program: Program::Restarts,
};

fn spread(order: &Order) -> Spread {
    let (mean_ns, most_ns) = (
        ns(order.params.number(DELAY.name)),
        ns(order.params.number(MOST.name)),
    );
    match order.params.text(SPREAD.name) {
        "uniform" => Spread::Uniform {
            least_ns: 0,
            most_ns: most_ns.min(2 * mean_ns),
        },
        "exponential" => Spread::Exponential {
            mean_ns: mean_ns.min(most_ns),
            most_ns,
        },
        _ => Spread::Fixed {
            ns: mean_ns.min(most_ns),
        },
    }
}

impl Fault for DiskSlow {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        let spread = spread(order);
        let rule = move |_| disks::rule(order, DiskEffect::Slow(spread));
        Box::pin(async move {
            let (counts, seen_ms) = disks::put_in(field, order, rule, |counts| counts.answered > 0).await?;
            for (node, counts) in order.nodes.iter().zip(&counts) {
                check(spread, counts)
                    .map_err(|why| NotTaken::NotSeen(format!("the disk of node {node}: {why}")))?;
            }
            let mut measured = crate::worst(counts.iter().map(measured));
            measured.insert(SEEN.0.into(), seen_ms);
            Ok(measured)
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(disks::heal(field, order, |counts, _| measured(counts)))
    }
}

/// No call may have waited less than all have to.
fn check(spread: Spread, counts: &DiskRuleCounts) -> Result<(), String> {
    match spread {
        Spread::Fixed { ns } if counts.waited_ns < ns.saturating_mul(counts.answered) => Err(format!(
            "calls waited {:.3} ms on average where each was to wait {:.3}",
            disks::mean_ms(counts),
            ms(ns)
        )),
        _ => Ok(()),
    }
}

fn measured(counts: &DiskRuleCounts) -> Measured {
    Measured::from([
        (MET.0.into(), counts.met as f64),
        ("delayed_calls".into(), counts.answered as f64),
        ("mean_delay_ms".into(), disks::mean_ms(counts)),
        ("longest_delay_ms".into(), ms(counts.longest_ns)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_wait_is_never_shorter() {
        let counts = |waited_ns| DiskRuleCounts {
            answered: 2,
            waited_ns,
            ..DiskRuleCounts::default()
        };
        let fixed = Spread::Fixed { ns: 10 };
        assert_eq!(check(fixed, &counts(21)), Ok(()));
        assert!(check(fixed, &counts(19)).is_err());
        let any = Spread::Uniform {
            least_ns: 0,
            most_ns: 20,
        };
        assert_eq!(check(any, &counts(3)), Ok(()));
    }
}
