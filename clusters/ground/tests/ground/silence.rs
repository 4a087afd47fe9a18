//! A machine without power says nothing, and nothing of its old life is said in the next; a killed program's kernel does
//! speak, a stopped one's goes on to acknowledge and to accept, and a machine that stands still is silent again.

use std::fs;
use std::net::Ipv4Addr;
use std::time::Duration;

use ground::{Effect, Event, Ground, LinkRule, Policy, Port, Signal};

use crate::client::{Client, await_answer};
use crate::raw::{Heard, Raw};
use crate::scenarios::{Bench, LONG};

/// An orphaned FIN of an old life came after 1.3 s where the network namespace was the same.
const OLD_LIFE: Duration = Duration::from_millis(1_600);
const BRIEF: Duration = Duration::from_millis(300);
const PAGE: u64 = 4096;

/// What the test works on: nodes 1 to 3, all of which talk.
pub struct Silence<'a> {
    pub bench: &'a Bench,
    pub addresses: [Ipv4Addr; 3],
    /// None where raw sockets are not for this user.
    pub raw: Option<Raw>,
}

impl Silence<'_> {
    pub fn check(&self) {
        if self.raw.is_none() {
            println!("SKIPPED frames as they are: raw sockets are not for this user");
        }
        self.a_crash_is_loud();
        self.a_cut_is_silent_and_so_is_the_next_life();
        self.a_stopped_process_is_acknowledged_for();
        self.a_machine_that_stands_still_is_silent();
        self.late_pages_of_a_mapping_are_in_the_ledger();
    }

    fn ground(&self) -> &Ground {
        &self.bench.ground
    }

    /// Every link from node 1.
    fn links() -> Vec<(Port, Port)> {
        let to = [Port::Clients, Port::Observer, Port::Node(2), Port::Node(3)];
        to.map(|to| (Port::Node(1), to)).to_vec()
    }

    /// Which of these delivers a frame within that time from now on.
    fn speaks(&self, time: Duration) -> Vec<bool> {
        self.ground().mark(&Self::links()).unwrap();
        std::thread::sleep(time);
        let first = self.ground().first_frames(&Self::links()).unwrap();
        first.iter().map(Option::is_some).collect()
    }

    /// A client with a connection to node 1, and one of the observer's; nodes 2 and 3 hold one each.
    fn held(&self) -> (Client, Client) {
        for address in &self.addresses[1..] {
            let question = format!("hold {}", self.addresses[0]);
            assert_eq!(await_answer(*address).ask(&question).unwrap(), "ok");
        }
        let observer = Client::observe(self.addresses[0], LONG).unwrap();
        (await_answer(self.addresses[0]), observer)
    }

    fn back(&self) {
        self.bench.start_app(1);
        drop(await_answer(self.addresses[0]));
    }

    fn ends(&self, time: Duration) -> Option<Vec<Heard>> {
        let heard = self.raw.as_ref()?.hear(self.addresses[0], time);
        let ends = |it: &Heard| matches!(it, Heard::Segment { ends: true, .. });
        Some(heard.into_iter().filter(ends).collect())
    }

    fn answers_who_has(&self) -> Option<bool> {
        let raw = self.raw.as_ref()?;
        raw.hear(self.addresses[0], Duration::from_millis(1));
        raw.who_has(self.addresses[0]);
        let heard = raw.hear(self.addresses[0], Duration::from_millis(200));
        Some(heard.contains(&Heard::Arp))
    }

    fn a_crash_is_loud(&self) {
        let (client, observer) = self.held();
        self.ends(Duration::from_millis(50));
        self.ground().mark(&Self::links()).unwrap();
        let killed = self.ground().signal(1, Signal::Kill).unwrap();
        for (mut held, who) in [(client, "the client"), (observer, "the observer")] {
            assert!(!held.is_silent_for(LONG), "{who} hears of it");
        }
        if let Some(ends) = self.ends(Duration::from_millis(50)) {
            assert!(!ends.is_empty(), "a FIN or RST is on the wire");
        }
        let first = self.ground().first_frames(&Self::links()).unwrap();
        for (link, at_ns) in Self::links().iter().zip(first) {
            let after = at_ns.unwrap_or_else(|| panic!("{link:?} is silent"));
            let after = Duration::from_nanos(after.saturating_sub(killed.at_ns));
            assert!(after < Duration::from_secs(1), "{link:?}: {after:?}");
        }
        match self.bench.events.recv_timeout(LONG).unwrap() {
            Event::ProgramEnded { node: 1, .. } => {}
            other => panic!("{other:?}"),
        }
        self.back();
    }

    fn a_cut_is_silent_and_so_is_the_next_life(&self) {
        let (mut client, mut observer) = self.held();
        assert_ne!(self.answers_who_has(), Some(false), "a living machine answers");
        self.ends(Duration::from_millis(50));
        self.ground().power_off(&[1], 70, Policy::default()).unwrap();
        assert_ne!(self.answers_who_has(), Some(true), "a dead machine answers");
        assert_eq!(self.speaks(BRIEF), [false; 4], "a dead machine sends a frame");
        self.ground().power_on(1).unwrap();
        self.bench.start_app(1);
        // Nobody talks to it yet: whatever it sent would be of its old life.
        assert_eq!(self.speaks(OLD_LIFE), [false; 4], "its old life is heard of");
        if let Some(ends) = self.ends(Duration::from_millis(1)) {
            assert_eq!(ends, [], "since the cut");
        }
        for held in [&mut client, &mut observer] {
            assert!(held.is_silent_for(BRIEF), "an old connection has an end");
        }
        assert_ne!(self.answers_who_has(), Some(false), "the new life answers");
        drop(await_answer(self.addresses[0]));
        // A word on an old connection is one that the new kernel does not know.
        assert!(client.ask("echo x").is_err());
    }

    fn a_stopped_process_is_acknowledged_for(&self) {
        let mut client = await_answer(self.addresses[0]);
        self.ground().signal(1, Signal::Stop).unwrap();
        client.say("echo later").unwrap();
        std::thread::sleep(BRIEF);
        assert_eq!(client.unacknowledged(), 0, "its kernel acknowledges");
        assert!(
            Client::connect(self.addresses[0], BRIEF).is_ok(),
            "its kernel accepts"
        );
        assert!(client.is_silent_for(BRIEF), "the process answers");
        self.ground().signal(1, Signal::Continue).unwrap();
        assert_eq!(client.hear().unwrap(), "later");
    }

    fn a_machine_that_stands_still_is_silent(&self) {
        const FAULT: u64 = 71;
        let (mut client, mut observer) = self.held();
        let mut links = Self::links();
        links.extend(Self::links().into_iter().map(|(from, to)| (to, from)));
        let silence = LinkRule::of(Effect::Silence, 1);
        self.ground().set_rule(FAULT, &links, silence).unwrap();
        self.ground().signal(1, Signal::Stop).unwrap();
        client.say("echo later").unwrap();
        assert_eq!(self.speaks(BRIEF), [false; 4]);
        assert!(client.unacknowledged() > 0, "nobody acknowledges");
        assert!(
            Client::connect(self.addresses[0], BRIEF).is_err(),
            "nobody accepts"
        );
        assert_ne!(self.answers_who_has(), Some(true));
        let counts = self.ground().rule_counts(FAULT).unwrap();
        assert!(counts.struck > 0 && counts.delivered == 0, "{counts:?}");
        self.ground().signal(1, Signal::Continue).unwrap();
        self.ground().clear_rule(FAULT).unwrap();
        assert_eq!(client.hear().unwrap(), "later", "the connection is as it was");
        assert_eq!(observer.ask("echo too").unwrap(), "too");
    }

    fn late_pages_of_a_mapping_are_in_the_ledger(&self) {
        let ask = |question: &str| await_answer(self.addresses[0]).ask(question).unwrap();
        let file = self.bench.home(1).join("disk/mapped");
        // Killed: the kernel has the page, and writes it.
        assert_eq!(ask("map mapped"), "ok");
        self.ground().signal(1, Signal::Kill).unwrap();
        assert!(matches!(
            self.bench.events.recv_timeout(LONG).unwrap(),
            Event::ProgramEnded { node: 1, .. }
        ));
        self.back();
        assert_eq!(ask("read mapped").trim_matches('\0'), "late");
        // Cut: it is lost, and the ledger says where.
        assert_eq!(ask("map mapped"), "ok");
        let cut = self
            .ground()
            .power_off(&[1], 72, Policy::default())
            .unwrap()
            .remove(0);
        // Of a late page what it changes.
        assert_eq!((cut.loss.bytes, cut.loss.files), (4, 1), "{cut:?}");
        let left = fs::read(&file).unwrap();
        assert!(left.iter().all(|byte| *byte == 0) && left.len() as u64 == 2 * PAGE);
        let lost = fs::read(self.bench.home(1).join(format!("lost/72/mapped@{PAGE}"))).unwrap();
        assert_eq!(lost, b"late");
        self.ground().power_on(1).unwrap();
        self.back();
    }
}
