//! What the wire carried, link by link: `wire.json` in the run's folder, written when the run ends.

use crate::error::Error;
use clusters::{Cluster, LinkCount, Port};
use results::store;
use serde::Serialize;
use std::path::Path;

/// The file's name.
pub const WIRE: &str = "wire.json";

#[derive(Serialize)]
struct Wire {
    links: Vec<Link>,
}

/// A directed link, its ends named as people name them: `clients`, `observer`, a node's number.
#[derive(Serialize)]
struct Link {
    from: String,
    to: String,
    passed: u64,
    dropped: u64,
    bytes: u64,
    unasked: u64,
    cut: bool,
}

fn name(port: Port) -> String {
    match port {
        Port::Clients => "clients".into(),
        Port::Observer => "observer".into(),
        Port::Node(id) => id.to_string(),
    }
}

fn link(count: LinkCount) -> Link {
    let LinkCount {
        from,
        to,
        passed,
        dropped,
        bytes,
        unasked,
        cut,
    } = count;
    Link {
        from: name(from),
        to: name(to),
        passed,
        dropped,
        bytes,
        unasked,
        cut,
    }
}

/// Writes it.
///
/// # Errors
/// 70, where the wire does not answer or the folder takes no file.
pub fn write(cluster: &Cluster, run_dir: &Path) -> Result<(), Error> {
    let counts = cluster
        .counters()
        .map_err(|e| Error::internal("asking the wire what it carried", e, "run it again"))?;
    let wire = Wire {
        links: counts.into_iter().map(link).collect(),
    };
    let path = run_dir.join(WIRE);
    let failed =
        |e: std::io::Error| Error::internal(format!("writing {}", path.display()), e, "free some space");
    let text = serde_json::to_vec_pretty(&wire).map_err(|e| failed(e.into()))?;
    store::write_whole(&path, &text).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_go_by_the_names_that_people_use() {
        let count = LinkCount {
            from: Port::Clients,
            to: Port::Node(100),
            passed: 3,
            dropped: 1,
            bytes: 180,
            unasked: 0,
            cut: true,
        };
        let json = serde_json::to_string(&link(count)).unwrap();
        assert_eq!(
            json,
            r#"{"from":"clients","to":"100","passed":3,"dropped":1,"bytes":180,"unasked":0,"cut":true}"#
        );
        assert_eq!(name(Port::Observer), "observer");
    }
}
