//! The consistency models as a small drawing: which are ruled out, and which was asked for. Colours, marks and words
//! say the same, so that none is needed.

use super::CheckResult;
use crate::text::escape;
use checker::Level;
use std::fmt::Write;

/// The drawing's own measures.
const WIDTH: i32 = 680;
const HEIGHT: i32 = 34;
const ROW: i32 = 56;
const ROWS: i32 = 10;

/// How wide a level's box is: its name and a mark, in letters of 14 pixels.
fn width(level: Level) -> i32 {
    // No name has more than fifty letters.
    level.text().len() as i32 * 7 + 44
}

/// Where a level's box stands: its middle, and its row from the top. The strongest is on top.
fn place(level: Level) -> (i32, i32) {
    const LEFT: i32 = 150;
    const MIDDLE: i32 = 340;
    const RIGHT: i32 = 530;
    match level {
        Level::StrongSerializable => (MIDDLE, 0),
        Level::StrongSessionSerializable => (LEFT, 1),
        Level::StrongSnapshotIsolation => (RIGHT, 1),
        Level::Serializable => (LEFT, 2),
        Level::StrongSessionSnapshotIsolation => (RIGHT, 2),
        Level::RepeatableRead => (LEFT, 3),
        Level::SnapshotIsolation => (RIGHT, 3),
        // Aside of the line from repeatable-read to monotonic-atomic-view.
        Level::CursorStability => (LEFT - 50, 5),
        Level::ParallelSnapshotIsolation => (RIGHT, 4),
        Level::Causal => (RIGHT, 5),
        Level::ReadAtomic => (RIGHT, 6),
        Level::MonotonicAtomicView => (MIDDLE, 7),
        Level::ReadCommitted => (MIDDLE - 80, 8),
        Level::ReadUncommitted => (MIDDLE - 80, 9),
    }
}

/// The drawing.
pub(super) fn svg(result: &CheckResult) -> String {
    let ruled_out = result.ruled_out();
    let asked: Option<Level> = result.how.level.as_deref().and_then(|name| name.parse().ok());
    let mut svg = format!(
        "<svg class=\"lattice\" role=\"img\" viewBox=\"0 0 {WIDTH} {}\">\n<title>{}</title>\n",
        ROWS * ROW,
        escape(&told(result))
    );
    for level in Level::ALL {
        for weaker in level.next_weaker() {
            edge(&mut svg, place(level), place(*weaker));
        }
    }
    for level in Level::ALL {
        boxed(&mut svg, level, ruled_out.contains(&level), asked == Some(level));
    }
    svg.push_str("</svg>\n");
    svg
}

/// The drawing in words.
fn told(result: &CheckResult) -> String {
    match result.judgement.models_ruled_out.join(", ") {
        none if none.is_empty() => "No consistency model is ruled out.".into(),
        weakest => {
            format!("Ruled out: {weakest}, and every model above in the drawing that a line leads to.")
        }
    }
}

fn edge(svg: &mut String, from: (i32, i32), to: (i32, i32)) {
    let top = from.1 * ROW + (ROW + HEIGHT) / 2;
    let bottom = to.1 * ROW + (ROW - HEIGHT) / 2;
    // A String takes whatever is written to it.
    let _ = writeln!(
        svg,
        "<line x1=\"{}\" y1=\"{top}\" x2=\"{}\" y2=\"{bottom}\"/>",
        from.0, to.0
    );
}

fn boxed(svg: &mut String, level: Level, ruled_out: bool, asked: bool) {
    let (middle, row) = place(level);
    let (left, top) = (middle - width(level) / 2, row * ROW + (ROW - HEIGHT) / 2);
    let (class, mark) = if ruled_out { ("out", "✗") } else { ("open", "·") };
    let asked = if asked { " asked" } else { "" };
    let _ = writeln!(
        svg,
        "<g class=\"{class}{asked}\"><rect x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\" rx=\"4\"/>\
         <text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{mark} {}</text></g>",
        width(level),
        HEIGHT,
        top + HEIGHT / 2 + 5,
        level.text()
    );
}
