//! How fast foreign histories are read: `cargo run --release -p history --example speed_of_reading [-- TRANSACTIONS TIMES STYLE]`.
//!
//! A list-append history of 100,000 transactions is made in memory, as EDN and as JSON, and read some times; the best
//! time counts. EDN is read a second time with a tag before each entry, which is what the library alone reads.

use history::{Format, read_foreign};
use std::fmt::Write;
use std::time::{Duration, Instant};

const TRANSACTIONS: u64 = 100_000;
const TIMES: u64 = 21;
/// Keys are retired once their lists are so long, as Jepsen's generator does.
const LONGEST_LIST: u64 = 32;
const STEPS: u64 = 4;

/// How an entry is written.
struct Style {
    name: &'static str,
    format: Format,
    tag: &'static str,
}

const STYLES: [Style; 3] = [
    Style {
        name: "EDN",
        format: Format::JepsenEdn,
        tag: "",
    },
    Style {
        name: "EDN-by-the-library",
        format: Format::JepsenEdn,
        tag: "#jepsen.history.Op ",
    },
    Style {
        name: "JSON",
        format: Format::JepsenJson,
        tag: "",
    },
];

fn main() {
    let mut counts = std::env::args().skip(1).map_while(|count| count.parse().ok());
    let transactions = counts.next().unwrap_or(TRANSACTIONS);
    let times = counts.next().unwrap_or(TIMES);
    let only = std::env::args().nth(3);
    for style in STYLES
        .iter()
        .filter(|style| only.as_deref().is_none_or(|name| name == style.name))
    {
        let text = history(style, transactions);
        let best = (0..times).map(|_| once(style.format, &text)).min();
        println!(
            "{}: {transactions} transactions, {:.1} MB, {:.3} s",
            style.name,
            text.len() as f64 / 1e6,
            best.unwrap_or_default().as_secs_f64()
        );
    }
}

fn once(format: Format, text: &str) -> Duration {
    let began = Instant::now();
    // As a checker does that takes each apart and keeps little of it.
    let wrong = read_foreign(format, text.as_bytes()).find_map(Result::err);
    let took = began.elapsed();
    assert!(wrong.is_none(), "the history is well-formed: {wrong:?}");
    took
}

/// One client, whose transactions append to a key and read it, in turn.
fn history(style: &Style, transactions: u64) -> String {
    let json = style.format == Format::JepsenJson;
    let mut text = String::new();
    let mut written = 0;
    for transaction in 0..transactions {
        let mut steps = [String::new(), String::new()];
        for step in 0..STEPS {
            let (key, length) = (written / LONGEST_LIST, written % LONGEST_LIST + 1);
            let space = if steps[0].is_empty() || !json { " " } else { ", " };
            if step % 2 == 0 {
                for steps in &mut steps {
                    let append = if json { "\"append\"," } else { ":append" };
                    let _ = write!(
                        steps,
                        "{space}[{append} {key}{} {length}]",
                        if json { "," } else { "" }
                    );
                }
            } else {
                let list: Vec<_> = (1..=length).map(|element| element.to_string()).collect();
                let list = list.join(if json { ", " } else { " " });
                let read = if json { "\"r\"," } else { ":r" };
                let nil = if json { "null" } else { "nil" };
                let comma = if json { "," } else { "" };
                let _ = write!(steps[0], "{space}[{read} {key}{comma} {nil}]");
                let _ = write!(steps[1], "{space}[{read} {key}{comma} [{list}]]");
                written += 1;
            }
        }
        for (kind, steps) in ["invoke", "ok"].into_iter().zip(&steps) {
            let index = transaction * 2 + u64::from(kind == "ok");
            let time = index * 1_000_000;
            let process = transaction % 10;
            let _ = match json {
                true => writeln!(
                    text,
                    "{{\"index\": {index}, \"time\": {time}, \"type\": \"{kind}\", \"process\": {process}, \
                     \"f\": \"txn\", \"value\": [{steps}]}}"
                ),
                false => writeln!(
                    text,
                    "{}{{:index {index}, :time {time}, :type :{kind}, :process {process}, :f :txn, \
                     :value [{steps}]}}",
                    style.tag
                ),
            };
        }
    }
    text
}
