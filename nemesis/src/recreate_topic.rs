//! A topic is deleted, and another made under its name, with the same replicas and settings: its records are gone, as
//! they were asked to be, and whoever holds on to the old topic's id finds nothing.

use crate::hands::{self, Look, View, Wish};
use crate::{About, Doing, Fault, Field, Measured, NotTaken, Order, Program};
use client::TopicId;
use client::calls::ConfigResource;
use clusters::Capability;

/// The fault.
pub struct RecreateTopic;

/// What it is.
const ABOUT: About = About {
    name: "recreate-topic",
    text: "the topic is deleted, all its records with it, and one of the same name, replicas and settings is made, with another id; the targets are not looked at",
    needs: Capability::Client,
    params: &[hands::TOPIC],
    heals: "nothing can be undone: the new topic's partitions have leaders",
    measures: &[
        hands::ASKED,
        hands::SEEN,
        (
            "deleted_ms",
            "from the first request until a broker knew no such topic",
        ),
    ],
    program: Program::GoesOn,
};

impl Fault for RecreateTopic {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let topic = order.params.text("topic");
            let old = hands::topic(field.cluster, topic).await?;
            let replicas: Vec<_> = old.partitions.iter().map(|it| it.replicas.clone()).collect();
            let own = |view: &View| match view {
                View::Config(own, _) => Some(own.clone()),
                _ => None,
            };
            let resource = ConfigResource::Topic(topic.to_owned());
            let (configs, _) =
                hands::seen(field.cluster, Look::Config(&resource), "the settings", own).await?;
            let deleting_ms = hands::done(field.cluster, &Wish::Delete(topic.to_owned())).await?;
            let is_gone = |view: &View| match view {
                View::Topic(found) => (found.id != old.id).then_some(()),
                _ => None,
            };
            let ((), gone_ms) = hands::seen(field.cluster, Look::Topic(topic), "its end", is_gone).await?;
            let wish = Wish::Create(topic.to_owned(), replicas, configs);
            let asked_ms = hands::done(field.cluster, &wish).await?;
            let mut measured = led(field, topic, old.id).await?;
            measured.insert("asked_ms".into(), deleting_ms + asked_ms);
            measured.insert("deleted_ms".into(), deleting_ms + gone_ms);
            Ok(measured)
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(led(field, order.params.text("topic"), TopicId::nil()))
    }
}

/// Waits until a topic of the name, but of another id, has a leader for each partition.
async fn led(field: Field<'_>, topic: &str, old: TopicId) -> Result<Measured, NotTaken> {
    let found = |view: &View| match view {
        View::Topic(topic) => {
            let led = topic.partitions.iter().all(|partition| partition.leader >= 0);
            (topic.error.is_none() && topic.id != old && led).then_some(())
        }
        _ => None,
    };
    let what = format!("another topic {topic:?} with leaders");
    let ((), seen_ms) = hands::seen(field.cluster, Look::Topic(topic), &what, found).await?;
    Ok(Measured::from([("seen_ms".into(), seen_ms)]))
}
