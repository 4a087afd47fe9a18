//! One check: the file read as a stream, and judged.

use crate::{Order, manifest};
use checker::{Budget, GUESS_OPS, Judgement, ModelName, Options, Outcome, guess_model};
use flate2::bufread::MultiGzDecoder;
use history::{Format, GUESS_BYTES, Op, ReadError, read_foreign};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What is asked of a file.
#[derive(Clone, Debug)]
pub struct Check {
    /// The file, by a name for people.
    pub id: String,
    /// Where it comes from.
    pub source: String,
    /// Where it is.
    pub path: PathBuf,
    /// How it is read; none is guessed.
    pub format: Option<Format>,
    /// As what it is judged; none is guessed.
    pub model: Option<ModelName>,
    /// How.
    pub options: Options,
    /// The check's name.
    pub what: String,
    /// What others say; none where nobody does.
    pub expected: Option<Expected>,
    /// Why it is not judged, where that is so.
    pub not_judged: Option<String>,
}

/// What others say of a file.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The verdict.
    pub verdict: Outcome,
    /// The anomalies' names, where they are said.
    pub names: Option<Vec<String>>,
}

/// What this project says, and how long that took.
pub struct Answer {
    /// The judgement; else why there is none.
    pub judged: Result<Judgement, String>,
    /// The time, reading included.
    pub took: Duration,
}

/// Judges a file. A panic is an answer too: the table goes on.
pub fn judge(check: &Check, order: &Order) -> Answer {
    let began = Instant::now();
    let judged = catch_unwind(AssertUnwindSafe(|| one(check, order)));
    Answer {
        judged: judged.unwrap_or_else(|_| Err("the checker panicked".into())),
        took: began.elapsed(),
    }
}

fn one(check: &Check, order: &Order) -> Result<Judgement, String> {
    let mut file = open(&check.path)?;
    let first = file.fill_buf().map_err(|e| e.to_string())?;
    let name = check.path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.trim_end_matches(".gz");
    let guessed = Format::guess(first.get(..GUESS_BYTES).unwrap_or(first), name);
    let format = check
        .format
        .or(guessed)
        .ok_or("its format could not be guessed")?;
    let mut options = check.options.clone();
    options.no_real_time = manifest::no_real_time(Some(format));
    let mut ops = read_foreign(format, file);
    let first: Vec<Result<Op, ReadError>> = ops.by_ref().take(GUESS_OPS).collect();
    let model = match check.model {
        Some(model) => model,
        None => {
            let known: Vec<Op> = first.iter().filter_map(|op| op.as_ref().ok().cloned()).collect();
            guess_model(format, &known).ok_or("its model could not be guessed")?
        }
    };
    let budget = Budget::new(order.budget, order.memory);
    checker::judge(model, &options, &budget, first.into_iter().chain(ops)).map_err(|e| e.to_string())
}

/// A file, unpacked where it is gzip.
fn open(path: &Path) -> Result<Box<dyn BufRead>, String> {
    let mut file = BufReader::new(File::open(path).map_err(|e| e.to_string())?);
    let is_gzip = file
        .fill_buf()
        .is_ok_and(|first| first.starts_with(&[0x1f, 0x8b]));
    Ok(if is_gzip {
        Box::new(BufReader::new(MultiGzDecoder::new(file)))
    } else {
        Box::new(file)
    })
}

/// The verdict on what is valid, or is not.
pub fn verdict(valid: bool) -> Outcome {
    if valid { Outcome::Pass } else { Outcome::Fail }
}
