//! Lost chunks from those that are left.

use super::{Coder, Kernel, kernel, kernel::Start};

/// How some chunks of a stripe are made of its others: solved once, then used for all stripes that lack these chunks.
#[derive(Clone, Debug)]
pub struct Recovery {
    kernel: Kernel,
    width: usize,
    lost: Vec<usize>,
    /// Chunks that are read.
    sources: Vec<usize>,
    /// What the sources are multiplied with, lost chunk after lost chunk.
    factors: Vec<u8>,
}

impl Recovery {
    pub(super) fn new(coder: &Coder, lost: &[usize]) -> Option<Self> {
        let width = coder.width();
        let have: Vec<usize> = (0..width).filter(|chunk| !lost.contains(chunk)).collect();
        let sums = coder.solve(lost, &have)?;
        let factor = |terms: &[(usize, u8)], chunk| terms.iter().find(|term| term.0 == chunk).map_or(0, |term| term.1);
        let sources: Vec<usize> =
            have.into_iter().filter(|chunk| sums.iter().any(|terms| factor(terms, *chunk) != 0)).collect();
        let factors = sums.iter().flat_map(|terms| sources.iter().map(|chunk| factor(terms, *chunk))).collect();
        Some(Self { kernel: coder.kernel, width, lost: lost.to_vec(), sources, factors })
    }

    /// Chunks that [`Recovery::fill`] reads.
    pub fn sources(&self) -> &[usize] {
        &self.sources
    }

    /// Makes the lost chunks of a stripe; what they held does not matter. Only [`Recovery::sources`] are read: others may be empty.
    ///
    /// # Panics
    /// There are more or fewer chunks than the stripe has, or those that are read or made differ in length.
    pub fn fill(&self, chunks: &mut [&mut [u8]]) {
        assert_eq!(chunks.len(), self.width, "chunks of a stripe");
        let mut targets: Vec<Option<&mut [u8]>> = self.lost.iter().map(|_| None).collect();
        let mut sources: Vec<&[u8]> = Vec::with_capacity(self.sources.len());
        for (number, chunk) in chunks.iter_mut().enumerate() {
            if let Some(place) = self.lost.iter().position(|lost| *lost == number) {
                targets[place] = Some(chunk);
            } else if self.sources.binary_search(&number).is_ok() {
                sources.push(chunk);
            }
        }
        let mut targets: Vec<&mut [u8]> = targets.into_iter().flatten().collect();
        if targets.len() == 1 && self.factors.iter().all(|factor| *factor == 1) {
            // A plain sum needs no products.
            for range in kernel::blocks(&sources, &targets) {
                self.kernel.powers_in(&sources, &mut targets, range);
            }
        } else {
            self.kernel.sum(Start::Zero, &self.factors, &sources, &mut targets);
        }
    }
}
