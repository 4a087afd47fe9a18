//! The histories of many objects decided, fairly: one that is hopeless neither starves the others nor is starved.
//!
//! First each history has a depth-first search for a while, which is enough for nearly all. Those that are left go
//! round: in each round each of them has a slice of a race between two searches, twice as long as in the round
//! before. A history that is not linearizable ends it all; those that are undecided then stay so.

use super::limits::Limits;
use super::mask::{Mask, Wide};
use super::operations::{Event, Operation, events};
use super::race::race;
use super::register::breadth::Breadth;
use super::register::depth::Depth;
use super::register::walk::Walk;
use super::register::zones;
use super::search::window::Window;
use super::search::{Found, Search};
use super::timeline::{Timeline, says_something};
use super::{Answer, Model, Stuck};
use crate::{Budget, Spent};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What the history of one object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// There is an order of all operations.
    Linearizable,
    /// There is none. The operation that cannot be placed, where it was learnt: all that completed before it can.
    Stuck(Option<usize>),
    /// Not decided: a limit was reached, or another history decided it all.
    Unknown(Undecided),
}

/// Why a history was not decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Undecided {
    /// A limit was reached.
    Spent(Spent),
    /// Another history is not linearizable, so that this one no longer matters.
    NotNeeded,
}

impl Undecided {
    /// The limit that was reached.
    pub(crate) fn spent(self, budget: &Budget) -> Spent {
        match self {
            Undecided::Spent(spent) => spent,
            // So it is never of a history that is alone.
            Undecided::NotNeeded => Spent::Time(budget.left()),
        }
    }
}

/// Decides the history of one object.
pub(crate) fn decide<M: Model>(operations: &[Operation<M::Op>], model: &M, budget: &Budget) -> Decision {
    let decided = decide_all(&[operations], model, Until::Failure, budget);
    // One history, one decision.
    decided.into_iter().next().unwrap_or(Decision::Linearizable)
}

/// Decides the history of one object, and says how far its operations can be ordered where not all can.
pub(crate) fn explain<M: Model>(operations: &[Operation<M::Op>], model: &M, budget: &Budget) -> Answer {
    match decide(operations, model, budget) {
        Decision::Linearizable => Answer::Linearizable,
        Decision::Stuck(at) => Answer::NotLinearizable(stuck(operations, model, at, budget)),
        Decision::Unknown(why) => Answer::Unknown(why.spent(budget)),
    }
}

/// Steps that each history has before searches are raced, and for each of its events on top.
const FIRST_STEPS: u64 = 20_000;
const FIRST_STEPS_PER_EVENT: u64 = 2;

/// Events from which on a history is raced over at once: where the first search is not enough, it costs too much.
const LONG: usize = 200_000;

/// Steps of the first round's slices.
const SLICE: u64 = 200_000;

/// Operations from which on all cores share the first searches: below, threads cost more than they gain.
const WORTH_THREADS: usize = 50_000;

/// Rounds that a depth-first search goes on without room to remember more: sixteen times what it had before.
const ROUNDS_WITHOUT_MEMORY: u32 = 4;

/// How far to go on with the other histories once one is known not to be linearizable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// Not at all.
    Failure,
    /// Until each has had its first search.
    First,
}

/// Decides the histories of many objects of a kind.
pub(crate) fn decide_all<M: Model>(
    histories: &[&[Operation<M::Op>]],
    model: &M,
    until: Until,
    budget: &Budget,
) -> Vec<Decision> {
    let fitted: Vec<OnceFitted<M>> = histories.iter().map(|_| OnceFitted::new()).collect();
    let ready: Vec<OnceReady<'_, M>> = histories.iter().map(|_| OnceReady::new()).collect();
    let first = First {
        histories,
        model,
        budget,
        fitted: &fitted,
        ready: &ready,
        until,
        failed: AtomicBool::new(false),
        next: AtomicUsize::new(0),
        decided: AtomicUsize::new(0),
    };
    let mut outcomes = first.run();
    outcomes.sort_unstable_by_key(|(place, _)| *place);
    let mut contests: Vec<Contest<'_>> = Vec::new();
    let mut decisions = Vec::with_capacity(histories.len());
    for (place, outcome) in outcomes {
        decisions.push(match outcome {
            Outcome::Decided(decision) => decision,
            Outcome::Left(one) => {
                if let Some(ready) = ready[place].get() {
                    contests.push(Contest::new(place, one, ready));
                }
                Decision::Unknown(Undecided::NotNeeded)
            }
        });
    }
    rounds(contests, &mut decisions, budget);
    decisions
}

/// What a history is made into for the searches.
enum Ready<'a, M: Model> {
    Register(Walk),
    Any(&'a M, Timeline<'a, M::Op>),
}

type OnceReady<'a, M> = OnceLock<Ready<'a, M>>;

/// The model as it is fitted to a history, where it is.
type OnceFitted<M> = OnceLock<Option<M>>;

impl<'a, M: Model> Ready<'a, M> {
    fn new(model: &'a M, operations: &'a [Operation<M::Op>]) -> Ready<'a, M> {
        match model.as_register() {
            Some(register) => Ready::Register(Walk::new(register.register, operations, register.op)),
            None => Ready::Any(model, Timeline::new(model, operations)),
        }
    }

    fn events(&self) -> &[Event] {
        match self {
            Ready::Register(walk) => &walk.events,
            Ready::Any(_, timeline) => &timeline.events,
        }
    }

    /// What was found. Where a search that looks ahead gets stuck is not where the history fails first.
    fn decision(&self, found: Found) -> Decision {
        let exact = match self {
            Ready::Register(_) => true,
            Ready::Any(model, _) => !model.looks_ahead(),
        };
        match found {
            Found::Order => Decision::Linearizable,
            Found::Stuck { event } if exact => {
                Decision::Stuck(self.events().get(event).map(|event| event.op()))
            }
            Found::Stuck { .. } => Decision::Stuck(None),
        }
    }

    fn depth_first(&self, noting: bool) -> Box<dyn Search + '_> {
        match self {
            Ready::Register(walk) if walk.width <= u64::MOST => Box::new(Depth::<u64>::new(walk, noting)),
            Ready::Register(walk) if walk.width <= u128::MOST => Box::new(Depth::<u128>::new(walk, noting)),
            Ready::Register(walk) => Box::new(Depth::<Wide>::new(walk, noting)),
            Ready::Any(model, line) if line.width <= u64::MOST => {
                Box::new(Window::<M, u64>::new(model, line))
            }
            Ready::Any(model, line) if line.width <= u128::MOST => {
                Box::new(Window::<M, u128>::new(model, line))
            }
            Ready::Any(model, line) => Box::new(Window::<M, Wide>::new(model, line)),
        }
    }

    fn breadth_first(&self) -> Option<Box<dyn Search + '_>> {
        match self {
            Ready::Register(walk) if walk.width <= u64::MOST => {
                Some(Box::new(Breadth::<u64>::relaxed_first(walk)))
            }
            Ready::Register(walk) if walk.width <= u128::MOST => {
                Some(Box::new(Breadth::<u128>::relaxed_first(walk)))
            }
            Ready::Register(walk) => Some(Box::new(Breadth::<Wide>::relaxed_first(walk))),
            Ready::Any(..) => None,
        }
    }
}

/// The first searches.
struct First<'a, 'b, M: Model> {
    histories: &'a [&'a [Operation<M::Op>]],
    model: &'a M,
    budget: &'b Budget,
    fitted: &'a [OnceFitted<M>],
    ready: &'a [OnceReady<'a, M>],
    until: Until,
    failed: AtomicBool,
    next: AtomicUsize,
    decided: AtomicUsize,
}

enum Outcome<'a> {
    Decided(Decision),
    Left(Box<dyn Search + 'a>),
}

impl<'a, M: Model> First<'a, '_, M> {
    fn run(&self) -> Vec<(usize, Outcome<'a>)> {
        let operations: usize = self.histories.iter().map(|history| history.len()).sum();
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        let threads = cores.min(self.histories.len());
        if operations < WORTH_THREADS || threads < 2 {
            return self.work();
        }
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(|| self.work())).collect();
            let mut outcomes = self.work();
            for other in others {
                // Searches do not panic.
                outcomes.extend(other.join().into_iter().flatten());
            }
            outcomes
        })
    }

    fn work(&self) -> Vec<(usize, Outcome<'a>)> {
        let mut outcomes = Vec::new();
        loop {
            let place = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(history) = self.histories.get(place) else {
                return outcomes;
            };
            if self.until == Until::Failure && self.failed.load(Ordering::Relaxed) {
                outcomes.push((place, Outcome::Decided(Decision::Unknown(Undecided::NotNeeded))));
                continue;
            }
            let outcome = self.one(place, history);
            if let Outcome::Decided(Decision::Stuck(_)) = outcome {
                self.failed.store(true, Ordering::Relaxed);
            }
            outcomes.push((place, outcome));
            let decided = self.decided.fetch_add(1, Ordering::Relaxed) as u64 + 1;
            self.budget
                .tell("ordering operations", decided, self.histories.len() as u64);
        }
    }

    fn one(&self, place: usize, history: &'a [Operation<M::Op>]) -> Outcome<'a> {
        if history.len() > Event::MOST_OPERATIONS {
            let all = Spent::Memory(self.budget.memory_left());
            return Outcome::Decided(Decision::Unknown(Undecided::Spent(all)));
        }
        let register = self.model.as_register();
        if let Some(fits) =
            register.and_then(|register| zones::decide(register.register, history, register.op))
        {
            return Outcome::Decided(if fits {
                Decision::Linearizable
            } else {
                Decision::Stuck(None)
            });
        }
        let fitted = self.fitted[place]
            .get_or_init(|| self.model.fitted(history))
            .as_ref();
        if fitted.unwrap_or(self.model).refutes(history) {
            return Outcome::Decided(Decision::Stuck(None));
        }
        let ready = self.ready[place].get_or_init(|| Ready::new(fitted.unwrap_or(self.model), history));
        if let Ready::Register(walk) = ready
            && walk.impossible.is_some()
        {
            return Outcome::Decided(Decision::Stuck(walk.impossible));
        }
        let mut search = ready.depth_first(false);
        let limits = Limits {
            steps: match ready.events().len() {
                LONG.. => FIRST_STEPS,
                events => FIRST_STEPS + FIRST_STEPS_PER_EVENT * events as u64,
            },
            memory: self.budget.memory_left() / 2,
            budget: self.budget,
            stop: &AtomicBool::new(false),
        };
        match search.run(&limits) {
            Some(found) => Outcome::Decided(ready.decision(found)),
            None => Outcome::Left(search),
        }
    }
}

/// A history that two searches are raced over.
struct Contest<'a> {
    place: usize,
    conclude: Box<dyn Fn(Found) -> Decision + 'a>,
    one: Box<dyn Search + 'a>,
    make_other: Box<dyn Fn() -> Option<Box<dyn Search + 'a>> + 'a>,
    other: Option<Box<dyn Search + 'a>>,
    /// The memory with which the other search was given up.
    too_little: Option<u64>,
    /// Rounds in which there was no room to remember more.
    full: u32,
    /// Bytes that it is known to hold.
    held: u64,
}

impl<'a> Contest<'a> {
    fn new<M: Model>(place: usize, one: Box<dyn Search + 'a>, ready: &'a Ready<'a, M>) -> Contest<'a> {
        Contest {
            place,
            conclude: Box::new(|found| ready.decision(found)),
            one,
            make_other: Box::new(|| ready.breadth_first()),
            other: ready.breadth_first(),
            too_little: None,
            full: 0,
            held: 0,
        }
    }

    /// A slice. Each of the two may hold so much memory.
    fn slice(&mut self, steps: u64, memory: u64, budget: &Budget) -> Option<Decision> {
        if self.too_little.is_some_and(|before| before < memory / 2) {
            self.other = (self.make_other)();
            self.too_little = None;
        }
        let found = match &mut self.other {
            Some(other) => race(&mut *self.one, &mut **other, steps, memory, budget),
            None => self.one.run(&Limits {
                steps,
                memory,
                budget,
                stop: &AtomicBool::new(false),
            }),
        };
        if self.other.as_ref().is_some_and(|other| other.bytes() > memory) {
            self.other = None;
            self.too_little = Some(memory);
        }
        self.full = if self.one.bytes() > memory {
            self.full + 1
        } else {
            0
        };
        self.account(budget);
        found.map(&self.conclude)
    }

    /// Says what it holds.
    fn account(&mut self, budget: &Budget) {
        let held = self.one.bytes() + self.other.as_ref().map_or(0, |other| other.bytes());
        if held > self.held {
            budget.take(held - self.held);
        } else {
            budget.give_back(self.held - held);
        }
        self.held = held;
    }
}

/// Races over what is left, in slices that grow.
fn rounds(mut contests: Vec<Contest<'_>>, decisions: &mut [Decision], budget: &Budget) {
    let mut steps = SLICE;
    let failed = |decisions: &[Decision]| {
        decisions
            .iter()
            .any(|decision| matches!(decision, Decision::Stuck(_)))
    };
    let all = decisions.len() as u64;
    while !contests.is_empty() && !failed(decisions) {
        let held: u64 = contests.iter().map(|contest| contest.held).sum();
        // Half of each share, for tables that grow hold their old selves for a while.
        let share = budget.memory_left().saturating_add(held) / (contests.len() as u64 * 4);
        let mut left = Vec::with_capacity(contests.len());
        for mut contest in contests {
            let spent = budget.spent();
            let decided = match spent {
                Some(spent) => Some(Decision::Unknown(Undecided::Spent(spent))),
                None if failed(decisions) => Some(Decision::Unknown(Undecided::NotNeeded)),
                None => contest.slice(steps, share, budget),
            };
            let full = contest.full > ROUNDS_WITHOUT_MEMORY && contest.other.is_none();
            let memory = Decision::Unknown(Undecided::Spent(Spent::Memory(
                budget.memory_left() + contest.held,
            )));
            match decided.or(full.then_some(memory)) {
                Some(decision) => {
                    decisions[contest.place] = decision;
                    budget.give_back(contest.held);
                }
                None => left.push(contest),
            }
        }
        contests = left;
        budget.tell("searching for an order", all - contests.len() as u64, all);
        steps = steps.saturating_mul(2);
    }
    for contest in contests {
        budget.give_back(contest.held);
    }
}

/// Steps that the search for an order to show has.
const SHOWN_STEPS: u64 = 50_000_000;

/// The order of all that completed before the operation that cannot be placed, or as much of it as was found.
/// A search may know of a later operation than the first that cannot be placed.
pub(crate) fn stuck<M: Model>(
    operations: &[Operation<M::Op>],
    model: &M,
    at: Option<usize>,
    budget: &Budget,
) -> Stuck {
    let events = events(operations, says_something(model, operations));
    let completion = |op: usize| {
        events
            .iter()
            .position(|event| event.completes() && event.op() == op)
    };
    let known = at.and_then(completion);
    let mut event = known.unwrap_or_else(|| first_stuck(operations, model, &events, budget));
    loop {
        let (before, numbers) = cut(operations, &events[..event]);
        let fitted = model.fitted(&before);
        let ready = Ready::new(fitted.as_ref().unwrap_or(model), &before);
        let mut search = ready.depth_first(true);
        let found = search.run(&Limits {
            steps: SHOWN_STEPS,
            memory: budget.memory_left() / 2,
            budget,
            stop: &AtomicBool::new(false),
        });
        let earlier = match found.map(|found| ready.decision(found)) {
            Some(Decision::Stuck(Some(at))) => completion(numbers[at]),
            _ => None,
        };
        match earlier {
            Some(earlier) => event = earlier,
            None => {
                return Stuck {
                    at: events[event].op(),
                    linearized: search.order().into_iter().map(|op| numbers[op]).collect(),
                };
            }
        }
    }
}

/// The completion up to which a history is not linearizable, though it is up to the one before: by halving.
fn first_stuck<M: Model>(
    operations: &[Operation<M::Op>],
    model: &M,
    events: &[Event],
    budget: &Budget,
) -> usize {
    let completions: Vec<usize> = (0..events.len())
        .filter(|place| events[*place].completes())
        .collect();
    let bad = completions.partition_point(|place| {
        let (before, _) = cut(operations, &events[..=*place]);
        decide(&before, model, budget) == Decision::Linearizable
    });
    completions[bad.min(completions.len() - 1)]
}

/// The history of some first events: what completes later is pending. With each operation's number in the whole.
fn cut<Op: Clone>(operations: &[Operation<Op>], events: &[Event]) -> (Vec<Operation<Op>>, Vec<usize>) {
    let mut places = vec![usize::MAX; operations.len()];
    let (mut cut, mut numbers): (Vec<Operation<Op>>, Vec<usize>) = Default::default();
    for event in events {
        let whole = &operations[event.op()];
        if event.completes() {
            cut[places[event.op()]] = whole.clone();
        } else {
            places[event.op()] = cut.len();
            cut.push(Operation::pending(whole.op.clone(), whole.invoked_at()));
            numbers.push(event.op());
        }
    }
    (cut, numbers)
}
