//! Sums over GF(2^8) by AVX2.
//!
//! Loops over the vectors of a step count to a constant: so the compiler unrolls them before it decides what lies in registers. With iterators that are
//! zipped, sums lay in memory.

#![allow(clippy::needless_range_loop, reason = "see above")]

use std::arch::x86_64::{
    __m256i, _mm256_add_epi8, _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_cmpgt_epi8, _mm256_set1_epi8,
    _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi64, _mm256_xor_si256,
};

use super::super::field::multiply;
use super::{Start, Sum, Task, portable};

/// Vectors of a step.
const VECTORS: usize = 4;
/// Bytes of a step.
const STEP: usize = VECTORS * 32;

type Vectors = [__m256i; VECTORS];

/// For each factor, its products with the values of the lower half of a byte, then with those of the higher half: a byte's product is the sum of one of
/// each, and an instruction looks up 32 at once.
static PRODUCTS: [[[u8; 16]; 2]; 256] = products();

const fn products() -> [[[u8; 16]; 2]; 256] {
    let mut products = [[[0; 16]; 2]; 256];
    let mut entry = 0;
    while entry < 256 * 16 {
        let (factor, half) = (entry / 16, entry % 16);
        products[factor][0][half] = multiply(half as u8, factor as u8);
        products[factor][1][half] = multiply((half as u8) << 4, factor as u8);
        entry += 1;
    }
    products
}

#[target_feature(enable = "avx2")]
pub(super) fn run(task: Task<'_, '_, '_>) {
    let Task { sum, sources, targets, range } = task;
    let mut at = range.start;
    while at + STEP <= range.end {
        match (sum, targets.len()) {
            (Sum::Powers, 1) => powers::<1>(sources, targets, at),
            (Sum::Powers, 2) => powers::<2>(sources, targets, at),
            (Sum::Powers, 3) => powers::<3>(sources, targets, at),
            (Sum::Powers, other) => unreachable!("{other} generators"),
            (Sum::Any(start, factors), _) => any(start, factors, sources, targets, at),
        }
        at += STEP;
    }
    // What is shorter than a step.
    portable::run(Task { sum, sources, targets, range: at..range.end });
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(chunk: &[u8], at: usize) -> Vectors {
    let bytes: &[u8; STEP] = chunk[at..].first_chunk().expect("the range lies in the chunk");
    let bytes: &[[u8; 32]; VECTORS] = bytemuck::cast_ref(bytes);
    let mut vectors = [_mm256_setzero_si256(); VECTORS];
    for lane in 0..VECTORS {
        vectors[lane] = bytemuck::cast(bytes[lane]);
    }
    vectors
}

#[target_feature(enable = "avx2")]
#[inline]
fn store(chunk: &mut [u8], at: usize, vectors: &Vectors) {
    let bytes: &mut [u8; STEP] = chunk[at..].first_chunk_mut().expect("the range lies in the chunk");
    let bytes: &mut [[u8; 32]; VECTORS] = bytemuck::cast_mut(bytes);
    for lane in 0..VECTORS {
        bytes[lane] = bytemuck::cast(vectors[lane]);
    }
}

/// Each byte times 2. One whose highest bit is set is negative: it leaves the field, and comes back by the polynomial.
#[target_feature(enable = "avx2")]
#[inline]
fn double(vector: __m256i) -> __m256i {
    let leaves = _mm256_cmpgt_epi8(_mm256_setzero_si256(), vector);
    _mm256_xor_si256(_mm256_add_epi8(vector, vector), _mm256_and_si256(leaves, _mm256_set1_epi8(0x1d)))
}

#[target_feature(enable = "avx2")]
#[inline]
fn powers<const TARGETS: usize>(sources: &[&[u8]], targets: &mut [&mut [u8]], at: usize) {
    let mut sums = [[_mm256_setzero_si256(); VECTORS]; TARGETS];
    for source in sources.iter().rev() {
        let vectors = load(source, at);
        for times in 0..TARGETS {
            for lane in 0..VECTORS {
                let mut sum = sums[times][lane];
                for _ in 0..times {
                    sum = double(sum);
                }
                sums[times][lane] = _mm256_xor_si256(sum, vectors[lane]);
            }
        }
    }
    for target in 0..TARGETS {
        store(targets[target], at, &sums[target]);
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn any(start: Start, factors: &[u8], sources: &[&[u8]], targets: &mut [&mut [u8]], at: usize) {
    match targets.len() {
        1 => sums::<1>(start, factors, sources, targets, at),
        2 => sums::<2>(start, factors, sources, targets, at),
        3 => sums::<3>(start, factors, sources, targets, at),
        _ => sums::<4>(start, factors, sources, targets, at),
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn sums<const TARGETS: usize>(start: Start, factors: &[u8], sources: &[&[u8]], targets: &mut [&mut [u8]], at: usize) {
    let mut sums = [[_mm256_setzero_si256(); VECTORS]; TARGETS];
    if let Start::Target = start {
        for target in 0..TARGETS {
            sums[target] = load(targets[target], at);
        }
    }
    let half = _mm256_set1_epi8(15);
    for (number, source) in sources.iter().enumerate() {
        let vectors = load(source, at);
        for target in 0..TARGETS {
            let [of_low, of_high] = &PRODUCTS[usize::from(factors[target * sources.len() + number])];
            let of_low = _mm256_broadcastsi128_si256(bytemuck::cast(*of_low));
            let of_high = _mm256_broadcastsi128_si256(bytemuck::cast(*of_high));
            for lane in 0..VECTORS {
                let low = _mm256_and_si256(vectors[lane], half);
                let high = _mm256_and_si256(_mm256_srli_epi64::<4>(vectors[lane]), half);
                let product = _mm256_xor_si256(_mm256_shuffle_epi8(of_low, low), _mm256_shuffle_epi8(of_high, high));
                sums[target][lane] = _mm256_xor_si256(sums[target][lane], product);
            }
        }
    }
    for target in 0..TARGETS {
        store(targets[target], at, &sums[target]);
    }
}
