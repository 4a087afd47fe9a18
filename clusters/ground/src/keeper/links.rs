//! Links: cutting, healing and counting them, by asking the wire.

use std::time::Duration;

use super::{Keeper, refused};
use crate::api::{Error, LinkCount, Port};
use crate::link_rule::{LinkRule, RuleCounts};
use crate::proto::{CLIENTS, FIRST_NODE, FromWire, OBSERVER, ToWire};

/// How long the wire may take to answer: it looks at its control socket between two frames.
const WIRE_PATIENCE: Duration = Duration::from_secs(2);

impl Keeper {
    pub(super) fn set_cut(&mut self, pairs: &[(Port, Port)], cut: bool) -> Result<u64, Error> {
        let what = format!(
            "{} {} links",
            if cut { "cutting" } else { "healing" },
            pairs.len()
        );
        let pairs = self.numbers(pairs, &what)?;
        self.wire_done(&what, &ToWire::SetCut { pairs, cut })
    }

    pub(super) fn set_rule(
        &mut self,
        fault: u64,
        pairs: &[(Port, Port)],
        rule: LinkRule,
    ) -> Result<u64, Error> {
        let what = format!("putting the rule of fault {fault} on {} links", pairs.len());
        let pairs = self.numbers(pairs, &what)?;
        self.wire_done(&what, &ToWire::SetRule { fault, pairs, rule })
    }

    pub(super) fn clear_rule(&mut self, fault: u64) -> Result<u64, Error> {
        let what = format!("taking the rule of fault {fault} away");
        self.wire_done(&what, &ToWire::ClearRule { fault })
    }

    pub(super) fn rule_counts(&mut self, fault: u64) -> Result<RuleCounts, Error> {
        let what = format!("asking what the rule of fault {fault} has met");
        match self.ask_wire(&ToWire::RuleCounts { fault }) {
            FromWire::RuleCounts(counts) => Ok(counts),
            other => Err(wire_failed(what, other)),
        }
    }

    pub(super) fn free_links(&mut self, pairs: &[(Port, Port)]) -> Result<Vec<bool>, Error> {
        let what = format!("asking which of {} links are free", pairs.len());
        let pairs = self.numbers(pairs, &what)?;
        match self.ask_wire(&ToWire::Free { pairs }) {
            FromWire::Free { free } => Ok(free),
            other => Err(wire_failed(what, other)),
        }
    }

    pub(super) fn mark(&mut self, pairs: &[(Port, Port)]) -> Result<u64, Error> {
        let what = format!("marking {} links", pairs.len());
        let pairs = self.numbers(pairs, &what)?;
        self.wire_done(&what, &ToWire::Mark { pairs })
    }

    pub(super) fn first_frames(&mut self, pairs: &[(Port, Port)]) -> Result<Vec<Option<u64>>, Error> {
        let what = format!("asking {} links for their first frames", pairs.len());
        let pairs = self.numbers(pairs, &what)?;
        match self.ask_wire(&ToWire::FirstFrames { pairs }) {
            FromWire::FirstFrames { at_ns } => Ok(at_ns),
            other => Err(wire_failed(what, other)),
        }
    }

    pub(super) fn counters(&mut self, from: Port) -> Result<Vec<LinkCount>, Error> {
        let what = format!("counting the links from {from:?}");
        let number = self.number(from, &what)?;
        match self.ask_wire(&ToWire::Counters { from: number }) {
            FromWire::Counters { links } => Ok(links
                .into_iter()
                // A port that no node has yet can have dropped broadcasts only.
                .filter_map(|link| Some((self.port(link.to)?, link)))
                .map(|(to, link)| LinkCount {
                    from,
                    to,
                    passed: link.passed,
                    dropped: link.dropped,
                    bytes: link.bytes,
                    unasked: link.unasked,
                    cut: link.cut,
                })
                .collect()),
            other => Err(wire_failed(what, other)),
        }
    }

    /// Asks the wire for something that is answered by the time it is in force.
    pub(super) fn wire_done(&mut self, what: &str, question: &ToWire) -> Result<u64, Error> {
        match self.ask_wire(question) {
            FromWire::Done { at_ns } => Ok(at_ns),
            other => Err(wire_failed(what.into(), other)),
        }
    }

    /// Plugs a TAP in.
    pub(super) fn plug(&mut self, port: u8, tap: std::os::fd::OwnedFd) -> Result<(), Error> {
        use std::os::fd::AsFd;
        let channel = self.wire.channel.clone();
        let sent = channel.send_with(&ToWire::Plug { port }, &[tap.as_fd()]);
        let answer = match sent {
            Ok(()) => self
                .await_answer(0, &channel, WIRE_PATIENCE)
                .map(|(answer, _)| answer),
            Err(error) => Err(super::children::Silence::Broken(error)),
        };
        match answer {
            Ok(FromWire::Done { .. }) => Ok(()),
            Ok(other) => Err(wire_failed(format!("plugging port {port} in"), other)),
            Err(silence) => self.die(format!("the wire hangs: {silence}")),
        }
    }

    fn ask_wire(&mut self, question: &ToWire) -> FromWire {
        let channel = self.wire.channel.clone();
        match self.ask(0, &channel, question, WIRE_PATIENCE) {
            Ok(answer) => answer,
            Err(silence) => self.die(format!("the wire hangs: {silence}")),
        }
    }

    /// Whether the wire still answers; where it does not, its death or its silence ends us here. One that was killed
    /// a moment ago may still be letting go of its devices.
    pub(super) fn need_wire(&mut self) {
        self.ask_wire(&ToWire::Counters { from: CLIENTS });
    }

    fn numbers(&self, pairs: &[(Port, Port)], what: &str) -> Result<Vec<(u8, u8)>, Error> {
        pairs
            .iter()
            .map(|(from, to)| Ok((self.number(*from, what)?, self.number(*to, what)?)))
            .collect()
    }

    fn number(&self, port: Port, what: &str) -> Result<u8, Error> {
        match port {
            Port::Clients => Ok(CLIENTS),
            Port::Observer => Ok(OBSERVER),
            Port::Node(id) => self.find(id, what).map(|at| self.nodes[at].port),
        }
    }

    fn port(&self, number: u8) -> Option<Port> {
        match number {
            CLIENTS => Some(Port::Clients),
            OBSERVER => Some(Port::Observer),
            node => self
                .nodes
                .get(usize::from(node - FIRST_NODE))
                .map(|node| Port::Node(node.id())),
        }
    }
}

fn wire_failed(what: String, answer: FromWire) -> Error {
    let why = match answer {
        FromWire::Failed { why } => why,
        other => format!("the wire answered {other:?}"),
    };
    refused(what, why, "see the harness's log")
}
