//! Names that somebody mistyped.

/// The known names nearest to a wrong one: at most three, the nearest first.
pub fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    const SHOWN: usize = 3;
    let mut ranked: Vec<_> = known
        .into_iter()
        .map(|name| (distance(wrong, name), name))
        .collect();
    ranked.sort();
    ranked.into_iter().take(SHOWN).map(|(_, name)| name).collect()
}

/// Levenshtein's distance in characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
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
