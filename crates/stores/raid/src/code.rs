//! Codes: how the parities of a stripe follow from its data.
//!
//! A stripe has `data` chunks, numbered from 0, and after them its parities. Each parity is a sum over GF(2^8) of data chunks times coefficients, byte by
//! byte, with the polynomial 0x11d and the generators of Linux md. A [`Code`] says the coefficients; a [`Coder`] does the work for stripes of a width.

mod copies;
mod field;
mod kernel;
mod pq;
mod pqr;
mod recovery;
mod xor;

use std::fmt;
use std::ops::Range;

use kernel::Start;

pub use copies::COPIES_2;
pub use copies::COPIES_3;
pub use kernel::Kernel;
pub use pq::PQ;
pub use pqr::PQR;
pub use recovery::Recovery;
pub use xor::XOR;

/// How parities follow from data. Each code has a file, and a line in [`CODES`].
pub trait Code: fmt::Debug + Send + Sync {
    /// Its name in settings and answers.
    fn name(&self) -> &'static str;

    /// Members of a stripe that may be lost at once without loss of data.
    fn tolerates(&self) -> usize;

    /// Data chunks of a stripe of this width; `None` if there is no such stripe.
    fn data(&self, width: usize) -> Option<usize>;

    /// What data chunk `data` is multiplied with in the sum that is parity number `parity` of a stripe with `of` data chunks; 0 if it does not
    /// belong to that parity.
    fn coefficient(&self, parity: usize, data: usize, of: usize) -> u8;
}

/// All codes, by name.
pub static CODES: [&dyn Code; 5] = [&COPIES_2, &COPIES_3, &XOR, &PQ, &PQR];

/// The code of a name.
pub fn code(name: &str) -> Option<&'static dyn Code> {
    CODES.into_iter().find(|code| code.name() == name)
}

/// A code for stripes of one width.
#[derive(Clone, Debug)]
pub struct Coder {
    code: &'static dyn Code,
    data: usize,
    /// Coefficients, parity after parity.
    matrix: Vec<u8>,
    shape: Shape,
    kernel: Kernel,
}

/// How the parities are made.
#[derive(Clone, Debug)]
enum Shape {
    /// Each is a copy of the data chunk of this number.
    Copies(Vec<usize>),
    /// Parity J is the sum of data chunk N times 2^(J N), and there are at most three.
    Powers,
    Any,
}

/// A chunk as a sum of others: their numbers, and what each is multiplied with.
pub type Terms = Vec<(usize, u8)>;

impl Coder {
    /// The code for stripes of `width` chunks, parities included; `None` if it has no such stripes.
    pub fn new(code: &'static dyn Code, width: usize) -> Option<Self> {
        let data = code.data(width)?;
        let parities = width - data;
        let row = |parity| (0..data).map(move |chunk| code.coefficient(parity, chunk, data));
        let matrix: Vec<u8> = (0..parities).flat_map(row).collect();
        let shape = Shape::of(&matrix, data);
        Some(Self { code, data, matrix, shape, kernel: Kernel::default() })
    }

    /// The same with another kernel; a new one has the fastest.
    pub const fn with_kernel(mut self, kernel: Kernel) -> Self {
        self.kernel = kernel;
        self
    }

    /// The code.
    pub const fn code(&self) -> &'static dyn Code {
        self.code
    }

    /// Data chunks of a stripe.
    pub const fn data(&self) -> usize {
        self.data
    }

    /// Parities of a stripe.
    pub fn parities(&self) -> usize {
        self.matrix.len() / self.data
    }

    /// Chunks of a stripe.
    pub fn width(&self) -> usize {
        self.data + self.parities()
    }

    /// What a data chunk is multiplied with in a parity, which is numbered from 0.
    pub fn coefficient(&self, parity: usize, data: usize) -> u8 {
        self.matrix[parity * self.data + data]
    }

    /// Whether each parity is a copy of one data chunk.
    pub fn has_copies(&self) -> bool {
        let of_one = |row: &[u8]| row.iter().filter(|factor| **factor != 0).count() == 1;
        self.matrix.chunks(self.data).all(|row| of_one(row) && row.contains(&1))
    }

    /// Makes all parities, which are as long as the data chunks.
    ///
    /// # Panics
    /// There are more or fewer chunks than a stripe has, or they differ in length.
    pub fn encode(&self, data: &[&[u8]], parities: &mut [&mut [u8]]) {
        self.check(data, parities);
        for range in kernel::blocks(data, parities) {
            self.encode_in(data, parities, range);
        }
    }

    /// Makes all parities, and copies the data chunks to other buffers on the way: each byte of them is read once from memory.
    ///
    /// # Panics
    /// There are more or fewer chunks than a stripe has, or they differ in length.
    pub fn encode_and_copy(&self, data: &[&[u8]], copies: &mut [&mut [u8]], parities: &mut [&mut [u8]]) {
        self.check(data, parities);
        assert_eq!(copies.len(), data.len(), "a copy of each data chunk");
        assert!(copies.iter().zip(data).all(|(copy, chunk)| copy.len() == chunk.len()), "chunks are of one length");
        for range in kernel::blocks(data, parities) {
            for (copy, chunk) in copies.iter_mut().zip(data) {
                copy[range.clone()].copy_from_slice(&chunk[range.clone()]);
            }
            self.encode_in(data, parities, range);
        }
    }

    /// Lets all parities follow when data chunk `chunk`, or the same part of all these, changes from `old` to `new`: each byte of both is read once.
    ///
    /// # Panics
    /// There are more or fewer parities than a stripe has, there is no such data chunk, or lengths differ.
    pub fn follow(&self, chunk: usize, old: &[u8], new: &[u8], parities: &mut [&mut [u8]]) {
        assert_eq!(parities.len(), self.parities(), "parities of a stripe");
        let factors: Vec<u8> = (0..self.parities()).flat_map(|parity| [self.coefficient(parity, chunk); 2]).collect();
        self.kernel.sum(Start::Target, &factors, &[old, new], parities);
    }

    fn check(&self, data: &[&[u8]], parities: &[&mut [u8]]) {
        assert_eq!((data.len(), parities.len()), (self.data, self.parities()), "chunks of a stripe");
    }

    fn encode_in(&self, data: &[&[u8]], parities: &mut [&mut [u8]], range: Range<usize>) {
        match &self.shape {
            Shape::Copies(of) => {
                for (parity, chunk) in parities.iter_mut().zip(of) {
                    parity[range.clone()].copy_from_slice(&data[*chunk][range.clone()]);
                }
            }
            Shape::Powers => self.kernel.powers_in(data, parities, range),
            Shape::Any => self.kernel.sum_in(Start::Zero, &self.matrix, data, parities, range),
        }
    }

    /// How the chunks `lost`, each named once, are made of all others; `None` if these do not determine them.
    pub fn recovery(&self, lost: &[usize]) -> Option<Recovery> {
        Recovery::new(self, lost)
    }

    /// Each of the chunks `lost` as a sum of chunks of `have`; `None` if these do not determine it. Fewest terms are not sought; those chunks of `have`
    /// that come first are used first.
    pub fn solve(&self, lost: &[usize], have: &[usize]) -> Option<Vec<Terms>> {
        field::solve(self, lost, have)
    }

    /// What each data chunk is multiplied with in a chunk of the stripe.
    fn row(&self, chunk: usize) -> Vec<u8> {
        match chunk.checked_sub(self.data) {
            None => (0..self.data).map(|data| u8::from(data == chunk)).collect(),
            Some(parity) => (0..self.data).map(|data| self.coefficient(parity, data)).collect(),
        }
    }
}

impl Shape {
    /// The shape of a matrix with N columns.
    fn of(matrix: &[u8], data: usize) -> Self {
        let copied = |row: &[u8]| match row.iter().filter(|entry| **entry != 0).count() {
            1 => row.iter().position(|entry| *entry == 1),
            _ => None,
        };
        let powers = |(number, row): (usize, &[u8])| {
            row.iter().enumerate().all(|(chunk, entry)| *entry == field::power(2, number * chunk))
        };
        let rows = || matrix.chunks_exact(data);
        match rows().map(copied).collect() {
            Some(copies) => Self::Copies(copies),
            None if rows().len() <= 3 && rows().enumerate().all(powers) => Self::Powers,
            None => Self::Any,
        }
    }
}

/// Adds `factor` times `source` to `target`, byte by byte.
///
/// # Panics
/// They differ in length.
pub fn add_scaled(target: &mut [u8], factor: u8, source: &[u8]) {
    Kernel::default().add_scaled(target, factor, source);
}

/// Adds `factor` times what differs between `old` and `new` to `target`: so a parity follows one data chunk, without the others.
///
/// # Panics
/// They differ in length.
pub fn add_change(target: &mut [u8], factor: u8, old: &[u8], new: &[u8]) {
    Kernel::default().add_change(target, factor, old, new);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever chunks are lost, as many as the code tolerates, each of them comes back.
    #[test]
    fn lost_chunks_come_back() {
        for (code, width) in
            [(&XOR as &'static dyn Code, 3), (&XOR, 5), (&PQ, 6), (&PQR, 7), (&COPIES_2, 6), (&COPIES_3, 3)]
        {
            let coder = Coder::new(code, width).expect("the width fits");
            let data: Vec<Vec<u8>> = (0..coder.data())
                .map(|chunk| (0..48u8).map(|byte| byte.wrapping_mul(7) ^ (chunk as u8).wrapping_mul(31)).collect())
                .collect();
            let mut parities = vec![vec![0; 48]; coder.parities()];
            let chunks: Vec<&[u8]> = data.iter().map(Vec::as_slice).collect();
            coder.encode(&chunks, &mut parities.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>());
            let all: Vec<Vec<u8>> = data.into_iter().chain(parities).collect();
            for lost in 0u32..1 << width {
                if lost.count_ones() as usize > code.tolerates() {
                    continue;
                }
                let (lost, have): (Vec<usize>, Vec<usize>) = (0..width).partition(|chunk| lost >> chunk & 1 == 1);
                let sums = coder.solve(&lost, &have).expect("no more are lost than the code tolerates");
                for (chunk, terms) in lost.iter().zip(sums) {
                    let mut made = vec![0; 48];
                    terms.iter().for_each(|(from, factor)| add_scaled(&mut made, *factor, &all[*from]));
                    assert_eq!(made, all[*chunk], "{} of {width}: {lost:?}", code.name());
                }
            }
        }
    }
}
