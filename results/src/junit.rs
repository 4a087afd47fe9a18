//! `junit.xml`: the verdict as a test suite, for build servers.
//!
//! One test is the promise: failed where it was broken, skipped where nothing can be said. Each anomaly found is a
//! test more, on its side of the promise: failed inside, skipped outside, for that is no failure.

use crate::result::{AnomalyResult, RunResult};
use crate::story;
use crate::text::{counted, escape, grouped};
use checker::Outcome;
use std::fmt::Write;

/// How a test ended.
enum Ended {
    Well,
    Failed { message: String, text: String },
    Skipped { message: String },
}

/// The document.
pub(crate) fn suite(result: &RunResult) -> String {
    let tests: Vec<(String, Ended)> = std::iter::once((promise_name(result), promise(result)))
        .chain(
            result
                .anomalies
                .iter()
                .map(|found| (anomaly_name(found), anomaly(found))),
        )
        .collect();
    let count = |of: fn(&Ended) -> bool| tests.iter().filter(|(_, ended)| of(ended)).count();
    let failures = count(|ended| matches!(ended, Ended::Failed { .. }));
    let skipped = count(|ended| matches!(ended, Ended::Skipped { .. }));
    let class = escape(&format!("ackall.{}", result.meta.scenario));
    let seconds = result.meta.duration_s;
    let totals = format!(
        r#"tests="{}" failures="{failures}" errors="0" skipped="{skipped}""#,
        tests.len()
    );
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Writing into a string cannot fail.
    let _ = writeln!(xml, r#"<testsuites name="ackall" {totals} time="{seconds:.3}">"#);
    let _ = writeln!(
        xml,
        r#"  <testsuite name="{class}" {totals} time="{seconds:.3}" timestamp="{}">"#,
        escape(&result.meta.started_at)
    );
    properties(&mut xml, result);
    for (i, (name, ended)) in tests.iter().enumerate() {
        // The run is one; its time is the promise's.
        let time = if i == 0 { seconds } else { 0.0 };
        let _ = write!(
            xml,
            r#"    <testcase classname="{class}" name="{}" time="{time:.3}""#,
            escape(name)
        );
        xml.push_str(&match ended {
            Ended::Well => "/>\n".to_string(),
            Ended::Failed { message, text } => format!(
                ">\n      <failure message=\"{}\">{}</failure>\n    </testcase>\n",
                escape(message),
                escape(text)
            ),
            Ended::Skipped { message } => {
                format!(
                    ">\n      <skipped message=\"{}\"/>\n    </testcase>\n",
                    escape(message)
                )
            }
        });
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

fn properties(xml: &mut String, result: &RunResult) {
    xml.push_str("    <properties>\n");
    let seed = result.meta.seed.to_string();
    let again = story::again(result);
    for (name, value) in [
        ("verdict", result.verdict.text()),
        ("run", &result.meta.run),
        ("seed", &seed),
        ("system", &result.meta.system),
        ("version", &result.meta.version),
        ("again", &again),
    ] {
        let _ = writeln!(
            xml,
            r#"      <property name="{name}" value="{}"/>"#,
            escape(value)
        );
    }
    xml.push_str("    </properties>\n");
}

fn promise_name(result: &RunResult) -> String {
    format!("promise {}", story::promise_name(result))
}

fn promise(result: &RunResult) -> Ended {
    match result.verdict {
        Outcome::Pass => Ended::Well,
        Outcome::Unknown => Ended::Skipped {
            message: format!("unknown: {}", story::verdict(result)),
        },
        Outcome::Fail => Ended::Failed {
            message: story::verdict(result),
            text: result
                .reasons
                .iter()
                .map(|reason| format!("{}: {}\n", reason.code, reason.message))
                .collect(),
        },
    }
}

fn anomaly_name(anomaly: &AnomalyResult) -> String {
    format!("{} {}", anomaly.name, story::side(anomaly.inside_promise))
}

fn anomaly(anomaly: &AnomalyResult) -> Ended {
    let count = counted(anomaly.count, "instance");
    if !anomaly.inside_promise {
        return Ended::Skipped {
            message: format!("{count}, outside the promise: no failure"),
        };
    }
    let mut text: String = anomaly
        .examples
        .iter()
        .map(|example| format!("{}\n", example.text))
        .collect();
    let more = anomaly.count.saturating_sub(anomaly.examples.len() as u64);
    if more > 0 {
        let _ = writeln!(text, "and {} more in anomalies.jsonl", grouped(more));
    }
    Ended::Failed {
        message: format!("{}: {count} inside the promise", anomaly.name),
        text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::night::{anomaly as found, judged, lost_records, meta, night, verdict};
    use crate::result;
    use checker::Instance;

    #[test]
    fn a_loss_is_a_failure_with_its_first_records() {
        let history = night(false);
        let xml = suite(&result(&history, &judged(&history, false), &meta()));
        assert!(
            xml.contains(r#"tests="3" failures="3" errors="0" skipped="0" time="17.310""#),
            "{xml}"
        );
        assert!(xml.contains(r#"name="promise kip-966" time="17.310">"#), "{xml}");
        assert!(
            xml.contains(r#"name="acked-then-lost inside the promise" time="0.000">"#),
            "{xml}"
        );
        assert!(xml.contains("and 341 more in anomalies.jsonl"), "{xml}");
        assert_eq!(xml.matches("<failure ").count(), 3);
    }

    #[test]
    fn what_nobody_promised_and_what_cannot_be_said_are_skipped() {
        let history = night(true);
        let outside = || vec![found("acked-then-lost", false, lost_records(&night(false)))];
        let xml = suite(&result(
            &history,
            &verdict(Outcome::Pass, outside(), &[]),
            &meta(),
        ));
        assert!(
            xml.contains(r#"tests="2" failures="0" errors="0" skipped="1""#),
            "{xml}"
        );
        assert!(
            xml.contains("351 instances, outside the promise: no failure"),
            "{xml}"
        );
        let xml = suite(&result(
            &history,
            &verdict(Outcome::Unknown, outside(), &[("no-acks", "none")]),
            &meta(),
        ));
        assert!(
            xml.contains(r#"skipped="2""#) && xml.contains(r#"<skipped message="unknown: none"/>"#),
            "{xml}"
        );
        let xml = suite(&result(
            &history,
            &verdict(Outcome::Pass, Vec::new(), &[]),
            &meta(),
        ));
        assert!(
            xml.contains(r#"tests="1" failures="0" errors="0" skipped="0""#),
            "{xml}"
        );
    }

    #[test]
    fn whatever_a_run_says_stays_xml() {
        let history = night(true);
        let nasty = Instance {
            text: "]]> <failure> & \"q\" \u{0}\u{8}".into(),
            ..Instance::default()
        };
        let verdict = verdict(Outcome::Fail, vec![found("a<b>\"&'", true, vec![nasty])], &[]);
        let meta = crate::RunMeta {
            scenario: "x\" y=\"<".into(),
            ..meta()
        };
        let xml = suite(&result(&history, &verdict, &meta));
        assert!(
            xml.contains("]]&gt; &lt;failure&gt; &amp; &quot;q&quot; \u{fffd}\u{fffd}"),
            "{xml}"
        );
        assert!(
            xml.contains(r#"classname="ackall.x&quot; y=&quot;&lt;""#),
            "{xml}"
        );
        // Each bracket that is left is a tag's, each quote an attribute's.
        assert_eq!(xml.matches('<').count(), xml.matches('>').count());
        assert_eq!(xml.matches('"').count() % 2, 0);
    }
}
