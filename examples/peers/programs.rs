//! The programs that are measured: the peers, built where they can be; this one in another role; and the files that are
//! made for them, in the build's own folder.

use crate::{Answers, made, ours};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the peers' sources are.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers");
/// Porcupine, as the peer's go.mod names it.
const PORCUPINE: &str = "github.com/anishathalye/porcupine";
/// A checkout of Porcupine.
const PORCUPINE_DIR: &str = "PORCUPINE_DIR";

/// A rival.
#[derive(Clone, Copy)]
pub enum Peer {
    /// Porcupine, in Go.
    Porcupine,
    /// The crate adya.
    Adya,
}

/// What was built.
pub struct Programs {
    folder: PathBuf,
    porcupine: Option<PathBuf>,
    data: Option<PathBuf>,
    adya: Option<PathBuf>,
}

impl Programs {
    /// Builds the peers, in the folder of this build.
    pub fn build() -> Result<Programs, String> {
        let this = std::env::current_exe().map_err(|e| e.to_string())?;
        // Beside the program, whose own name is taken.
        let folder = this.with_file_name("peers-files");
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let told = |name: &str, built: Result<PathBuf, String>| {
            built.map_err(|why| println!("SKIPPED {name}: {why}")).ok()
        };
        let porcupine = told("porcupine", porcupine(&folder));
        Ok(Programs {
            data: porcupine.as_ref().and_then(|_| data(&folder)),
            porcupine,
            adya: told("adya", adya(&folder)),
            folder,
        })
    }

    /// The histories that Porcupine's sources bring.
    pub fn porcupine_data(&self) -> Option<&Path> {
        self.data.as_deref()
    }

    /// Measures this project's checker.
    pub fn ours(&self, kind: &str, rounds: usize, files: &[PathBuf]) -> Result<Answers, String> {
        let this = std::env::current_exe().map_err(|e| e.to_string())?;
        answers(Command::new(this).arg(ours::ROLE), kind, rounds, files)
    }

    /// Measures a peer; none where it is not there, or fails, which is said.
    pub fn peer(&self, peer: Peer, kind: &str, rounds: usize, files: &[PathBuf]) -> Option<Answers> {
        let program = match peer {
            Peer::Porcupine => self.porcupine.as_ref(),
            Peer::Adya => self.adya.as_ref(),
        };
        let answered = answers(&mut Command::new(program?), kind, rounds, files);
        answered.map_err(|why| println!("FAILED {kind}: {why}")).ok()
    }

    /// A constructed register's history.
    pub fn register(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.folder.join(format!("{name}.log"));
        if path.is_file() {
            return Ok(path);
        }
        let mut maker = Command::new(env!("CARGO"));
        maker.current_dir(env!("CARGO_MANIFEST_DIR"));
        maker.args([
            "run",
            "--quiet",
            "--release",
            "-p",
            "checker",
            "--example",
            "linear_bench",
            "--",
        ]);
        let made = said(maker.args(["--write", "etcd-log", name]))?;
        whole(&path, |out| out.write_all(&made))?;
        Ok(path)
    }

    /// A constructed history of list appends.
    pub fn list_append(&self, transactions: usize) -> Result<PathBuf, String> {
        let path = self.folder.join(format!("list-append-{transactions}.jsonl"));
        if !path.is_file() {
            whole(&path, |out| made::list_append(transactions, out))?;
        }
        Ok(path)
    }
}

/// Writes a file that is whole where it is there.
fn whole(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>) -> Result<(), String> {
    let aside = path.with_extension("partial");
    let written = File::create(&aside).and_then(|file| {
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush()?;
        fs::rename(&aside, path)
    });
    written.map_err(|e| format!("{}: {e}", path.display()))
}

fn answers(program: &mut Command, kind: &str, rounds: usize, files: &[PathBuf]) -> Result<Answers, String> {
    let output = said(program.arg(kind).arg(rounds.to_string()).args(files))?;
    let lines = output
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    lines
        .map(|line| serde_json::from_slice(line).map_err(|e| e.to_string()))
        .collect()
}

/// What a program says on standard output.
fn said(program: &mut Command) -> Result<Vec<u8>, String> {
    let name = program.get_program().to_string_lossy().into_owned();
    let output = program.output().map_err(|e| format!("{name}: {e}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(format!("{name}: {}", why.lines().last().unwrap_or("it failed")))
}

/// Go in the peer's folder.
fn go() -> Command {
    let mut go = Command::new("go");
    go.current_dir(Path::new(SOURCES).join("porcupine"));
    go
}

fn porcupine(folder: &Path) -> Result<PathBuf, String> {
    let program = folder.join("porcupine");
    said(
        go().arg("build")
            .args(modfile(folder)?)
            .arg("-o")
            .arg(&program)
            .arg("."),
    )?;
    Ok(program)
}

/// The flags that put a checkout in the module's place.
fn modfile(folder: &Path) -> Result<Vec<String>, String> {
    let Some(checkout) = std::env::var_os(PORCUPINE_DIR) else {
        return Ok(Vec::new());
    };
    let sources = Path::new(SOURCES).join("porcupine");
    let copy = folder.join("go.mod");
    let written = fs::read_to_string(sources.join("go.mod"))
        .and_then(|text| {
            let replaced = format!(
                "{text}\nreplace {PORCUPINE} => {}\n",
                Path::new(&checkout).display()
            );
            fs::write(&copy, replaced)
        })
        .and_then(|()| fs::copy(sources.join("go.sum"), folder.join("go.sum")));
    written.map_err(|e| format!("{}: {e}", copy.display()))?;
    Ok(vec![format!("-modfile={}", copy.display())])
}

/// Where the histories of Porcupine's sources are.
fn data(folder: &Path) -> Option<PathBuf> {
    let flags = modfile(folder).ok()?;
    let place = said(
        go().arg("list")
            .args(flags)
            .args(["-m", "-f", "{{.Dir}}", PORCUPINE]),
    )
    .ok()?;
    let data = Path::new(String::from_utf8_lossy(&place).trim()).join("test_data");
    data.is_dir().then_some(data)
}

fn adya(folder: &Path) -> Result<PathBuf, String> {
    let manifest = Path::new(SOURCES).join("adya/Cargo.toml");
    let target = folder.join("adya");
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["build", "--quiet", "--release", "--locked", "--manifest-path"])
        .arg(manifest);
    said(cargo.arg("--target-dir").arg(&target))?;
    Ok(target.join("release/adya-peer"))
}
