//! Our own parser and the library read alike what both read.

use super::fast::Fast;
use super::{Names, Stop, library};
use crate::Value;

const TEXTS: u64 = 20_000;

/// A stream of numbers (SplitMix64's step and one mix).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 29)) % bound
    }

    fn one(&mut self, words: &[&str]) -> String {
        words[self.below(words.len() as u64) as usize].to_owned()
    }
}

const ATOMS: [&str; 30] = [
    "nil",
    "true",
    "false",
    "0",
    "-0",
    "+3",
    "007",
    "-12",
    "9223372036854775807",
    "9223372036854775808",
    "1.5",
    "-2e3",
    "1.",
    "3/2",
    "0x1f",
    "1N",
    ":a",
    ":a/b",
    "::a",
    ":",
    "a",
    "a/b",
    "-",
    "+",
    "\"s\"",
    "\"ä\"",
    "\\c",
    "#inst \"x\"",
    ":a#b",
    "x'",
];
const SPACES: [&str; 6] = [" ", ", ", "\n", "", "; c\n", "#_ 1 "];
const FIELDS: [&str; 8] = ["type", "process", "f", "value", "time", "index", "node", "error"];

fn form(random: &mut Random, depth: u64) -> String {
    if depth == 0 || random.below(3) == 0 {
        return random.one(&ATOMS);
    }
    let (open, close) = [("[", "]"), ("(", ")"), ("{", "}"), ("#{", "}")][random.below(4) as usize];
    let mut text = open.to_owned();
    for _ in 0..random.below(5) {
        text += &form(random, depth - 1);
        text += &random.one(&SPACES);
        text += " ";
    }
    text + close
}

fn entry(random: &mut Random) -> String {
    let mut text = "{".to_owned();
    for _ in 0..random.below(5) {
        text += &format!(":{} ", random.one(&FIELDS));
        text += &form(random, 3);
        text += &random.one(&SPACES);
    }
    text + "}"
}

/// The library sorts maps and sets.
fn sorted(value: &Value) -> Value {
    match value {
        Value::List(elements) => Value::List(elements.iter().map(sorted).collect()),
        Value::Set(elements) => {
            let mut elements: Vec<_> = elements.iter().map(sorted).collect();
            elements.sort();
            Value::Set(elements.into())
        }
        Value::Map(pairs) => {
            let mut pairs: Vec<_> = pairs.iter().map(|(k, v)| (sorted(k), sorted(v))).collect();
            pairs.sort();
            Value::Map(pairs.into())
        }
        other => other.clone(),
    }
}

#[test]
fn what_both_read_they_read_alike() {
    let (mut fast, mut names) = (Fast::default(), Names::default());
    let (mut both, mut neither) = (0, 0);
    for seed in 0..TEXTS {
        let text = entry(&mut Random(seed << 20));
        match (
            fast.entry(text.as_bytes(), &mut names),
            library::entry(text.as_bytes(), &mut names),
        ) {
            (Ok((mut ours, length)), Ok(mut theirs)) => {
                both += 1;
                assert_eq!(length, text.len(), "{text}");
                ours.value = sorted(&ours.value);
                theirs.value = sorted(&theirs.value);
                assert_eq!(ours, theirs, "{text}");
            }
            (Err(Stop::Unusual), _) | (Err(Stop::Wrong(..)), Err(_)) => neither += 1,
            (ours, theirs) => panic!("{text}: {ours:?}, the library {theirs:?}"),
        }
    }
    assert!(
        both > TEXTS / 20 && neither > TEXTS / 20,
        "{both} by both, {neither} left"
    );
}
