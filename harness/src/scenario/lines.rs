//! Where in its file a part of a scenario stands: the file is read a second time, for its spans only.

use super::check::At;
use serde::Deserialize;
use serde::de::IgnoredAny;
use toml::Spanned;

#[derive(Default, Deserialize)]
struct Lines {
    #[serde(default)]
    steps: Vec<Spanned<StepLines>>,
    #[serde(default)]
    requirements: Vec<Spanned<IgnoredAny>>,
}

#[derive(Deserialize)]
struct StepLines {
    #[serde(default)]
    act: Vec<Spanned<IgnoredAny>>,
}

/// The line of a part, counted from 1; none where the file has none for it.
pub fn line(text: &str, at: At) -> Option<usize> {
    let lines: Lines = toml::from_str(text).ok()?;
    let span = match at {
        At::Step(step) => lines.steps.get(step)?.span(),
        At::Act(step, act) => lines.steps.get(step)?.get_ref().act.get(act)?.span(),
        At::Requirement(n) => lines.requirements.get(n)?.span(),
    };
    line_at(text, span.start)
}

/// The line of a byte.
pub fn line_at(text: &str, byte: usize) -> Option<usize> {
    Some(text.get(..byte)?.matches('\n').count() + 1)
}
