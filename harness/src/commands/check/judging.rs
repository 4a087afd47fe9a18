//! Reading and judging, in a thread of its own, within limits that the main thread keeps.

use super::choices::{As, Asked, Chosen};
use super::input::{Input, malformed};
use super::limits::{self, Limits};
use super::own;
use super::progress::Teller;
use crate::cli::CheckArgs;
use crate::error::{Error, nearest};
use checker::codes::BUDGET;
use checker::{
    Budget, GUESS_OPS, JudgeError, Judgement, ModelName, Operations, Outcome, Progress, Reason, guess_model,
};
use history::{Format, Kind, Op, Process, ReadError, Reader};
use results::check::From;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// How often the main thread looks at the time and the memory.
const LOOK: Duration = Duration::from_millis(5);
/// The stack of the thread that judges, as a main thread has it.
const STACK: usize = 8 << 20;

/// A judgement, and how it came about.
pub struct Judged {
    /// What the checker says.
    pub judgement: Judgement,
    /// What was chosen.
    pub chosen: Chosen,
}

/// What the two threads share.
struct Shared {
    budget: Budget,
    read: Arc<AtomicU64>,
    counts: Counts,
    progress: Arc<Mutex<Option<Progress>>>,
    /// What was chosen, once that is settled.
    chosen: Mutex<Option<Chosen>>,
}

/// Judges a history within limits.
///
/// # Errors
/// 65, where it cannot be read, or an entry does not fit the model; usage, where its model cannot be told or a flag
/// does not fit it; 70, where the checker itself failed.
pub fn judge(args: &CheckArgs, asked: Asked, input: Input, limits: &Limits) -> Result<Judged, Error> {
    let progress = Arc::new(Mutex::new(None));
    let told = Arc::clone(&progress);
    let budget = Budget::new(limits.time, limits.memory).telling(move |now| {
        *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
    });
    let shared = Arc::new(Shared {
        budget,
        read: Arc::default(),
        counts: Counts::default(),
        progress,
        chosen: Mutex::new(None),
    });
    let total = input.total;
    let (send, receive) = channel();
    let work = Work {
        args: args.clone(),
        asked,
        shared: Arc::clone(&shared),
    };
    let failed = |why: String| {
        Error::internal(
            "judging the history",
            why,
            "report this with the file: it is a bug",
        )
    };
    let thread = thread::Builder::new()
        .name("check".into())
        .stack_size(STACK)
        .spawn(move || {
            // Nobody listens any more where the main thread gave up.
            let _ = send.send(work.carry_out(input));
        })
        .map_err(|e| failed(e.to_string()))?;
    let mut teller = Teller::new(args.quiet || args.no_progress);
    loop {
        match receive.recv_timeout(LOOK) {
            Ok(judged) => {
                teller.end();
                return judged;
            }
            Err(RecvTimeoutError::Disconnected) => {
                teller.end();
                let _ = thread.join();
                return Err(failed("the checker panicked; what it said stands above".into()));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Some(reason) = over(&shared.budget, limits) {
            teller.end();
            return given_up(&shared, reason).unwrap_or_else(|| Err(too_early(&args.file)));
        }
        let progress = *shared.progress.lock().unwrap_or_else(PoisonError::into_inner);
        teller.tell(shared.read.load(Ordering::Relaxed), total, progress);
    }
}

/// Why the main thread gives up, where it must. Searches are told before, so that they can end by themselves and say
/// what they know.
fn over(budget: &Budget, limits: &Limits) -> Option<Reason> {
    if let Some(held) = limits::held_bytes() {
        if held >= limits.memory {
            let message = format!(
                "not decided within {} MiB of memory: the process held {} MiB, the history with it",
                limits.memory >> 20,
                held >> 20
            );
            return Some(Reason::new(BUDGET, message));
        }
        if held >= limits.warn_bytes() {
            budget.memory_is_spent();
        }
    }
    let late = limits.time.saturating_add(limits.grace());
    (budget.elapsed() >= late).then(|| {
        let message = format!("not decided within {:.1} s", limits.time.as_secs_f64());
        Reason::new(BUDGET, message)
    })
}

/// The answer of the main thread, where the other one does not come to an end in its limits.
fn given_up(shared: &Shared, reason: Reason) -> Option<Result<Judged, Error>> {
    let chosen = shared
        .chosen
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()?;
    Some(Ok(Judged {
        judgement: shared.counts.unknown(reason),
        chosen,
    }))
}

/// Nothing was read yet: there is no model, and no answer.
fn too_early(path: &Path) -> Error {
    malformed(
        path,
        &"its first entries were not there when the time or the memory was over",
        "give it more with --budget and --memory, or name --model",
    )
}

/// What the other thread does.
struct Work {
    args: CheckArgs,
    asked: Asked,
    shared: Arc<Shared>,
}

impl Work {
    fn carry_out(self, input: Input) -> Result<Judged, Error> {
        let guarded = Guarded {
            inner: input.bytes,
            shared: Arc::clone(&self.shared),
        };
        let format = (input.format, input.guessed);
        if input.format == Format::Ackall && self.asked.model.is_none() {
            return self.promise(format, guarded);
        }
        let mut reader = history::read_foreign(input.format, guarded);
        let first: Vec<Result<Op, ReadError>> = reader.by_ref().take(GUESS_OPS).collect();
        let (model, from) = self.model(input.format, &reader, &first)?;
        let chosen = Chosen::new(
            &self.args,
            &self.asked,
            format,
            (As::Model(model), from),
            reader.options(),
        )?;
        self.settle(&chosen);
        let counted = first.into_iter().chain(reader).inspect(|op| {
            if let Ok(op) = op {
                self.shared.counts.count(op);
            }
        });
        let judged = checker::judge(model, &chosen.options, &self.shared.budget, counted);
        self.answer(judged, chosen)
    }

    /// A run of this project's own.
    fn promise(self, format: (Format, bool), guarded: impl BufRead) -> Result<Judged, Error> {
        let chosen = Chosen::new(&self.args, &self.asked, format, (As::Promise, From::Default), &[])?;
        self.settle(&chosen);
        let judged = history::read(guarded).map(|history| {
            if let Some(dropped) = &history.dropped {
                eprintln!(
                    "the last line ({} bytes, line {}) is torn and was dropped",
                    dropped.bytes, dropped.line
                );
            }
            own::judgement(checker::check(&history))
        });
        self.answer(judged.map_err(JudgeError::from), chosen)
    }

    fn settle(&self, chosen: &Chosen) {
        *self.shared.chosen.lock().unwrap_or_else(PoisonError::into_inner) = Some(chosen.clone());
    }

    /// The model: as asked, else as the file says, else as its first entries look.
    fn model<R>(
        &self,
        format: Format,
        reader: &Reader<R>,
        first: &[Result<Op, ReadError>],
    ) -> Result<(ModelName, From), Error> {
        if let Some(model) = self.asked.model {
            return Ok((model, From::CommandLine));
        }
        let path = &self.args.file;
        if let Some(name) = reader.model() {
            let known = ModelName::find(name).map_err(|_| {
                let near = nearest(name, ModelName::ALL.map(ModelName::text)).join(", ");
                Error::usage(
                    format!("judging {}", path.display()),
                    format!("it names the model {name}, of which there is none; the nearest are {near}"),
                    "--model NAME beats the file",
                )
            })?;
            return Ok((known, From::File));
        }
        let known: Vec<Op> = first.iter().filter_map(|op| op.as_ref().ok().cloned()).collect();
        if let Some(model) = guess_model(format, &known) {
            return Ok((model, From::Guessed));
        }
        if let Some(Err(error)) = first.iter().find(|op| op.is_err()) {
            return Err(unreadable(path, format, error));
        }
        let names = ModelName::ALL.map(ModelName::text).join(", ");
        Err(Error::usage(
            format!("finding out the model of {}", path.display()),
            format!(
                "the names and values of its first {} entries do not tell",
                known.len()
            ),
            format!("--model with one of {names}"),
        ))
    }

    /// What comes of the checker's answer. A history that was not read to its end because a limit was reached is no
    /// malformed one.
    fn answer(self, judged: Result<Judgement, JudgeError>, chosen: Chosen) -> Result<Judged, Error> {
        let path: &PathBuf = &self.args.file;
        let judgement = match (judged, self.shared.budget.spent()) {
            (Ok(judgement), _) => judgement,
            (Err(JudgeError::Read(_)), Some(spent)) => {
                let message = format!("{spent}: the history was not read to its end");
                self.shared.counts.unknown(Reason::new(BUDGET, message))
            }
            (Err(JudgeError::Read(error)), None) => return Err(unreadable(path, chosen.format, &error)),
            (Err(error @ JudgeError::Entry { .. }), _) => {
                let next = format!(
                    "mend that entry, or name another --model than {}",
                    chosen.model_text()
                );
                return Err(malformed(path, &error, &next));
            }
        };
        Ok(Judged { judgement, chosen })
    }
}

fn unreadable(path: &Path, format: Format, error: &ReadError) -> Error {
    let next = match error {
        ReadError::Io(_) => "is it whole? a torn gzip file cannot be judged".to_string(),
        _ => format!("mend that line, or name another --format than {format}"),
    };
    malformed(path, error, &next)
}

/// A reader that ends where a limit is reached.
struct Guarded<R> {
    inner: R,
    shared: Arc<Shared>,
}

impl<R: BufRead> BufRead for Guarded<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match self.shared.budget.spent() {
            Some(spent) => Err(io::Error::other(spent.to_string())),
            None => self.inner.fill_buf(),
        }
    }

    fn consume(&mut self, bytes: usize) {
        self.shared.read.fetch_add(bytes as u64, Ordering::Relaxed);
        self.inner.consume(bytes);
    }
}

impl<R: BufRead> Read for Guarded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut there = self.fill_buf()?;
        let bytes = there.read(buffer)?;
        self.consume(bytes);
        Ok(bytes)
    }
}

/// Client operations that were read so far.
#[derive(Default)]
struct Counts {
    invoked: AtomicU64,
    ok: AtomicU64,
    fail: AtomicU64,
}

impl Counts {
    fn count(&self, op: &Op) {
        if !matches!(op.process, Process::Client(_) | Process::Unnamed) {
            return;
        }
        let counter = match op.kind {
            Kind::Invoke => &self.invoked,
            Kind::Ok => &self.ok,
            Kind::Fail => &self.fail,
            Kind::Info => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// An answer that knows nothing but what was read.
    fn unknown(&self, reason: Reason) -> Judgement {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (ok, fail) = (read(&self.ok), read(&self.fail));
        let operations = Operations {
            ok,
            fail,
            info: read(&self.invoked).saturating_sub(ok.saturating_add(fail)),
        };
        Judgement {
            verdict: Outcome::Unknown,
            reasons: vec![reason],
            anomalies: Vec::new(),
            models_ruled_out: Vec::new(),
            operations,
            operations_total: operations.total(),
        }
    }
}
