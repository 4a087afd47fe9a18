//! A counterexample as a picture: one SVG element that needs nothing from outside.
//!
//! A lane a process; a bar an operation, from its invocation to its completion, open to the right where it never had one;
//! the order that comes farthest as numbered points, joined by a line; what cannot be placed by colour *and* by hatching
//! and a word. Columns are the entries of the counterexample, not a scale of time. The colours are Okabe and Ito's. It
//! draws its own ground, light or dark as the reader's system is, so that it can stand in any page. It uses no id: many
//! can stand in one page.

use std::fmt::Write;

/// The most operations that are drawn: more can be read by nobody.
const MOST_BARS: usize = 60;
/// The most lanes: a screen's height.
const MOST_LANES: usize = 24;
/// The most characters of a label within its bar; the whole stands in the title that shows when it is pointed at.
const MOST_LABEL: usize = 40;
/// The most characters of a title.
const MOST_TITLE: usize = 400;

// Measures, in pixels of the drawing.
const GUTTER: usize = 96;
const COLUMN: usize = 64;
const LANE: usize = 52;
const BAR: usize = 38;
const TOP: usize = 16;
const LEGEND: usize = 62;
const LEAST_WIDTH: usize = 760;
/// A character of the label's face and size.
const CHARACTER: usize = 7;

const STYLE: &str = ".ackall-order{--ground:#fff;--ink:#1b1f24;--faint:#d5dae0;--placed:#0072b2;--stuck:#d55e00;--on:#fff}\
@media(prefers-color-scheme:dark){.ackall-order{--ground:#14181d;--ink:#e8ebef;--faint:#363d46;--placed:#56b4e9;\
--stuck:#e69f00;--on:#14181d}}\
.ackall-order text{fill:var(--ink);font:12px ui-monospace,Menlo,Consolas,monospace;\
paint-order:stroke;stroke:var(--ground);stroke-width:3px}\
.ackall-order .number{fill:var(--on);stroke:none;font-weight:bold;font-size:10px;text-anchor:middle}\
.ackall-order .bar{fill:var(--placed);fill-opacity:.16;stroke:var(--placed);stroke-width:1.5}\
.ackall-order .left .bar{fill:none;stroke:var(--ink);stroke-dasharray:2 3}\
.ackall-order .maybe .bar{fill:none;stroke-dasharray:6 4}\
.ackall-order .stuck .bar{fill:var(--stuck);fill-opacity:.16;stroke:var(--stuck);stroke-width:2.5}\
.ackall-order .hatch{stroke:var(--stuck);stroke-width:1.5;fill:none;opacity:.7}\
.ackall-order .stuck text{font-weight:bold}\
.ackall-order .lane{stroke:var(--faint)}\
.ackall-order .line{fill:none;stroke:var(--ink);stroke-width:1.5;opacity:.75}\
.ackall-order .point{fill:var(--ink)}";

/// What has become of an operation in the order that comes farthest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It stands there, at this place, from 0.
    At(usize),
    /// It stands nowhere there.
    Left,
    /// It had to come, and cannot.
    Stuck,
}

/// An operation to draw.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    /// Who did it.
    pub lane: String,
    /// What it did, shortly.
    pub label: String,
    /// What it did, at length.
    pub title: String,
    /// Where it begins.
    pub from: u64,
    /// Where it ends, which is not before; none where it never does.
    pub to: Option<u64>,
    /// Whether it is of the counterexample: the rest may have happened or not.
    pub certain: bool,
    /// Its place.
    pub place: Place,
}

/// Draws operations.
pub(crate) fn draw(bars: &[Bar]) -> String {
    let (mut shown, lanes) = lay_out(bars);
    let left_out = bars.len() - shown.len();
    shown.sort_by_key(|(bar, _)| bar.from);
    let columns = Columns::of(&shown);
    let width = (GUTTER + (columns.count() + 1) * COLUMN).max(LEAST_WIDTH);
    let height = TOP + lanes.len() * LANE + LEGEND;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"ackall-order\" role=\"img\" width=\"{width}\" \
         height=\"{height}\" viewBox=\"0 0 {width} {height}\"><title>{} operations that no order explains</title>\
         <style>{STYLE}</style><rect width=\"{width}\" height=\"{height}\" style=\"fill:var(--ground)\"/>",
        bars.len()
    );
    for (lane, name) in lanes.iter().enumerate() {
        let y = TOP + lane * LANE + BAR / 2;
        put(
            &mut svg,
            format_args!("<line class=\"lane\" x1=\"{GUTTER}\" x2=\"{width}\" y1=\"{y}\" y2=\"{y}\"/>"),
        );
        put(
            &mut svg,
            format_args!(
                "<text x=\"8\" y=\"{}\">{}</text>",
                y + 4,
                escape(name, GUTTER / CHARACTER - 2)
            ),
        );
    }
    let points = points(&shown, &columns);
    let line = points
        .iter()
        .map(|(x, y, _)| format!("{x},{y}"))
        .collect::<Vec<_>>()
        .join(" ");
    put(
        &mut svg,
        format_args!("<polyline class=\"line\" points=\"{line}\"/>"),
    );
    for (bar, lane) in &shown {
        draw_bar(&mut svg, bar, *lane, &columns, width);
    }
    for (x, y, number) in points {
        put(
            &mut svg,
            format_args!("<circle class=\"point\" cx=\"{x}\" cy=\"{y}\" r=\"9\"/>"),
        );
        let y = y + 4;
        put(
            &mut svg,
            format_args!("<text class=\"number\" x=\"{x}\" y=\"{y}\">{number}</text>"),
        );
    }
    draw_legend(&mut svg, TOP + lanes.len() * LANE, left_out);
    svg.push_str("</svg>");
    svg
}

/// Gives each bar its lane. A process that goes on beside an operation of its own that never ends has a second lane.
/// Where there are too many, what lies farthest from what is stuck is left out.
fn lay_out(bars: &[Bar]) -> (Vec<(&Bar, usize)>, Vec<&str>) {
    let centre = bars
        .iter()
        .find(|bar| bar.place == Place::Stuck)
        .map_or(u64::MAX, |bar| bar.from);
    let mut near: Vec<&Bar> = bars.iter().collect();
    near.sort_by_key(|bar| (bar.from.abs_diff(centre), bar.from));
    near.truncate(MOST_BARS);
    let mut names: Vec<&str> = Vec::new();
    for bar in &near {
        if !names.contains(&bar.lane.as_str()) && names.len() < MOST_LANES {
            names.push(&bar.lane);
        }
    }
    // By number where they are numbered: a longer name is a greater number.
    names.sort_by_key(|name| (name.len(), *name));
    near.sort_by_key(|bar| bar.from);
    let (mut shown, mut lanes) = (Vec::new(), Vec::new());
    for name in names {
        // Where each of this name's lanes is taken up to.
        let first = lanes.len();
        let mut taken: Vec<u64> = Vec::new();
        for bar in near.iter().filter(|bar| bar.lane == name) {
            let free = taken
                .iter()
                .position(|&until| until < bar.from)
                .unwrap_or(taken.len());
            let until = bar.to.unwrap_or(u64::MAX);
            if free == taken.len() {
                if lanes.len() == MOST_LANES {
                    continue;
                }
                taken.push(0);
                lanes.push(name);
            }
            taken[free] = until;
            shown.push((*bar, first + free));
        }
    }
    (shown, lanes)
}

/// The moments at which something begins or ends, each a column.
struct Columns(Vec<u64>);

impl Columns {
    fn of(shown: &[(&Bar, usize)]) -> Columns {
        let mut moments: Vec<u64> = shown
            .iter()
            .flat_map(|(bar, _)| [Some(bar.from), bar.to])
            .flatten()
            .collect();
        moments.sort_unstable();
        moments.dedup();
        Columns(moments)
    }

    fn count(&self) -> usize {
        self.0.len()
    }

    fn column(&self, moment: u64) -> usize {
        self.0.partition_point(|&other| other < moment)
    }

    fn x(&self, moment: u64) -> usize {
        GUTTER + COLUMN / 2 + self.column(moment) * COLUMN
    }
}

fn draw_bar(svg: &mut String, bar: &Bar, lane: usize, columns: &Columns, width: usize) {
    let (left, top) = (columns.x(bar.from), TOP + lane * LANE);
    let right = bar.to.map_or(width, |to| columns.x(to)).max(left + 4);
    let class = match bar.place {
        Place::At(_) if bar.certain => "placed",
        Place::At(_) => "placed maybe",
        Place::Left => "left",
        Place::Stuck => "stuck",
    };
    put(
        svg,
        format_args!(
            "<g class=\"{class}\"><title>{}</title>",
            escape(&bar.title, MOST_TITLE)
        ),
    );
    if bar.to.is_some() {
        let w = right - left;
        put(
            svg,
            format_args!(
                "<rect class=\"bar\" x=\"{left}\" y=\"{top}\" width=\"{w}\" height=\"{BAR}\" rx=\"4\"/>"
            ),
        );
    } else {
        // Open to the right: no edge there.
        let bottom = top + BAR;
        put(
            svg,
            format_args!("<path class=\"bar\" d=\"M{right} {top}H{left}V{bottom}H{right}\"/>"),
        );
    }
    if bar.place == Place::Stuck {
        svg.push_str("<path class=\"hatch\" d=\"");
        for x in (left..right.saturating_sub(BAR)).step_by(10) {
            put(svg, format_args!("M{x} {}L{} {top}", top + BAR, x + BAR));
        }
        svg.push_str("\"/>");
    }
    let room = (right - left).saturating_sub(8) / CHARACTER;
    let label = escape(&bar.label, room.clamp(1, MOST_LABEL));
    put(
        svg,
        format_args!("<text x=\"{}\" y=\"{}\">{label}</text>", left + 5, top + 14),
    );
    if bar.place == Place::Stuck {
        let (x, y) = (left + 5, top + 31);
        put(svg, format_args!("<text x=\"{x}\" y=\"{y}\">✗ no place</text>"));
    }
    svg.push_str("</g>");
}

/// The order, as points with their numbers: each as early as its bar and the points before it allow.
fn points(shown: &[(&Bar, usize)], columns: &Columns) -> Vec<(usize, usize, usize)> {
    let place = |bar: &Bar| match bar.place {
        Place::At(place) => Some(place),
        _ => None,
    };
    let mut placed: Vec<_> = shown
        .iter()
        .filter_map(|(bar, lane)| place(bar).map(|place| (place, *bar, *lane)))
        .collect();
    placed.sort_by_key(|(place, ..)| *place);
    let mut latest = 0;
    let moments: Vec<u64> = placed
        .iter()
        .map(|(_, bar, _)| {
            latest = latest.max(bar.from);
            latest
        })
        .collect();
    let mut points = Vec::with_capacity(placed.len());
    for (at, (place, _, lane)) in placed.iter().enumerate() {
        // Those of one column share its width.
        let together = moments.iter().filter(|&&moment| moment == moments[at]).count();
        let before = moments[..at]
            .iter()
            .filter(|&&moment| moment == moments[at])
            .count();
        let x = columns.x(moments[at]) + (before + 1) * COLUMN / (together + 1);
        points.push((x, TOP + lane * LANE + 26, place + 1));
    }
    points
}

fn draw_legend(svg: &mut String, top: usize, left_out: usize) {
    let mut lines = vec![
        "Numbered points: the order that comes farthest. Hatched: what cannot stand anywhere in it."
            .to_owned(),
        "Dotted: not reached. Open to the right: never answered, may take effect at any later time."
            .to_owned(),
    ];
    if left_out > 0 {
        lines.push(format!(
            "{left_out} operations are not drawn: they lie farther away."
        ));
    }
    for (at, line) in lines.iter().enumerate() {
        put(
            svg,
            format_args!("<text x=\"8\" y=\"{}\">{line}</text>", top + 18 + at * 17),
        );
    }
}

fn put(svg: &mut String, what: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = svg.write_fmt(what);
}

/// A text as it may stand in SVG, cut to so many characters. What XML does not allow becomes U+FFFD.
fn escape(text: &str, most: usize) -> String {
    let mut escaped = String::new();
    let cut = text.chars().count() > most;
    for character in text.chars().take(if cut { most.saturating_sub(1) } else { most }) {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(' '),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            control if control.is_control() => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    if cut {
        escaped.push('…');
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(lane: u32, label: &str, from: u64, to: Option<u64>, place: Place) -> Bar {
        Bar {
            lane: format!("process {lane}"),
            label: label.into(),
            title: format!("{label} of process {lane}"),
            from,
            to,
            certain: true,
            place,
        }
    }

    #[test]
    fn everything_is_drawn_and_marked_by_more_than_colour() {
        let svg = draw(&[
            bar(1, "write 7", 0, Some(3), Place::At(0)),
            bar(2, "read 5", 4, Some(6), Place::Stuck),
            bar(3, "write <9>", 1, None, Place::Left),
        ]);
        assert_eq!(svg.matches("class=\"bar\"").count(), 3);
        assert_eq!(svg.matches("class=\"hatch\"").count(), 1);
        assert!(svg.contains("no place") && svg.contains("class=\"left\""));
        assert!(svg.contains("&lt;9&gt;") && !svg.contains("<9>"));
        assert!(
            svg.contains("H148V") || svg.contains("<path class=\"bar\""),
            "open to the right: {svg}"
        );
    }

    #[test]
    fn a_process_that_goes_on_has_a_second_lane() {
        let bars = [
            bar(1, "write 1", 0, None, Place::At(0)),
            bar(1, "read 2", 3, Some(4), Place::Stuck),
        ];
        let (shown, lanes) = lay_out(&bars);
        assert_eq!((shown.len(), lanes.len()), (2, 2));
    }

    #[test]
    fn it_is_bounded_whatever_is_drawn() {
        let bars: Vec<_> = (0..500)
            .map(|n| {
                bar(
                    n,
                    &"x".repeat(10_000),
                    u64::from(n),
                    Some(u64::from(n) + 700),
                    Place::Left,
                )
            })
            .collect();
        let svg = draw(&bars);
        assert!(svg.len() < 60_000, "{}", svg.len());
        assert!(svg.contains("operations are not drawn"));
        assert!(draw(&[]).ends_with("</svg>"));
    }

    #[test]
    fn texts_cannot_break_out() {
        let hostile = "\"/><script>&\u{0}\u{1b}\n";
        let svg = draw(&[bar(1, hostile, 0, Some(1), Place::At(0))]);
        assert!(!svg.contains("<script") && !svg.chars().any(|c| c.is_control()));
    }
}
