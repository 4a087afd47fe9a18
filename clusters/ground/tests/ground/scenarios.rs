//! The harness's side: what runs inside the ground.

use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use ground::{DiskKind, Event, Ground, NodeSpec, Policy, Port, Program, Signal};

use crate::client::{Client, await_answer};

const BRIEF: Duration = Duration::from_millis(300);
pub const LONG: Duration = Duration::from_secs(10);

pub fn run(scenario: &str) -> ExitCode {
    ground::sys::set_name("ackall-harness");
    ground::act_as_owner().unwrap();
    let bench = Bench::new();
    match scenario {
        "checks" => bench.checks(),
        "pairs" => bench.pairs(),
        "links" => bench.links(),
        "power" => bench.power(),
        "silence" => bench.silence(),
        "hold" => bench.hold(DiskKind::Fuse),
        "hold-ext4" => bench.hold(DiskKind::Ext4),
        "hold-xfs" => bench.hold(DiskKind::Xfs),
        "real-ext4" => bench.real(DiskKind::Ext4),
        "real-xfs" => bench.real(DiskKind::Xfs),
        "real-refused" => bench.real_refused(),
        "polite" => bench.polite(),
        "hang-disk" => bench.hang("ackall-disk"),
        "hang-wire" => bench.hang("ackall-wire"),
        "hang-init" => bench.hang("ackall-init"),
        "exit-7" => return ExitCode::from(7),
        "panic" => panic!("on purpose"),
        "abort" => std::process::abort(),
        other => panic!("no scenario {other}"),
    }
    ExitCode::SUCCESS
}

pub struct Bench {
    pub ground: Ground,
    pub events: Receiver<Event>,
    run_dir: PathBuf,
}

impl Bench {
    fn new() -> Bench {
        let (ground, events) = Ground::attach().unwrap();
        Bench {
            ground,
            events,
            run_dir: std::env::var_os("GROUND_TEST_DIR").unwrap().into(),
        }
    }

    pub fn home(&self, id: i32) -> PathBuf {
        self.run_dir.join(format!("nodes/{id}"))
    }

    fn add(&self, id: i32) -> Ipv4Addr {
        self.add_with(id, DiskKind::Fuse)
    }

    fn add_with(&self, id: i32, disk: DiskKind) -> Ipv4Addr {
        let (home, visible) = (self.home(id), vec![]);
        self.ground
            .add_node(NodeSpec {
                disk,
                id,
                name: format!("n{id}"),
                home,
                visible,
            })
            .unwrap()
    }

    pub fn program(&self, id: i32, argv: &[&str]) -> Program {
        Program {
            argv: argv.iter().map(|arg| arg.to_string()).collect(),
            env: vec![("GREETING".into(), "hello".into())],
            log: self.home(id).join("log"),
            cwd: self.home(id).join("mount"),
        }
    }

    pub fn start_app(&self, id: i32) -> u32 {
        self.ground
            .start(id, self.program(id, &["{self}", "__app"]))
            .unwrap()
            .start
    }

    /// Nodes 1 to 3 with power and program.
    fn three(&self) -> [Ipv4Addr; 3] {
        [1, 2, 3].map(|id| self.up(id, DiskKind::Fuse))
    }

    fn up(&self, id: i32, disk: DiskKind) -> Ipv4Addr {
        let address = self.add_with(id, disk);
        assert_eq!(self.ground.power_on(id).unwrap().address, address);
        self.start_app(id);
        drop(await_answer(address));
        address
    }

    fn ended(&self, expected_node: i32) -> (u32, Option<i32>, Option<i32>) {
        match self.events.recv_timeout(LONG).unwrap() {
            Event::ProgramEnded {
                node,
                start,
                status,
                signal,
                oom,
                ..
            } => {
                assert_eq!((node, oom), (expected_node, false));
                (start, status, signal)
            }
            other => panic!("{other:?}"),
        }
    }

    /// Up and busy, until something ends us.
    fn hold(&self, disk: DiskKind) {
        for address in [1, 2, 3].map(|id| self.up(id, disk)) {
            assert_eq!(await_answer(address).ask("busy").unwrap(), "ok");
        }
        fs::write(self.run_dir.join("ready"), "").unwrap();
        // Events are not heard: an interrupt is ignored.
        loop {
            std::thread::park();
        }
    }

    /// Ends on an interrupt, as a harness should.
    fn polite(&self) {
        fs::write(self.run_dir.join("ready"), "").unwrap();
        match self.events.recv() {
            Ok(Event::Interrupt { signal }) => std::process::exit(128 + signal),
            other => panic!("{other:?}"),
        }
    }

    /// Stops a part that the keeper then waits for.
    fn hang(&self, part: &str) {
        self.add(1);
        self.ground.power_on(1).unwrap();
        let pids = fs::read_dir("/proc").unwrap().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let name = |pid: &i32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let pid = pids.filter(|pid| name(pid).trim() == part).max().unwrap();
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGSTOP).unwrap();
        let answer = match part {
            "ackall-init" => self.ground.signal(1, Signal::Kill).map(drop),
            _ => self.ground.power_off(&[1], 1, Policy::default()).map(drop),
        };
        panic!("the keeper should have ended us: {answer:?}");
    }

    fn pairs(&self) {
        let nodes = crate::pairs::NODES.map(|id| {
            let address = self.add(id);
            self.ground.power_on(id).unwrap();
            self.start_app(id);
            (id, address)
        });
        crate::pairs::check(&self.ground, &nodes);
    }

    fn power(&self) {
        let addresses = self.three();
        crate::power::Zone {
            bench: self,
            addresses,
        }
        .check();
    }

    fn real(&self, kind: DiskKind) {
        let addresses = [1, 2].map(|id| self.up(id, kind));
        crate::real::Pair {
            bench: self,
            kind,
            addresses,
        }
        .check();
    }

    /// Where the machine, or this user, cannot have a real disk.
    fn real_refused(&self) {
        let spec = |id: i32, disk: DiskKind| NodeSpec {
            id,
            name: format!("n{id}"),
            home: self.home(id),
            visible: vec![],
            disk,
        };
        for (id, disk) in [(1, DiskKind::Ext4), (2, DiskKind::Xfs)] {
            let error = self.ground.add_node(spec(id, disk)).unwrap_err();
            assert!(error.machine && error.next.lines().count() == 1, "{error:?}");
            println!("{error}");
        }
    }

    fn silence(&self) {
        let addresses = self.three();
        crate::silence::Silence {
            bench: self,
            addresses,
            raw: crate::raw::Raw::open().ok(),
        }
        .check();
    }

    fn links(&self) {
        let address = self.add(1);
        self.ground.power_on(1).unwrap();
        self.start_app(1);
        crate::links::check(&self.ground, address);
    }

    fn checks(&self) {
        let [one, two, three] = self.three();
        self.a_node_is_a_world_of_its_own(one);
        self.links_are_cut_and_heal(one);
        self.a_stopped_node_answers_later(two);
        self.a_kill_is_loud_and_keeps_what_was_written(two);
        self.a_program_ends_by_itself(three);
        self.a_power_cut_is_silent_and_loses_what_was_not_synced([one, two]);
        self.what_cannot_be_done_is_refused();
    }

    fn a_node_is_a_world_of_its_own(&self, address: Ipv4Addr) {
        let mut client = await_answer(address);
        let seen = client.ask("see").unwrap();
        let log = self.home(1).join("log");
        let quoted = format!("{:?}", log.to_string_lossy());
        assert!(seen.contains("host=n1 "), "{seen}");
        // Standard input, output and error; the listener, this connection (twice, for its two ends), the folder it reads.
        let open = seen.split("open=[").nth(1).unwrap().split(']').next().unwrap();
        let odd = open
            .split(", ")
            .filter(|name| **name != *"\"socket\"" && **name != *"\"/dev/null\"" && **name != *quoted);
        let odd: Vec<&str> = odd.filter(|name| !name.contains("/proc/")).collect();
        assert_eq!(odd, [""; 0], "{seen}");
        // The run's folder may be below /tmp, where it stays seen; else the node's own is empty.
        let expected = usize::from(self.run_dir.starts_with("/tmp"));
        assert!(seen.contains(&format!("tmp={expected} ")), "{seen}");
        assert!(seen.contains("processes=2 "), "{seen}");
        assert!(seen.contains("oom=500"), "{seen}");
        assert_eq!(fs::read_to_string(log).unwrap(), "up\n");
        // The mount is in the node's eyes only; the backing folder shows what it holds.
        client.ask("write seen no text").unwrap();
        assert_eq!(fs::read_dir(self.home(1).join("mount")).unwrap().count(), 0);
        assert_eq!(
            fs::read_to_string(self.home(1).join("disk/seen")).unwrap(),
            "text"
        );
        assert!(self.ground.disk_stats(1).unwrap().written >= 4);
    }

    fn links_are_cut_and_heal(&self, address: Ipv4Addr) {
        let mut client = await_answer(address);
        let mut observer = Client::observe(address, LONG).unwrap();
        assert_eq!(observer.local().to_string(), "10.9.1.254");
        assert_eq!(client.local().to_string(), "10.9.0.254");
        let way = [(Port::Clients, Port::Node(1))];
        self.ground.set_cut(&way, true).unwrap();
        assert!(Client::connect(address, BRIEF).is_err());
        assert_eq!(observer.ask("echo still").unwrap(), "still");
        let count = |from, to| {
            let all = self.ground.counters().unwrap();
            all.into_iter()
                .find(|link| (link.from, link.to) == (from, to))
                .unwrap()
        };
        let cut = count(Port::Clients, Port::Node(1));
        assert!(cut.cut && cut.dropped > 0, "{cut:?}");
        assert!(!count(Port::Node(1), Port::Clients).cut);
        self.ground.set_cut(&way, false).unwrap();
        assert_eq!(client.ask("echo healed").unwrap(), "healed");
        // The other way: requests arrive, answers do not.
        let back = [(Port::Node(1), Port::Clients)];
        self.ground.set_cut(&back, true).unwrap();
        assert!(Client::connect(address, BRIEF).is_err());
        self.ground.set_cut(&back, false).unwrap();
        assert_eq!(client.ask("echo again").unwrap(), "again");
        let whole = count(Port::Clients, Port::Node(1));
        assert!(
            whole.passed > 10 && whole.bytes > 600 && whole.unasked == 0,
            "{whole:?}"
        );
    }

    fn a_stopped_node_answers_later(&self, address: Ipv4Addr) {
        let mut client = await_answer(address);
        let stopped = self.ground.signal(2, Signal::Stop).unwrap();
        assert!(stopped.took_at_ns.unwrap() >= stopped.at_ns);
        // Its kernel still accepts.
        assert!(Client::connect(address, BRIEF).is_ok());
        assert!(client.is_silent_for(BRIEF));
        assert!(
            self.ground
                .signal(2, Signal::Continue)
                .unwrap()
                .took_at_ns
                .is_some()
        );
        assert_eq!(client.ask("echo on").unwrap(), "on");
    }

    fn a_kill_is_loud_and_keeps_what_was_written(&self, address: Ipv4Addr) {
        let mut client = await_answer(address);
        assert_eq!(client.ask("write kept no text").unwrap(), "ok");
        assert!(self.ground.signal(2, Signal::Kill).unwrap().took_at_ns.is_some());
        assert!(
            !client.is_silent_for(LONG),
            "a killed process's kernel closes its connections"
        );
        assert_eq!(self.ended(2), (1, None, Some(9)));
        let refused = Client::connect(address, LONG).err().unwrap();
        assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
        assert_eq!(self.start_app(2), 2);
        assert_eq!(await_answer(address).ask("read kept").unwrap(), "text");
    }

    fn a_program_ends_by_itself(&self, address: Ipv4Addr) {
        self.ground.signal(3, Signal::Terminate).unwrap();
        assert_eq!(self.ended(3), (1, None, Some(15)));
        let shell = self.program(3, &["sh", "-c", "echo $GREETING; exit 3"]);
        let log = shell.log.clone();
        assert_eq!(self.ground.start(3, shell).unwrap().start, 2);
        assert_eq!(self.ended(3), (2, Some(3), None));
        assert_eq!(fs::read_to_string(log).unwrap(), "up\nhello\n");
        self.start_app(3);
        drop(await_answer(address));
    }

    fn a_power_cut_is_silent_and_loses_what_was_not_synced(&self, addresses: [Ipv4Addr; 2]) {
        let before = self.ground.namespaces(1).unwrap();
        let mut held = addresses.map(|address| {
            let mut client = await_answer(address);
            assert_eq!(client.ask("write safe sync text").unwrap(), "ok");
            assert_eq!(client.ask("write lost no text").unwrap(), "ok");
            client
        });
        // A connection between the two nodes' kernels would be loud too; the client's is the one we hold.
        let cuts = self.ground.power_off(&[1, 2], 7, Policy::default()).unwrap();
        assert_eq!(cuts.iter().map(|cut| cut.node).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(cuts[0].cut_at_ns, cuts[1].cut_at_ns);
        assert!(
            cuts.iter()
                .all(|cut| cut.dead_at_ns >= cut.cut_at_ns && cut.loss.bytes >= 4),
            "{cuts:?}"
        );
        assert!(Client::connect(addresses[0], BRIEF).is_err());
        for (id, address) in [(1, addresses[0]), (2, addresses[1])] {
            self.ground.power_on(id).unwrap();
            self.start_app(id);
            let mut client = await_answer(address);
            assert_eq!(client.ask("read safe").unwrap(), "text");
            assert!(client.ask("read lost").unwrap().contains("No such file"));
        }
        // An orphaned FIN of the old life would come within a second or two.
        for client in &mut held {
            assert!(
                client.is_silent_for(Duration::from_millis(1500)),
                "a dead machine says nothing"
            );
        }
        // The new life's kernel knows nothing of it.
        assert!(held[0].ask("echo x").is_err());
        let after = self.ground.namespaces(1).unwrap();
        assert_ne!(before.net_cookie.unwrap(), after.net_cookie.unwrap());
        assert_ne!(before.init, after.init);
        let inodes = [after.pid, after.mnt, after.net, after.uts];
        let other = self.ground.namespaces(2).unwrap();
        assert!(
            [other.pid, other.mnt, other.net, other.uts]
                .iter()
                .all(|inode| !inodes.contains(inode))
        );
        assert!(
            self.events.try_recv().is_err(),
            "a power cut ends programs without an event"
        );
    }

    fn what_cannot_be_done_is_refused(&self) {
        let why = |error: ground::Error| {
            assert!(!error.machine && !error.next.is_empty(), "{error:?}");
            format!("{}: {}", error.what, error.why)
        };
        assert!(why(self.ground.power_on(1).unwrap_err()).contains("has power"));
        assert!(why(self.ground.power_on(9).unwrap_err()).contains("no node 9"));
        assert!(
            why(self
                .ground
                .set_cut(&[(Port::Node(9), Port::Clients)], true)
                .unwrap_err())
            .contains("no node 9")
        );
        let twice = self.ground.start(1, self.program(1, &["true"]));
        assert!(why(twice.unwrap_err()).contains("runs already"));
        assert!(why(self.ground.power_off(&[1, 1], 0, Policy::default()).unwrap_err()).contains("twice"));
        let spec = |id, home: &str| NodeSpec {
            disk: DiskKind::Fuse,
            id,
            name: "x".into(),
            home: home.into(),
            visible: vec![],
        };
        assert!(why(self.ground.add_node(spec(1, "/x")).unwrap_err()).contains("there is a node"));
        assert!(why(self.ground.add_node(spec(8, "/x")).unwrap_err()).contains("not in the run's folder"));
        assert!(!self.home(8).exists());
        self.ground.power_off(&[3], 8, Policy::default()).unwrap();
        assert!(why(self.ground.signal(3, Signal::Stop).unwrap_err()).contains("no power"));
        assert!(why(self.ground.power_off(&[3], 8, Policy::default()).unwrap_err()).contains("no power"));
        self.ground.power_on(3).unwrap();
        assert!(why(self.ground.signal(3, Signal::Terminate).unwrap_err()).contains("no program"));
        assert!(self.ground.signal(3, Signal::Kill).unwrap().took_at_ns.is_some());
        let missing = self.ground.start(3, self.program(3, &["no-such-program"]));
        assert!(why(missing.unwrap_err()).contains("executing it"));
        let nowhere = Program {
            cwd: "/nowhere".into(),
            ..self.program(3, &["true"])
        };
        assert!(why(self.ground.start(3, nowhere).unwrap_err()).contains("working folder"));
        self.start_app(3);
    }
}
