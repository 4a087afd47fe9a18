//! `min.insync.replicas` of a topic is changed under its producers, and set back.

use crate::hands::{self, Found, Look, View, Wish};
use crate::links::number;
use crate::{About, Doing, Fault, Field, Measured, NotTaken, Order, Program};
use client::calls::ConfigResource;
use clusters::Capability;
use std::collections::BTreeMap;

/// The fault.
pub struct SetMinIsr;

const KEY: &str = "min.insync.replicas";

/// What it is.
const ABOUT: About = About {
    name: "set-min-isr",
    text: "the topic's min.insync.replicas is set while it is written to; the targets are not looked at",
    needs: Capability::Client,
    params: &[
        hands::TOPIC,
        number("replicas", "how many must be in sync", (1.0, 100.0), 1.0),
    ],
    heals: "the topic has what it had of its own before, or nothing; of several that overlap, the one that is healed last decides",
    measures: &[
        hands::ASKED,
        hands::SEEN,
        ("before_replicas", "what counted before"),
    ],
    program: Program::GoesOn,
};

/// The topics' own values that orders found; none where the topic had none.
static FOUND: Found<Option<String>> = Found::new();

impl Fault for SetMinIsr {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let value = order.params.number("replicas").round().to_string();
            let resource = ConfigResource::Topic(order.params.text("topic").to_owned());
            let known = |view: &View| match view {
                View::Config(own, all) => Some((own.get(KEY).cloned(), all.get(KEY)?.clone())),
                _ => None,
            };
            let what = "the topic's setting";
            let ((own, before), _) = hands::seen(field.cluster, Look::Config(&resource), what, known).await?;
            FOUND.keep(order, own);
            let mut measured = set(field, resource, Some(value)).await?;
            let before = before.parse().unwrap_or_default();
            measured.insert("before_replicas".into(), before);
            Ok(measured)
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let resource = ConfigResource::Topic(order.params.text("topic").to_owned());
            set(field, resource, FOUND.take(order)?).await
        })
    }
}

async fn set(
    field: Field<'_>,
    resource: ConfigResource,
    value: Option<String>,
) -> Result<Measured, NotTaken> {
    let configs = BTreeMap::from([(KEY.to_owned(), value.clone())]);
    let asked_ms = hands::done(field.cluster, &Wish::Configure(resource.clone(), configs)).await?;
    let is_so = |view: &View| match view {
        View::Config(own, _) => (own.get(KEY) == value.as_ref()).then_some(()),
        _ => None,
    };
    let what = format!("{KEY} of {value:?}");
    let ((), seen_ms) = hands::seen(field.cluster, Look::Config(&resource), &what, is_so).await?;
    Ok(Measured::from([
        ("asked_ms".into(), asked_ms),
        ("seen_ms".into(), seen_ms),
    ]))
}
