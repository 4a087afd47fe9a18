//! What nodes cost: `cargo run --release -p ground --example nodes -- [NODES] [ROUNDS]`.
//!
//! From the start of the run to ten hosts with network and disk and no program; and from the cut of a node's power
//! until it has power again, its disk mounted, and a program that does nothing but listen answers. That program's own
//! start is measured apart, on a node that has power, so that it can be taken off.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    bench::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("the ground is for Linux");
}

#[cfg(target_os = "linux")]
mod bench {
    use std::fs;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::path::{Path, PathBuf};
    use std::process::ExitCode;
    use std::time::{Duration, Instant};

    use ground::{DiskKind, Ground, NodeSpec, Policy, Program, Signal};

    const PORT: u16 = 7000;
    /// What is written before each cut and not synced, so that there is something to take back.
    const UNSYNCED: usize = 1 << 20;
    /// Between two tries to connect.
    const PAUSE: Duration = Duration::from_micros(200);
    /// How long a program may take to listen.
    const PATIENCE: Duration = Duration::from_secs(10);

    pub fn main() -> ExitCode {
        if let Some(code) = ground::dispatch() {
            return code;
        }
        let args: Vec<String> = std::env::args().skip(1).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let number = |at: usize, usual: usize| args.get(at).map_or(Ok(usual), |arg| arg.parse());
        match args[..] {
            ["__harness", folder, began, nodes, rounds] => {
                // They were written by `host`.
                let [began, nodes, rounds] = [began, nodes, rounds].map(|arg| arg.parse().unwrap());
                harness(Path::new(folder), began, nodes as i32, rounds as usize);
                ExitCode::SUCCESS
            }
            ["__listen", ..] => listen(args.get(1).copied()),
            _ => match (number(0, 10), number(1, 21)) {
                (Ok(nodes), Ok(rounds)) if nodes > 0 && rounds > 0 => host(nodes, rounds),
                _ => {
                    eprintln!("usage: nodes [NODES] [ROUNDS], both at least 1");
                    ExitCode::from(64)
                }
            },
        }
    }

    fn host(nodes: usize, rounds: usize) -> ExitCode {
        let folder = std::env::temp_dir().join(format!("ackall-nodes-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let began = ground::sys::monotonic_ns();
        let ended = ground::launch(ground::Launch {
            run_dir: folder.clone(),
            harness_args: vec![
                folder.to_string_lossy().into_owned(),
                began.to_string(),
                nodes.to_string(),
                rounds.to_string(),
            ],
            owner: None,
        });
        fs::remove_dir_all(&folder).unwrap();
        if ended == Ok(ground::Ended::Exited(0)) {
            return ExitCode::SUCCESS;
        }
        eprintln!("{ended:?}");
        ExitCode::FAILURE
    }

    /// A node's program: it writes what it is not to sync, and accepts connections.
    fn listen(file: Option<&str>) -> ExitCode {
        if let Some(file) = file {
            fs::write(file, vec![7; UNSYNCED]).unwrap();
        }
        let listener = TcpListener::bind(("0.0.0.0", PORT)).unwrap();
        for _ in listener.incoming() {}
        ExitCode::SUCCESS
    }

    fn harness(folder: &Path, began_ns: u64, nodes: i32, rounds: usize) {
        let (ground, _events) = Ground::attach().unwrap();
        let attached = (ground::sys::monotonic_ns() - began_ns) as f64 / 1e6;
        let mut address = Ipv4Addr::UNSPECIFIED;
        for id in 1..=nodes {
            let spec = NodeSpec {
                disk: DiskKind::Fuse,
                id,
                name: format!("n{id}"),
                home: home(folder, id),
                visible: vec![],
            };
            let own = ground.add_node(spec).unwrap();
            ground.power_on(id).unwrap();
            if id == 1 {
                address = own;
            }
        }
        let up = (ground::sys::monotonic_ns() - began_ns) as f64 / 1e6;
        println!(
            "{nodes} nodes up {up:.0} ms after the start, {attached:.0} ms of them until the harness ran"
        );
        let (mut own, mut cuts, mut backs) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..rounds {
            own.push(started(&ground, folder, address));
            let began = Instant::now();
            ground.power_off(&[1], round as u64, Policy::default()).unwrap();
            cuts.push(ms(began));
            let began = Instant::now();
            ground.power_on(1).unwrap();
            let powered = ms(began);
            let started = started(&ground, folder, address);
            backs.push(powered + started);
            ground.signal(1, Signal::Kill).unwrap();
        }
        let whole: Vec<f64> = cuts.iter().zip(&backs).map(|(cut, back)| cut + back).collect();
        for (what, all) in [
            ("a program's own start, until it answers", own),
            ("power cut, node dead, disk settled", cuts),
            ("power on, disk mounted, program answers", backs),
            ("the last two together", whole),
        ] {
            let (median, worst) = median_and_worst(all);
            println!("{what}: median {median:.1} ms, worst {worst:.1} ms of {rounds}");
        }
    }

    fn home(folder: &Path, id: i32) -> PathBuf {
        folder.join(format!("nodes/{id}"))
    }

    /// Starts the program of node 1, and waits until it answers; how long that took, in milliseconds.
    fn started(ground: &Ground, folder: &Path, address: Ipv4Addr) -> f64 {
        let file = home(folder, 1).join("mount/unsynced");
        let began = Instant::now();
        let program = Program {
            argv: [
                "{self}".into(),
                "__listen".into(),
                file.to_string_lossy().into_owned(),
            ]
            .into(),
            env: vec![],
            log: home(folder, 1).join("log"),
            cwd: folder.to_path_buf(),
        };
        ground.start(1, program).unwrap();
        while TcpStream::connect((address, PORT)).is_err() {
            assert!(began.elapsed() < PATIENCE, "the program does not listen");
            std::thread::sleep(PAUSE);
        }
        ms(began)
    }

    fn ms(since: Instant) -> f64 {
        since.elapsed().as_secs_f64() * 1e3
    }

    fn median_and_worst(mut all: Vec<f64>) -> (f64, f64) {
        all.sort_unstable_by(f64::total_cmp);
        (all[all.len() / 2], all[all.len() - 1])
    }
}
