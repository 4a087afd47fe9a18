//! The checker, judged by histories whose verdict is known, and against a literal checker.

mod agreement;
mod classic;
mod dsl;
mod literal;
mod metadata_rules;
mod promise_table;
mod promise_void;
mod rules;
mod toy;
mod unseen;
mod vacuity;
