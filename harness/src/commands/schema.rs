//! `ackall schema`: the JSON Schemas of what the program writes.

use crate::cli::SchemaOf;
use crate::error::{Error, Status};

/// The schema of a scenario's file, as TOML maps to JSON.
pub const SCENARIO: &str = include_str!("../../schema/scenario.schema.json");

/// The schema of a system's file, as TOML maps to JSON.
pub const SYSTEM: &str = include_str!("../../schema/system.schema.json");

/// Prints one.
pub fn schema(of: SchemaOf) -> Result<Status, Error> {
    say_as_is!(
        "{}",
        match of {
            SchemaOf::Result => results::RESULT_SCHEMA,
            SchemaOf::History => history::JSON_SCHEMA,
            SchemaOf::Scenario => SCENARIO,
            SchemaOf::System => SYSTEM,
            SchemaOf::Check => results::check::CHECK_SCHEMA,
        }
    );
    Ok(Status::Pass)
}
