//! The timeline shows every state, and nothing that was not seen.

use super::*;
use crate::night::{TOPIC, empty, judged, night, verdict};
use checker::Outcome;
use history::{Body, Step};

/// What a reader finds in the picture: the text of its elements, without tags, spaces evened out.
fn text_of(svg: &str) -> String {
    let mut text = String::new();
    let mut in_tag = false;
    for c in svg.chars() {
        match c {
            '<' => in_tag = true,
            '>' => {
                in_tag = false;
                text.push(' ');
            }
            c if !in_tag => text.push(c),
            _ => {}
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn drawn(history: &History, with_elr: bool) -> String {
    svg(history, &judged(history, with_elr), TOPIC, 0).unwrap()
}

/// The first of these that does not stand behind those before it.
fn missed<'a>(text: &str, wanted: &'a [String]) -> Option<&'a String> {
    let mut rest = text;
    wanted.iter().find(|words| match rest.split_once(words.as_str()) {
        Some((_, after)) => {
            rest = after;
            false
        }
        None => true,
    })
}

/// Leader, ISR and ELR of T0 to T4, as KIP-966 tells them.
fn expected(with_elr: bool) -> Vec<String> {
    let states: &[&str] = if with_elr {
        &[
            "leader 0 (epoch 0), ISR [0,1,2], ELR []",
            "leader 0 (epoch 0), ISR [0,2], ELR []",
            "leader 2 (epoch 1), ISR [2], ELR [0]",
            "leader none (epoch 2), ISR [], ELR [0,2]",
            "leader 0 (epoch 3), ISR [0], ELR [2]",
            "leader 0 (epoch 3), ISR [0,1], ELR []",
            "leader 0 (epoch 3), ISR [0,1,2], ELR []",
        ]
    } else {
        &[
            "leader 0 (epoch 0), ISR [0,1,2], ELR []",
            "leader 0 (epoch 0), ISR [0,2], ELR []",
            "leader 2 (epoch 1), ISR [2], ELR []",
            "leader none (epoch 2), ISR [2], ELR []",
            "leader 2 (epoch 3), ISR [2], ELR []",
            "leader 2 (epoch 3), ISR [0,2], ELR []",
            "leader 2 (epoch 3), ISR [0,1,2], ELR []",
        ]
    };
    states.iter().map(|state| state.to_string()).collect()
}

#[test]
fn every_state_of_both_nights_is_in_the_picture_in_order() {
    for with_elr in [false, true] {
        let text = text_of(&drawn(&night(with_elr), with_elr));
        assert_eq!(missed(&text, &expected(with_elr)), None, "{text}");
    }
}

#[test]
fn a_state_whose_observation_is_taken_out_is_missed() {
    for with_elr in [false, true] {
        let whole = night(with_elr);
        let is_state = |body: &Body| matches!(body, Body::Partition(_));
        let places = whole
            .entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| is_state(&entry.body))
            .map(|(i, _)| i);
        let places: Vec<usize> = places.collect();
        let expected = expected(with_elr);
        assert_eq!(places.len(), expected.len());
        for (nth, place) in places.into_iter().enumerate() {
            let mut history = whole.clone();
            history.entries.remove(place);
            let text = text_of(&drawn(&history, with_elr));
            assert_eq!(missed(&text, &expected), Some(&expected[nth]), "{text}");
        }
    }
}

#[test]
fn steps_and_faults_and_losses_stand_among_the_states() {
    let text = text_of(&drawn(&night(false), false));
    let order = [
        "T0: a follower is cut off",
        "cut-network on broker 1 (dropped 31 frames, seen 12.40 ms)",
        "T1: the leader",
        "cut-network on broker 0 (",
        "T2: the last replica loses its power",
        "power-cut on broker 2 (dead 3.20 ms, lost 451,072 bytes",
        "the process of node 2 lost its power",
        "the disk of node 2 lost 451,072 bytes in 3 files: of this partition the records at offsets 1400 to 1750",
        "leader none (epoch 2)",
        "T3: the two",
        "T4: the last replica has power again",
        "power-cut on broker 2 is healed (accepts 410 ms)",
        "the first of 351 acknowledged records is seen to be gone",
    ];
    let order: Vec<String> = order.iter().map(|words| words.to_string()).collect();
    assert_eq!(missed(&text, &order), None, "{text}");
    let text = text_of(&drawn(&night(true), true));
    assert!(!text.contains("seen to be gone"), "{text}");
}

#[test]
fn the_picture_scales_and_has_a_title() {
    let svg = drawn(&night(true), true);
    assert!(
        svg.starts_with("<svg class=\"timeline\" role=\"group\" "),
        "{}",
        &svg[..200]
    );
    assert!(svg.contains(" viewBox=\"0 0 1180 "));
    assert!(svg.contains("<title>Timeline of partition night-0</title>"));
    assert!(svg.trim_end().ends_with("</svg>"));
}

#[test]
fn a_history_that_says_nothing_can_be_drawn() {
    let nothing = verdict(Outcome::Unknown, Vec::new(), &[]);
    let svg = svg(&empty(), &nothing, "nowhere", 3).unwrap();
    assert_eq!(
        missed(&text_of(&svg), &["leader 0".to_string()]).map(String::as_str),
        Some("leader 0")
    );
    let mut instant = night(true);
    instant.entries.truncate(1);
    assert!(text_of(&drawn(&instant, true)).contains("leader 0 (epoch 0)"));
}

#[test]
fn of_very_many_states_the_first_are_told_and_the_rest_counted() {
    let mut history = night(true);
    let state = history.entries.iter().find_map(|entry| match &entry.body {
        Body::Partition(state) => Some((entry.clone(), state.clone())),
        _ => None,
    });
    let (entry, state) = state.unwrap();
    history
        .entries
        .retain(|entry| !matches!(entry.body, Body::Partition(_)));
    history.entries.splice(
        0..0,
        (0..5_000).map(|epoch| {
            let body = Body::Partition(history::PartitionState {
                leader_epoch: epoch,
                ..state.clone()
            });
            history::Entry {
                body,
                time: entry.time + epoch as u64,
                ..entry.clone()
            }
        }),
    );
    let text = text_of(&drawn(&history, true));
    assert!(
        text.contains("(epoch 90)") && !text.contains("(epoch 200)"),
        "{text}"
    );
    assert!(text.contains("and 4,9"), "{text}");
}

#[test]
fn names_from_a_run_cannot_break_out_of_the_picture() {
    let mut history = night(true);
    for entry in &mut history.entries {
        match &mut entry.body {
            Body::Step(step) => {
                *step = Step {
                    name: "<script>&\"".into(),
                    text: "\u{0}]]>".repeat(300),
                    ..step.clone()
                }
            }
            Body::Fault(fault) => fault.name = "</svg><b>".into(),
            _ => {}
        }
    }
    let svg = drawn(&history, true);
    assert!(!svg.contains("<script>") && !svg.contains("<b>") && !svg.contains('\u{0}'));
    assert_eq!(svg.matches("</svg>").count(), 1);
}

#[test]
fn a_failed_step_and_a_fault_that_did_not_take_are_told() {
    let mut history = night(true);
    for entry in &mut history.entries {
        match &mut entry.body {
            Body::Step(step) if step.name == "T3" && step.reached => {
                *step = Step {
                    reached: false,
                    text: "not reached: nobody leads".into(),
                    ..step.clone()
                };
            }
            Body::Fault(fault) if fault.id == 0 && entry.kind == history::Kind::Ok => {
                entry.kind = history::Kind::Info;
                fault.error = Some("frames still pass".into());
            }
            _ => {}
        }
    }
    let text = text_of(&drawn(&history, true));
    assert!(text.contains("T3: not reached: nobody leads"), "{text}");
    assert!(
        text.contains("cut-network on broker 1 did not take: frames still pass"),
        "{text}"
    );
    assert!(
        text.contains("cut-network on broker 1 could not be healed: frames still pass"),
        "{text}"
    );
}

/// Flags that stand at nearly one place, and one at the right edge.
#[test]
fn flags_stand_clear_of_each_other() {
    let mut history = night(true);
    let mut at = 8_000_000_000;
    for entry in &mut history.entries {
        if matches!(entry.body, Body::Step(_)) {
            entry.time = at;
            at += 1_000_000;
        }
    }
    let picture = Picture::of(&history, &judged(&history, true), TOPIC, 0);
    assert_eq!(lanes::flag_rows(&picture), 5);
    // So many that not each can have a name: the picture stays a picture.
    for (n, entry) in history
        .entries
        .iter_mut()
        .enumerate()
        .filter(|(_, entry)| matches!(entry.body, Body::Send(_)))
    {
        entry.body = Body::Step(Step {
            name: format!("step {n}"),
            reached: false,
            text: String::new(),
        });
    }
    assert_eq!(
        lanes::flag_rows(&Picture::of(&history, &judged(&history, true), TOPIC, 0)),
        8
    );
    assert_eq!(
        lanes::flag_rows(&Picture::of(&empty(), &judged(&night(true), true), TOPIC, 0)),
        0
    );
}
