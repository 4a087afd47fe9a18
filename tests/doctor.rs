//! `ackall doctor`: each mechanism is tried for real. Each is taken away in turn, and must then be told, with why and a
//! line that helps; and a fault that needs it is refused in the same words, before a run begins.
#![cfg(target_os = "linux")]

mod support;

use serde_json::Value;
use std::fs;
use support::machine::Machine;
use support::private::{NOBODY, Private, setpriv_is_there};
use support::{ackall, ground};

/// What doctor says there, a row a name.
fn rows(private: &Private, script: &str) -> Vec<Value> {
    let doctor = private.run(&format!("{script}\n\"$ACKALL\" doctor --json"));
    serde_json::from_str(&doctor.out).unwrap_or_else(|why| panic!("{why}: {}", doctor.said()))
}

fn row<'a>(rows: &'a [Value], name: &str) -> &'a Value {
    let found = rows.iter().find(|row| row["name"] == name);
    found.unwrap_or_else(|| panic!("no row {name}: {rows:?}"))
}

/// Hides the machine's part in a script, and holds the rows against what is there without that.
fn taken_away(private: &Private, hide: &str, names: &[&str], says: &str, helps: &str) {
    let (before, after) = (rows(private, ""), rows(private, hide));
    for name in names {
        if row(&before, name)["available"] == false {
            println!(
                "{name} is not to be had here anyway: {}",
                row(&before, name)["why_not"]
            );
            continue;
        }
        let told = row(&after, name);
        assert_eq!(told["available"], false, "{hide}: {told}");
        let text = |field: &str| told[field].as_str().unwrap();
        assert!(text("why_not").contains(says), "{hide}: {told}");
        assert!(text("remedy").contains(helps), "{hide}: {told}");
        assert_eq!(text("remedy").lines().count(), 1, "{told}");
    }
    // What was not touched is as before.
    for was in &before {
        let name = was["name"].as_str().unwrap();
        if !names.contains(&name) {
            assert_eq!(was["available"], row(&after, name)["available"], "{hide}: {name}");
        }
    }
}

#[test]
fn doctor_tells_each_mechanism() {
    let _ground = ground();
    let output = ackall().args(["doctor", "--json"]).output().unwrap();
    let probes: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
    assert!(probes.len() > 3, "{probes:?}");
    // Those that single faults need may be missing here; then it is told what helps.
    const NEEDED: [&str; 10] = [
        "namespaces",
        "mounts",
        "network namespace",
        "TAP device",
        "FUSE",
        "nested namespaces",
        "space",
        // And what every Linux has.
        "signals",
        "clock shim",
        "descriptor limits",
    ];
    for probe in &probes {
        let text = |field: &str| probe[field].as_str().unwrap();
        assert!(!text("name").is_empty() && !text("how").is_empty(), "{probe}");
        let available = probe["available"] == true;
        assert!(available || !NEEDED.contains(&text("name")), "{probe}");
        assert_eq!(available, text("why_not").is_empty(), "{probe}");
        assert_eq!(available, text("remedy").is_empty(), "{probe}");
    }
    let names: Vec<&str> = probes
        .iter()
        .map(|probe| probe["name"].as_str().unwrap())
        .collect();
    for name in NEEDED.iter().chain(&["cgroup cpu", "Java"]) {
        assert!(names.contains(name), "{name}: {names:?}");
    }
    let table = ackall().arg("doctor").output().unwrap();
    assert_eq!(table.status.code(), Some(0));
    let lines = String::from_utf8(table.stdout).unwrap();
    for probe in &probes {
        assert!(
            lines.contains(probe["name"].as_str().unwrap()),
            "{probe}: {lines}"
        );
    }
}

#[test]
fn cgroups_that_are_not_there_are_told_and_refuse_the_fault() {
    let _ground = ground();
    let Some(private) = Private::of_root("no-cgroups") else {
        return;
    };
    let before = Machine::now();
    let hide = "mount -t tmpfs none /sys/fs/cgroup";
    let names = ["cgroup cpu", "cgroup memory", "cgroup freezer", "cgroup v2"];
    taken_away(&private, hide, &names, "", "mount");
    let scenario = include_str!("../scenarios/follower-power-cut.toml")
        .replace("\"power-cut\"", "\"cpu-limit\"")
        .replace("fenced = [\"first\"], isr_size = 2, ", "")
        .replace("unfenced = [\"first\"], isr_size = 3, ", "");
    fs::write(private.folder.0.join("limited.toml"), scenario).unwrap();
    let run = private.run(&format!(
        "{hide}; \"$ACKALL\" run --no-progress --out \"$HERE/runs\" limited.toml"
    ));
    assert_eq!(run.code(), 69, "{}", run.said());
    let told = rows(&private, hide);
    let told = row(&told, "cgroup cpu");
    for words in ["why_not", "remedy"] {
        assert!(
            run.err.contains(told[words].as_str().unwrap()),
            "{told}: {}",
            run.err
        );
    }
    assert!(
        run.err.contains("cpu-limit") && run.err.lines().count() == 3,
        "{}",
        run.err
    );
    assert_eq!(before.left(&private.folder.0), [""; 0]);
}

#[test]
fn disks_that_are_real_file_systems_need_loops_and_tools() {
    let _ground = ground();
    let Some(private) = Private::of_root("no-loops") else {
        return;
    };
    let before = Machine::now();
    let disks = ["loop device, ext4, shutdown", "loop device, xfs, shutdown"];
    let loops = "mkdir -p \"$HERE/none\"; for loop in /dev/loop*; do mount --bind /dev/null \"$loop\"; done";
    taken_away(&private, loops, &disks, "", "loop");
    for (tool, disk, package) in [
        ("mkfs.ext4", disks[0], "e2fsprogs"),
        ("mkfs.xfs", disks[1], "xfsprogs"),
    ] {
        let hide = format!(
            "for at in $(echo \"$PATH:/usr/sbin:/sbin\" | tr : ' '); do \
               if [ -e \"$at/{tool}\" ]; then mount --bind /dev/null \"$at/{tool}\" || true; fi; done"
        );
        taken_away(&private, &hide, &[disk], tool, package);
    }
    assert_eq!(before.left(&private.folder.0), [""; 0]);
}

#[test]
fn an_ordinary_user_is_told_what_needs_root() {
    let _ground = ground();
    let Some(private) = Private::of_root("ordinary").filter(|_| setpriv_is_there()) else {
        return;
    };
    let told = rows(
        &private,
        &format!("exec setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups -- \\"),
    );
    for name in [
        "cgroup cpu",
        "loop device, ext4, shutdown",
        "loop device, xfs, shutdown",
    ] {
        let told = row(&told, name);
        assert_eq!(told["available"], false, "{told}");
        assert!(!told["remedy"].as_str().unwrap().is_empty(), "{told}");
    }
}

#[test]
fn java_that_is_not_on_the_path_is_told() {
    let _ground = ground();
    let Some(private) = Private::new("no-java") else {
        return;
    };
    let told = rows(&private, "export PATH=\"$HERE\"");
    let told = row(&told, "Java");
    assert_eq!(told["available"], false, "{told}");
    assert!(told["remedy"].as_str().unwrap().contains("openjdk"), "{told}");
}
