//! Links are cut: frames vanish, and nobody is told. In one of several shapes, by port, one way or both; clients keep
//! their links unless asked, the observer always.

use crate::links::{self, LIMIT, PEERS, PORT, WAY};
use crate::{About, Doing, Fault, Field, Kind, Measured, NotTaken, Order, Param, Program, shapes};
use clusters::{Capability, Cluster, Effect, Port};

/// The fault.
pub struct CutNetwork;

/// What it is.
const ABOUT: About = About {
    name: "cut-network",
    text: "links are cut, by default every one to every other node, both ways; clients keep theirs",
    needs: Capability::Links,
    params: &[
        Param {
            name: "shape",
            text: "which nodes are cut from which. isolate: each target from its peers; split: the targets from all other nodes, not from each other; halves: the targets in two; majorities-ring: each target hears a majority of them, no two the same; bridge: the targets in two, with one that both halves hear. `way` and `peers` are for isolate alone",
            kind: Kind::Word(&["isolate", "split", "halves", "majorities-ring", "bridge"]),
        },
        Param {
            name: "map",
            text: "the directed links to cut, instead of a shape: \"0>1 1>0 clients>2\"",
            kind: Kind::Text(""),
        },
        WAY,
        PEERS,
        PORT,
    ],
    heals: "the links carry frames again",
    measures: &[
        ("dropped_frames", "frames seen dropped on the cut links"),
        ("passed_frames", "frames that passed them: none"),
        (
            "seen_ms",
            "from the order until that was seen; when healing, until frames passed, those to the targets and those from them, where no other fault keeps the links silent",
        ),
        ("cut_links", "directed links that were cut"),
    ],
    program: Program::GoesOn,
};

impl Fault for CutNetwork {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let links = cut(field.cluster, order)?;
            let rule = links::rule(order, Effect::Cut);
            let took = |counts: &clusters::RuleCounts| match counts.delivered {
                0 => Ok(counts.struck > 0),
                passed => Err(format!("{passed} frames passed the links that were cut")),
            };
            let (counts, seen_ms) = links::put_in(field, order, (&links, rule), LIMIT, took).await?;
            Ok(Measured::from([
                ("dropped_frames".into(), counts.struck as f64),
                ("passed_frames".into(), counts.delivered as f64),
                ("seen_ms".into(), seen_ms),
                ("cut_links".into(), counts.links as f64),
            ]))
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let links = cut(field.cluster, order)?;
            links::take_out(field, order, &links, "seen_ms").await
        })
    }
}

/// The links that an order cuts.
fn cut(cluster: &Cluster, order: &Order) -> Result<Vec<(Port, Port)>, NotTaken> {
    let map = order.params.text("map");
    if !map.is_empty() {
        return parse(map).map_err(NotTaken::NotSeen);
    }
    let all: Vec<i32> = cluster.nodes().iter().map(|node| node.id).collect();
    let pairs = match order.params.text("shape") {
        "split" => Ok(shapes::split(&order.nodes, &all)),
        "halves" => shapes::halves(&order.nodes, order.seed),
        "majorities-ring" => shapes::majorities_ring(&order.nodes, order.seed),
        "bridge" => shapes::bridge(&order.nodes, order.seed),
        _ => return Ok(links::links(cluster, order)),
    };
    let pairs = pairs.map_err(NotTaken::NotSeen)?.into_iter();
    Ok(pairs
        .map(|(from, to)| (Port::Node(from), Port::Node(to)))
        .collect())
}

/// Reads a map of directed links; the wire refuses nodes that there are not.
fn parse(map: &str) -> Result<Vec<(Port, Port)>, String> {
    let end = |text: &str| match text {
        "clients" => Some(Port::Clients),
        node => node.parse().ok().map(Port::Node),
    };
    let link = |word: &str| {
        let (from, to) = word.split_once('>')?;
        let link = (end(from)?, end(to)?);
        (link.0 != link.1).then_some(link)
    };
    map.split_whitespace()
        .map(|word| link(word).ok_or_else(|| format!("{word:?} is no link: one is like 0>1 or clients>2")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_read_or_refused() {
        let (a, b) = (Port::Node(0), Port::Node(101));
        assert_eq!(
            parse(" 0>101 101>0 clients>0\n").unwrap(),
            [(a, b), (b, a), (Port::Clients, a)]
        );
        for bad in ["0", "0>", "0>x", "0>0", "observer>0", "0>1>2", "0 > 1"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
