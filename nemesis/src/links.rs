//! What all faults of links share: which links they are on, how they are put in by one rule of the wire and measured
//! by its counts, and how their heal is seen.

use crate::{Default, Field, Kind, Measured, NotTaken, Order, Param};
use clusters::{Cluster, Effect, LinkCount, LinkRule, Port, RoleKind, RuleCounts, WHOLE_PPM};
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// How long a fault that strikes every frame may take to be seen, and a heal: nodes that talk many times a second are
/// seen at once, and TCP's own back-off ends at 1 s.
pub(crate) const LIMIT: Duration = Duration::from_secs(8);
/// How long one may take that strikes few frames.
pub(crate) const DRAWN_LIMIT: Duration = Duration::from_secs(60);
/// Between two looks at the counts.
const PAUSE: Duration = Duration::from_millis(10);
/// By so many standard deviations what was drawn may differ from what was asked: one run in a million is wrong by it.
const DEVIATIONS: f64 = 5.0;

/// Which way frames meet the fault, seen from the targets.
pub(crate) const WAY: Param = Param {
    name: "way",
    text: "which frames meet it: those to and from the targets, only those to them, or only those from them",
    kind: Kind::Word(&["both", "in", "out"]),
};
/// Who is at the other end.
pub(crate) const PEERS: Param = Param {
    name: "peers",
    text: "who is at the other end of the links: all other nodes, those of one role, the clients, or nodes and clients; never the observer",
    kind: Kind::Word(&["nodes", "controllers", "brokers", "clients", "all"]),
};
/// One port's traffic.
pub(crate) const PORT: Param = Param {
    name: "port",
    text: "only TCP from or to this port, so that control and data can be told apart where they share a pair; 0 is all traffic",
    kind: Kind::Number {
        least: 0.0,
        most: 65_535.0,
        default: Default::Is(0.0),
    },
};

/// A parameter that is a share of frames.
pub(crate) const fn share(name: &'static str, text: &'static str, default: f64) -> Param {
    number(name, text, (0.1, 100.0), default)
}

/// A parameter that is a number.
pub(crate) const fn number(
    name: &'static str,
    text: &'static str,
    (least, most): (f64, f64),
    default: f64,
) -> Param {
    Param {
        name,
        text,
        kind: Kind::Number {
            least,
            most,
            default: Default::Is(default),
        },
    }
}

/// The links between the targets and their peers, as [`WAY`] and [`PEERS`] say.
pub(crate) fn links(cluster: &Cluster, order: &Order) -> Vec<(Port, Port)> {
    let (peers, way) = (order.params.text("peers"), order.params.text("way"));
    let mut all = Vec::new();
    for target in &order.nodes {
        for peer in self::peers(cluster, peers).filter(|peer| *peer != Port::Node(*target)) {
            let pairs = [(Port::Node(*target), peer), (peer, Port::Node(*target))];
            let wanted = match way {
                "out" => &pairs[..1],
                "in" => &pairs[1..],
                _ => &pairs[..],
            };
            all.extend(wanted);
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

fn peers<'a>(cluster: &'a Cluster, which: &'a str) -> impl Iterator<Item = Port> + 'a {
    let nodes = cluster.nodes().iter().filter(move |node| match which {
        "clients" => false,
        "controllers" => node.role == RoleKind::Controller,
        "brokers" => node.role == RoleKind::Broker,
        _ => true,
    });
    let clients = matches!(which, "clients" | "all").then_some(Port::Clients);
    nodes.map(|node| Port::Node(node.id)).chain(clients)
}

/// A rule with the order's port and seed.
pub(crate) fn rule(order: &Order, effect: Effect) -> LinkRule {
    // A number within a port's bounds, by its own.
    let port = order.params.number("port") as u16;
    LinkRule {
        port: (port != 0).then_some(port),
        ..LinkRule::of(effect, order.seed)
    }
}

/// A percentage in parts of a million.
pub(crate) fn ppm(percent: f64) -> u32 {
    (percent * f64::from(WHOLE_PPM) / 100.0).round() as u32
}

/// Milliseconds in nanoseconds.
pub(crate) fn ns(milliseconds: f64) -> u64 {
    (milliseconds * 1e6).round() as u64
}

/// Nanoseconds in milliseconds.
pub(crate) fn ms(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}

/// What was struck, in percent of what the rule met.
pub(crate) fn struck_percent(counts: &RuleCounts) -> f64 {
    counts.struck as f64 * 100.0 / counts.offered.max(1) as f64
}

/// Whether something was struck, and as much of it as such a draw gives.
///
/// # Errors
/// Where it was too much or too little for chance.
pub(crate) fn drawn(counts: &RuleCounts, ppm: u32) -> Result<bool, String> {
    let (share, met) = (f64::from(ppm) / f64::from(WHOLE_PPM), counts.offered as f64);
    let away = (counts.struck as f64 - met * share).abs();
    if away > DEVIATIONS * (met * share * (1.0 - share)).sqrt() + 1.0 {
        return Err(format!(
            "{} of {} frames were struck, which is no draw of {:.3} %",
            counts.struck,
            counts.offered,
            share * 100.0
        ));
    }
    Ok(counts.struck > 0)
}

/// Puts a rule on links, all at one instant, and waits until its counts show that it took. What did not take is taken
/// away again. The counts, and how long that took in milliseconds.
pub(crate) async fn put_in(
    field: Field<'_>,
    order: &Order,
    (links, rule): (&[(Port, Port)], LinkRule),
    limit: Duration,
    took: impl Fn(&RuleCounts) -> Result<bool, String>,
) -> Result<(RuleCounts, f64), NotTaken> {
    if links.is_empty() {
        return Err(NotTaken::NotSeen(format!(
            "there is no link between nodes {:?} and the peers that were asked for",
            order.nodes
        )));
    }
    field.cluster.set_rule(order.id, links, rule)?;
    let seen = seen(field.cluster, order, field.cluster.patience(limit), took).await;
    if seen.is_err() {
        field.cluster.clear_rule(order.id)?;
    }
    seen
}

async fn seen(
    cluster: &Cluster,
    order: &Order,
    limit: Duration,
    took: impl Fn(&RuleCounts) -> Result<bool, String>,
) -> Result<(RuleCounts, f64), NotTaken> {
    let began = Instant::now();
    loop {
        let counts = cluster.rule_counts(order.id)?;
        if took(&counts).map_err(NotTaken::NotSeen)? {
            return Ok((counts, began.elapsed().as_secs_f64() * 1e3));
        }
        if began.elapsed() >= limit {
            return Err(NotTaken::NotSeen(format!(
                "the links of nodes {:?} did not show it within {limit:?}: {counts:?}",
                order.nodes
            )));
        }
        sleep(PAUSE).await;
    }
}

/// Puts in a fault that strikes frames by a draw, and nothing else; `quantity` is how many it struck.
pub(crate) async fn inject_drawn(
    field: Field<'_>,
    order: &Order,
    ppm: u32,
    effect: Effect,
    quantity: &str,
) -> Result<Measured, NotTaken> {
    let links = links(field.cluster, order);
    let rule = rule(order, effect);
    let took = |counts: &RuleCounts| drawn(counts, ppm);
    let (counts, seen_ms) = put_in(field, order, (&links, rule), DRAWN_LIMIT, took).await?;
    Ok(Measured::from([
        ("met_frames".into(), counts.offered as f64),
        (quantity.into(), struck_percent(&counts)),
        ("seen_ms".into(), seen_ms),
    ]))
}

/// Heals a fault of the links that [`links`] gives.
pub(crate) async fn heal(field: Field<'_>, order: &Order) -> Result<Measured, NotTaken> {
    let links = links(field.cluster, order);
    take_out(field, order, &links, HEALED.0).await
}

/// What every fault of links measures of its heal.
pub(crate) const HEALED: (&str, &str) = (
    "healed_ms",
    "from the heal until frames passed its links, those to the targets and those from them; none is waited for on links that another fault or a lack of power keeps silent",
);

/// Takes a fault's rule away, and waits until frames pass its links: some to the targets and some from them, as far
/// as links are free of other faults and have power.
pub(crate) async fn take_out(
    field: Field<'_>,
    order: &Order,
    links: &[(Port, Port)],
    quantity: &str,
) -> Result<Measured, NotTaken> {
    let cluster = field.cluster;
    cluster.clear_rule(order.id)?;
    let (before, limit) = (cluster.counters()?, cluster.patience(LIMIT));
    let began = Instant::now();
    if cluster.rule_counts(order.id).is_ok() {
        return Err(NotTaken::NotSeen(format!(
            "the rule of fault {} is still there after its heal",
            order.id
        )));
    }
    let from_target = |link: &(Port, Port)| match link.0 {
        Port::Node(id) => order.nodes.contains(&id),
        Port::Clients | Port::Observer => false,
    };
    let (out, back): (Vec<_>, Vec<_>) = links.iter().copied().partition(from_target);
    loop {
        let now = cluster.counters()?;
        let silent: Vec<_> = [&out, &back]
            .into_iter()
            .filter(|links| !links.is_empty() && passed(&now, links) <= passed(&before, links))
            .collect();
        let milliseconds = began.elapsed().as_secs_f64() * 1e3;
        if silent.is_empty() {
            return Ok(Measured::from([(quantity.into(), milliseconds)]));
        }
        if began.elapsed() >= limit {
            for links in silent {
                if let Some(at) = cluster.free_links(links)?.iter().position(|free| *free) {
                    return Err(NotTaken::NotSeen(format!(
                        "no frame passed from {:?} to {:?}, nor on the {} links like it, within {limit:?} of the heal",
                        links[at].0,
                        links[at].1,
                        links.len() - 1
                    )));
                }
            }
            return Ok(Measured::from([(quantity.into(), milliseconds)]));
        }
        if silent.iter().all(|links| none_is_free(cluster, links)) {
            return Ok(Measured::from([(quantity.into(), milliseconds)]));
        }
        sleep(PAUSE).await;
    }
}

fn none_is_free(cluster: &Cluster, links: &[(Port, Port)]) -> bool {
    cluster
        .free_links(links)
        .is_ok_and(|free| free.iter().all(|free| !free))
}

/// Frames that passed some links.
pub(crate) fn passed(counts: &[LinkCount], links: &[(Port, Port)]) -> u64 {
    let ours = counts
        .iter()
        .filter(|count| links.contains(&(count.from, count.to)));
    ours.map(|count| count.passed).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(offered: u64, struck: u64) -> RuleCounts {
        RuleCounts {
            offered,
            struck,
            ..RuleCounts::default()
        }
    }

    #[test]
    fn a_draw_is_believed_within_chance_and_not_beyond() {
        assert_eq!(drawn(&counts(0, 0), 300_000), Ok(false));
        assert_eq!(drawn(&counts(10, 0), 300_000), Ok(false));
        assert_eq!(drawn(&counts(1000, 320), 300_000), Ok(true));
        assert_eq!(drawn(&counts(50, 50), WHOLE_PPM), Ok(true));
        assert!(drawn(&counts(1000, 0), 300_000).is_err());
        assert!(drawn(&counts(1000, 400), 300_000).is_err());
        assert!(drawn(&counts(50, 40), WHOLE_PPM).is_err());
    }

    #[test]
    fn units_are_turned() {
        assert_eq!((ppm(20.0), ppm(0.1), ppm(100.0)), (200_000, 1_000, WHOLE_PPM));
        assert_eq!((ns(1.5), ms(2_500_000)), (1_500_000, 2.5));
    }
}
