//! How fast parities are made, and lost chunks come back.
//!
//! `cargo bench -p wane-raid --bench parity` prints one JSON object a line, for each kernel. `encode`, `recover`: GB of data (not of parity) a second, of
//! stripes with chunks of 64 KiB that lie in the second cache level at most. `add-scaled`, `add-change`: GB of the target a second. `write`: stripes of
//! 256 KiB of data each, four to a request of 1 MiB, from a host's buffer to five members' memory while the parity is made (`encode_and_copy`); beside it
//! plain copies of as many bytes, the ready parity among them, to the same five buffers. `in` says whether all of these fit into the second cache level
//! or are 64 MiB each. Each figure is the best of several runs, which take turns. Hashes are of what was made.

#![allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
#![allow(missing_docs, reason = "a program")]

use std::hint::black_box;
use std::time::Instant;

use wane_raid::code::{COPIES_2, Code, Coder, Kernel, PQ, PQR, XOR};

const CHUNK: usize = 64 << 10;

const KERNELS: [Kernel; 2] = [Kernel::Fastest, Kernel::Portable];

fn bytes(length: usize, seed: usize) -> Vec<u8> {
    (0..length).map(|at| (at.wrapping_mul(2_654_435_761) >> 11 ^ seed.wrapping_mul(0x9e37)) as u8).collect()
}

fn stripe(width: usize) -> Vec<Vec<u8>> {
    (0..width).map(|chunk| bytes(CHUNK, chunk)).collect()
}

/// Runs, and the bytes of each. The test suite runs benches too, without `--bench`.
fn size() -> (usize, usize) {
    if std::env::args().any(|argument| argument == "--bench") { (7, 256 << 20) } else { (1, 1) }
}

fn hash(chunks: &[&mut [u8]]) -> u32 {
    let mut hash = crc32fast::Hasher::new();
    chunks.iter().for_each(|chunk| hash.update(chunk));
    hash.finalize()
}

/// GB a second, where a call works on N bytes.
fn rate(bytes: usize, mut call: impl FnMut()) -> f64 {
    let calls = (size().1 / bytes).max(1);
    let start = Instant::now();
    (0..calls).for_each(|_| call());
    (calls * bytes) as f64 / 1e9 / start.elapsed().as_secs_f64()
}

fn name(kernel: Kernel) -> &'static str {
    match kernel {
        Kernel::Fastest => Kernel::fastest(),
        Kernel::Portable => "portable",
    }
}

/// Runs take turns: one round is all kernels. Returns the best rates.
fn compare(bytes: usize, mut call: impl FnMut(Kernel)) -> [f64; KERNELS.len()] {
    let mut best = [0.0f64; KERNELS.len()];
    for _ in 0..size().0 {
        for (best, kernel) in best.iter_mut().zip(KERNELS) {
            *best = best.max(rate(bytes, || call(kernel)));
        }
    }
    best
}

fn print(work: &str, of: &str, best: [f64; KERNELS.len()], hash: u32) {
    for (best, kernel) in best.into_iter().zip(KERNELS.map(name)) {
        println!(
            "{{\"bench\":\"raid-parity\",\"work\":\"{work}\",\"of\":\"{of}\",\"kernel\":\"{kernel}\",\"gb_per_second\":{best:.1},\
             \"hash\":\"{hash:08x}\"}}"
        );
    }
}

fn coder(code: &'static dyn Code, width: usize, kernel: Kernel) -> Coder {
    Coder::new(code, width).expect("the code has such stripes").with_kernel(kernel)
}

fn encode(code: &'static dyn Code, width: usize) {
    let mut stripe = stripe(width);
    let data = coder(code, width, Kernel::Fastest).data();
    let (chunks, parities) = stripe.split_at_mut(data);
    let chunks: Vec<&[u8]> = chunks.iter().map(Vec::as_slice).collect();
    let mut parities: Vec<&mut [u8]> = parities.iter_mut().map(Vec::as_mut_slice).collect();
    let of = format!("{} {data}+{}", code.name(), width - data);
    let coders = KERNELS.map(|kernel| coder(code, width, kernel));
    let best = compare(data * CHUNK, |kernel| {
        coders[usize::from(kernel == Kernel::Portable)].encode(black_box(&chunks), black_box(&mut parities));
    });
    print("encode", &of, best, hash(&parities));
}

fn recover(code: &'static dyn Code, width: usize, lost: &[usize]) {
    let mut stripe = stripe(width);
    let data = coder(code, width, Kernel::Fastest).data();
    let mut chunks: Vec<&mut [u8]> = stripe.iter_mut().map(Vec::as_mut_slice).collect();
    let of = format!("{} {data}+{} without {lost:?}", code.name(), width - data);
    let recovery = KERNELS.map(|kernel| coder(code, width, kernel).recovery(lost).expect("it is determined"));
    let best = compare(data * CHUNK, |kernel| {
        recovery[usize::from(kernel == Kernel::Portable)].fill(black_box(&mut chunks));
    });
    print("recover", &of, best, hash(&chunks));
}

fn add() {
    let (mut target, old, new) = (bytes(CHUNK, 1), bytes(CHUNK, 2), bytes(CHUNK, 3));
    for factor in [1, 29] {
        let best = compare(CHUNK, |kernel| kernel.add_scaled(black_box(&mut target), black_box(factor), &old));
        print("add-scaled", &format!("factor {factor}"), best, hash(&[&mut target]));
        let best = compare(CHUNK, |kernel| kernel.add_change(black_box(&mut target), black_box(factor), &old, &new));
        print("add-change", &format!("factor {factor}"), best, hash(&[&mut target]));
    }
}

/// Requests of 1 MiB go round in buffers of N chunks.
fn write(place: &str, chunks: usize) {
    const DATA: usize = 4;
    let host = bytes(chunks * CHUNK * DATA, 1);
    let ready = bytes(chunks * CHUNK, 2);
    let mut members: Vec<Vec<u8>> = (0..=DATA).map(|member| bytes(chunks * CHUNK, member)).collect();
    let stripe =
        |number: usize| -> Vec<&[u8]> { host[number * DATA * CHUNK..][..DATA * CHUNK].chunks_exact(CHUNK).collect() };
    let coders = KERNELS.map(|kernel| coder(&XOR, DATA + 1, kernel));
    // The kernels' rates, then that of plain copies.
    let mut best = [0.0f64; 3];
    let mut next = (0..chunks).cycle();
    for _ in 0..size().0 {
        for (best, coder) in best.iter_mut().zip(coders.iter().map(Some).chain([None])) {
            *best = best.max(rate(DATA * CHUNK, || {
                let number = next.next().expect("they come round");
                let data = stripe(number);
                let mut to: Vec<&mut [u8]> =
                    members.iter_mut().map(|member| &mut member[number * CHUNK..][..CHUNK]).collect();
                let (copies, parities) = to.split_at_mut(DATA);
                match coder {
                    Some(coder) => coder.encode_and_copy(black_box(&data), copies, parities),
                    None => {
                        copies.iter_mut().zip(&data).for_each(|(copy, chunk)| copy.copy_from_slice(chunk));
                        parities[0].copy_from_slice(&ready[number * CHUNK..][..CHUNK]);
                    }
                }
            }));
        }
    }
    for (best_of, of) in best.into_iter().zip(KERNELS.map(name).into_iter().chain(["copy"])) {
        println!(
            "{{\"bench\":\"raid-parity\",\"work\":\"write\",\"of\":\"xor 4+1\",\"in\":\"{place}\",\"kernel\":\"{of}\",\"gb_per_second\":{best_of:.1},\
             \"to_copy\":{:.2}}}",
            best_of / best[2]
        );
    }
}

fn main() {
    encode(&XOR, 5);
    encode(&XOR, 9);
    encode(&PQ, 6);
    encode(&PQ, 10);
    encode(&PQR, 7);
    encode(&PQR, 11);
    encode(&COPIES_2, 8);
    recover(&XOR, 5, &[1]);
    recover(&PQ, 6, &[1]);
    recover(&PQ, 6, &[1, 2]);
    recover(&PQ, 10, &[1, 2]);
    recover(&PQR, 11, &[1, 2, 3]);
    add();
    write("cache", 2);
    write("memory", if size().0 > 1 { 1024 } else { 4 });
}
