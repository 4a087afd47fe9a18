//! `report.html`: one file that explains a run to somebody who was not there. No network, no script, no font of its
//! own; light and dark; readable without colours, on paper, and by those who do not see it.
//!
//! It says what the checker found. It decides nothing, and it is no source for machines: those read `result.json`.

mod anomalies;
mod html;
mod lead;
mod run;
mod tables;

pub use anomalies::RECORDS_TOLD;

use crate::result::RunResult;
use crate::text::escape;
use crate::timeline;
use checker::{Outcome, Verdict};
use history::{Body, History};
use html::Html;
use std::collections::BTreeSet;
use std::io;

/// The page's style.
const STYLE: &str = include_str!("style.css");
/// Nothing is loaded from anywhere, whatever the page may come to hold.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";
/// The sections' headings, in order.
const SECTIONS: [&str; 8] = [
    "Timeline",
    "See it again",
    "Steps",
    "Faults",
    "Anomalies",
    "Promise",
    "Requirements and reasons",
    "Run and environment",
];
/// Timelines drawn; a topic of hundreds of partitions would fill a book.
const TIMELINES_DRAWN: usize = 16;

/// The page.
///
/// # Errors
/// Where a timeline cannot be drawn.
pub(crate) fn page(history: &History, verdict: &Verdict, result: &RunResult) -> io::Result<String> {
    let mut html = Html::default();
    let word = result.verdict.text();
    let title = escape(&format!("{word}: {} (seed {})", result.scenario, result.seed));
    html.raw(&format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n"
    ));
    html.raw(&format!("<header class=\"{word}\">\n<p class=\"verdict\">{}</p>\n", word.to_uppercase()));
    lead::lead(&mut html, history, verdict, result);
    html.raw("</header>\n");
    html.contents(&SECTIONS);
    timelines(&mut html, history, verdict)?;
    run::again(&mut html, result);
    tables::steps(&mut html, history);
    tables::faults(&mut html, result);
    anomalies::anomalies(&mut html, verdict);
    tables::promise(&mut html, verdict);
    tables::demands(&mut html, history, result);
    run::environment(&mut html, history, result);
    html.raw("</main>\n</body>\n</html>\n");
    Ok(html.text())
}

/// The partitions that have a timeline: those with anomalies first.
fn partitions(history: &History, verdict: &Verdict) -> Vec<(String, i32)> {
    let judged = |topic: &str| history.header.topics.iter().any(|plan| plan.name == topic);
    let known: BTreeSet<(String, i32)> = history
        .entries
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::Partition(state) if judged(&state.key.topic) => {
                Some((state.key.topic.to_string(), state.key.partition))
            }
            _ => None,
        })
        .collect();
    let accused: BTreeSet<(&str, i32)> = verdict
        .anomalies
        .iter()
        .flat_map(|anomaly| &anomaly.instances)
        .filter_map(|instance| Some((instance.topic.as_deref()?, instance.partition?)))
        .collect();
    let mut known: Vec<_> = known.into_iter().collect();
    known.sort_by_key(|(topic, partition)| !accused.contains(&(topic.as_str(), *partition)));
    known
}

fn timelines(html: &mut Html, history: &History, verdict: &Verdict) -> io::Result<()> {
    html.heading("Timeline");
    let partitions = partitions(history, verdict);
    if partitions.is_empty() {
        html.paragraph("The history has no metadata of any partition: there is nothing to draw.");
    }
    for (topic, partition) in partitions.iter().take(TIMELINES_DRAWN) {
        let svg = timeline::svg(history, verdict, topic, *partition).map_err(io::Error::other)?;
        let caption = escape(&format!("Partition {topic}-{partition}. Times are seconds on the run's clock."));
        html.raw(&format!("<figure>\n<div class=\"wide\">\n{svg}</div>\n<figcaption>{caption}</figcaption>\n</figure>\n"));
    }
    let more = partitions.len().saturating_sub(TIMELINES_DRAWN);
    if more > 0 {
        html.paragraph(&format!("{more} more partitions are not drawn; those with anomalies come first."));
    }
    Ok(())
}

/// Which of a page's few words of praise and blame belongs to a verdict.
fn said(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "The promise held.",
        Outcome::Fail => "A promise was broken.",
        Outcome::Unknown => "This run says nothing.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{night, result, store};

    /// Set to a folder to look at the reports that these tests write.
    const KEEP: &str = "ACKALL_KEEP_REPORTS";

    fn page_of(name: &str, history: &History, verdict: &Verdict) -> String {
        let page = page(history, verdict, &result(history, verdict, &night::meta())).unwrap();
        if let Ok(folder) = std::env::var(KEEP) {
            store::write_whole(&std::path::Path::new(&folder).join(name), page.as_bytes()).unwrap();
        }
        page
    }

    #[test]
    fn the_reports_of_both_nights() {
        for with_elr in [false, true] {
            let history = night::night(with_elr);
            let verdict = night::judged(&history, with_elr);
            page_of(&format!("night-elr-{with_elr}.html"), &history, &verdict);
        }
    }
}
