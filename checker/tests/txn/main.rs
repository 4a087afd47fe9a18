//! Transactions: known histories of others, held against their verdicts.

mod known;
