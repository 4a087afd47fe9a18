//! A system under test, as data: how its nodes are configured, formatted, started and recognised.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;

/// The reference cluster, in the form that users write for their own systems.
const REFERENCE: &str = include_str!("../systems/reference.toml");

/// A system, as its TOML file has it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Its name.
    pub name: String,
    /// The command that prints the properties which a configuration may have.
    pub properties: Vec<String>,
    /// The command that runs a node until it is told to stop; the argument `{bug}` becomes the arguments of
    /// the bug that is on, if one is.
    pub start: Vec<String>,
    /// Parts of log lines that mean trouble.
    pub trouble: Vec<String>,
    /// How a node's disk is formatted.
    pub format: Format,
    /// The bugs that can be switched on; none where the system has none to offer.
    #[serde(default)]
    pub bugs: Option<Bugs>,
    /// The controllers.
    pub controller: Role,
    /// The brokers.
    pub broker: Role,
}

/// How a node's disk is formatted, once, before its first start.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Format {
    /// The command; the argument `{features}` becomes the arguments of each feature.
    pub argv: Vec<String>,
    /// The arguments of one feature, from `{feature}` and `{level}`.
    pub feature: Vec<String>,
    /// Where the voters of the metadata quorum may change: the arguments that stand for `{quorum}` in the command, of
    /// one of the first voters, which are `{first_voters}`.
    #[serde(default)]
    pub first: Vec<String>,
    /// And those of any other node.
    #[serde(default)]
    pub joins: Vec<String>,
}

/// Bugs that can be switched on by name, for the harness to notice.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bugs {
    /// The command that prints their names.
    pub names: Vec<String>,
    /// The arguments that switch on the bug `{bug}`.
    pub argv: Vec<String>,
}

/// A kind of node.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// The number of the first node; the others follow.
    pub first_id: i32,
    /// The port it listens on.
    pub port: u16,
    /// Its configuration file.
    pub template: String,
    /// Its listener for clients on the host; none where it has none to offer.
    #[serde(default)]
    pub host: Option<HostListener>,
}

/// A second listener of a node, to which a port of the host's loopback leads.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostListener {
    /// The port it listens on, on the node.
    pub port: u16,
    /// What stands for `{host_listener}` in the template.
    pub listener: String,
    /// What stands for `{host_advertised}` in the template, from `{host_port}`.
    pub advertised: String,
}

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
    /// The folder on the node's own disk.
    pub disk: &'a Path,
    /// The plan's properties.
    pub properties: &'a BTreeMap<String, String>,
    /// The port of the host's loopback that leads to the node, where one does.
    pub host_port: Option<u16>,
}

impl System {
    /// The reference cluster.
    pub fn reference() -> System {
        // The file is part of the build, and a test reads it.
        toml::from_str(REFERENCE).expect("systems/reference.toml is tested to parse")
    }

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
        fill.text(&text).replace("{properties}\n", &properties)
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
                argv.push(fill.text(argument));
                continue;
            }
            for (name, level) in features {
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
                argv.push(fill.text(argument));
            } else if let (Some(bugs), Some(bug)) = (&self.bugs, bug) {
                argv.extend(bugs.argv.iter().map(|argument| argument.replace("{bug}", bug)));
            }
        }
        argv
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

    /// Replaces all but `{self}`, which the ground knows, and `{properties}`.
    fn text(&self, template: &str) -> String {
        template
            .replace("{cluster_id}", self.cluster_id)
            .replace("{node_id}", &self.node_id.to_string())
            .replace("{address}", &self.address.to_string())
            .replace("{quorum}", &self.quorum())
            .replace("{voters}", self.voters)
            .replace("{config}", &self.config.display().to_string())
            .replace("{disk}", &self.disk.display().to_string())
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
