//! Six nodes, and a connection for each pair: it is seen on exactly that pair's two links.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use ground::{Ground, LinkCount, Port};

use crate::client::{Client, await_answer};

/// As many as the default cluster has, and its numbers.
pub const NODES: [i32; 6] = [0, 1, 2, 100, 101, 102];

/// Frames that are late (a delayed acknowledgement, the end of a connection) come within this.
const QUIET: Duration = Duration::from_millis(80);
const LONG: Duration = Duration::from_secs(10);

/// Links that carried something between two counts.
type Links = BTreeSet<(Port, Port)>;

/// Checks all pairs of `nodes` (number, address), each with a program that answers.
pub fn check(ground: &Ground, nodes: &[(i32, Ipv4Addr)]) {
    let mut wire = Wire {
        ground,
        last: ground.counters().unwrap(),
    };
    let mut clients: Vec<Client> = nodes.iter().map(|(_, address)| await_answer(*address)).collect();
    wire.since();
    for (n, (node, address)) in nodes.iter().enumerate() {
        let node = Port::Node(*node);
        drop(Client::connect(*address, LONG).unwrap());
        assert_eq!(wire.since(), both(Port::Clients, node));
        drop(Client::observe(*address, LONG).unwrap());
        assert_eq!(wire.since(), both(Port::Observer, node));
        // What a word to the node itself costs.
        assert_eq!(clients[n].ask("echo hello").unwrap(), "hello");
        let told = both(Port::Clients, node);
        assert_eq!(wire.since(), told);
        for (other, address) in nodes.iter().filter(|(other, _)| node != Port::Node(*other)) {
            assert_eq!(clients[n].ask(&format!("call {address}")).unwrap(), "hello");
            let expected: Links = &told | &both(node, Port::Node(*other));
            assert_eq!(wire.since(), expected, "{node:?} called {other}");
        }
    }
}

fn both(a: Port, b: Port) -> Links {
    [(a, b), (b, a)].into()
}

struct Wire<'a> {
    ground: &'a Ground,
    last: Vec<LinkCount>,
}

impl Wire<'_> {
    /// The links that carried something since the last call, once all is quiet.
    fn since(&mut self) -> Links {
        let deadline = Instant::now() + LONG;
        let mut now = self.ground.counters().unwrap();
        loop {
            std::thread::sleep(QUIET);
            let later = self.ground.counters().unwrap();
            if later == now {
                break;
            }
            assert!(Instant::now() < deadline, "the wire is never quiet");
            now = later;
        }
        let before = |link: &LinkCount| {
            let before = self
                .last
                .iter()
                .find(|count| (count.from, count.to) == (link.from, link.to));
            before.map_or(0, |count| count.passed)
        };
        let carried = now.iter().filter(|link| link.passed > before(link));
        let links = carried.map(|link| (link.from, link.to)).collect();
        self.last = now;
        links
    }
}
