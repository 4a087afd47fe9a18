//! KRaft, sans-IO: elections, epochs and the replicated log, as one state machine.
