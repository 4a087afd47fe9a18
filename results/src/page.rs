//! The report.
use crate::result::RunResult;
use checker::Verdict;
use history::History;
use std::io;

/// How many records of one anomaly the report tells.
pub const RECORDS_TOLD: usize = 1000;

/// The page.
pub(crate) fn page(history: &History, _verdict: &Verdict, result: &RunResult) -> io::Result<String> {
    let mut html = format!("<!doctype html><html><body><p>{}</p>", crate::text::escape(&crate::story::verdict(result)));
    for topic in &history.header.topics {
        html.push_str(&crate::timeline::svg(history, &topic.name, 0).map_err(io::Error::other)?);
    }
    Ok(html)
}
