//! Transactions of lists and of registers.

use crate::literal::random::Random;
use crate::literal::txn::agree;
use crate::{Arguments, seeds};

/// Fuzzes list-append.
pub fn lists(arguments: &Arguments) -> Result<Vec<String>, String> {
    run("list-append", true, arguments)
}

/// Fuzzes rw-register.
pub fn registers(arguments: &Arguments) -> Result<Vec<String>, String> {
    run("rw-register", false, arguments)
}

fn run(name: &str, lists: bool, arguments: &Arguments) -> Result<Vec<String>, String> {
    let [pass, fail, unknown] = seeds::run(arguments.seed, arguments.count, |seed| {
        agree(lists, &mut Random::new(seed))
    })
    .map_err(|why| format!("{name}: {why}"))?;
    Ok(vec![format!(
        "{name}: {pass} pass, {fail} fail, {unknown} show no order, all as the literal checkers say"
    )])
}
