//! Names that somebody mistyped.

/// The known names nearest to a wrong one: at most three, the nearest first.
pub fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    const SHOWN: usize = 3;
    let mut ranked: Vec<_> = known
        .into_iter()
        .map(|name| (strsim::levenshtein(wrong, name), name))
        .collect();
    ranked.sort();
    ranked.into_iter().take(SHOWN).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_come_first() {
        let known = [
            "calm",
            "last-replica-crash",
            "last-replica-standing",
            "follower-power-cut",
        ];
        assert_eq!(nearest("last-replica-standin", known)[0], "last-replica-standing");
        assert_eq!(nearest("clam", known)[0], "calm");
        assert_eq!(nearest("", known).len(), 3);
    }
}
