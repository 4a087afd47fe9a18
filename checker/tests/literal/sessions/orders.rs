//! All orders of a few things.

/// All permutations of `0..n`, in lexicographic order.
pub fn permutations(n: usize) -> impl Iterator<Item = Vec<usize>> {
    let mut next = Some((0..n).collect::<Vec<usize>>());
    std::iter::from_fn(move || {
        let current = next.take()?;
        next = following(&current);
        Some(current)
    })
}

fn following(current: &[usize]) -> Option<Vec<usize>> {
    let mut order = current.to_vec();
    let rise = order.windows(2).rposition(|pair| pair[0] < pair[1])?;
    let swap = order.iter().rposition(|one| *one > order[rise])?;
    order.swap(rise, swap);
    order[rise + 1..].reverse();
    Some(order)
}
