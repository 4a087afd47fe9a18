//! Making the remainder of a cut: choose it, save what will be dropped, put data back, take names back, write the
//! ledger.
use super::choice::{self, Left};
use super::data::{extents, save};
use super::journal::{Length, Undo};
use super::nodes::{Name, ROOT};
use super::unsynced::Base;
use super::{Model, fresh_nodes, host, nanos};
use crate::draw::Draw;
use crate::ledger::{self, Cut, KeptFile, Line, Loss, LostFile, LostName, Mixed};
use crate::ranges::Ranges;
use crate::{DiskError, Policy};
use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

/// What a cut will leave; nothing has changed yet.
struct Plan {
    /// Names to take back, the latest first.
    undone: Vec<Undo>,
    /// Names kept though nobody synced them, the oldest first.
    kept: Vec<Undo>,
    /// Made, and to be taken back: no name of theirs will be left.
    fresh: HashSet<u64>,
    /// The names that come back.
    back: HashMap<u64, Name>,
    /// What removed things were called, whether they come back or not.
    removed: HashMap<u64, Name>,
    /// What is left of the files that are not wholly durable.
    data: HashMap<u64, (Base, Left)>,
}

/// What one file comes to.
#[derive(Default)]
struct Account {
    lost: Vec<LostFile>,
    kept: Vec<KeptFile>,
}

impl Model {
    /// Makes the remainder. Nobody may use the disk meanwhile; inode numbers given out before mean nothing
    /// after. The power is on again when this returns well. Saving comes first: if it fails, nothing is dropped
    /// yet, and the call can be made again.
    pub fn settle(&mut self, fault: u64, policy: Policy) -> Result<Loss, DiskError> {
        let at = self.off_since.ok_or(DiskError::PowerIsOn)?;
        let plan = self.plan(policy);
        self.meet_names(&plan);
        let Account {
            lost: files,
            kept: kept_files,
        } = self.account(fault, &plan)?;
        let names = self.told(&plan, &plan.undone);
        let kept_names = self.told(&plan, &plan.kept);
        self.restore_data(&plan)?;
        self.undo_names(&plan.undone)?;
        self.start_anew()?;
        let sum = |ranges: &[(u64, u64)]| ranges.iter().map(|(a, z)| z - a).sum::<u64>();
        let cut = Cut {
            at_ns: nanos(at),
            fault,
            remainder: policy.remainder,
            profile: policy.profile,
            seed: policy.seed,
            bytes: files.iter().map(|f| sum(&f.ranges)).sum(),
            files,
            names,
            kept_bytes: kept_files.iter().map(|f| sum(&f.ranges)).sum(),
            kept_files,
            kept_names,
        };
        Ok(Loss {
            bytes: cut.bytes,
            files: cut.files.len() as u64,
            names: cut.names.len() as u64,
            kept_bytes: cut.kept_bytes,
            kept_names: cut.kept_names.len() as u64,
            line: ledger::append(&self.paths.ledger, &Line::Cut(cut))?,
        })
    }

    fn plan(&self, policy: Policy) -> Plan {
        let choice = self.journal.choose(policy);
        let mut plan = Plan {
            undone: self.journal.undone(&choice),
            kept: self.journal.kept(&choice, policy.profile),
            fresh: HashSet::new(),
            back: HashMap::new(),
            removed: HashMap::new(),
            data: HashMap::new(),
        };
        for undo in &plan.undone {
            match undo {
                Undo::Created { ino, fresh: true, .. } => {
                    plan.fresh.insert(*ino);
                }
                // The latest removal decides what it was called.
                Undo::Removed { ino, name, .. }
                | Undo::Renamed {
                    replaced: Some((ino, _)),
                    to: name,
                    ..
                } => {
                    plan.back.entry(*ino).or_insert_with(|| name.clone());
                }
                Undo::Created { .. } | Undo::Renamed { .. } => {}
            }
        }
        plan.removed = plan.back.clone();
        for undo in plan.kept.iter().rev() {
            if let (Undo::Removed { name, .. } | Undo::Renamed { to: name, .. }, Some((ino, _))) =
                (undo, undo.trashed())
            {
                plan.removed.entry(ino).or_insert_with(|| name.clone());
            }
        }
        let mut lengths: HashMap<u64, Vec<&Length>> = HashMap::new();
        for change in self.journal.lengths() {
            lengths.entry(change.generation).or_default().push(change);
        }
        for (ino, state) in &self.unsynced {
            let (mut base, mut whole) = (state.base, true);
            for change in lengths.remove(&state.generation).unwrap_or_default() {
                match choice.keeps(change) {
                    true => base = base.set(change.length),
                    false => whole &= change.by_write,
                }
            }
            let mut draw = Draw::new(policy.seed, *ino);
            let reach = choice
                .until()
                .map_or(state.length, |until| state.reach(until, base));
            let left = match whole {
                true => choice::choose(state, base, reach, policy.remainder, &mut draw),
                false => Left::nothing(base),
            };
            plan.data.insert(*ino, (base, left));
        }
        plan
    }

    /// Files that are there now, or come back. Not those whose removal is kept, or that came and went.
    fn concerned(&mut self, plan: &Plan) -> Vec<u64> {
        let mut inos: Vec<u64> = self
            .unsynced
            .keys()
            .chain(self.gone.keys())
            .chain(&plan.fresh)
            .copied()
            .collect();
        inos.sort_unstable();
        inos.dedup();
        inos.retain(|ino| {
            let comes_back = plan.back.contains_key(ino) && !plan.fresh.contains(ino);
            comes_back || self.attr(*ino).is_ok_and(|a| a.nlink > 0)
        });
        inos
    }

    /// A file may have hard links that the disk was never asked for; the ledger wants a name, not a number.
    fn meet_names(&mut self, plan: &Plan) {
        let concerned = self.concerned(plan);
        let nameless = |ino: &u64| self.nodes.get(*ino).is_some_and(|n| n.names.is_empty());
        if !concerned
            .iter()
            .any(|ino| nameless(ino) && !plan.back.contains_key(ino))
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

    /// Who loses and keeps what; the lost bytes are saved.
    fn account(&mut self, fault: u64, plan: &Plan) -> Result<Account, DiskError> {
        let mut account = Account::default();
        let folder = self.paths.lost.join(fault.to_string());
        if let Err(e) = fs::remove_dir_all(&folder) // An earlier attempt's.
            && e.kind() != std::io::ErrorKind::NotFound
        {
            return Err(host("clear", &folder)(e));
        }
        for ino in self.concerned(plan) {
            self.account_one(fault, ino, plan, &mut account)?;
        }
        account.lost.sort_by(|a, b| a.path.cmp(&b.path));
        account.kept.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(account)
    }

    fn account_one(
        &mut self,
        fault: u64,
        ino: u64,
        plan: &Plan,
        account: &mut Account,
    ) -> Result<(), DiskError> {
        let Some(path) = self.nodes.path(ino) else {
            return Ok(());
        };
        let meta = fs::symlink_metadata(&path).map_err(host("read", &path))?;
        if !meta.is_file() {
            return Ok(());
        }
        let file = self.file(ino).map_err(|e| host("open", &path)(e.into()))?;
        let label = self
            .nodes
            .label(ino, &plan.removed)
            .unwrap_or_else(|| ino.to_string().into());
        let written = self.unsynced.get(&ino).map(|state| &state.written);
        let (mut lost, mut kept, mut left_length) = match (plan.data.get(&ino), written) {
            _ if plan.fresh.contains(&ino) => {
                let all = extents(&file, 0, meta.len());
                (all, Ranges::default(), None)
            }
            (Some((_, left)), Some(written)) => (
                written.but(&left.kept),
                written.and(&left.kept),
                Some(left.length),
            ),
            _ if self.gone.contains_key(&ino) => (Ranges::default(), Ranges::default(), Some(meta.len())),
            _ => return Ok(()),
        };
        if let Some(gone) = self.gone.get(&ino).filter(|_| !plan.fresh.contains(&ino)) {
            let none = Ranges::default();
            let left = plan.data.get(&ino).map_or(&none, |(_, left)| &left.kept);
            let also = gone.lost(&file, left).map_err(host("read", &path))?;
            left_length = left_length.map(|length| {
                let mut there = also.clone();
                there.cut_off(length);
                gone.length_without(&there, length)
            });
            also.iter().for_each(|(from, to)| lost.add(from, to));
            kept = kept.but(&also);
        }
        let label_text = label.to_string_lossy().into_owned();
        if !kept.is_empty() {
            account.kept.push(KeptFile {
                path: label_text.clone(),
                ranges: kept.iter().collect(),
            });
        }
        if lost.is_empty() && left_length == Some(meta.len()) {
            return Ok(());
        }
        let mut saved = Vec::new();
        for (from, to) in lost.iter() {
            saved.push(self.save_range(fault, ino, &label, &file, from, to)?);
        }
        let mut mixed = Vec::new();
        for (from, to) in mixed_runs(&lost, &kept) {
            let mut whole = label.clone().into_os_string();
            whole.push(".whole");
            let saved = self.save_range(fault, ino, Path::new(&whole), &file, from, to)?;
            mixed.push(Mixed { from, to, saved });
        }
        account.lost.push(LostFile {
            path: label_text,
            ranges: lost.iter().collect(),
            saved,
            mixed,
            had_length: meta.len(),
            left_length,
        });
        Ok(())
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
                let whole = label.extension().is_some_and(|e| e == "whole");
                let kind = if whole { "whole-inode" } else { "inode" };
                place = folder.join(format!("{kind}-{ino}@{from}"));
                create(&self.paths.lost, &place).map_err(host("make", &self.paths.lost.join(&place)))?
            }
        };
        let full = self.paths.lost.join(&place);
        save(file, from, to, &into).map_err(host("save lost bytes to", &full))?;
        Ok(place.to_string_lossy().into_owned())
    }

    fn told(&self, plan: &Plan, changes: &[Undo]) -> Vec<LostName> {
        let label = |n: &Name| {
            let folder = self.nodes.label(n.folder, &plan.removed).unwrap_or_default();
            folder.join(&n.name).to_string_lossy().into_owned()
        };
        let told = |undo: &Undo| match undo {
            Undo::Created { name, .. } => LostName::Created { path: label(name) },
            Undo::Removed { name, .. } => LostName::Removed { path: label(name) },
            Undo::Renamed {
                from, to, replaced, ..
            } => LostName::Renamed {
                from: label(from),
                to: label(to),
                replaced: replaced.is_some(),
            },
        };
        changes.iter().map(told).collect()
    }

    fn restore_data(&mut self, plan: &Plan) -> Result<(), DiskError> {
        for ino in self.concerned(plan) {
            let ours = |ino: &u64| self.unsynced.contains_key(ino) || self.gone.contains_key(ino);
            let Some(path) = self.nodes.path(ino).filter(|_| ours(&ino)) else {
                continue;
            };
            let file = self.file(ino).map_err(|e| host("open", &path)(e.into()))?;
            if let (Some(state), Some((base, left))) = (self.unsynced.get(&ino), plan.data.get(&ino)) {
                state
                    .restore(&file, *base, left)
                    .map_err(host("put durable bytes back into", &path))?;
            }
            if let Some(gone) = self.gone.get(&ino) {
                let none = Ranges::default();
                let kept = plan.data.get(&ino).map_or(&none, |(_, left)| &left.kept);
                gone.restore(&file, kept)
                    .map_err(host("put durable bytes back into", &path))?;
            }
        }
        Ok(())
    }

    fn undo_names(&mut self, undone: &[Undo]) -> Result<(), DiskError> {
        self.files.close_all();
        for undo in undone {
            self.undo(undo)
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
                ..
            } => {
                let now = self.path(to.folder)?.join(&to.name);
                fs::rename(now, self.path(from.folder)?.join(&from.name)).map_err(errno)?;
                self.nodes.remove_name(*ino, to);
                self.nodes.add_name(*ino, from.clone());
                if let Some((other, trash)) = replaced {
                    self.bring_back(*other, to, *trash)?;
                }
            }
        }
        Ok(())
    }

    fn start_anew(&mut self) -> Result<(), DiskError> {
        self.unsynced.clear();
        self.gone.clear();
        self.oldest.clear();
        self.memory = 0;
        self.trash_bytes = 0;
        self.nodes = fresh_nodes(&self.paths)?;
        self.off_since = None;
        Ok(())
    }
}

/// Runs of written bytes of which a part was lost and a part kept.
fn mixed_runs(lost: &Ranges, kept: &Ranges) -> Vec<(u64, u64)> {
    let mut all = lost.clone();
    kept.iter().for_each(|(from, to)| all.add(from, to));
    let torn = |(from, to): &(u64, u64)| {
        let lost = lost.within(*from, *to).bytes();
        0 < lost && lost < to - from
    };
    all.iter().filter(torn).collect()
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
