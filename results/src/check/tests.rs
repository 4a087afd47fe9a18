//! What is told of a judgement: to machines, on a terminal, on the page.

use super::samples::{cycle, how, judgement, pass, unknown};
use super::{CHECK_SCHEMA, CheckResult, Question};
use crate::store;
use checker::{Example, Finding, Level, Outcome};

/// Set to a folder to look at the pages that these tests write.
const KEEP: &str = "ACKALL_KEEP_REPORTS";

fn page(name: &str, result: &CheckResult) -> String {
    let page = result.page();
    if let Ok(folder) = std::env::var(KEEP) {
        store::write_whole(&std::path::Path::new(&folder).join(name), page.as_bytes()).unwrap();
    }
    page
}

#[test]
fn the_json_follows_its_schema_and_has_no_picture() {
    let schema = serde_json::from_str(CHECK_SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for result in [cycle(), pass(), unknown()] {
        let json = result.json().unwrap();
        assert!(validator.is_valid(&json), "{json}");
        assert!(!json.to_string().contains("<svg"));
        let mut less = json.clone();
        less.as_object_mut().unwrap().remove("verdict");
        assert!(!validator.is_valid(&less));
    }
    let error = serde_json::json!({"error": {"code": 65, "message": "m", "help": "h"}});
    assert!(validator.is_valid(&error));
}

#[test]
fn a_failure_is_told_in_words_and_five_lines() {
    let result = cycle();
    let words = result.words();
    assert_eq!(words[0], "G2-item: 1 instance");
    assert_eq!(words[1], "  - T1 = 3: [:append x 1] [:r y []]");
    assert_eq!(words[5], "    entries 3, 5");
    assert_eq!(
        words[6],
        "G1a: 12 instances, tolerated: the level asked for allows it"
    );
    assert_eq!(
        result.lines(false),
        [
            "FAIL: the history is not strong-serializable",
            "found:   G2-item 1, G1a 12 (tolerated); rules out repeatable-read",
            "judged:  1,204 operations (ok 1,100, fail 3, info 101), read as jepsen-edn, judged as list-append at \
             strong-serializable; 0.01 s, 14 MiB",
            "again:   ackall check some/history.edn --format jepsen-edn --model list-append",
            "closer:  ackall check some/history.edn --format jepsen-edn --model list-append --html check.html; \
             ackall explain G2-item",
        ]
    );
    assert!(result.lines(true)[0].starts_with("\u{1b}[1;"));
}

#[test]
fn a_pass_and_an_unknown_say_what_they_mean() {
    assert_eq!(
        pass().lines(false)[0],
        "PASS: the history is linearizable as a cas-register"
    );
    assert_eq!(pass().lines(false)[1], "found:   nothing");
    assert_eq!(pass().words(), [""; 0]);
    assert_eq!(
        unknown().lines(false)[0],
        "UNKNOWN: not decided within 60.0 s (and 1 more reason)"
    );
}

#[test]
fn the_page_has_the_verdict_the_words_the_pictures_and_the_models() {
    let page = page("check-cycle.html", &cycle());
    for words in [
        "<title>fail: some/history.edn</title>",
        "<h1>The history is not strong-serializable.</h1>",
        "G2-item: 1 instance",
        "T1 → T2 → T1</text></svg>",
        "1 of 12 are told here.",
        "<g class=\"out\">",
        "✗ repeatable-read",
        "<g class=\"out asked\">",
        "· snapshot-isolation",
        "the command line",
        "guessed",
        "ackall explain G2-item",
    ] {
        assert!(page.contains(words), "{words:?} is not in the page");
    }
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
}

#[test]
fn other_questions_have_no_models_and_every_reason_is_told() {
    let page_of_pass = page("check-pass.html", &pass());
    assert!(!page_of_pass.contains("lattice\"") && page_of_pass.contains("Nothing."));
    let page = page("check-unknown.html", &unknown());
    assert!(page.contains("Key 7 was not decided."), "{page}");
}

#[test]
fn what_a_level_implies_is_ruled_out_with_it() {
    let out = cycle().ruled_out();
    assert!(out.contains(&Level::StrongSerializable) && out.contains(&Level::Serializable));
    assert!(!out.contains(&Level::SnapshotIsolation) && !out.contains(&Level::CursorStability));
}

#[test]
fn what_comes_from_a_history_is_escaped() {
    const NASTY: &str = "<img src=x onerror=alert(1)>\u{1b}[31m\u{0}";
    let example = Example {
        operations: (0..40).collect(),
        text: NASTY.into(),
        picture: None,
    };
    let mut how = how(Question::Log);
    how.file = NASTY.into();
    how.command = NASTY.into();
    let result = CheckResult::new(
        judgement(Outcome::Fail, vec![Finding::new(NASTY, 1, vec![example])], &[]),
        how,
    );
    let page = page("check-nasty.html", &result);
    assert!(!page.contains("<img") && !page.contains('\u{0}') && !page.contains('\u{1b}'));
    let told = [result.words(), result.lines(false)].concat().join("\n");
    assert!(!told.contains('\u{1b}') && told.contains("and 28 more"), "{told}");
}
