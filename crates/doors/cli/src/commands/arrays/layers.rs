//! The most data that drives hold where stripes of several widths are made of them.
//!
//! With D stripes a drive of s tiles gives min(s, D) of them, since a stripe takes one tile of a drive at most. Each stripe has p parities, whatever its
//! width, so D stripes hold sum(min(s, D)) - p D tiles of data. With one stripe more, each drive that has more than D tiles gives one, and p of these are
//! parity: data grow as long as more than p drives do. So D is the size of drive p + 1, counted from the largest, and the data are all drives but the
//! largest p. In layers: all drives up to the size of the smallest, then the others up to the next size, and so on until p + 1 drives are left.

/// Tiles of drives between two sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layer {
    /// Drives that are as large: chunks of a stripe.
    pub(super) width: usize,
    /// Tiles of each of them, and stripes.
    pub(super) tiles: u64,
}

/// The layers that hold the most data, the widest first. `tiles`: what each drive has. None if there are too few drives.
pub(super) fn layers(tiles: &[u64], parities: usize) -> Vec<Layer> {
    let mut sizes = tiles.to_vec();
    sizes.sort_unstable();
    let Some(last) = sizes.len().checked_sub(parities + 1) else { return Vec::new() };
    let (mut layers, mut below) = (Vec::new(), 0);
    for (smaller, size) in sizes[..=last].iter().enumerate().filter(|(_, size)| **size > 0) {
        if *size > below {
            layers.push(Layer { width: sizes.len() - smaller, tiles: size - below });
            below = *size;
        }
    }
    layers
}

/// Tiles of data in layers.
pub(super) fn data(layers: &[Layer], parities: usize) -> u64 {
    layers.iter().map(|layer| layer.tiles * (layer.width - parities) as u64).sum()
}

/// Tiles that layers take of all drives.
pub(super) fn used(layers: &[Layer]) -> u64 {
    layers.iter().map(|layer| layer.tiles * layer.width as u64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The most data by trying every set of drives for every stripe.
    fn most(sizes: &mut [u64], parities: usize) -> u64 {
        sizes.sort_unstable();
        let mut best = 0;
        for set in 0u32..1 << sizes.len() {
            let width = set.count_ones() as usize;
            let fits = (0..sizes.len()).all(|drive| set >> drive & 1 == 0 || sizes[drive] > 0);
            if width > parities && fits {
                let mut rest: Vec<u64> =
                    sizes.iter().enumerate().map(|(drive, size)| size - u64::from(set >> drive & 1)).collect();
                best = best.max((width - parities) as u64 + most(&mut rest, parities));
            }
        }
        best
    }

    #[test]
    fn layers_hold_as_much_as_trying_everything_finds() {
        let mut state = 7u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..100 {
            let mut sizes: Vec<u64> = (0..1 + next(4)).map(|_| next(3)).collect();
            for parities in 1..=3 {
                let found = data(&layers(&sizes, parities), parities);
                assert_eq!(found, most(&mut sizes, parities), "{sizes:?} with {parities}");
            }
        }
    }

    #[test]
    fn data_are_all_drives_but_the_largest() {
        // (drives, parities, data, width and tiles of each layer)
        type Row = (&'static [u64], usize, u64, &'static [(usize, u64)]);
        let table: [Row; 6] = [
            (&[8, 8, 8, 8, 4, 4], 1, 32, &[(6, 4), (4, 4)]),
            (&[1, 2, 2, 4, 4], 1, 9, &[(5, 1), (4, 1), (2, 2)]),
            (&[1, 2, 2, 4, 4], 2, 5, &[(5, 1), (4, 1)]),
            (&[4, 8, 8], 1, 12, &[(3, 4), (2, 4)]),
            (&[9, 2, 2], 1, 4, &[(3, 2)]),
            (&[5, 0], 1, 0, &[]),
        ];
        for (drives, parities, tiles, shape) in table {
            let layers = layers(drives, parities);
            let found: Vec<(usize, u64)> = layers.iter().map(|layer| (layer.width, layer.tiles)).collect();
            assert_eq!((data(&layers, parities), &found[..]), (tiles, shape), "{drives:?} with {parities}");
            assert!(used(&layers) <= drives.iter().sum::<u64>(), "{drives:?}");
        }
    }
}
