//! Endless junk is refused without being read to its end. `examples/junk.rs` measures the same over gibibytes.

#[path = "../../examples/junk/endless.rs"]
mod endless;

use endless::{Endless, KINDS};
use history::{Format, read_foreign};
use std::io::BufReader;

/// Beyond the longest form that is read, so that an endless one is met.
const LENGTH: u64 = 70 << 20;

#[test]
fn junk_of_each_kind_is_refused_in_some_formats() {
    for (format, kind) in [
        (Format::JepsenEdn, "string"),
        (Format::JepsenJson, "spaces"),
        (Format::PlumeText, "line"),
        (Format::Ackall, "line"),
    ] {
        let kind = KINDS.iter().find(|known| known.name == kind).unwrap();
        assert_refused(format, kind);
    }
}

#[test]
fn junk_that_is_wrong_at_once_is_refused_at_once() {
    for format in Format::ALL {
        for kind in KINDS
            .iter()
            .filter(|kind| ["random", "brackets"].contains(&kind.name))
        {
            assert_refused(format, kind);
        }
    }
}

fn assert_refused(format: Format, kind: &endless::Kind) {
    let junk = BufReader::new(Endless::new(format, kind, LENGTH));
    let last = read_foreign(format, junk).last();
    assert!(matches!(last, Some(Err(_))), "{format}, {}: {last:?}", kind.name);
}
