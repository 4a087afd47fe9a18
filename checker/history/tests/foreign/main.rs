//! Histories that something else recorded: each format, what is malformed in it, pairing, and the files of others.

mod manifest;
