//! Two temperatures that approximate any popularity.

use super::{Class, Mix, fifo};
use crate::error::TheoryError;

/// The two temperatures that approximate a popularity: the hottest pages and the others, each with uniform writes. They are
/// separated where FIFO's write amplification, which is known exactly for any popularity, changes least. `classes` are sorted,
/// the hottest first.
///
/// This is a reduction: its effect on other policies is measured, not known. Returns `None` if all pages are alike.
///
/// # Errors
/// As [`fifo`].
pub fn two_temperatures(spare_factor: f64, classes: &[Class]) -> Result<Option<Mix>, TheoryError> {
    let want = fifo(spare_factor, classes)?;
    let (mut pages, mut writes) = (0.0, 0.0);
    let mut best: Option<(f64, Mix)> = None;
    for class in &classes[..classes.len().saturating_sub(1)] {
        pages += class.pages;
        writes += class.writes;
        if pages <= 1e-9 || pages >= 1.0 - 1e-9 || writes - pages < 1e-9 {
            continue;
        }
        let parted = [Class { pages, writes }, Class { pages: 1.0 - pages, writes: (1.0 - writes).max(0.0) }];
        let sum: f64 = parted.iter().map(|class| class.writes).sum();
        let off =
            (fifo(spare_factor, &parted.map(|class| Class { writes: class.writes / sum, ..class }))? - want).abs();
        if best.is_none_or(|(least, _)| off < least) {
            best = Some((off, Mix { hot_writes: writes.min(1.0), hot_pages: pages }));
        }
    }
    Ok(best.map(|(_, mix)| mix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_temperatures_are_themselves() {
        let classes = [Class { pages: 0.2, writes: 0.8 }, Class { pages: 0.8, writes: 0.2 }];
        let found = two_temperatures(0.1, &classes).unwrap().unwrap();
        assert!((found.hot_writes - 0.8).abs() < 1e-12 && (found.hot_pages - 0.2).abs() < 1e-12, "{found:?}");
        assert_eq!(two_temperatures(0.1, &[Class { pages: 1.0, writes: 1.0 }]).unwrap(), None);
        let alike = [Class { pages: 0.5, writes: 0.5 }; 2];
        assert_eq!(two_temperatures(0.1, &alike).unwrap(), None);
    }

    #[test]
    fn many_temperatures_part_between_the_ends() {
        // Writes fall as 1 / rank over 100 classes of pages.
        let sum: f64 = (1..=100).map(|rank| 1.0 / f64::from(rank)).sum();
        let class = |rank| Class { pages: 0.01, writes: 1.0 / f64::from(rank) / sum };
        let classes: Vec<Class> = (1..=100).map(class).collect();
        let found = two_temperatures(0.1, &classes).unwrap().unwrap();
        assert!((0.02..0.5).contains(&found.hot_pages) && found.hot_writes > found.hot_pages, "{found:?}");
    }
}
