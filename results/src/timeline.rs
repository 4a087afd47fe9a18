//! The timeline of one partition: steps, faults as bands, each replica's place (leader, ISR, ELR), acknowledgements,
//! and the high watermark; and below it each state of leader, ISR and ELR in words. It decides nothing.

use history::{Body, FaultAction, History, Kind, PartitionState};
use plotters::coord::Shift;
use plotters::prelude::*;
use std::collections::BTreeMap;

/// Colours that everyone can tell apart (Okabe and Ito's palette).
mod colours {
    use plotters::style::RGBColor;
    pub const LEADER: RGBColor = RGBColor(0, 114, 178);
    pub const ISR: RGBColor = RGBColor(86, 180, 233);
    pub const ELR: RGBColor = RGBColor(240, 228, 66);
    pub const OUT: RGBColor = RGBColor(238, 238, 238);
    pub const FAULT: RGBColor = RGBColor(213, 94, 0);
    pub const OK: RGBColor = RGBColor(0, 158, 115);
    pub const NOT_OK: RGBColor = RGBColor(204, 121, 167);
    pub const INK: RGBColor = RGBColor(34, 34, 34);
    pub const FAINT: RGBColor = RGBColor(136, 136, 136);
}

const WIDTH: u32 = 1180;
const LEFT: i32 = 120;
const RIGHT: i32 = 20;
const LANE: i32 = 26;
const CHART: i32 = 110;
const LINE: i32 = 18;
const FONT: &str = "sans-serif";
/// States told in words; a run of hours has more than one would read.
const STATES_SHOWN: usize = 60;
/// Bars of the acknowledgements' chart.
const BARS: usize = 200;

/// A state of a partition, from one committed record to the next that changed leader, ISR or ELR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Nanoseconds on the run's clock.
    pub from: u64,
    /// The leader; −1 is none.
    pub leader: i32,
    /// The leader's epoch.
    pub leader_epoch: i32,
    /// In-sync replicas, by number.
    pub isr: Vec<i32>,
    /// Eligible leader replicas, by number.
    pub elr: Vec<i32>,
}

impl State {
    /// The state in words, as the timeline has it.
    pub fn text(&self) -> String {
        let list = |nodes: &[i32]| {
            let nodes: Vec<String> = nodes.iter().map(i32::to_string).collect();
            format!("[{}]", nodes.join(","))
        };
        let leader = if self.leader < 0 { "none".to_string() } else { self.leader.to_string() };
        format!(
            "leader {leader} (epoch {})   ISR {}   ELR {}",
            self.leader_epoch,
            list(&self.isr),
            list(&self.elr)
        )
    }
}

/// The states of one partition, in order.
pub fn states(history: &History, topic: &str, partition: i32) -> Vec<State> {
    let mut states: Vec<State> = Vec::new();
    for (time, state) in partition_entries(history, topic, partition) {
        let sorted = |nodes: &[i32]| {
            let mut nodes = nodes.to_vec();
            nodes.sort_unstable();
            nodes
        };
        let next = State {
            from: time,
            leader: state.leader,
            leader_epoch: state.leader_epoch,
            isr: sorted(&state.isr),
            elr: sorted(&state.elr),
        };
        let same = |last: &State| State { from: time, ..last.clone() } == next;
        if !states.last().is_some_and(same) {
            states.push(next);
        }
    }
    states
}

fn partition_entries<'a>(
    history: &'a History,
    topic: &'a str,
    partition: i32,
) -> impl Iterator<Item = (u64, &'a PartitionState)> {
    history.entries.iter().filter_map(move |entry| match &entry.body {
        Body::Partition(state) if &*state.key.topic == topic && state.key.partition == partition => {
            Some((entry.time, state))
        }
        _ => None,
    })
}

/// Everything that is drawn, in seconds.
struct Picture {
    end: f64,
    replicas: Vec<i32>,
    states: Vec<State>,
    steps: Vec<(String, f64)>,
    faults: Vec<Band>,
    acks: Vec<f64>,
    refusals: Vec<f64>,
    high_watermarks: Vec<(f64, i64)>,
}

struct Band {
    node: i32,
    name: String,
    from: f64,
    to: Option<f64>,
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn gather(history: &History, topic: &str, partition: i32) -> Picture {
    let mut picture = Picture {
        end: history.entries.last().map_or(1.0, |entry| seconds(entry.time)).max(0.001),
        replicas: Vec::new(),
        states: states(history, topic, partition),
        steps: Vec::new(),
        faults: bands(history),
        acks: Vec::new(),
        refusals: Vec::new(),
        high_watermarks: Vec::new(),
    };
    for (_, state) in partition_entries(history, topic, partition) {
        picture.replicas.extend(&state.replicas);
    }
    picture.replicas.sort_unstable();
    picture.replicas.dedup();
    for entry in &history.entries {
        let at = seconds(entry.time);
        match (&entry.body, entry.kind) {
            (Body::Step(step), _) if !step.reached && !picture.steps.iter().any(|(name, _)| *name == step.name) => {
                picture.steps.push((step.name.clone(), at));
            }
            (Body::Send(send), Kind::Ok) if send.key.partition == partition && &*send.key.topic == topic => {
                picture.acks.push(at);
            }
            (Body::Send(send), Kind::Fail | Kind::Info) if send.key.partition == partition => {
                picture.refusals.push(at);
            }
            (Body::Poll(poll), Kind::Ok) if poll.key.partition == partition && &*poll.key.topic == topic => {
                picture.high_watermarks.extend(poll.high_watermark.map(|offset| (at, offset)));
            }
            _ => {}
        }
    }
    picture
}

/// From the fault's measured start to its measured end.
fn bands(history: &History) -> Vec<Band> {
    let mut bands: BTreeMap<(u64, i32), Band> = BTreeMap::new();
    for entry in &history.entries {
        let (Body::Fault(fault), Kind::Ok) = (&entry.body, entry.kind) else { continue };
        for node in &fault.nodes {
            let at = seconds(entry.time);
            match fault.action {
                FaultAction::Inject => {
                    let band = Band { node: *node, name: fault.name.clone(), from: at, to: None };
                    bands.insert((fault.id, *node), band);
                }
                FaultAction::Heal => {
                    if let Some(band) = bands.get_mut(&(fault.id, *node)) {
                        band.to = Some(at);
                    }
                }
            }
        }
    }
    bands.into_values().collect()
}

/// Draws the timeline of one partition as an SVG document.
///
/// # Errors
/// A sentence, where the drawing library refuses.
pub fn svg(history: &History, topic: &str, partition: i32) -> Result<String, String> {
    let picture = gather(history, topic, partition);
    let shown = picture.states.len().min(STATES_SHOWN) as i32;
    let lanes = picture.replicas.len() as i32 * LANE;
    let height = 60 + lanes + 24 + 2 * (CHART + 34) + 40 + (shown + 2) * LINE;
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (WIDTH, height as u32)).into_drawing_area();
        let canvas = Canvas { root: &root, end: picture.end };
        draw(&canvas, &picture, lanes).map_err(|e| format!("the timeline cannot be drawn: {e}"))?;
        root.present().map_err(|e| format!("the timeline cannot be drawn: {e}"))?;
    }
    Ok(text)
}

type Drawn<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

struct Canvas<'r, 'a> {
    root: &'r DrawingArea<SVGBackend<'a>, Shift>,
    end: f64,
}

impl<'a> Canvas<'_, 'a> {
    fn x(&self, seconds: f64) -> i32 {
        let width = f64::from(WIDTH as i32 - LEFT - RIGHT);
        LEFT + (seconds / self.end * width).round() as i32
    }

    fn words(&self, text: &str, x: i32, y: i32, size: i32, colour: &RGBColor) -> Drawn<'a> {
        self.root.draw(&Text::new(text.to_string(), (x, y), (FONT, size).into_font().color(colour)))
    }

    fn block(&self, x0: i32, y0: i32, x1: i32, y1: i32, style: ShapeStyle) -> Drawn<'a> {
        self.root.draw(&Rectangle::new([(x0, y0), (x1.max(x0 + 1), y1)], style))
    }

    fn rule(&self, points: &[(i32, i32)], style: ShapeStyle) -> Drawn<'a> {
        self.root.draw(&PathElement::new(points.to_vec(), style))
    }
}

fn draw<'a>(canvas: &Canvas<'_, 'a>, picture: &Picture, lanes: i32) -> Drawn<'a> {
    canvas.root.fill(&WHITE)?;
    legend(canvas)?;
    let top = 60;
    replicas(canvas, picture, top)?;
    let acks_top = top + lanes + 24;
    acks(canvas, picture, acks_top)?;
    let marks_top = acks_top + CHART + 34;
    high_watermark(canvas, picture, marks_top)?;
    let bottom = marks_top + CHART;
    axis(canvas, bottom)?;
    steps(canvas, picture, top, bottom)?;
    words(canvas, picture, bottom + 44)
}

fn legend<'a>(canvas: &Canvas<'_, 'a>) -> Drawn<'a> {
    let mut x = LEFT;
    for (colour, name) in [
        (colours::LEADER, "leader"),
        (colours::ISR, "in the ISR"),
        (colours::ELR, "in the ELR"),
        (colours::OUT, "in neither"),
    ] {
        canvas.block(x, 8, x + 14, 22, colour.filled())?;
        canvas.words(name, x + 20, 9, 13, &colours::INK)?;
        x += 110;
    }
    canvas.block(x, 8, x + 14, 22, colours::FAULT.stroke_width(2))?;
    canvas.words("under a fault", x + 20, 9, 13, &colours::INK)
}

/// A lane a replica: its place over time, and the faults on it as bands.
fn replicas<'a>(canvas: &Canvas<'_, 'a>, picture: &Picture, top: i32) -> Drawn<'a> {
    for (row, replica) in picture.replicas.iter().enumerate() {
        let y = top + row as i32 * LANE;
        canvas.words(&format!("broker {replica}"), 10, y + 5, 14, &colours::INK)?;
        for (i, state) in picture.states.iter().enumerate() {
            let to = picture.states.get(i + 1).map_or(canvas.end, |next| seconds(next.from));
            let colour = if state.leader == *replica {
                colours::LEADER
            } else if state.isr.contains(replica) {
                colours::ISR
            } else if state.elr.contains(replica) {
                colours::ELR
            } else {
                colours::OUT
            };
            canvas.block(canvas.x(seconds(state.from)), y, canvas.x(to), y + LANE - 6, colour.filled())?;
        }
        for band in picture.faults.iter().filter(|band| band.node == *replica) {
            let (from, to) = (canvas.x(band.from), canvas.x(band.to.unwrap_or(canvas.end)));
            canvas.block(from, y - 2, to, y + LANE - 4, colours::FAULT.mix(0.18).filled())?;
            canvas.block(from, y - 2, to, y + LANE - 4, colours::FAULT.stroke_width(2))?;
            canvas.words(&band.name, from + 4, y + 4, 12, &colours::INK)?;
        }
    }
    Ok(())
}

/// Acknowledgements upwards, refusals and open ends on top of them, as rates.
fn acks<'a>(canvas: &Canvas<'_, 'a>, picture: &Picture, top: i32) -> Drawn<'a> {
    let bins = |times: &[f64]| {
        let mut bins = vec![0u64; BARS];
        for at in times {
            let bar = (at / canvas.end * BARS as f64) as usize;
            bins[bar.min(BARS - 1)] += 1;
        }
        bins
    };
    let (ok, not_ok) = (bins(&picture.acks), bins(&picture.refusals));
    let most = ok.iter().zip(&not_ok).map(|(a, b)| a + b).max().unwrap_or(0).max(1);
    let rate = most as f64 / (canvas.end / BARS as f64);
    canvas.words("acks a second", 10, top, 14, &colours::INK)?;
    canvas.words(&format!("top: {rate:.0}"), 10, top + 18, 12, &colours::FAINT)?;
    canvas.words("acknowledged", 10, top + 42, 12, &colours::OK)?;
    canvas.words("refused or open", 10, top + 58, 12, &colours::NOT_OK)?;
    let bottom = top + CHART;
    let y = |count: u64| bottom - (count as f64 / most as f64 * f64::from(CHART)).round() as i32;
    for bar in 0..BARS {
        let edge = |bar: usize| canvas.x(bar as f64 / BARS as f64 * canvas.end);
        let (x0, x1) = (edge(bar), edge(bar + 1));
        if ok[bar] > 0 {
            canvas.block(x0, y(ok[bar]), x1, bottom, colours::OK.filled())?;
        }
        if not_ok[bar] > 0 {
            canvas.block(x0, y(ok[bar] + not_ok[bar]), x1, y(ok[bar]), colours::NOT_OK.filled())?;
        }
    }
    canvas.rule(&[(LEFT, bottom), (WIDTH as i32 - RIGHT, bottom)], colours::FAINT.stroke_width(1))
}

/// The high watermark as consumers were told it: a drop is what should never be.
fn high_watermark<'a>(canvas: &Canvas<'_, 'a>, picture: &Picture, top: i32) -> Drawn<'a> {
    let most = picture.high_watermarks.iter().map(|(_, offset)| *offset).max().unwrap_or(0).max(1);
    canvas.words("high watermark", 10, top, 14, &colours::INK)?;
    canvas.words(&format!("top: {most}"), 10, top + 18, 12, &colours::FAINT)?;
    let bottom = top + CHART;
    let point = |(at, offset): &(f64, i64)| {
        (canvas.x(*at), bottom - (*offset as f64 / most as f64 * f64::from(CHART)).round() as i32)
    };
    let mut line: Vec<(i32, i32)> = Vec::new();
    for next in picture.high_watermarks.iter().map(point) {
        // A staircase: the value holds until the next answer.
        if let Some((x, y)) = line.last().copied() {
            if (x, y) == next {
                continue;
            }
            line.push((next.0, y));
        }
        line.push(next);
    }
    if line.len() > 1 {
        canvas.rule(&line, colours::LEADER.stroke_width(2))?;
    }
    canvas.rule(&[(LEFT, bottom), (WIDTH as i32 - RIGHT, bottom)], colours::FAINT.stroke_width(1))
}

fn axis<'a>(canvas: &Canvas<'_, 'a>, bottom: i32) -> Drawn<'a> {
    const TICKS: f64 = 12.0;
    let nice = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0, 3600.0];
    let step = nice.into_iter().find(|step| canvas.end / step <= TICKS).unwrap_or(canvas.end);
    let mut at = 0.0;
    while at <= canvas.end {
        let x = canvas.x(at);
        canvas.rule(&[(x, bottom), (x, bottom + 5)], colours::FAINT.stroke_width(1))?;
        let label = if step < 1.0 { format!("{at:.1} s") } else { format!("{at:.0} s") };
        canvas.words(&label, x - 8, bottom + 8, 12, &colours::FAINT)?;
        at += step;
    }
    Ok(())
}

fn steps<'a>(canvas: &Canvas<'_, 'a>, picture: &Picture, top: i32, bottom: i32) -> Drawn<'a> {
    for (name, at) in &picture.steps {
        let x = canvas.x(*at);
        canvas.rule(&[(x, top - 14), (x, bottom)], colours::INK.mix(0.6).stroke_width(1))?;
        canvas.words(name, x + 3, top - 22, 13, &colours::INK)?;
    }
    Ok(())
}

/// Each state of leader, ISR and ELR, in order.
fn words<'a>(canvas: &Canvas<'_, 'a>, picture: &Picture, top: i32) -> Drawn<'a> {
    canvas.words("leader, ISR and ELR, as the metadata log committed them:", 10, top, 14, &colours::INK)?;
    for (row, state) in picture.states.iter().take(STATES_SHOWN).enumerate() {
        let y = top + (row as i32 + 1) * LINE + 4;
        canvas.words(&format!("{:.2} s", seconds(state.from)), 20, y, 13, &colours::FAINT)?;
        canvas.words(&state.text(), LEFT, y, 13, &colours::INK)?;
    }
    if picture.states.len() > STATES_SHOWN {
        let more = format!("and {} more", picture.states.len() - STATES_SHOWN);
        canvas.words(&more, LEFT, top + (STATES_SHOWN as i32 + 1) * LINE + 4, 13, &colours::FAINT)?;
    }
    Ok(())
}
