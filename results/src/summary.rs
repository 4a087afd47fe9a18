//! A result in five lines, for the end of a run on a terminal.

use crate::result::RunResult;
use crate::story;
use crate::text::clean;
use checker::Outcome;

/// Bold, in colours that everyone can tell apart (from Okabe and Ito's palette); the word itself says it too.
fn colour(verdict: Outcome) -> &'static str {
    match verdict {
        Outcome::Pass => "\u{1b}[1;38;5;39m",
        Outcome::Fail => "\u{1b}[1;38;5;202m",
        Outcome::Unknown => "\u{1b}[1;38;5;176m",
    }
}
const PLAIN: &str = "\u{1b}[0m";

/// The five lines: verdict, what was lost, the report, how to see it again, how to look closer.
pub fn lines(result: &RunResult, colored: bool) -> Vec<String> {
    vec![
        format!(
            "{}: {}",
            word(result.verdict, colored),
            one_line(&story::verdict(result))
        ),
        format!("lost:    {}", one_line(&story::losses(result))),
        format!("report:  {}", one_line(&story::report_path(result))),
        format!("again:   {}", one_line(&story::again(result))),
        format!("closer:  {}", one_line(&story::closer(result))),
    ]
}

/// The verdict's word, as a line begins with it.
pub(crate) fn word(verdict: Outcome, colored: bool) -> String {
    let word = verdict.text().to_uppercase();
    if colored {
        format!("{}{word}{PLAIN}", colour(verdict))
    } else {
        word
    }
}

/// A line is a line, and no message of a run colours the terminal.
pub(crate) fn one_line(text: &str) -> String {
    clean(text)
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::night::{anomaly, judged, meta, night, verdict};
    use crate::result;
    use checker::{Instance, Verdict};

    fn told(verdict: &Verdict) -> Vec<String> {
        lines(&result(&night(false), verdict, &meta()), false)
    }

    #[test]
    fn a_loss_is_told_in_five_lines() {
        let history = night(false);
        let lines = told(&judged(&history, false));
        assert_eq!(
            lines,
            [
                "FAIL: a promise was broken: kip-966 (acked-then-lost, offset-reassigned)",
                "lost:    351 acknowledged records lost: acked-then-lost 351 (inside the promise); \
                 also found: offset-reassigned 300 (inside the promise)",
                "report:  /home/someone/runs/last-replica-standing/20261130T055511Z-7/report.html",
                "again:   ackall run last-replica-standing --feature eligible.leader.replicas.version=0 --seed 7",
                "closer:  ackall analyze /home/someone/runs/last-replica-standing/20261130T055511Z-7",
            ]
        );
    }

    #[test]
    fn a_pass_and_an_unknown_say_what_they_mean() {
        let pass = told(&verdict(Outcome::Pass, Vec::new(), &[]));
        assert_eq!(
            pass[..2],
            [
                "PASS: every promise held: kip-966",
                "lost:    nothing acknowledged was lost"
            ]
        );
        let lacks = [
            ("no-acks", "nothing was acknowledged"),
            ("step-not-reached", "step T3 was not reached"),
        ];
        let unknown = told(&verdict(Outcome::Unknown, Vec::new(), &lacks));
        assert_eq!(unknown.len(), 5);
        assert_eq!(
            unknown[0],
            "UNKNOWN: nothing was acknowledged (and 1 more reason)"
        );
        assert_eq!(unknown[1], "lost:    no acknowledged record is known to be lost");
        let silent = told(&verdict(Outcome::Unknown, Vec::new(), &[]));
        assert_eq!(silent[0], "UNKNOWN: the history does not show enough to judge");
    }

    #[test]
    fn a_loss_outside_the_promise_is_told_as_such_and_is_no_reason_for_an_unknown() {
        let outside = anomaly("acked-tail-lost", false, vec![Instance::default()]);
        let lines = told(&verdict(
            Outcome::Unknown,
            vec![outside.clone()],
            &[("no-end", "no final read")],
        ));
        assert_eq!(lines[0], "UNKNOWN: no final read");
        assert_eq!(
            lines[1],
            "lost:    1 acknowledged record lost: acked-tail-lost 1 (outside the promise)"
        );
        let lines = told(&verdict(Outcome::Pass, vec![outside], &[]));
        assert_eq!(lines[0], "PASS: every promise held: kip-966");
    }

    #[test]
    fn colours_stand_beside_the_word_and_nothing_else_colours_a_line() {
        let lacks = [("no-acks", "\u{1b}[31mred\nand more")];
        let result = result(
            &night(true),
            &verdict(Outcome::Unknown, Vec::new(), &lacks),
            &meta(),
        );
        let lines = lines(&result, true);
        assert!(
            lines[0].starts_with("\u{1b}[1;38;5;176mUNKNOWN\u{1b}[0m: "),
            "{}",
            lines[0]
        );
        assert!(lines[0].ends_with("\u{fffd}[31mred and more"), "{}", lines[0]);
        assert_eq!(lines.len(), 5);
        let colours: std::collections::BTreeSet<_> = [Outcome::Pass, Outcome::Fail, Outcome::Unknown]
            .into_iter()
            .map(colour)
            .collect();
        assert_eq!(colours.len(), 3);
    }
}
