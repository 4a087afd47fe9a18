//! The table, and what stands below it.

use crate::argued;
use crate::judge::{Answer, Check, Expected};
use crate::names;
use checker::Judgement;
use std::collections::BTreeMap;
use std::time::Duration;

/// What came of one source.
#[derive(Default)]
struct Counts {
    agree: u32,
    disagree: u32,
    not_judged: u32,
    /// Judged, and nobody says what it is.
    open: u32,
    took: Duration,
    slowest: Duration,
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.agree += other.agree;
        self.disagree += other.disagree;
        self.not_judged += other.not_judged;
        self.open += other.open;
        self.took += other.took;
        self.slowest = self.slowest.max(other.slowest);
    }

    fn print(&self, source: &str) {
        println!(
            "{source:32} {:4} agree, {:3} disagree, {:3} not judged, {:3} nobody knows; {:9.1} ms in all, {:8.1} the slowest",
            self.agree,
            self.disagree,
            self.not_judged,
            self.open,
            self.took.as_secs_f64() * 1e3,
            self.slowest.as_secs_f64() * 1e3
        );
    }
}

/// A row that does not agree.
struct Disagreement {
    id: String,
    check: String,
    why: String,
}

/// The table in the making.
pub struct Table {
    short: bool,
    sources: BTreeMap<String, Counts>,
    disagreements: Vec<Disagreement>,
}

impl Table {
    /// An empty one; a short one shows no row that agrees.
    pub fn new(short: bool) -> Table {
        println!(
            "{:58} {:34} {:8} {:8} {:>9}  anomalies",
            "file", "check", "said", "ours", "ms"
        );
        Table {
            short,
            sources: BTreeMap::new(),
            disagreements: Vec::new(),
        }
    }

    /// A row.
    pub fn row(&mut self, check: &Check, answer: Option<Answer>) {
        let counts = self.sources.entry(check.source.clone()).or_default();
        let Some(answer) = answer else {
            counts.not_judged += 1;
            if !self.short {
                let why = check.not_judged.as_deref().unwrap_or_default();
                line(check, "-", "-", None, &format!("not judged: {why}"));
            }
            return;
        };
        counts.took += answer.took;
        counts.slowest = counts.slowest.max(answer.took);
        let why = check
            .expected
            .as_ref()
            .and_then(|expected| wrong(expected, &answer.judged));
        match (&check.expected, &why) {
            (_, Some(_)) => counts.disagree += 1,
            (Some(_), None) => counts.agree += 1,
            (None, None) => counts.open += 1,
        }
        let found = match &answer.judged {
            Ok(judged) => told(judged),
            Err(error) => error.clone(),
        };
        let ours = answer
            .judged
            .as_ref()
            .map_or("error", |judged| judged.verdict.text());
        let said = check
            .expected
            .as_ref()
            .map_or("-", |expected| expected.verdict.text());
        let mark = why.as_deref().map_or(String::new(), |why| format!("   ≠ {why}"));
        if !self.short || why.is_some() {
            line(check, said, ours, Some(answer.took), &format!("{found}{mark}"));
        }
        self.disagreements.extend(why.map(|why| Disagreement {
            id: check.id.clone(),
            check: check.what.clone(),
            why,
        }));
    }

    /// What stands below the table. True where every disagreement is argued, and every argument has one.
    pub fn end(self, whole: bool) -> bool {
        println!();
        let mut all = Counts::default();
        for (source, counts) in &self.sources {
            counts.print(source);
            all.add(counts);
        }
        all.print("all");
        let mut argued = argued::pairs();
        let mut fine = true;
        for Disagreement { id, check, why } in &self.disagreements {
            let place = argued.iter().position(|(i, c)| i == id && c == check);
            let place = match place {
                Some(place) => {
                    argued.remove(place);
                    argued::SECTION
                }
                None => {
                    fine = false;
                    "not argued"
                }
            };
            println!("disagreement: {id}, {check}: {why} ({place})");
        }
        for (id, check) in argued.iter().filter(|_| whole) {
            println!("argued, and there is no such disagreement: {id}, {check}");
        }
        fine && (argued.is_empty() || !whole)
    }
}

/// What does not agree, if so.
fn wrong(expected: &Expected, judged: &Result<Judgement, String>) -> Option<String> {
    let judged = match judged {
        Ok(judged) => judged,
        Err(error) => return Some(error.clone()),
    };
    let wanted = expected.verdict;
    if judged.verdict != wanted {
        let reason = judged
            .reasons
            .first()
            .map_or(String::new(), |reason| format!(": {}", reason.message));
        return Some(format!(
            "{} where {} is said{reason}",
            judged.verdict.text(),
            wanted.text()
        ));
    }
    let differences = names::differences(expected.names.as_deref()?, judged);
    (!differences.is_empty()).then(|| differences.join(", "))
}

fn told(judged: &Judgement) -> String {
    let names = judged
        .anomalies
        .iter()
        .map(|found| match (&found.tolerated, &found.follows) {
            (Some(_), _) => format!("({} {})", found.name, found.count),
            (None, Some(_)) => format!("> {} {}", found.name, found.count),
            (None, None) => format!("{} {}", found.name, found.count),
        });
    names.collect::<Vec<_>>().join(", ")
}

fn line(check: &Check, said: &str, ours: &str, took: Option<Duration>, rest: &str) {
    let took = took.map_or("-".to_string(), |took| format!("{:.2}", took.as_secs_f64() * 1e3));
    println!(
        "{:58} {:34} {said:8} {ours:8} {took:>9}  {rest}",
        check.id, check.what
    );
}
