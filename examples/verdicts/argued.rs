//! The disagreements that `docs/checkers.md` argues: rows of a table of its section "Disagreements", with the file's id
//! and the check's name in backticks.

const PAGE: &str = include_str!("../../docs/checkers.md");
/// The section.
pub const SECTION: &str = "docs/checkers.md, Disagreements";

/// The pairs (id, check) that are argued.
pub fn pairs() -> Vec<(String, String)> {
    let section = PAGE.split("\n## Disagreements").nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    section.lines().filter_map(row).collect()
}

fn row(line: &str) -> Option<(String, String)> {
    let mut cells = line.strip_prefix("| `")?.split(" | ");
    let id = cells.next()?.trim_end_matches('`');
    let check = cells.next()?.trim_matches('`');
    Some((id.to_string(), check.to_string()))
}
