//! Requests without an answer: whether a byte of them left decides what they mean.

use super::calls::{fetch, produce};
use super::{PATIENT, SHORT, TOPIC, connect, leader, options, topic};
use crate::fake::Reaction;
use crate::outcome::{ROWS, of_code, of_error};
use crate::{Cause, Connection, ErrorCode, Outcome, SentBytes};
use std::time::Duration;

/// An address where nobody listens.
async fn nobody() -> std::net::SocketAddr {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    listener.local_addr().unwrap()
}

#[tokio::test]
async fn a_refused_connection_sent_nothing() {
    let error = Connection::connect(nobody().await, options(PATIENT))
        .await
        .unwrap_err();
    assert!(matches!(error.cause, Cause::Refused(_)), "{error}");
    assert_eq!((error.sent, of_error(&error)), (SentBytes::No, Outcome::Fail));
}

#[tokio::test]
async fn a_connection_that_is_not_greeted_sent_nothing_of_the_operation() {
    let fake = leader().await;
    for reaction in [Reaction::Silence, Reaction::Disconnect, Reaction::Garbage] {
        fake.change(|state| state.react(18, [reaction]));
        let error = Connection::connect(fake.address(), options(SHORT))
            .await
            .unwrap_err();
        assert_eq!(error.sent, SentBytes::No, "{error}");
    }
}

#[tokio::test]
async fn what_broke_after_bytes_left_may_have_happened() {
    let fake = leader().await;
    for (reaction, appended) in [
        (Reaction::Disconnect, 0),
        (Reaction::Silence, 0),
        (Reaction::Garbage, 0),
        (Reaction::DoThenDisconnect, 1),
    ] {
        fake.change(|state| state.react(0, [reaction]));
        let mut connection = connect(&fake, PATIENT).await;
        let error = connection.produce(&produce(topic())).await.unwrap_err();
        assert_eq!(
            (error.sent, of_error(&error)),
            (SentBytes::Yes, Outcome::Info),
            "{error}"
        );
        assert_eq!(fake.change(|state| state.log(TOPIC, 0).end()), appended);
        // A late answer must not be taken for another request's.
        let closed = connection.produce(&produce(topic())).await.unwrap_err();
        assert!(matches!(
            (closed.sent, closed.cause),
            (SentBytes::No, Cause::Closed)
        ));
        assert!(!connection.is_open());
    }
}

#[tokio::test]
async fn a_call_that_is_given_up_closes_its_connection() {
    let fake = leader().await;
    fake.change(|state| state.react(1, [Reaction::Silence]));
    let mut connection = connect(&fake, PATIENT).await;
    let given_up =
        tokio::time::timeout(Duration::from_millis(50), connection.fetch(&fetch(topic(), 0))).await;
    assert!(given_up.is_err());
    assert!(!connection.is_open());
}

#[tokio::test]
async fn a_connection_that_the_server_closed_before_sends_nothing() {
    let fake = leader().await;
    let mut connection = connect(&fake, PATIENT).await;
    connection.produce(&produce(topic())).await.unwrap();
    assert!(connection.is_open());
    drop(fake);
    let closed = async {
        while connection.is_open() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENT, closed)
        .await
        .expect("the end of the connection is not seen");
    let error = connection.produce(&produce(topic())).await.unwrap_err();
    assert!(matches!(error.cause, Cause::Disconnected(_)), "{error}");
    assert_eq!(error.sent, SentBytes::No);
}

#[tokio::test]
async fn no_common_version_sent_nothing() {
    let fake = leader().await;
    fake.change(|state| state.at_most.insert(0, 2));
    let mut connection = connect(&fake, PATIENT).await;
    let error = connection.produce(&produce(topic())).await.unwrap_err();
    assert!(matches!(error.cause, Cause::Unsupported { .. }), "{error}");
    assert_eq!(error.sent, SentBytes::No);
    assert!(connection.is_open(), "nothing happened to the connection");
}

#[tokio::test]
async fn every_row_of_the_table_arrives_as_its_code() {
    let fake = leader().await;
    let mut connection = connect(&fake, PATIENT).await;
    for row in ROWS.iter().filter(|row| !row.code.is_none()) {
        fake.change(|state| {
            state.react(
                0,
                [Reaction::Refuse(row.code.0), Reaction::DoThenRefuse(row.code.0)],
            )
        });
        for _ in 0..2 {
            let produced = connection.produce(&produce(topic())).await.unwrap();
            assert_eq!((produced.error, produced.offset), (row.code, None));
            assert_eq!(of_code(produced.error), row.outcome, "{}", row.code);
        }
    }
    assert_eq!(
        connection.produce(&produce(topic())).await.unwrap().error,
        ErrorCode::NONE
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_device_that_is_not_there_is_named() {
    let fake = leader().await;
    let options = crate::Options {
        bind_device: Some("no-such-dev".into()),
        ..options(PATIENT)
    };
    let error = Connection::connect(fake.address(), options).await.unwrap_err();
    assert!(error.to_string().contains("no-such-dev"), "{error}");
    assert_eq!(error.sent, SentBytes::No);
}
