//! The time of a draw: `cargo bench -p wane-workload --bench draws` prints one JSON object per line, with ns per page, for batches of 4,096 pages of
//! 16 million.

#![allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
#![allow(missing_docs, reason = "a program")]

use std::time::Instant;

use wane_sim::Streams;
use wane_workload::pattern::{PatternConfig, PatternSource, Shape};
use wane_workload::{Batch, Source};

const RUNS: usize = 5;
const FOOTPRINT: u32 = 1 << 24;
const BATCH: usize = 4096;

fn main() {
    // The test suite runs benches too, without `--bench`.
    let batches = if std::env::args().any(|argument| argument == "--bench") { 2_000 } else { 2 };
    let zipf = |exponent, scramble| Shape::Zipf { exponent, scramble };
    let table = |exponent, scramble| Shape::ZipfTable { exponent, scramble };
    let hot_cold = Shape::HotCold { r: 0.9, hot_pages: FOOTPRINT / 10 };
    let shapes = [
        ("uniform", Shape::Uniform),
        ("hot-cold", hot_cold),
        ("zipf-0.99-in-order", zipf(0.99, false)),
        ("zipf-0.99", zipf(0.99, true)),
        ("zipf-table-0.99-in-order", table(0.99, false)),
        ("zipf-table-0.99", table(0.99, true)),
        ("zipf-table-1.2-in-order", table(1.2, false)),
    ];
    for (name, shape) in shapes {
        measure(name, shape, batches);
    }
}

fn measure(name: &str, shape: Shape, batches: usize) {
    let config =
        PatternConfig { shape, footprint_pages: FOOTPRINT, request_pages: 1, read_share: 0.0, trim_share: 0.0 };
    let mut source = PatternSource::new(config, Streams::new(1).stream("bench"));
    let mut batch = Batch::default();
    let (mut times, mut sum) = (Vec::new(), 0u64);
    for _ in 0..RUNS {
        let start = Instant::now();
        for _ in 0..batches {
            source.next(&mut batch, BATCH, u64::MAX).expect("a pattern never ends");
            sum = sum.wrapping_add(u64::from(batch.pages[0]));
        }
        times.push(start.elapsed().as_secs_f64() * 1e9 / (batches * BATCH) as f64);
    }
    times.sort_by(f64::total_cmp);
    println!("{{\"case\":\"{name}\",\"ns\":{:.2},\"fastest\":{:.2},\"sum\":{sum}}}", times[RUNS / 2], times[0]);
}
