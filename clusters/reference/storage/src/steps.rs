//! Where a process may end between two steps on the disk: a place for tests to look.
//!
//! Each step that changes names or makes something durable is announced here. Outside tests that is
//! nothing at all.

use std::path::Path;

/// A step, after it was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// A file was made, removed, or given another name; not yet durable.
    NameChanged,
    /// A file's content is durable.
    FileSynced,
    /// The names in a folder are durable.
    FolderSynced,
}

#[cfg(not(test))]
fn taken(_: Step, _: &Path) {}

#[cfg(test)]
use hook::taken;
#[cfg(test)]
pub(crate) use hook::watch;

pub(crate) fn name_changed(path: &Path) {
    taken(Step::NameChanged, path);
}

pub(crate) fn file_synced(path: &Path) {
    taken(Step::FileSynced, path);
}

pub(crate) fn folder_synced(folder: &Path) {
    taken(Step::FolderSynced, folder);
}

#[cfg(test)]
mod hook {
    use std::cell::RefCell;
    use std::path::Path;

    use super::Step;

    type Watcher = Box<dyn FnMut(Step, &Path)>;

    thread_local! {
        static WATCHER: RefCell<Option<Watcher>> = const { RefCell::new(None) };
    }

    /// Runs `act`, with `watcher` told of every step that this thread takes.
    pub(crate) fn watch<T>(watcher: impl FnMut(Step, &Path) + 'static, act: impl FnOnce() -> T) -> T {
        WATCHER.set(Some(Box::new(watcher)));
        let done = act();
        WATCHER.set(None);
        done
    }

    pub(super) fn taken(step: Step, path: &Path) {
        // Taken out meanwhile: what the watcher itself does is not watched.
        if let Some(mut watcher) = WATCHER.take() {
            watcher(step, path);
            WATCHER.set(Some(watcher));
        }
    }
}
