//! `ackall systems`: the built-in ones, a line each; with a name, its TOML.

use crate::error::{Error, Status};
use crate::system::unknown;
use clusters::BUILT_IN;

/// Prints them.
pub fn systems(name: Option<&str>) -> Result<Status, Error> {
    let Some(name) = name else {
        for system in BUILT_IN {
            say!("{:<24}{}", system.name, system.summary);
        }
        return Ok(Status::Pass);
    };
    match BUILT_IN.iter().find(|system| system.name == name) {
        Some(system) => {
            say_as_is!("{}", system.toml);
            Ok(Status::Pass)
        }
        None => Err(unknown(name, "ackall systems   lists them")),
    }
}
