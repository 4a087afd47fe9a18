//! Reading histories that something else recorded, as streams: what is held does not grow with a file's length.
//!
//! | format | entries' values |
//! | --- | --- |
//! | jepsen-edn, jepsen-json, case-json | as they stand in the file; JSON's map keys are texts |
//! | porcupine-etcd-log | the payload: nil, a number, `[old new]`, `:timed-out` |
//! | porcupine-kv-edn | `[key value]` |
//! | plume-text, awdit-test-text, dbcop-bincode | lists of `[w key value]` and `[r key value]`; the initial value, 0 there, is nil, in reads and in writes |
//! | ackall | `[[send key value]]`, answered by `[[send key [offset value]]]`; `[[poll]]`, answered by `[[poll {key [[offset value] …]}]]` |
//!
//! A failed compare-and-set is an entry like any other here: what it says is the checker's to choose.

mod duplicates;
mod edn;
mod etcd_log;
mod format;
mod json;
mod names;
mod own;
mod raw;
mod sessions;
mod window;

pub use format::{Format, GUESS_BYTES};

use crate::{Op, ReadError, Value};
use edn::Edn;
use etcd_log::EtcdLog;
use json::Json;
use own::Own;
use raw::Raw;
use sessions::{Awdit, Dbcop, Plume, Sessions};
use std::io::BufRead;

/// Reads a history in a format, as a stream.
///
/// ```
/// let file = "{:process 0, :type :invoke, :f :write, :value 3}\n{:process 0, :type :ok, :f :write, :value 3}\n";
/// let reader = history::read_foreign(history::Format::JepsenEdn, file.as_bytes());
/// let operations: Vec<_> = history::pairs(reader).collect::<Result<_, _>>()?;
/// assert_eq!(operations.len(), 1);
/// assert_eq!(operations[0].value(), &history::Value::Int(3));
/// # Ok::<(), history::ReadError>(())
/// ```
pub fn read_foreign<R: BufRead>(format: Format, reader: R) -> Reader<R> {
    let mut source = match format {
        Format::JepsenEdn | Format::PorcupineKvEdn => Source::Edn(Box::new(Edn::new(reader, format))),
        Format::JepsenJson | Format::CaseJson => Source::Json(Box::new(Json::new(reader, format))),
        Format::PorcupineEtcdLog => Source::EtcdLog(Box::new(EtcdLog::new(reader))),
        Format::PlumeText => Source::Plume(Box::new(Sessions::new(Plume::new(reader)))),
        Format::AwditTestText => Source::Awdit(Box::new(Sessions::new(Awdit::new(reader)))),
        Format::DbcopBincode => Source::Dbcop(Box::new(Sessions::new(Dbcop::new(reader)))),
        Format::Ackall => Source::Own(Box::new(Own::new(reader))),
    };
    let begun = source.begin();
    Reader {
        source,
        place: 0,
        state: begun.map_or_else(State::Failed, |()| State::Reading),
    }
}

/// A history that is being read: an iterator of its entries, in order. It ends after its first error.
#[derive(Debug)]
pub struct Reader<R> {
    source: Source<R>,
    /// How many entries were given.
    place: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    Reading,
    /// The beginning could not be read: that is the first item.
    Failed(ReadError),
    Ended,
}

#[derive(Debug)]
enum Source<R> {
    Edn(Box<Edn<R>>),
    Json(Box<Json<R>>),
    EtcdLog(Box<EtcdLog<R>>),
    Plume(Box<Sessions<Plume<R>>>),
    Awdit(Box<Sessions<Awdit<R>>>),
    Dbcop(Box<Sessions<Dbcop<R>>>),
    Own(Box<Own<R>>),
}

impl<R: BufRead> Source<R> {
    fn begin(&mut self) -> Result<(), ReadError> {
        match self {
            Source::Edn(source) => source.begin(),
            Source::Json(source) => source.begin(),
            Source::EtcdLog(source) => source.begin(),
            Source::Plume(source) => source.begin(),
            Source::Awdit(source) => source.begin(),
            Source::Dbcop(source) => source.begin(),
            Source::Own(source) => source.begin(),
        }
    }

    fn next(&mut self) -> Result<Option<Raw>, ReadError> {
        match self {
            Source::Edn(source) => source.next(),
            Source::Json(source) => source.next(),
            Source::EtcdLog(source) => source.next(),
            Source::Plume(source) => source.next(),
            Source::Awdit(source) => source.next(),
            Source::Dbcop(source) => source.next(),
            Source::Own(source) => source.next(),
        }
    }
}

impl<R> Reader<R> {
    /// The model that the history itself names, where it does (case-json): known before the first entry is read.
    pub fn model(&self) -> Option<&str> {
        match &self.source {
            Source::Json(json) => json.model.as_deref(),
            _ => None,
        }
    }

    /// The options that the history itself gives, in its order (case-json): known before the first entry is read.
    pub fn options(&self) -> &[(String, Value)] {
        match &self.source {
            Source::Json(json) => &json.options,
            _ => &[],
        }
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Op, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Ended => None,
            State::Failed(error) => Some(Err(error)),
            State::Reading => match self.source.next() {
                Ok(Some(raw)) => {
                    let place = self.place;
                    self.place += 1;
                    self.state = State::Reading;
                    Some(Ok(raw.into_op(place)))
                }
                Ok(None) => None,
                Err(error) => Some(Err(error)),
            },
        }
    }
}
