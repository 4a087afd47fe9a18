//! Reading histories that something else recorded, as streams.

mod format;

pub use format::{Format, GUESS_BYTES};

use crate::{Op, ReadError, Value};
use std::io::BufRead;

/// Reads a history in a format, as a stream: what is held does not grow with its length.
pub fn read_foreign<R: BufRead>(format: Format, reader: R) -> Reader<R> {
    let _ = reader;
    Reader {
        model: None,
        options: Vec::new(),
        failed: Some(ReadError::Foreign {
            format,
            line: 1,
            why: "this format is not read yet".into(),
        }),
        rest: std::marker::PhantomData,
    }
}

/// A history that is being read: an iterator of its entries, in order. It ends after its first error.
#[derive(Debug)]
pub struct Reader<R> {
    model: Option<String>,
    options: Vec<(String, Value)>,
    failed: Option<ReadError>,
    rest: std::marker::PhantomData<R>,
}

impl<R> Reader<R> {
    /// The model that the history itself names, where it does (case-json).
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The options that the history itself gives, in its order (case-json).
    pub fn options(&self) -> &[(String, Value)] {
        &self.options
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Op, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.failed.take().map(Err)
    }
}
