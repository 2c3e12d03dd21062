//! Sums over GF(2^8) in plain Rust, eight bytes a word; compilers make instructions of 16 bytes of it. Loops count to a constant, for the reason that the
//! version for AVX2 gives.

#![allow(clippy::needless_range_loop, reason = "see above")]

use super::{Start, Sum, Task};

/// Words of a step.
const WORDS: usize = 8;
/// Bytes of a step.
const STEP: usize = WORDS * 8;

type Words = [u64; WORDS];

pub(super) fn run(task: Task<'_, '_, '_>) {
    let Task { sum, sources, targets, range } = task;
    let tail = range.len() % STEP;
    for at in (range.start..range.end - tail).step_by(STEP) {
        step(sum, sources, targets, at, STEP);
    }
    if tail > 0 {
        step(sum, sources, targets, range.end - tail, tail);
    }
}

#[inline(always)]
fn step(sum: Sum<'_>, sources: &[&[u8]], targets: &mut [&mut [u8]], at: usize, bytes: usize) {
    match (sum, targets.len()) {
        (Sum::Powers, 1) => powers::<1>(sources, targets, at, bytes),
        (Sum::Powers, 2) => powers::<2>(sources, targets, at, bytes),
        (Sum::Powers, 3) => powers::<3>(sources, targets, at, bytes),
        (Sum::Powers, other) => unreachable!("{other} generators"),
        (Sum::Any(start, factors), _) => any(start, factors, sources, targets, at, bytes),
    }
}

/// Up to 64 bytes; zeros follow the last one.
#[inline(always)]
fn load(chunk: &[u8], at: usize, bytes: usize) -> Words {
    let mut last = [0; STEP];
    let block: &[u8; STEP] = match chunk[at..].first_chunk() {
        Some(block) if bytes == STEP => block,
        _ => {
            last[..bytes].copy_from_slice(&chunk[at..at + bytes]);
            &last
        }
    };
    let block: &[[u8; 8]; WORDS] = bytemuck::cast_ref(block);
    let mut words = [0; WORDS];
    for word in 0..WORDS {
        words[word] = u64::from_le_bytes(block[word]);
    }
    words
}

/// Words go to the target one by one: on the way through a buffer, bytes would be read in other pieces than they were written, and wait.
#[inline(always)]
fn store(chunk: &mut [u8], at: usize, bytes: usize, words: &Words) {
    let put = |block: &mut [u8; STEP]| {
        let block: &mut [[u8; 8]; WORDS] = bytemuck::cast_mut(block);
        for word in 0..WORDS {
            block[word] = words[word].to_le_bytes();
        }
    };
    match chunk[at..].first_chunk_mut() {
        Some(block) if bytes == STEP => put(block),
        _ => {
            let mut last = [0; STEP];
            put(&mut last);
            chunk[at..at + bytes].copy_from_slice(&last[..bytes]);
        }
    }
}

#[inline(always)]
fn add(sum: &mut Words, words: &Words) {
    for word in 0..WORDS {
        sum[word] ^= words[word];
    }
}

/// Each byte times 2. One whose highest bit is set leaves the field, and comes back by the polynomial: its mask is 0x100 - 0x01.
#[inline(always)]
fn double(words: &mut Words) {
    for word in 0..WORDS {
        let high = words[word] & 0x8080_8080_8080_8080;
        let mask = (high << 1).wrapping_sub(high >> 7);
        words[word] = ((words[word] ^ high) << 1) ^ (mask & 0x1d1d_1d1d_1d1d_1d1d);
    }
}

#[inline(always)]
fn powers<const TARGETS: usize>(sources: &[&[u8]], targets: &mut [&mut [u8]], at: usize, bytes: usize) {
    let mut sums = [[0; WORDS]; TARGETS];
    for source in sources.iter().rev() {
        let words = load(source, at, bytes);
        for times in 0..TARGETS {
            for _ in 0..times {
                double(&mut sums[times]);
            }
            add(&mut sums[times], &words);
        }
    }
    for target in 0..TARGETS {
        store(targets[target], at, bytes, &sums[target]);
    }
}

/// Goes through the bits of the factors: those sources are added whose factor has the bit, and all that is there is doubled before the next one. So
/// there are seven products by 2, however many the sources.
#[inline(always)]
fn any(start: Start, factors: &[u8], sources: &[&[u8]], targets: &mut [&mut [u8]], at: usize, bytes: usize) {
    for (number, target) in targets.iter_mut().enumerate() {
        let factors = &factors[number * sources.len()..][..sources.len()];
        let bits = factors.iter().fold(0, |bits, factor| bits | factor);
        let mut sum = [0; WORDS];
        for bit in (0..8 - bits.leading_zeros()).rev() {
            double(&mut sum);
            for (source, factor) in sources.iter().zip(factors) {
                if factor >> bit & 1 == 1 {
                    add(&mut sum, &load(source, at, bytes));
                }
            }
        }
        if let Start::Target = start {
            add(&mut sum, &load(target, at, bytes));
        }
        store(target, at, bytes, &sum);
    }
}
