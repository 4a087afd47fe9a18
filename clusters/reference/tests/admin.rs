//! What administrators ask for, asked of a broker by the project's own client: it is done, is seen, and holds.

mod support;

use std::collections::BTreeMap;
use std::time::Duration;

use client::calls::{
    Administered, ConfigResource, CreatePartitions, DescribedPartition, Election, FeatureChange,
};
use client::{Connection, ErrorCode, Options};
use support::client::{Client, values};
use support::{Cluster, until};

const TOPIC: &str = "night";
const ACKS_ALL: i16 = -1;
const WITHIN: Duration = Duration::from_secs(2);
const MIN_ISR: &str = "min.insync.replicas";
const ELR: &str = "eligible.leader.replicas.version";
const FLUSHED: &str = "log.flush.interval.messages=1";

/// Asks a live broker; none where it does not answer.
fn ask<T>(
    cluster: &Cluster,
    act: impl AsyncFnOnce(&mut Connection) -> Result<T, client::Error>,
) -> Option<T> {
    let address = cluster.address(*cluster.live_brokers().first()?);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut connection = Connection::connect(address, Options::default()).await.ok()?;
        act(&mut connection).await.ok()
    })
}

/// Asks until the answer is one of these: an answer that came too late leaves the next attempt another one.
fn until_answered(
    cluster: &Cluster,
    what: &str,
    accepted: &[ErrorCode],
    act: impl AsyncFn(&mut Connection) -> Result<Administered, client::Error>,
) {
    until(what, || {
        let answer = ask(cluster, &act)?;
        accepted.contains(&answer.error).then_some(())
    });
}

fn described(cluster: &Cluster) -> Option<Vec<DescribedPartition>> {
    let topic = ask(cluster, async |it| it.describe_topic_partitions(TOPIC).await)?;
    topic.error.is_none().then_some(topic.partitions)
}

fn first(cluster: &Cluster) -> Option<DescribedPartition> {
    described(cluster)?.into_iter().next()
}

fn until_isr(cluster: &Cluster, expected: &[i32]) -> DescribedPartition {
    until(&format!("ISR {expected:?}"), || {
        let mut partition = first(cluster)?;
        partition.isr.sort_unstable();
        (partition.isr == expected && partition.leader >= 0).then_some(partition)
    })
}

fn create(cluster: &Cluster, replicas: &[i32]) {
    until("the topic", || {
        let mut client = Client::connect(cluster.address(*cluster.live_brokers().first()?))?;
        let (error, _) = client.create_topic(TOPIC, replicas, &[(MIN_ISR, "1")])?;
        // 36: an attempt before created it, and its answer came too late.
        (error == 0 || error == 36).then_some(())
    });
}

/// What a produce to the leader is answered; none where it cannot be asked.
fn produce(cluster: &Cluster, value: &str) -> Option<i16> {
    let leader = first(cluster)?.leader;
    cluster.live_brokers().contains(&leader).then_some(())?;
    let mut client = Client::connect(cluster.address(leader))?;
    Some(client.produce(TOPIC, ACKS_ALL, &[value])?.error_code)
}

fn append(cluster: &Cluster, value: &str) {
    until(&format!("{value} acknowledged"), || {
        (produce(cluster, value)? == 0).then_some(())
    });
}

fn read_all(cluster: &Cluster) -> Vec<String> {
    until("the records", || {
        let partition = first(cluster)?;
        let mut client = Client::connect(cluster.address(partition.leader))?;
        let end = client.latest(TOPIC, partition.leader_epoch)?.ok()?;
        let (mut read, mut offset) = (Vec::new(), 0);
        while offset < end {
            let data = client.fetch(TOPIC, offset, partition.leader_epoch, 500)?;
            (data.error_code == 0).then_some(())?;
            for (at, _, value) in values(&data.records.unwrap_or_default()) {
                if at >= offset {
                    read.push(value);
                    offset = at + 1;
                }
            }
        }
        read.dedup();
        Some(read)
    })
}

fn folders(cluster: &Cluster, id: i32) -> Vec<String> {
    let entries = std::fs::read_dir(cluster.file(id, "")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .filter(|name| name.starts_with(TOPIC) || name.ends_with("-delete"))
        .collect()
}

fn until_no_folder(cluster: &Cluster, id: i32) {
    until(&format!("no folder on {id}"), || {
        folders(cluster, id).is_empty().then_some(())
    });
}

#[test]
fn a_deleted_topic_leaves_no_folder_and_another_may_have_its_name() {
    let mut cluster = Cluster::start(1, 3, FLUSHED, &[]);
    create(&cluster, &[0, 1, 2]);
    until_isr(&cluster, &[0, 1, 2]);
    append(&cluster, "old");
    let old = ask(&cluster, async |it| it.describe_topic_partitions(TOPIC).await).unwrap();
    cluster.kill(2);
    let gone = [ErrorCode::NONE, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION];
    until_answered(&cluster, "the deletion", &gone, async |it| {
        it.delete_topic(TOPIC, WITHIN).await
    });
    until_no_folder(&cluster, 0);
    until_no_folder(&cluster, 1);
    assert_eq!(folders(&cluster, 2), ["night-0"], "it was away");
    // The one that was away comes back to a topic of the same name.
    create(&cluster, &[0, 1]);
    append(&cluster, "new");
    cluster.start_node(2);
    until_no_folder(&cluster, 2);
    let new = ask(&cluster, async |it| it.describe_topic_partitions(TOPIC).await).unwrap();
    assert_ne!(new.id, old.id);
    assert_eq!(read_all(&cluster), ["new"]);
    // And so does everybody.
    for id in [0, 1, 2] {
        cluster.kill(id);
        cluster.start_node(id);
    }
    until_isr(&cluster, &[0, 1]);
    assert_eq!(read_all(&cluster), ["new"]);
}

#[test]
fn a_topic_grows_and_its_configuration_changes_under_its_leader() {
    let mut cluster = Cluster::start(1, 2, FLUSHED, &[]);
    create(&cluster, &[0, 1]);
    until_isr(&cluster, &[0, 1]);
    let growth = CreatePartitions {
        topic: TOPIC.into(),
        count: 3,
        assignment: None,
        timeout: WITHIN,
    };
    // INVALID_PARTITIONS: it has them already.
    let grown = [ErrorCode::NONE, ErrorCode(37)];
    until_answered(&cluster, "the growth", &grown, async |it| {
        it.create_partitions(&growth).await
    });
    until("three partitions that lead", || {
        let partitions = described(&cluster)?;
        let leads = partitions.len() == 3 && partitions.iter().all(|it| it.leader >= 0 && it.isr.len() == 2);
        leads.then_some(())
    });
    let resource = ConfigResource::Topic(TOPIC.into());
    let set = |value: Option<&str>| {
        let configs = BTreeMap::from([(MIN_ISR.to_owned(), value.map(str::to_owned))]);
        until_answered(&cluster, "the configuration", &[ErrorCode::NONE], async |it| {
            it.alter_configs(&resource, &configs).await
        });
    };
    append(&cluster, "a");
    let configured = || {
        let described = ask(&cluster, async |it| it.describe_configs(&resource).await)?;
        let config = described.configs.get(MIN_ISR)?.clone();
        Some((config.value?, config.is_own))
    };
    set(Some("2"));
    until("the new value", || {
        (configured()? == ("2".into(), true)).then_some(())
    });
    set(None);
    until("the default", || {
        (configured()? == ("1".into(), false)).then_some(())
    });
    set(Some("2"));
    cluster.kill(1);
    until("the leader alone", || (first(&cluster)?.isr == [0]).then_some(()));
    assert_eq!(produce(&cluster, "b"), Some(19), "NOT_ENOUGH_REPLICAS");
    assert_eq!(first(&cluster).unwrap().elr, Some(vec![1]));
    let configs = BTreeMap::from([(MIN_ISR.to_owned(), Some("1".to_owned()))]);
    until_answered(&cluster, "the configuration", &[ErrorCode::NONE], async |it| {
        it.alter_configs(&resource, &configs).await
    });
    append(&cluster, "c");
    assert_eq!(
        first(&cluster).unwrap().elr,
        Some(vec![]),
        "1 has not got all records"
    );
    let unknown = ask(&cluster, async |it| {
        it.describe_configs(&ConfigResource::Topic("none".into())).await
    });
    assert_eq!(unknown.unwrap().error, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
}

#[test]
fn leaders_are_elected_as_asked() {
    let mut cluster = Cluster::start(1, 3, FLUSHED, &[]);
    create(&cluster, &[1, 2]);
    until_isr(&cluster, &[1, 2]);
    append(&cluster, "a");
    cluster.kill(1);
    until_isr(&cluster, &[2]);
    cluster.start_node(1);
    let before = until_isr(&cluster, &[1, 2]);
    assert_eq!(before.leader, 2);
    // ELECTION_NOT_NEEDED
    let elected = [ErrorCode::NONE, ErrorCode(84)];
    until_answered(&cluster, "the preferred election", &elected, async |it| {
        it.elect_leader(Election::Preferred, TOPIC, 0, WITHIN).await
    });
    let after = until("1 leads", || first(&cluster).filter(|it| it.leader == 1));
    assert_eq!(after.leader_epoch, before.leader_epoch + 1);
    // 1 alone is in sync, and goes; 2 lacks what it had last.
    cluster.kill(2);
    until_isr(&cluster, &[1]);
    append(&cluster, "b");
    cluster.kill(1);
    until("nobody leads", || first(&cluster).filter(|it| it.leader == -1));
    cluster.start_node(2);
    until("2 is there", || {
        let about = ask(&cluster, async |it| it.describe_cluster().await)?;
        let there = |broker: &client::calls::DescribedBroker| broker.node == 2 && !broker.fenced;
        about.brokers.iter().any(there).then_some(())
    });
    assert_eq!(first(&cluster).unwrap().leader, -1);
    until_answered(&cluster, "the unclean election", &elected, async |it| {
        it.elect_leader(Election::Unclean, TOPIC, 0, WITHIN).await
    });
    until_isr(&cluster, &[2]);
    assert_eq!(read_all(&cluster), ["a"]);
}

#[test]
fn a_partition_moves_and_a_move_is_cancelled() {
    let mut cluster = Cluster::start(1, 3, FLUSHED, &[]);
    create(&cluster, &[0]);
    append(&cluster, "a");
    let move_to = |cluster: &Cluster, replicas: Option<&[i32]>, accepted: &[ErrorCode]| {
        until_answered(cluster, "the reassignment", accepted, async |it| {
            it.reassign(TOPIC, 0, replicas, WITHIN).await
        });
    };
    let ongoing = |cluster: &Cluster| {
        let list = ask(cluster, async |it| it.list_reassignments().await)?;
        list.error.is_none().then_some(list.ongoing)
    };
    move_to(&cluster, Some(&[1, 2]), &[ErrorCode::NONE]);
    let moved = until_isr(&cluster, &[1, 2]);
    assert_eq!((moved.replicas, moved.leader), (vec![1, 2], 1));
    assert_eq!(until("the list", || ongoing(&cluster)), []);
    until_no_folder(&cluster, 0);
    append(&cluster, "b");
    // Back to where it was, and with a follower that is not there.
    cluster.kill(0);
    move_to(&cluster, Some(&[0, 1]), &[ErrorCode::NONE]);
    let under_way = until("the list", || ongoing(&cluster).filter(|list| !list.is_empty()));
    assert_eq!(
        (&under_way[0].adding[..], &under_way[0].removing[..]),
        (&[0][..], &[2][..])
    );
    append(&cluster, "c");
    // NO_REASSIGNMENT_IN_PROGRESS
    move_to(&cluster, None, &[ErrorCode::NONE, ErrorCode(85)]);
    let back = until("the list is empty", || {
        ongoing(&cluster).filter(Vec::is_empty)?;
        first(&cluster)
    });
    assert_eq!(back.replicas, [1, 2]);
    cluster.start_node(0);
    append(&cluster, "d");
    assert_eq!(read_all(&cluster), ["a", "b", "c", "d"]);
}

#[test]
fn a_broker_is_unregistered_and_comes_back_and_a_feature_goes_down_and_up() {
    let mut cluster = Cluster::start(1, 3, FLUSHED, &[]);
    create(&cluster, &[0, 1, 2]);
    until_isr(&cluster, &[0, 1, 2]);
    append(&cluster, "a");
    let level = |cluster: &Cluster| {
        let versions = ask(cluster, async |it| it.api_versions().await)?;
        Some(versions.features.get(ELR).map_or(0, |feature| feature.finalised))
    };
    let set_level = |cluster: &Cluster, to: i16, change: FeatureChange| {
        until_answered(cluster, "the level", &[ErrorCode::NONE], async |it| {
            it.update_feature(ELR, to, change, WITHIN).await
        });
        until("the level is seen", || (level(cluster)? == to).then_some(()));
    };
    assert_eq!(level(&cluster), Some(1));
    let refused = ask(&cluster, async |it| {
        it.update_feature(ELR, 0, FeatureChange::Raise, WITHIN).await
    });
    assert_eq!(refused.unwrap().error, ErrorCode(95), "INVALID_UPDATE_VERSION");
    set_level(&cluster, 0, FeatureChange::Lower);
    append(&cluster, "b");
    set_level(&cluster, 1, FeatureChange::Raise);
    let registered = |cluster: &Cluster| {
        let about = ask(cluster, async |it| it.describe_cluster().await)?;
        Some(about.brokers.iter().map(|broker| broker.node).collect::<Vec<_>>())
    };
    // BROKER_ID_NOT_REGISTERED
    let removed = [ErrorCode::NONE, ErrorCode(102)];
    cluster.kill(2);
    until_answered(&cluster, "the removal", &removed, async |it| {
        it.unregister_broker(2).await
    });
    until("two are registered", || {
        (registered(&cluster)? == [0, 1]).then_some(())
    });
    append(&cluster, "c");
    cluster.start_node(2);
    until_isr(&cluster, &[0, 1, 2]);
    // One that lives registers anew by itself.
    let answer = ask(&cluster, async |it| it.unregister_broker(1).await).unwrap();
    assert!(answer.error.is_none(), "{answer:?}");
    until_isr(&cluster, &[0, 2]);
    until_isr(&cluster, &[0, 1, 2]);
    append(&cluster, "d");
    assert_eq!(read_all(&cluster), ["a", "b", "c", "d"]);
}
