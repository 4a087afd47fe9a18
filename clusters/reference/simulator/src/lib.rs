//! A seeded simulator for the reference cluster's state machines.
