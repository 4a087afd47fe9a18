//! After a round: whatever was acknowledged is there, with its id.

use super::load::Acked;
use super::log::Log;
use super::probe::{fetch, options};
use client::{Connection, Options, TopicId, topic_id_text};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// How long a broker may take to know all topics that were acknowledged, its restart included.
const BROKER_LIMIT: Duration = Duration::from_secs(60);
/// How long the log may take to be read.
const LOG_LIMIT: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(10);

/// Reads the whole log from its start to an offset that was committed, from the leader of an epoch.
///
/// # Errors
/// Why it could not be read in time.
pub async fn read_log(leader: SocketAddr, epoch: i32, committed: i64) -> Result<Log, String> {
    let began = Instant::now();
    let mut why = String::from("nobody answered");
    let mut log = Log::default();
    while began.elapsed() < LOG_LIMIT {
        match read_on(&mut log, leader, epoch, committed).await {
            Ok(()) => return Ok(log),
            Err(error) => why = error,
        }
        sleep(PAUSE).await;
    }
    Err(format!(
        "the log could be read to {} of {committed} within {LOG_LIMIT:?}: {why}",
        log.end
    ))
}

async fn read_on(log: &mut Log, leader: SocketAddr, epoch: i32, committed: i64) -> Result<(), String> {
    let mut connection = Connection::connect(leader, options())
        .await
        .map_err(|e| e.to_string())?;
    while log.end < committed {
        let before = log.end;
        let fetched = fetch(&mut connection, (log.end, log.last_epoch), epoch)
            .await
            .map_err(|e| e.to_string())?;
        if let Some(error) = fetched.error.error() {
            return Err(error.to_string());
        }
        if let Some(diverging) = fetched.diverging {
            return Err(format!(
                "the log that was read parts from the leader's at {diverging:?}"
            ));
        }
        if let Some(snapshot) = fetched.snapshot {
            // The nodes' thresholds for snapshots are far from what some thousand topics take.
            return Err(format!(
                "the log's beginning is a snapshot, up to {}",
                snapshot.end_offset
            ));
        }
        log.take(&fetched.batches, fetched.high_watermark);
        if log.end == before {
            return Err("nothing more is committed".into());
        }
    }
    Ok(())
}

/// The acknowledged topics that a log lacks, or has with another id.
pub fn missing_in_log(acked: &[Acked], log: &Log) -> Vec<String> {
    let missing = acked
        .iter()
        .filter(|topic| log.topics.get(&topic.name) != Some(&topic.id));
    missing
        .map(|topic| lost(topic, log.topics.get(&topic.name).copied(), "the metadata log"))
        .collect()
}

fn lost(topic: &Acked, found: Option<TopicId>, place: &str) -> String {
    let found = found.map_or("not there".into(), |id| {
        format!("there with id {}", topic_id_text(id))
    });
    format!(
        "{} (id {}, acknowledged at {} ns) is {found} in {place}",
        topic.name,
        topic_id_text(topic.id),
        topic.acked_ns
    )
}

/// Which call a broker is asked by.
#[derive(Clone, Copy, Debug)]
pub enum By {
    /// Metadata.
    Metadata,
    /// DescribeTopicPartitions.
    Describe,
}

/// The acknowledged topics that a broker says at the end of its time that it does not have, or has with another id.
///
/// # Errors
/// The broker did not answer for all of them: that it lost them is not known.
pub async fn missing_on_broker(acked: &[Acked], broker: SocketAddr, by: By) -> Result<Vec<String>, String> {
    let began = Instant::now();
    let mut left: Vec<(&Acked, Said)> = acked.iter().map(|topic| (topic, Said::Nothing)).collect();
    while !left.is_empty() && began.elapsed() < BROKER_LIMIT {
        let options = Options {
            connect_timeout: Duration::from_millis(500),
            ..Options::default()
        };
        if let Ok(mut connection) = Connection::connect(broker, options).await {
            left = ask_again(&left, &mut connection, by).await;
        }
        if !left.is_empty() {
            sleep(PAUSE).await;
        }
    }
    let silent = left.iter().filter(|(_, said)| *said == Said::Nothing).count();
    if silent > 0 {
        return Err(format!(
            "the broker at {broker} did not answer for {silent} topics within {BROKER_LIMIT:?}"
        ));
    }
    let place = format!("the broker at {broker}");
    let lost_one = |(topic, said): &(&Acked, Said)| match said {
        Said::There(id) => lost(topic, Some(*id), &place),
        Said::NotThere | Said::Nothing => lost(topic, None, &place),
    };
    Ok(left.iter().map(lost_one).collect())
}

/// What a broker said of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Nothing,
    NotThere,
    There(TopicId),
}

/// Asks for some topics; gives those that the broker does not have with their ids.
async fn ask_again<'a>(
    topics: &[(&'a Acked, Said)],
    connection: &mut Connection,
    by: By,
) -> Vec<(&'a Acked, Said)> {
    let mut left = Vec::new();
    for (topic, _) in topics {
        let answer = match by {
            By::Metadata => connection
                .metadata(&topic.name)
                .await
                .map(|answer| (answer.topic.error, answer.topic.id)),
            By::Describe => connection
                .describe_topic_partitions(&topic.name)
                .await
                .map(|answer| (answer.error, answer.id)),
        };
        match answer {
            Ok((_, id)) if id == topic.id => {}
            Ok((error, id)) if error.is_none() => left.push((*topic, Said::There(id))),
            Ok(_) => left.push((*topic, Said::NotThere)),
            Err(_) => left.push((*topic, Said::Nothing)),
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_that_is_gone_or_another_is_lost_and_one_that_is_there_is_not() {
        let topic = |name: &str, id| Acked {
            name: name.into(),
            id: TopicId::from_u128(id),
            invoked_ns: 0,
            acked_ns: 1,
        };
        let acked = [topic("here", 1), topic("gone", 2), topic("other", 3)];
        let mut log = Log::default();
        log.topics.insert("here".into(), TopicId::from_u128(1));
        log.topics.insert("other".into(), TopicId::from_u128(4));
        let missing = missing_in_log(&acked, &log);
        assert_eq!(missing.len(), 2, "{missing:?}");
        assert!(missing[0].starts_with("gone ") && missing[0].contains("not there"));
        assert!(missing[1].starts_with("other ") && missing[1].contains("there with id"));
    }
}
