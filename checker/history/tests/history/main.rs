//! The format: what is written is read again, and the schema says so too.

mod reading;
mod recording;
mod round_trip;
mod samples;
mod schema;
