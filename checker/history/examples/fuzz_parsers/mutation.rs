//! Mutations of bytes.

use super::random::Random;

/// Inputs grow no longer.
const LONGEST: usize = 64 << 10;
/// At most so many mutations an input.
const MOST_MUTATIONS: usize = 8;
/// How often a token may be repeated, for nesting.
const MOST_REPEATS: usize = 300;

/// An input made of the seeds.
pub fn mutated(random: &mut Random, seeds: &[Vec<u8>], tokens: &[&str]) -> Vec<u8> {
    let mut bytes = random.one(seeds).clone();
    for _ in 0..=random.below(MOST_MUTATIONS) {
        mutate(random, &mut bytes, seeds, tokens);
    }
    bytes.truncate(LONGEST);
    bytes
}

fn mutate(random: &mut Random, bytes: &mut Vec<u8>, seeds: &[Vec<u8>], tokens: &[&str]) {
    let at = random.below(bytes.len());
    let end = at + random.below((bytes.len() - at).min(40) + 1);
    match random.below(9) {
        0 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        1 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = random.next() as u8;
            }
        }
        2 => drop(bytes.drain(at..end)),
        3 => bytes.truncate(at),
        4 => {
            let copy = bytes[at..end].to_vec();
            insert(bytes, at, &copy);
        }
        5 => {
            let other = random.one(seeds);
            let from = random.below(other.len());
            let to = from + random.below(other.len() - from + 1);
            bytes.splice(at..end, other[from..to].iter().copied());
        }
        6 => {
            let token = random.one(tokens).repeat(1 + random.below(MOST_REPEATS));
            insert(bytes, at, token.as_bytes());
        }
        7 => {
            let token = *random.one(tokens);
            bytes.splice(at..end, token.bytes());
        }
        _ => insert(bytes, at, random.one(tokens).as_bytes()),
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, what: &[u8]) {
    bytes.splice(at..at, what.iter().copied());
}
