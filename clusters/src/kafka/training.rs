//! A node that is started only to see which classes it loads: combined, alone, on free ports of the loopback.

use super::child::{Child, LOOK_EVERY};
use std::collections::HashSet;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// What a node of any version says when it has started.
const STARTED: &str = "Kafka Server started";
/// A cluster's id, in the form that Kafka wants.
const CLUSTER: &str = "AAAAAAAAAAAAAAAAAAAAAQ";
/// A heap that suffices, and the way to start fastest.
const FLAGS: [&str; 4] = [
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Xmx256m",
    "-Xshare:auto",
];
/// Parts of lines that tell why a process failed.
const TELLING: [&str; 4] = ["Exception", "ERROR", "FATAL", "Error"];

/// What is trained, and where.
pub struct Training<'a> {
    /// A command that runs Java.
    pub java: &'a dyn Fn() -> Command,
    /// The folder of jars.
    pub libs: &'a Path,
    /// A folder for the node's files.
    pub work: &'a Path,
    /// When it must be over.
    pub deadline: Instant,
}

impl Training<'_> {
    /// The classes that the format step and a node load, as Java lists them.
    ///
    /// # Errors
    /// Why they cannot be known, in words.
    pub fn classes(&self) -> Result<String, String> {
        let refused = |why: io::Error| format!("{} cannot be written: {why}", self.work.display());
        let ports = Ports::free().map_err(|why| format!("no port is free: {why}"))?;
        self.configure(&ports).map_err(refused)?;
        let mut format = self.command("format");
        format
            .args(["kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c"])
            .arg(self.work.join("node.properties"));
        self.ends_well(format, "format")?;
        drop(ports);
        self.run_node()?;
        let mut seen = HashSet::new();
        let mut classes = String::new();
        // The node's first: the order in which a node wants them.
        for of in ["node", "format"] {
            let list = self.work.join(list_of(of));
            let text = fs::read_to_string(&list).map_err(|why| format!("{}: {why}", list.display()))?;
            for line in text.lines().filter(|line| seen.insert(line.to_string())) {
                classes.push_str(line);
                classes.push('\n');
            }
        }
        Ok(classes)
    }

    /// Runs a command to its good end.
    pub fn ends_well(&self, command: Command, what: &str) -> Result<(), String> {
        let child = Child::start(command, Some(&self.work.join(format!("{what}.out"))));
        let ended = child.and_then(|child| child.end(self.left()));
        match ended.map_err(|why| format!("java cannot be run: {why}"))? {
            (Some(status), _) if status.success() => Ok(()),
            (Some(status), said) => Err(format!("its {what} step failed ({status}): {}", telling(&said))),
            (None, said) => Err(format!("its {what} step did not end in time: {}", telling(&said))),
        }
    }

    fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Starts the node, waits until it has started, and has it stop.
    fn run_node(&self) -> Result<(), String> {
        let failed = |why: io::Error| format!("java cannot be run: {why}");
        let mut command = self.command("node");
        command.arg("kafka.Kafka").arg(self.work.join("node.properties"));
        let child = Child::start(command, Some(&self.work.join("node.out")));
        let mut child = child.map_err(failed)?;
        while !child.said().contains(STARTED) {
            if let Some(status) = child.ended().map_err(failed)? {
                return Err(format!("its node ended ({status}): {}", telling(&child.said())));
            }
            if self.left().is_zero() {
                return Err(format!(
                    "its node did not start within the time: {}",
                    telling(&child.said())
                ));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        child.terminate().map_err(failed)?;
        match child.end(self.left()).map_err(failed)? {
            (Some(_), _) => Ok(()),
            (None, said) => Err(format!("its node did not stop in time: {}", telling(&said))),
        }
    }

    /// A command that runs a class of the jars, and lists what it loads.
    fn command(&self, what: &str) -> Command {
        let mut command = (self.java)();
        let list = self.work.join(list_of(what));
        let (old, new) = (
            self.work.join("log4j.properties"),
            self.work.join("log4j2.properties"),
        );
        command
            .args(FLAGS)
            .arg(format!("-XX:DumpLoadedClassList={}", list.display()))
            .arg(format!("-Dlog4j.configuration=file:{}", old.display()))
            .arg(format!("-Dlog4j2.configurationFile={}", new.display()))
            .arg("-cp")
            .arg(self.libs.join("*"))
            .current_dir(self.work);
        command
    }

    fn configure(&self, ports: &Ports) -> io::Result<()> {
        let (broker, controller) = ports.numbers()?;
        let disk = self.work.join("disk");
        let node = format!(
            "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:{controller}\n\
             listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}\n\
             advertised.listeners=PLAINTEXT://127.0.0.1:{broker}\ninter.broker.listener.name=PLAINTEXT\n\
             controller.listener.names=CONTROLLER\nlog.dirs={}\n\
             listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n\
             log.cleaner.dedupe.buffer.size=2097152\n",
            disk.display()
        );
        let log4j = "log4j.rootLogger=INFO,out\nlog4j.appender.out=org.apache.log4j.ConsoleAppender\n\
                     log4j.appender.out.layout=org.apache.log4j.PatternLayout\n\
                     log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n\n";
        let log4j2 = "appender.out.type=Console\nappender.out.name=out\nappender.out.layout.type=PatternLayout\n\
                      appender.out.layout.pattern=[%d] %p %m (%c)%n\nrootLogger.level=INFO\n\
                      rootLogger.appenderRef.out.ref=out\n";
        fs::write(self.work.join("node.properties"), node)?;
        fs::write(self.work.join("log4j.properties"), log4j)?;
        fs::write(self.work.join("log4j2.properties"), log4j2)
    }
}

fn list_of(what: &str) -> String {
    format!("{what}.classes")
}

/// The line that tells why, of all that was said: the first that looks like it, else the last.
fn telling(said: &str) -> String {
    let lines = || said.lines().filter(|line| !line.trim().is_empty());
    let telling = lines().find(|line| TELLING.iter().any(|word| line.contains(word)));
    telling
        .or_else(|| lines().next_back())
        .unwrap_or("it said nothing")
        .to_owned()
}

/// Two ports of the loopback, kept from others while this lives.
struct Ports(TcpListener, TcpListener);

impl Ports {
    fn free() -> io::Result<Ports> {
        let one = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        Ok(Ports(one()?, one()?))
    }

    fn numbers(&self) -> io::Result<(u16, u16)> {
        Ok((self.0.local_addr()?.port(), self.1.local_addr()?.port()))
    }
}

#[cfg(test)]
mod tests {
    use super::telling;

    #[test]
    fn the_line_that_tells_why_is_found() {
        let said = "INFO a\nERROR Exiting due to x\njava.lang.IllegalStateException: y\n\tat z\n";
        assert_eq!(telling(said), "ERROR Exiting due to x");
        assert_eq!(telling("a\nb\n\n"), "b");
        assert_eq!(telling(""), "it said nothing");
    }
}
