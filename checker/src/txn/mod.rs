//! Transactional isolation of list-append and rw-register histories (Adya, 1999; Elle: Kingsbury and Alvaro, 2020).
//!
//! Operations become columns as they are read (`store`); what the data show becomes a graph of dependencies
//! (`list_append`, `rw_register`); anomalies are what contradicts itself at once, and cycles (`search`); what is found
//! rules out levels (`levels`).

pub(crate) mod anomaly;
pub(crate) mod cycle;
pub(crate) mod fan;
mod found;
pub(crate) mod graph;
pub(crate) mod kinds;
mod levels;
mod list_append;
mod lost_update;
pub(crate) mod picture;
pub(crate) mod realtime;
mod report;
mod rw_register;
pub(crate) mod scc;
pub(crate) mod search;
mod shorten;
mod store;
mod words;

use crate::{Budget, JudgeError, Judgement, Level, ModelName, Options};
use anomaly::{Clock, TxnAnomaly};
use found::Instances;
use graph::GraphBuilder;
use history::{Op, ReadError};
use list_append::Lists;
use realtime::{Span, Turn};
use report::Report;
use rw_register::{Assumptions, Registers};
use search::Orders;
use store::{End, Store};
use words::Explain;

/// Judges a history.
pub(crate) fn judge(
    model: ModelName,
    options: &Options,
    budget: &Budget,
    history: impl Iterator<Item = Result<Op, ReadError>>,
) -> Result<Judgement, JudgeError> {
    let strongest = if options.no_real_time {
        Level::Serializable
    } else {
        Level::StrongSerializable
    };
    let level = options.level.unwrap_or(strongest);
    let clock = match levels::clock(level) {
        Clock::Realtime if options.no_real_time => Clock::Process,
        clock => clock,
    };
    let store = store::take(model == ModelName::ListAppend, budget, history)?;
    budget.tell("inferring dependencies", 0, 0);
    Ok(if model == ModelName::ListAppend {
        judge_inferred(&store, &Lists::new(&store), level, clock, budget)
    } else {
        let registers = Registers::new(&store, Assumptions::of(options));
        judge_inferred(&store, &registers, level, clock, budget)
    })
}

/// What the data of a history show.
trait Inference: Explain {
    /// The anomalies that are no cycles.
    fn direct(&self) -> Vec<(TxnAnomaly, Instances)>;

    /// Adds the dependencies between transactions.
    fn edges(&self, graph: &mut GraphBuilder);
}

fn judge_inferred(
    store: &Store,
    inferred: &impl Inference,
    level: Level,
    clock: Clock,
    budget: &Budget,
) -> Judgement {
    let direct = inferred.direct();
    let mut graph = GraphBuilder::new(store.count());
    inferred.edges(&mut graph);
    let spans = add_orders(store, clock, &mut graph);
    let graph = graph.build();
    budget.take(graph.bytes());
    let orders = Orders {
        realtime: (clock == Clock::Realtime).then_some(&spans[..]),
    };
    let clocks: &[Clock] = match clock {
        Clock::None => &[Clock::None],
        Clock::Process => &[Clock::None, Clock::Process],
        Clock::Realtime => &[Clock::None, Clock::Realtime],
    };
    let search = search::search(&graph, clocks, &orders, budget);
    budget.give_back(graph.bytes());
    let report = Report {
        store,
        level,
        direct,
        search,
        empty: graph.is_empty(),
        explain: inferred,
    };
    report.judgement()
}

/// Adds the order of processes, or of real time. Real time says all that processes do.
fn add_orders(store: &Store, clock: Clock, graph: &mut GraphBuilder) -> Vec<Span> {
    let spans: Vec<Span> = (0u32..)
        .zip(&store.transactions)
        .map(|(node, transaction)| Span {
            node,
            began: transaction.began,
            // What aborted, or may have, precedes nothing.
            ended: transaction.ended.filter(|_| transaction.end == End::Committed),
        })
        .collect();
    match clock {
        Clock::None => {}
        Clock::Realtime => realtime::realtime(&spans, 0, graph),
        Clock::Process => {
            let mut order: Vec<u32> = (0..store.count()).collect();
            order.sort_unstable_by_key(|which| store.transactions[*which as usize].began);
            let turns = order.into_iter().map(|node| Turn {
                node,
                process: store.transactions[node as usize].process,
                committed: store.end(node) == End::Committed,
            });
            realtime::process(turns, graph);
        }
    }
    spans
}
