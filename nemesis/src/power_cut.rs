//! Nodes lose their power, all at one instant: silent, and what their disks had not synced is gone.

use crate::{About, Doing, Fault, Field, Kind, Measured, NotTaken, Order, Param, Params, Program, ready};
use clusters::{Capability, Policy};

/// The fault.
pub struct PowerCut;

/// What it is.
const ABOUT: About = About {
    name: "power-cut",
    text: "the node loses its power, silently, and what its disk had not synced",
    needs: Capability::Power,
    params: &[
        Param {
            name: "remainder",
            text: "what is left of what was not synced; each disk draws for itself",
            kind: Kind::Word(&[
                "only-synced",
                "all-but-the-tail",
                "random-pages",
                "random-prefix",
                "torn",
                "names-without-data",
                "data-without-names",
                "everything",
            ]),
        },
        Param {
            name: "profile",
            text: "which states are legal: as ext4's one journal has it, or each name only with a sync of its folder",
            kind: Kind::Word(&["ext4", "posix-strict"]),
        },
    ],
    heals: "power comes back in a new network namespace, the program is started and accepts a connection",
    measures: &[
        (
            "dead_ms",
            "from the cut of the wire until every process of the nodes was gone",
        ),
        ("lost_bytes", "bytes that the disks lost"),
        ("lost_files", "files that lost bytes, or their names"),
        (
            "kept_unsynced_bytes",
            "bytes that were not synced, and are there all the same",
        ),
        ("accepts_ms", "from the start until it accepts a connection"),
    ],
    program: Program::LosesPower,
};

/// What is asked of the disks.
fn policy(order: &Order) -> Result<Policy, NotTaken> {
    let unknown = |why: String| NotTaken::NotSeen(format!("a power cut was asked for in vain: {why}"));
    Ok(Policy {
        remainder: word(&order.params, "remainder").map_err(unknown)?,
        profile: word(&order.params, "profile").map_err(unknown)?,
        seed: order.seed,
    })
}

fn word<T: std::str::FromStr<Err: ToString>>(params: &Params, name: &str) -> Result<T, String> {
    params.text(name).parse().map_err(|why: T::Err| why.to_string())
}

impl Fault for PowerCut {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let cuts = field.cluster.power_off(&order.nodes, order.id, policy(order)?)?;
            if cuts.len() != order.nodes.len() {
                return Err(NotTaken::NotSeen(format!(
                    "{} cuts were made where {} were asked",
                    cuts.len(),
                    order.nodes.len()
                )));
            }
            let dead = cuts
                .iter()
                .map(|cut| cut.dead_at_ns.saturating_sub(cut.cut_at_ns));
            let dead_ms = dead.max().unwrap_or_default() as f64 / 1e6;
            let sum = |of: fn(&clusters::PowerCut) -> u64| cuts.iter().map(of).sum::<u64>() as f64;
            Ok(Measured::from([
                ("dead_ms".into(), dead_ms),
                ("lost_bytes".into(), sum(|cut| cut.loss.bytes)),
                ("lost_files".into(), sum(|cut| cut.loss.files)),
                ("kept_unsynced_bytes".into(), sum(|cut| cut.loss.kept_unsynced)),
            ]))
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            for node in &order.nodes {
                field.cluster.power_on(*node)?;
            }
            ready::started(field.cluster, &order.nodes).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clusters::{Profile, Remainder};

    #[test]
    fn the_words_are_those_of_the_disk_and_the_seed_is_the_order_s() {
        let words = |name: &str| {
            let param = ABOUT.params.iter().find(|param| param.name == name);
            match param.unwrap().kind {
                Kind::Word(words) => words.to_vec(),
                _ => panic!("{name}"),
            }
        };
        let remainders: Vec<_> = Remainder::ALL.iter().map(|one| one.word()).collect();
        assert_eq!(words("remainder"), remainders);
        let profiles: Vec<_> = Profile::ALL.iter().map(|one| one.word()).collect();
        assert_eq!(words("profile"), profiles);
        let said = [("remainder", "torn"), ("profile", "posix-strict")];
        let said = said.map(|(name, word)| (name.to_string(), crate::Value::Text(word.into())));
        let order = Order {
            id: 1,
            nodes: vec![1],
            params: Params::check(ABOUT.params, &said.into()).unwrap(),
            seed: 9,
        };
        let expected = Policy {
            remainder: Remainder::Torn,
            profile: Profile::PosixStrict,
            seed: 9,
        };
        assert_eq!(policy(&order).unwrap(), expected);
        let order = Order {
            params: Params::check(ABOUT.params, &Default::default()).unwrap(),
            ..order
        };
        assert_eq!(policy(&order).unwrap().remainder, Remainder::OnlySynced);
    }
}
