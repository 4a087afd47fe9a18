//! `ackall check`: judges a history that something else recorded.
//!
//! The history is read as a stream by a thread of its own, which also judges it; the main thread looks at the time and
//! at what memory the process holds, tells how far it has come, and answers *unknown* itself where the limits are
//! passed all the same. So every check ends.

mod choices;
mod input;
mod judging;
mod limits;
mod own;
mod progress;

use crate::cli::CheckArgs;
use crate::error::{Error, Status};
use crate::judge;
use choices::Chosen;
use judging::Judged;
use limits::Limits;
use results::check::{CheckResult, How};
use results::store;
use std::path::Path;
use std::time::Instant;

/// Judges a history, prints what was found, and writes the page where one is asked for.
pub fn check(args: &CheckArgs) -> Result<Status, Error> {
    let began = Instant::now();
    let limits = Limits::parse(args)?;
    let asked = choices::Asked::parse(args)?;
    if let Some(page) = &args.html {
        check_page(page, &args.file)?;
    }
    let input = input::open(&args.file, asked.format)?;
    let Judged { judgement, chosen } = judging::judge(args, asked, input, &limits)?;
    let result = CheckResult::new(judgement, how(args, &chosen, &limits, began));
    show(args, &result)?;
    Ok(judge::status_of(result.judgement.verdict))
}

fn how(args: &CheckArgs, chosen: &Chosen, limits: &Limits, began: Instant) -> How {
    let mut choices = chosen.choices();
    choices.extend(limits.choices(args));
    How {
        file: args.file.display().to_string(),
        format: chosen.format.text().into(),
        model: chosen.model_text().into(),
        question: chosen.question(),
        level: chosen.level().map(|level| level.text().into()),
        command: chosen.command(args),
        choices,
        duration_s: began.elapsed().as_secs_f64(),
        peak_memory_bytes: limits::peak_bytes(),
        ackall_version: env!("CARGO_PKG_VERSION").into(),
    }
}

fn show(args: &CheckArgs, result: &CheckResult) -> Result<(), Error> {
    if let Some(page) = &args.html {
        store::write_whole(page, result.page().as_bytes()).map_err(|e| {
            Error::internal(
                format!("writing the page {}", page.display()),
                e,
                "name another file with --html",
            )
        })?;
    }
    if args.json {
        let json = result
            .json()
            .map_err(|e| Error::internal("writing the verdict as JSON", e, "report this: it is a bug"))?;
        say!("{json}");
        return Ok(());
    }
    if !args.quiet {
        for line in result.words() {
            say!("{line}");
        }
    }
    for line in result.lines(args.color.on_stdout()) {
        say!("{line}");
    }
    Ok(())
}

/// Refuses, before the work begins, a page that could not be written in the end, or would take the place of what is no
/// page.
fn check_page(page: &Path, history: &Path) -> Result<(), Error> {
    let whole = |path: &Path| std::fs::canonicalize(path).ok();
    let folder = match page.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let why = if page.is_dir() {
        "it is a folder".to_string()
    } else if !folder.is_dir() {
        format!("there is no folder {}", folder.display())
    } else if page.exists() && !page.is_file() {
        "it is no regular file".to_string()
    } else if page.exists() && whole(page) == whole(history) {
        "it is the history itself".to_string()
    } else {
        return Ok(());
    };
    Err(Error::usage(
        format!("writing the page {}", page.display()),
        why,
        "--html check.html",
    ))
}
