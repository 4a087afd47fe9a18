//! Buffered reading of a file at positions that mostly go forward.
