//! The search for cycles, worst first, component by component (Elle's order; the existence questions are exact).
//!
//! G0 and G1c are cycles of dependencies: a component of that projection has one or none has. A cycle in which no rw
//! follows on another exists if and only if the product of the graph with "was the last edge an rw" has one: two
//! closed walks through one node can be cut so that one of the halves still has no rw after rw, so that the shortest
//! walk is a simple cycle. Whether one of them has a single rw is asked for 64 rw edges at once. What is left is G2.
//! All of that is linear in the component but the question of the single rw, which has a limit of steps; past it the
//! cycle is told as what it was found to be, and both rule out the same levels.

#[cfg(test)]
mod agreement;
mod component;
mod product;
mod ring;
mod single;
mod walk;

use super::anomaly::{Class, Clock, CycleAnomaly};
use super::graph::Graph;
use super::kinds::Kinds;
use super::scc::components;
use crate::{Budget, Spent};
use product::Product;
pub(crate) use ring::{Hop, Ring};

use component::Component;
pub(crate) use component::Orders;

/// A cycle that was found, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// What it is.
    pub(crate) anomaly: CycleAnomaly,
    /// The cycle: nodes are those of the whole graph.
    pub(crate) ring: Ring,
    /// The same cycle with each hop by a clock taken as data where data prove it too, where that makes it another
    /// anomaly.
    pub(crate) by_data: Option<(CycleAnomaly, Ring)>,
}

/// What a search came to.
#[derive(Debug, Default)]
pub(crate) struct Search {
    /// What was found: of each component, each anomaly that no other implies.
    pub(crate) found: Vec<Found>,
    /// Components in which it stayed open whether some cycle has a single rw: a limit was reached.
    pub(crate) cut_short: u64,
    /// Why the search as a whole was given up, where it was: what it did not find may be there.
    pub(crate) spent: Option<Spent>,
}

/// Searches the components of a graph.
///
/// `orders` adds the edges of processes and of real time between members of a component. `clocks` are looked at in
/// turn; [`Clock::None`] comes first.
pub(crate) fn search(graph: &Graph, clocks: &[Clock], orders: &Orders<'_>, budget: &Budget) -> Search {
    let kinds = clocks
        .iter()
        .fold(Kinds::DATA, |all, clock| all.and(clock.kinds()));
    let mut cyclic = components(graph, kinds).cyclic;
    // Small ones first: they cost little, and a budget that ends leaves the fewest unsaid.
    cyclic.sort_by_key(Vec::len);
    let mut search = Search::default();
    let total = cyclic.len() as u64;
    for (done, members) in cyclic.iter().enumerate() {
        budget.tell("searching cycles", done as u64, total);
        if let Some(spent) = budget.spent() {
            search.spent = Some(spent);
            break;
        }
        let component = Component::new(graph, members, orders);
        let held = component.bytes();
        budget.take(held);
        one(&component, clocks, budget, &mut search);
        budget.give_back(held);
    }
    search
}

/// Searches one component.
fn one(component: &Component, clocks: &[Clock], budget: &Budget, search: &mut Search) {
    let mut found: Vec<Found> = Vec::new();
    for clock in clocks {
        let wanted = |class, found: &[Found]| {
            let anomaly = CycleAnomaly { clock: *clock, class };
            !found.iter().any(|known| known.anomaly.implies(anomaly))
        };
        let dependencies = Kinds::DEPENDENCIES.and(clock.kinds());
        for (class, kinds) in [
            (Class::G0, Kinds::WW.and(clock.kinds())),
            (Class::G1c, dependencies),
        ] {
            if wanted(class, &found) {
                found.extend(component.found(walk::in_projection(&component.graph, kinds, Kinds::NONE)));
            }
        }
        let product = Product::new(&component.graph, dependencies);
        if wanted(Class::GSingle, &found) && product.has_cycle(dependencies) {
            match single::search(&component.graph, dependencies, budget) {
                single::Answer::Found(ring) => found.extend(component.found(Some(ring))),
                single::Answer::None => {}
                single::Answer::Open => search.cut_short += 1,
            }
            if wanted(Class::GNonadjacent, &found) {
                found.extend(component.found(product.shortest(dependencies)));
            }
        }
        if wanted(Class::G2, &found) {
            let all = Kinds::DATA.and(clock.kinds());
            found.extend(component.found(walk::in_projection(&component.graph, all, Kinds::RW)));
        }
    }
    // A cycle that was looked for as one thing may turn out a worse one, which was found already.
    for place in 0..found.len() {
        let anomaly = found[place].anomaly;
        let told = |(other, known): (usize, &Found)| {
            other != place && known.anomaly.implies(anomaly) && (known.anomaly != anomaly || other < place)
        };
        if !found.iter().enumerate().any(told) {
            search.found.push(found[place].clone());
        }
    }
}
