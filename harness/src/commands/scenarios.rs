//! `ackall scenarios`: the built-in ones, a line each; with a name, its TOML.

use crate::error::{Error, Status};
use crate::scenario::{BUILT_IN, Scenario};

/// Prints them.
pub fn scenarios(name: Option<&str>) -> Result<Status, Error> {
    let Some(name) = name else {
        for (name, _) in BUILT_IN {
            say!("{name:<24}{}", Scenario::find(name)?.summary);
        }
        return Ok(Status::Pass);
    };
    match BUILT_IN.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => {
            say_as_is!("{text}");
            Ok(Status::Pass)
        }
        // It says which names there are.
        None => Scenario::find(name).map(|_| Status::Pass),
    }
}
