//! How fast the wire is: `cargo run --release -p ground --example wire`.
//!
//! Two nodes; TCP from one to the other, once over links as they are and once with each of some faults on them, and
//! round trips of one byte. The loopback interface of a node, which no frame leaves, is the measure of what the
//! machine itself takes; a veth pair between two network namespaces, where `unshare`, `nsenter` and `ip` are at hand and
//! this is root, what a wire in the kernel would.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    bench::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("the wire is for Linux");
}

#[cfg(target_os = "linux")]
mod bench {
    use std::fs;
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::path::{Path, PathBuf};
    use std::process::ExitCode;
    use std::time::{Duration, Instant};

    use ground::{Effect, Ground, LinkRule, NodeSpec, Port, Program};

    const PORT: u16 = 7000;
    /// How long bytes flow.
    const FLOW: Duration = Duration::from_secs(3);
    const BLOCK: usize = 1 << 17;
    const ROUND_TRIPS: usize = 5_000;
    const FAULT: u64 = 1;
    const LOOPBACK: &str = "127.0.0.1";
    /// How long a server may take to listen.
    const UP: Duration = Duration::from_millis(200);

    pub fn main() -> ExitCode {
        if let Some(code) = ground::dispatch() {
            return code;
        }
        let args: Vec<String> = std::env::args().skip(1).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        match args[..] {
            ["__harness", folder] => harness(Path::new(folder)),
            ["__serve"] => serve(),
            ["__flow", to] => flow(to),
            ["__ping", to] => ping(to),
            ["__veth"] => return veth::measure(),
            _ => {
                veth::run();
                return host();
            }
        }
        ExitCode::SUCCESS
    }

    fn host() -> ExitCode {
        let folder = std::env::temp_dir().join(format!("ackall-wire-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let ended = ground::launch(ground::Launch {
            run_dir: folder.clone(),
            harness_args: vec![folder.to_string_lossy().into_owned()],
            owner: None,
        });
        fs::remove_dir_all(&folder).unwrap();
        if ended == Ok(ground::Ended::Exited(0)) {
            return ExitCode::SUCCESS;
        }
        eprintln!("{ended:?}");
        ExitCode::FAILURE
    }

    /// A node's program: a first byte says what is wanted, a flow to take in or bytes to send back.
    fn serve() {
        let listener = TcpListener::bind(("0.0.0.0", PORT)).unwrap();
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream));
        }
    }

    fn answer(mut stream: TcpStream) -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        let mut kind = [0];
        stream.read_exact(&mut kind)?;
        let mut block = vec![0; BLOCK];
        if kind == [b'p'] {
            loop {
                stream.read_exact(&mut block[..1])?;
                stream.write_all(&block[..1])?;
            }
        }
        let mut taken = 0u64;
        loop {
            match stream.read(&mut block)? {
                0 => return stream.write_all(&taken.to_be_bytes()),
                read => taken += read as u64,
            }
        }
    }

    /// Sends for a while; prints the rate at which it was taken in, in bits a second.
    fn flow(to: &str) {
        let mut stream = TcpStream::connect((to, PORT)).unwrap();
        stream.write_all(b"f").unwrap();
        let (block, began) = (vec![0; BLOCK], Instant::now());
        while began.elapsed() < FLOW {
            stream.write_all(&block).unwrap();
        }
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut taken = [0; 8];
        stream.read_exact(&mut taken).unwrap();
        println!(
            "{}",
            u64::from_be_bytes(taken) as f64 * 8.0 / began.elapsed().as_secs_f64()
        );
    }

    /// Prints the median round trip in microseconds.
    fn ping(to: &str) {
        if to == LOOPBACK {
            std::thread::spawn(serve);
            std::thread::sleep(UP);
        }
        let mut stream = TcpStream::connect((to, PORT)).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.write_all(b"p").unwrap();
        let mut took: Vec<Duration> = (0..ROUND_TRIPS)
            .map(|_| {
                let (mut byte, began) = ([0], Instant::now());
                stream.write_all(&byte).unwrap();
                stream.read_exact(&mut byte).unwrap();
                began.elapsed()
            })
            .collect();
        took.sort_unstable();
        println!("{}", took[took.len() / 2].as_secs_f64() * 1e6);
    }

    /// The peer: a veth pair, one end here and one in another network namespace.
    mod veth {
        use super::{UP, flow, ping};
        use std::process::{Command, ExitCode};

        const HERE: &str = "10.98.0.1/24";
        const THERE: &str = "10.98.0.2";

        fn me() -> std::path::PathBuf {
            std::env::current_exe().unwrap()
        }

        /// Measures in a network namespace of its own, which takes the pair with it.
        pub fn run() {
            let done = Command::new("unshare")
                .arg("--net")
                .arg(me())
                .arg("__veth")
                .status();
            if !done.as_ref().is_ok_and(|status| status.success()) {
                println!("no veth pair to hold it against: {done:?}");
            }
        }

        fn said(program: &str, args: &[&str]) -> bool {
            let done = Command::new(program).args(args).status();
            done.is_ok_and(|status| status.success())
        }

        pub fn measure() -> ExitCode {
            let server = Command::new("unshare")
                .arg("--net")
                .arg(me())
                .arg("__serve")
                .spawn();
            let Ok(mut server) = server else {
                return ExitCode::FAILURE;
            };
            std::thread::sleep(UP);
            let (pid, there) = (server.id().to_string(), format!("{THERE}/24"));
            let inside = |args: &[&str]| said("nsenter", &[&["-t", &pid, "-n", "ip"], args].concat());
            let up = said("ip", &["link", "add", "v0", "type", "veth", "peer", "name", "v1"])
                && said("ip", &["link", "set", "v1", "netns", &pid])
                && said("ip", &["addr", "add", HERE, "dev", "v0"])
                && said("ip", &["link", "set", "v0", "up"])
                && inside(&["addr", "add", &there, "dev", "v1"])
                && inside(&["link", "set", "v1", "up"]);
            if up {
                println!("over a veth pair, round trip in us, then flow in bit/s:");
                ping(THERE);
                flow(THERE);
            }
            let _ = server.kill();
            let _ = server.wait();
            ExitCode::from(u8::from(!up))
        }
    }

    struct Bench {
        ground: Ground,
        folder: PathBuf,
        events: std::sync::mpsc::Receiver<ground::Event>,
        addresses: [Ipv4Addr; 2],
    }

    fn harness(folder: &Path) {
        let (ground, events) = Ground::attach().unwrap();
        let addresses = [1, 2].map(|id| {
            let spec = NodeSpec {
                disk: ground::DiskKind::Fuse,
                id,
                name: format!("n{id}"),
                home: folder.join(format!("nodes/{id}")),
                visible: vec![],
            };
            let address = ground.add_node(spec).unwrap();
            ground.power_on(id).unwrap();
            address
        });
        let folder = folder.to_path_buf();
        let bench = Bench {
            ground,
            folder,
            events,
            addresses,
        };
        bench.start(1, &["{self}", "__serve"]);
        std::thread::sleep(UP);
        bench.measure();
    }

    impl Bench {
        fn log(&self, node: i32) -> PathBuf {
            self.folder.join(format!("nodes/{node}/log"))
        }

        fn start(&self, node: i32, argv: &[&str]) {
            let program = Program {
                argv: argv.iter().map(|arg| arg.to_string()).collect(),
                env: vec![],
                log: self.log(node),
                cwd: self.folder.clone(),
            };
            self.ground.start(node, program).unwrap();
        }

        /// What a program on node 2 prints last.
        fn figure(&self, what: &str, to: &str) -> f64 {
            self.start(2, &["{self}", what, to]);
            self.events.recv_timeout(10 * FLOW).unwrap();
            let text = fs::read_to_string(self.log(2)).unwrap();
            text.lines().last().unwrap().parse().unwrap()
        }

        fn measure(&self) {
            let node = self.addresses[0].to_string();
            println!(
                "round trip within a node: {:.0} us",
                self.figure("__ping", LOOPBACK)
            );
            println!("round trip over the wire: {:.0} us", self.figure("__ping", &node));
            println!(
                "flow, links as they are: {:.2} Gbit/s",
                self.figure("__flow", &node) / 1e9
            );
            for (name, effect) in [
                ("a rule that strikes nothing", Effect::Loss { ppm: 0 }),
                ("one in a million lost", Effect::Loss { ppm: 1 }),
                (
                    "a delay of 0.1 ms",
                    Effect::Delay {
                        delay_ns: 100_000,
                        jitter_ns: 0,
                    },
                ),
                (
                    "a rate of 2 Gbit/s",
                    Effect::Bandwidth {
                        bits_per_second: 2_000_000_000,
                        queue_bytes: 10_000_000,
                    },
                ),
                ("one in a million doubled", Effect::Duplicate { ppm: 1 }),
            ] {
                let links = [(Port::Node(2), Port::Node(1)), (Port::Node(1), Port::Node(2))];
                let rule = LinkRule::of(effect, 1);
                self.ground.set_rule(FAULT, &links, rule).unwrap();
                let rate = self.figure("__flow", &node) / 1e9;
                let counts = self.ground.rule_counts(FAULT).unwrap();
                self.ground.clear_rule(FAULT).unwrap();
                println!(
                    "flow, {name}: {rate:.2} Gbit/s, {} of {} frames struck",
                    counts.struck, counts.offered
                );
            }
            let unasked: u64 = self
                .ground
                .counters()
                .unwrap()
                .iter()
                .map(|link| link.unasked)
                .sum();
            println!("frames lost unasked: {unasked}");
        }
    }
}
