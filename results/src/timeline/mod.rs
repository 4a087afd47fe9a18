//! The timeline of one partition, as an SVG: steps, each replica's place (leader, ISR, ELR) with the faults on it,
//! the promise, acknowledgements, the high watermark; and below it everything that happened, in words and in order.
//!
//! What it does not: decide. Losses and the promise are drawn as the checker found them. It scales (a view box), and
//! needs no font but the reader's: widths of words are estimated, with room to spare.
//!
//! The drawing library has no title for a picture and no colours that follow the page. The title is put in
//! afterwards; colours are few and named ([`palette`]), so that the page's style can replace those of ink.

mod canvas;
mod charts;
mod lanes;
mod picture;
mod rows;
mod states;

use crate::text::escape;
use canvas::Canvas;
use checker::Verdict;
use history::History;
use picture::Picture;

/// Draws the timeline of one partition.
///
/// # Errors
/// A sentence, where the drawing library refuses.
pub(crate) fn svg(
    history: &History,
    verdict: &Verdict,
    topic: &str,
    partition: i32,
) -> Result<String, String> {
    let picture = Picture::of(history, verdict, topic, partition);
    let layout = Layout::of(&picture);
    let drawn = canvas::document(layout.height, picture.span, |canvas| {
        draw(canvas, &picture, &layout)
    })
    .map_err(|e| format!("the timeline of {topic}-{partition} cannot be drawn: {e}"))?;
    Ok(titled(&drawn, topic, partition, &picture))
}

/// Where each part begins, from the top.
struct Layout {
    lanes: i32,
    promise: i32,
    acks: i32,
    marks: i32,
    axis: i32,
    rows: i32,
    height: i32,
}

impl Layout {
    fn of(picture: &Picture) -> Layout {
        let lanes = lanes::FLAGS_TOP + lanes::flag_rows(picture) * lanes::FLAG + 6;
        let promise = lanes + picture.replicas.len() as i32 * lanes::LANE;
        let acks = promise + lanes::PROMISE;
        let marks = acks + charts::ACKS + charts::GAP;
        let axis = marks + charts::MARKS;
        let rows = axis + charts::AXIS;
        Layout {
            lanes,
            promise,
            acks,
            marks,
            axis,
            rows,
            height: rows + rows::height(picture),
        }
    }
}

fn draw<'a>(canvas: &Canvas<'_, 'a>, picture: &Picture, layout: &Layout) -> canvas::Drawn<'a> {
    lanes::legend(canvas)?;
    // The rules of the steps first: whatever is drawn later stands before them.
    lanes::flags(canvas, picture, layout.axis)?;
    lanes::replicas(canvas, picture, layout.lanes)?;
    lanes::promise(canvas, picture, layout.promise)?;
    charts::acks(canvas, picture, layout.acks)?;
    charts::high_watermark(canvas, picture, layout.marks)?;
    charts::axis(canvas, layout.axis)?;
    rows::rows(canvas, picture, layout.rows)
}

/// Gives the picture a class and a title; its words stay readable for those who do not see it.
fn titled(drawn: &str, topic: &str, partition: i32, picture: &Picture) -> String {
    let title = format!("Timeline of partition {topic}-{partition}");
    let description = format!(
        "Lanes for brokers {}, with the place of each over time and the faults on it; then acknowledgements a second \
         and the high watermark; below them, {} events in words.",
        crate::text::brokers(&picture.replicas),
        picture.rows.len()
    );
    let (title, description) = (escape(&title), escape(&description));
    let Some((head, body)) = drawn.split_once(">\n") else {
        return drawn.to_string();
    };
    let head = head.replacen("<svg ", r#"<svg class="timeline" role="group" "#, 1);
    format!("{head} aria-label=\"{title}\">\n<title>{title}</title>\n<desc>{description}</desc>\n{body}")
}

#[cfg(test)]
mod tests;
