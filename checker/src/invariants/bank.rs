//! Transfers between accounts (Jepsen's bank): money is neither made nor lost, whatever a read sees.
//!
//! The accounts and their total are the initial ones where those are told (a map of balances, or the total alone);
//! else those of the first read that has a balance for every account. Each read is then held against them. A negative
//! balance is an anomaly as in that workload: its transfers ask first whether there is enough.

use super::report::{Instances, Report};
use super::told_at;
use crate::{JudgeError, Options};
use history::{Kind, Operation, Value};
use std::collections::BTreeSet;

/// What was seen so far.
pub(super) struct Bank {
    accounts: Option<BTreeSet<Value>>,
    total: Option<i128>,
    /// The read that told the total; none where it was told beforehand.
    told_by: Option<u64>,
    reads: u64,
    wrong_total: Instances,
    negative: Instances,
    nil_balance: Instances,
    unexpected_key: Instances,
    missing_key: Instances,
}

impl Bank {
    pub(super) fn new(options: &Options) -> Result<Bank, JudgeError> {
        let mut bank = Bank {
            accounts: None,
            total: None,
            told_by: None,
            reads: 0,
            wrong_total: Instances::new("wrong-total"),
            negative: Instances::new("negative-value"),
            nil_balance: Instances::new("nil-balance"),
            unexpected_key: Instances::new("unexpected-key"),
            missing_key: Instances::new("missing-key"),
        };
        match &options.initial {
            None => {}
            Some(Value::Int(total)) => bank.total = Some(i128::from(*total)),
            Some(Value::Map(balances)) => {
                bank.accounts = Some(balances.iter().map(|(account, _)| account.clone()).collect());
                bank.total = Some(sum(0, balances)?.ok_or_else(|| unfit(0, "initial", &Value::Nil))?);
            }
            Some(other) => return Err(unfit(0, "initial", other)),
        }
        Ok(bank)
    }

    pub(super) fn take(&mut self, operation: Operation) -> Result<(), JudgeError> {
        if operation.outcome != Kind::Ok || &*operation.f != "read" {
            return Ok(());
        }
        let index = told_at(&operation);
        let Value::Map(balances) = operation.value() else {
            return Err(unfit(index, "read", operation.value()));
        };
        self.reads += 1;
        let total = sum(index, balances)?;
        self.learn(index, balances, total);
        self.nil_balances(index, balances);
        self.keys(index, balances);
        self.negatives(index, balances);
        if let (Some(total), Some(expected)) = (total, self.total)
            && total != expected
        {
            let told_by = self.told_by;
            self.wrong_total.add([index].into_iter().chain(told_by), || {
                let whose = told_by.map_or_else(
                    || "that it began with".into(),
                    |read| format!("that operation {read} read"),
                );
                format!(
                    "operation {index} read balances that sum up to {total}, not to the {expected} {whose}"
                )
            });
        }
        Ok(())
    }

    /// The first whole read tells what was not told.
    fn learn(&mut self, index: u64, balances: &[(Value, Value)], total: Option<i128>) {
        let Some(total) = total else { return };
        if self.accounts.is_none() {
            self.accounts = Some(balances.iter().map(|(account, _)| account.clone()).collect());
        }
        if self.total.is_none() {
            self.total = Some(total);
            self.told_by = Some(index);
        }
    }

    fn nil_balances(&mut self, index: u64, balances: &[(Value, Value)]) {
        let mut nil = balances
            .iter()
            .filter(|(_, balance)| *balance == Value::Nil)
            .peekable();
        if nil.peek().is_some() {
            self.nil_balance.add([index], || {
                format!(
                    "operation {index} read no balance of {}",
                    names(nil.map(|(account, _)| account))
                )
            });
        }
    }

    fn keys(&mut self, index: u64, balances: &[(Value, Value)]) {
        let Some(accounts) = &self.accounts else { return };
        let read: BTreeSet<&Value> = balances.iter().map(|(account, _)| account).collect();
        let mut unexpected = read
            .iter()
            .copied()
            .filter(|account| !accounts.contains(*account))
            .peekable();
        if unexpected.peek().is_some() {
            self.unexpected_key.add([index], || {
                format!(
                    "operation {index} read accounts that there are none of: {}",
                    names(unexpected)
                )
            });
        }
        let mut missing = accounts
            .iter()
            .filter(|account| !read.contains(*account))
            .peekable();
        if missing.peek().is_some() {
            self.missing_key.add([index], || {
                format!("operation {index} did not read the accounts {}", names(missing))
            });
        }
    }

    fn negatives(&mut self, index: u64, balances: &[(Value, Value)]) {
        let mut negative = balances
            .iter()
            .filter(|(_, balance)| balance.int().is_some_and(|balance| balance < 0))
            .peekable();
        if negative.peek().is_some() {
            self.negative.add([index], || {
                let each = negative.map(|(account, balance)| format!("{account}: {balance}"));
                format!(
                    "operation {index} read negative balances: {}",
                    each.collect::<Vec<_>>().join(", ")
                )
            });
        }
    }

    pub(super) fn end(mut self, report: &mut Report) {
        if self.reads == 0 {
            report.lack(
                "no-operations",
                "no read of the balances completed: there is nothing to judge".into(),
            );
        }
        self.missing_key
            .tolerate("an account that is not read shows in the total; an empty one may be absent");
        for instances in [
            self.wrong_total,
            self.negative,
            self.nil_balance,
            self.unexpected_key,
            self.missing_key,
        ] {
            report.found(instances);
        }
    }
}

/// The total; none where a balance is nil.
fn sum(index: u64, balances: &[(Value, Value)]) -> Result<Option<i128>, JudgeError> {
    let mut total = Some(0i128);
    for (account, balance) in balances {
        total = match balance {
            // Fewer than 2^64 balances of 64 bits: it fits.
            Value::Int(balance) => total.map(|total| total + i128::from(*balance)),
            Value::Nil => None,
            other => {
                return Err(JudgeError::Entry {
                    index,
                    why: format!("expected a whole number as the balance of {account}, and found {other}"),
                });
            }
        };
    }
    Ok(total)
}

fn names<'v>(accounts: impl Iterator<Item = &'v Value>) -> String {
    accounts.map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn unfit(index: u64, what: &str, found: &Value) -> JudgeError {
    JudgeError::Entry {
        index,
        why: format!(
            "bank: expected a map of accounts and balances as the value of {what}, and found {found}"
        ),
    }
}
