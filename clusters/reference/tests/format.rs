//! Formatting a folder, and what is refused.

mod support;

use reference::config::Config;
use reference::format::{self, Initial, Request};
use reference::{Failure, node};
use storage::meta_properties::MetaProperties;
use storage::{ControlType, SnapshotId, SnapshotReader, format_uuid, parse_uuid};
use support::Folder;

const STATIC: &str = "controller.quorum.voters=100@127.0.0.1:1";
const DYNAMIC: &str = "controller.quorum.bootstrap.servers=127.0.0.1:1";
const DIRECTORY: &str = "AAAAAAAAAAAAAAAAAAAD6A";

fn config_of(folder: &Folder, role: &str, quorum: &str) -> Config {
    let (id, listener) = if role == "broker" {
        (1, "PLAINTEXT")
    } else {
        (100, "CONTROLLER")
    };
    let text = format!(
        "process.roles={role}\nnode.id={id}\n{quorum}\nlisteners={listener}://127.0.0.1:9093\nlog.dirs={}\n",
        folder.path().join("a/b").display()
    );
    Config::parse("test", &text).unwrap()
}

fn config(folder: &Folder) -> Config {
    config_of(folder, "controller", STATIC)
}

fn request() -> Request {
    Request::new("c", format::features(&[]).unwrap())
}

fn of(initial: Initial) -> Request {
    Request { initial, ..request() }
}

fn named(list: &[&str]) -> Result<Initial, Failure> {
    let list: Vec<String> = list.iter().map(|text| text.to_string()).collect();
    Initial::of_options(false, &list, false)
}

fn refused(config: &Config, request: &Request, word: &str) {
    let refused = format::format(config, request).unwrap_err().to_string();
    assert!(refused.contains(word), "{word}: {refused}");
    assert_eq!(refused.lines().count(), 3, "{refused}");
}

/// The voters that a formatted folder names: id, folder, endpoint.
fn voters(folder: &Folder) -> Vec<(i32, String, String)> {
    use kafka_protocol::protocol::Decodable;
    let metadata = folder.path().join("a/b/__cluster_metadata-0");
    let snapshot = SnapshotReader::open(&metadata, SnapshotId::BOOTSTRAP).unwrap();
    let [version, voters] = &snapshot.header().quorum[..] else {
        panic!("{:?}", snapshot.header())
    };
    // By hand from the format: version of the body, kraft.version 1, no tagged fields.
    assert_eq!(version.control_type, ControlType::KRaftVersion);
    assert_eq!(version.value[..], [0, 0, 0, 1, 0]);
    assert_eq!(voters.control_type, ControlType::KRaftVoters);
    let mut body = voters.value.clone();
    let record = kafka_protocol::messages::VotersRecord::decode(&mut body, 0).unwrap();
    let voter = |voter: &kafka_protocol::messages::voters_record::Voter| {
        let versions = &voter.k_raft_version_feature;
        assert_eq!(
            (versions.min_supported_version, versions.max_supported_version),
            (0, 1)
        );
        let [endpoint] = &voter.endpoints[..] else {
            panic!("{voter:?}")
        };
        (
            voter.voter_id.0,
            format_uuid(voter.voter_directory_id),
            format!("{}://{}:{}", endpoint.name, endpoint.host, endpoint.port),
        )
    };
    record.voters.iter().map(voter).collect()
}

fn properties(folder: &Folder) -> MetaProperties {
    MetaProperties::read(&folder.path().join("a/b/meta.properties"))
        .unwrap()
        .unwrap()
}

#[test]
fn a_folder_is_formatted_once() {
    let folder = Folder::new();
    let config = config(&folder);
    format::format(&config, &request()).unwrap();
    let path = folder.path().join("a/b/meta.properties");
    let before = std::fs::read_to_string(&path).unwrap();
    assert!(
        before.contains("cluster.id=c") && before.contains("node.id=100"),
        "{before}"
    );
    let mut other = Request {
        cluster_id: "d".into(),
        ..request()
    };
    refused(&config, &other, "formatted already");
    other.ignore_formatted = true;
    format::format(&config, &other).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
    assert!(!folder.path().join("a/b/__cluster_metadata-0").exists());
}

#[test]
fn features_have_names_and_levels() {
    assert_eq!(
        format::features(&[])
            .unwrap()
            .get("eligible.leader.replicas.version"),
        Some(1)
    );
    for bad in [
        "x",
        "x=1",
        "eligible.leader.replicas.version=2",
        "eligible.leader.replicas.version=",
        "kraft.version=2",
    ] {
        assert!(format::features(&[bad.into()]).is_err(), "{bad}");
    }
    // Which of two levels was meant nobody knows.
    let level = |level: i16| format!("eligible.leader.replicas.version={level}");
    assert!(format::features(&[level(1)]).is_ok() && format::features(&[level(1), level(0)]).is_err());
}

#[test]
fn a_controller_alone_begins_a_quorum() {
    let folder = Folder::new();
    format::format(
        &config_of(&folder, "controller", DYNAMIC),
        &Request {
            directory_id: parse_uuid(DIRECTORY),
            ..of(Initial::Standalone)
        },
    )
    .unwrap();
    assert_eq!(format_uuid(properties(&folder).directory_id), DIRECTORY);
    assert_eq!(
        voters(&folder),
        [(100, DIRECTORY.into(), "CONTROLLER://127.0.0.1:9093".into())]
    );
}

#[test]
fn several_controllers_begin_a_quorum_and_each_takes_its_id_from_the_list() {
    let folder = Folder::new();
    let list = [
        "100@127.0.0.1:9093:AAAAAAAAAAAAAAAAAAAD6A",
        "101@[::1]:9094:AAAAAAAAAAAAAAAAAAAD6Q",
    ];
    let initial = named(&list).unwrap();
    format::format(&config_of(&folder, "controller", DYNAMIC), &of(initial.clone())).unwrap();
    assert_eq!(format_uuid(properties(&folder).directory_id), DIRECTORY);
    assert_eq!(
        voters(&folder)[1],
        (
            101,
            "AAAAAAAAAAAAAAAAAAAD6Q".into(),
            "CONTROLLER://::1:9094".into()
        )
    );
    // A broker may be told the same list: it is none of them, and hears of them from the leader.
    let folder = Folder::new();
    format::format(&config_of(&folder, "broker", DYNAMIC), &of(initial)).unwrap();
    assert!(!folder.path().join("a/b/__cluster_metadata-0").exists());
}

#[test]
fn who_joins_begins_with_an_empty_log() {
    for (role, initial) in [
        ("controller", Initial::InTheLog),
        ("broker", Initial::InTheLog),
        ("broker", Initial::Unsaid),
    ] {
        let folder = Folder::new();
        format::format(&config_of(&folder, role, DYNAMIC), &of(initial)).unwrap();
        assert_eq!(properties(&folder).cluster_id, "c");
        assert!(!folder.path().join("a/b/__cluster_metadata-0").exists());
    }
}

#[test]
fn contradictions_are_refused_and_nothing_is_written() {
    let folder = Folder::new();
    let (fixed, dynamic) = (config(&folder), config_of(&folder, "controller", DYNAMIC));
    let broker = config_of(&folder, "broker", DYNAMIC);
    let list = named(&["100@127.0.0.1:9093:AAAAAAAAAAAAAAAAAAAD6A"]).unwrap();
    refused(&fixed, &of(Initial::Standalone), "controller.quorum.voters");
    refused(&fixed, &of(list.clone()), "controller.quorum.voters");
    refused(&dynamic, &of(Initial::Unsaid), "--no-initial-controllers");
    refused(&broker, &of(Initial::Standalone), "only a controller votes");
    let asked = Request {
        directory_id: parse_uuid("AAAAAAAAAAAAAAAAAAAD6Q"),
        ..of(list)
    };
    refused(&dynamic, &asked, "AAAAAAAAAAAAAAAAAAAD6Q");
    for (bad, word) in [
        (
            ["100@a:1:AAAAAAAAAAAAAAAAAAAD6A", "100@b:2:AAAAAAAAAAAAAAAAAAAD6Q"],
            "Node 100 occurs twice",
        ),
        (
            ["100@a:1:AAAAAAAAAAAAAAAAAAAD6A", "101@b:2:AAAAAAAAAAAAAAAAAAAD6A"],
            "each folder has its own",
        ),
    ] {
        refused(&dynamic, &of(named(&bad).unwrap()), word);
    }
    refused(
        &broker,
        &of(named(&["1@a:1:AAAAAAAAAAAAAAAAAAAD6A"]).unwrap()),
        "only controllers vote",
    );
    for (config, level) in [(&fixed, 1), (&dynamic, 0)] {
        let levels = format::features(&[format!("kraft.version={level}")]).unwrap();
        let request = Request {
            initial: Initial::InTheLog,
            ..Request::new("c", levels)
        };
        refused(config, &request, "kraft.version");
    }
    for bad in ["", " c", "c\nd"] {
        refused(
            &fixed,
            &Request::new(bad, format::features(&[]).unwrap()),
            "--cluster-id",
        );
    }
    assert!(!folder.path().join("a").exists());
}

#[test]
fn a_malformed_controller_is_refused() {
    for bad in [
        "",
        "100",
        "x@h:1:AAAAAAAAAAAAAAAAAAAD6A",
        "-1@h:1:AAAAAAAAAAAAAAAAAAAD6A",
        "100@h:1",
        "100@:1:AAAAAAAAAAAAAAAAAAAD6A",
        "100@h:0:AAAAAAAAAAAAAAAAAAAD6A",
        "100@h:70000:AAAAAAAAAAAAAAAAAAAD6A",
        "100@h:1:x",
        "100@h:1:AAAAAAAAAAAAAAAAAAAAAA",
    ] {
        let refused = named(&[bad]).unwrap_err().to_string();
        assert_eq!(refused.lines().count(), 3, "{refused}");
    }
}

#[test]
fn a_format_that_was_interrupted_is_done_again_and_a_log_is_never_written_over() {
    let folder = Folder::new();
    let config = config_of(&folder, "controller", DYNAMIC);
    format::format(&config, &of(Initial::Standalone)).unwrap();
    std::fs::remove_file(folder.path().join("a/b/meta.properties")).unwrap();
    format::format(&config, &of(Initial::Standalone)).unwrap();
    let own = format_uuid(properties(&folder).directory_id);
    assert_eq!(voters(&folder)[0].1, own);
    std::fs::remove_file(folder.path().join("a/b/meta.properties")).unwrap();
    let log = folder
        .path()
        .join("a/b/__cluster_metadata-0/00000000000000000000.log");
    std::fs::write(&log, "records").unwrap();
    refused(&config, &of(Initial::Standalone), "yet a metadata log");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "records");
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
