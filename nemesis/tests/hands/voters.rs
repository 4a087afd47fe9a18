//! Voters that come and go, in a cluster where they may.

use crate::faults::{Night, order};
use std::collections::BTreeSet;

impl Night {
    async fn voters(&self) -> Option<BTreeSet<i32>> {
        let quorum = self.ask(async |it| it.describe_quorum().await).await?;
        let voters = quorum.voters.iter().map(|it| it.node).collect();
        (quorum.error.is_none() && quorum.leader >= 0).then_some(voters)
    }

    async fn until_voters(&self, wanted: &[i32]) {
        let wanted = wanted.iter().copied().collect();
        self.until_so("voters", wanted, async || self.voters().await)
            .await;
    }

    /// A voter goes and comes back: one that follows, and the active one.
    pub async fn voters_are_removed_and_added_again(&self) {
        self.until_voters(&[100, 101, 102]).await;
        let quorum = self.ask(async |it| it.describe_quorum().await).await.unwrap();
        let active = quorum.leader;
        let passive = [100, 101, 102].into_iter().find(|id| *id != active).unwrap();
        for (id, node) in [(60, passive), (61, active)] {
            let order = order("remove-voter", id, &[node], &[]);
            let measured = self.inject("remove-voter", &order).await.unwrap();
            assert_eq!(measured["voters"], 2.0);
            let left: Vec<i32> = [100, 101, 102].into_iter().filter(|id| *id != node).collect();
            self.until_voters(&left).await;
            let measured = self.heal("remove-voter", &order).await;
            assert_eq!(measured["voters"], 3.0);
            self.until_voters(&[100, 101, 102]).await;
        }
        // Not one of them.
        let broker = order("remove-voter", 62, &[0], &[]);
        let why = self.inject("remove-voter", &broker).await.unwrap_err();
        assert!(why.to_string().contains("the voters are"), "{why}");
    }

    pub async fn a_new_controller_votes_and_goes(&self) {
        for id in [63, 64] {
            let joins = order("add-voter", id, &[100], &[]);
            let measured = self.inject("add-voter", &joins).await.unwrap();
            assert_eq!(measured["voters"], 4.0);
            self.until_voters(&[100, 101, 102, 103]).await;
            self.heal("add-voter", &joins).await;
            self.until_voters(&[100, 101, 102]).await;
        }
    }

    pub async fn fixed_voters_stay(&self) {
        for name in ["remove-voter", "add-voter"] {
            let why = self
                .inject(name, &order(name, 65, &[100], &[]))
                .await
                .unwrap_err();
            assert!(why.to_string().contains("kraft.version"), "{name}: {why}");
        }
    }
}
