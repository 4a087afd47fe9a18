//! `ackall admin quorum describe`: who leads, who votes, and how far each replica of the metadata log is.

use super::args::TargetArgs;
use super::target::{Answered, Target};
use crate::error::Error;
use client::calls::{Listener, QuorumDescription, QuorumReplica};
use client::topic_id_text;
use serde::Serialize;
use std::fmt;
use std::time::{Duration, UNIX_EPOCH};

/// What is shown where a server does not say.
const UNKNOWN: &str = "-";
/// The first moment whose year has five digits.
const YEAR_10000: Duration = Duration::from_secs(253_402_300_800);

/// Asks and prints.
pub async fn describe(args: &TargetArgs, json: bool) -> Result<(), Error> {
    let target = Target::of(args)?;
    let Answered {
        cluster_id, quorum, ..
    } = target.active_controller("describing the metadata quorum").await?;
    let description = Description::of(cluster_id, &quorum);
    if json {
        let value = serde_json::to_value(&description)
            .map_err(|e| Error::internal("writing JSON", e, "report this: it is a bug"))?;
        say!("{value}");
    } else {
        say_as_is!("{description}");
    }
    Ok(())
}

/// What `describe` says; what a server does not tell is null.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Description {
    cluster_id: String,
    leader: i32,
    epoch: i32,
    high_watermark: i64,
    /// Records that the slowest voter lacks of the leader's log.
    max_follower_lag: Option<i64>,
    /// How long the slowest voter has not had all of it, in milliseconds.
    max_follower_lag_ms: Option<i64>,
    voters: Vec<Replica>,
    observers: Vec<Replica>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Replica {
    node: i32,
    directory_id: Option<String>,
    role: Role,
    log_end_offset: Option<i64>,
    lag: Option<i64>,
    /// Milliseconds since 1970, on the leader's clock.
    last_fetch_at_ms: Option<i64>,
    last_caught_up_at_ms: Option<i64>,
    endpoints: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    Leader,
    Follower,
    Observer,
}

/// Servers write −1 where they do not know.
fn known(value: i64) -> Option<i64> {
    (value >= 0).then_some(value)
}

impl Description {
    fn of(cluster_id: String, quorum: &QuorumDescription) -> Description {
        let leader = quorum.voters.iter().find(|voter| voter.node == quorum.leader);
        let replicas = |states: &[QuorumReplica], votes: bool| {
            states
                .iter()
                .map(|state| Replica::of(state, votes, leader, quorum))
                .collect::<Vec<_>>()
        };
        let voters = replicas(&quorum.voters, true);
        let lag_ms = |voter: &QuorumReplica| {
            let behind = known(leader?.last_caught_up_ms)? - known(voter.last_caught_up_ms)?;
            Some(behind.max(0))
        };
        Description {
            cluster_id,
            leader: quorum.leader,
            epoch: quorum.epoch,
            high_watermark: quorum.high_watermark,
            max_follower_lag: voters.iter().filter_map(|voter| voter.lag).max(),
            max_follower_lag_ms: quorum.voters.iter().filter_map(lag_ms).max(),
            voters,
            observers: replicas(&quorum.observers, false),
        }
    }
}

impl Replica {
    fn of(
        state: &QuorumReplica,
        votes: bool,
        leader: Option<&QuorumReplica>,
        quorum: &QuorumDescription,
    ) -> Replica {
        let end = known(state.log_end_offset);
        let leader_end = leader.and_then(|leader| known(leader.log_end_offset));
        let role = match votes {
            true if state.node == quorum.leader => Role::Leader,
            true => Role::Follower,
            false => Role::Observer,
        };
        let nodes = quorum.nodes.iter().filter(|node| node.node == state.node);
        Replica {
            node: state.node,
            directory_id: Some(topic_id_text(state.directory)).filter(|id| !id.is_empty()),
            role,
            log_end_offset: end,
            lag: leader_end.zip(end).map(|(leader, own)| (leader - own).max(0)),
            last_fetch_at_ms: known(state.last_fetch_ms),
            last_caught_up_at_ms: known(state.last_caught_up_ms),
            endpoints: nodes
                .flat_map(|node| &node.listeners)
                .map(endpoint_text)
                .collect(),
        }
    }
}

/// `NAME://HOST:PORT`, an IPv6 address in brackets.
pub fn endpoint_text(listener: &Listener) -> String {
    let Listener { name, host, port } = listener;
    if host.contains(':') {
        format!("{name}://[{host}]:{port}")
    } else {
        format!("{name}://{host}:{port}")
    }
}

/// A number, or that it is not known.
fn shown(value: Option<i64>) -> String {
    value.map_or(UNKNOWN.into(), |value| value.to_string())
}

fn shown_time(ms: Option<i64>) -> String {
    let time = ms.and_then(|ms| UNIX_EPOCH.checked_add(Duration::from_millis(ms.unsigned_abs())));
    // Year 10000 and later cannot be written so, and is nonsense of a server's.
    time.filter(|time| {
        time.duration_since(UNIX_EPOCH)
            .is_ok_and(|since| since < YEAR_10000)
    })
    .map_or(UNKNOWN.into(), |time| {
        humantime::format_rfc3339_millis(time).to_string()
    })
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in [
            ("cluster id", self.cluster_id.clone()),
            ("leader", self.leader.to_string()),
            ("epoch", self.epoch.to_string()),
            ("high watermark", self.high_watermark.to_string()),
            ("max follower lag", shown(self.max_follower_lag)),
            ("max follower lag, ms", shown(self.max_follower_lag_ms)),
        ] {
            writeln!(f, "{name:<22}{value}")?;
        }
        writeln!(f)?;
        let heads = [
            "NODE",
            "DIRECTORY ID",
            "ROLE",
            "LOG END",
            "LAG",
            "LAST FETCH",
            "LAST CAUGHT UP",
            "ENDPOINTS",
        ];
        let mut rows = vec![heads.map(str::to_string)];
        rows.extend(self.voters.iter().chain(&self.observers).map(Replica::row));
        let widths: Vec<usize> = (0..heads.len())
            .map(|column| {
                let cells = rows.iter().map(|row| row[column].chars().count());
                cells.max().unwrap_or_default()
            })
            .collect();
        for row in rows {
            let cells = row
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!("{cell:<width$}"));
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}

impl Replica {
    fn row(&self) -> [String; 8] {
        let endpoints = self.endpoints.join(",");
        [
            self.node.to_string(),
            self.directory_id.clone().unwrap_or_else(|| UNKNOWN.into()),
            format!("{:?}", self.role).to_lowercase(),
            shown(self.log_end_offset),
            shown(self.lag),
            shown_time(self.last_fetch_at_ms),
            shown_time(self.last_caught_up_at_ms),
            if endpoints.is_empty() {
                UNKNOWN.into()
            } else {
                endpoints
            },
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use client::calls::QuorumNode;
    use client::{ErrorCode, TopicId};

    fn replica(node: i32, end: i64, caught_up: i64) -> QuorumReplica {
        QuorumReplica {
            node,
            directory: TopicId::from_u128(node as u128 % 100),
            log_end_offset: end,
            last_fetch_ms: caught_up,
            last_caught_up_ms: caught_up,
        }
    }

    fn sample() -> Description {
        let quorum = QuorumDescription {
            error: ErrorCode::NONE,
            message: None,
            leader: 101,
            epoch: 4,
            high_watermark: 90,
            voters: vec![
                replica(100, 95, 500),
                replica(101, 100, 1_000),
                replica(102, -1, -1),
            ],
            observers: vec![replica(1, 101, 1_000)],
            nodes: vec![QuorumNode {
                node: 101,
                listeners: vec![Listener {
                    name: "CONTROLLER".into(),
                    host: "::1".into(),
                    port: 9093,
                }],
            }],
        };
        Description::of("c".into(), &quorum)
    }

    #[test]
    fn the_slowest_voter_makes_the_lag() {
        let description = sample();
        assert_eq!(
            (description.max_follower_lag, description.max_follower_lag_ms),
            (Some(5), Some(500))
        );
        let lags: Vec<_> = description.voters.iter().map(|voter| voter.lag).collect();
        assert_eq!(lags, [Some(5), Some(0), None]);
        assert_eq!(description.observers[0].lag, Some(0));
        assert_eq!(description.voters[0].directory_id, None);
        assert_eq!(
            description.voters[1].directory_id.as_deref(),
            Some("AAAAAAAAAAAAAAAAAAAAAQ")
        );
    }

    #[test]
    fn what_is_not_known_is_a_dash_or_null() {
        let description = sample();
        let text = description.to_string();
        let line = |node: &str| {
            let line = text.lines().find(|line| line.starts_with(node)).unwrap();
            line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(line("102")[2..], ["follower", "-", "-", "-", "-", "-"]);
        assert_eq!(line("101")[2], "leader");
        assert_eq!(line("101")[7], "CONTROLLER://[::1]:9093");
        assert_eq!(line("1 ")[2], "observer");
        let json = serde_json::to_value(&description).unwrap();
        assert_eq!(json["voters"][2]["lag"], serde_json::Value::Null);
        assert_eq!(json["voters"][1]["role"], "leader");
        assert_eq!(shown_time(Some(i64::MAX)), UNKNOWN);
        assert_eq!(shown_time(Some(0)), "1970-01-01T00:00:00.000Z");
    }
}
