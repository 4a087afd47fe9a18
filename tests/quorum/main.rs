//! The metadata quorum of a real cluster on its ground: two rounds of each fault. `campaign quorum` makes fifty.
//!
//! Its executable is all the roles of a run, so it has no test harness of the usual kind.

// The unit tests in it are run by `quorum_rules`: this executable has no test harness.
#[cfg(target_os = "linux")]
#[cfg_attr(test, allow(dead_code, unused_imports))]
mod campaign;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    if let Some(code) = campaign::dispatch() {
        return code;
    }
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("SKIPPED quorum: runs need Linux");
}

#[cfg(target_os = "linux")]
mod linux {
    use super::campaign::{Kind, Order, run, table};
    use std::fs;
    use std::process::ExitCode;

    /// What a filter of `cargo test` is held against.
    const NAME: &str = "two_rounds_of_each_fault_on_the_quorum_lose_nothing";
    const ROUNDS: usize = 2;

    pub fn main() -> ExitCode {
        let args: Vec<String> = std::env::args().skip(1).collect();
        if args.iter().any(|arg| arg == "--list") {
            println!("{NAME}: test");
            return ExitCode::SUCCESS;
        }
        let mut filters = args.iter().filter(|arg| !arg.starts_with('-')).peekable();
        if filters.peek().is_some() && !filters.any(|filter| NAME.contains(filter.as_str())) {
            return ExitCode::SUCCESS;
        }
        let out = std::env::temp_dir().join(format!("ackall-test-quorum-{}", std::process::id()));
        let code = test(&out);
        let _ = fs::remove_dir_all(&out);
        code
    }

    fn test(out: &std::path::Path) -> ExitCode {
        let order = Order {
            kinds: Kind::ALL.to_vec(),
            rounds: ROUNDS,
            bug: None,
            out: out.to_path_buf(),
        };
        let all = match run(&order) {
            Ok(all) => all,
            Err(failed) => {
                println!("test {NAME} ... FAILED\n{}", failed.why);
                return ExitCode::FAILURE;
            }
        };
        print!("{}", table(&all));
        let mut wrong = Vec::new();
        for figures in &all {
            let short = figures.short().into_iter().chain(figures.not_taken.clone());
            wrong.extend(short.map(|why| format!("{}: {why}", figures.kind)));
        }
        if wrong.is_empty() {
            println!("test {NAME} ... ok");
            return ExitCode::SUCCESS;
        }
        println!("test {NAME} ... FAILED\n{}", wrong.join("\n"));
        ExitCode::FAILURE
    }
}
