//! Finding the active controller.

use super::*;

#[tokio::test]
async fn a_leader_that_hangs_is_left_for_the_next() {
    let fakes = controllers(3).await;
    for fake in &fakes {
        log(fake, |log| append(log, &[feature(1)]));
    }
    let watch = Watch::start(&fakes);
    watch.until(|view| view.applied == 1).await;
    fakes[0].change(|state| state.hangs = true);
    lead(&fakes[1..], 103, 5);
    log(&fakes[2], |log| append(log, &[feature(2)]));
    watch.until(|view| view.applied == 2).await;
    assert_eq!(watch.told(), ["elr=1@0", "elr=2@1"]);
}

#[tokio::test]
async fn a_leader_that_hangs_and_comes_back_is_followed_on() {
    let fakes = controllers(2).await;
    log(&fakes[0], |log| append(log, &[feature(1)]));
    let watch = Watch::start(&fakes);
    watch.until(|view| view.applied == 1).await;
    fakes[0].change(|state| state.hangs = true);
    watch.until(|view| view.trouble.is_some()).await;
    log(&fakes[0], |log| append(log, &[feature(2)]));
    fakes[0].change(|state| state.hangs = false);
    watch.until(|view| view.applied == 2).await;
    assert_eq!(watch.told(), ["elr=1@0", "elr=2@1"]);
}

/// An observer that knows only the first of two controllers, while the second leads.
async fn half_known(is_named: bool) -> (Vec<Fake>, Watch) {
    let fakes = controllers(2).await;
    for fake in &fakes {
        log(fake, |log| append(log, &[feature(1)]));
    }
    let watch = Watch::start(&fakes[..1]);
    watch.until(|view| view.applied == 1).await;
    if is_named {
        let address = fakes[1].address();
        fakes[0].change(|state| state.voters.insert(102, (TopicId::from_u128(2), address)));
    }
    lead(&fakes, 102, 5);
    log(&fakes[1], |log| append(log, &[feature(2)]));
    (fakes, watch)
}

#[tokio::test]
async fn a_controller_that_joined_later_is_found_by_the_address_in_an_answer() {
    let (_fakes, watch) = half_known(true).await;
    let view = watch
        .until(|view| view.applied == 2 && view.quorum.epoch == 5)
        .await;
    assert_eq!(view.quorum.leader, 102, "it is asked for itself, too");
}

#[tokio::test]
async fn a_leader_without_an_address_is_trouble() {
    let (_fakes, watch) = half_known(false).await;
    let named = |view: &ClusterView| {
        let trouble = view.trouble.as_deref().unwrap_or_default();
        trouble.contains("controller 102 leads, and no address")
    };
    watch.until(named).await;
    assert_eq!(watch.told(), ["elr=1@0"]);
}
