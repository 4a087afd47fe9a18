//! Judges histories. Pure: the same bytes in, the same verdict out.
