//! Tests against a fake node.

mod calls;
mod failures;
mod leaders;
mod observer;

use crate::calls::TopicRef;
use crate::fake::Fake;
use crate::ids::TopicId;
use crate::{Connection, Options};
use std::time::Duration;

/// Long enough for any answer on a busy machine.
const PATIENT: Duration = Duration::from_secs(10);
/// Short, for what must not be answered.
const SHORT: Duration = Duration::from_millis(100);

const TOPIC: &str = "orders";

fn topic_id() -> TopicId {
    TopicId::from_u128(77)
}

fn topic() -> TopicRef {
    TopicRef {
        name: TOPIC.into(),
        id: topic_id(),
    }
}

fn options(limit: Duration) -> Options {
    Options {
        connect_timeout: PATIENT,
        request_timeout: limit,
        ..Options::default()
    }
}

/// A node 1 that leads the topic's partition 0 in epoch 3.
async fn leader() -> Fake {
    let fake = Fake::start(1).await.unwrap();
    fake.change(|state| {
        let log = state.log(TOPIC, 0);
        (log.id, log.leader, log.leader_epoch, log.isr) = (topic_id(), 1, 3, vec![1, 2]);
    });
    fake
}

async fn connect(fake: &Fake, limit: Duration) -> Connection {
    Connection::connect(fake.address(), options(limit)).await.unwrap()
}
