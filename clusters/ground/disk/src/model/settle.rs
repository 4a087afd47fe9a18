//! Making the remainder of a cut: save what will be dropped, put data back, take names back, write the ledger.
use super::data::{extents, save};
use super::names::Undo;
use super::nodes::{Name, ROOT};
use super::{Model, fresh_nodes, host, nanos};
use crate::ledger::{self, Cut, Line, Loss, LostFile, LostName};
use crate::{DiskError, Remainder};
use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

/// What the journal says of inodes, before it is taken back.
struct Fate {
    /// Made since the last commit: no name of theirs will be left.
    fresh: HashSet<u64>,
    /// The names that come back.
    removed: HashMap<u64, Name>,
}

impl Model {
    /// Makes the remainder. Nobody may use the disk meanwhile; inode numbers given out before mean nothing
    /// after. The power is on again when this returns well. Saving comes first: if it fails, nothing is dropped
    /// yet, and the call can be made again.
    pub fn settle(&mut self, fault: u64, remainder: Remainder) -> Result<Loss, DiskError> {
        let at = self.off_since.ok_or(DiskError::PowerIsOn)?;
        let Remainder::OnlySynced = remainder;
        let fate = self.fate();
        self.meet_names(&fate);
        let files = self.save_all(fault, &fate)?;
        let names = self.lost_names(&fate);
        self.restore_data(&fate)?;
        self.undo_names()?;
        let bytes = files.iter().flat_map(|f| &f.ranges).map(|(a, z)| z - a).sum();
        let mut loss = Loss {
            bytes,
            files: files.len() as u64,
            names: names.len() as u64,
            line: String::new(),
        };
        self.start_anew()?;
        let remainder = "only_synced".to_owned();
        let cut = Cut {
            at_ns: nanos(at),
            fault,
            remainder,
            bytes,
            files,
            names,
        };
        loss.line = ledger::append(&self.paths.ledger, &Line::Cut(cut))?;
        Ok(loss)
    }

    fn fate(&self) -> Fate {
        let mut fate = Fate {
            fresh: HashSet::new(),
            removed: HashMap::new(),
        };
        for undo in self.journal.newest_first() {
            match undo {
                Undo::Created { ino, fresh: true, .. } => {
                    fate.fresh.insert(*ino);
                }
                // The latest removal decides what it was called.
                Undo::Removed { ino, name, .. }
                | Undo::Renamed {
                    replaced: Some((ino, _)),
                    to: name,
                    ..
                } => {
                    fate.removed.entry(*ino).or_insert_with(|| name.clone());
                }
                Undo::Created { .. } | Undo::Renamed { .. } | Undo::Shrunk { .. } => {}
            }
        }
        fate
    }

    /// Files that are there now, or come back. Not those whose removal is durable, or that came and went.
    fn concerned(&mut self, fate: &Fate) -> Vec<u64> {
        let mut inos: Vec<u64> = self.unsynced.keys().chain(&fate.fresh).copied().collect();
        inos.sort_unstable();
        inos.dedup();
        inos.retain(|ino| {
            let comes_back = fate.removed.contains_key(ino) && !fate.fresh.contains(ino);
            comes_back || self.attr(*ino).is_ok_and(|a| a.nlink > 0)
        });
        inos
    }

    /// A file may have hard links that the disk was never asked for; the ledger wants a name, not a number.
    fn meet_names(&mut self, fate: &Fate) {
        let concerned = self.concerned(fate);
        let nameless = |ino: &u64| self.nodes.get(*ino).is_some_and(|n| n.names.is_empty());
        if !concerned
            .iter()
            .any(|ino| nameless(ino) && !fate.removed.contains_key(ino))
        {
            return;
        }
        let mut folders = vec![ROOT];
        while let Some(folder) = folders.pop() {
            // What cannot be read keeps its number in the ledger; putting it back will say what is wrong.
            let entries = self.list(folder).unwrap_or_default();
            folders.extend(entries.iter().filter(|e| e.kind.is_dir()).map(|e| e.ino));
        }
    }

    fn save_all(&mut self, fault: u64, fate: &Fate) -> Result<Vec<LostFile>, DiskError> {
        let mut lost = Vec::new();
        let folder = self.paths.lost.join(fault.to_string());
        if let Err(e) = fs::remove_dir_all(&folder) // An earlier attempt's.
            && e.kind() != std::io::ErrorKind::NotFound
        {
            return Err(host("clear", &folder)(e));
        }
        for ino in self.concerned(fate) {
            let Some(path) = self.nodes.path(ino) else {
                continue;
            };
            let meta = fs::symlink_metadata(&path).map_err(host("read", &path))?;
            if !meta.is_file() {
                continue;
            }
            let file = self.file(ino).map_err(|e| host("open", &path)(e.into()))?;
            let label = self
                .nodes
                .label(ino, &fate.removed)
                .unwrap_or_else(|| ino.to_string().into());
            let state = self.unsynced.get(&ino);
            let gone = fate.fresh.contains(&ino);
            let ranges: Vec<(u64, u64)> = match state {
                _ if gone => extents(&file, 0, meta.len()),
                Some(state) => state.written.iter().collect(),
                None => Vec::new(),
            };
            let left_length = if gone {
                None
            } else {
                Some(state.map_or(meta.len(), |s| s.durable_length))
            };
            if ranges.is_empty() && left_length == Some(meta.len()) {
                continue; // A durable page that was kept, and not changed after all.
            }
            let mut saved = Vec::new();
            for (from, to) in &ranges {
                saved.push(self.save_range(fault, ino, &label, &file, *from, *to)?);
            }
            let path = label.to_string_lossy().into_owned();
            lost.push(LostFile {
                path,
                ranges,
                saved,
                had_length: meta.len(),
                left_length,
            });
        }
        lost.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(lost)
    }

    /// Saves one range and says where, relative to the folder of lost bytes.
    fn save_range(
        &self,
        fault: u64,
        ino: u64,
        label: &Path,
        file: &File,
        from: u64,
        to: u64,
    ) -> Result<String, DiskError> {
        let folder = PathBuf::from(fault.to_string());
        let mut place = folder.join(label).into_os_string();
        place.push(format!("@{from}"));
        let mut place = PathBuf::from(place);
        let into = match create(&self.paths.lost, &place) {
            Ok(into) => into,
            // A name too long, or one that meets another: a file `x@0` beside a folder `x@0`, a removed file and
            // a later one of the same name.
            Err(_) => {
                place = folder.join(format!("inode-{ino}@{from}"));
                create(&self.paths.lost, &place).map_err(host("make", &self.paths.lost.join(&place)))?
            }
        };
        let full = self.paths.lost.join(&place);
        save(file, from, to, &into).map_err(host("save lost bytes to", &full))?;
        Ok(place.to_string_lossy().into_owned())
    }

    fn lost_names(&self, fate: &Fate) -> Vec<LostName> {
        let label = |n: &Name| {
            let folder = self.nodes.label(n.folder, &fate.removed).unwrap_or_default();
            folder.join(&n.name).to_string_lossy().into_owned()
        };
        let told = |undo: &Undo| match undo {
            Undo::Created { name, .. } => Some(LostName::Created { path: label(name) }),
            Undo::Removed { name, .. } => Some(LostName::Removed { path: label(name) }),
            Undo::Renamed {
                from, to, replaced, ..
            } => Some(LostName::Renamed {
                from: label(from),
                to: label(to),
                replaced: replaced.is_some(),
            }),
            Undo::Shrunk { .. } => None,
        };
        self.journal.newest_first().filter_map(told).collect()
    }

    fn restore_data(&mut self, fate: &Fate) -> Result<(), DiskError> {
        for ino in self.concerned(fate) {
            let Some(path) = self.nodes.path(ino).filter(|_| self.unsynced.contains_key(&ino)) else {
                continue;
            };
            let file = self.file(ino).map_err(|e| host("open", &path)(e.into()))?;
            if let Some(state) = self.unsynced.get(&ino) {
                state
                    .restore(&file)
                    .map_err(host("put durable bytes back into", &path))?;
            }
        }
        Ok(())
    }

    fn undo_names(&mut self) -> Result<(), DiskError> {
        self.files.close_all();
        let undos: Vec<Undo> = self.journal.newest_first().cloned().collect();
        for undo in undos {
            self.undo(&undo)
                .map_err(|e| host("take a name back in", self.nodes.root())(e.into()))?;
        }
        self.journal.clear();
        Ok(())
    }

    fn undo(&mut self, undo: &Undo) -> Result<(), nix::errno::Errno> {
        use crate::backing::errno;
        match undo {
            Undo::Created { ino, name, .. } => {
                let path = self.path(name.folder)?.join(&name.name);
                let folder = fs::symlink_metadata(&path).map_err(errno)?.is_dir();
                if folder {
                    fs::remove_dir(&path)
                } else {
                    fs::remove_file(&path)
                }
                .map_err(errno)?;
                self.nodes.remove_name(*ino, name);
            }
            Undo::Removed { ino, name, trash } => self.bring_back(*ino, name, *trash)?,
            Undo::Renamed {
                ino,
                from,
                to,
                replaced,
            } => {
                let now = self.path(to.folder)?.join(&to.name);
                fs::rename(now, self.path(from.folder)?.join(&from.name)).map_err(errno)?;
                self.nodes.remove_name(*ino, to);
                self.nodes.add_name(*ino, from.clone());
                if let Some((other, trash)) = replaced {
                    self.bring_back(*other, to, *trash)?;
                }
            }
            Undo::Shrunk { .. } => {}
        }
        Ok(())
    }

    fn start_anew(&mut self) -> Result<(), DiskError> {
        self.unsynced.clear();
        self.oldest.clear();
        self.memory = 0;
        self.nodes = fresh_nodes(&self.paths)?;
        self.off_since = None;
        Ok(())
    }
}

fn create(lost: &Path, place: &Path) -> std::io::Result<File> {
    let full = lost.join(place);
    if let Some(folder) = full.parent() {
        fs::create_dir_all(folder)?;
    }
    OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .open(full)
}
