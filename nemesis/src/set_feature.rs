//! A feature's level is raised or lowered while the cluster works, and set back.

use crate::hands::{self, Found, Look, View, Wish};
use crate::links::number;
use crate::{About, Doing, Fault, Field, Kind, Measured, NotTaken, Order, Param, Program};
use client::calls::FeatureChange;
use clusters::Capability;

/// The fault.
pub struct SetFeature;

/// What it is.
const ABOUT: About = About {
    name: "set-feature",
    text: "a feature's level is raised or lowered; the targets are not looked at",
    needs: Capability::Client,
    params: &[
        Param {
            name: "feature",
            text: "the feature",
            kind: Kind::Text("eligible.leader.replicas.version"),
        },
        number("level", "its level; 0 switches it off", (0.0, 100.0), 0.0),
    ],
    heals: "the feature has the level that it had before; of several that overlap, the one that is healed last decides",
    measures: &[
        hands::ASKED,
        hands::SEEN,
        ("before_level", "the level that it had before"),
    ],
    program: Program::GoesOn,
};

/// The levels that orders found.
static FOUND: Found<i16> = Found::new();

impl Fault for SetFeature {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inject<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move {
            let feature = order.params.text("feature");
            let level = level(field, feature).await?;
            FOUND.keep(order, level);
            // A whole number within bounds.
            let mut measured = set(field, feature, order.params.number("level") as i16).await?;
            measured.insert("before_level".into(), f64::from(level));
            Ok(measured)
        })
    }

    fn heal<'a>(&'a self, field: Field<'a>, order: &'a Order) -> Doing<'a> {
        Box::pin(async move { set(field, order.params.text("feature"), FOUND.take(order)?).await })
    }
}

async fn level(field: Field<'_>, feature: &str) -> Result<i16, NotTaken> {
    let known = |view: &View| match view {
        View::Levels(levels) => Some(levels.get(feature).copied().unwrap_or(0)),
        _ => None,
    };
    Ok(hands::seen(field.cluster, Look::Levels, feature, known).await?.0)
}

async fn set(field: Field<'_>, feature: &str, level: i16) -> Result<Measured, NotTaken> {
    let change = match self::level(field, feature).await? > level {
        true => FeatureChange::Lower,
        false => FeatureChange::Raise,
    };
    let asked_ms = hands::done(field.cluster, &Wish::Level(feature.to_owned(), level, change)).await?;
    let is_so = |view: &View| match view {
        View::Levels(levels) => (levels.get(feature).copied().unwrap_or(0) == level).then_some(()),
        _ => None,
    };
    let what = format!("{feature} at level {level}");
    let ((), seen_ms) = hands::seen(field.cluster, Look::Levels, &what, is_so).await?;
    Ok(Measured::from([
        ("asked_ms".into(), asked_ms),
        ("seen_ms".into(), seen_ms),
    ]))
}
