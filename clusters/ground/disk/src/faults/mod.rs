//! Faults of one disk: what each call meets, who waits, what was damaged.
//!
//! [`Engine`] decides, and does nothing: calls in, decisions out. [`Waiting`] keeps calls that are to be answered later,
//! or not yet. [`damage`] changes what is at rest. With no rule in force a call costs one look at a flag.
pub(crate) mod damage;
mod engine;
mod on_disk;
mod waiting;

pub(crate) use engine::{Call, Decision, Engine, Outcome};
pub(crate) use waiting::Waiting;

use crate::rule::{DiskRule, DiskRuleCounts};
use crate::{CallKind, Crash};
use damage::Damage;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A disk has stopped at a call, as a rule asked for. Its node is to be struck now; no further call is answered until
/// that is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crashed {
    /// Whose rule it was.
    pub fault: u64,
    /// What is to happen.
    pub how: Crash,
    /// When it was, in nanoseconds of the monotonic clock.
    pub at_ns: u64,
    /// At what call.
    pub call: CallKind,
    /// On what, below the mount.
    pub path: String,
}

/// Who hears of it. Called on the server's thread, with no lock held.
type Listener = Box<dyn Fn(Crashed) + Send + Sync>;

/// All faults of one disk.
#[derive(Default)]
pub(crate) struct Faults {
    /// Whether calls are to be judged at all.
    on: AtomicBool,
    state: Mutex<State>,
    pub(crate) waiting: Arc<Waiting>,
    pub(crate) listener: OnceLock<Listener>,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) engine: Engine,
    pub(crate) damages: BTreeMap<u64, Damage>,
    /// Without power nothing is struck.
    off: bool,
}

impl Faults {
    /// Whether a call must be judged.
    pub(crate) fn any(&self) -> bool {
        self.on.load(Ordering::Acquire)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refresh(&self, state: &State) {
        self.on
            .store(!state.off && !state.engine.is_empty(), Ordering::Release);
    }

    /// Puts a rule in force, in place of one that the fault had.
    pub(crate) fn set(&self, fault: u64, rule: DiskRule, damage: Option<Damage>) {
        let mut state = self.state();
        let done = damage.as_ref().map(Damage::counts).unwrap_or_default();
        state.engine.set(fault, rule, done);
        state.damages.extend(damage.map(|damage| (fault, damage)));
        self.refresh(&state);
    }

    /// Takes a rule away; the damage that it did. Who waited for it waits no longer.
    pub(crate) fn clear(&self, fault: u64) -> Option<Damage> {
        let mut state = self.state();
        state.engine.clear(fault);
        let damage = state.damages.remove(&fault);
        self.refresh(&state);
        drop(state);
        self.waiting.release(fault);
        damage
    }

    /// What a rule has met; none where there is none.
    pub(crate) fn counts(&self, fault: u64) -> Option<DiskRuleCounts> {
        let counts = self.state().engine.counts(fault)?;
        Some(DiskRuleCounts {
            waiting: self.waiting.count(fault),
            ..counts
        })
    }

    /// All that waits is answered now, and calls are again what they were before a crash. Rules stay.
    pub(crate) fn let_go(&self) {
        let mut state = self.state();
        state.engine.thaw();
        self.refresh(&state);
        drop(state);
        self.waiting.release_all();
    }

    /// Without power no rule strikes, and nobody waits.
    pub(crate) fn power(&self, off: bool) {
        self.state().off = off;
        self.let_go();
    }
}

impl Drop for Faults {
    fn drop(&mut self) {
        self.waiting.close();
    }
}
