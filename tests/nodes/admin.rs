//! `ackall admin quorum`: what it tells, and what it changes.

use std::process::Output;

use crate::night::{Night, PATIENCE, Voters, admin};
use crate::support::until;

/// Three lines on standard error, and this status.
fn refused(output: &Output, code: i32, words: &[&str]) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert_eq!(said.lines().count(), 3, "{said}");
    for word in words {
        assert!(said.contains(word), "{word:?} is not in: {said}");
    }
}

fn ids(described: &serde_json::Value, list: &str) -> Vec<i64> {
    let mut ids: Vec<i64> = described[list]
        .as_array()
        .unwrap()
        .iter()
        .map(|replica| replica["node"].as_i64().unwrap())
        .collect();
    ids.sort_unstable();
    ids
}

fn until_voters(night: &Night, via: i32, voters: &[i64]) {
    until(&format!("the voters {voters:?}"), PATIENCE, || {
        (ids(&night.described(via), "voters") == voters).then_some(())
    });
}

#[test]
fn fixed_voters_are_described_through_any_node() {
    let mut night = Night::started("admin-fixed", Voters::Fixed, &[100, 101, 102, 0]);
    until("the broker among the observers", PATIENCE, || {
        (ids(&night.described(100), "observers") == [0]).then_some(())
    });
    for via in [100, 101, 102, 0] {
        let told = night.described(via);
        assert_eq!(told["cluster_id"], "night");
        assert_eq!(ids(&told, "voters"), [100, 101, 102]);
        assert!(told["epoch"].as_i64().unwrap() > 0 && told["high_watermark"].as_i64().unwrap() > 0);
        let leads: Vec<_> = told["voters"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|voter| voter["role"] == "leader")
            .map(|voter| voter["node"].clone())
            .collect();
        assert_eq!(leads, [told["leader"].clone()]);
        for voter in told["voters"].as_array().unwrap() {
            let id = voter["node"].as_i64().unwrap() as i32;
            assert_eq!(
                voter["endpoints"][0],
                format!("CONTROLLER://{}", night.address(id))
            );
        }
    }
    let via = night.address(100).to_string();
    let text = admin(&["describe", "--bootstrap-controller", &via]);
    let text = String::from_utf8(text.stdout).unwrap();
    for line in ["cluster id            night", "NODE  DIRECTORY ID"] {
        assert!(text.contains(line), "{text}");
    }
    // Voters that are fixed cannot be changed, and a stranger is not among them.
    let directory = "AAAAAAAAAAAAAAAAAAAD6A";
    for words in [
        ["remove-voter", "--id", "101", "--directory-id", directory].as_slice(),
        &[
            "add-voter",
            "--id",
            "103",
            "--directory-id",
            directory,
            "--listener",
            "CONTROLLER://127.0.0.1:1",
        ],
    ] {
        let output = admin(&[words, &["--bootstrap-controller", &via]].concat());
        refused(&output, 1, &["UNSUPPORTED_VERSION"]);
    }
    // With no majority there is nobody to tell.
    night.kill(101);
    night.kill(102);
    let leaderless = || admin(&["describe", "--bootstrap-controller", &via, "--timeout", "100ms"]);
    until("nobody to tell", PATIENCE, || {
        (!leaderless().status.success()).then_some(())
    });
    refused(&leaderless(), 1, &["nobody answered", "majority"]);
}

#[test]
fn voters_come_and_go() {
    let mut night = Night::started("admin-voters", Voters::InTheLog, &[100, 101, 102, 0]);
    let via = night.address(100).to_string();
    until_voters(&night, 100, &[100]);
    until("all others among the observers", PATIENCE, || {
        (ids(&night.described(100), "observers") == [0, 101, 102]).then_some(())
    });
    let config = night.config(101).display().to_string();
    let added = admin(&["add-voter", "--bootstrap-controller", &via, "--config", &config]);
    assert!(added.status.success(), "{added:?}");
    until_voters(&night, 101, &[100, 101]);
    let again = admin(&["add-voter", "--bootstrap-controller", &via, "--config", &config]);
    refused(&again, 1, &["DUPLICATE_VOTER"]);

    // The other by options, through a broker, which passes it on.
    let told = night.described(0);
    let observers = told["observers"].as_array().unwrap();
    let joining = observers.iter().find(|observer| observer["node"] == 102).unwrap();
    let directory = joining["directory_id"].as_str().unwrap();
    let listener = format!("CONTROLLER://{}", night.address(102));
    let broker = night.address(0).to_string();
    let added = admin(&[
        "add-voter",
        "--bootstrap-server",
        &broker,
        "--id",
        "102",
        "--directory-id",
        directory,
        "--listener",
        &listener,
    ]);
    assert!(added.status.success(), "{added:?}");
    until_voters(&night, 102, &[100, 101, 102]);

    // Of a folder that nobody has, and of a node that nobody is.
    for (id, folder) in [("101", "AAAAAAAAAAAAAAAAAAAD6A"), ("109", directory)] {
        let output = admin(&[
            "remove-voter",
            "--bootstrap-controller",
            &via,
            "--id",
            id,
            "--directory-id",
            folder,
        ]);
        refused(&output, 1, &["VOTER_NOT_FOUND"]);
    }
    let removed = admin(&[
        "remove-voter",
        "--bootstrap-controller",
        &via,
        "--id",
        "102",
        "--directory-id",
        directory,
    ]);
    assert!(removed.status.success(), "{removed:?}");
    until_voters(&night, 100, &[100, 101]);

    // The set outlives all of them: it is in the log.
    for id in [100, 101] {
        night.stop(id);
    }
    for id in [100, 101] {
        night.start(id);
    }
    until_voters(&night, 101, &[100, 101]);
}

#[test]
fn words_that_make_no_sense_are_refused() {
    let bad: [&[&str]; 9] = [
        &["describe"],
        &[
            "describe",
            "--bootstrap-server",
            "a:1",
            "--bootstrap-controller",
            "b:1",
        ],
        &["describe", "--bootstrap-server", "nowhere"],
        &[
            "describe",
            "--bootstrap-server",
            "127.0.0.1:1",
            "--timeout",
            "soon",
        ],
        &["add-voter", "--bootstrap-server", "127.0.0.1:1"],
        &[
            "add-voter",
            "--bootstrap-server",
            "127.0.0.1:1",
            "--config",
            "/nowhere/at/all",
        ],
        &[
            "add-voter",
            "--bootstrap-server",
            "127.0.0.1:1",
            "--id",
            "1",
            "--directory-id",
            "x",
            "--listener",
            "C://h:1",
        ],
        &["remove-voter", "--bootstrap-server", "127.0.0.1:1", "--id", "1"],
        &[
            "remove-voter",
            "--bootstrap-server",
            "127.0.0.1:1",
            "--id",
            "1",
            "--directory-id",
            "-x",
        ],
    ];
    for words in bad {
        refused(&admin(words), 64, &[]);
    }
    let nobody = admin(&[
        "describe",
        "--bootstrap-server",
        "127.0.0.1:1",
        "--timeout",
        "200ms",
        "--json",
    ]);
    refused(&nobody, 1, &["127.0.0.1:1"]);
    let told: serde_json::Value = serde_json::from_slice(&nobody.stdout).unwrap();
    assert_eq!(told["error"]["code"], 1);
}
