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
        if name.len() > LONGEST {
            return name.into();
        }
        // FNV-1a, folded.
        let mut hash = 0x811c_9dc5_u32;
        for byte in name.bytes() {
            hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        }
        let slot = (hash ^ (hash >> 16)) as usize % SLOTS;
        match self.slots.get_mut(slot) {
            Some(Some(known)) if **known == *name => known.clone(),
            Some(free) => free.insert(name.into()).clone(),
            None => name.into(),
        }
    }
}
