//! The store of runs and their reports. Runs nothing.
