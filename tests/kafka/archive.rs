//! The archive of classes: what a tool and a node load comes from it, and no longer from the jars.

use crate::jvm::kafka;
use std::fs;
use std::path::Path;

/// How many classes came from an archive, and how many from elsewhere (jars, Java's modules, classes made up at run
/// time).
struct Loaded {
    archived: usize,
    others: usize,
}

fn loaded(log: &Path) -> Loaded {
    let text = fs::read_to_string(log).unwrap();
    let classes = || text.lines().filter(|line| line.contains("source:"));
    let archived = classes()
        .filter(|line| line.contains("source: shared objects file"))
        .count();
    Loaded {
        archived,
        others: classes().count() - archived,
    }
}

#[test]
fn a_tool_takes_its_classes_from_the_archive() {
    let Some(kafka) = kafka("archive") else { return };
    let Some(archive) = kafka.jars().archive() else {
        panic!("no archive was made of {}", kafka.jars().version())
    };
    let count = |with: &str| {
        let log = kafka.folder().join("classes.log");
        let mut command = kafka.jars().command(128);
        // The later one counts.
        command.arg(format!("-XX:SharedArchiveFile={with}"));
        command.arg(format!("-Xlog:class+load:file={}", log.display()));
        command.args(["kafka.tools.StorageTool", "random-uuid"]);
        kafka.run(command).unwrap();
        loaded(&log)
    };
    let with = count(&archive.display().to_string());
    let without = count(&kafka.jars().own_archive().display().to_string());
    // Java's own archive has Java's own classes alone.
    assert!(
        without.others > 1000,
        "{} of {} without",
        without.others,
        without.archived
    );
    assert!(with.archived > without.archived + 1000, "{} with", with.archived);
    assert!(
        with.others * 4 < without.others,
        "{} with, {} without",
        with.others,
        without.others
    );
}
