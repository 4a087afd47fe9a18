//! One file a fault: what it asks of a node, and how it is measured.
