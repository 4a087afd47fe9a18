//! Words and numbers as people read them, and text made safe for markup.

/// A number as people read it: 1,204.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun: "1 record", "2,345 records".
pub(crate) fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// A measured number: whole ones grouped, others with two decimals.
pub(crate) fn measured(value: f64) -> String {
    // Below 2^53 every whole number is exact.
    if value.fract() == 0.0 && (0.0..9e15).contains(&value) {
        grouped(value as u64)
    } else {
        format!("{value:.2}")
    }
}

/// Measurements, named `quantity_unit`: "dead 3.20 ms, lost 45,056 bytes".
pub(crate) fn measurements<'a>(measured: impl Iterator<Item = (&'a String, &'a f64)>) -> String {
    let told: Vec<String> = measured.map(|(name, value)| measurement(name, *value)).collect();
    told.join(", ")
}

fn measurement(name: &str, value: f64) -> String {
    match name.rsplit_once('_') {
        Some((quantity, unit)) => format!("{} {} {unit}", quantity.replace('_', " "), measured(value)),
        None => format!("{name} {}", measured(value)),
    }
}

/// Nanoseconds on the run's clock as seconds: "3.204 s".
pub(crate) fn clock(nanoseconds: u64) -> String {
    format!(
        "{}.{:03} s",
        nanoseconds / 1_000_000_000,
        nanoseconds / 1_000_000 % 1_000
    )
}

/// Broker numbers in brackets: "[1,2]".
pub(crate) fn brokers(nodes: &[i32]) -> String {
    let nodes: Vec<String> = nodes.iter().map(i32::to_string).collect();
    format!("[{}]", nodes.join(","))
}

/// Text without what neither XML 1.0 nor HTML can hold: such characters are shown as U+FFFD.
pub(crate) fn clean(text: &str) -> String {
    let holds = |c: char| {
        matches!(c, '\t' | '\n' | '\r')
            || (c >= ' ' && !matches!(c, '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}'))
    };
    text.chars()
        .map(|c| if holds(c) { c } else { char::REPLACEMENT_CHARACTER })
        .collect()
}

/// A word as a shell takes it: quoted where it would be taken apart.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+:@%=,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Text for the inside of an element, or of a quoted attribute, in HTML and XML alike.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in clean(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_take_them_apart() {
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("/tmp/a-b_c.d"), "/tmp/a-b_c.d");
        assert_eq!(quoted("a.b=0"), "a.b=0");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(r"a\b"), r"'a\b'");
    }

    #[test]
    fn numbers_are_grouped() {
        for (n, text) in [
            (0, "0"),
            (204, "204"),
            (1204, "1,204"),
            (1_234_567, "1,234,567"),
            (123_456, "123,456"),
        ] {
            assert_eq!(grouped(n), text);
        }
        assert_eq!(counted(1, "record"), "1 record");
        assert_eq!(counted(2345, "record"), "2,345 records");
        assert_eq!(measured(45_056.0), "45,056");
        assert_eq!(measured(12.345), "12.35");
        assert_eq!(measured(-3.0), "-3.00");
        assert_eq!(measured(1e300), format!("{:.2}", 1e300));
    }

    #[test]
    fn times_and_brokers_are_told_shortly() {
        assert_eq!(clock(3_204_999_999), "3.204 s");
        assert_eq!(clock(7_000_000), "0.007 s");
        assert_eq!(brokers(&[]), "[]");
        assert_eq!(brokers(&[1, 2]), "[1,2]");
    }

    #[test]
    fn markup_is_escaped_and_what_no_markup_holds_is_shown_as_such() {
        assert_eq!(
            escape(r#"<a href="x">'&"#),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;"
        );
        assert_eq!(
            escape("a\u{0}b\u{1b}[31mc\u{fffe}"),
            "a\u{fffd}b\u{fffd}[31mc\u{fffd}"
        );
        assert_eq!(escape("naïve ✓ 😀\n"), "naïve ✓ 😀\n");
    }
}
