//! The node's log for humans: lines on standard error, with time and level. States and errors, no requests.

use std::fmt;
use std::time::SystemTime;

/// How much a line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// A change of state.
    Info,
    /// Something that failed and is tried again.
    Warn,
    /// Something that cost the node its purpose.
    Error,
}

/// Writes a line.
pub fn write(level: Level, text: fmt::Arguments<'_>) {
    let level = match level {
        Level::Info => "INFO",
        Level::Warn => "WARN",
        Level::Error => "ERROR",
    };
    let time = humantime::format_rfc3339_millis(SystemTime::now());
    eprintln!("{time} {level} {text}");
}

/// A line of level info.
macro_rules! info {
    ($($text:tt)*) => { $crate::diary::write($crate::diary::Level::Info, format_args!($($text)*)) };
}
/// A line of level warn.
macro_rules! warning {
    ($($text:tt)*) => { $crate::diary::write($crate::diary::Level::Warn, format_args!($($text)*)) };
}
/// A line of level error.
macro_rules! failed {
    ($($text:tt)*) => { $crate::diary::write($crate::diary::Level::Error, format_args!($($text)*)) };
}
pub(crate) use {failed, info, warning};
