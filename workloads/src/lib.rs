//! One file a workload: clients and their operations.
