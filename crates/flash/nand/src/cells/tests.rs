use super::*;
use crate::rber::{CHIPS, chip};
use wane_sim::Streams;
use wane_units::Bytes;

const PAGES: u32 = 64;
const BLOCK: BlockId = BlockId(1);

fn geometry(blocks: u32) -> Geometry {
    Geometry::flat(blocks, PAGES, Bytes(4096)).unwrap()
}

fn cells(config: ErrorConfig) -> Cells {
    Cells::new(&geometry(4), config, Streams::new(1).stream("errors"))
}

fn model(name: &str) -> RberModel {
    chip(name).unwrap().model
}

/// 72-layer TLC without read disturb, so that many reads meet the same RBER.
fn calm() -> RberModel {
    RberModel { gamma: 0.0, ..model("tlc-72l-2018") }
}

fn without_ecc() -> Ecc {
    Ecc { strength: None, ..Ecc::default() }
}

fn read_often(cells: &mut Cells, times: u32, bytes: u32) {
    for _ in 0..times {
        cells.read(BLOCK, 0, bytes, 0.0);
    }
}

#[test]
fn the_rber_is_that_of_the_model() {
    for chip in CHIPS {
        for page_time in [PageTime::PerPage, PageTime::PerBlock] {
            let mut cells = cells(ErrorConfig { page_time, ..ErrorConfig::new(chip.model, Ecc::default()) });
            for cycles in [0, 1, 77, 1_000, 5_000, 50_000] {
                for (days, reads) in [(0.0, 0), (0.5, 1), (3.0, 77), (90.0, 10_000), (365.0, 1_000_000)] {
                    cells.erase(BLOCK, cycles);
                    cells.age(BLOCK, days, reads);
                    let exact = chip.model.rber(f64::from(cycles), days + 2.0, f64::from(reads));
                    let found = cells.rber(BLOCK, 3, 2.0);
                    assert!((found / exact - 1.0).abs() < 1e-9, "{} {cycles} {days} {reads}: {found}", chip.name);
                }
            }
        }
    }
}

#[test]
fn errors_never_fall_with_cycles_days_or_reads() {
    for chip in CHIPS {
        let mut cells = cells(ErrorConfig::new(chip.model, Ecc::default()));
        let mut last = 0.0;
        for step in 0..1000 {
            cells.erase(BLOCK, step);
            cells.age(BLOCK, f64::from(step), step);
            let here = cells.rber(BLOCK, 0, 0.0);
            assert!(here >= last, "{} at step {step}", chip.name);
            last = here;
        }
    }
}

#[test]
fn a_fresh_page_of_the_rescaled_chip_expects_48_errors() {
    let ecc = Ecc { codeword_bytes: 4096, strength: Some(50), draws: Draws::Expected, ..Ecc::default() };
    let mut cells = cells(ErrorConfig::new(model("tlc-72l-cvss"), ecc));
    assert!((cells.expected_errors(BLOCK, 0, 0.0) - 48.5).abs() < 0.01);
    let outcome = cells.read(BLOCK, 0, 4096, 0.0);
    assert_eq!(outcome, PageOutcome { rereads: 0, correctable: true, raw_bit_errors: 48 });
}

#[test]
fn a_block_says_how_many_rereads_its_next_data_need() {
    let of = |ecc: Ecc, cycles: u32| {
        let mut cells = cells(ErrorConfig::new(model("tlc-72l-cvss"), ecc));
        cells.erase(BLOCK, cycles);
        cells.fresh_rereads(BLOCK)
    };
    let formula = Ecc { codeword_bytes: 4096, strength: Some(50), draws: Draws::Expected, ..Ecc::default() };
    let table = Ecc { draws: Draws::Table, ..formula };
    assert_eq!([11, 12, 85, 86, 267].map(|cycles| of(formula, cycles)), [0, 1, 2, 3, 6]);
    assert_eq!([49, 50, 149, 150, 291].map(|cycles| of(table, cycles)), [0, 1, 2, 3, 6]);
    let limited = Ecc { rereads_max: Some(2), ..formula };
    assert_eq!([85, 86].map(|cycles| of(limited, cycles)), [2, u32::MAX], "correction gives up");
    assert_eq!(of(Ecc { strength: None, ..formula }, 290), 0);
}

#[test]
fn worn_tlc_has_the_published_share_of_codewords_below_75_errors() {
    let mut cells = cells(ErrorConfig::new(calm(), without_ecc()));
    cells.erase(BLOCK, 5_000);
    assert!((cells.expected_errors(BLOCK, 0, 0.0) - 67.2).abs() < 0.05);
    read_often(&mut cells, 50_000, 4096);
    let counts = cells.histogram().counts();
    let share = counts[..=75].iter().sum::<u64>() as f64 / 400_000.0;
    // 4 sigma of a binomial(400000, 0.846).
    assert!((share - 0.846).abs() < 0.0023 + 0.0005, "{share}");
}

#[test]
fn the_mean_of_the_draws_is_bits_times_rber() {
    for chip in CHIPS {
        let wear = RberModel { gamma: 0.0, ..chip.model };
        for (codeword_bytes, cycles) in [(512, 300), (4096, 300), (512, 5_000), (4096, 5_000)] {
            let ecc = Ecc { codeword_bytes, ..without_ecc() };
            let mut cells = cells(ErrorConfig::new(wear, ecc));
            cells.erase(BLOCK, cycles);
            read_often(&mut cells, 5_000, 16_384);
            let (counters, rber) = (cells.counters(), cells.rber(BLOCK, 0, 0.0));
            let bits = counters.codewords_read as f64 * f64::from(codeword_bytes * 8);
            let slack = 4.0 * libm::sqrt(bits * rber * (1.0 - rber));
            assert!((counters.raw_bit_errors as f64 - bits * rber).abs() <= slack, "{} {cycles}", chip.name);
        }
    }
}

#[test]
fn without_a_strength_nothing_is_read_again_and_errors_still_count() {
    for draws in [Draws::Independent, Draws::Sticky, Draws::Expected, Draws::Table] {
        let ecc = Ecc { draws, ..without_ecc() };
        let mut cells = cells(ErrorConfig::new(model("tlc-72l-2018"), ecc));
        cells.erase(BLOCK, 10_000);
        let outcomes: Vec<_> = (0..100).map(|_| cells.read(BLOCK, 5, 4096, 1.0)).collect();
        assert!(outcomes.iter().all(|outcome| outcome.rereads == 0 && outcome.correctable), "{draws:?}");
        assert!(cells.counters().raw_bit_errors > 100 * 8 * 200, "{draws:?}: {:?}", cells.counters());
        assert_eq!((cells.counters().retries, cells.reads(BLOCK), cells.rereads(BLOCK)), (0, 100, 0));
    }
}

#[test]
fn every_sense_disturbs_unless_errors_are_expected_values() {
    let table = [(Draws::Independent, true), (Draws::Sticky, true), (Draws::Expected, false), (Draws::Table, false)];
    for (draws, disturbs) in table {
        let ecc = Ecc { strength: Some(25), draws, ..Ecc::default() };
        let mut cells = cells(ErrorConfig::new(model("tlc-72l-2018"), ecc));
        cells.erase(BLOCK, 5_000);
        let rereads: u32 = (0..50).map(|_| cells.read(BLOCK, 0, 4096, 0.0).rereads).sum();
        assert!(rereads >= 100, "{draws:?}: {rereads}");
        assert_eq!(cells.rereads(BLOCK), rereads);
        assert_eq!(cells.reads(BLOCK), 50 + if disturbs { rereads } else { 0 }, "{draws:?}");
        assert_eq!((cells.reads(BlockId(0)), cells.rereads(BlockId(0))), (0, 0));
        cells.erase(BLOCK, 5_001);
        assert_eq!((cells.reads(BLOCK), cells.rereads(BLOCK)), (0, 0));
    }
}

#[test]
fn weaker_correction_leaves_more_errors_to_the_next_read() {
    let mean = |strength| {
        let ecc = Ecc { strength, ..Ecc::default() };
        let mut cells = cells(ErrorConfig::new(model("tlc-72l-2018"), ecc));
        cells.erase(BLOCK, 5_000);
        read_often(&mut cells, 1_000, 4096);
        cells.counters().raw_bit_errors / cells.counters().codewords_read
    };
    let (none, strong, weak) = (mean(None), mean(Some(75)), mean(Some(25)));
    assert!(none < strong, "{none} {strong}");
    assert!(strong < weak, "{strong} {weak}");
}

#[test]
fn a_read_counts_every_check_of_every_codeword() {
    let table = [(512, 4096, 8), (512, 100, 1), (512, 513, 2), (4096, 4096, 1), (1024, 16_384, 16)];
    for (codeword_bytes, bytes, codewords) in table {
        let ecc = Ecc { codeword_bytes, strength: Some(0), rereads_max: Some(2), ..Ecc::default() };
        let mut cells = cells(ErrorConfig::new(model("tlc-72l-2018"), ecc));
        cells.erase(BLOCK, 10_000);
        let outcome = cells.read(BLOCK, 0, bytes, 0.0);
        assert_eq!((outcome.rereads, outcome.correctable), (2, false));
        let counters = cells.counters();
        assert_eq!((counters.codewords_read, counters.codewords_checked), (codewords, 3 * codewords));
        assert_eq!((counters.reads_retried, counters.retries, counters.uncorrectable_reads), (1, 2, 1));
        assert_eq!(counters.raw_bit_errors, outcome.raw_bit_errors);
        assert_eq!(cells.histogram().counts().iter().sum::<u64>(), codewords);
    }
}

#[test]
fn expected_errors_count_a_check_at_every_attempt() {
    // 10 % of 512 bytes are 409 errors. Two halvings leave 102, which no step of soft decision corrects.
    let model = RberModel { epsilon: 0.1, ..RberModel::default() };
    let hard = Ecc { strength: Some(102), draws: Draws::Expected, ..Ecc::default() };
    for (sensing, attempts, rereads) in [(Sensing::Hard, 2, 2), (Sensing::Soft, 3, 6)] {
        let mut cells = cells(ErrorConfig::new(model, Ecc { sensing, ..hard }));
        let outcome = cells.read(BLOCK, 0, 4096, 0.0);
        assert_eq!((outcome.rereads, outcome.correctable), (rereads, sensing == Sensing::Hard));
        assert_eq!(cells.counters().codewords_checked, 8 * (1 + attempts), "{sensing:?}");
        assert_eq!(outcome.raw_bit_errors, 8 * 409);
        assert_eq!(cells.histogram().counts()[ErrorHistogram::OVERFLOW], 8);
    }
}

#[test]
fn rereads_come_as_often_as_the_binomial_says() {
    // Share of pages of 8 codewords that need no re-read: P(binomial(4096, rber) <= 75)^8.
    let mut cells = cells(ErrorConfig::new(calm(), Ecc::default()));
    cells.erase(BLOCK, 5_000);
    let rber = cells.rber(BLOCK, 0, 0.0);
    let below: f64 = (0..=75).map(|errors| mass(4096, rber, errors)).sum();
    let expected = (0..8).fold(1.0, |product, _| product * below);
    read_often(&mut cells, 100_000, 4096);
    let found = 1.0 - cells.counters().reads_retried as f64 / 100_000.0;
    let slack = 4.0 * libm::sqrt(expected * (1.0 - expected) / 1e5);
    assert!((found - expected).abs() < slack, "{found} {expected}");
}

fn mass(n: u32, p: f64, count: u32) -> f64 {
    let (n, k) = (f64::from(n), f64::from(count));
    let choose = libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0);
    libm::exp(choose + k * libm::log(p) + (n - k) * libm::log1p(-p))
}

#[test]
fn sticky_errors_are_thinned_and_independent_ones_drawn_anew() {
    // A codeword of 8 bits, all wrong. Halved, 3 or fewer stay with the probability 93 / 256 of a binomial(8, 1/2), whether
    // errors are kept or drawn anew; at scale 1 all stay.
    let all_wrong = RberModel { epsilon: 1.0, ..RberModel::default() };
    for draws in [Draws::Sticky, Draws::Independent] {
        for (scale, share) in [(2.0, 93.0 / 256.0), (1.0, 0.0)] {
            let ecc =
                Ecc { codeword_bytes: 1, strength: Some(3), rereads_max: Some(1), scale, draws, ..Ecc::default() };
            let mut cells = cells(ErrorConfig::new(all_wrong, ecc));
            let corrected = (0..40_000).filter(|_| cells.read(BLOCK, 0, 1, 0.0).correctable).count() as f64 / 4e4;
            assert!((corrected - share).abs() < 0.0097, "{draws:?} {scale}: {corrected}");
        }
    }
}

#[test]
fn sticky_errors_know_what_was_there_before() {
    // At scale 1 sticky errors stay what they were: a page that just failed never succeeds.
    let coin = RberModel { epsilon: 0.5, ..RberModel::default() };
    for (draws, ever) in [(Draws::Sticky, false), (Draws::Independent, true)] {
        let ecc = Ecc { strength: Some(2048), rereads_max: Some(1), scale: 1.0, draws, ..Ecc::default() };
        let mut cells = cells(ErrorConfig::new(coin, ecc));
        let healed = (0..1000).map(|_| cells.read(BLOCK, 0, 512, 0.0)).any(|read| read.rereads > 0 && read.correctable);
        assert_eq!(healed, ever, "{draws:?}");
    }
}

#[test]
fn an_uncorrectable_page_is_an_outcome() {
    let ecc = Ecc { strength: Some(10), rereads_max: Some(1), ..Ecc::default() };
    let mut cells = cells(ErrorConfig::new(model("mlc-2ynm-2015"), ecc));
    cells.erase(BLOCK, 10_000);
    // After a year at 10,000 cycles every bit is wrong.
    let outcome = cells.read(BLOCK, 0, 4096, 365.0);
    assert_eq!(outcome, PageOutcome { rereads: 1, correctable: false, raw_bit_errors: 8 * 4096 });
}

#[test]
fn a_chip_gets_tables_only_for_what_its_model_knows() {
    let wear = RberModel { beta: 0.0, gamma: 0.0, ..model("tlc-72l-2018") };
    let (blocks, pages) = (4, 4 * PAGES as usize);
    let plain = ErrorConfig::new(wear, Ecc::default());
    let retention = RberModel { gamma: 0.0, ..model("tlc-72l-2018") };
    let table = [
        ("wear", plain, 8 * blocks),
        ("counts", ErrorConfig { read_counts: ReadCounts::Always, ..plain }, 16 * blocks),
        ("disturb", ErrorConfig { model: model("tlc-72l-cvss"), ..plain }, 24 * blocks),
        ("retention", ErrorConfig { model: retention, ..plain }, 16 * blocks + 4 * pages),
        ("retention by block", ErrorConfig { model: retention, page_time: PageTime::PerBlock, ..plain }, 24 * blocks),
        ("spread", ErrorConfig { block_sigma: 0.1, layer_sigma: 0.1, layers: 3, ..plain }, 12 * blocks + 24),
    ];
    for (name, config, bytes) in table {
        let mut cells = cells(config);
        read_often(&mut cells, 1, 4096);
        assert_eq!(cells.table_bytes(), bytes, "{name}");
        assert_eq!(cells.reads(BLOCK), u32::from(!cells.counts.is_empty()), "{name}");
    }
}

#[test]
fn data_age_from_their_own_program_on() {
    let rber = |page_time| {
        let mut cells = cells(ErrorConfig { page_time, ..ErrorConfig::new(model("mlc-2ynm-2015"), Ecc::default()) });
        cells.erase(BLOCK, 5_000);
        cells.age(BlockId(0), 30.0, 0);
        cells.program(BLOCK, 0, 2, 10.0);
        cells.program(BLOCK, 2, 1, 20.0);
        [0, 1, 2].map(|page| cells.rber(BLOCK, page, 30.0))
    };
    let exact = |days| model("mlc-2ynm-2015").rber(5_000.0, days, 0.0);
    for (page_time, days) in [(PageTime::PerPage, [20.0, 20.0, 10.0]), (PageTime::PerBlock, [20.0; 3])] {
        for (found, days) in rber(page_time).into_iter().zip(days) {
            assert!((found / exact(days) - 1.0).abs() < 1e-6, "{page_time:?}: {found} {days}");
        }
    }
}

#[test]
fn blocks_and_layers_spread_around_the_model() {
    let geometry = geometry(20_000);
    let plain = ErrorConfig::new(calm(), Ecc::default());
    let rated = |block_sigma, layer_sigma, layers| {
        let config = ErrorConfig { block_sigma, layer_sigma, layers, ..plain };
        Cells::new(&geometry, config, Streams::new(5).stream("errors"))
    };
    let exact = calm().rber(0.0, 0.0, 0.0);
    let ratio = |cells: &Cells, block: u32, page: u32| cells.rber(BlockId(block), page, 0.0) / exact;

    let cells = rated(0.3, 0.0, 1);
    let ratios: Vec<f64> = (0..20_000).map(|block| ratio(&cells, block, 0)).collect();
    let mean = ratios.iter().sum::<f64>() / 2e4;
    let variance = ratios.iter().map(|ratio| (ratio - mean) * (ratio - mean)).sum::<f64>() / 2e4;
    // 4 sigma of the mean; the variance of the factor is exp(0.09) - 1 = 0.0942.
    assert!((mean - 1.0).abs() < 4.0 * libm::sqrt(0.0942 / 2e4), "{mean}");
    assert!((variance - 0.0942).abs() < 0.01, "{variance}");
    assert_eq!(ratio(&cells, 7, 0), ratio(&cells, 7, PAGES - 1), "all pages of a block share its factor");

    let cells = rated(0.0, 0.3, PAGES / 2);
    let layers: Vec<f64> = (0..PAGES).map(|page| ratio(&cells, 3, page)).collect();
    assert!(layers.chunks(2).all(|layer| layer[0] == layer[1]), "two pages lie on each layer");
    assert!(layers.windows(2).filter(|pair| pair[0] != pair[1]).count() == PAGES as usize / 2 - 1);
    assert_eq!(ratio(&cells, 3, 9), ratio(&cells, 8, 9), "layers are alike in all blocks");

    let again = rated(0.3, 0.0, 1);
    assert!(
        (0..20_000).all(|block| ratio(&again, block, 0) == ratios[block as usize]),
        "the same seed, the same blocks"
    );
}

#[test]
fn the_same_seed_gives_the_same_errors() {
    let run = |seed| {
        let config = ErrorConfig::new(model("tlc-72l-2018"), Ecc { strength: Some(60), ..Ecc::default() });
        let mut cells = Cells::new(&geometry(4), config, Streams::new(seed).stream("errors"));
        cells.erase(BLOCK, 5_000);
        (0..200).map(|page| cells.read(BLOCK, page % PAGES, 4096, 0.0)).collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn pages_drawn_as_a_whole_fare_like_pages_drawn_by_codeword() {
    // Read disturb is on, so each re-read meets a higher RBER. A block is erased before the RBER grows.
    let run = |detail, cycles, ecc: Ecc, bytes| {
        let mut cells = cells(ErrorConfig { detail, ..ErrorConfig::new(model("tlc-72l-2018"), ecc) });
        let mut rereads = [0u32; 8];
        for _ in 0..40_000 {
            cells.erase(BLOCK, cycles);
            cells.age(BLOCK, 0.0, 300);
            let outcome = cells.read(BLOCK, 0, bytes, 0.0);
            rereads[outcome.rereads as usize] += 1;
            assert_eq!(cells.reads(BLOCK), 301 + outcome.rereads, "every sense disturbs");
        }
        (rereads, cells.counters())
    };
    let ecc = |strength, rereads_max| Ecc { strength, rereads_max, ..Ecc::default() };
    let table = [
        (5_000, ecc(Some(75), None), 4096),
        (5_000, ecc(Some(75), Some(0)), 4096),
        (5_000, ecc(Some(25), None), 4096),
        (5_000, ecc(Some(40), Some(1)), 16_384),
        (10_000, ecc(Some(25), Some(2)), 512),
        (1_000, ecc(Some(12), None), 4096),
        (1_000, ecc(None, None), 4096),
        (5_000, Ecc { sensing: Sensing::Soft, ..ecc(Some(50), None) }, 4096),
    ];
    for (cycles, ecc, bytes) in table {
        let (plain, plain_counters) = run(Detail::Codewords, cycles, ecc, bytes);
        let (whole, whole_counters) = run(Detail::Pages, cycles, ecc, bytes);
        // Two counts of the same share differ by a variance of at most their sum.
        let close = |a: u64, b: u64, weight: f64| {
            let (a, b) = (a as f64, b as f64);
            (a - b).abs() <= 4.5 * libm::sqrt(weight * (a + b)) + 1.0
        };
        for (rereads, (a, b)) in plain.into_iter().zip(whole).enumerate() {
            assert!(close(a.into(), b.into(), 1.0), "{ecc:?}, {rereads} re-reads: {plain:?} {whole:?}");
        }
        let (a, b) = (plain_counters, whole_counters);
        assert!(close(a.uncorrectable_reads, b.uncorrectable_reads, 1.0), "{a:?} {b:?}");
        assert!(close(a.raw_bit_errors, b.raw_bit_errors, 1.0), "{a:?} {b:?}");
        assert_eq!(a.codewords_read, b.codewords_read);
        // Checks of one page are correlated: up to all its codewords, five times.
        let weight = 5.0 * f64::from(ecc.codewords(bytes));
        let again = |counters: ErrorCounters| counters.codewords_checked - counters.codewords_read;
        assert!(close(again(a), again(b), weight), "{a:?} {b:?}");
    }
}

#[test]
fn one_codeword_stands_for_a_whole_read() {
    let ecc = Ecc { strength: Some(75), rereads_max: Some(0), ..Ecc::default() };
    let share = |checks, detail, bytes| {
        let mut cells = cells(ErrorConfig { checks, detail, ..ErrorConfig::new(model("tlc-72l-2018"), ecc) });
        let failed = (0..20_000).filter(|_| {
            cells.erase(BLOCK, 5_000);
            !cells.read(BLOCK, 0, bytes, 0.0).correctable
        });
        let failed = failed.count() as f64 / 20_000.0;
        let counted = if detail == Detail::Pages { 0 } else { cells.counters().codewords_read };
        assert_eq!(cells.histogram().counts().iter().sum::<u64>(), counted);
        failed
    };
    let one = share(ChecksPerRead::EveryCodeword, Detail::Codewords, 512);
    let eight = 1.0 - libm::pow(1.0 - one, 8.0);
    for detail in [Detail::Codewords, Detail::Pages] {
        // Two shares of 20,000 around 0.15 differ by a deviation of 0.0036.
        assert!((share(ChecksPerRead::OneCodeword, detail, 4096) - one).abs() < 0.016, "{detail:?} {one}");
        assert!((share(ChecksPerRead::EveryCodeword, detail, 4096) - eight).abs() < 0.04, "{detail:?} {one}");
    }
}

#[test]
fn a_config_that_cannot_be_is_refused_in_one_sentence() {
    let good = ErrorConfig::new(model("tlc-72l-2018"), Ecc::default());
    let ecc = |ecc: Ecc| ErrorConfig { ecc, ..good };
    let table = [
        (ErrorConfig { model: RberModel { alpha: f64::NAN, ..good.model }, ..good }, "alpha is NaN; a parameter"),
        (ErrorConfig { model: RberModel { q: -1.0, ..good.model }, ..good }, "q is -1; a parameter"),
        (ecc(Ecc { codeword_bytes: 0, ..good.ecc }), "codeword-bytes is 0; a codeword has 1 B to 131072 B"),
        (ecc(Ecc { codeword_bytes: 1 << 18, ..good.ecc }), "codeword-bytes is 262144; a codeword"),
        (ecc(Ecc { scale: 0.5, ..good.ecc }), "scale is 0.5; a re-read divides"),
        (ecc(Ecc { scale: f64::INFINITY, ..good.ecc }), "scale is inf; a re-read divides"),
        (ecc(Ecc { scale: 1.0, ..good.ecc }), "scale is 1; with a scale below 1.1"),
        (ErrorConfig { block_sigma: -0.1, ..good }, "block-sigma is -0.1; a spread"),
        (ErrorConfig { layer_sigma: f64::NAN, ..good }, "layer-sigma is NaN; a spread"),
        (ErrorConfig { layers: 0, ..good }, "layers is 0; a block"),
        (ErrorConfig { layers: PAGES + 1, ..good }, "layers is 65; a block"),
    ];
    for (config, message) in table {
        let error = config.check(&geometry(4)).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
    let limited = Ecc { scale: 1.0, rereads_max: Some(3), ..good.ecc };
    for config in [good, ecc(limited), ecc(Ecc::soft_decision(4096, 50)), ErrorConfig { layers: PAGES, ..good }] {
        assert_eq!(config.check(&geometry(4)), Ok(()));
    }
}
