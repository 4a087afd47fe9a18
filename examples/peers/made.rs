//! Constructed histories: which ones, and the transactions.

use std::io::{self, Write};

/// Registers that `linear_bench` of the checker makes; whether Porcupine is to judge them too. A million compare-and-sets
/// take it some 190 GB.
pub const REGISTERS: [(&str, bool); 5] = [
    ("unique-10k-10", true),
    ("cas-100k-5", true),
    ("cas-1m-10", false),
    ("unique-1m-10", false),
    ("cas-1m-10-wrong-late", false),
];

/// How many transactions; whether adya is to judge them too.
pub const TRANSACTIONS: [(usize, bool); 3] = [(100_000, true), (300_000, true), (1_000_000, false)];

/// Clients of the transactions, all of them always busy.
const CLIENTS: usize = 20;
/// Keys that are in use at once, and how often each is appended to before another takes its place.
const KEYS: usize = 10;
const APPENDS: usize = 32;
/// Steps of a transaction, at most.
const STEPS: u64 = 4;

/// A stream of numbers (SplitMix64).
struct Draw(u64);

impl Draw {
    /// A number below a bound.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        // The bias of a remainder is far below anything that shows here.
        (bits ^ (bits >> 31)) % bound
    }
}

/// A strictly serializable history of list appends, an object a line: each transaction takes effect at one moment
/// between its invocation and its completion.
pub fn list_append(transactions: usize, out: &mut impl Write) -> io::Result<()> {
    let mut store = Store::new();
    let mut draw = Draw(7);
    let mut open: Vec<Option<(String, String)>> = vec![None; CLIENTS];
    let mut begun = 0;
    while begun < transactions || open.iter().any(Option::is_some) {
        let client = draw.below(CLIENTS as u64) as usize;
        match open[client].take() {
            Some((_, answered)) => line(out, "ok", client, &answered)?,
            None if begun < transactions => {
                begun += 1;
                // It takes effect as it begins: that is a moment of its interval.
                let (asked, answered) = store.transaction(&mut draw);
                line(out, "invoke", client, &asked)?;
                open[client] = Some((asked, answered));
            }
            None => {}
        }
    }
    Ok(())
}

fn line(out: &mut impl Write, kind: &str, client: usize, value: &str) -> io::Result<()> {
    writeln!(
        out,
        r#"{{"type":"{kind}","f":"txn","process":{client},"value":[{value}]}}"#
    )
}

/// The lists.
struct Store {
    /// Each key in use with its list.
    lists: Vec<(usize, Vec<usize>)>,
    next: usize,
}

impl Store {
    fn new() -> Store {
        Store {
            lists: (0..KEYS).map(|key| (key, Vec::new())).collect(),
            next: KEYS,
        }
    }

    /// What a transaction asks for, and what it is answered.
    fn transaction(&mut self, draw: &mut Draw) -> (String, String) {
        let (mut asked, mut answered) = (Vec::new(), Vec::new());
        for _ in 0..=draw.below(STEPS) {
            let place = draw.below(KEYS as u64) as usize;
            let (key, list) = &mut self.lists[place];
            if draw.below(2) == 0 {
                asked.push(format!(r#"["r",{key},null]"#));
                let read: Vec<String> = list.iter().map(usize::to_string).collect();
                answered.push(format!(r#"["r",{key},[{}]]"#, read.join(",")));
                continue;
            }
            list.push(list.len() + 1);
            let step = format!(r#"["append",{key},{}]"#, list.len());
            asked.push(step.clone());
            answered.push(step);
            if list.len() == APPENDS {
                self.lists[place] = (self.next, Vec::new());
                self.next += 1;
            }
        }
        (asked.join(","), answered.join(","))
    }
}
