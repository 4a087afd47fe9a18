//! `report.html`: one file that explains a run to somebody who was not there. No network, no script, no font of its
//! own; light and dark; readable without colours, on paper, and by those who do not see it.
//!
//! It says what the checker found. It decides nothing, and it is no source for machines: those read `result.json`.

mod anomalies;
pub(crate) mod html;
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
    html.open(&format!(
        "{word}: {} (seed {})",
        result.meta.scenario, result.meta.seed
    ));
    html.raw(&format!(
        "<header class=\"{word}\">\n<p class=\"verdict\">{}</p>\n",
        word.to_uppercase()
    ));
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
    html.close();
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
        let caption = escape(&format!(
            "Partition {topic}-{partition}. Times are seconds on the run's clock."
        ));
        html.raw(&format!(
            "<figure>\n<div class=\"wide\">\n{svg}</div>\n<figcaption>{caption}</figcaption>\n</figure>\n"
        ));
    }
    let more = partitions.len().saturating_sub(TIMELINES_DRAWN);
    if more > 0 {
        html.paragraph(&format!(
            "{more} more partitions are not drawn; those with anomalies come first."
        ));
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
    use checker::Instance;

    /// Set to a folder to look at the reports that these tests write.
    const KEEP: &str = "ACKALL_KEEP_REPORTS";

    fn page_of(name: &str, history: &History, verdict: &Verdict) -> String {
        let page = page(history, verdict, &result(history, verdict, &night::meta())).unwrap();
        if let Ok(folder) = std::env::var(KEEP) {
            store::write_whole(&std::path::Path::new(&folder).join(name), page.as_bytes()).unwrap();
        }
        page
    }

    fn says(page: &str, words: &str) {
        assert!(page.contains(words), "{words:?} is not in the page");
    }

    #[test]
    fn a_loss_is_explained() {
        let history = night::night(false);
        let page = page_of("fail.html", &history, &night::judged(&history, false));
        for words in [
            "<title>fail: last-replica-standing (seed 7)</title>",
            "<h1>351 acknowledged records lost, inside the promise.</h1>",
            "acknowledged 2,750 records with acks=all and min.insync.replicas=2",
            "in T0, cut-network on broker 1; in T1, cut-network on broker 0; in T2, power-cut on broker 2 (lost 451,072",
            "The first was missed at 13.600 s, in step T4: the last replica has power again.",
            "<svg class=\"timeline\"",
            "<th scope=\"row\">T2</th>",
            "acked-then-lost: 351 instances, inside the promise",
            "All 351; also in anomalies.jsonl.",
            "Each of these follows from acked-then-lost.",
            "ackall run last-replica-standing --feature eligible.leader.replicas.version=0 --seed 7",
            "at least 1,000 acknowledgements before step T0",
        ] {
            says(&page, words);
        }
    }

    #[test]
    fn a_pass_has_nothing_to_show_and_says_so() {
        let history = night::night(true);
        let page = page_of("pass.html", &history, &night::judged(&history, true));
        says(&page, "<h1>The promise held. Nothing acknowledged was lost.</h1>");
        says(&page, "None was found.");
        says(&page, "All of them were met.");
    }

    #[test]
    fn an_unknown_says_why() {
        let history = night::night(true);
        let lacks = [
            ("step-not-reached", "step T3 was not reached"),
            ("too-few-acks", "3 records were acknowledged"),
        ];
        let page = page_of(
            "unknown.html",
            &history,
            &night::verdict(Outcome::Unknown, Vec::new(), &lacks),
        );
        says(&page, "<h1>This run says nothing.</h1>");
        says(
            &page,
            "because: step T3 was not reached; 3 records were acknowledged.",
        );
        says(&page, "see the reasons");
    }

    #[test]
    fn a_history_without_an_entry_has_a_report() {
        let page = page_of(
            "empty.html",
            &night::empty(),
            &night::verdict(Outcome::Unknown, Vec::new(), &[]),
        );
        for words in [
            "there is nothing to draw",
            "The history has no step.",
            "Nothing was broken.",
            "None was found.",
        ] {
            says(&page, words);
        }
    }

    #[test]
    fn of_five_thousand_records_a_thousand_are_told() {
        let history = night::night(false);
        let mut many = night::lost_records(&history);
        let record = many[0].clone();
        many.extend((0..5_000 - many.len() as i64).map(|i| Instance {
            offset: Some(10_000 + i),
            ..record.clone()
        }));
        let verdict = night::verdict(
            Outcome::Fail,
            vec![night::anomaly("acked-then-lost", true, many)],
            &[],
        );
        let page = page_of("many.html", &history, &verdict);
        says(&page, "The first 1,000 of 5,000; all are in anomalies.jsonl.");
        says(&page, "tabindex=\"0\"");
        let rows = page.matches("<th scope=\"row\">night-0</th>").count();
        // One more is the ledger's.
        assert_eq!(rows, RECORDS_TOLD + 1);
    }

    #[test]
    fn a_loss_outside_the_promise_is_no_failure() {
        let history = night::night(false);
        let lost = night::anomaly("acked-then-lost", false, night::lost_records(&history));
        let mut verdict = night::verdict(Outcome::Pass, vec![lost], &[]);
        verdict.promise.spent_by = vec!["power-cut of 2".into(), "crash of 0".into()];
        verdict.promise.partitions[0].bad.push(checker::BadInterval {
            from: 7_600_000_000,
            to: None,
            why: "2 unclean stops, as many as min.insync.replicas".into(),
        });
        let page = page_of("outside.html", &history, &verdict);
        says(
            &page,
            "<h1>The promise held. 351 acknowledged records lost, outside of it.</h1>",
        );
        says(&page, "The promise was spent by: power-cut of 2; crash of 0.");
        says(&page, "Nobody promised to prevent these");
        says(&page, "nothing promised");
    }

    #[test]
    fn only_losses_inside_the_promise_are_counted_as_such() {
        let history = night::night(false);
        let mut inside = night::lost_records(&history);
        let outside = inside.split_off(51);
        let found = vec![
            night::anomaly("acked-then-lost", true, inside),
            night::anomaly("acked-then-lost", false, outside),
        ];
        let page = page_of("both.html", &history, &night::verdict(Outcome::Fail, found, &[]));
        says(
            &page,
            "<h1>51 acknowledged records lost, inside the promise.</h1>",
        );
        says(&page, "Of what was acknowledged, 351 records are gone at the end");
    }

    /// Whatever a run says: it stays words, and nothing is loaded from anywhere.
    #[test]
    fn nothing_from_a_run_becomes_markup() {
        const NASTY: &str = "<img src=http://x/y onerror=alert(1)>&\"'\u{0}\u{1b}[31m";
        let mut history = night::night(false);
        history
            .header
            .requirements
            .push(history::Requirement::FaultApplied {
                fault: NASTY.into(),
                at_least: 1,
            });
        for entry in &mut history.entries {
            match &mut entry.body {
                Body::Step(step) => step.text = format!("{NASTY} {}", "very long words ".repeat(40)),
                Body::Fault(fault) => {
                    fault.name = format!("{}-{NASTY}", fault.name);
                    fault.asked = NASTY.into();
                    fault.measured.insert(NASTY.into(), 1.0);
                }
                _ => {}
            }
        }
        let record = Instance {
            topic: Some(NASTY.into()),
            text: NASTY.into(),
            ..Instance::default()
        };
        let found = vec![
            night::anomaly(NASTY, true, vec![record.clone()]),
            night::anomaly(NASTY, false, vec![record]),
        ];
        let mut verdict = night::verdict(Outcome::Fail, found, &[(NASTY, NASTY)]);
        verdict.promise.name = NASTY.into();
        verdict.promise.spent_by = vec![NASTY.into()];
        let mut result = result(&history, &verdict, &night::meta());
        for field in [
            &mut result.meta.scenario,
            &mut result.meta.command,
            &mut result.meta.path,
            &mut result.meta.run,
            &mut result.meta.system,
        ] {
            *field = NASTY.into();
        }
        let page = page(&history, &verdict, &result).unwrap();
        assert!(!page.contains("<img") && !page.contains('\u{0}') && !page.contains('\u{1b}'));
        for loads in [
            "<script",
            "<link",
            "<iframe",
            "@import",
            "url(",
            " src=\"",
            " href=\"h",
        ] {
            assert!(!page.contains(loads), "{loads}");
        }
        page_of("nasty.html", &history, &verdict);
    }

    /// Many replicas with long numbers, and steps and faults that last no time: all the words are still there.
    #[test]
    fn a_crowded_night_is_told_whole() {
        let mut history = night::night(true);
        let mut at = 8_000_000_000;
        for entry in &mut history.entries {
            match &mut entry.body {
                Body::Partition(state) => {
                    state.replicas = (0..12)
                        .map(|n| if n < 3 { n } else { 2_000_000_000 + n })
                        .collect();
                    state.isr.extend(2_000_000_003..2_000_000_008);
                }
                Body::Step(_) | Body::Fault(_) => {
                    entry.time = at;
                    at += 30_000_000;
                }
                _ => {}
            }
        }
        history.entries.sort_by_key(|entry| entry.time);
        let page = page_of("crowded.html", &history, &night::judged(&history, true));
        says(
            &page,
            "leader 2 (epoch 1), ISR [2,2000000003,2000000004,2000000005,2000000006,2000000007], ELR [0]",
        );
        for step in ["T0", "T1", "T2", "T3", "T4"] {
            says(&page, &format!(">\n{step}\n</text>"));
        }
    }

    #[test]
    fn accused_partitions_are_drawn_first_and_only_so_many() {
        let mut history = night::night(false);
        let states: Vec<history::Entry> = history
            .entries
            .iter()
            .filter(|entry| matches!(entry.body, Body::Partition(_)))
            .cloned()
            .collect();
        for partition in 1..40 {
            history.entries.extend(states.iter().cloned().map(|mut entry| {
                if let Body::Partition(state) = &mut entry.body {
                    state.key.partition = partition;
                }
                entry
            }));
        }
        let record = Instance {
            topic: Some(night::TOPIC.into()),
            partition: Some(33),
            ..Instance::default()
        };
        let verdict = night::verdict(
            Outcome::Fail,
            vec![night::anomaly("duplicate", true, vec![record])],
            &[],
        );
        assert_eq!(
            partitions(&history, &verdict)[..2],
            [("night".to_string(), 33), ("night".to_string(), 0)]
        );
        let page = page_of("partitions.html", &history, &verdict);
        assert_eq!(page.matches("<svg ").count(), TIMELINES_DRAWN);
        says(&page, "24 more partitions are not drawn");
    }
}
