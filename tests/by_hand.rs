//! A cluster by hand, as a stranger has it: up, seen from the host, entered, broken, healed, and gone.
//!
//! As root each is done twice: as root, and as an ordinary user.
#![cfg(target_os = "linux")]

mod support;

use client::calls::{Acks, CreateTopic, Fetch, Layout, Produce, TopicRef};
use client::{Connection, Options};
use nix::sys::signal::Signal;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use support::machine::{Machine, Trace, processes, signal};
use support::private::{NOBODY, Private, devices};
use support::{Folder, Started, clean, executable, ground, is_root, skipped, spawn, spawn_on, until};

const TOPIC: &str = "by-hand";
/// How long a state may take to come.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where somebody works by hand: a folder, a folder for sockets, and who it is.
struct Desk {
    folder: Folder,
    user: bool,
    program: PathBuf,
}

impl Desk {
    fn new(name: &str, user: bool) -> Desk {
        let folder = Folder::new(&format!("{name}{}", if user { "-user" } else { "" }));
        let mut program = executable();
        let sockets = folder.0.join("sockets");
        fs::create_dir(&sockets).unwrap();
        if user {
            // To be reached by any user.
            program = folder.0.join("ackall");
            fs::copy(executable(), &program).unwrap();
            for path in [&folder.0, &sockets] {
                std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
            }
        }
        fs::set_permissions(&sockets, fs::Permissions::from_mode(0o700)).unwrap();
        Desk {
            folder,
            user,
            program,
        }
    }

    /// `ackall`, with these words behind it.
    fn ackall(&self, words: &[&str]) -> Command {
        let mut command = clean(match self.user {
            false => Command::new(&self.program),
            true => Command::new("setpriv"),
        });
        if self.user {
            command
                .args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--"])
                .arg(&self.program);
        }
        command
            .args(words)
            .env_remove("ACKALL_NAME")
            .env("XDG_RUNTIME_DIR", self.folder.0.join("sockets"))
            .env("SHELL", "/bin/sh")
            .current_dir(&self.folder.0)
            .stdin(Stdio::null());
        command
    }

    fn say(&self, words: &[&str]) -> Output {
        self.ackall(words).output().unwrap()
    }

    /// What it answers in JSON.
    fn json(&self, words: &[&str]) -> Value {
        let output = self.say(words);
        assert!(output.status.success(), "{words:?}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{words:?}: {e}: {output:?}"))
    }

    /// Refused with this status, in three lines, the second of which says so.
    fn refused(&self, words: &[&str], code: i32, says: &str) {
        let output = self.say(words);
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {output:?}");
        assert_eq!(err.lines().count(), 3, "{words:?}: {err}");
        assert!(err.contains(says), "{words:?}: {err}");
    }

    fn socket(&self, name: &str) -> PathBuf {
        self.folder.0.join("sockets/ackall").join(format!("{name}.sock"))
    }

    /// Up, detached; the state, and what marks its processes.
    fn up(&self, name: &str) -> (Value, String) {
        let mark = format!("{}-{name}-{}", std::process::id(), self.folder.0.display());
        let mut command = self.ackall(&["up", "--detach", "--json", "--seed", "7", "--name", name]);
        let output = command.env(support::MARK, &mark).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        (serde_json::from_slice(&output.stdout).unwrap(), mark)
    }

    fn down(&self, name: &str, trace: &Trace) {
        let began = Instant::now();
        let output = self.say(&["down", "--name", name]);
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            said.contains(&format!("{name} is down: nothing of it is left")),
            "{said}"
        );
        trace.gone(began).unwrap();
        assert!(!self.socket(name).exists());
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        // A test that failed leaves no cluster up; one that did not has none.
        for name in ["default", "other"].iter().filter(|_| std::thread::panicking()) {
            let _ = self.ackall(&["down", "--name", name]).output();
        }
    }
}

/// What of ours is on the machine that was not: others may test there at the same time.
fn left(before: &Machine, desk: &Desk) -> Vec<String> {
    let left = before.left(&desk.folder.0).into_iter();
    left.filter(|what| what.contains("ackall")).collect()
}

/// As root, and as a user where that can be; as whoever we are, else.
fn each(name: &str, test: impl Fn(&Desk)) {
    let _ground = ground();
    test(&Desk::new(name, false));
    if !is_root() {
        return;
    }
    let there = Command::new("setpriv")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    if there.is_err() {
        return skipped("user", "setpriv, of util-linux, is not installed");
    }
    test(&Desk::new(name, true));
}

/// The brokers' addresses on the host, of a state.
fn on_the_host(state: &Value) -> BTreeMap<i32, SocketAddr> {
    let nodes = state["nodes"].as_array().unwrap().iter();
    let address = |node: &Value| {
        Some((
            node["node"].as_i64()? as i32,
            node["host_address"].as_str()?.parse().unwrap(),
        ))
    };
    nodes.filter_map(address).collect()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// The leader of the topic as a client on the host finds it: where one broker says that it is.
async fn leader(any: SocketAddr) -> Option<(i32, i32, SocketAddr)> {
    let mut connection = Connection::connect(any, Options::default()).await.ok()?;
    let metadata = connection.metadata(TOPIC).await.ok()?;
    let partition = metadata.topic.partitions.first()?;
    let broker = metadata
        .brokers
        .iter()
        .find(|broker| broker.node == partition.leader)?;
    let at = SocketAddr::new(broker.host.parse().unwrap(), broker.port as u16);
    Some((partition.leader, partition.leader_epoch, at))
}

/// Produces by way of one broker until it is acknowledged, and reads it back; who led.
fn produced(any: SocketAddr, value: &str) -> i32 {
    runtime().block_on(async {
        let began = Instant::now();
        loop {
            assert!(began.elapsed() < PATIENCE, "{value} was not acknowledged");
            tokio::time::sleep(Duration::from_millis(20)).await;
            let Some((node, epoch, at)) = leader(any).await else {
                continue;
            };
            let Ok(mut connection) = Connection::connect(at, Options::default()).await else {
                continue;
            };
            let record = Produce {
                topic: TopicRef::named(TOPIC),
                partition: 0,
                acks: Acks::All,
                timeout: Duration::from_secs(1),
                timestamp_ms: 0,
                value: value.to_string().into(),
            };
            let Ok(answer) = connection.produce(&record).await else {
                continue;
            };
            let Some(offset) = answer.offset.filter(|_| answer.error.is_none()) else {
                continue;
            };
            let fetch = Fetch {
                topic: TopicRef::named(TOPIC),
                partition: 0,
                offset,
                current_leader_epoch: epoch,
                last_fetched_epoch: -1,
                known_high_watermark: None,
                max_wait: Duration::from_millis(500),
                max_bytes: 1 << 20,
            };
            let Ok(fetched) = connection.fetch(&fetch).await else {
                continue;
            };
            let read = format!("{:?}", fetched.batches);
            assert!(read.contains(value), "{value} at {offset}: {read}");
            return node;
        }
    })
}

fn create_topic(any: SocketAddr) {
    let topic = CreateTopic {
        name: TOPIC.into(),
        layout: Layout::Assigned(vec![vec![1, 0, 2]]),
        configs: BTreeMap::from([("min.insync.replicas".into(), "2".into())]),
        timeout: Duration::from_secs(1),
    };
    runtime().block_on(async {
        let mut connection = Connection::connect(any, Options::default()).await.unwrap();
        let created = connection.create_topic(&topic).await.unwrap();
        assert!(created.error.is_none(), "{created:?}");
    });
}

#[test]
fn a_cluster_serves_the_host_is_broken_and_healed_and_leaves_nothing() {
    each("by-hand", |desk| {
        let before = Machine::now();
        let (state, mark) = desk.up("default");
        let trace = Trace::of(&mark);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&desk.socket("default")), 0o600);
        assert_eq!(mode(desk.socket("default").parent().unwrap()), 0o700);
        let hosts = on_the_host(&state);
        assert_eq!(hosts.keys().copied().collect::<Vec<_>>(), [0, 1, 2]);
        assert!(hosts.values().all(|at| at.ip().is_loopback()), "{hosts:?}");
        let active = state["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|node| node["active"] == true);
        assert_eq!(active.count(), 1, "{state}");

        create_topic(hosts[&0]);
        assert_eq!(produced(hosts[&2], "before"), 1);
        // Whoever asks on the host is told addresses of the host.
        let told = runtime().block_on(async {
            let mut connection = Connection::connect(hosts[&0], Options::default()).await.unwrap();
            let brokers = connection.metadata(TOPIC).await.unwrap().brokers.into_iter();
            brokers
                .map(|broker| {
                    (
                        broker.node,
                        SocketAddr::new(broker.host.parse().unwrap(), broker.port as u16),
                    )
                })
                .collect::<BTreeMap<_, _>>()
        });
        assert_eq!(told, hosts);

        // Its leader is cut off from the others, by its role, and another leads.
        let fault = desk.json(&[
            "fault",
            "cut-network",
            &format!("leader:{TOPIC}-0"),
            "--param",
            "way=both",
            "--json",
        ]);
        assert_eq!(
            (&fault["id"], &fault["nodes"][0]),
            (&1.into(), &1.into()),
            "{fault}"
        );
        assert!(
            fault["measured"]["dropped_frames"].as_f64().unwrap() > 0.0,
            "{fault}"
        );
        assert_ne!(produced(hosts[&0], "during"), 1);
        assert_eq!(desk.json(&["fault", "list", "--json"])["faults"][0], fault);
        desk.refused(&["fault", "cut-network", "1"], 2, "in on node 1 already");
        let healed = desk.json(&["fault", "heal", "1", "--json"]);
        assert!(healed["healed"][0]["measured"]["seen_ms"].is_number(), "{healed}");
        assert_eq!(
            desk.json(&["fault", "list", "--json"])["faults"],
            Value::Array(vec![])
        );

        // A power cut, by hand as in a scenario: what was acknowledged before is read again after it.
        let cut = desk.json(&["fault", "power-cut", "0", "2", "--json"]);
        assert!(cut["measured"]["dead_ms"].is_number(), "{cut}");
        let node = |state: &Value, id: i32| {
            state["nodes"]
                .as_array()
                .unwrap()
                .iter()
                .find(|node| node["node"] == id)
                .cloned()
                .unwrap()
        };
        assert_eq!(node(&desk.json(&["ps", "--json"]), 2)["state"], "down");
        assert!(desk.say(&["fault", "heal", "all"]).status.success());
        produced(hosts[&0], "after");
        let leads = |state: &Value| {
            (0..3)
                .map(|id| node(state, id)["leads"].as_i64().unwrap())
                .sum::<i64>()
        };
        assert_eq!(leads(&desk.json(&["ps", "--json"])), 1);

        desk.down("default", &trace);
        assert_eq!(left(&before, desk), [""; 0]);
        assert!(hosts.values().all(|at| TcpStream::connect(at).is_err()));
        // What happened is in the run's folder.
        let run = Path::new(state["run"].as_str().unwrap());
        let history = fs::read_to_string(run.join("history.jsonl")).unwrap();
        assert_eq!(
            history.matches("\"power-cut\"").count(),
            4,
            "asked and measured, in and out"
        );
        assert!(run.join("wire.json").exists());
        assert!(
            !run.join("nodes/0/disk").exists(),
            "disks are not kept unless asked"
        );
    });
}

#[test]
fn a_command_in_a_node_is_in_the_node_and_ends_with_it() {
    each("enter", |desk| {
        let (_, mark) = desk.up("default");
        let inside = |script: &str| desk.say(&["enter", "0", "--", "sh", "-c", script]);
        let said = inside("hostname; readlink /proc/self/ns/net; ls mount; cat /proc/net/fib_trie; exit 7");
        assert_eq!(said.status.code(), Some(7), "{said:?}");
        let text = String::from_utf8_lossy(&said.stdout).into_owned();
        assert!(text.starts_with("node-0\n"), "{text}");
        assert!(
            text.contains("10.9.0.4") && text.contains("meta.properties"),
            "{text}"
        );
        let ours = fs::read_link("/proc/self/ns/net").unwrap();
        assert!(!text.contains(&*ours.to_string_lossy()), "{text}");
        assert_eq!(inside("kill -9 $$").status.code(), Some(137));
        assert_eq!(
            desk.say(&["enter", "0", "--", "/no/such/command"]).status.code(),
            Some(127)
        );
        assert_eq!(
            desk.say(&["enter", "active-controller", "--", "true"])
                .status
                .code(),
            Some(0)
        );
        desk.refused(&["enter", "7"], 64, "there is no node 7");
        desk.refused(&["enter", "all"], 64, "are several nodes");

        // It ends with its node, though whoever entered has stopped meanwhile; and the cut does not wait for that.
        let mut command = desk.ackall(&["enter", "2", "--", "sh", "-c", "echo in; exec sleep 1000"]);
        command.env(support::MARK, format!("{mark}-enter"));
        let mut entered = spawn(command, &desk.folder.0, "entered");
        until("the command", PATIENCE, || {
            entered.said_so_far().contains("in").then_some(())
        });
        signal(entered.front(), Signal::SIGSTOP);
        let began = Instant::now();
        let cut = desk.json(&["fault", "power-cut", "2", "--json"]);
        assert!(cut["measured"]["dead_ms"].as_f64().unwrap() < 1000.0, "{cut}");
        assert!(began.elapsed() < Duration::from_secs(2));
        assert!(!entered.has_ended());
        signal(entered.front(), Signal::SIGCONT);
        let entered = entered.wait();
        assert_eq!(entered.code(), 137, "{}", entered.said());
        assert!(
            entered.err.contains("node 2 has ended, or lost its power"),
            "{}",
            entered.said()
        );
        desk.refused(&["enter", "2"], 2, "has no power");

        // It ends with whoever entered, too, and leaves nothing in the node's way.
        let mut command = desk.ackall(&["enter", "1", "--", "sh", "-c", "echo in; exec sleep 1000"]);
        let own = format!("{mark}-killed");
        command.env(support::MARK, &own);
        let entered = spawn(command, &desk.folder.0, "killed");
        until("the command", PATIENCE, || {
            entered.said_so_far().contains("in").then_some(())
        });
        signal(entered.front(), Signal::SIGKILL);
        assert_eq!(entered.wait().code(), 256 + 9);
        until("its end", PATIENCE, || processes(&own).is_empty().then_some(()));
        let cut = desk.json(&["fault", "power-cut", "1", "--json"]);
        assert!(cut["measured"]["dead_ms"].as_f64().unwrap() < 1000.0, "{cut}");

        desk.down("default", &Trace::of(&mark));
    });
}

#[test]
fn a_shell_in_a_node_has_the_terminal_and_its_jobs() {
    each("shell", |desk| {
        let (_, mark) = desk.up("default");
        let pty = nix::pty::openpty(None, None).unwrap();
        for end in [&pty.master, &pty.slave] {
            let close = nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC);
            nix::fcntl::fcntl(end.as_fd(), close).unwrap();
        }
        let enter = desk.ackall(&["enter", "1"]);
        let mut command = Command::new("setsid");
        command
            .arg("--ctty")
            .arg("--wait")
            .arg(enter.get_program())
            .args(enter.get_args());
        let own = format!("{mark}-shell");
        command.env(support::MARK, &own);
        for (name, value) in enter.get_envs() {
            value.map(|value| command.env(name, value));
        }
        let copy = || Stdio::from(pty.slave.try_clone().unwrap());
        // What is not there yet must not be waited for.
        let flag = nix::fcntl::FcntlArg::F_SETFL(nix::fcntl::OFlag::O_NONBLOCK);
        nix::fcntl::fcntl(pty.master.as_fd(), flag).unwrap();
        let mut shell = command
            .stdin(copy())
            .stdout(copy())
            .stderr(copy())
            .spawn()
            .unwrap();
        drop(pty.slave);
        let mut said = String::new();
        let mut type_and_see = |text: &str, wanted: &str| {
            nix::unistd::write(&pty.master, text.as_bytes()).unwrap();
            until(wanted, PATIENCE, || {
                let mut bytes = [0; 4096];
                let read = nix::unistd::read(&pty.master, &mut bytes).unwrap_or_default();
                said += &String::from_utf8_lossy(&bytes[..read]);
                said.contains(wanted).then(|| said.clear())
            });
        };
        // The command is there when it has been executed, and the terminal is its own then.
        let sleeps = |wanted: bool| {
            until("the command's turn", PATIENCE, || {
                let is = processes(&own)
                    .iter()
                    .any(|process| process.args.first().is_some_and(|arg| arg == "sleep"));
                (is == wanted).then_some(())
            });
        };
        // What is typed is echoed, so the answers differ from it.
        type_and_see("echo on $(hostname)\n", "on node-1");
        type_and_see("sleep 1000\n", "sleep 1000");
        sleeps(true);
        type_and_see("\x03", "^C");
        sleeps(false);
        type_and_see("echo st=$?\n", "st=130");
        type_and_see("sleep 1000\n", "sleep 1000");
        sleeps(true);
        type_and_see("\x1a", "Stopped");
        // A shell that had a job stopped may want to be told twice.
        nix::unistd::write(&pty.master, b"kill -9 %1\nexit 5\nexit 5\n").unwrap();
        let ended = until("the shell's end", PATIENCE, || shell.try_wait().unwrap());
        assert_eq!(ended.code(), Some(5));
        desk.down("default", &Trace::of(&mark));
    });
}

#[test]
fn clusters_go_by_names_and_what_is_unknown_is_refused() {
    each("names", |desk| {
        desk.refused(&["ps"], 64, "no cluster is up");
        desk.refused(&["down", "--name", "no/name"], 64, "a name has");
        let (first, mark) = desk.up("default");
        let (second, other_mark) = desk.up("other");
        assert_ne!(on_the_host(&first), on_the_host(&second));
        for detach in [&["up"][..], &["up", "--detach"]] {
            desk.refused(detach, 64, "one of that name is up");
        }
        desk.refused(
            &["fault", "list", "--name", "third"],
            64,
            "there are default, other",
        );
        desk.refused(&["fault", "cut-netwrok", "0"], 64, "cut-network");
        desk.refused(&["fault", "cut-network", "leder"], 64, "leader");
        desk.refused(&["fault", "cut-network", "9"], 64, "there is no node 9");
        desk.refused(&["fault", "cut-network"], 64, "nobody is meant");
        desk.refused(
            &["fault", "cut-network", "leader"],
            2,
            "no partition is under load",
        );
        desk.refused(&["fault", "delay", "0", "--param", "dely_ms=5"], 64, "delay_ms");
        desk.refused(&["fault", "heal", "7"], 64, "it is not in");
        desk.refused(&["fault", "heal", "x"], 64, "no fault's number");
        // What cannot come up says why to whoever asked for it.
        let own = ["up", "--detach", "--name", "third"];
        let with = |more: &[&str], says: &str| desk.refused(&[&own[..], more].concat(), 64, says);
        with(&["--set", "no.such.thing=1"], "has none of that name");
        with(&["--bug", "no-such-bug"], "has none of that name");
        with(&["--run-dir", "sockets"], "it is not empty");
        let taken = on_the_host(&first)[&0].port().to_string();
        with(&["--port", &taken], &format!("127.0.0.1:{taken}"));
        let json = desk.say(&["up", "--detach", "--json", "--name", "third", "--port", &taken]);
        let error: Value = serde_json::from_slice(&json.stdout).unwrap();
        assert_eq!(error["error"]["code"], 64, "{error}");

        // The end of one is none of the other's.
        desk.down("other", &Trace::of(&other_mark));
        // Ports are chosen, and can be had again at once when a cluster is gone.
        let port = three_in_a_row();
        for round in ["first", "second"] {
            let mark_at = format!("{mark}-{round}");
            let mut again = desk.ackall(&["up", "--detach", "--name", "other", "--port", &port.to_string()]);
            let up = again.env(support::MARK, &mark_at).output().unwrap();
            assert!(up.status.success(), "{}", String::from_utf8_lossy(&up.stderr));
            assert_eq!(
                on_the_host(&desk.json(&["ps", "--name", "other", "--json"]))[&0].port(),
                port
            );
            desk.down("other", &Trace::of(&mark_at));
        }
        assert_eq!(desk.json(&["ps", "--json"])["name"], "default");
        desk.down("default", &Trace::of(&mark));
    });
}

/// The first of three ports of the loopback that nobody has just now.
fn three_in_a_row() -> u16 {
    let at = |port: u16| std::net::TcpListener::bind(("127.0.0.1", port));
    loop {
        let first = at(0).unwrap();
        let port = first.local_addr().unwrap().port();
        let others = [1, 2].map(|further| port.checked_add(further).and_then(|port| at(port).ok()));
        if others.iter().all(Option::is_some) {
            return port;
        }
    }
}

/// Up, in the foreground.
fn in_the_foreground(desk: &Desk, name: &str) -> Started {
    let command = desk.ackall(&["up", "--run-dir", name]);
    let mut run = spawn_on(command, &desk.folder.0, name, Stdio::null());
    until("a cluster", PATIENCE, || {
        assert!(!run.has_ended(), "{}", run.said_so_far());
        // The last line of the table.
        run.said_so_far()
            .contains("controller  -                 10.9.0.3")
            .then_some(())
    });
    run
}

#[test]
fn whichever_part_is_killed_nothing_is_left_and_the_name_is_free() {
    each("killed", |desk| {
        let before = Machine::now();
        for victim in ["front", "__keeper", "__harness", "__forward", "__wire"] {
            let run = in_the_foreground(desk, victim);
            let process = processes(&run.mark)
                .into_iter()
                .find(|process| process.role() == victim || victim == "front" && process.pid == run.front());
            let trace = Trace::of(&run.mark);
            let began = Instant::now();
            signal(
                process.unwrap_or_else(|| panic!("no {victim}")).pid,
                Signal::SIGKILL,
            );
            let run = run.wait();
            trace
                .gone(began)
                .unwrap_or_else(|left| panic!("{victim}: {left}"));
            assert_eq!(
                run.code(),
                if victim == "front" { 256 + 9 } else { 70 },
                "{}",
                run.said()
            );
            assert_eq!(left(&before, desk), [""; 0]);
            desk.refused(&["ps"], 64, "no cluster is up");
        }
        // The killed front's socket stands there, and is taken over.
        let (_, mark) = desk.up("default");
        desk.down("default", &Trace::of(&mark));
    });
}

#[test]
fn ctrl_c_ends_a_cluster_with_what_is_in_and_down_ends_one_in_the_foreground() {
    each("ends", |desk| {
        let run = in_the_foreground(desk, "interrupted");
        let trace = Trace::of(&run.mark);
        assert!(desk.say(&["fault", "pause", "0"]).status.success());
        assert!(desk.say(&["fault", "cut-network", "1"]).status.success());
        let began = Instant::now();
        signal(run.front(), Signal::SIGINT);
        let run = run.wait();
        trace.gone(began).unwrap();
        assert_eq!(run.code(), 130, "{}", run.said());
        assert!(run.err.contains("default is down"), "{}", run.said());
        let history = fs::read_to_string(run.dir.join("history.jsonl")).unwrap();
        let healed = |line: &&str| line.contains("\"heal\"") && line.contains("\"type\":\"ok\"");
        assert_eq!(
            history.lines().filter(healed).count(),
            2,
            "what is in is healed at the end"
        );

        let run = in_the_foreground(desk, "told");
        desk.down("default", &Trace::of(&run.mark));
        let run = run.wait();
        assert_eq!(run.code(), 0, "{}", run.said());
    });
}

#[test]
fn what_a_machine_lacks_is_told_to_whoever_detached() {
    let _ground = ground();
    let Some(private) = Private::of_root("by-hand-lacks") else {
        return;
    };
    let script = devices("666", "600")
        + "mkdir -p \"$HERE/sockets\"
           chown 65534:65534 \"$HERE\" \"$HERE/sockets\"
           cd \"$HERE\"
           export XDG_RUNTIME_DIR=\"$HERE/sockets\"
           as_nobody \"$ACKALL\" up --detach";
    let run = private.run(&script);
    assert_eq!(run.code(), 69, "{}", run.said());
    assert_eq!(run.err.lines().count(), 3, "{}", run.said());
    assert!(run.err.contains("/dev/net/tun"), "{}", run.said());
    let here = private.folder.0.join("here");
    assert!(
        fs::read_dir(here.join("runs")).map_or(0, Iterator::count) == 0,
        "a run's folder is left"
    );
}
