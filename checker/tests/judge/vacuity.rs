//! What a history must show for its verdict to be a pass.

use crate::dsl::{Run, codes};
use checker::Outcome;
use history::{FaultAction, Kind, Requirement};

/// A run that passes: three steps, acknowledgements between them, a power cut that took something.
fn full() -> Run {
    let mut run = Run::new(3, 2);
    run.ack(0, 0);
    run.ack(1, 1);
    run.step("T0", false);
    run.ack(2, 2);
    run.power_cut(2, 1..3);
    run.step("T0", true);
    run.step("T1", false);
    run.ack(3, 3);
    run.step("T1", true);
    run.final_read(&[0, 1, 2, 3]);
    run
}

/// The codes of an otherwise full run with one requirement.
fn with(requirement: Requirement) -> Vec<String> {
    let mut run = full();
    run.header.requirements = vec![requirement];
    let verdict = run.verdict();
    assert_eq!(
        verdict.verdict,
        if verdict.reasons.is_empty() {
            Outcome::Pass
        } else {
            Outcome::Unknown
        }
    );
    codes(&verdict).into_iter().map(str::to_owned).collect()
}

#[test]
fn a_full_run_passes() {
    assert_eq!(full().verdict().verdict, Outcome::Pass);
}

#[test]
fn a_history_without_a_final_read_is_unknown_by_a_code_of_its_own() {
    let mut run = full();
    run.entries.pop();
    let verdict = run.verdict();
    assert_eq!(
        (verdict.verdict, codes(&verdict)),
        (Outcome::Unknown, vec!["history-without-end"])
    );
}

#[test]
fn every_partition_must_be_read() {
    let mut run = full();
    run.header.topics[0].partitions = 2;
    let verdict = run.verdict();
    assert_eq!(
        (verdict.verdict, codes(&verdict)),
        (Outcome::Unknown, vec!["final-read-missing"])
    );
    assert!(
        verdict.reasons[0].message.contains("night-1"),
        "{:?}",
        verdict.reasons
    );
}

#[test]
fn a_final_read_that_failed_is_unknown_and_says_why() {
    let mut run = full();
    run.entries.pop();
    run.final_summary(None, None, false);
    let verdict = run.verdict();
    assert_eq!(
        (verdict.verdict, codes(&verdict)),
        (Outcome::Unknown, vec!["final-read-incomplete"])
    );
    assert!(
        verdict.reasons[0].message.contains("it took too long"),
        "{:?}",
        verdict.reasons
    );
}

#[test]
fn a_run_without_an_acknowledgement_is_unknown() {
    let mut run = Run::new(3, 2);
    run.final_read(&[]);
    let verdict = run.verdict();
    assert_eq!(
        (verdict.verdict, codes(&verdict)),
        (Outcome::Unknown, vec!["no-acks"])
    );
}

#[test]
fn a_run_without_metadata_is_unknown_where_the_promise_needs_it() {
    let mut run = Run::bare();
    run.ack(0, 0);
    run.final_read(&[0]);
    let verdict = run.verdict();
    assert_eq!(
        (verdict.verdict, codes(&verdict)),
        (Outcome::Unknown, vec!["no-metadata"])
    );
    run.header.promises = vec![history::Promise::Fsync];
    assert_eq!(run.verdict().verdict, Outcome::Pass);
}

#[test]
fn a_step_that_was_not_reached_is_unknown() {
    let mut run = full();
    run.step("T2", false);
    let verdict = run.verdict();
    assert_eq!(
        (verdict.verdict, codes(&verdict)),
        (Outcome::Unknown, vec!["step-not-reached"])
    );
    run.step("T2", true);
    assert_eq!(run.verdict().verdict, Outcome::Pass);
}

#[test]
fn a_failure_stays_one_whatever_is_missing() {
    let mut run = full();
    run.step("T2", false);
    run.header.requirements = vec![Requirement::Acks { at_least: 1000 }];
    run.poll(&[(0, None, 1)], false);
    assert_eq!(run.verdict().verdict, Outcome::Fail);
}

#[test]
fn acks_in_all() {
    assert!(with(Requirement::Acks { at_least: 4 }).is_empty());
    assert_eq!(with(Requirement::Acks { at_least: 5 }), ["too-few-acks"]);
}

#[test]
fn acks_before_a_step() {
    let before = |step: &str, at_least| {
        with(Requirement::AcksBefore {
            step: step.into(),
            at_least,
        })
    };
    assert!(before("T0", 2).is_empty());
    assert_eq!(before("T0", 3), ["too-few-acks"]);
    assert!(before("T1", 3).is_empty());
    assert_eq!(before("T7", 0), ["step-not-reached"]);
}

#[test]
fn acks_between_steps() {
    let between = |from: &str, to: &str, at_least| {
        with(Requirement::AcksBetween {
            from: from.into(),
            to: to.into(),
            at_least,
        })
    };
    assert!(between("T0", "T1", 1).is_empty());
    assert_eq!(between("T0", "T1", 2), ["too-few-acks"]);
    assert_eq!(between("T0", "T7", 0), ["step-not-reached"]);
    assert_eq!(between("T7", "T1", 0), ["step-not-reached"]);
}

#[test]
fn acked_records_taken() {
    let taken = |fault: &str, at_least| {
        with(Requirement::AckedRecordsTaken {
            fault: fault.into(),
            at_least,
        })
    };
    assert!(taken("power-cut", 2).is_empty());
    assert_eq!(taken("power-cut", 3), ["too-few-acked-records-taken"]);
    assert_eq!(taken("crash", 0), ["fault-not-applied"]);
}

#[test]
fn records_acknowledged_after_the_fault_were_not_taken_by_it() {
    let mut run = full();
    run.entries.pop();
    // The disk's loss reaches to offset 3, which was acknowledged only later, on the other replicas.
    for entry in &mut run.entries {
        if let history::Body::Disk(loss) = &mut entry.body {
            loss.records[0].to = 10;
        }
    }
    run.final_read(&[0, 1, 2, 3]);
    run.header.requirements = vec![Requirement::AckedRecordsTaken {
        fault: "power-cut".into(),
        at_least: 3,
    }];
    assert_eq!(codes(&run.verdict()), ["too-few-acked-records-taken"]);
}

#[test]
fn a_record_that_two_disks_lost_counts_once() {
    let mut run = full();
    run.power_cut(1, 1..3);
    run.header.requirements = vec![Requirement::AckedRecordsTaken {
        fault: "power-cut".into(),
        at_least: 3,
    }];
    assert_eq!(codes(&run.verdict()), ["too-few-acked-records-taken"]);
}

#[test]
fn a_power_cut_of_which_no_disk_tells_meets_no_requirement() {
    let mut run = full();
    run.entries
        .retain(|entry| !matches!(entry.body, history::Body::Disk(_)));
    run.header.requirements = vec![
        Requirement::AckedRecordsTaken {
            fault: "power-cut".into(),
            at_least: 0,
        },
        Requirement::NoAckedRecordTaken {
            fault: "power-cut".into(),
        },
    ];
    assert_eq!(
        codes(&run.verdict()),
        ["too-few-acked-records-taken", "too-few-acked-records-taken"]
    );
}

#[test]
fn no_acked_record_taken() {
    let none = |fault: &str| with(Requirement::NoAckedRecordTaken { fault: fault.into() });
    assert_eq!(none("power-cut"), ["acked-records-taken"]);
    assert_eq!(none("crash"), ["fault-not-applied"]);
    let mut run = Run::new(3, 2);
    run.ack(0, 0);
    run.power_cut(2, 0..0);
    run.final_read(&[0]);
    run.header.requirements = vec![Requirement::NoAckedRecordTaken {
        fault: "power-cut".into(),
    }];
    assert_eq!(run.verdict().verdict, Outcome::Pass);
}

#[test]
fn fault_applied() {
    let applied = |at_least| {
        with(Requirement::FaultApplied {
            fault: "power-cut".into(),
            at_least,
        })
    };
    assert!(applied(1).is_empty());
    assert_eq!(applied(2), ["fault-not-applied"]);
}

#[test]
fn a_fault_that_may_not_have_taken_was_not_applied() {
    let mut run = full();
    run.fault(Kind::Invoke, "crash", FaultAction::Inject, 0);
    run.fault(Kind::Info, "crash", FaultAction::Inject, 0);
    run.header.requirements = vec![Requirement::FaultApplied {
        fault: "crash".into(),
        at_least: 1,
    }];
    assert_eq!(codes(&run.verdict()), ["fault-not-applied"]);
}
