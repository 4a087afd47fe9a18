//! Where a form of EDN ends: brackets, strings, characters, comments, `#_` and tags are told apart, nothing else.

use super::{DEEPEST, Stop};

/// What a byte is to a tokenizer, looked up: that is what the parser does most.
const CLASS: [u8; 256] = classes();
const BLANK: u8 = 1;
const ENDS_TOKEN: u8 = 2;
const IN_NAMES: u8 = 4;

const fn classes() -> [u8; 256] {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < classes.len() {
        classes[byte] = match byte as u8 {
            b' ' | b',' | b'\t'..=b'\r' => BLANK | ENDS_TOKEN,
            b'[' | b']' | b'(' | b')' | b'{' | b'}' | b'"' | b';' => ENDS_TOKEN,
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => IN_NAMES,
            b'-' | b'_' | b'?' | b'!' | b'*' | b'+' | b'.' | b'<' | b'>' | b'=' | b'&' | b'$' | b'%' => {
                IN_NAMES
            }
            _ => 0,
        };
        byte += 1;
    }
    classes
}

/// White space, as EDN has it: commas too.
pub(super) fn is_blank(byte: u8) -> bool {
    CLASS[usize::from(byte)] & BLANK != 0
}

/// Whether a byte ends a token.
pub(super) fn ends_token(byte: u8) -> bool {
    CLASS[usize::from(byte)] & ENDS_TOKEN != 0
}

/// Whether a byte stands in names in any reading of EDN. All are ASCII.
pub(super) fn is_in_names(byte: u8) -> bool {
    CLASS[usize::from(byte)] & IN_NAMES != 0
}

/// How many bytes of white space and comments there are. A comment may go on beyond the bytes.
pub(super) fn blank_length(bytes: &[u8], in_comment: &mut bool) -> usize {
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'\n' | b'\r' => *in_comment = false,
            _ if *in_comment => {}
            b';' => *in_comment = true,
            byte if is_blank(*byte) => {}
            _ => return at,
        }
    }
    bytes.len()
}

/// The length of the form that the bytes begin with, tags and discarded forms before it included. `ended` says that
/// nothing comes behind the bytes.
pub(super) fn length(bytes: &[u8], ended: bool) -> Result<usize, Stop> {
    let mut open: Vec<u8> = Vec::new();
    // How many forms end outside of brackets before we are done: `#_` takes one more.
    let mut wanted = 1_usize;
    let mut at = 0;
    loop {
        let mut in_comment = false;
        at += blank_length(bytes.get(at..).unwrap_or_default(), &mut in_comment);
        let byte = *bytes.get(at).ok_or(Stop::More)?;
        match byte {
            b'[' | b'(' | b'{' => {
                if open.len() >= DEEPEST {
                    return Err(Stop::Deep(at));
                }
                open.push(closing(byte));
                at += 1;
                continue;
            }
            b']' | b')' | b'}' => {
                if open.pop() != Some(byte) {
                    let why = format!("{:?} closes no bracket that is open here", char::from(byte));
                    return Err(Stop::Wrong(at, why));
                }
                at += 1;
            }
            b'"' => at = string_end(bytes, at + 1)?,
            b'\\' => at = token_end(bytes, at + 2, ended)?,
            b'#' => match bytes.get(at + 1) {
                None => return Err(Stop::More),
                Some(b'_') => {
                    at += 2;
                    if open.is_empty() {
                        wanted += 1;
                    }
                    continue;
                }
                Some(b'{') => {
                    at += 1;
                    continue;
                }
                Some(b'#') => at = token_end(bytes, at + 2, ended)?,
                Some(_) => {
                    at = token_end(bytes, at + 1, ended)?;
                    continue;
                }
            },
            _ => at = token_end(bytes, at, ended)?,
        }
        if open.is_empty() {
            wanted -= 1;
            if wanted == 0 {
                return Ok(at);
            }
        }
    }
}

pub(super) fn closing(open: u8) -> u8 {
    match open {
        b'[' => b']',
        b'(' => b')',
        _ => b'}',
    }
}

/// The place behind a string's closing quote.
fn string_end(bytes: &[u8], mut at: usize) -> Result<usize, Stop> {
    loop {
        match bytes.get(at) {
            None => return Err(Stop::More),
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
        }
    }
}

/// The place behind a token.
fn token_end(bytes: &[u8], from: usize, ended: bool) -> Result<usize, Stop> {
    let rest = bytes.get(from..).unwrap_or_default();
    match rest.iter().position(|byte| ends_token(*byte)) {
        Some(length) => Ok(from + length),
        None if ended && from <= bytes.len() => Ok(bytes.len()),
        None => Err(Stop::More),
    }
}
