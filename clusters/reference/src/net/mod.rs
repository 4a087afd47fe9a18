//! Frames, connections that others open, and connections that this node opens.

pub mod frame;
pub mod peers;
pub mod server;
