//! A setting of a topic or of brokers is changed while the cluster is written to, and set back.

use crate::hands::{self, Found, Look, View, Wish};
use crate::links::number;
use crate::{About, Doing, Fault, Field, Kind, Measured, NotTaken, Order, Param, Program, worst};
use client::calls::ConfigResource;
use clusters::Capability;
use std::collections::BTreeMap;

/// The fault: any setting.
pub struct SetConfig;

/// The fault: how many replicas must be in sync.
pub struct SetMinIsr;

const MIN_ISR: &str = "min.insync.replicas";

const HEALS: &str = "it has what it had of its own before, or nothing; of several that overlap, the one that is healed last decides";

/// What the first is.
const ANY: About = About {
    name: "set-config",
    text: "a setting that can be changed while the cluster runs is set: of the topic, of each target, or of all brokers together",
    needs: Capability::Client,
    params: &[
        Param {
            name: "of",
            text: "whose: the topic's; that of all brokers together; each target's own, which must be brokers",
            kind: Kind::Word(&["topic", "all-brokers", "broker"]),
        },
        hands::TOPIC,
        Param {
            name: "key",
            text: "the setting, as the system names it",
            kind: Kind::Text(MIN_ISR),
        },
        Param {
            name: "value",
            text: "its value; an empty one removes what is set there",
            kind: Kind::Text("1"),
        },
    ],
    heals: HEALS,
    measures: &[hands::ASKED, hands::SEEN],
    program: Program::GoesOn,
};

/// What the second is.
const OF_MIN_ISR: About = About {
    name: "set-min-isr",
    text: "the topic's min.insync.replicas is set while it is written to; the targets are not looked at",
    needs: Capability::Client,
    params: &[
        hands::TOPIC,
        number("replicas", "how many must be in sync", (1.0, 100.0), 1.0),
    ],
    heals: HEALS,
    measures: &[
        hands::ASKED,
        hands::SEEN,
        ("before_replicas", "what counted before"),
    ],
    program: Program::GoesOn,
};

/// What orders found: of each resource its own value of the setting, or none.
static FOUND: Found<Vec<Own>> = Found::new();

/// A resource, and what it had of its own.
struct Own {
    resource: ConfigResource,
    value: Option<String>,
}

impl Fault for SetConfig {
    fn about(&self) -> &'static About {
        &ANY
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let topic = || ConfigResource::Topic(order.params.text("topic").to_owned());
            let resources = match order.params.text("of") {
                "broker" => order
                    .nodes
                    .iter()
                    .map(|node| ConfigResource::Broker(*node))
                    .collect(),
                "all-brokers" => vec![ConfigResource::AllBrokers],
                _ => vec![topic()],
            };
            let value = Some(order.params.text("value").to_owned()).filter(|value| !value.is_empty());
            let (measured, _) = put_in(field, order, order.params.text("key"), resources, value).await?;
            Ok(measured)
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(set_back(field, order, order.params.text("key")))
    }
}

impl Fault for SetMinIsr {
    fn about(&self) -> &'static About {
        &OF_MIN_ISR
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let value = order.params.number("replicas").round().to_string();
            let resource = ConfigResource::Topic(order.params.text("topic").to_owned());
            let (mut measured, before) = put_in(field, order, MIN_ISR, vec![resource], Some(value)).await?;
            let before = before.and_then(|before| before.parse().ok());
            measured.extend(before.map(|before| ("before_replicas".into(), before)));
            Ok(measured)
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(set_back(field, order, MIN_ISR))
    }
}

/// Sets a setting of each resource, and keeps what each had; what counted for the last of them before.
async fn put_in(
    field: Field<'_>,
    order: &Order,
    key: &str,
    resources: Vec<ConfigResource>,
    value: Option<String>,
) -> Result<(Measured, Option<String>), NotTaken> {
    let known = |view: &View| match view {
        View::Config(own, all) => Some((own.get(key).cloned(), all.get(key).cloned())),
        _ => None,
    };
    let (mut found, mut counted) = (Vec::new(), None);
    for resource in resources {
        let what = format!("the setting {key}");
        let look = Look::Config(&resource);
        let ((own, all), _) = hands::seen(field.cluster, look, &what, known).await?;
        counted = all;
        found.push(Own { resource, value: own });
    }
    let resources: Vec<ConfigResource> = found.iter().map(|own| own.resource.clone()).collect();
    FOUND.keep(order, found);
    let mut measured = Vec::new();
    for resource in resources {
        measured.push(set(field, key, resource, value.clone()).await?);
    }
    Ok((worst(measured), counted))
}

async fn set_back(field: Field<'_>, order: &Order, key: &str) -> Result<Measured, NotTaken> {
    let mut measured = Vec::new();
    for own in FOUND.take(order)? {
        measured.push(set(field, key, own.resource, own.value).await?);
    }
    Ok(worst(measured))
}

async fn set(
    field: Field<'_>,
    key: &str,
    resource: ConfigResource,
    value: Option<String>,
) -> Result<Measured, NotTaken> {
    let configs = BTreeMap::from([(key.to_owned(), value.clone())]);
    let asked_ms = hands::done(field.cluster, &Wish::Configure(resource.clone(), configs)).await?;
    let is_so = |view: &View| match view {
        View::Config(own, _) => (own.get(key) == value.as_ref()).then_some(()),
        _ => None,
    };
    let what = format!("{key} of {value:?}");
    let ((), seen_ms) = hands::seen(field.cluster, Look::Config(&resource), &what, is_so).await?;
    Ok(Measured::from([
        ("asked_ms".into(), asked_ms),
        ("seen_ms".into(), seen_ms),
    ]))
}
