//! Small histories, told: what is tolerated and why, cycles, lag, and what is no history of logs.

use checker::{Budget, Judgement, Level, ModelName, Options, Outcome, judge};
use history::{Format, read_foreign};

/// Lines of `process type f value`, as JSON lines.
fn history(lines: &[&str]) -> String {
    let line = |(index, line): (usize, &&str)| {
        let mut parts = line.splitn(4, ' ');
        let mut part = || parts.next().unwrap();
        let (process, kind, f, value) = (part(), part(), part(), part());
        let time = index * 1_000_000;
        format!(
            "{{\"index\":{index},\"time\":{time},\"process\":{process},\"type\":\"{kind}\",\"f\":\"{f}\",\"value\":{value}}}\n"
        )
    };
    lines.iter().enumerate().map(line).collect()
}

fn judged(options: &Options, lines: &[&str]) -> Judgement {
    let text = history(lines);
    let ops = read_foreign(Format::JepsenJson, text.as_bytes());
    judge(ModelName::Kafka, options, &Budget::unlimited(), ops).unwrap()
}

/// Names of what decides, and of what is tolerated.
fn names(judgement: &Judgement) -> (Vec<&str>, Vec<&str>) {
    let mut names: (Vec<&str>, Vec<&str>) = Default::default();
    for finding in &judgement.anomalies {
        match finding.tolerated {
            None => names.0.push(&finding.name),
            Some(_) => names.1.push(&finding.name),
        }
    }
    names
}

const SKIP: [&str; 8] = [
    r#"0 invoke send [["send",1,10],["send",1,11],["send",1,12]]"#,
    r#"0 ok send [["send",1,[0,10]],["send",1,[1,11]],["send",1,[4,12]]]"#,
    r#"1 invoke poll [["poll"]]"#,
    r#"1 ok poll [["poll",{"1":[[0,10]]}]]"#,
    r#"1 invoke poll [["poll"]]"#,
    r#"1 ok poll [["poll",{"1":[[4,12]]}]]"#,
    r#"2 invoke poll [["poll"]]"#,
    r#"2 ok poll [["poll",{"1":[[0,10],[1,11],[4,12]]}]]"#,
];

#[test]
fn a_skip_decides_with_assign_and_not_with_subscribe() {
    let judgement = judged(&Options::default(), &SKIP);
    assert_eq!(names(&judgement), (vec!["poll-skip"], vec![]));
    assert_eq!(judgement.verdict, Outcome::Fail);
    assert_eq!(judgement.anomalies[0].examples[0].operations, [2, 3, 4, 5]);
    let options = Options {
        subscribe: true,
        ..Options::default()
    };
    let judgement = judged(&options, &SKIP);
    assert_eq!(names(&judgement), (vec![], vec!["poll-skip"]));
    assert_eq!(judgement.verdict, Outcome::Pass);
}

#[test]
fn an_empty_poll_in_between_excuses_no_skip() {
    let mut lines = SKIP.to_vec();
    lines.splice(
        4..4,
        [r#"1 invoke poll [["poll"]]"#, r#"1 ok poll [["poll",{"1":[]}]]"#],
    );
    assert_eq!(names(&judged(&Options::default(), &lines)).0, ["poll-skip"]);
    // Reading something else in between does.
    let mut lines = SKIP.to_vec();
    lines.splice(4..4, ["1 invoke assign [2]", "1 ok assign [2]"]);
    assert_eq!(judged(&Options::default(), &lines).verdict, Outcome::Pass);
}

/// Two transactions send to two keys in opposite orders; both are polled.
const CROSSED: [&str; 6] = [
    r#"0 invoke send [["send","a",1],["send","b",2]]"#,
    r#"1 invoke send [["send","a",3],["send","b",4]]"#,
    r#"0 ok send [["send","a",[0,1]],["send","b",[1,2]]]"#,
    r#"1 ok send [["send","a",[1,3]],["send","b",[0,4]]]"#,
    r#"2 invoke poll [["poll"]]"#,
    r#"2 ok poll [["poll",{"a":[[0,1],[1,3]],"b":[[0,4],[1,2]]}]]"#,
];

#[test]
fn crossed_writes_are_a_cycle_where_offsets_are_asked_for_and_tolerated() {
    assert!(judged(&Options::default(), &CROSSED).anomalies.is_empty());
    let options = Options {
        ww_deps: true,
        ..Options::default()
    };
    let judgement = judged(&options, &CROSSED);
    assert_eq!(names(&judgement), (vec![], vec!["G0", "PL-1-cycle-exists"]));
    assert_eq!(judgement.anomalies[1].follows.as_deref(), Some("G0"));
    let example = &judgement.anomalies[0].examples[0];
    assert_eq!(example.operations, [2, 3]);
    assert!(
        example.picture.is_some() && example.text.contains("stands right before"),
        "{}",
        example.text
    );
}

#[test]
fn information_that_goes_round_is_g1c() {
    let lines = [
        r#"0 invoke txn [["send",1,10],["poll"]]"#,
        r#"1 invoke txn [["send",2,20],["poll"]]"#,
        r#"0 ok txn [["send",1,[0,10]],["poll",{"2":[[0,20]]}]]"#,
        r#"1 ok txn [["send",2,[0,20]],["poll",{"1":[[0,10]]}]]"#,
    ];
    assert_eq!(
        names(&judged(&Options::default(), &lines)).0,
        ["G1c", "PL-2-cycle-exists"]
    );
    // Each polls what the other had sent before: nothing goes round.
    let lines = [
        r#"0 invoke txn [["send",1,10],["poll"]]"#,
        r#"0 ok txn [["send",1,[0,10]],["poll",{}]]"#,
        r#"1 invoke txn [["send",2,20],["poll"]]"#,
        r#"1 ok txn [["send",2,[0,20]],["poll",{"1":[[0,10]]}]]"#,
        r#"0 invoke poll [["poll"]]"#,
        r#"0 ok poll [["poll",{"2":[[0,20]]}]]"#,
    ];
    assert!(judged(&Options::default(), &lines).anomalies.is_empty());
}

#[test]
fn a_value_polled_before_it_was_sent_is_a_cycle_of_real_time() {
    let lines = [
        r#"0 invoke poll [["poll"]]"#,
        r#"0 ok poll [["poll",{"1":[[0,10]]}]]"#,
        r#"1 invoke send [["send",1,10]]"#,
        r#"1 ok send [["send",1,[0,10]]]"#,
    ];
    let judgement = judged(&Options::default(), &lines);
    assert_eq!(names(&judgement).0, ["G1c-realtime", "strong-PL-2-cycle-exists"]);
    let options = Options {
        no_real_time: true,
        ..Options::default()
    };
    assert_eq!(judged(&options, &lines).verdict, Outcome::Pass);
}

/// One transaction sends to both keys. The other sees the one and stands before the other; then it goes on.
const SKEWED: [&str; 8] = [
    r#"0 invoke send [["send",2,20]]"#,
    r#"0 ok send [["send",2,[0,20]]]"#,
    r#"0 invoke txn [["send",1,10],["send",2,21]]"#,
    r#"0 ok txn [["send",1,[0,10]],["send",2,[2,21]]]"#,
    r#"1 invoke txn [["poll"],["send",3,30]]"#,
    r#"1 ok txn [["poll",{"1":[[0,10]],"2":[[0,20]]}],["send",3,[0,30]]]"#,
    r#"1 invoke poll [["poll"]]"#,
    r#"1 ok poll [["poll",{"2":[[2,21]],"3":[[0,30]]}]]"#,
];

#[test]
fn g_single_is_found_and_decides_where_a_level_is_asked_for() {
    let judgement = judged(&Options::default(), &SKEWED);
    assert_eq!(names(&judgement), (vec![], vec!["G-single"]));
    assert!(
        judgement.anomalies[0].examples[0]
            .text
            .contains("stands behind that")
    );
    for (level, decides) in [
        (Level::ReadCommitted, false),
        (Level::SnapshotIsolation, true),
        (Level::Serializable, true),
    ] {
        let options = Options {
            level: Some(level),
            ..Options::default()
        };
        let failed = judged(&options, &SKEWED).verdict == Outcome::Fail;
        assert_eq!(failed, decides, "{level:?}");
    }
}

#[test]
fn write_skew_is_g2() {
    let lines = [
        r#"2 invoke send [["send",1,1],["send",2,2]]"#,
        r#"2 ok send [["send",1,[0,1]],["send",2,[0,2]]]"#,
        r#"0 invoke txn [["poll"],["send",2,20]]"#,
        r#"1 invoke txn [["poll"],["send",1,10]]"#,
        r#"0 ok txn [["poll",{"1":[[0,1]]}],["send",2,[2,20]]]"#,
        r#"1 ok txn [["poll",{"2":[[0,2]]}],["send",1,[2,10]]]"#,
        r#"3 invoke poll [["poll"]]"#,
        r#"3 ok poll [["poll",{"1":[[0,1],[2,10]],"2":[[0,2],[2,20]]}]]"#,
    ];
    assert_eq!(names(&judged(&Options::default(), &lines)), (vec![], vec!["G2"]));
}

#[test]
fn the_worst_lag_is_told_and_decides_nothing() {
    let lines = [
        "1 invoke assign [1]",
        "1 ok assign [1]",
        r#"0 invoke send [["send",1,10]]"#,
        r#"0 ok send [["send",1,[0,10]]]"#,
        r#"1 invoke poll [["poll"]]"#,
        r#"1 ok poll [["poll",{}]]"#,
        r#"1 invoke poll [["poll"]]"#,
        r#"1 ok poll [["poll",{"1":[[0,10]]}]]"#,
    ];
    let judgement = judged(&Options::default(), &lines);
    assert_eq!(judgement.verdict, Outcome::Pass);
    let lag = judgement
        .reasons
        .iter()
        .find(|reason| reason.code == "worst-realtime-lag")
        .unwrap();
    assert!(
        lag.message.contains("operation 5") && lag.message.contains("1.000 ms"),
        "{}",
        lag.message
    );
}

#[test]
fn a_phantom_is_told_and_a_crash_is_passed_over() {
    let lines = [
        "0 invoke crash null",
        "0 info crash null",
        r#"1 invoke poll [["poll"]]"#,
        r#"1 ok poll [["poll",{"1":[[0,10]]}]]"#,
    ];
    assert_eq!(names(&judged(&Options::default(), &lines)).0, ["phantom"]);
}

#[test]
fn nothing_sent_or_polled_is_unknown() {
    let judgement = judged(&Options::default(), &["0 invoke assign [1]", "0 ok assign [1]"]);
    assert_eq!(judgement.verdict, Outcome::Unknown);
    assert_eq!(judgement.reasons[0].code, "no-operations");
}

#[test]
fn what_is_no_micro_operation_is_refused_with_what_was_expected() {
    for (value, part) in [
        ("5", "list of micro-operations"),
        (r#"[["sent",1,2]]"#, "is expected"),
        (r#"[["send",1]]"#, "is expected"),
        (r#"[["poll",{"1":[[true,2]]}]]"#, "[offset, value]"),
        (r#"[["send",[1],2]]"#, "partition's name"),
    ] {
        let text = history(&["0 invoke txn []", &format!("0 ok txn {value}")]);
        let ops = read_foreign(Format::JepsenJson, text.as_bytes());
        let error = judge(ModelName::Kafka, &Options::default(), &Budget::unlimited(), ops).unwrap_err();
        let said = error.to_string();
        assert!(
            said.starts_with("operation 1: txn") && said.contains(part),
            "{said}"
        );
    }
}

#[test]
fn offsets_far_apart_take_no_memory_between_them() {
    let lines = [
        r#"0 invoke send [["send",1,10],["send",1,11]]"#,
        r#"0 ok send [["send",1,[0,10]],["send",1,[9000000000000000000,11]]]"#,
        r#"1 invoke poll [["poll"]]"#,
        r#"1 ok poll [["poll",{"1":[[0,10],[9000000000000000000,11]]}]]"#,
    ];
    assert_eq!(judged(&Options::default(), &lines).verdict, Outcome::Pass);
}

#[test]
fn a_long_history_is_refused_at_its_first_wrong_operation_or_line() {
    let mut lines = Vec::new();
    for value in 0..5000 {
        lines.push(format!("0 invoke send [[\"send\",1,{value}]]"));
        lines.push(format!("0 ok send [[\"send\",1,[{value},{value}]]]"));
    }
    let judge_lines = |lines: &[String]| {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let text = history(&lines);
        let ops = read_foreign(Format::JepsenJson, text.as_bytes());
        judge(ModelName::Kafka, &Options::default(), &Budget::unlimited(), ops)
    };
    assert_eq!(judge_lines(&lines).unwrap().anomalies[0].count, 5000);
    lines[9001] = "0 ok send [5]".into();
    assert!(
        judge_lines(&lines)
            .unwrap_err()
            .to_string()
            .starts_with("operation 9001: send")
    );
    // What stands before it is told first.
    lines[8001] = "0 ok send x".into();
    let said = judge_lines(&lines).unwrap_err().to_string();
    assert!(said.contains("8002"), "{said}");
}
