//! Bad input and poor machines: three lines (what, why, what next), the exit status, and nothing left behind. And an
//! ordinary user, to whom the devices are open, has a whole run.
#![cfg(target_os = "linux")]

mod support;

use std::fs;
use std::process::Output;
use support::answers::{FALLEN, wrong};
use support::machine::Machine;
use support::private::{Private, devices, setpriv_is_there};
use support::{Folder, ackall, ground, is_root, skipped};

/// What an error must be: its status, and words of its three lines.
struct Expected<'a> {
    code: i32,
    says: &'a [&'a str],
}

fn is_three_lines(what: &str, err: &str, code: Option<i32>, expected: &Expected<'_>) {
    assert_eq!(code, Some(expected.code), "{what}: {err}");
    let lines: Vec<&str> = err.lines().collect();
    let [first, why, next] = lines[..] else {
        panic!("{what}: {} lines: {err}", lines.len())
    };
    let form = first.starts_with("error: ") && why.starts_with("  why: ") && next.starts_with("  next: ");
    assert!(form, "{what}: {err}");
    assert!(next.len() > "  next: ".len() + 3, "{what}: {err}");
    for word in expected.says {
        assert!(err.contains(word), "{what} should say {word:?}: {err}");
    }
}

/// `--json` says the same on standard output.
fn is_json_error(what: &str, output: &Output, code: i32) {
    let said: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{what}: {e}: {}", String::from_utf8_lossy(&output.stdout)));
    let error = said["error"].as_object().unwrap();
    assert_eq!(error["code"], code, "{said}");
    assert!(
        !error["message"].as_str().unwrap().is_empty() && !error["help"].as_str().unwrap().is_empty(),
        "{said}"
    );
}

/// Runs in an empty folder, which must stay empty.
fn refused(what: &str, args: &[&str], expected: &Expected<'_>) {
    let folder = Folder::new("refused");
    let before = Machine::now();
    let run = |json: &[&str]| {
        ackall()
            .args(args)
            .args(json)
            .current_dir(&folder.0)
            .output()
            .unwrap()
    };
    let output = run(&[]);
    is_three_lines(
        what,
        &String::from_utf8_lossy(&output.stderr),
        output.status.code(),
        expected,
    );
    assert_eq!(output.stdout, b"", "{what}");
    let output = run(&["--json"]);
    assert_eq!(output.status.code(), Some(expected.code), "{what}");
    is_json_error(what, &output, expected.code);
    assert_eq!(
        fs::read_dir(&folder.0).unwrap().count(),
        0,
        "{what} left something"
    );
    assert_eq!(before.left(&folder.0), [""; 0]);
}

#[test]
fn wrong_words_are_told_in_three_lines() {
    let cases: [(&[&str], &[&str]); 13] = [
        (
            &["run", "last-replica-standin"],
            &["last-replica-standin", "last-replica-standing"],
        ),
        (&["last-replica-standin"], &["last-replica-standing"]),
        (
            &["run", "--set", "log.flush.interval.message=1"],
            &["log.flush.interval.message", "log.flush.interval.messages"],
        ),
        (&["run", "--set", "nonsense"], &["KEY=VALUE"]),
        (
            &["run", "--feature", "eligible.leader.replica.version=0"],
            &["eligible.leader.replicas.version"],
        ),
        (
            &["run", "--feature", "eligible.leader.replicas.version=7"],
            &["eligible.leader.replicas.version"],
        ),
        (&["run", "--seeds", "5..3"], &["5..3"]),
        (&["run", "--seed", "9007199254740992"], &["9007199254740992"]),
        (&["run", "--time", "60s"], &["--time"]),
        (&["run", "calm", "--time", "soon"], &["soon"]),
        (&["run", "--no-such-flag"], &["--no-such-flag"]),
        (&["analyze", "no-such-run"], &["no-such-run"]),
        (&["run", "no/such/file.toml"], &["no/such/file.toml"]),
    ];
    for (args, says) in cases {
        refused(&args.join(" "), args, &Expected { code: 64, says });
    }
}

#[test]
fn a_broken_scenario_is_told_with_its_line() {
    let whole = String::from_utf8(ackall().args(["scenarios", "calm"]).output().unwrap().stdout).unwrap();
    let folder = Folder::new("broken");
    let line_of = |text: &str, of: &str| {
        format!(
            "line {}",
            text.lines().position(|line| line.contains(of)).unwrap() + 1
        )
    };
    let broken = [
        whole.replace("partitions = 1", "partitions = \"one\""),
        whole.replace("partitions = 1", "partitions = = 1"),
        whole.replace("replication_factor = 3", "replication_facto = 3"),
    ];
    for (n, (text, at)) in broken
        .iter()
        .zip(["partitions", "partitions", "replication_facto"])
        .enumerate()
    {
        assert_ne!(*text, whole);
        let path = folder.0.join(format!("broken-{n}.toml"));
        fs::write(&path, text).unwrap();
        let path = path.to_str().unwrap();
        refused(
            path,
            &["run", path],
            &Expected {
                code: 64,
                says: &[path, &line_of(text, at)],
            },
        );
    }
    for (n, bytes) in [&b"\xff\xfe\x00"[..], b"", &[b'['; 100_000]]
        .into_iter()
        .enumerate()
    {
        let path = folder.0.join(format!("bytes-{n}.toml"));
        fs::write(&path, bytes).unwrap();
        let path = path.to_str().unwrap();
        refused(
            path,
            &["run", path],
            &Expected {
                code: 64,
                says: &[path],
            },
        );
    }
}

#[test]
fn a_run_folder_in_use_is_refused_and_kept() {
    let folder = Folder::new("in-use");
    let kept = folder.0.join("kept");
    fs::write(&kept, "mine").unwrap();
    let path = folder.0.to_str().unwrap();
    refused(
        "--run-dir",
        &["run", "--run-dir", path],
        &Expected {
            code: 64,
            says: &[path, "in use"],
        },
    );
    assert_eq!(fs::read(&kept).unwrap(), b"mine");
    let file = kept.to_str().unwrap();
    let output = ackall().args(["run", "--run-dir", file]).output().unwrap();
    assert_eq!(
        output.status.code().unwrap() & !7,
        64,
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(fs::read(&kept).unwrap(), b"mine");
}

/// A machine that lacks something: `run` and `doctor` say what, and leave nothing.
fn lacks(what: &str, private: &Private, script: &str, says: &[&str]) {
    let before = Machine::now();
    let run = private.run(&format!(
        "{script} \"$ACKALL\" run --no-progress --out \"$HERE/runs\""
    ));
    is_three_lines(what, &run.err, run.status.code(), &Expected { code: 69, says });
    let doctor = private.run(&format!("{script} \"$ACKALL\" doctor --json"));
    assert_eq!(doctor.code(), 69, "{what}: {}", doctor.said());
    let probes: Vec<serde_json::Value> = serde_json::from_str(&doctor.out).unwrap();
    let missing: Vec<&serde_json::Value> = probes
        .iter()
        .filter(|probe| probe["available"] == false)
        .collect();
    assert!(!missing.is_empty(), "{what}: {}", doctor.out);
    for probe in missing {
        let told = ["why_not", "remedy"]
            .iter()
            .all(|field| !probe[*field].as_str().unwrap().is_empty());
        assert!(
            told && probe["remedy"].as_str().unwrap().lines().count() == 1,
            "{what}: {probe}"
        );
    }
    let left = fs::read_dir(private.folder.0.join("here/runs")).unwrap().count();
    assert_eq!(left, 0, "{what} left something");
    assert_eq!(before.left(&private.folder.0), [""; 0]);
}

#[test]
fn closed_devices_are_told() {
    let _ground = ground();
    let Some(private) = Private::of_root("devices").filter(|_| setpriv_is_there()) else {
        return;
    };
    for (fuse, tun, says) in [("600", "666", "/dev/fuse"), ("666", "600", "/dev/net/tun")] {
        let script = devices(fuse, tun) + "as_nobody";
        lacks(says, &private, &script, &[says, "chmod 0666"]);
    }
}

#[test]
fn forbidden_namespaces_are_told() {
    let _ground = ground();
    let Some(private) = Private::new("namespaces").filter(|_| setpriv_is_there()) else {
        return;
    };
    let runs = "mkdir -p \"$HERE/runs\"; chmod 777 \"$HERE/runs\";";
    // A user whom a user namespace does not know may make no namespaces at all.
    lacks(
        "an unknown user",
        &private,
        &format!("{runs} exec unshare --user --"),
        &["namespaces"],
    );
    // Root whose rights were taken, as in a container.
    let bare = format!("{runs} exec setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin --");
    lacks(
        "root without rights",
        &private,
        &bare,
        &["namespaces", "--privileged"],
    );
    if !is_root() {
        skipped(
            "root",
            "a limit on user namespaces for another user is root's to set",
        );
        return;
    }
    lacks(
        "no user namespaces",
        &private,
        &format!("{runs} {NONE_LEFT}; none_left"),
        &["namespaces", "max_user_namespaces"],
    );
}

/// A user namespace of two users, whose limit on further ones is none: the machine's own limit is nobody's to touch.
/// The map is written from outside; who enters before it is there has no rights until the next exec.
const NONE_LEFT: &str = r#"
    none_left() {
        rm -f "$HERE/go"; mkfifo "$HERE/go"; exec 3<>"$HERE/go"
        unshare --user -- sh -c 'read go; exec sh -euc "
            echo 0 > /proc/sys/user/max_user_namespaces
            exec setpriv --reuid 65534 --regid 65534 --clear-groups -- \"\$@\"" sh "$@"' sh "$@" <"$HERE/go" 3<&- &
        inner=$!
        until [ "$(readlink /proc/$inner/ns/user)" != "$(readlink /proc/self/ns/user)" ]; do sleep 0.01; done
        for map in uid_map gid_map; do printf '0 0 1\n65534 65534 1\n' > /proc/$inner/$map; done
        echo go >&3
        wait $inner
    }"#;

#[test]
fn no_room_at_the_start_is_told() {
    let _ground = ground();
    let Some(private) = Private::new("no-room") else {
        return;
    };
    let before = Machine::now();
    let small = "mount -t tmpfs -o size=64m none \"$HERE\"; mkdir \"$HERE/runs\"; cd \"$HERE/runs\";";
    let run = private.run(&format!(
        "{small} \"$ACKALL\" run --out \"$HERE/runs\" || code=$?; ls \"$HERE/runs\"; exit $code"
    ));
    is_three_lines(
        "no room",
        &run.err,
        run.status.code(),
        &Expected {
            code: 69,
            says: &["MiB", "--out"],
        },
    );
    assert_eq!(run.out, "", "files are left");
    let doctor = private.run(&format!("{small} \"$ACKALL\" doctor --json"));
    assert_eq!(doctor.code(), 69, "{}", doctor.said());
    assert!(doctor.out.contains("space"), "{}", doctor.out);
    assert_eq!(before.left(&private.folder.0), [""; 0]);
}

#[test]
fn a_disk_that_fills_during_the_run_is_told() {
    let _ground = ground();
    let Some(private) = Private::new("fills") else {
        return;
    };
    let before = Machine::now();
    // Room enough at first; under load the file system is made as small as what is in it, and a little more.
    let script = "mount -t tmpfs -o size=2g none \"$HERE\"
        \"$ACKALL\" run calm --time 60s --seed 1 --run-dir \"$HERE/run\" --no-progress & front=$!
        until grep -q '\"f\":\"send\"' \"$HERE/run/history.jsonl\" 2>/dev/null; do
            kill -0 $front; sleep 0.05
        done
        for more in 256 512 1024 2048 4096; do
            used=$(df -k --output=used \"$HERE\" | tail -n 1)
            mount --options-mode=ignore -o remount,size=$((used + more))k \"$HERE\" 2>/dev/null && break
        done
        wait $front || code=$?
        test ! -e \"$HERE/run/result.json\"
        exit $code";
    let run = private.run(script);
    is_three_lines(
        "a full disk",
        &run.err,
        run.status.code(),
        &Expected {
            code: 70,
            says: &["No space", "--out"],
        },
    );
    assert_eq!(before.left(&private.folder.0), [""; 0]);
}

#[test]
fn an_ordinary_user_with_open_devices_has_a_whole_run() {
    let _ground = ground();
    let Some(private) = Private::of_root("user").filter(|_| setpriv_is_there()) else {
        return;
    };
    let before = Machine::now();
    let args = FALLEN.args.join(" ");
    let script = devices("666", "666")
        + &format!(
            "as_nobody \"$ACKALL\" run {args} --seed 1 --keep-disks always --run-dir \"$HERE/runs/run\""
        );
    let mut run = private.run(&script);
    run.dir = private.folder.0.join("here/runs/run");
    let wrong = wrong(&FALLEN, &run);
    assert!(wrong.is_empty(), "{}\n{}", wrong.join("\n"), run.said());
    assert_eq!(run.result()["environment"]["as_root"], false);
    assert_eq!(before.left(&private.folder.0), [""; 0]);
}
