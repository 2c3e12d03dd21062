//! How many rows fit on members of unequal sizes, and which members take each row.
//!
//! A row is `width` slots on as many members: a tile, or a sector with its copies. The problem is that of dissertation 000 §6.4.2, which solves
//! it as an integer program. The closed form and the peel are wane's, and so is the jump that makes many equal rows at once.

/// The largest D with `sum(min(size, D)) >= width * D`.
pub(crate) fn most(sizes: &[u64], width: u64) -> u64 {
    let fits =
        |d: u64| sizes.iter().map(|size| u128::from(*size.min(&d))).sum::<u128>() >= u128::from(width) * u128::from(d);
    largest(sizes.iter().fold(0u64, |sum, size| sum.saturating_add(*size)) / width, fits)
}

/// The largest number up to `beyond` that fits. Zero does, and whatever is below one that does.
pub(crate) fn largest(beyond: u64, fits: impl Fn(u64) -> bool) -> u64 {
    let (mut least, mut beyond) = (0, beyond.saturating_add(1));
    while least + 1 < beyond {
        let middle = least.midpoint(beyond);
        if fits(middle) { least = middle } else { beyond = middle }
    }
    least
}

/// Which members take each of `rows` rows, `width` of them a row: equal rows that follow each other together. Of the members that may be chosen the
/// first ones are.
///
/// A member that has as much room left as rows are left is critical: the sum of the slack says how many rows may do without one of these.
pub(crate) fn peel(sizes: &[u64], width: u64, rows: u64) -> Vec<(Vec<usize>, u64)> {
    let (mut room, mut left) = (sizes.to_vec(), rows);
    let mut runs: Vec<(Vec<usize>, u64)> = Vec::new();
    while left > 0 {
        let slack = room.iter().map(|room| *room.min(&left)).sum::<u64>() - width * left;
        let is_critical = |member: &usize| room[*member] >= left;
        let mut chosen: Vec<usize> = (0..room.len()).filter(|member| room[*member] > 0).take(width as usize).collect();
        let mut missing: Vec<usize> =
            (0..room.len()).filter(|member| is_critical(member) && !chosen.contains(member)).collect();
        while missing.len() as u64 > slack {
            let spared = chosen.iter().rposition(|member| !is_critical(member)).expect("no more than fit are critical");
            chosen[spared] = missing.remove(0);
            chosen.sort_unstable();
        }
        let full = chosen.iter().map(|member| room[*member]);
        let others = (0..room.len()).filter(|member| !chosen.contains(member) && !is_critical(member));
        let until_critical = others.filter(|member| room[*member] > 0).map(|member| left - room[member]);
        let spared = slack.checked_div(missing.len() as u64).map(|rows| rows.max(1));
        let count = full.chain(until_critical).chain(spared).min().unwrap_or(left).min(left);
        chosen.iter().for_each(|member| room[*member] -= count);
        left -= count;
        match runs.last_mut() {
            Some((members, rows)) if *members == chosen => *rows += count,
            _ => runs.push((chosen, count)),
        }
    }
    runs
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Numbers for random arrays.
    pub(crate) fn random(seed: u64) -> impl FnMut(u64) -> u64 {
        let mut state = seed;
        move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        }
    }

    /// The most rows by trying every choice of members for every row.
    fn exact(sizes: &mut Vec<u64>, width: usize) -> u64 {
        sizes.retain(|size| *size > 0);
        sizes.sort_unstable();
        let mut best = 0;
        for set in 0u32..1 << sizes.len() {
            if set.count_ones() as usize == width {
                let mut rest: Vec<u64> =
                    sizes.iter().enumerate().map(|(member, size)| size - u64::from(set >> member & 1)).collect();
                best = best.max(1 + exact(&mut rest, width));
            }
        }
        best
    }

    #[test]
    fn the_closed_form_is_what_trying_everything_finds() {
        let mut next = random(11);
        for _ in 0..300 {
            let mut sizes: Vec<u64> = (0..2 + next(3)).map(|_| 1 + next(4)).collect();
            let width = 1 + next(sizes.len() as u64);
            assert_eq!(most(&sizes, width), exact(&mut sizes.clone(), width as usize), "{sizes:?} by {width}");
            sizes.clear();
        }
    }

    /// The example and the two configurations of dissertation 000 (Fig. 53, Table 10), in GiB and in chunks of 64 KiB.
    #[test]
    fn the_anchors_of_the_closed_form_come_out() {
        let (one, two) = ([150, 120, 100, 80, 60, 20], [894, 894, 894, 894, 2969, 894, 447, 447, 447, 1740]);
        assert_eq!(most(&[6, 4, 2, 5, 2], 3), 6);
        assert_eq!((3 * most(&one, 3), 6 * most(&two, 6)), (528, 8712));
        let chunks = |gib: u64| gib * 16_384;
        let exported = |sizes: &[u64], width: u64| {
            let rows = most(&sizes.iter().map(|gib| chunks(*gib)).collect::<Vec<u64>>(), width);
            (rows * width) as f64 / 16_384.0
        };
        assert!((exported(&one, 3) - 530.0).abs() < 0.05, "{}", exported(&one, 3));
        assert!((exported(&two, 6) - 8716.5).abs() < 0.05, "{}", exported(&two, 6));
    }

    /// Rows one by one, without jumps: the fastest members, of which the slowest make room until no more critical ones are left out than the slack allows.
    fn single(sizes: &[u64], width: u64, rows: u64) -> Vec<(Vec<usize>, u64)> {
        let mut room = sizes.to_vec();
        let mut runs: Vec<(Vec<usize>, u64)> = Vec::new();
        for left in (1..=rows).rev() {
            let slack = room.iter().map(|room| *room.min(&left)).sum::<u64>() - width * left;
            let mut row: Vec<usize> = (0..room.len()).filter(|i| room[*i] > 0).take(width as usize).collect();
            loop {
                let critical: Vec<usize> = (0..room.len()).filter(|i| room[*i] >= left).collect();
                let missing: Vec<usize> = critical.iter().copied().filter(|i| !row.contains(i)).collect();
                if missing.len() as u64 <= slack {
                    break;
                }
                let slowest = *row.iter().filter(|i| !critical.contains(i)).max().unwrap();
                row.retain(|i| *i != slowest);
                row.push(missing[0]);
                row.sort_unstable();
            }
            row.iter().for_each(|i| room[*i] -= 1);
            match runs.last_mut() {
                Some((members, count)) if *members == row => *count += 1,
                _ => runs.push((row, 1)),
            }
        }
        runs
    }

    #[test]
    fn rows_at_once_are_the_rows_one_by_one() {
        let mut next = random(5);
        for _ in 0..3_000 {
            let width = 1 + next(6);
            let sizes: Vec<u64> = (0..width + next(8)).map(|_| 1 + next(60)).collect();
            let rows = most(&sizes, width);
            assert_eq!(peel(&sizes, width, rows), single(&sizes, width, rows), "{sizes:?} by {width}");
        }
    }

    /// In chunks of 64 KiB of drives up to 4 TiB.
    #[test]
    fn there_are_no_more_runs_than_members() {
        let mut next = random(23);
        for _ in 0..3_000 {
            let width = 2 + next(9);
            let sizes: Vec<u64> = (0..width + next(61 - width)).map(|_| 1 + next(1 << 26)).collect();
            let runs = peel(&sizes, width, most(&sizes, width));
            assert!(runs.len() <= sizes.len(), "{} runs of {} by {width}: {sizes:?}", runs.len(), sizes.len());
        }
    }
}
