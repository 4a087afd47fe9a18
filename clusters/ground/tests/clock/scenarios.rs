//! The harness's side: what runs inside the ground.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ground::{ClockRule, ClockSeen, Ground, NodeSpec, ProcessClock, Program, Signal, Strobe};

use crate::{app, programs, waits};

pub const ALL: &[&str] = &["skew", "lives", "strobe", "refused", "waits", "programs"];
pub const SECOND: i64 = 1_000_000_000;
/// What a process is shown is measured to well below this.
pub const EXACT: i64 = 100_000;
/// What a program says over TCP is as late as a busy machine has it.
pub const TOLD: i64 = 200_000_000;
const LONG: Duration = Duration::from_secs(10);

pub fn run(scenario: &str) -> ExitCode {
    let (ground, _events) = Ground::attach().unwrap();
    let run_dir = std::env::var_os("CLOCK_TEST_DIR").unwrap().into();
    let bench = Bench { ground, run_dir };
    match scenario {
        "skew" => skew(&bench),
        "lives" => lives(&bench),
        "strobe" => strobe(&bench),
        "refused" => refused(&bench),
        "waits" => waits::check(&bench),
        "programs" => programs::check(&bench),
        other => panic!("no scenario {other}"),
    }
    ExitCode::SUCCESS
}

pub struct Bench {
    pub ground: Ground,
    pub run_dir: PathBuf,
}

impl Bench {
    pub fn power(&self, id: i32) -> Ipv4Addr {
        let home = self.run_dir.join(format!("nodes/{id}"));
        let (name, visible) = (format!("n{id}"), vec![]);
        let spec = NodeSpec {
            disk: ground::DiskKind::Fuse,
            id,
            name,
            home,
            visible,
        };
        let address = self.ground.add_node(spec).unwrap();
        self.ground.power_on(id).unwrap();
        address
    }

    pub fn start(&self, id: i32, argv: &[&str]) {
        let home = self.run_dir.join(format!("nodes/{id}"));
        let program = Program {
            argv: argv.iter().map(|arg| arg.to_string()).collect(),
            env: vec![],
            log: home.join("log"),
            cwd: home.join("mount"),
        };
        self.ground.start(id, program).unwrap();
    }

    pub fn log(&self, id: i32) -> String {
        std::fs::read_to_string(self.run_dir.join(format!("nodes/{id}/log"))).unwrap_or_default()
    }

    /// A node with our program, which answers.
    pub fn app(&self, id: i32) -> Client {
        let address = self.power(id);
        self.start(id, &["{self}", "__app"]);
        Client::of(address)
    }

    /// The one process of a node, as it says after `since`; `client` makes it look at its clock.
    pub fn measured(&self, id: i32, since: u64, client: &mut Client) -> ProcessClock {
        self.until(id, |seen| {
            client.ask("wall");
            assert_eq!(seen.without, []);
            seen.processes
                .iter()
                .find(|process| process.at_ns > since)
                .cloned()
        })
    }

    /// Looks again and again until there is what is looked for.
    pub fn until<T>(&self, id: i32, mut found: impl FnMut(&ClockSeen) -> Option<T>) -> T {
        let began = Instant::now();
        loop {
            let seen = self.ground.clock_seen(id).unwrap();
            if let Some(found) = found(&seen) {
                return found;
            }
            assert!(began.elapsed() < LONG, "{seen:?}; {}", self.log(id));
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

pub struct Client(BufReader<TcpStream>);

impl Client {
    pub fn of(address: Ipv4Addr) -> Client {
        let began = Instant::now();
        loop {
            let address = SocketAddrV4::new(address, app::PORT).into();
            match TcpStream::connect_timeout(&address, Duration::from_millis(300)) {
                Ok(stream) => {
                    stream.set_nodelay(true).unwrap();
                    stream.set_read_timeout(Some(LONG)).unwrap();
                    return Client(BufReader::new(stream));
                }
                Err(why) => assert!(began.elapsed() < LONG, "{why}"),
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn ask(&mut self, question: &str) -> String {
        self.0
            .get_mut()
            .write_all(format!("{question}\n").as_bytes())
            .unwrap();
        let mut answer = String::new();
        self.0.read_line(&mut answer).unwrap();
        assert!(
            answer.ends_with('\n'),
            "{question:?} was not answered: {answer:?}"
        );
        answer.trim_end().into()
    }

    /// How far its wall clock is ahead of ours.
    pub fn ahead(&mut self) -> i64 {
        let shown: i128 = self.ask("wall").parse().unwrap();
        (shown - SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i128) as i64
    }

    fn monotonic(&mut self) -> i64 {
        self.ask("monotonic").parse().unwrap()
    }
}

pub fn step(step_ns: i64) -> ClockRule {
    ClockRule {
        step_ns,
        ..ClockRule::default()
    }
}

pub fn rate(rate_ppm: i64) -> ClockRule {
    ClockRule {
        rate_ppm,
        ..ClockRule::default()
    }
}

#[track_caller]
pub fn assert_near(value: i64, expected: i64, within: i64) {
    assert!(
        (value - expected).abs() <= within,
        "{value} ns is not {expected} ns, within {within} ns"
    );
}

/// Steps and rates are seen by all of a node's clocks, by its process alone, compose, and heal one by one.
fn skew(bench: &Bench) {
    let (mut one, mut other) = (bench.app(1), bench.app(2));
    let mut check = |since: u64, offset: i64| {
        let measured = bench.measured(1, since, &mut one);
        assert_near(measured.wall_offset_ns, offset, EXACT + measured.window_ns);
        assert_near(measured.wall_asked_ns, offset, 1);
        assert_near(measured.monotonic_offset_ns, 0, EXACT + measured.window_ns);
        assert_near(one.ahead(), offset, TOLD);
        assert_near(other.ahead(), 0, TOLD);
    };
    check(0, 0);
    let at = bench.ground.set_clock(1, 7, step(3600 * SECOND)).unwrap();
    check(at, 3600 * SECOND);
    let at = bench.ground.set_clock(1, 8, step(-60 * SECOND)).unwrap();
    check(at, 3540 * SECOND);
    let at = bench.ground.set_clock(1, 7, step(-300 * SECOND)).unwrap();
    check(at, -360 * SECOND);
    let at = bench.ground.clear_clock(1, 7).unwrap();
    check(at, -60 * SECOND);
    let at = bench.ground.clear_clock(1, 8).unwrap();
    check(at, 0);
    // No error where there is none.
    bench.ground.clear_clock(1, 8).unwrap();

    bench.ground.set_clock(1, 9, step(-86_400 * SECOND)).unwrap();
    let truth = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
    for shown in one.ask("all").split(' ') {
        assert_near(shown.parse().unwrap(), truth - 86_400, 2);
    }
    bench.ground.clear_clock(1, 9).unwrap();

    let at = bench.ground.set_clock(1, 10, rate(200_000)).unwrap();
    let early = bench.measured(1, at, &mut one);
    std::thread::sleep(Duration::from_millis(200));
    let late = bench.measured(1, early.at_ns + 200_000_000, &mut one);
    let passed = (late.at_ns - early.at_ns) as i64;
    assert_near(late.wall_offset_ns - early.wall_offset_ns, passed / 5, EXACT);
    assert_near(late.wall_offset_ns, late.wall_asked_ns, EXACT);
    let at = bench.ground.clear_clock(1, 10).unwrap();
    let measured = bench.measured(1, at, &mut one);
    assert_near(measured.wall_offset_ns, 0, EXACT);

    let ns: f64 = one.ask("calls 300000").parse().unwrap();
    bench.ground.set_clock(1, 11, rate(1000)).unwrap();
    let with_rate: f64 = one.ask("calls 300000").parse().unwrap();
    println!("a call takes {ns:.1} ns with no rule, {with_rate:.1} ns with a rate");
}

/// Rules outlive the power; the monotonic clock goes along only where asked, never back, and begins anew.
fn lives(bench: &Bench) {
    let address = bench.power(1);
    bench.start(1, &["{self}", "__app"]);
    let mut client = Client::of(address);
    let at = bench.ground.set_clock(1, 1, step(100 * SECOND)).unwrap();
    bench.measured(1, at, &mut client);
    bench
        .ground
        .power_off(&[1], 2, ground::Policy::default())
        .unwrap();
    bench.ground.set_clock(1, 2, step(11 * SECOND)).unwrap();
    assert!(bench.ground.clock_seen(1).is_err());
    assert_eq!(bench.ground.power_on(1).unwrap().address, address);
    bench.start(1, &["{self}", "__app"]);
    let mut client = Client::of(address);
    let measured = bench.measured(1, 0, &mut client);
    assert_near(measured.wall_offset_ns, 111 * SECOND, EXACT);
    assert_near(client.ahead(), 111 * SECOND, TOLD);
    bench.ground.clear_clock(1, 1).unwrap();
    bench.ground.clear_clock(1, 2).unwrap();

    let both = ClockRule {
        monotonic: true,
        ..step(50 * SECOND)
    };
    let before = client.monotonic();
    let at = bench.ground.set_clock(1, 3, both).unwrap();
    let measured = bench.measured(1, at, &mut client);
    assert_near(
        measured.monotonic_offset_ns,
        50 * SECOND,
        EXACT + measured.window_ns,
    );
    assert_near(client.monotonic() - before, 50 * SECOND, LONG.as_nanos() as i64);
    assert!(client.monotonic() - before > 50 * SECOND);
    let at = bench.ground.clear_clock(1, 3).unwrap();
    let measured = bench.measured(1, at, &mut client);
    // The wall clock goes back; the monotonic one must not.
    assert_near(measured.wall_offset_ns, 0, EXACT + measured.window_ns);
    assert_near(
        measured.monotonic_offset_ns,
        50 * SECOND,
        EXACT + measured.window_ns,
    );
    bench
        .ground
        .power_off(&[1], 4, ground::Policy::default())
        .unwrap();
    assert_eq!(bench.ground.power_on(1).unwrap().address, address);
    bench.start(1, &["{self}", "__app"]);
    let mut client = Client::of(address);
    let measured = bench.measured(1, 0, &mut client);
    assert_near(measured.monotonic_offset_ns, 0, EXACT + measured.window_ns);
}

/// A strobe is seen in both its places, and heals.
fn strobe(bench: &Bench) {
    let mut client = bench.app(1);
    let strobe = Some(Strobe {
        amplitude_ns: -40 * SECOND,
        period_ns: 50_000_000,
    });
    let at = bench
        .ground
        .set_clock(
            1,
            1,
            ClockRule {
                strobe,
                ..step(SECOND)
            },
        )
        .unwrap();
    let (mut low, mut high) = (0, 0);
    while low < 3 || high < 3 {
        let measured = bench.measured(1, at, &mut client);
        match measured.wall_offset_ns {
            offset if (offset - SECOND).abs() < EXACT => high += 1,
            offset if (offset + 39 * SECOND).abs() < EXACT => low += 1,
            other => panic!("{other}"),
        }
        std::thread::sleep(Duration::from_millis(17));
    }
    let at = bench.ground.clear_clock(1, 1).unwrap();
    assert_near(bench.measured(1, at, &mut client).wall_offset_ns, 0, EXACT);
}

/// What cannot be is refused; a process that is stopped says nothing, and is known as stopped.
fn refused(bench: &Bench) {
    let mut client = bench.app(1);
    let back = ClockRule {
        monotonic: true,
        ..step(-1)
    };
    for (node, rule) in [(1, back), (1, rate(-1_000_000)), (2, step(1))] {
        let error = bench.ground.set_clock(node, 1, rule).unwrap_err();
        assert!(!error.machine, "{error}");
    }
    assert!(bench.ground.clock_seen(2).is_err());
    let strobe = Some(Strobe {
        amplitude_ns: 1,
        period_ns: SECOND,
    });
    let rule = ClockRule { strobe, ..step(0) };
    for fault in 0..8 {
        bench.ground.set_clock(1, fault, rule).unwrap();
    }
    let error = bench.ground.set_clock(1, 8, rule).unwrap_err();
    assert!(error.why.contains("8 strobes"), "{error}");
    // In place of its own one it may.
    bench.ground.set_clock(1, 7, rule).unwrap();
    bench.measured(1, 0, &mut client);
    bench.ground.signal(1, Signal::Stop).unwrap();
    bench.until(1, |seen| {
        let stopped = seen.silent.iter().any(|process| process.stopped);
        stopped.then_some(())
    });
    bench.ground.signal(1, Signal::Continue).unwrap();
}
