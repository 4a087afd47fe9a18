//! The checker, judged by histories whose verdict is known.

mod dsl;
mod promise_table;
mod rules;
mod vacuity;
