//! Page reads with errors per second, and single binomial draws.
//!
//! `cargo bench -p wane-nand --bench errors` prints one JSON object per line, with a hash of the drawn numbers. Arguments
//! after `--` choose cases by a part of their name.

#![allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
#![allow(missing_docs, reason = "a program")]
#![allow(dead_code, reason = "a test runs a part of it")]

use std::time::Instant;

use wane_nand::rber::chip;
use wane_nand::{Cells, Detail, Draws, Ecc, ErrorConfig, PageTime};
use wane_sim::{Binomial, Stream, Streams};
use wane_units::{BlockId, Bytes, Geometry};

const RUNS: usize = 5;
const BLOCKS: u32 = 16_384;
const PAGES_PER_BLOCK: u32 = 256;

struct Case {
    name: &'static str,
    chip: &'static str,
    cycles: u32,
    ecc: Ecc,
    detail: Detail,
    page_time: PageTime,
}

const ECC: Ecc = Ecc {
    codeword_bytes: 512,
    strength: Some(75),
    rereads_max: None,
    scale: 2.0,
    draws: Draws::Independent,
    sensing: wane_nand::Sensing::Hard,
};

const fn case(
    name: &'static str,
    chip: &'static str,
    cycles: u32,
    strength: u32,
    draws: Draws,
    detail: Detail,
) -> Case {
    Case {
        name,
        chip,
        cycles,
        ecc: Ecc { strength: Some(strength), draws, ..ECC },
        detail,
        page_time: PageTime::PerPage,
    }
}

/// Without a table as large as the pages, which does not fit the processor's caches.
const fn by_block(case: &Case) -> Case {
    Case { page_time: PageTime::PerBlock, ..*case }
}

const TLC: &str = "tlc-72l-2018";
const MLC: &str = "mlc-3xnm-2011";

const CASES: &[Case] = &[
    case("tlc-5k", TLC, 5_000, 75, Draws::Independent, Detail::Codewords),
    case("tlc-5k-pages", TLC, 5_000, 75, Draws::Independent, Detail::Pages),
    by_block(&case("tlc-5k-by-block", TLC, 5_000, 75, Draws::Independent, Detail::Codewords)),
    by_block(&case("tlc-5k-pages-by-block", TLC, 5_000, 75, Draws::Independent, Detail::Pages)),
    case("tlc-3k", TLC, 3_000, 75, Draws::Independent, Detail::Codewords),
    case("tlc-3k-pages", TLC, 3_000, 75, Draws::Independent, Detail::Pages),
    case("tlc-1k", TLC, 1_000, 75, Draws::Independent, Detail::Codewords),
    case("tlc-1k-pages", TLC, 1_000, 75, Draws::Independent, Detail::Pages),
    case("mlc-30k", MLC, 30_000, 4, Draws::Independent, Detail::Codewords),
    case("mlc-30k-pages", MLC, 30_000, 4, Draws::Independent, Detail::Pages),
    case("tlc-5k-sticky", TLC, 5_000, 75, Draws::Sticky, Detail::Codewords),
    case("tlc-5k-expected", TLC, 5_000, 75, Draws::Expected, Detail::Codewords),
];

/// (n, p): means of 0.04, 0.5, 8.3, 67 and 2,064.
const DRAWS: &[(u32, f64)] = &[(4096, 1e-5), (4096, 1.22e-4), (4096, 2.03e-3), (4096, 0.016_406), (32_768, 0.063)];

/// The hashes of every case at a small size.
pub(crate) fn small() -> Vec<u64> {
    let draws = DRAWS.iter().map(|(n, p)| draws(*n, *p, 2_000).1);
    draws.chain(CASES.iter().map(|case| reads(case, 2_000).1)).collect()
}

fn main() {
    let divisor = if std::env::args().any(|argument| argument == "--bench") { 1 } else { 10_000 };
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let chosen = |name: &str| wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str()));
    for (n, p) in DRAWS {
        if chosen("binomial") {
            println!("{}", draws(*n, *p, 10_000_000 / divisor).0);
        }
    }
    for case in CASES {
        if chosen(case.name) {
            println!("{}", reads(case, 2_000_000 / divisor).0);
        }
    }
}

fn draws(n: u32, p: f64, count: u32) -> (String, u64) {
    let mut stream = Streams::new(1).stream("bench");
    let mut hash = 0u64;
    let (mut kept, mut fresh) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let mut binomial = Binomial::new(n, p);
        kept.push(time(count, || hash = hash.wrapping_mul(31).wrapping_add(u64::from(binomial.draw(&mut stream)))));
        let draw = |stream: &mut Stream| Binomial::new(n, std::hint::black_box(p)).draw(stream);
        fresh.push(time(count, || hash = hash.wrapping_mul(31).wrapping_add(u64::from(draw(&mut stream)))));
    }
    let line = format!(
        "{{\"case\":\"binomial\",\"n\":{n},\"p\":{p},\"ns_per_draw\":{:.1},\"ns_per_build_and_draw\":{:.1},\"hash\":\"{hash:016x}\"}}",
        median(&mut kept),
        median(&mut fresh)
    );
    (line, hash)
}

/// Reads of 4 KiB from random pages; a block is erased and programmed again after 1,000 reads, so that disturb stays small.
fn reads(case: &Case, count: u32) -> (String, u64) {
    let geometry = Geometry::flat(BLOCKS, PAGES_PER_BLOCK, Bytes(4096)).expect("the flash is addressable");
    let model = chip(case.chip).expect("built in").model;
    let config = ErrorConfig { detail: case.detail, page_time: case.page_time, ..ErrorConfig::new(model, case.ecc) };
    let mut cells = Cells::new(&geometry, config, Streams::new(1).stream("errors"));
    (0..BLOCKS).for_each(|block| cells.erase(BlockId(block), case.cycles));
    let mut stream = Streams::new(1).stream("bench");
    let (mut rates, mut hash) = (Vec::new(), 0u64);
    for _ in 0..RUNS {
        let nanoseconds = time(count, || {
            let page = stream.below(u64::from(geometry.pages())) as u32;
            let block = BlockId(page / PAGES_PER_BLOCK);
            let outcome = cells.read(block, page % PAGES_PER_BLOCK, 4096, 0.0);
            hash = hash.wrapping_mul(31).wrapping_add(outcome.raw_bit_errors + (u64::from(outcome.rereads) << 32));
            if cells.reads(block) >= 1000 {
                cells.erase(block, case.cycles);
                cells.program(block, 0, PAGES_PER_BLOCK, 0.0);
            }
        });
        rates.push(nanoseconds);
    }
    let counters = cells.counters();
    let reads = f64::from(count) * RUNS as f64;
    let line = format!(
        "{{\"case\":\"{}\",\"reads_per_second\":{:.0},\"ns_per_read\":{:.1},\"rereads_per_read\":{:.4},\"errors_per_codeword\":{:.3},\"hash\":\"{hash:016x}\"}}",
        case.name,
        1e9 / median(&mut rates.clone()),
        median(&mut rates),
        counters.retries as f64 / reads,
        counters.raw_bit_errors as f64 / counters.codewords_read as f64,
    );
    (line, hash)
}

/// Nanoseconds of one of `count` calls.
fn time(count: u32, mut call: impl FnMut()) -> f64 {
    let start = Instant::now();
    (0..count).for_each(|_| call());
    start.elapsed().as_secs_f64() * 1e9 / f64::from(count)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
