//! Holds the crates' dependencies to the arrows of ARCHITECTURE.md: any edge that is not drawn there is an error.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// A leaf that everyone may use, and does not stand in the arrows.
const LEAF: &str = "history";

type Graph = BTreeMap<String, BTreeSet<String>>;

/// The arrows as ARCHITECTURE.md draws them.
fn drawn() -> Graph {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/ARCHITECTURE.md")).unwrap();
    let arrow = |line: &str| {
        let (from, to) = line.trim().split_once('→')?;
        let to = to.split(',').map(|name| name.trim().to_string()).collect();
        Some((from.trim().to_string(), to))
    };
    text.lines()
        .filter(|line| line.starts_with("    "))
        .filter_map(arrow)
        .collect()
}

/// The edges of the build, between crates of the workspace; development dependencies apart.
fn built() -> Graph {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let name = |value: &serde_json::Value| value["name"].as_str().unwrap().to_string();
    let ours: BTreeSet<String> = packages.iter().map(&name).collect();
    let edges = |package: &serde_json::Value| {
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        let normal = dependencies
            .filter(|dependency| dependency["kind"] != "dev")
            .map(&name);
        normal
            .filter(|to| ours.contains(to) && to != LEAF)
            .collect::<BTreeSet<_>>()
    };
    packages
        .iter()
        .map(|package| (name(package), edges(package)))
        .filter(|(_, to)| !to.is_empty())
        .collect()
}

fn not_drawn(built: &Graph, drawn: &Graph) -> Vec<(String, String)> {
    let none = BTreeSet::new();
    let mut wrong = Vec::new();
    for (from, edges) in built {
        for to in edges.difference(drawn.get(from).unwrap_or(&none)) {
            wrong.push((from.clone(), to.clone()));
        }
    }
    wrong
}

#[test]
fn every_edge_of_the_build_is_drawn_and_every_drawn_one_is_built() {
    let (built, drawn) = (built(), drawn());
    assert_eq!(
        not_drawn(&built, &drawn),
        [],
        "edges that ARCHITECTURE.md does not draw"
    );
    assert_eq!(
        not_drawn(&drawn, &built),
        [],
        "edges that ARCHITECTURE.md draws and nobody needs"
    );
}

#[test]
fn an_edge_from_the_harness_to_the_reference_cluster_would_be_found() {
    let (mut built, drawn) = (built(), drawn());
    built.get_mut("harness").unwrap().insert("reference".into());
    assert_eq!(
        not_drawn(&built, &drawn),
        [("harness".to_string(), "reference".to_string())]
    );
}

#[test]
fn the_checker_depends_on_no_runtime_and_no_system_calls() {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--offline",
            "-p",
            "checker",
            "--edges",
            "normal",
            "--prefix",
            "none",
            "--target",
            "all",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let tree = String::from_utf8(output.stdout).unwrap();
    assert!(tree.contains("history v"), "{tree}");
    for forbidden in ["tokio v", "nix v", "libc v"] {
        assert!(!tree.contains(forbidden), "{forbidden}:\n{tree}");
    }
}
