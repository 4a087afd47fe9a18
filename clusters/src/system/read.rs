//! Reading a system's file.

use super::System;

impl System {
    /// Reads a system's file.
    ///
    /// # Errors
    /// The first mistake: where it is, and what is expected there.
    pub fn read(text: &str) -> Result<System, String> {
        toml::from_str(text).map_err(|e| e.to_string())
    }
}
