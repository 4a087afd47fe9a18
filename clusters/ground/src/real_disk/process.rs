//! A real disk as the keeper talks to it, through the door of the other one.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use super::{Bounds, Kind, Options, RealDisk};
use crate::api::Error;
use crate::proto::{DiskLoss, DiskStats, FromDisk, ToDisk};
use crate::sys;

/// The ledger and the folder of lost bytes, in the node's home, as the other disk has them.
const LEDGER: &str = "disk-ledger.jsonl";
const LOST: &str = "lost";

/// The disk and where its node lives.
pub struct Process {
    disk: RealDisk,
    home: PathBuf,
}

impl Process {
    /// Makes the disk.
    pub fn open(kind: Kind, home: PathBuf) -> Result<Process, Error> {
        let disk = RealDisk::make(kind, &home, Options::default())?;
        Ok(Process { disk, home })
    }

    /// Answers one message, with a descriptor beside it where it asks for one.
    pub fn obey(&mut self, message: ToDisk) -> Result<(FromDisk, Option<OwnedFd>), String> {
        let name = self.disk.kind().word();
        let failed = |what: &str, why: std::io::Error| format!("{what} {name}: {why}");
        let mut mount = None;
        match message {
            ToDisk::Mount => mount = Some(self.disk.mount().map_err(|why| failed("mounting", why))?),
            ToDisk::PowerOff => {
                let cut = self.disk.cut(Bounds::default());
                cut.map_err(|why| failed("cutting the power of", why))?;
            }
            // Nobody waits for us: the kernel itself answers.
            ToDisk::Abort => {}
            ToDisk::Settle { fault, .. } => {
                let loss = self
                    .settle(fault)
                    .map_err(|why| failed("making what the cut leaves of", why))?;
                return Ok((FromDisk::Loss(loss), None));
            }
            ToDisk::Stats => {
                let (written, syncs) = self.disk.written().map_err(|why| failed("asking", why))?;
                // What a cut could take, the kernel alone knows.
                let unsynced = 0;
                let stats = DiskStats {
                    written,
                    syncs,
                    unsynced,
                };
                return Ok((FromDisk::Stats(stats), None));
            }
            other => {
                return Err(format!(
                    "{other:?} is refused: the disk is a real {name}, which serves itself and keeps what it is given"
                ));
            }
        }
        let at_ns = sys::monotonic_ns();
        Ok((FromDisk::Done { at_ns }, mount))
    }

    fn settle(&mut self, fault: u64) -> std::io::Result<DiskLoss> {
        let kind = self.disk.kind();
        let cut = self.disk.settle()?.save(kind, fault, &self.home.join(LOST))?;
        let mut line = serde_json::to_vec(&cut)?;
        line.push(b'\n');
        let ledger = File::options()
            .create(true)
            .append(true)
            .open(self.home.join(LEDGER));
        sys::said(LEDGER, ledger)?.write_all(&line)?;
        Ok(DiskLoss {
            bytes: cut.bytes,
            files: cut.files.len() as u64,
            // Nobody knows what was synced.
            kept_unsynced: 0,
        })
    }
}
