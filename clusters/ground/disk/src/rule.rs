//! What may go wrong with a disk, as faults ask for it. Plain data, the same on every system.
use crate::policy::{UnknownWord, known};
use crate::{Mode, Policy};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// The longest that one call may be kept waiting by a rule that answers it in the end: a minute, as long as a kernel
/// waits until it complains of a hung task.
pub const MAX_WAIT_NS: u64 = 60_000_000_000;
/// The most bytes that one rule cuts off a file: they are kept in memory for the heal.
pub const MAX_CUT_BYTES: u64 = 1 << 20;
/// The most files that one rule damages: each is held open until the heal.
pub const MAX_DAMAGED_FILES: u32 = 64;
/// All, in parts of a million.
pub const ALL_PPM: u32 = 1_000_000;

/// What a call of the node's kernel wants of the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallKind {
    /// Bytes of a file. What is in the page cache is not asked for.
    Read,
    /// Bytes into a file; write-back of pages, too.
    Write,
    /// fsync or fdatasync, of a file or a folder; a write with O_SYNC or O_DSYNC is one as well.
    Sync,
    /// Opening what is there.
    Open,
    /// A new file, folder, link or symlink.
    Create,
    /// unlink or rmdir.
    Remove,
    /// rename.
    Rename,
    /// A change of length or other attributes.
    Change,
    /// fallocate.
    Allocate,
    /// A look at a name or its attributes. The kernel remembers both.
    Look,
    /// Reading a folder.
    List,
}

impl CallKind {
    /// All of them.
    pub const ALL: &'static [CallKind] = &[
        CallKind::Read,
        CallKind::Write,
        CallKind::Sync,
        CallKind::Open,
        CallKind::Create,
        CallKind::Remove,
        CallKind::Rename,
        CallKind::Change,
        CallKind::Allocate,
        CallKind::Look,
        CallKind::List,
    ];

    /// Its word in scenarios and histories.
    pub fn word(self) -> &'static str {
        match self {
            CallKind::Read => "read",
            CallKind::Write => "write",
            CallKind::Sync => "sync",
            CallKind::Open => "open",
            CallKind::Create => "create",
            CallKind::Remove => "remove",
            CallKind::Rename => "rename",
            CallKind::Change => "change",
            CallKind::Allocate => "allocate",
            CallKind::Look => "look",
            CallKind::List => "list",
        }
    }
}

impl FromStr for CallKind {
    type Err = UnknownWord;

    fn from_str(said: &str) -> Result<CallKind, UnknownWord> {
        known(CallKind::ALL, CallKind::word, said)
    }
}

/// One fault's rule for a disk: on which calls, how often, and what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskRule {
    /// The kinds of calls; none are all.
    pub calls: Vec<CallKind>,
    /// A file or folder below the mount, and all that is in it; `*` stands for any part of one name. Empty is all.
    pub path: String,
    /// So many calls that it meets pass first.
    pub skip: u64,
    /// So many it strikes then; none is no end.
    pub times: Option<u64>,
    /// What it does.
    pub effect: DiskEffect,
    /// For what it draws by chance.
    pub seed: u64,
}

impl DiskRule {
    /// On every call, without end.
    pub fn of(effect: DiskEffect) -> DiskRule {
        DiskRule {
            calls: Vec::new(),
            path: String::new(),
            skip: 0,
            times: None,
            effect,
            seed: 0,
        }
    }
}

/// What a rule does to the calls that it strikes, or to what is at rest on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DiskEffect {
    /// The call fails.
    Fail(Errors),
    /// A sync fails with EIO; what was not synced of its file then never becomes durable, though later syncs succeed,
    /// unless it is written again. Reads go on showing it until the power goes: the page cache has it.
    LosePages,
    /// A sync is answered well, and nothing is durable by it. What is old enough is written back all the same.
    LieAboutSyncs,
    /// There is room for so many bytes more; what needs more fails with ENOSPC. Removals and cuts make room.
    Full {
        /// Bytes.
        room_bytes: u64,
    },
    /// The call is answered later.
    Slow(Spread),
    /// The call is not answered until the rule is taken away, or the node is killed, or its power cut.
    Hang,
    /// The node's power goes, or its processes are killed, at this very call. Once.
    Crash {
        /// After the call was done and answered, rather than before.
        after: bool,
        /// What happens.
        how: Crash,
    },
    /// Bits of bytes at rest are turned over, at once. What is being written is written back first.
    Flip {
        /// Files are looked at in chunks of so many bytes.
        chunk_bytes: u32,
        /// So many chunks, in parts of a million, are struck; one at least.
        share_ppm: u32,
        /// So many bits of a chunk.
        bits: u32,
        /// Which chunks may be struck.
        stripe: Stripe,
    },
    /// The ends of files are cut off, at once. What is being written is written back first.
    CutOff {
        /// So many bytes, or all that there are.
        bytes: u64,
        /// Of so many files at most.
        files: u32,
        /// Which files may be struck, by their paths.
        stripe: Stripe,
    },
}

/// With what a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Errors {
    /// EIO.
    Io,
    /// ENOSPC.
    NoSpace,
}

/// How long calls wait. Each draws for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Spread {
    /// All as long.
    Fixed {
        /// So long.
        ns: u64,
    },
    /// Any time between two, each as likely.
    Uniform {
        /// The least.
        least_ns: u64,
        /// The most.
        most_ns: u64,
    },
    /// Mostly short and now and then very long, as of a queue.
    Exponential {
        /// On average, but for what the bound cuts.
        mean_ns: u64,
        /// The most.
        most_ns: u64,
    },
}

/// What happens at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Crash {
    /// The node loses its power, and by this policy what was not synced.
    Power(Policy),
    /// All its processes are killed; the page cache is kept.
    Kill,
}

/// The share of one disk of several that are damaged together: of `of` disks, this is number `index`, and no chunk
/// (or file) is damaged on two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stripe {
    /// From 0.
    pub index: u32,
    /// From 1; 1 is no share but all.
    pub of: u32,
}

impl Stripe {
    /// All of it.
    pub const ALL: Stripe = Stripe { index: 0, of: 1 };

    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    pub(crate) fn has(self, number: u64) -> bool {
        number % u64::from(self.of.max(1)) == u64::from(self.index)
    }
}

impl DiskRule {
    /// The mode of a mount without which it would not be felt where it strikes: single writes are, in write-through mode
    /// alone. None where either will do; a rule for all calls is felt at syncs.
    pub fn needs(&self) -> Option<Mode> {
        let of_calls = matches!(
            self.effect,
            DiskEffect::Fail(_) | DiskEffect::Slow(_) | DiskEffect::Hang | DiskEffect::Crash { .. }
        );
        (of_calls && self.calls.contains(&CallKind::Write)).then_some(Mode::WriteThrough)
    }

    /// Whether it can be done.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self) -> Result<(), String> {
        let fine = |what: &str, is: bool| if is { Ok(()) } else { Err(what.to_string()) };
        let wait = |ns: u64| fine("a call waits for a minute at most", ns <= MAX_WAIT_NS);
        let stripe = |stripe: Stripe| {
            let may = stripe.index < stripe.of && stripe.of <= 1024;
            fine(
                "a stripe is a number below that of all stripes, of which there are 1024 at most",
                may,
            )
        };
        fine("a rule that strikes no time does nothing", self.times != Some(0))?;
        fine(
            "a path is below the mount: it does not begin with / and has no ..",
            !self.path.starts_with('/') && self.path.split('/').all(|part| part != ".."),
        )?;
        match self.effect {
            DiskEffect::Slow(Spread::Fixed { ns }) => wait(ns),
            DiskEffect::Slow(Spread::Uniform { least_ns, most_ns }) => {
                fine("the least wait is longer than the most", least_ns <= most_ns)?;
                wait(most_ns)
            }
            DiskEffect::Slow(Spread::Exponential { mean_ns, most_ns }) => {
                fine("the average wait is longer than the most", mean_ns <= most_ns)?;
                wait(most_ns)
            }
            DiskEffect::Flip {
                chunk_bytes,
                share_ppm,
                bits,
                stripe: mine,
            } => {
                fine("a chunk has a byte at least", chunk_bytes > 0)?;
                fine(
                    "a share is more than nothing, and all at most",
                    (1..=ALL_PPM).contains(&share_ppm),
                )?;
                let most = u64::from(chunk_bytes) * 8;
                fine(
                    "a chunk has no such number of bits",
                    (1..=most).contains(&u64::from(bits)),
                )?;
                stripe(mine)
            }
            DiskEffect::CutOff {
                bytes,
                files,
                stripe: mine,
            } => {
                fine(
                    "1 MiB of a file is cut off at most",
                    (1..=MAX_CUT_BYTES).contains(&bytes),
                )?;
                fine("1 to 64 files are cut", (1..=MAX_DAMAGED_FILES).contains(&files))?;
                stripe(mine)
            }
            _ => Ok(()),
        }
    }
}

/// What a rule has met and done so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskRuleCounts {
    /// Calls that it was for.
    pub met: u64,
    /// Calls that it struck: failed, lied to, delayed, held, crashed at. Of damage, chunks or files.
    pub struck: u64,
    /// Calls that wait by it now.
    pub waiting: u64,
    /// How long calls waited by it that were answered since, in all.
    pub waited_ns: u64,
    /// How many were.
    pub answered: u64,
    /// The longest.
    pub longest_ns: u64,
    /// Bytes that it damaged, cut off, or kept from ever becoming durable.
    pub bytes: u64,
    /// Files that it damaged.
    pub files: u64,
    /// Bytes of room that are left by it.
    pub room_bytes: u64,
    /// When the node crashed by it, in nanoseconds of the monotonic clock.
    pub crashed_at_ns: Option<u64>,
}

/// What taking a rule away has mended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mended {
    /// Damaged bytes that are as they were.
    pub bytes: u64,
    /// Damaged bytes that were written over meanwhile, or whose file is not as it was left: they were let be.
    pub let_be: u64,
}

/// What is done to a disk as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskSwap {
    /// A copy of all it holds now, for [`DiskSwap::ToImage`].
    TakeImage,
    /// An empty disk takes its place. The node has no power meanwhile, as with all that follow but the last.
    ToEmpty,
    /// The copy takes its place.
    ToImage,
    /// The disk that was replaced comes back; what took its place is gone.
    Back,
    /// The disk that was replaced, and the copy, are gone.
    Forget,
}

/// What a swap moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swapped {
    /// Files of the disk that is in place now, or of the copy.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files of the disk that was put aside, or thrown away.
    pub old_files: u64,
    /// Their bytes.
    pub old_bytes: u64,
}

/// Whether a path, or a folder that it is in, is what a rule names.
pub(crate) fn is_under(pattern: &str, path: &str) -> bool {
    let wanted = pattern.split('/').filter(|part| !part.is_empty());
    let mut is = path.split('/').filter(|part| !part.is_empty());
    let mut wanted = wanted;
    wanted.all(|want| is.next().is_some_and(|part| is_like(want, part)))
}

/// Whether a name is like a pattern in which `*` stands for any letters.
fn is_like(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    // A split has a first part.
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        if let Some(middle) = last.replace(part)
            && !skip_to(&mut rest, middle)
        {
            return false;
        }
    }
    match last {
        None => rest.is_empty(),
        Some(end) => rest.ends_with(end),
    }
}

fn skip_to(rest: &mut &str, part: &str) -> bool {
    match rest.find(part) {
        Some(at) => {
            *rest = &rest[at + part.len()..];
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_below_what_is_named() {
        for (pattern, path) in [
            ("", "a/b"),
            ("", ""),
            ("a", "a"),
            ("a", "a/b/c"),
            ("a/", "a/b"),
            ("data-*/topic-0", "data-2/topic-0/0.log"),
            ("*/*.log", "d/00000.log"),
            ("*.log", "x.log"),
            ("a*b*c", "aXbYbZc"),
        ] {
            assert!(is_under(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("a", "ab"),
            ("a", "b/a"),
            ("a/b", "a"),
            ("*.log", "d/x.log"),
            ("*.log", "x.log.deleted"),
            ("a*b*c", "aXc"),
        ] {
            assert!(!is_under(pattern, path), "{pattern} {path}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let rule = |effect| DiskRule::of(effect);
        let stripe = |index, of| DiskEffect::Flip {
            chunk_bytes: 512,
            share_ppm: 1,
            bits: 1,
            stripe: Stripe { index, of },
        };
        for wrong in [
            rule(DiskEffect::Slow(Spread::Fixed { ns: MAX_WAIT_NS + 1 })),
            rule(DiskEffect::Slow(Spread::Uniform {
                least_ns: 2,
                most_ns: 1,
            })),
            rule(stripe(2, 2)),
            DiskRule {
                times: Some(0),
                ..rule(DiskEffect::Hang)
            },
            DiskRule {
                path: "../x".into(),
                ..rule(DiskEffect::Hang)
            },
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
        assert_eq!(rule(stripe(1, 2)).check(), Ok(()));
        assert_eq!(rule(DiskEffect::Hang).check(), Ok(()));
        for one in CallKind::ALL {
            assert_eq!(one.word().parse(), Ok(*one));
        }
    }
}
