//! The whole way up on real file systems: the same night as on ackall's own disk, the same verdicts.
#![cfg(target_os = "linux")]

mod support;

use support::{Folder, Run, ground, skipped, start};

/// A run; none where this machine cannot have such a disk.
fn run(folder: &Folder, disk: &str, more: &[&str]) -> Option<Run> {
    let args = [
        "last-replica-standing",
        "--no-progress",
        "--seed",
        "7",
        "--disk",
        disk,
    ];
    let args: Vec<&str> = args.iter().chain(more).copied().collect();
    let run = start(&folder.0, disk, &args).wait();
    if run.code() != 69 {
        return Some(run);
    }
    skipped("root", run.err.trim());
    None
}

#[test]
fn a_night_on_ext4_passes_though_the_cut_took_acknowledged_records() {
    let _ground = ground();
    let folder = Folder::new("real-ext4");
    let Some(run) = run(&folder, "ext4", &[]) else {
        return;
    };
    // The scenario requires that the cut took some: they are read from what the disk saved.
    assert_eq!(run.code(), 0, "{}", run.said());
    assert!(run.out.contains("PASS"), "{}", run.said());
    let plan = std::fs::read_to_string(run.dir.join("plan.toml")).unwrap();
    assert!(plan.contains("disk = \"ext4\""), "{plan}");
}

#[test]
fn a_night_on_xfs_without_elr_fails() {
    let _ground = ground();
    let folder = Folder::new("real-xfs");
    let feature = ["--feature", "eligible.leader.replicas.version=0"];
    let Some(run) = run(&folder, "xfs", &feature) else {
        return;
    };
    assert_eq!(run.code(), 1, "{}", run.said());
    assert!(run.out.contains("acked-then-lost"), "{}", run.said());
}

#[test]
fn what_a_real_disk_cannot_do_is_refused_before_a_run_begins() {
    let folder = Folder::new("real-refused");
    let scenario = include_str!("../scenarios/last-replica-standing.toml");
    let whole = "fault = \"power-cut\", target = \"last\"";
    let torn = scenario.replace(whole, &format!("{whole}, params = {{ remainder = \"torn\" }}"));
    assert_ne!(torn, scenario);
    let file = folder.0.join("torn.toml");
    std::fs::write(&file, torn).unwrap();
    let run = start(&folder.0, "refused", &[file.to_str().unwrap(), "--disk", "xfs"]).wait();
    assert_eq!(run.code(), 64, "{}", run.said());
    assert!(
        run.err.contains("decides itself") && run.err.lines().count() == 3,
        "{}",
        run.err
    );
    assert!(!run.dir.exists());
}
