//! The page on a judgement: one file, no network, no script, the look of a run's report.

use super::{CheckResult, Question, lattice, story};
use crate::page::html::Html;
use crate::text::{escape, grouped};
use checker::{Example, Finding, Outcome};

/// The sections' headings.
const FOUND: &str = "What was found";
const MODELS: &str = "Models ruled out";
const HOW: &str = "How it was judged";
const AGAIN: &str = "See it again";

impl CheckResult {
    /// The page.
    pub fn page(&self) -> String {
        let mut html = Html::default();
        let word = self.judgement.verdict.text();
        html.open(&format!("{word}: {}", self.how.file));
        html.raw(&format!(
            "<header class=\"{word}\">\n<p class=\"verdict\">{}</p>\n<h1>{}</h1>\n",
            word.to_uppercase(),
            escape(&sentence(&story::verdict(self)))
        ));
        lead(&mut html, self);
        html.raw("</header>\n");
        let isolation = self.how.question == Question::Isolation;
        if isolation {
            html.contents(&[FOUND, MODELS, HOW, AGAIN]);
        } else {
            html.contents(&[FOUND, HOW, AGAIN]);
        }
        findings(&mut html, self);
        if isolation {
            models(&mut html, self);
        }
        how(&mut html, self);
        again(&mut html, self);
        html.close();
        html.text()
    }
}

/// A sentence with its first letter and its full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let capital = letters.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(letters).collect()
    });
    format!("{}.", capital.trim_end_matches('.'))
}

fn lead(html: &mut Html, result: &CheckResult) {
    html.paragraph(&sentence(&story::judged(result)));
    let reasons = &result.judgement.reasons;
    if result.judgement.verdict == Outcome::Unknown && reasons.len() > 1 {
        for reason in reasons {
            html.paragraph(&sentence(&reason.message));
        }
    }
    let hard = |finding: &&Finding| finding.tolerated.is_none() && finding.follows.is_none();
    let names: Vec<String> = result
        .judgement
        .anomalies
        .iter()
        .filter(hard)
        .map(|finding| format!("{} ({})", finding.name, grouped(finding.count)))
        .collect();
    if !names.is_empty() {
        html.paragraph(&format!("Found: {}.", names.join(", ")));
    }
}

fn findings(html: &mut Html, result: &CheckResult) {
    html.heading(FOUND);
    if result.judgement.anomalies.is_empty() {
        html.paragraph("Nothing.");
    }
    for finding in &result.judgement.anomalies {
        html.subheading(&story::title(finding));
        let told = finding.examples.len() as u64;
        if told < finding.count {
            html.paragraph(&format!(
                "{} of {} are told here.",
                grouped(told),
                grouped(finding.count)
            ));
        }
        for found in &finding.examples {
            example(html, found);
        }
    }
}

fn example(html: &mut Html, example: &Example) {
    html.raw("<figure class=\"example\">\n");
    if let Some(picture) = &example.picture {
        // The checker's own markup, in which it escapes what comes from the history; the page's policy loads nothing
        // and runs nothing.
        html.raw(&format!(
            "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"picture\">\n{picture}\n</div>\n"
        ));
    }
    html.raw("<figcaption>\n");
    if !example.text.is_empty() {
        html.command(&example.text);
    }
    if !example.operations.is_empty() {
        html.paragraph(&format!(
            "Entries of the history: {}.",
            story::entries(&example.operations)
        ));
    }
    html.raw("</figcaption>\n</figure>\n");
}

fn models(html: &mut Html, result: &CheckResult) {
    html.heading(MODELS);
    html.paragraph(
        "A line leads from a stronger model down to a weaker one: a history that breaks the weaker breaks the stronger. \
         A cross marks what is ruled out, a thick frame what was asked for. The others are not proved: nothing in this \
         history speaks against them.",
    );
    html.raw(&format!(
        "<figure>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"consistency models\">\n{}</div>\n</figure>\n",
        lattice::svg(result)
    ));
}

fn how(html: &mut Html, result: &CheckResult) {
    html.heading(HOW);
    let row = |name: &str, value: String, from: &str| [name.to_string(), value, from.to_string()];
    let mut rows = vec![row("file", result.how.file.clone(), "")];
    for choice in &result.how.choices {
        rows.push(row(choice.name, choice.value.clone(), choice.from.text()));
    }
    rows.push(row("operations", story::operations(result), "counted"));
    rows.push(row("took", format!("{:.2} s", result.how.duration_s), "measured"));
    if let Some(bytes) = result.how.peak_memory_bytes {
        let memory = format!("{} MiB", grouped(bytes.div_ceil(1 << 20)));
        rows.push(row("memory at most", memory, "measured"));
    }
    rows.push(row("ackall", result.how.ackall_version.clone(), ""));
    html.table(
        "What was chosen, and by whom.",
        ["what", "value", "chosen by"],
        rows,
    );
    if !result.judgement.reasons.is_empty() {
        let rows = result
            .judgement
            .reasons
            .iter()
            .map(|reason| [reason.code.clone(), reason.message.clone()]);
        html.table("Why the verdict is what it is.", ["code", "reason"], rows);
    }
}

fn again(html: &mut Html, result: &CheckResult) {
    html.heading(AGAIN);
    html.command(&result.how.command);
    if let Some(first) = result.judgement.anomalies.first() {
        html.paragraph("What the name means:");
        html.command(&format!("ackall explain {}", first.name));
    }
}
