//! Kafka histories that something else recorded.

mod agreement;
mod judged;
#[allow(dead_code, unused_imports, reason = "other tests use the rest")]
#[path = "../literal/mod.rs"]
mod literal;
mod manifest;
