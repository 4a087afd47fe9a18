//! What makes searches hang is decided: here in small sizes, whole by the example `hard`.

use crate::literal::linear::hard::HARD;
use checker::{Budget, Options, Outcome, judge};
use std::time::Duration;

/// A twentieth of the size that is hard, at most this.
const MOST: usize = 2_000;

#[test]
fn each_has_its_verdict() {
    for hard in HARD {
        let size = (hard.size / 20).clamp(8, MOST);
        let history = (hard.make)(size);
        let budget = Budget::new(Duration::from_secs(20), 1 << 28);
        let judged = judge(
            hard.model,
            &Options::default(),
            &budget,
            history.into_iter().map(Ok),
        );
        let judged = judged.unwrap_or_else(|error| panic!("{}: {error}", hard.name));
        assert_eq!(
            judged.verdict, hard.verdict,
            "{}: {:?}",
            hard.name, judged.reasons
        );
    }
}

#[test]
fn what_cannot_be_decided_is_said_to_be_unknown() {
    let hard = HARD.iter().find(|hard| hard.name == "queue-overlap");
    let history = hard.map(|hard| (hard.make)(40)).unwrap_or_default();
    let budget = Budget::new(Duration::from_millis(100), 1 << 24);
    let model = checker::ModelName::Queue;
    let judged = judge(model, &Options::default(), &budget, history.into_iter().map(Ok));
    let judged = judged.unwrap_or_else(|error| panic!("{error}"));
    if judged.verdict == Outcome::Unknown {
        assert!(
            judged.reasons[0].message.contains("not decided within"),
            "{:?}",
            judged.reasons
        );
    } else {
        assert_eq!(judged.verdict, Outcome::Fail);
    }
}
