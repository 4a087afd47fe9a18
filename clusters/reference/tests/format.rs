//! Formatting a folder, and what is refused.

mod support;

use reference::config::Config;
use reference::{format, node};
use support::Folder;

fn config(folder: &Folder) -> Config {
    let text = format!(
        "process.roles=controller\nnode.id=100\ncontroller.quorum.voters=100@127.0.0.1:1\n\
         listeners=CONTROLLER://127.0.0.1:0\nlog.dirs={}\n",
        folder.path().join("a/b").display()
    );
    Config::parse("test", &text).unwrap()
}

#[test]
fn a_folder_is_formatted_once() {
    let folder = Folder::new();
    let config = config(&folder);
    let levels = format::features(&["eligible.leader.replicas.version=0".into()]).unwrap();
    format::format(&config, "c", &levels, false).unwrap();
    let properties = folder.path().join("a/b/meta.properties");
    let before = std::fs::read_to_string(&properties).unwrap();
    assert!(
        before.contains("cluster.id=c") && before.contains("node.id=100"),
        "{before}"
    );
    let refused = format::format(&config, "d", &levels, false)
        .unwrap_err()
        .to_string();
    assert!(refused.contains("formatted already"), "{refused}");
    assert_eq!(refused.lines().count(), 3);
    format::format(&config, "d", &levels, true).unwrap();
    assert_eq!(std::fs::read_to_string(&properties).unwrap(), before);
}

#[test]
fn features_have_names_and_levels() {
    assert_eq!(
        format::features(&[]).unwrap()["eligible.leader.replicas.version"],
        1
    );
    for bad in [
        "x",
        "x=1",
        "eligible.leader.replicas.version=2",
        "eligible.leader.replicas.version=",
    ] {
        assert!(format::features(&[bad.into()]).is_err(), "{bad}");
    }
}

#[test]
fn an_unformatted_folder_is_not_started() {
    let folder = Folder::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let (_stop, stopped) = tokio::sync::watch::channel(false);
    let refused = runtime
        .block_on(node::run(config(&folder), stopped))
        .unwrap_err()
        .to_string();
    assert!(refused.contains("not formatted"), "{refused}");
}
