//! Compiles the clock shim to a shared object, which the ground carries inside the executable.

use std::env::var;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=shim");
    let variable = |name: &str| var(name).unwrap_or_else(|why| panic!("cargo sets {name}: {why}"));
    let shim = PathBuf::from(variable("OUT_DIR")).join("shim.so");
    let arch = variable("CARGO_CFG_TARGET_ARCH");
    if variable("CARGO_CFG_TARGET_OS") != "linux" || !["x86_64", "aarch64"].contains(&arch.as_str()) {
        // Said by the ground where somebody asks for a clock fault.
        std::fs::write(&shim, "").unwrap_or_else(|why| panic!("writing {}: {why}", shim.display()));
        return;
    }
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.args(["shim/shim.rs", "--crate-name", "shim", "--edition", "2024"]);
    rustc.args(["--crate-type", "cdylib", "--cap-lints", "warn"]);
    rustc.args(["-C", "opt-level=3", "-C", "panic=abort", "-C", "strip=symbols"]);
    let target = variable("TARGET");
    rustc.args(["--target", &target]);
    if variable("CARGO_CFG_TARGET_ENV") == "musl" {
        rustc.args(["-C", "target-feature=-crt-static"]);
    }
    if let Ok(linker) = var("RUSTC_LINKER") {
        rustc.args(["-C", &format!("linker={linker}")]);
    } else if target != variable("HOST") {
        // It links no library, so rustc's own linker will do where there is none of the target's.
        rustc.args(["-C", "linker=rust-lld", "-C", "linker-flavor=ld.lld"]);
    }
    let made = rustc.arg("-o").arg(&shim).status();
    let made = made.unwrap_or_else(|why| panic!("starting {rustc:?}: {why}"));
    assert!(
        made.success() && Path::new(&shim).exists(),
        "the clock shim does not compile: {rustc:?}"
    );
}
