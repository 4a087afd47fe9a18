//! The charts: acknowledgements a second, the high watermark, and the axis of time.

use super::canvas::{Canvas, Drawn, LEFT, RIGHT, SMALL, WORDS, palette};
use super::picture::Picture;
use crate::text::grouped;
use plotters::prelude::*;

/// The height of the acknowledgements' chart.
pub(super) const ACKS: i32 = 96;
/// The height of the high watermark's chart.
pub(super) const MARKS: i32 = 64;
/// Between two charts.
pub(super) const GAP: i32 = 20;
/// The axis of time, with the gap below it.
pub(super) const AXIS: i32 = 48;
/// Bars of the acknowledgements' chart.
const BARS: usize = 202;

/// Acknowledgements as rates: of records kept, of records lost, and on top of them what was refused or left open.
pub(super) fn acks<'a>(canvas: &Canvas<'_, 'a>, picture: &Picture, top: i32) -> Drawn<'a> {
    let (acked, lost, not_ok) = (
        bins(canvas, &picture.acks),
        bins(canvas, &picture.lost),
        bins(canvas, &picture.not_ok),
    );
    let most = acked
        .iter()
        .zip(&not_ok)
        .map(|(a, b)| a + b)
        .max()
        .unwrap_or(0)
        .max(1);
    let rate = most as f64 / (canvas.time.to - canvas.time.from) * BARS as f64;
    canvas.words("records a second", (10, top), WORDS, palette::INK)?;
    canvas.words(
        &format!("top: {}", grouped(rate.round() as u64)),
        (10, top + 17),
        SMALL,
        palette::FAINT,
    )?;
    for (i, (colour, name)) in [
        (palette::KEPT, "acked, kept"),
        (palette::LOST, "acked, lost"),
        (palette::NOT_OK, "refused or open"),
    ]
    .into_iter()
    .enumerate()
    {
        let y = top + 38 + i as i32 * 17;
        canvas.block((10, y), (20, y + 10), colour.filled())?;
        canvas.words(name, (26, y), SMALL, palette::INK)?;
    }
    let bottom = top + ACKS;
    let y = |count: u64| bottom - (count as f64 / most as f64 * f64::from(ACKS)).round() as i32;
    for bar in 0..BARS {
        let edge = |bar: usize| LEFT + ((RIGHT - LEFT) as usize * bar / BARS) as i32;
        let lost = lost[bar].min(acked[bar]);
        let mut below = 0;
        for (count, colour) in [
            (acked[bar] - lost, palette::KEPT),
            (lost, palette::LOST),
            (not_ok[bar], palette::NOT_OK),
        ] {
            if count > 0 {
                canvas.block(
                    (edge(bar), y(below + count)),
                    (edge(bar + 1), y(below)),
                    colour.filled(),
                )?;
                below += count;
            }
        }
    }
    canvas.rule(
        vec![(LEFT, bottom), (RIGHT, bottom)],
        palette::FAINT.stroke_width(1),
    )
}

/// How many times fall into each bar.
fn bins(canvas: &Canvas<'_, '_>, times: &[f64]) -> Vec<u64> {
    let mut bins = vec![0; BARS];
    for at in times {
        let bar = (canvas.time.part(*at) * BARS as f64) as usize;
        bins[bar.min(BARS - 1)] += 1;
    }
    bins
}

/// The high watermark as consumers were told it: a staircase, for an answer holds until the next.
pub(super) fn high_watermark<'a>(canvas: &Canvas<'_, 'a>, picture: &Picture, top: i32) -> Drawn<'a> {
    let most = picture
        .high_watermarks
        .iter()
        .map(|(_, offset)| *offset)
        .max()
        .unwrap_or(0)
        .max(1);
    canvas.words("high watermark", (10, top), WORDS, palette::INK)?;
    canvas.words("as consumers saw it", (10, top + 17), SMALL, palette::FAINT)?;
    canvas.words(
        &format!("top: {}", grouped(most as u64)),
        (10, top + 32),
        SMALL,
        palette::FAINT,
    )?;
    let bottom = top + MARKS;
    let mut line: Vec<(i32, i32)> = Vec::new();
    for (at, offset) in &picture.high_watermarks {
        let y = bottom - (*offset as f64 / most as f64 * f64::from(MARKS)).round() as i32;
        let x = canvas.x(*at);
        match line.last().copied() {
            Some(last) if last == (x, y) => {}
            Some((_, before)) => line.extend([(x, before), (x, y)]),
            None => line.push((x, y)),
        }
    }
    if line.len() > 1 {
        canvas.rule(line, palette::LEADER.stroke_width(2))?;
    }
    canvas.rule(
        vec![(LEFT, bottom), (RIGHT, bottom)],
        palette::FAINT.stroke_width(1),
    )
}

/// Seconds on the run's clock.
pub(super) fn axis<'a>(canvas: &Canvas<'_, 'a>, top: i32) -> Drawn<'a> {
    for (at, label) in ticks(canvas.time.from, canvas.time.to) {
        let x = canvas.x(at);
        canvas.rule(vec![(x, top), (x, top + 5)], palette::FAINT.stroke_width(1))?;
        canvas.words(&label, (x - 8, top + 8), SMALL, palette::FAINT)?;
    }
    Ok(())
}

/// Round times, few enough to be read.
fn ticks(from: f64, to: f64) -> Vec<(f64, String)> {
    const MOST: f64 = 12.0;
    const NICE: [f64; 18] = [
        0.001, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0,
        3600.0, 14400.0,
    ];
    let step = NICE
        .into_iter()
        .find(|step| (to - from) / step <= MOST)
        .unwrap_or((to - from) / MOST);
    let first = (from / step).ceil() as u64;
    let label = |at: f64| match step {
        s if s < 0.1 => format!("{at:.3} s"),
        s if s < 1.0 => format!("{at:.1} s"),
        _ => format!("{at:.0} s"),
    };
    (first..)
        .map(|n| n as f64 * step)
        .take_while(|at| *at <= to)
        .map(|at| (at, label(at)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::ticks;

    #[test]
    fn ticks_are_round_and_few() {
        let labels = |from, to| {
            ticks(from, to)
                .into_iter()
                .map(|(_, label)| label)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            labels(0.9, 5.2),
            [
                "1.0 s", "1.5 s", "2.0 s", "2.5 s", "3.0 s", "3.5 s", "4.0 s", "4.5 s", "5.0 s"
            ]
        );
        assert_eq!(
            labels(59.0, 100.0),
            [
                "60 s", "65 s", "70 s", "75 s", "80 s", "85 s", "90 s", "95 s", "100 s"
            ]
        );
        for to in [0.001, 0.3, 17.0, 86_400.0, 1e9] {
            assert!(labels(0.0, to).len() <= 13, "{to}");
        }
    }
}
