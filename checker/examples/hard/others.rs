//! The hardest third-party histories, by their ids in the manifest of the folder that `ACKALL_HISTORIES` names: those on
//! which Knossos ended in an error, the key-value stores that take Porcupine longest, and the longest of those that
//! nobody ran Knossos on to an end.

use crate::Case;
use checker::{ModelName, Options, Outcome};
use history::{Format, read_foreign};
use serde_json::Value as Json;
use std::path::Path;
use std::process::{Command, Stdio};

/// Their ids.
pub const NAMES: &[&str] = &[
    "porcupine:jepsen/etcd_000",
    "porcupine:jepsen/etcd_001",
    "porcupine:jepsen/etcd_003",
    "porcupine:jepsen/etcd_006",
    "porcupine:jepsen/etcd_011",
    "porcupine:jepsen/etcd_019",
    "porcupine:jepsen/etcd_029",
    "porcupine:jepsen/etcd_047",
    "porcupine:jepsen/etcd_073",
    "porcupine:jepsen/etcd_085",
    "porcupine:jepsen/etcd_099",
    "porcupine:kv/c10-bad",
    "porcupine:kv/c50-bad",
    "knossos:cas-register/good/memstress3-11",
    "knossos:cas-register/good/memstress3-17",
    "knossos:cas-register/good/memstress3-19",
    "knossos:cas-register/good/memstress3-71",
    "knossos:cas-register/good/memstress3-77",
];

/// One of them; none where it has no such name.
pub fn case(name: &str) -> Option<Result<Case, String>> {
    NAMES.contains(&name).then(|| read(name))
}

fn read(name: &str) -> Result<Case, String> {
    let folder = std::env::var_os("ACKALL_HISTORIES")
        .ok_or("ACKALL_HISTORIES is not set: expected the folder of histories that has a manifest.json")?;
    let folder = Path::new(&folder);
    let manifest =
        std::fs::read_to_string(folder.join("manifest.json")).map_err(|e| format!("manifest.json: {e}"))?;
    let manifest: Json = serde_json::from_str(&manifest).map_err(|e| format!("manifest.json: {e}"))?;
    let records = manifest
        .as_array()
        .or_else(|| manifest.get("histories")?.as_array());
    let record = records.into_iter().flatten().find(|record| record["id"] == name);
    let record = record.ok_or_else(|| format!("manifest.json has no {name}"))?;
    let text = |field: &str| record[field].as_str().unwrap_or_default();
    let path = folder.join(text("path"));
    let bytes = match text("compressed") {
        "gzip" => unpack(&path)?,
        _ => std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?,
    };
    let format: Format = text("format")
        .parse()
        .map_err(|_| format!("{name}: no format {}", text("format")))?;
    let model = match text("model") {
        kv if kv.starts_with("kv") => ModelName::KeyValue,
        cas if cas.starts_with("cas-register") => ModelName::CasRegister,
        other => return Err(format!("{name}: no model {other}")),
    };
    Ok(Case {
        model,
        options: Options::default(),
        expected: record["valid"]
            .as_bool()
            .map(|valid| if valid { Outcome::Pass } else { Outcome::Fail }),
        history: read_foreign(format, &bytes[..]).collect(),
    })
}

/// What is packed, by the tool that packed it: no crate here reads it.
fn unpack(path: &Path) -> Result<Vec<u8>, String> {
    let child = Command::new("gzip")
        .arg("-dc")
        .arg(path)
        .stdin(Stdio::null())
        .output();
    let output = child.map_err(|error| format!("gzip -dc {}: {error}", path.display()))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(format!(
            "gzip -dc {}: {}",
            path.display(),
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}
