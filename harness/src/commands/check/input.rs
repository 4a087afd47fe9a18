//! The history's bytes: a file or standard input, unpacked where it is gzip, and its format.

use crate::error::{Error, Status};
use flate2::bufread::MultiGzDecoder;
use history::{Format, GUESS_BYTES};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// A history that is about to be read.
pub struct Input {
    /// Its bytes.
    pub bytes: Box<dyn BufRead + Send>,
    /// How it is read.
    pub format: Format,
    /// Whether the format was guessed.
    pub guessed: bool,
    /// How many bytes there are; 0 where that is not known.
    pub total: u64,
}

/// The name of standard input.
const STDIN: &str = "-";
/// What gzip begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// How much is read at once.
const BUFFER: usize = 1 << 16;

/// Opens a history, and finds out its format where none is named.
///
/// # Errors
/// Usage, where there is no such file or its format is not known; 65, where it has no byte.
pub fn open(path: &Path, format: Option<Format>) -> Result<Input, Error> {
    let (raw, mut total): (Box<dyn Read + Send>, u64) = if path == Path::new(STDIN) {
        (Box::new(io::stdin()), 0)
    } else {
        let file = file(path)?;
        let total = file.metadata().map_or(0, |about| about.len());
        (Box::new(file), total)
    };
    let unreadable = |e: io::Error| malformed(path, &e, "is it whole? read it with another program");
    let (first, raw) = begun(raw, GZIP.len()).map_err(unreadable)?;
    let bytes: Box<dyn Read + Send> = if first == GZIP {
        total = 0;
        Box::new(MultiGzDecoder::new(raw))
    } else {
        Box::new(raw)
    };
    let (first, bytes) = begun(bytes, GUESS_BYTES).map_err(unreadable)?;
    if first.is_empty() {
        return Err(malformed(
            path,
            &"it is empty",
            "name a file with a history in it",
        ));
    }
    let found = format.or_else(|| Format::guess(&first, &name(path)));
    let guessed = format.is_none();
    let format = found.ok_or_else(|| unknown(path))?;
    Ok(Input {
        bytes: Box::new(bytes),
        format,
        guessed,
        total,
    })
}

fn file(path: &Path) -> Result<File, Error> {
    let wrong = |why: &dyn std::fmt::Display, next: String| {
        Error::usage(format!("opening the history {}", path.display()), why, next)
    };
    if path.is_dir() {
        let inside = path.join(results::store::HISTORY);
        let next = if inside.is_file() {
            format!(
                "ackall check {0}, or, to judge it with its plan, ackall analyze {1}",
                inside.display(),
                path.display()
            )
        } else {
            "name one file of it".to_string()
        };
        return Err(wrong(&"it is a folder", next));
    }
    File::open(path).map_err(|e| wrong(&e, "name a history's file, or - for standard input".into()))
}

/// The file's name without what says that it is packed.
fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix(".gz").unwrap_or(&name).to_string()
}

/// The first bytes, at most so many, and a reader of all of them. A pipe may give them piece by piece.
fn begun(mut reader: impl Read + Send, most: usize) -> io::Result<(Vec<u8>, impl BufRead + Send)> {
    let mut first = Vec::new();
    reader.by_ref().take(most as u64).read_to_end(&mut first)?;
    let whole = io::Cursor::new(first.clone()).chain(reader);
    Ok((first, BufReader::with_capacity(BUFFER, whole)))
}

fn unknown(path: &Path) -> Error {
    let names: Vec<&str> = Format::ALL.iter().map(|format| format.text()).collect();
    Error::usage(
        format!("finding out the format of {}", path.display()),
        "neither its first bytes nor its name tell",
        format!("--format with one of {}", names.join(", ")),
    )
}

/// A history that cannot be read.
pub fn malformed(path: &Path, why: &dyn std::fmt::Display, next: &str) -> Error {
    Error::new(Status::Data, format!("reading {}", path.display()), why, next)
}
