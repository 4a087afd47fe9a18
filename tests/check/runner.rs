//! Running the program, and what every answer of it must be.

use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

/// A folder of a test's own, removed at its end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("ackall-check-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// A file in it.
    pub fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn ackall(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ackall"));
    command.args(words).env_remove("ACKALL_COLOR");
    command
}

/// Runs the program to its end.
pub fn run(words: &[&str]) -> Output {
    ackall(words).stdin(Stdio::null()).output().unwrap()
}

/// The same, with something on standard input.
pub fn run_with_input(words: &[&str], input: &[u8]) -> Output {
    let mut child = ackall(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The histories of these tests fit into a pipe.
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

/// An error is three lines on standard error, with its status, and says what it must.
pub fn is_three_lines(what: &str, output: &Output, code: i32, says: &[&str]) {
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{what}: {err}");
    let lines: Vec<&str> = err.lines().collect();
    let [first, why, next] = lines[..] else {
        panic!("{what}: {} lines: {err}", lines.len())
    };
    let form = first.starts_with("error: ") && why.starts_with("  why: ") && next.starts_with("  next: ");
    assert!(form, "{what}: {err}");
    for word in says {
        assert!(err.contains(word), "{what} should say {word:?}: {err}");
    }
}

/// The JSON on standard output, which follows the schema that the program itself prints.
pub fn validated(what: &str, output: &Output) -> Value {
    static SCHEMA: OnceLock<jsonschema::Validator> = OnceLock::new();
    let validator = SCHEMA.get_or_init(|| {
        let schema = serde_json::from_slice(&run(&["schema", "check"]).stdout).unwrap();
        jsonschema::validator_for(&schema).unwrap()
    });
    let said = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    let json: Value = serde_json::from_str(&said).unwrap_or_else(|e| panic!("{what}: {e}: {said}{err}"));
    let errors: Vec<String> = validator.iter_errors(&json).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{what}: {errors:?}: {said}");
    json
}
