//! Brokers with several listeners: whoever asks is told the addresses of the listener that he came in by.

mod support;

use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{DescribeClusterRequest, MetadataRequest, MetadataResponse};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use support::client::{Client, name};
use support::{Cluster, until};

const TOPIC: &str = "night";
/// The error that says so.
const LISTENER_NOT_FOUND: i16 = 72;
/// What older versions say instead.
const LEADER_NOT_AVAILABLE: i16 = 5;

type Addresses = BTreeMap<i32, SocketAddr>;

fn metadata(at: SocketAddr, version: i16) -> Option<MetadataResponse> {
    let topic = MetadataRequestTopic::default().with_name(Some(name(TOPIC)));
    let request = MetadataRequest::default().with_topics(Some(vec![topic]));
    Client::connect(at)?.call(version, &request)
}

fn told(at: SocketAddr) -> Option<Addresses> {
    let brokers = metadata(at, 12)?.brokers.into_iter();
    let told = |broker: kafka_protocol::messages::metadata_response::MetadataResponseBroker| {
        let address = SocketAddr::new(broker.host.parse().ok()?, broker.port as u16);
        Some((broker.node_id.0, address))
    };
    brokers.map(told).collect()
}

#[test]
fn who_asks_is_told_the_listener_that_he_came_in_by() {
    // Broker 2 has none for others than nodes.
    let cluster = Cluster::start_with_second(1, 3, &[0, 1]);
    let all = |second: bool| -> Addresses {
        let ids = 0..if second { 2 } else { 3 };
        ids.map(|id| {
            (
                id,
                if second {
                    cluster.second_address(id).unwrap()
                } else {
                    cluster.address(id)
                },
            )
        })
        .collect()
    };
    let (outside, inside) = (cluster.second_address(0).unwrap(), cluster.address(0));
    until("all brokers, as nodes reach them", || {
        (told(inside)? == all(false)).then_some(())
    });
    until("those that others reach", || {
        (told(outside)? == all(true)).then_some(())
    });
    let request = DescribeClusterRequest::default().with_endpoint_type(1);
    let described = Client::connect(outside).unwrap().call(1, &request).unwrap();
    let ports: Vec<i32> = described.brokers.iter().map(|broker| broker.port).collect();
    assert_eq!(
        ports,
        all(true)
            .values()
            .map(|address| i32::from(address.port()))
            .collect::<Vec<_>>()
    );

    // Its leader cannot be reached from there, and that is said; nodes reach it all the same.
    until("the topic", || {
        let (error, _) = Client::connect(outside)?.create_topic(TOPIC, &[2, 0], &[])?;
        (error == 0 || error == 36).then_some(())
    });
    let leader = |at, version| {
        let found = metadata(at, version)?.topics.first()?.partitions.first()?.clone();
        Some((found.leader_id.0, found.error_code))
    };
    until("the leader", || (leader(inside, 12)? == (2, 0)).then_some(()));
    assert_eq!(leader(outside, 12), Some((-1, LISTENER_NOT_FOUND)));
    assert_eq!(leader(outside, 5), Some((-1, LEADER_NOT_AVAILABLE)));
    let described = Client::connect(outside).unwrap().describe(TOPIC).unwrap();
    assert_eq!(
        (described.leader_id.0, described.error_code),
        (-1, LISTENER_NOT_FOUND)
    );
    // The follower, which has both, fetches from it by the listener of nodes.
    until("both in sync", || {
        let described = Client::connect(inside)?.describe(TOPIC)?;
        (described.isr_nodes.len() == 2).then_some(())
    });
}
