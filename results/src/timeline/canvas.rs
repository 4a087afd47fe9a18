//! What everything is drawn on and with.

use palette::INK;
use plotters::coord::Shift;
use plotters::prelude::*;

/// Colours that everyone can tell apart (Okabe and Ito's palette). Those of ink follow the page's colour scheme.
pub(crate) mod palette {
    use plotters::style::RGBColor;
    pub const LEADER: RGBColor = RGBColor(0x00, 0x72, 0xb2);
    pub const ISR: RGBColor = RGBColor(0x56, 0xb4, 0xe9);
    pub const ELR: RGBColor = RGBColor(0xf0, 0xe4, 0x42);
    pub const OUT: RGBColor = RGBColor(0xd0, 0xd0, 0xd0);
    pub const FAULT: RGBColor = RGBColor(0xe6, 0x9f, 0x00);
    pub const LOST: RGBColor = RGBColor(0xd5, 0x5e, 0x00);
    pub const KEPT: RGBColor = RGBColor(0x00, 0x9e, 0x73);
    pub const NOT_OK: RGBColor = RGBColor(0xcc, 0x79, 0xa7);
    /// Words on the page.
    pub const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
    /// Lesser words and lines on the page.
    pub const FAINT: RGBColor = RGBColor(0x66, 0x66, 0x66);
    /// Words on a light colour, in any scheme.
    pub const DARK: RGBColor = RGBColor(0x11, 0x11, 0x11);
    /// Words on a dark colour, in any scheme.
    pub const LIGHT: RGBColor = RGBColor(0xff, 0xff, 0xff);
}

/// The picture's width; the page scales it.
pub(super) const WIDTH: i32 = 1180;
/// Where time begins: what stands left of it are names.
pub(super) const LEFT: i32 = 150;
/// Where time ends.
pub(super) const RIGHT: i32 = WIDTH - 20;
/// The size of common words, in pixels.
pub(super) const WORDS: f64 = 13.0;
/// The size of lesser words, in pixels.
pub(super) const SMALL: f64 = 11.0;

const FONT: &str = "system-ui, sans-serif";
/// The drawing library divides sizes by this before it writes them.
const SIZE_FACTOR: f64 = 1.24;
/// A character's width as a part of its size. Most are narrower: what is estimated to fit does.
const CHARACTER: f64 = 0.6;

/// The time that is drawn, in seconds on the run's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Time {
    pub from: f64,
    pub to: f64,
}

impl Time {
    /// How far into the drawn time a time is; what is outside of it is at its edge.
    pub fn part(self, seconds: f64) -> f64 {
        ((seconds - self.from) / (self.to - self.from)).clamp(0.0, 1.0)
    }

    /// Where a time stands.
    pub fn x(self, seconds: f64) -> i32 {
        LEFT + (self.part(seconds) * f64::from(RIGHT - LEFT)).round() as i32
    }
}

/// What drawing gives.
pub(super) type Drawn<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

/// A drawing area with a scale of time.
pub(super) struct Canvas<'r, 'a> {
    root: &'r DrawingArea<SVGBackend<'a>, Shift>,
    pub time: Time,
}

/// A new document of that height.
pub(super) fn document(
    height: i32,
    time: Time,
    draw: impl for<'r, 'a> FnOnce(&Canvas<'r, 'a>) -> Drawn<'a>,
) -> Result<String, String> {
    let mut text = String::new();
    {
        let size = (WIDTH as u32, height.max(1) as u32);
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        draw(&Canvas { root: &root, time }).map_err(|e| e.to_string())?;
        root.present().map_err(|e| e.to_string())?;
    }
    Ok(text)
}

/// How wide words are at most, as far as that can be told without a font.
pub(super) fn width(text: &str, size: f64) -> i32 {
    (text.chars().count() as f64 * size * CHARACTER).ceil() as i32
}

/// Words cut to a width.
pub(super) fn cut(text: &str, size: f64, room: i32) -> String {
    if width(text, size) <= room {
        return text.to_string();
    }
    let characters = (f64::from(room.max(0)) / (size * CHARACTER)) as usize;
    let kept: String = text.chars().take(characters.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

impl<'a> Canvas<'_, 'a> {
    /// Where a time stands.
    pub fn x(&self, seconds: f64) -> i32 {
        self.time.x(seconds)
    }

    /// Words, with their upper left corner there.
    pub fn words(&self, text: &str, at: (i32, i32), size: f64, colour: RGBColor) -> Drawn<'a> {
        self.root.draw(&Text::new(
            crate::text::clean(text),
            at,
            (FONT, size * SIZE_FACTOR).into_font().color(&colour),
        ))
    }

    /// Words in bold.
    pub fn bold(&self, text: &str, at: (i32, i32), size: f64) -> Drawn<'a> {
        let font = FontDesc::new(FontFamily::Name(FONT), size * SIZE_FACTOR, FontStyle::Bold);
        self.root
            .draw(&Text::new(crate::text::clean(text), at, font.color(&INK)))
    }

    /// A rectangle, at least a pixel wide.
    pub fn block(
        &self,
        (x0, y0): (i32, i32),
        (x1, y1): (i32, i32),
        style: impl Into<ShapeStyle>,
    ) -> Drawn<'a> {
        self.root
            .draw(&Rectangle::new([(x0, y0), (x1.max(x0 + 1), y1)], style.into()))
    }

    /// A line through points.
    pub fn rule(&self, points: Vec<(i32, i32)>, style: impl Into<ShapeStyle>) -> Drawn<'a> {
        self.root.draw(&PathElement::new(points, style.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_ends_at_the_edges() {
        let time = Time { from: 2.0, to: 4.0 };
        assert_eq!(
            [time.x(1.0), time.x(2.0), time.x(4.0), time.x(9.0)],
            [LEFT, LEFT, RIGHT, RIGHT]
        );
        assert_eq!(time.x(3.0), (LEFT + RIGHT) / 2);
    }

    #[test]
    fn words_are_cut_to_their_room() {
        assert_eq!(cut("short", WORDS, 200), "short");
        assert_eq!(cut("a long word", WORDS, 50), "a lon…");
        assert_eq!(cut("ünïcödé wörds", WORDS, 50), "ünïcö…");
        assert_eq!(cut("nothing fits", WORDS, -5), "…");
        assert!(width(&cut(&"x".repeat(500), WORDS, 300), WORDS) <= 300);
    }
}
