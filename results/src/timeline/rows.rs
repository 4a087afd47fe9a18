//! The story below the picture: steps, faults, states, losses and the promise, a row each, in order of time.

use super::canvas::{Canvas, Drawn, LEFT, RIGHT, SMALL, WIDTH, WORDS, cut, palette, width};
use super::lanes::{fill, on};
use super::picture::{Picture, bad, losses};
use super::states::{State, states};
use crate::steps;
use crate::text::{clock, counted, measurements};
use checker::Verdict;
use history::{Body, DiskLoss, Fault, FaultAction, History, Kind, NodeEvent, NodeProcess};
use plotters::prelude::*;

/// Rows told; a run of hours has more than one would read.
pub(super) const ROWS_TOLD: usize = 100;
/// Replicas shown as squares before a state's words; more would leave no room for the words.
const SQUARES: usize = 9;
/// A row's height.
const ROW: i32 = 21;
const SQUARE: i32 = 16;
/// Where squares and marks begin.
const MARKS: i32 = 92;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub at: u64,
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A step began, or failed.
    Step { name: String, text: String },
    /// A fault came or went.
    Fault(String),
    /// A process ended, or a disk lost what it had not synced.
    Node(String),
    /// The metadata log committed a state.
    State(State),
    /// Lost records were missed.
    Loss(String),
    /// The promise ended, or began again.
    Promise(String),
}

/// The rows of one partition.
pub(super) fn of(history: &History, verdict: &Verdict, topic: &str, partition: i32) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for step in steps::of(history) {
        rows.push(Row {
            at: step.began,
            what: What::Step {
                name: step.name.clone(),
                text: step.text.clone(),
            },
        });
        if let steps::End::NotReached { at, why } = step.end {
            rows.push(Row {
                at,
                what: What::Step {
                    name: step.name,
                    text: why,
                },
            });
        }
    }
    rows.extend(history.entries.iter().filter_map(|entry| {
        let what = match &entry.body {
            Body::Fault(fault) if entry.kind != Kind::Invoke => What::Fault(fault_text(fault)),
            Body::Node(process) => What::Node(end_text(process)?),
            Body::Disk(loss) => What::Node(disk_text(loss, topic, partition)),
            _ => return None,
        };
        Some(Row { at: entry.time, what })
    }));
    rows.extend(states(history, topic, partition).into_iter().map(|state| Row {
        at: state.from,
        what: What::State(state),
    }));
    rows.extend(promise(verdict, topic, partition));
    rows.extend(loss(verdict, topic, partition));
    // Stable: what happened at one instant stays in the order above.
    rows.sort_by_key(|row| row.at);
    rows
}

fn fault_text(fault: &Fault) -> String {
    let nodes: Vec<String> = fault.nodes.iter().map(i32::to_string).collect();
    let what = format!("{} on broker {}", fault.name, nodes.join(", "));
    let text = match (fault.action, &fault.error) {
        (FaultAction::Inject, Some(error)) => format!("{what} did not take: {error}"),
        (FaultAction::Heal, Some(error)) => format!("{what} could not be healed: {error}"),
        (FaultAction::Inject, None) => what,
        (FaultAction::Heal, None) => format!("{what} is healed"),
    };
    match measurements(fault.measured.iter()) {
        none if none.is_empty() => text,
        measured => format!("{text} ({measured})"),
    }
}

/// How a process ended; its start says little, for the metadata log tells when it is back.
fn end_text(process: &NodeProcess) -> Option<String> {
    let how = match process.event {
        NodeEvent::Started => return None,
        NodeEvent::StopAsked => "is asked to stop".to_string(),
        NodeEvent::Exited { status } => format!("exited with status {status}"),
        NodeEvent::Killed { signal: Some(signal) } => format!("was killed by signal {signal}"),
        NodeEvent::Killed { signal: None } => "lost its power".to_string(),
    };
    Some(format!("the process of node {} {how}", process.node))
}

/// What a disk lost, of this partition above all.
fn disk_text(loss: &DiskLoss, topic: &str, partition: i32) -> String {
    let mine = loss
        .records
        .iter()
        .filter(|run| &*run.topic == topic && run.partition == partition);
    let runs: Vec<String> = mine
        .map(|run| format!("{} to {}", run.from, run.to - 1))
        .collect();
    let records = match runs.join(", ") {
        none if none.is_empty() => "no record of this partition".to_string(),
        runs => format!("of this partition the records at offsets {runs}"),
    };
    let (bytes, files) = (counted(loss.bytes, "byte"), counted(loss.files, "file"));
    format!(
        "the disk of node {} lost {bytes} in {files}: {records}",
        loss.node
    )
}

fn promise(verdict: &Verdict, topic: &str, partition: i32) -> Vec<Row> {
    let mut rows = Vec::new();
    for interval in bad(verdict, topic, partition).unwrap_or_default() {
        let text = format!("from here on nothing is promised: {}", interval.why);
        rows.push(Row {
            at: interval.from,
            what: What::Promise(text),
        });
        if let Some(at) = interval.to {
            rows.push(Row {
                at,
                what: What::Promise("what is acknowledged from here on is promised again".into()),
            });
        }
    }
    rows
}

/// When the first lost record was missed; the rest is in the chart and the table.
fn loss(verdict: &Verdict, topic: &str, partition: i32) -> Option<Row> {
    let first = losses(verdict, topic, partition)
        .filter_map(|instance| instance.lost_at)
        .min()?;
    let count = losses(verdict, topic, partition).count() as u64;
    let text = match count {
        1 => "an acknowledged record is seen to be gone".to_string(),
        n => format!(
            "the first of {} is seen to be gone",
            counted(n, "acknowledged record")
        ),
    };
    Some(Row {
        at: first,
        what: What::Loss(text),
    })
}

/// How high the rows are.
pub(super) fn height(picture: &Picture) -> i32 {
    let told = picture.rows.len().min(ROWS_TOLD + 1) as i32;
    told * ROW + 34
}

/// Draws the rows.
pub(super) fn rows<'a>(canvas: &Canvas<'_, 'a>, picture: &Picture, top: i32) -> Drawn<'a> {
    canvas.bold("What happened, in order", (10, top), WORDS)?;
    let mut y = top + 24;
    for row in picture.rows.iter().take(ROWS_TOLD) {
        one(canvas, picture, row, y)?;
        y += ROW;
    }
    let more = picture.rows.len().saturating_sub(ROWS_TOLD) as u64;
    if more > 0 {
        canvas.words(
            &format!("and {} more", crate::text::grouped(more)),
            (MARKS, y),
            WORDS,
            palette::FAINT,
        )?;
    }
    Ok(())
}

fn one<'a>(canvas: &Canvas<'_, 'a>, picture: &Picture, row: &Row, y: i32) -> Drawn<'a> {
    if let What::Step { .. } = row.what {
        canvas.block(
            (0, y - 3),
            (WIDTH, y + ROW - 3),
            palette::FAINT.mix(0.15).filled(),
        )?;
    }
    canvas.words(&clock(row.at), (10, y), WORDS, palette::FAINT)?;
    match &row.what {
        What::Step { name, text } => canvas.bold(
            &cut(&format!("{name}: {text}"), WORDS, RIGHT - MARKS),
            (MARKS, y),
            WORDS,
        ),
        What::Fault(text) => marked(canvas, palette::FAULT, text, y),
        What::Loss(text) => marked(canvas, palette::LOST, text, y),
        What::Promise(text) | What::Node(text) => marked(canvas, palette::FAINT, text, y),
        What::State(state) => {
            let replicas = &picture.replicas[..picture.replicas.len().min(SQUARES)];
            for (i, replica) in replicas.iter().enumerate() {
                let (x, place) = (MARKS + i as i32 * (SQUARE + 2), state.place(*replica));
                canvas.block((x, y - 2), (x + SQUARE, y - 2 + SQUARE), fill(place).filled())?;
                let (name, room) = (replica.to_string(), SQUARE - width(&replica.to_string(), SMALL));
                if room >= 0 {
                    canvas.words(&name, (x + room / 2, y + 1), SMALL, on(place))?;
                }
            }
            canvas.words(&state.text(), (words_at(replicas.len()), y), WORDS, palette::INK)
        }
    }
}

/// Where words begin after so many squares; rows without squares follow the common case, three.
fn words_at(squares: usize) -> i32 {
    LEFT.max(MARKS + squares as i32 * (SQUARE + 2) + 8)
}

fn marked<'a>(canvas: &Canvas<'_, 'a>, colour: RGBColor, text: &str, y: i32) -> Drawn<'a> {
    let x = words_at(3);
    canvas.block((x - 20, y), (x - 8, y + 12), colour.filled())?;
    canvas.words(&cut(text, WORDS, RIGHT - x), (x, y), WORDS, palette::INK)
}
