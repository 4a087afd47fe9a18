//! Faults, as the keeper of a disk asks for them.
use super::{Crashed, Faults, damage::Damage};
use crate::rule::{DiskEffect, DiskRule, DiskRuleCounts, DiskSwap, Mended, Swapped, is_under};
use crate::{CallKind, Disk, DiskError, serve, swap};
use std::sync::atomic::Ordering;

impl Disk {
    /// Puts a fault's rule in force, in place of one that the fault had; those of others stay. It outlives a loss of
    /// power. Damage to what is at rest is done when this returns.
    pub fn set_rule(&self, fault: u64, rule: DiskRule) -> Result<(), DiskError> {
        rule.check().map_err(DiskError::Rule)?;
        if rule.needs().is_some_and(|mode| mode != self.mode()) {
            let why = "it strikes single writes, and the node's kernel keeps this disk's; a disk that is write-through has \
                       them one by one";
            return Err(DiskError::Rule(why.into()));
        }
        self.clear_rule(fault)?;
        let mut model = self.model();
        let damage = Damage::done(&mut model, fault, &rule).map_err(|why| DiskError::Host {
            what: "damage what is in",
            path: model.paths().backing.clone(),
            why,
        })?;
        let mut stale = damage
            .as_ref()
            .map_or_else(Vec::new, |damage| damage.nodes(&model));
        if strikes_reads(&rule) {
            // What is in the page cache no read asks for.
            let struck = |(_, path): &(u64, String)| is_under(&rule.path, path);
            let known = model.known().into_iter().filter(struck);
            stale.extend(known.map(|(ino, _)| ino));
        }
        drop(model);
        self.faults.set(fault, rule, damage);
        self.forget_pages(stale);
        Ok(())
    }

    /// Takes a fault's rule away: who waits by it waits no longer, and what it damaged is as it was, but for what was
    /// written over meanwhile. No error where there is none.
    pub fn clear_rule(&self, fault: u64) -> Result<Mended, DiskError> {
        let Some(damage) = self.faults.clear(fault) else {
            return Ok(Mended::default());
        };
        let mut model = self.model();
        let mended = damage.mend(&mut model).map_err(|why| DiskError::Host {
            what: "mend what is in",
            path: model.paths().backing.clone(),
            why,
        })?;
        let stale = damage.nodes(&model);
        drop(model);
        self.forget_pages(stale);
        Ok(mended)
    }

    /// What a fault's rule has met and done so far; none where it has none.
    pub fn rule_counts(&self, fault: u64) -> Option<DiskRuleCounts> {
        self.faults.counts(fault)
    }

    /// Answers all that waits, once: its processes are dying, and could not otherwise. Rules stay.
    pub fn let_go(&self) {
        self.faults.let_go();
    }

    /// Who hears that the disk has stopped at a call. Once; a second listener is not heard of.
    pub fn on_crash(&self, listener: impl Fn(Crashed) + Send + Sync + 'static) {
        let _ = self.faults.listener.set(Box::new(listener));
    }

    /// Puts another disk in this one's place, or copies it. Damage that is in stays with the files that have it.
    pub fn swap(&self, fault: u64, what: DiskSwap) -> Result<Swapped, DiskError> {
        let mut model = self.model();
        let moves = !matches!(what, DiskSwap::TakeImage | DiskSwap::Forget);
        if moves && (self.serving.load(Ordering::SeqCst) > 0 || model.is_off()) {
            return Err(DiskError::StillServing);
        }
        let swapped = swap::swap(model.paths(), fault, what)?;
        if moves {
            model.reopen()?;
        }
        Ok(swapped)
    }

    /// The power is off, as the model knows it; who waits goes on waiting.
    pub(crate) fn model_off(&self) {
        self.model().power_off(crate::disk::now());
    }

    /// `[from, to)` of a file is about to be written.
    pub(crate) fn written_over(&self, ino: u64, range: (u64, u64), late: Option<&[u8]>) {
        if self.faults.state().damages.is_empty() {
            return;
        }
        let Some(backing) = self.model().backing_of(ino) else {
            return;
        };
        for damage in self.faults.state().damages.values_mut() {
            damage.written_over(backing, range, late);
        }
    }

    /// The kernel asks for these anew.
    fn forget_pages(&self, inos: Vec<u64>) {
        let notifier = self.notifier().clone();
        if let Some(notifier) = notifier.filter(|_| !inos.is_empty()) {
            serve::forget_pages(notifier, inos);
        }
    }
}

impl Faults {
    /// After a cut.
    pub(crate) fn look_again(&self) {
        self.state().damages.values_mut().for_each(Damage::look_again);
    }
}

fn strikes_reads(rule: &DiskRule) -> bool {
    let meant = rule.calls.is_empty() || rule.calls.contains(&CallKind::Read);
    meant
        && matches!(
            rule.effect,
            DiskEffect::Fail(_) | DiskEffect::Slow(_) | DiskEffect::Hang | DiskEffect::Crash { .. }
        )
}
