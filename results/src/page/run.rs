//! What was run, on what, and how to see it again.

use super::html::Html;
use crate::result::RunResult;
use crate::story;
use crate::text::{counted, grouped};
use history::History;

/// The commands to copy.
pub(super) fn again(html: &mut Html, result: &RunResult) {
    html.heading("See it again");
    html.paragraph("The same plan once more (a seed repeats the plan, not the run):");
    html.command(&story::again(result));
    html.paragraph("The same history judged again:");
    html.command(&story::closer(result));
}

/// The machine and the run.
pub(super) fn environment(html: &mut Html, history: &History, result: &RunResult) {
    html.heading("Run and environment");
    let machine = &result.meta.environment;
    let row = |name: &str, value: String| [name.to_string(), value];
    let boot = result
        .meta
        .boot_to_first_ack_s
        .map_or("nothing was acknowledged".into(), |s| format!("{s:.2} s"));
    let operations = &result.operations;
    let mut rows = vec![
        row("scenario", result.meta.scenario.clone()),
        row("seed", result.meta.seed.to_string()),
        row(
            "system",
            format!("{} {}", result.meta.system, result.meta.version),
        ),
        row("ackall", result.meta.ackall_version.clone()),
        row("ground", result.meta.ground.clone()),
        row("typed", result.meta.command.clone()),
        row("run", result.meta.run.clone()),
        row("folder", result.meta.path.clone()),
        row(
            "history",
            format!(
                "{} ({})",
                result.meta.history,
                counted(history.entries.len() as u64, "line")
            ),
        ),
        row("started at", result.meta.started_at.clone()),
        row("duration", format!("{:.2} s", result.meta.duration_s)),
        row("boot to the first ack", boot),
        row(
            "client operations",
            format!(
                "{} (ok {}, fail {}, info {})",
                grouped(result.operations_total),
                grouped(operations.ok),
                grouped(operations.fail),
                grouped(operations.info)
            ),
        ),
        row("kernel", machine.kernel.clone()),
        row(
            "processor",
            format!("{}, {}", machine.arch, counted(machine.cores, "core")),
        ),
        row("memory", format!("{} MiB", grouped(machine.memory_bytes >> 20))),
        row(
            "ran as root",
            if machine.as_root { "yes" } else { "no" }.to_string(),
        ),
        row("stalls of the harness", grouped(machine.stalls)),
    ];
    if let Some(dropped) = &history.dropped {
        rows.push(row(
            "torn last line",
            format!(
                "{} of line {} dropped",
                counted(dropped.bytes as u64, "byte"),
                dropped.line
            ),
        ));
    }
    html.table("What was run, and where.", ["what", "value"], rows);
}
