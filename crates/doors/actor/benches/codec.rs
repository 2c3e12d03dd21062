//! Megabytes of data coded and decoded a second on one core.
//!
//! `cargo bench -p wane-actor` prints one JSON object a line, for each code: the project's (`reed-solomon-simd`, as `wane_actor::codec` asks it) and
//! Reed-Solomon over GF(2^8) by a matrix, which is zfec's way (002, section 8.3.2), as `reed-solomon-erasure` has it. `decode` makes the data when as many
//! shares as the code allows are lost, `decode_one` when one is. The hash is of the parities.

#![allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
#![allow(missing_docs, reason = "a program")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use reed_solomon_erasure::galois_8::ReedSolomon;
use wane_actor::{Code, codec};

const RUNS: usize = 5;
const CODES: [(u16, u16); 7] = [(4, 2), (6, 2), (10, 4), (3, 5), (3, 13), (8, 8), (12, 4)];

fn main() {
    // The test suite runs benches too, without `--bench`.
    let (bytes, long) =
        if std::env::args().any(|argument| argument == "--bench") { (256 << 10, 200) } else { (4 << 10, 1) };
    for (data, parity) in CODES {
        let code = Code { data, parity };
        let shares: Vec<Vec<u8>> = (0..data).map(|share| content(share, bytes)).collect();
        ours(code, &shares, long);
        matrix(code, &shares, long);
    }
}

fn content(share: u16, bytes: usize) -> Vec<u8> {
    (0..bytes as u64)
        .map(|at| ((at ^ (u64::from(share) << 40)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8)
        .collect()
}

/// The median of megabytes of data a second.
fn rate(bytes: usize, millis: u64, mut work: impl FnMut()) -> f64 {
    let mut rates: Vec<f64> = (0..RUNS)
        .map(|_| {
            let (start, mut times) = (Instant::now(), 0.0);
            while times < 1.0 || start.elapsed() < Duration::from_millis(millis) {
                work();
                times += 1.0;
            }
            bytes as f64 * times / start.elapsed().as_secs_f64() / 1e6
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    rates[RUNS / 2]
}

fn print(name: &str, code: Code, [encode, decode, decode_one]: [f64; 3], parities: &[Vec<u8>]) {
    let mut hash = crc32fast::Hasher::new();
    parities.iter().for_each(|parity| hash.update(parity));
    let hash = hash.finalize();
    println!(
        "{{\"case\":\"{name}\",\"code\":\"{code}\",\"encode_mb_per_s\":{encode:.0},\"decode_mb_per_s\":{decode:.0},\"decode_one_mb_per_s\":{decode_one:.0},\"hash\":\"{hash:08x}\"}}"
    );
}

fn ours(code: Code, shares: &[Vec<u8>], millis: u64) {
    let bytes = shares.len() * shares[0].len();
    let data: Vec<(u16, &[u8])> = (0..).zip(shares.iter().map(Vec::as_slice)).collect();
    let wanted: Vec<u16> = (code.data..code.shares()).collect();
    let make = |sources: &[(u16, &[u8])], wanted: &[u16]| {
        codec::make(code, sources, wanted).expect("the shares are N of the code's")
    };
    let parities = make(&data, &wanted);
    let decode = |lost: u16| {
        let lost = lost.min(code.parity).min(code.data);
        let left = data[usize::from(lost)..].iter().copied();
        let sources: Vec<(u16, &[u8])> =
            left.chain((code.data..).zip(parities.iter().map(Vec::as_slice)).take(usize::from(lost))).collect();
        let wanted: Vec<u16> = (0..lost).collect();
        rate(bytes, millis, || drop(black_box(make(&sources, &wanted))))
    };
    let encode = rate(bytes, millis, || drop(black_box(make(&data, &wanted))));
    print("additive-fft", code, [encode, decode(code.parity), decode(1)], &parities);
}

fn matrix(code: Code, shares: &[Vec<u8>], millis: u64) {
    let (data, parity) = (usize::from(code.data), usize::from(code.parity));
    let bytes = data * shares[0].len();
    let coder = ReedSolomon::new(data, parity).expect("a code of GF(2^8)");
    let mut all: Vec<Vec<u8>> = shares.to_vec();
    all.resize(data + parity, vec![0; shares[0].len()]);
    let encode = rate(bytes, millis, || coder.encode(&mut all).expect("shares of one length"));
    let decode = |lost: usize| {
        let lost = lost.min(parity).min(data);
        let mut left: Vec<Option<Vec<u8>>> = all.iter().cloned().map(Some).collect();
        rate(bytes, millis, || {
            left[..lost].iter_mut().for_each(|share| *share = None);
            coder.reconstruct_data(&mut left).expect("N shares are left");
            black_box(&left);
        })
    };
    let rates = [encode, decode(parity), decode(1)];
    print("matrix", code, rates, &all[data..]);
}
