//! One file of a log.
