//! How the words of a system's file are replaced, for one node.
//!
//! Known everywhere are `{self}`, which the ground replaces, the file's own `[variables]`, and what a [`Fill`] holds; the
//! rest only where they have a meaning.

use super::{HomeFile, Role, System};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;

/// How a node's metadata quorum begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First<'a> {
    /// Its voters are fixed, and each node's configuration names them.
    Fixed,
    /// They may change, and the node is one of the first: `id@address:port:folder` of each, with commas.
    Among(&'a str),
    /// They may change, and the node asks who they are.
    Joins,
}

/// What the templates of one node are filled with.
#[derive(Clone, Debug)]
pub struct Fill<'a> {
    /// The cluster's id.
    pub cluster_id: &'a str,
    /// The node's number.
    pub node_id: i32,
    /// The node's address.
    pub address: Ipv4Addr,
    /// `id@address:port` of each controller, with commas.
    pub voters: &'a str,
    /// How its quorum begins.
    pub first: First<'a>,
    /// The configuration file.
    pub config: &'a Path,
    /// The node's home: its configuration, its log and further files are in it.
    pub home: &'a Path,
    /// The folder on the node's own disk.
    pub disk: &'a Path,
    /// The plan's properties.
    pub properties: &'a BTreeMap<String, String>,
    /// The port of the host's loopback that leads to the node, where one does.
    pub host_port: Option<u16>,
}

/// Whether a value of a property is all of its line: neither a line's end nor a `\` at its own end makes another property
/// of what follows, or a part of it.
pub fn is_one_line(value: &str) -> bool {
    !value.contains(['\n', '\r']) && !value.ends_with('\\')
}

impl System {
    /// A node's configuration file.
    pub fn config(&self, role: &Role, fill: &Fill<'_>) -> String {
        let host = match (&role.host, fill.host_port) {
            (Some(host), Some(port)) => {
                let advertised = host.advertised.replace("{host_port}", &port.to_string());
                (host.listener.clone(), advertised)
            }
            _ => (String::new(), String::new()),
        };
        let text = role.template.trim_start_matches('\n');
        let text = text
            .replace("{host_listener}", &host.0)
            .replace("{host_advertised}", &host.1);
        let properties: String = fill
            .properties
            .iter()
            .map(|(k, v)| format!("{k}={v}\n"))
            .collect();
        self.text(&text, fill).replace("{properties}\n", &properties)
    }

    /// A further file of a node's.
    pub fn file(&self, file: &HomeFile, fill: &Fill<'_>) -> String {
        self.text(file.text.trim_start_matches('\n'), fill)
    }

    /// The environment of each command, beside the one that the run was started with.
    pub fn environment(&self, fill: &Fill<'_>) -> Vec<(String, String)> {
        let variables = self.environment.iter();
        variables
            .map(|(name, value)| (name.clone(), self.text(value, fill)))
            .collect()
    }

    /// The command that prints the properties a configuration may have, or the names of bugs: of no node.
    pub fn asking(&self, argv: &[String]) -> Vec<String> {
        argv.iter().map(|argument| self.own_words(argument)).collect()
    }

    /// The command that formats a node's disk.
    pub fn format_command(&self, fill: &Fill<'_>, features: &BTreeMap<String, i16>) -> Vec<String> {
        let mut argv = Vec::new();
        for argument in &self.format.argv {
            if argument == "{quorum}" {
                argv.extend(self.quorum_arguments(fill));
                continue;
            }
            if argument != "{features}" {
                argv.push(self.text(argument, fill));
                continue;
            }
            // A level 0 of what this version does not know is what it has.
            let known = |name: &String| self.features().any(|(known, _)| known == name);
            for (name, level) in features.iter().filter(|(name, _)| known(name)) {
                let fill = |a: &String| {
                    a.replace("{feature}", name)
                        .replace("{level}", &level.to_string())
                };
                argv.extend(self.format.feature.iter().map(fill));
            }
        }
        argv
    }

    fn quorum_arguments(&self, fill: &Fill<'_>) -> Vec<String> {
        let filled = |first: &str| {
            let arguments = self.format.first.iter();
            arguments.map(|it| it.replace("{first_voters}", first)).collect()
        };
        match fill.first {
            First::Fixed => Vec::new(),
            First::Among(first) => filled(first),
            First::Joins => self.format.joins.clone(),
        }
    }

    /// The command that runs a node, with a bug or without.
    pub fn start_command(&self, fill: &Fill<'_>, bug: Option<&str>) -> Vec<String> {
        let mut argv = Vec::new();
        for argument in &self.start {
            if argument != "{bug}" {
                argv.push(self.text(argument, fill));
            } else if let (Some(bugs), Some(bug)) = (&self.bugs, bug) {
                argv.extend(bugs.argv.iter().map(|argument| argument.replace("{bug}", bug)));
            }
        }
        argv
    }

    /// The words of the file's own replaced; none stands in another.
    pub(in crate::system) fn own_words(&self, template: &str) -> String {
        let mut text = template.replace("{version}", &self.version);
        for (word, value) in &self.variables {
            text = text.replace(&format!("{{{word}}}"), value);
        }
        text
    }

    /// Replaces all but `{self}`, which the ground knows, and `{properties}`.
    fn text(&self, template: &str, fill: &Fill<'_>) -> String {
        self.own_words(template)
            .replace("{cluster_id}", fill.cluster_id)
            .replace("{node_id}", &fill.node_id.to_string())
            .replace("{address}", &fill.address.to_string())
            .replace("{quorum}", &fill.quorum())
            .replace("{voters}", fill.voters)
            .replace("{config}", &fill.config.display().to_string())
            .replace("{home}", &fill.home.display().to_string())
            .replace("{disk}", &fill.disk.display().to_string())
    }
}

impl Fill<'_> {
    /// The property that names the controllers.
    fn quorum(&self) -> String {
        if self.first == First::Fixed {
            return format!("controller.quorum.voters={}", self.voters);
        }
        let addresses = self.voters.split(',').map(|voter| match voter.split_once('@') {
            Some((_, address)) => address,
            None => voter,
        });
        let addresses: Vec<&str> = addresses.collect();
        format!("controller.quorum.bootstrap.servers={}", addresses.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_of_the_reference_cluster_is_laid_out() {
        let system = System::reference();
        let properties = BTreeMap::from([("min.insync.replicas".to_string(), "2".to_string())]);
        let fill = Fill {
            cluster_id: "c",
            node_id: 1,
            address: Ipv4Addr::new(10, 9, 0, 4),
            voters: "100@10.9.0.1:9093",
            first: First::Fixed,
            config: Path::new("/r/server.properties"),
            home: Path::new("/r"),
            disk: Path::new("/r/mount"),
            properties: &properties,
            host_port: None,
        };
        let config = system.config(&system.broker, &fill);
        assert!(
            config.contains("\nlisteners=PLAINTEXT://10.9.0.4:9092\n"),
            "{config}"
        );
        assert!(
            config.ends_with("log.dirs=/r/mount\nmin.insync.replicas=2\n"),
            "{config}"
        );
        let outside = Fill {
            host_port: Some(40_001),
            ..fill.clone()
        };
        let config = system.config(&system.broker, &outside);
        assert!(
            config.contains("\nlisteners=PLAINTEXT://10.9.0.4:9092,HOST://10.9.0.4:9192\n"),
            "{config}"
        );
        assert!(
            config.contains("advertised.listeners=PLAINTEXT://10.9.0.4:9092,HOST://127.0.0.1:40001\n"),
            "{config}"
        );
        let features = BTreeMap::from([("eligible.leader.replicas.version".to_string(), 0)]);
        let argv = system.format_command(&fill, &features);
        assert_eq!(
            argv[argv.len() - 2..],
            ["--feature", "eligible.leader.replicas.version=0"]
        );
        assert_eq!(
            system.start_command(&fill, None),
            ["{self}", "node", "start", "--config", "/r/server.properties"]
        );
        let argv = system.start_command(&fill, Some("b"));
        assert_eq!(argv[argv.len() - 2..], ["--bug", "b"]);
    }

    #[test]
    fn voters_that_may_change_are_named_in_the_log_and_whom_to_ask_in_the_configuration() {
        let system = System::reference();
        let properties = BTreeMap::new();
        let fill = Fill {
            cluster_id: "c",
            node_id: 101,
            address: Ipv4Addr::new(10, 9, 0, 2),
            voters: "100@10.9.0.1:9093,101@10.9.0.2:9093",
            first: First::Fixed,
            config: Path::new("/r/server.properties"),
            home: Path::new("/r"),
            disk: Path::new("/r/mount"),
            properties: &properties,
            host_port: None,
        };
        let config = |fill: &Fill<'_>| system.config(&system.controller, fill);
        let format = |fill: &Fill<'_>| system.format_command(fill, &BTreeMap::new()).join(" ");
        assert!(config(&fill).contains("\ncontroller.quorum.voters=100@10.9.0.1:9093,101@10.9.0.2:9093\n"));
        assert!(!format(&fill).contains("controllers"), "{}", format(&fill));
        let first = Fill {
            first: First::Among("100@h:1:x,101@i:2:y"),
            ..fill.clone()
        };
        let text = config(&first);
        assert!(text.contains("\ncontroller.quorum.bootstrap.servers=10.9.0.1:9093,10.9.0.2:9093\n"));
        assert!(!text.contains("quorum.voters"), "{text}");
        let command = format(&first);
        assert!(
            command.ends_with("--initial-controllers 100@h:1:x,101@i:2:y"),
            "{command}"
        );
        let joins = Fill {
            first: First::Joins,
            ..fill
        };
        assert!(format(&joins).ends_with("--no-initial-controllers"));
    }
}
