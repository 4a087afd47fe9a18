//! One copy of each name that repeats: `append`, `r`, `txn`.

use std::sync::Arc;

/// Longer texts are data rather than names.
const LONGEST: usize = 32;
/// Far more than a history has names; a power of two.
const SLOTS: usize = 256;

/// Recent names. Two that fall on one slot push each other out, so it never grows.
#[derive(Debug)]
pub(super) struct Names {
    slots: Vec<Option<Arc<str>>>,
    none: Arc<str>,
}

impl Default for Names {
    fn default() -> Names {
        Names {
            slots: vec![None; SLOTS],
            none: "".into(),
        }
    }
}

impl Names {
    /// The empty name.
    pub fn none(&self) -> &Arc<str> {
        &self.none
    }

    /// A shared copy of a name.
    pub fn get(&mut self, name: &str) -> Arc<str> {
        match self.known(name.as_bytes()) {
            Some(known) => known,
            None => self.keep(name),
        }
    }

    /// A shared copy of a name that is ASCII; none where it is not.
    pub fn ascii(&mut self, name: &[u8]) -> Option<Arc<str>> {
        match self.known(name) {
            Some(known) => Some(known),
            None => std::str::from_utf8(name).ok().map(|name| self.keep(name)),
        }
    }

    fn known(&self, name: &[u8]) -> Option<Arc<str>> {
        let known = self.slots.get(slot(name))?.as_ref()?;
        (known.as_bytes() == name).then(|| known.clone())
    }

    fn keep(&mut self, name: &str) -> Arc<str> {
        let name: Arc<str> = name.into();
        if name.len() <= LONGEST
            && let Some(free) = self.slots.get_mut(slot(name.as_bytes()))
        {
            *free = Some(name.clone());
        }
        name
    }
}

/// The slot of a name, by its first and last eight bytes and its length.
fn slot(name: &[u8]) -> usize {
    let eight = |bytes: &[u8]| {
        let mut word = [0; 8];
        let length = bytes.len().min(8);
        if let (Some(to), Some(from)) = (word.get_mut(..length), bytes.get(..length)) {
            to.copy_from_slice(from);
        }
        u64::from_le_bytes(word)
    };
    let last = name.get(name.len().saturating_sub(8)..).unwrap_or_default();
    let mixed =
        (eight(name) ^ eight(last).rotate_left(29) ^ name.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    // The top bits are the best mixed.
    (mixed >> 56) as usize % SLOTS
}
