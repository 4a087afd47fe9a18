//! Reading survives a torn last line, and says which line is wrong.

use crate::samples;
use history::*;

fn small() -> Vec<u8> {
    samples::bytes(&samples::header(), &samples::entries()[..3])
}

/// The same history with one line replaced.
fn with_line(number: usize, line: &str) -> Vec<u8> {
    let text = String::from_utf8(small()).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines[number - 1] = line;
    (lines.join("\n") + "\n").into_bytes()
}

fn line_error(bytes: &[u8]) -> (usize, String) {
    match read(bytes) {
        Err(ReadError::Line { line, why }) => (line, why),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_whole_history_comes_back() {
    let entries = samples::entries();
    let history = read(&*samples::bytes(&samples::header(), &entries)).unwrap();
    assert_eq!(
        (history.header, history.entries, history.dropped),
        (samples::header(), entries, None)
    );
}

#[test]
fn wherever_the_last_line_is_torn_the_rest_is_read_and_said() {
    let bytes = small();
    let last = bytes[..bytes.len() - 1]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .unwrap()
        + 1;
    for cut in last..bytes.len() {
        let history = read(&bytes[..cut]).unwrap();
        assert_eq!(history.entries.len(), 2);
        let dropped = (cut > last).then_some(Dropped {
            line: 4,
            bytes: cut - last,
        });
        assert_eq!(history.dropped, dropped);
    }
}

#[test]
fn a_line_with_its_newline_is_never_dropped() {
    let (line, _) = line_error(&with_line(4, r#"{"index":2,"#));
    assert_eq!(line, 4);
}

#[test]
fn a_line_that_is_no_entry_is_named() {
    for wrong in ["", "[]", "{}", "no json", "\u{0}", r#"{"index":0}"#] {
        let (line, why) = line_error(&with_line(3, wrong));
        assert_eq!(line, 3, "{wrong}");
        assert!(!why.is_empty());
    }
}

#[test]
fn bytes_that_are_no_utf8_are_named() {
    let mut bytes = small();
    let first_newline = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    bytes[first_newline + 3] = 0xff;
    assert_eq!(line_error(&bytes).0, 2);
}

#[test]
fn an_index_out_of_place_is_named() {
    let entries = samples::entries();
    let (line, why) = line_error(&samples::bytes(&samples::header(), &entries[1..3]));
    assert_eq!((line, why.as_str()), (2, "index 1 where 0 was expected"));
}

#[test]
fn a_time_that_falls_is_named() {
    let mut entries = samples::entries();
    entries[1].time = 100;
    let (line, why) = line_error(&samples::bytes(&samples::header(), &entries[..3]));
    assert_eq!((line, why.as_str()), (4, "time 20 is before the line above"));
    entries[2].time = 100;
    assert!(
        read(&*samples::bytes(&samples::header(), &entries[..3])).is_ok(),
        "two at one time are in order"
    );
}

#[test]
fn a_header_that_is_missing_torn_or_of_another_kind_is_refused() {
    let bytes = small();
    for wrong in [&b""[..], b"\n", b"{}\n", &bytes[..20]] {
        assert!(matches!(read(wrong), Err(ReadError::Header(_))), "{wrong:?}");
    }
}

#[test]
fn another_schema_is_refused_with_its_number() {
    let header = Header {
        schema: SCHEMA + 1,
        ..samples::header()
    };
    let found = read(&*samples::bytes(&header, &[]));
    assert!(
        matches!(found, Err(ReadError::Schema { found }) if found == SCHEMA + 1),
        "{found:?}"
    );
}

#[test]
fn a_missing_file_is_an_io_error() {
    let path = std::env::temp_dir().join("ackall-history-that-does-not-exist");
    assert!(matches!(read_path(&path), Err(ReadError::Io(_))));
}
