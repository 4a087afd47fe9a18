//! A disk that knows what was synced and can lose its power.
