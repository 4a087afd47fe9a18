//! A history without what clients did to logs. Nearly all of a long history is that, and most of what is asked of a
//! history is asked of the rest: it is cheaper to copy that once than to pass over everything again and again.

use history::{Body, History};

/// The entries that are no send, poll or question for an end, each with its index; and the last one, whatever it is.
pub(super) fn observed(history: &History) -> History {
    let clients = |body: &Body| matches!(body, Body::Send(_) | Body::Poll(_) | Body::ListOffsets(_));
    let mut entries: Vec<_> = history
        .entries
        .iter()
        .filter(|entry| !clients(&entry.body))
        .cloned()
        .collect();
    entries.extend(history.entries.last().filter(|last| clients(&last.body)).cloned());
    History {
        header: history.header.clone(),
        entries,
        dropped: history.dropped.clone(),
    }
}
