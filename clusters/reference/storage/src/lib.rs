//! Files of a node: segmented logs of record batches, checkpoints, markers.
