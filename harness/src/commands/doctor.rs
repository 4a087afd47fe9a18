//! `ackall doctor`: what this machine allows, tried for real.

use crate::error::{Error, Status};
use ground::Probe;
use ground::doctor::probe;
use serde_json::json;

/// Probes and prints; the status is 0 where the default run can go.
pub fn doctor(json: bool) -> Result<Status, Error> {
    let here = std::env::current_dir().map_err(|e| {
        Error::usage(
            "finding the folder to try the disk in",
            e,
            "run it in a folder that is there",
        )
    })?;
    let probes = probe(&here);
    if json {
        let rows: Vec<_> = probes.iter().map(row).collect();
        say!("{}", serde_json::Value::Array(rows));
    } else {
        for probe in &probes {
            print_probe(probe);
        }
    }
    Ok(if probes.iter().all(|probe| probe.available) {
        Status::Pass
    } else {
        Status::Unavailable
    })
}

fn row(probe: &Probe) -> serde_json::Value {
    json!({
        "name": probe.name,
        "available": probe.available,
        "how": probe.how,
        "why_not": probe.why_not,
        "remedy": probe.remedy,
    })
}

fn print_probe(probe: &Probe) {
    if probe.available {
        say!("yes  {:<20} {}", probe.name, probe.how);
    } else {
        say!("no   {:<20} {}", probe.name, probe.why_not);
        say!("     {:<20} try: {}", "", probe.remedy);
    }
}
