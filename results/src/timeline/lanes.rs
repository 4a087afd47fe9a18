//! The upper part: flags of steps, a lane a replica with the faults on it, the lane of the promise.

use super::canvas::{Canvas, Drawn, LEFT, RIGHT, SMALL, WORDS, cut, palette, width};
use super::picture::{Band, Picture};
use super::states::Place;
use crate::faults::seconds;
use plotters::prelude::*;

/// Where the flags begin: the legend is above.
pub(super) const FLAGS_TOP: i32 = 36;
/// Rows of flags at most.
const FLAG_ROWS: usize = 8;
/// A row of flags.
pub(super) const FLAG: i32 = 17;
/// A lane: the replica's place, the faults below it, a gap.
pub(super) const LANE: i32 = PLACE + FAULTS + 10;
const PLACE: i32 = 20;
const FAULTS: i32 = 16;
/// The lane of the promise, with the gap below it.
pub(super) const PROMISE: i32 = 18 + 24;
/// Room that words in a box leave at its edges, in all.
const MARGIN: i32 = 8;
/// A word cut shorter than this says nothing.
const LEAST_WORD: i32 = 60;

/// The colour of a place.
pub(super) fn fill(place: Place) -> RGBColor {
    match place {
        Place::Leader => palette::LEADER,
        Place::Isr => palette::ISR,
        Place::Elr => palette::ELR,
        Place::Out => palette::OUT,
    }
}

/// The colour of words on a place.
pub(super) fn on(place: Place) -> RGBColor {
    if place == Place::Leader {
        palette::LIGHT
    } else {
        palette::DARK
    }
}

fn name(place: Place) -> &'static str {
    match place {
        Place::Leader => "leader",
        Place::Isr => "ISR",
        Place::Elr => "ELR",
        Place::Out => "out",
    }
}

/// What the colours mean.
pub(super) fn legend<'a>(canvas: &Canvas<'_, 'a>) -> Drawn<'a> {
    let mut x = LEFT;
    for (colour, name) in [
        (palette::LEADER, "leader"),
        (palette::ISR, "in sync (ISR)"),
        (palette::ELR, "eligible leader (ELR)"),
        (palette::OUT, "out: in neither"),
        (palette::FAULT, "under a fault"),
    ] {
        canvas.block((x, 6), (x + 14, 20), colour.filled())?;
        canvas.words(name, (x + 20, 7), WORDS, palette::INK)?;
        x += 20 + width(name, WORDS) + 16;
    }
    Ok(())
}

/// Where a flag's name stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spot {
    left: i32,
    row: i32,
}

/// Where each flag's name stands: in the first row from which on all rows are clear, so that its rule, which goes
/// down from there, crosses no other name. A crowd has more flags than rows; what is left then has no name.
fn flag_places(picture: &Picture) -> Vec<Option<Spot>> {
    let mut ends = [0; FLAG_ROWS];
    let place = |(name, at): &(String, f64)| {
        let wide = width(name, WORDS) + MARGIN;
        // A flag at the right edge stands left of its rule.
        let left = picture.span.x(*at).min(RIGHT - wide).max(LEFT);
        let row = ends
            .iter()
            .rposition(|end| *end > left)
            .map_or(0, |taken| taken + 1);
        *ends.get_mut(row)? = left + wide;
        Some(Spot {
            left,
            row: row as i32,
        })
    };
    picture.flags.iter().map(place).collect()
}

/// How many rows the flags need.
pub(super) fn flag_rows(picture: &Picture) -> i32 {
    flag_places(picture)
        .into_iter()
        .flatten()
        .map(|place| place.row + 1)
        .max()
        .unwrap_or(0)
}

/// A rule where each step begins, with its name.
pub(super) fn flags<'a>(canvas: &Canvas<'_, 'a>, picture: &Picture, bottom: i32) -> Drawn<'a> {
    let last_row = flag_rows(picture) - 1;
    for ((name, at), place) in picture.flags.iter().zip(flag_places(picture)) {
        let y = FLAGS_TOP + place.map_or(last_row, |place| place.row) * FLAG;
        let x = canvas.x(*at);
        canvas.rule(vec![(x, y), (x, bottom)], palette::FAINT.stroke_width(1))?;
        if let Some(place) = place {
            canvas.bold(name, (place.left + 4, y), WORDS)?;
        }
    }
    Ok(())
}

/// A lane a replica: its place over time, and below it the faults on it.
pub(super) fn replicas<'a>(canvas: &Canvas<'_, 'a>, picture: &Picture, top: i32) -> Drawn<'a> {
    for (row, replica) in picture.replicas.iter().enumerate() {
        let y = top + row as i32 * LANE;
        canvas.words(
            &cut(&format!("broker {replica}"), WORDS, LEFT - 20),
            (10, y + 4),
            WORDS,
            palette::INK,
        )?;
        for (place, from, to) in stays(picture, *replica) {
            let (x0, x1) = (canvas.x(from), canvas.x(to));
            boxed(
                canvas,
                (x0, y),
                (x1, y + PLACE),
                fill(place).filled(),
                (name(place), on(place)),
            )?;
        }
        for band in picture.bands.iter().filter(|band| band.node == *replica) {
            fault(canvas, band, y + PLACE + 1)?;
        }
    }
    Ok(())
}

/// The replica's places; one that lasts over several states is one.
fn stays(picture: &Picture, replica: i32) -> Vec<(Place, f64, f64)> {
    let mut stays: Vec<(Place, f64, f64)> = Vec::new();
    for (i, state) in picture.states.iter().enumerate() {
        let to = picture
            .states
            .get(i + 1)
            .map_or(picture.span.to, |next| seconds(next.from));
        let place = state.place(replica);
        match stays.last_mut() {
            Some((last, _, end)) if *last == place => *end = to,
            _ => stays.push((place, seconds(state.from), to)),
        }
    }
    stays
}

fn fault<'a>(canvas: &Canvas<'_, 'a>, band: &Band, y: i32) -> Drawn<'a> {
    let (x0, x1) = (canvas.x(band.from), canvas.x(band.to.unwrap_or(canvas.time.to)));
    let (from, to) = ((x0, y), (x1, y + FAULTS));
    canvas.block(from, to, palette::FAULT.mix(0.3).filled())?;
    boxed(
        canvas,
        from,
        to,
        palette::FAULT.stroke_width(1),
        (&band.name, palette::INK),
    )
}

/// A rectangle with a word in it, where there is room for the word, or for enough of it.
fn boxed<'a>(
    canvas: &Canvas<'_, 'a>,
    from: (i32, i32),
    to: (i32, i32),
    style: ShapeStyle,
    (word, colour): (&str, RGBColor),
) -> Drawn<'a> {
    canvas.block(from, to, style)?;
    let room = to.0 - from.0 - MARGIN;
    if room >= width(word, SMALL).min(LEAST_WORD) {
        let y = from.1 + (to.1 - from.1 - SMALL as i32) / 2 + 1;
        canvas.words(&cut(word, SMALL, room), (from.0 + MARGIN / 2, y), SMALL, colour)?;
    }
    Ok(())
}

/// The lane of the promise: in force, but for the times in which nothing was promised.
pub(super) fn promise<'a>(canvas: &Canvas<'_, 'a>, picture: &Picture, y: i32) -> Drawn<'a> {
    let Some(bad) = &picture.bad else { return Ok(()) };
    canvas.words("promise", (10, y + 2), WORDS, palette::INK)?;
    let mut from = picture.span.from;
    let bottom = y + 18;
    let held = |from: f64, to: f64| {
        let (x0, x1) = (canvas.x(from), canvas.x(to));
        canvas.block((x0, y), (x1, bottom), palette::KEPT.mix(0.3).filled())?;
        boxed(
            canvas,
            (x0, y),
            (x1, bottom),
            palette::KEPT.stroke_width(1),
            ("in force", palette::INK),
        )
    };
    for interval in bad {
        let (start, end) = (
            seconds(interval.from),
            interval.to.map_or(picture.span.to, seconds),
        );
        if end <= picture.span.from {
            continue;
        }
        if start > from {
            held(from, start)?;
        }
        let (x0, x1) = (canvas.x(start), canvas.x(end));
        boxed(
            canvas,
            (x0, y),
            (x1, bottom),
            palette::FAINT.stroke_width(1),
            ("nothing promised", palette::INK),
        )?;
        from = from.max(end);
    }
    if from < picture.span.to {
        held(from, picture.span.to)
    } else {
        Ok(())
    }
}
