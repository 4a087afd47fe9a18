//! An archive of the classes that a node loads (class-data sharing), which halves what a start costs.
//!
//! It is made once for the very same jars and the very same Java: a combined node is formatted and started on the
//! loopback to see which classes it loads, then Java writes them down as it keeps them in memory. With another Java, or
//! other jars, the archive has another name; Java itself refuses one that does not fit, and starts without.

use super::Java;
use super::cache::turn;
use super::training::Training;
use std::fmt;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

/// How long all of it may take, the wait for another who is at it included: 12 seconds on two cores with nothing else
/// to do, a minute where a dozen others want them.
pub const TRAINING_LIMIT: Duration = Duration::from_secs(240);
/// How the archive is made; another way has another number, and so another name.
const RECIPE: u32 = 1;
/// How many of one version are kept, 70 MB each: one for each Java that somebody goes to and fro between.
const KEPT: usize = 3;

/// Why there is no archive. No error: nodes start without one, slower.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slow {
    version: String,
    why: String,
}

impl fmt::Display for Slow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Slow { version, why } = self;
        write!(
            f,
            "Apache Kafka {version} starts slowly: no archive of its classes, for {why}"
        )
    }
}

/// Whether what failed before is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Each user of the cache would wait for it in vain.
    Never,
    /// Somebody asked for it.
    Now,
}

/// For what an archive is.
#[derive(Clone, Copy)]
pub struct Of<'a> {
    /// The version of the jars.
    pub version: &'a str,
    /// Their folder.
    pub libs: &'a Path,
    /// The Java.
    pub java: &'a Java,
}

impl Of<'_> {
    /// Where it is, whether it is there or not.
    pub fn path(&self, cache: &Path) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        (RECIPE, self.java.build(), self.java.path(), self.libs).hash(&mut hasher);
        // In the order in which Java finds them too, when it replaces `*`: it wants the same at each start.
        for jar in fs::read_dir(self.libs).into_iter().flatten().flatten() {
            let data = jar.metadata().ok();
            let changed = data.as_ref().and_then(|data| data.modified().ok());
            (jar.file_name(), data.map(|data| data.len()), changed).hash(&mut hasher);
        }
        folder(cache).join(format!("kafka-{}-{:016x}.jsa", self.version, hasher.finish()))
    }

    /// The archive, made where it is not there.
    pub fn made(
        &self,
        java: &dyn Fn() -> Command,
        cache: &Path,
        retry: Retry,
        limit: Duration,
    ) -> Result<PathBuf, Slow> {
        let slow = |why: String| Slow {
            version: self.version.to_owned(),
            why: why.split_whitespace().collect::<Vec<_>>().join(" "),
        };
        let deadline = Instant::now() + limit;
        let path = self.path(cache);
        if path.is_file() {
            return Ok(path);
        }
        let failed = path.with_extension("failed");
        if let (Retry::Never, Ok(why)) = (retry, fs::read_to_string(&failed)) {
            return Err(slow(format!(
                "making it failed before: {why} (`ackall kafka fetch` tries again)"
            )));
        }
        let turn = turn(cache, limit).map_err(|why| {
            slow(why.map_or_else(
                || format!("another process has been at it for {limit:?}"),
                |why| why.to_string(),
            ))
        })?;
        // Whoever had the turn before may have made it.
        if path.is_file() {
            return Ok(path);
        }
        let work = path.with_extension("part");
        let made = self.make(java, &work, &path, deadline);
        // What is left of it is overwritten by whoever tries next.
        let _ = fs::remove_dir_all(&work);
        if let Err(why) = &made {
            // Where it cannot be written the next one fails in the same way.
            let _ = fs::write(&failed, why);
        } else {
            let _ = fs::remove_file(&failed);
            self.sweep(cache);
        }
        turn.hand_over(&folder(cache));
        made.map(|()| path).map_err(slow)
    }

    fn make(
        &self,
        java: &dyn Fn() -> Command,
        work: &Path,
        path: &Path,
        deadline: Instant,
    ) -> Result<(), String> {
        let refused = |why: std::io::Error| format!("{} cannot be written: {why}", work.display());
        let _ = fs::remove_dir_all(work);
        fs::create_dir_all(work).map_err(refused)?;
        let training = Training {
            java,
            libs: self.libs,
            work,
            deadline,
        };
        let classes = training.classes()?;
        let list = work.join("classes");
        let archive = work.join("archive.jsa");
        fs::write(&list, classes).map_err(refused)?;
        let mut dump = java();
        dump
            // The only collector with which objects can be written down too; nodes may run with any.
            .args(["-Xshare:dump", "-XX:+UseG1GC"])
            .arg(format!("-XX:SharedClassListFile={}", list.display()))
            .arg(format!("-XX:SharedArchiveFile={}", archive.display()))
            .arg("-cp")
            .arg(self.libs.join("*"));
        training.ends_well(dump, "dump")?;
        if !archive.is_file() {
            return Err("java -Xshare:dump succeeded, and wrote nothing".into());
        }
        fs::rename(&archive, path).map_err(refused)
    }

    /// Removes the oldest archives of this version: of a Java that is gone, of jars that were replaced.
    fn sweep(&self, cache: &Path) {
        let of_version = format!("kafka-{}-", self.version);
        let entries = fs::read_dir(folder(cache)).into_iter().flatten().flatten();
        let mut found: Vec<(SystemTime, PathBuf)> = entries
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(&of_version))
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .filter(|(_, path)| path.extension().is_some_and(|extension| extension == "jsa"))
            .collect();
        found.sort();
        let surplus = found.len().saturating_sub(KEPT);
        for (_, old) in found.into_iter().take(surplus) {
            // Nodes that have it keep it; whoever starts later goes without.
            let _ = fs::remove_file(old);
        }
    }
}

fn folder(cache: &Path) -> PathBuf {
    cache.join("archives")
}

#[cfg(test)]
mod tests {
    use super::super::child::tests::Place;
    use super::*;

    /// Does what Java does in a training, with two classes for 7,000, and counts what it is asked for.
    const TRAINS: &str = r#"
        case "$*" in
        *-Xshare:dump*)
            echo dump >> "$HERE/calls"
            for a; do case $a in
                -XX:SharedClassListFile=*) list=${a#*=} ;;
                -XX:SharedArchiveFile=*) out=${a#*=} ;;
            esac; done
            cp "$list" "$out" ;;
        *StorageTool*)
            echo format >> "$HERE/calls"
            for a; do case $a in -XX:DumpLoadedClassList=*) echo java/A > "${a#*=}" ;; esac; done ;;
        *kafka.Kafka*)
            echo node >> "$HERE/calls"
            for a; do case $a in -XX:DumpLoadedClassList=*) printf 'java/A\njava/B\n' > "${a#*=}" ;; esac; done
            trap 'exit 143' TERM
            echo 'INFO [KafkaRaftServer nodeId=1] Kafka Server started'
            while :; do sleep 0.05; done ;;
        esac"#;

    struct Trained {
        place: Place,
        java: Java,
    }

    impl Trained {
        fn new(name: &str) -> Trained {
            let place = Place::new(name);
            fs::create_dir(place.0.join("libs")).unwrap();
            fs::write(place.0.join("libs/kafka-clients-4.1.2.jar"), "jar").unwrap();
            Trained {
                place,
                java: Java::of_test("/j", "17.0.1"),
            }
        }
        fn cache(&self) -> PathBuf {
            self.place.0.join("cache")
        }
        fn made(&self, java: &Java, script: &str, retry: Retry) -> Result<PathBuf, Slow> {
            let libs = self.place.0.join("libs");
            let of = Of {
                version: "4.1.2",
                libs: &libs,
                java,
            };
            let command = || {
                let mut command = self.place.script(script);
                command.env("HERE", &self.place.0);
                command
            };
            of.made(&command, &self.cache(), retry, Duration::from_secs(20))
        }
        fn calls(&self) -> String {
            fs::read_to_string(self.place.0.join("calls")).unwrap_or_default()
        }
        fn left(&self) -> Vec<String> {
            let entries = fs::read_dir(folder(&self.cache()))
                .into_iter()
                .flatten()
                .flatten();
            let mut names: Vec<_> = entries
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .collect();
            names.sort();
            names
        }
    }

    #[test]
    fn it_is_made_once_for_one_java_and_again_for_another() {
        let trained = Trained::new("archive");
        let path = trained.made(&trained.java, TRAINS, Retry::Never).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "java/A\njava/B\n");
        assert_eq!(trained.calls(), "format\nnode\ndump\n");
        assert_eq!(trained.made(&trained.java, "exit 1", Retry::Now).unwrap(), path);
        let other = Java::of_test("/j", "17.0.2");
        assert_ne!(trained.made(&other, TRAINS, Retry::Never).unwrap(), path);
        assert_eq!(trained.left().len(), 2, "{:?}", trained.left());
        // Other jars under the same names.
        fs::write(trained.place.0.join("libs/kafka-clients-4.1.2.jar"), "another").unwrap();
        assert_ne!(trained.made(&trained.java, TRAINS, Retry::Never).unwrap(), path);
    }

    #[test]
    fn a_failure_is_told_and_not_tried_again_unless_asked() {
        let trained = Trained::new("archive-fails");
        let script = "case \"$*\" in *StorageTool*) echo 'java.lang.Error: no room'; exit 1 ;; esac";
        let why = trained.made(&trained.java, script, Retry::Never).unwrap_err();
        assert!(why.to_string().contains("no room"), "{why}");
        let again = trained.made(&trained.java, TRAINS, Retry::Never).unwrap_err();
        assert!(again.to_string().contains("no room"), "{again}");
        assert_eq!(
            trained.left().len(),
            1,
            "the word about it alone: {:?}",
            trained.left()
        );
        trained.made(&trained.java, TRAINS, Retry::Now).unwrap();
        assert_eq!(trained.left().len(), 1, "the archive alone: {:?}", trained.left());
    }

    #[test]
    fn a_node_that_dies_or_never_starts_and_a_dump_of_nothing_are_told() {
        let trained = Trained::new("archive-dies");
        for (script, told) in [
            (
                "case \"$*\" in *kafka.Kafka*) echo 'Exception: bind'; exit 1 ;; esac",
                "bind",
            ),
            ("case \"$*\" in *kafka.Kafka*) exec sleep 60 ;; esac", "within"),
        ] {
            let libs = trained.place.0.join("libs");
            let of = Of {
                version: "4.1.2",
                libs: &libs,
                java: &trained.java,
            };
            let java = || trained.place.script(script);
            let why = of
                .made(&java, &trained.cache(), Retry::Now, Duration::from_secs(2))
                .unwrap_err();
            assert!(why.to_string().contains(told), "{why}");
        }
        let silent = TRAINS.replace("cp \"$list\" \"$out\"", "true");
        let why = trained.made(&trained.java, &silent, Retry::Now).unwrap_err();
        assert!(why.to_string().contains("wrote nothing"), "{why}");
    }

    #[test]
    fn the_oldest_of_a_version_go() {
        let trained = Trained::new("archive-many");
        fs::create_dir_all(folder(&trained.cache())).unwrap();
        fs::write(folder(&trained.cache()).join("kafka-4.2.1-0.jsa"), "").unwrap();
        for build in 0..KEPT + 2 {
            let java = Java::of_test("/j", &build.to_string());
            trained.made(&java, TRAINS, Retry::Never).unwrap();
        }
        let left = trained.left();
        assert_eq!(left.len(), KEPT + 1, "{left:?}");
        assert!(left.contains(&"kafka-4.2.1-0.jsa".to_owned()), "{left:?}");
    }

    #[test]
    fn a_cache_that_cannot_be_written_is_slow_and_no_more() {
        let trained = Trained::new("archive-cache");
        fs::write(trained.cache(), "a file").unwrap();
        let why = trained.made(&trained.java, TRAINS, Retry::Now).unwrap_err();
        assert!(why.to_string().contains("starts slowly"), "{why}");
    }
}
