//! A cycle of transactions as one SVG element that needs nothing from outside.
//!
//! Transactions are boxes in rows, each with an arrow to the next below it; the last one's goes round the left side
//! to the first. Every kind of edge has a colour of its own (Okabe and Ito's, which the colour-blind can tell apart),
//! a dash pattern of its own, and its name beside it. Sizes are bounded, whatever the cycle is.

use super::cycle::{Cycle, Edge, EdgeKind, Node, Step};
use std::fmt::Write;

/// More transactions than this do not fit on a screen; what is left out is said.
const NODES: usize = 12;
/// Characters of a transaction that fit into its box.
const NODE_CHARS: usize = 96;
/// Characters of a reason that fit beside its arrow.
const REASON_CHARS: usize = 100;
/// Characters that are shown where the mouse rests on a text which was cut.
const TITLE_CHARS: usize = 600;

const WIDTH: u32 = 960;
const MARGIN: u32 = 16;
const BOX_LEFT: u32 = 64;
const BOX_HEIGHT: u32 = 34;
const GAP: u32 = 56;
const ARROW_X: u32 = 120;
/// Where the last arrow goes up.
const RETURN_X: u32 = 28;

/// Draws a cycle.
pub(crate) fn draw(cycle: &Cycle) -> String {
    let shown = cycle.steps.len().min(NODES);
    let left_out = cycle.steps.len() - shown;
    let rows = shown + usize::from(left_out > 0);
    let mut svg = head(rows);
    for (row, step) in cycle.steps.iter().take(shown).enumerate() {
        node(&mut svg, row, &step.node);
        if row + 1 < rows {
            down(&mut svg, row, &step.edge);
        }
    }
    if left_out > 0 {
        elided(&mut svg, shown, left_out);
    }
    if let Some(last) = cycle.steps.last() {
        round(&mut svg, rows - 1, last);
    }
    svg.push_str("</svg>");
    svg
}

fn head(rows: usize) -> String {
    // The last arrow's reason stands below the last box.
    let height = top(rows) + MARGIN;
    let mut svg = String::new();
    put(
        &mut svg,
        format_args!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13"><title>A cycle of transactions</title><rect width="{WIDTH}" height="{height}" fill="#ffffff"/>"##
        ),
    );
    svg
}

/// The top of a row's box.
fn top(row: usize) -> u32 {
    // At most NODES + 1 rows: it fits.
    MARGIN + row as u32 * (BOX_HEIGHT + GAP)
}

fn node(svg: &mut String, row: usize, node: &Node) {
    let (y, width) = (top(row), WIDTH - BOX_LEFT - MARGIN);
    let text = format!("{}  {}", node.index, node.text);
    put(
        svg,
        format_args!(
            r##"<g>{}<rect x="{BOX_LEFT}" y="{y}" width="{width}" height="{BOX_HEIGHT}" rx="5" fill="#f4f4f4" stroke="#333333"/><text x="{}" y="{}" fill="#111111">{}</text></g>"##,
            title(&text, NODE_CHARS),
            BOX_LEFT + 10,
            y + 22,
            escaped(&cut(&text, NODE_CHARS)),
        ),
    );
}

fn elided(svg: &mut String, row: usize, left_out: usize) {
    let (y, width) = (top(row), WIDTH - BOX_LEFT - MARGIN);
    put(
        svg,
        format_args!(
            r##"<rect x="{BOX_LEFT}" y="{y}" width="{width}" height="{BOX_HEIGHT}" rx="5" fill="none" stroke="#777777" stroke-dasharray="2 4"/><text x="{}" y="{}" fill="#555555">… {left_out} more, not drawn …</text>"##,
            BOX_LEFT + 10,
            y + 22,
        ),
    );
}

fn down(svg: &mut String, row: usize, edge: &Edge) {
    let (from, to) = (top(row) + BOX_HEIGHT, top(row + 1));
    line(svg, edge.kind, format_args!("M{ARROW_X} {from} V{}", to - 8));
    point(
        svg,
        edge.kind,
        format_args!(
            "{ARROW_X},{to} {},{} {},{}",
            ARROW_X - 5,
            to - 10,
            ARROW_X + 5,
            to - 10
        ),
    );
    label(svg, from + GAP / 2 + 5, edge);
}

fn round(svg: &mut String, row: usize, last: &Step) {
    let (from, to) = (top(row) + BOX_HEIGHT, top(0) + BOX_HEIGHT / 2);
    let (low, corner) = (from + GAP / 2, 12);
    line(
        svg,
        last.edge.kind,
        format_args!(
            "M{ARROW_X} {from} V{} Q{ARROW_X} {low} {} {low} H{} Q{RETURN_X} {low} {RETURN_X} {} V{} Q{RETURN_X} {to} {} {to} H{}",
            low - corner,
            ARROW_X - corner,
            RETURN_X + corner,
            low - corner,
            to + corner,
            RETURN_X + corner,
            BOX_LEFT - 8,
        ),
    );
    let left = BOX_LEFT - 10;
    point(
        svg,
        last.edge.kind,
        format_args!("{BOX_LEFT},{to} {left},{} {left},{}", to - 5, to + 5),
    );
    label(svg, low + 5, &last.edge);
}

fn line(svg: &mut String, kind: EdgeKind, path: std::fmt::Arguments<'_>) {
    let (colour, dashes) = (colour(kind), dashes(kind));
    put(
        svg,
        format_args!(r#"<path d="{path}" fill="none" stroke="{colour}" stroke-width="2.5"{dashes}/>"#),
    );
}

fn point(svg: &mut String, kind: EdgeKind, corners: std::fmt::Arguments<'_>) {
    put(
        svg,
        format_args!(r#"<polygon points="{corners}" fill="{}"/>"#, colour(kind)),
    );
}

fn label(svg: &mut String, y: u32, edge: &Edge) {
    let kind = edge.kind.text();
    put(
        svg,
        format_args!(
            r##"<g>{}<text x="{}" y="{y}" fill="#111111"><tspan font-weight="bold" fill="{}">{kind}</tspan>  {}</text></g>"##,
            title(&edge.reason, REASON_CHARS),
            ARROW_X + 16,
            colour(edge.kind),
            escaped(&cut(&edge.reason, REASON_CHARS)),
        ),
    );
}

fn colour(kind: EdgeKind) -> &'static str {
    match kind {
        EdgeKind::Ww => "#0072b2",
        EdgeKind::Wr => "#00795a",
        EdgeKind::Rw => "#d55e00",
        EdgeKind::Process => "#a8487f",
        EdgeKind::Realtime => "#6b6b6b",
    }
}

fn dashes(kind: EdgeKind) -> &'static str {
    match kind {
        EdgeKind::Ww => "",
        EdgeKind::Wr => r#" stroke-dasharray="14 4""#,
        EdgeKind::Rw => r#" stroke-dasharray="6 4""#,
        EdgeKind::Process => r#" stroke-dasharray="2 4""#,
        EdgeKind::Realtime => r#" stroke-dasharray="12 4 2 4""#,
    }
}

/// The whole text, where it was cut.
fn title(text: &str, limit: usize) -> String {
    if text.chars().nth(limit).is_none() {
        return String::new();
    }
    format!("<title>{}</title>", escaped(&cut(text, TITLE_CHARS)))
}

fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some(_) => text.chars().take(limit - 1).chain(['…']).collect(),
        None => text.to_owned(),
    }
}

/// As XML has it: what would be markup is written out, and what XML forbids is replaced.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(' '),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            control if control.is_control() => safe.push('\u{fffd}'),
            other => safe.push(other),
        }
    }
    safe
}

fn put(svg: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String does not fail.
    let _ = svg.write_fmt(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle(length: usize, text: &str) -> Cycle {
        let kinds = [
            EdgeKind::Ww,
            EdgeKind::Wr,
            EdgeKind::Rw,
            EdgeKind::Process,
            EdgeKind::Realtime,
        ];
        let step = |place: usize| Step {
            node: Node {
                index: place as u64,
                text: text.into(),
            },
            edge: Edge {
                kind: kinds[place % kinds.len()],
                reason: text.into(),
            },
        };
        Cycle {
            steps: (0..length).map(step).collect(),
        }
    }

    #[test]
    fn every_edge_is_drawn_with_its_kind() {
        let svg = draw(&cycle(5, "[[:r x 1]]"));
        assert_eq!(svg.matches("<polygon").count(), 5);
        for kind in ["ww", "wr", "rw", "process", "realtime"] {
            assert!(svg.contains(&format!(">{kind}</tspan>")), "{kind}");
        }
        assert!(!svg.contains("not drawn"));
    }

    #[test]
    fn a_long_cycle_is_cut_and_says_so() {
        let svg = draw(&cycle(10_000, &"x".repeat(10_000)));
        assert!(svg.contains("9988 more, not drawn"));
        assert!(svg.len() < 50_000, "{}", svg.len());
    }

    #[test]
    fn text_is_no_markup() {
        let svg = draw(&cycle(2, "</text><script>alert(\"1\")</script>&\u{1}'"));
        assert!(!svg.contains("<script"));
        assert!(svg.contains("&lt;script&gt;"));
        assert!(!svg.contains('\u{1}'));
    }

    #[test]
    fn no_cycle_and_a_loop_of_one_are_drawn_too() {
        assert!(draw(&cycle(0, "")).ends_with("</svg>"));
        assert_eq!(draw(&cycle(1, "x")).matches("<polygon").count(), 1);
    }

    /// The SVG of a cycle with all kinds, for whoever wants to look at it.
    #[test]
    fn a_picture_to_look_at() {
        if let Ok(path) = std::env::var("ACKALL_PICTURE") {
            let text = "[[:append 3 837] [:r 4 [874 877 883]] [:append 4 885] [:r 3 [831 833 836]]]";
            std::fs::write(path, draw(&cycle(14, text))).expect("the path is writable");
        }
    }
}
