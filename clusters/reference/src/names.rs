//! Names that somebody mistyped.

/// How many names are shown in place of an unknown one.
const SHOWN: usize = 3;

/// The known names nearest to a wrong one, the nearest first: three at most.
pub fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut ranked: Vec<_> = known
        .into_iter()
        .map(|name| (strsim::levenshtein(wrong, name), name))
        .collect();
    ranked.sort_unstable();
    ranked.into_iter().take(SHOWN).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_three_come_first() {
        let known = ["quorum-no-pre-vote", "quorum-no-check-quorum", "a", "b"];
        assert_eq!(nearest("quorum-no-prevote", known)[0], "quorum-no-pre-vote");
        assert_eq!(nearest("", known).len(), SHOWN);
        assert_eq!(nearest("x", []), Vec::<&str>::new());
    }
}
