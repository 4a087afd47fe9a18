//! The controller, sans-IO: the cluster's metadata, registrations, elections, ELR.
