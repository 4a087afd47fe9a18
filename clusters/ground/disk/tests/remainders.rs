//! The remainders of `docs/durability.md`, one test each: on the model, where time is an argument, and on a real mount.
mod support {
    mod home;
    pub mod mount;
    pub mod remainders;
    pub use home::*;
}

use disk::model::{Limits, Model, ROOT, Writer};
use disk::{Mode, Policy, Profile, Remainder};
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;
use support::Home;
use support::mount::Mounted;
use support::remainders::{CASES, Case, Left, Must, Op, act, names};

/// Seeds of each policy that draws; a remainder that must be reached is met far earlier.
const SEEDS: u64 = 100;
/// For what must never be, on the model and on a real mount.
const NEVER_SEEDS: u64 = 30;
const NEVER_MOUNTED_SEEDS: u64 = 3;

fn case(name: &str) -> &'static Case {
    let found = CASES.iter().find(|case| case.name == name);
    found.unwrap_or_else(|| panic!("no remainder {name}"))
}

/// A cut of each policy and seed, until `on` has met the remainder; how many that took.
fn met(case: &Case, profile: Profile, seeds: u64, on: impl Fn(&Case, Policy) -> bool) -> Option<u64> {
    let draws = |r: &Remainder| {
        matches!(
            r,
            Remainder::RandomPages | Remainder::RandomPrefix | Remainder::Torn
        )
    };
    let policies = (0..seeds).flat_map(|seed| {
        let all = Remainder::ALL.iter().filter(move |r| seed == 0 || draws(r));
        all.map(move |remainder| Policy {
            remainder: *remainder,
            profile,
            seed,
        })
    });
    let mut tries = 0;
    for policy in policies {
        tries += 1;
        if on(case, policy) {
            return Some(tries);
        }
    }
    None
}

fn check(name: &str, seeds: u64, on: impl Fn(&Case, Policy) -> bool) {
    let case = case(name);
    for profile in case.profiles() {
        let met = met(case, profile, seeds, &on);
        match case.must {
            Must::BeReached => assert!(met.is_some(), "{name}, {profile:?}: not in {seeds} seeds"),
            Must::NeverBe => assert_eq!(met, None, "{name}, {profile:?}: it came about"),
        }
    }
}

fn seeds(name: &str, never: u64) -> u64 {
    match case(name).must {
        Must::BeReached => SEEDS,
        Must::NeverBe => never,
    }
}

fn on_the_model(name: &str) {
    check(name, seeds(name, NEVER_SEEDS), in_model);
}

fn on_a_mount(name: &str, mode: Mode) {
    if !case(name).waits() {
        check(name, seeds(name, NEVER_MOUNTED_SEEDS), |case, policy| {
            in_mount(case, policy, mode)
        });
    }
}

fn prepared(home: &Home, case: &Case) -> Left {
    let backing = home.paths().backing;
    std::fs::create_dir_all(&backing).unwrap();
    case.before.iter().for_each(|op| act(&backing, *op).unwrap());
    Left(backing)
}

fn in_mount(case: &Case, policy: Policy, mode: Mode) -> bool {
    let home = Home::in_memory();
    let left = prepared(&home, case);
    let m = Mounted::on(home, mode);
    m.with(|mnt| {
        for op in case.script {
            act(mnt, *op).unwrap_or_else(|e| panic!("{op:?}: {e}"));
        }
        m.disk.power_off();
    });
    m.disk.settle(1, policy).unwrap();
    (case.is)(&left)
}

fn in_model(case: &Case, policy: Policy) -> bool {
    let home = Home::in_memory();
    let left = prepared(&home, case);
    let mut model = Model::open(home.paths(), Limits::default()).unwrap();
    let mut now = Duration::from_secs(100);
    for op in case.script {
        do_in(&mut model, &mut now, *op);
    }
    model.power_off(now);
    model.settle(1, policy).unwrap();
    (case.is)(&left)
}

fn ino(model: &mut Model, path: &str) -> Option<u64> {
    path.split('/')
        .filter(|name| !name.is_empty())
        .try_fold(ROOT, |at, name| {
            model.lookup(at, OsStr::new(name)).ok().map(|attr| attr.ino)
        })
}

fn slot<'a>(model: &mut Model, path: &'a str) -> (u64, &'a OsStr) {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    (ino(model, folder).unwrap(), OsStr::new(name))
}

fn open(model: &mut Model, now: Duration, path: &str) -> u64 {
    ino(model, path).unwrap_or_else(|| {
        let (folder, name) = slot(model, path);
        model.create(now, folder, name, 0o644, None).unwrap().ino
    })
}

fn do_in(model: &mut Model, now: &mut Duration, op: Op) {
    let at = *now;
    let length = |model: &mut Model, file: u64| model.attr(file).unwrap().meta.len();
    match op {
        Op::Write(path, offset, value, size) => {
            let file = open(model, at, path);
            let bytes = vec![value; size];
            model
                .write(at, file, offset as u64, &bytes, Writer::Call)
                .unwrap();
        }
        Op::Append(path, value, size) | Op::AppendSynced(path, value, size) => {
            let writer = match op {
                Op::Append(..) => Writer::Call,
                _ => Writer::SyncedCall,
            };
            let file = open(model, at, path);
            let end = length(model, file);
            model.write(at, file, end, &vec![value; size], writer).unwrap();
        }
        Op::SetLength(path, size) => {
            let file = open(model, at, path);
            model.set_length(at, file, size as u64).unwrap();
        }
        Op::Sync(path) => {
            let file = ino(model, path).unwrap();
            model.sync(at, file).unwrap();
        }
        Op::SyncFolder(path) => {
            let folder = ino(model, path).unwrap();
            model.sync_folder(at, folder).unwrap();
        }
        Op::MakeFolder(path) => {
            let (folder, name) = slot(model, path);
            model.mkdir(at, folder, name, 0o755, None).unwrap();
        }
        Op::Remove(path) => {
            let (folder, name) = slot(model, path);
            model.unlink(at, folder, name).unwrap();
        }
        Op::Rename(from, to) => {
            let (from, to) = (slot(model, from), slot(model, to));
            model.rename(at, from, to, false).unwrap();
        }
        Op::Link(from, to) => {
            let (file, (folder, name)) = (ino(model, from).unwrap(), slot(model, to));
            model.link(at, file, folder, name).unwrap();
        }
        Op::Wait(seconds) => {
            *now += Duration::from_secs(seconds);
            model.tick(*now);
        }
    }
}

macro_rules! each {
    ($($name:ident)*) => {
        const NAMED: &[&str] = &[$(stringify!($name)),*];
        mod model { $(#[test] fn $name() { super::on_the_model(stringify!($name)) })* }
        mod mount { $(#[test] fn $name() { super::on_a_mount(stringify!($name), disk::Mode::WriteThrough) })* }
        mod cached { $(#[test] fn $name() { super::on_a_mount(stringify!($name), disk::Mode::WriteBack) })* }
    };
}

names!(each);

#[test]
fn the_page_names_each_and_each_is_tested() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/durability.md");
    let page = std::fs::read_to_string(page).unwrap();
    let named = |must: Must| CASES.iter().filter(|case| case.must == must).count();
    assert!(named(Must::BeReached) >= 12 && named(Must::NeverBe) >= 12);
    assert_eq!(NAMED.len(), CASES.len());
    for case in CASES {
        assert!(NAMED.contains(&case.name), "{} has no test", case.name);
        assert!(
            page.contains(&format!("`{}`", case.name)),
            "{} is not in the page",
            case.name
        );
    }
    for word in Remainder::ALL
        .iter()
        .map(|r| r.word())
        .chain(Profile::ALL.iter().map(|p| p.word()))
    {
        assert!(page.contains(&format!("`{word}`")), "{word} is not in the page");
    }
}

/// The two profiles are told apart: the same script, the same policies, another set of remainders.
#[test]
fn the_profiles_differ() {
    for name in [
        "an_hour_old_removal_is_undone",
        "the_later_of_two_new_files_is_there_alone",
    ] {
        let case = case(name);
        assert!(
            met(case, Profile::PosixStrict, SEEDS, in_model).is_some(),
            "{name}"
        );
        assert_eq!(met(case, Profile::Ext4, SEEDS, in_model), None, "{name}");
    }
}
