//! Checks a store with a drive that remembers what was written, and against formulas.

use std::collections::{BTreeMap, BTreeSet};

use wane_sim::Streams;

use super::source::{Queued, Who};
use super::tree::{PLACES, Tree};
use super::*;
use crate::{Batch, Milestone, Op, OperationKind, Source};

const UNIT: u64 = 4096;

/// A store of 16 MiB in records of 512 bytes: levels of 0.16, 1.6 and 16 MiB behind a memtable of 128 KiB.
fn small(operations: Operations) -> LsmConfig {
    LsmConfig {
        units: 8192,
        unit_bytes: UNIT,
        data_bytes: 16 << 20,
        record_bytes: 512,
        memtable_bytes: 128 << 10,
        table_bytes: 128 << 10,
        level_base_bytes: 512 << 10,
        fan_out: 10,
        level0_tables: 4,
        block_bytes: UNIT,
        false_positive: 0.01,
        cache_hits: 0.0,
        clients: 1,
        log: Log::Buffered,
        files: Files::Lowest,
        discard: Discard::Now,
        load: Load::Write,
        operations,
    }
}

fn puts(keys: Keys) -> Operations {
    Operations { gets: 0.0, scans: 0.0, read_modify_writes: 0.0, scan_records: 100, keys }
}

fn source(config: LsmConfig) -> LsmSource {
    LsmSource::new(config, Streams::new(5).stream("workload"))
}

/// A drive that records the store's requests.
#[derive(Default)]
struct Drive {
    mapped: BTreeSet<u32>,
    /// Reads of units that hold nothing.
    misses: u64,
    /// Units read, written and trimmed.
    units: [u64; 3],
    /// Units written that held something.
    rewritten: u64,
    flushes: u64,
}

impl Drive {
    fn serve(&mut self, batch: &Batch) {
        for page in &batch.pages {
            match batch.op {
                Op::Read => self.misses += u64::from(!self.mapped.contains(page)),
                Op::Write => self.rewritten += u64::from(!self.mapped.insert(*page)),
                Op::Trim => {
                    self.mapped.remove(page);
                }
                Op::Flush => {}
            }
        }
        match batch.op {
            Op::Flush => self.flushes += 1,
            op => self.units[op as usize] += batch.pages.len() as u64,
        }
    }
}

/// Serves requests until `puts` bytes were put. Returns the most bytes that all files had.
fn serve(source: &mut LsmSource, drive: &mut Drive, puts: u64) -> u64 {
    let (mut batch, mut most, mut look) = (Batch::default(), 0, 0);
    while source.written.puts < puts {
        source.next(&mut batch, 4096, u64::MAX).unwrap();
        drive.serve(&batch);
        if source.written.puts >= look {
            source.check();
            most = source.bytes().max(most);
            look = source.written.puts + (1 << 18);
        }
    }
    most
}

#[test]
fn the_stores_own_write_amplification_is_that_of_leveled_compaction() {
    for keys in [Keys::Uniform, Keys::Zipf { exponent: 0.99 }] {
        let sizes = LsmConfig { units: 1 << 15, data_bytes: 50 << 20, memtable_bytes: 32 << 10, ..small(puts(keys)) };
        let config = LsmConfig { table_bytes: 32 << 10, ..sizes };
        let (mut source, mut drive) = (source(config.clone()), Drive::default());
        serve(&mut source, &mut drive, 32 << 20);
        let before = source.written.clone();
        let most = serve(&mut source, &mut drive, 160 << 20);
        assert!(most <= config.space(), "{most} bytes, and {} were told", config.space());
        let share = |now: u64, then: u64| (now - then) as f64 / (source.written.puts - before.puts) as f64;
        assert!((share(source.written.log, before.log) - 1.0).abs() < 0.01);
        let mut found = vec![share(source.written.flushes, before.flushes)];
        found.extend(source.written.merged.iter().zip(&before.merged).map(|(now, then)| share(*now, *then)));
        // Tables take turns, so data leave a level where it is fullest. They meet down to half as much of the next level
        // as the formula says, and one more table at the edge of their keys. Tables end with a unit.
        let formula = source.shape.written(&config, 1.0);
        let fullest = source.shape.written(&config, 0.5);
        for (level, found) in found.iter().enumerate() {
            let allowed = 0.95 * fullest[level]..1.1 * formula[level];
            assert!(allowed.contains(found), "{keys:?}, level {level}: {found}, {allowed:?}");
        }
        let (found, formula) = (found.iter().sum::<f64>(), formula.iter().sum::<f64>());
        assert!((found / formula - 1.0).abs() < 0.2, "{keys:?}: {found}, the formula says {formula}");
    }
}

#[test]
fn every_read_finds_what_was_written_whenever_units_are_trimmed() {
    let keys = Keys::Zipf { exponent: 0.99 };
    let mixed = Operations { gets: 0.2, scans: 0.1, read_modify_writes: 0.2, scan_records: 50, keys };
    let mut trims = Vec::new();
    for discard in [Discard::Now, Discard::Delayed, Discard::Idle, Discard::Never] {
        for (clients, log) in [(1, Log::Buffered), (4, Log::Synced), (3, Log::Off)] {
            let files = if clients == 4 { Files::Around } else { Files::Lowest };
            let config = LsmConfig { files, discard, clients, log, ..small(mixed) };
            let (mut source, mut drive) = (source(config.clone()), Drive::default());
            serve(&mut source, &mut drive, 1);
            let loaded = drive.units[Op::Trim as usize];
            assert_eq!(loaded, u64::from(config.units), "the space is trimmed before it is loaded");
            serve(&mut source, &mut drive, 24 << 20);
            let what = format!("{discard:?}, {log:?}");
            assert_eq!(drive.misses, 0, "{what}");
            assert!(drive.units[Op::Read as usize] > 0);
            let puts = source.written.puts / config.record_bytes;
            // That of the last put may be still to come.
            let flushes = if log == Log::Synced { puts - 1..=puts } else { 0..=0 };
            assert!(flushes.contains(&drive.flushes), "{what}: {}", drive.flushes);
            assert_eq!(source.written.log > 0, log != Log::Off, "{what}");
            let trimmed = drive.units[Op::Trim as usize] - loaded;
            let written = drive.units[Op::Write as usize];
            assert_eq!(trimmed > 0, discard != Discard::Never, "{what}: {trimmed}");
            if discard == Discard::Now && log != Log::Synced {
                assert_eq!(drive.rewritten, 0, "{what}: all that is written again was trimmed");
            }
            if log == Log::Buffered {
                trims.push(trimmed as f64 / written as f64);
            }
        }
    }
    assert!(trims[0] > 0.8 && trims[0] > trims[1] && trims[0] > trims[2], "{trims:?}");
}

#[test]
fn a_lookup_reads_the_block_of_its_key_and_those_that_filters_let_pass() {
    // Reads of a lookup: 1, unless the key is in memory, and one for each table above that lets it pass.
    let reads = |keys: Keys, false_positive: f64, cache_hits: f64| {
        let operations = Operations { gets: 0.9, ..puts(keys) };
        let config = LsmConfig { false_positive, cache_hits, load: Load::Assumed, log: Log::Off, ..small(operations) };
        let mut source = source(config);
        let (mut reads, mut gets, mut above) = (0, 0, 0.0);
        for _ in 0..200_000 {
            let client = &mut source.clients[0];
            client.clear();
            if source.stream.chance(0.9) {
                source.get(0);
                gets += 1;
                reads += source.clients[0].len();
                above += tables_above(&source.tree);
            } else {
                source.put(0).unwrap();
            }
            source.ready.clear();
        }
        (reads as f64 / f64::from(gets), above / f64::from(gets))
    };
    // Of 32768 keys 128 + 256 of the memtable and the one that is flushed are in memory at times: about 0.5 %.
    let (uniform, above) = reads(Keys::Uniform, 0.0, 0.0);
    assert!((uniform - 0.994).abs() < 0.003, "{uniform}");
    let (cached, _) = reads(Keys::Uniform, 0.0, 0.25);
    assert!((cached / uniform - 0.75).abs() < 0.01, "{cached}");
    // The last level holds nearly all keys; each table above it lets a tenth pass.
    let (passing, _) = reads(Keys::Uniform, 0.1, 0.0);
    assert!(((passing - uniform) / above - 0.1).abs() < 0.01, "{passing}, {above}");
    // A memtable between empty and full misses D(256) / 256 of lookups, by Zipf's law as its flush writes: 71 %.
    let (zipf, _) = reads(Keys::Zipf { exponent: 0.99 }, 0.0, 0.0);
    assert!((zipf - 0.709).abs() < 0.02, "{zipf}");
    // What was put m puts ago is asked for by Zipf's law over m: (ln 256 - 1 + 0.58) / (ln 32768 + 0.58) = 47 % is in the memtable.
    let (latest, _) = reads(Keys::Latest { exponent: 0.99 }, 0.0, 0.0);
    assert!((latest - 0.53).abs() < 0.03, "{latest}");
}

/// Tables above the last level that cover a key, on average over the keys.
fn tables_above(tree: &Tree) -> f64 {
    let inner = &tree.levels[..tree.levels.len() - 1];
    let covered: u64 =
        inner.iter().flat_map(|level| &level.tables).map(|table| table.keys.end - table.keys.start).sum();
    tree.level0.len() as f64 + covered as f64 / PLACES as f64
}

#[test]
fn batches_do_not_change_what_is_asked() {
    let operations = Operations::ycsb("ycsb-f").unwrap();
    let requests = |pages_max: usize, requests_max: u64| {
        let mut source = source(LsmConfig { clients: 2, log: Log::Synced, ..small(operations) });
        let (mut batch, mut all, mut count) = (Batch::default(), Vec::new(), 0);
        while all.len() < 200_000 {
            source.next(&mut batch, pages_max, requests_max).unwrap();
            assert!(batch.pages.len() <= pages_max && batch.requests <= requests_max);
            all.extend(batch.pages.iter().map(|page| (batch.op, *page)));
            count += batch.requests;
        }
        all.truncate(200_000);
        (all, count)
    };
    let (whole, _) = requests(1 << 20, 1);
    for (pages_max, requests_max) in [(1, u64::MAX), (4096, u64::MAX), (100, 3)] {
        assert_eq!(requests(pages_max, requests_max).0, whole, "{pages_max}, {requests_max}");
    }
}

#[test]
fn requests_wait_for_those_that_they_need() {
    let operations = Operations { read_modify_writes: 0.5, ..puts(Keys::Uniform) };
    let mut source = source(LsmConfig { clients: 2, log: Log::Synced, load: Load::Assumed, ..small(operations) });
    let (mut batch, mut askers, mut seen) = (Batch::default(), Vec::new(), BTreeSet::new());
    for number in 0..20_000u64 {
        while !source.ready.iter().any(|next| matches!(next, Queued::Io(_))) {
            source.advance().unwrap();
        }
        let next = source.ready.iter().find_map(|next| if let Queued::Io(io) = next { Some(io.who) } else { None });
        let who = next.unwrap();
        source.next(&mut batch, 1 << 20, 1).unwrap();
        assert_eq!(batch.requests, 1);
        let waits_for = (batch.after > 0).then(|| askers[(number - batch.after) as usize]);
        match (who, waits_for) {
            (Who::Client(one), Some(Who::Client(other))) => assert_eq!(one, other),
            (Who::MergeWrite, Some(Who::MergeRead)) => {}
            // Its put filled the memtable.
            (Who::Client(_), Some(Who::Flush | Who::MergeWrite)) => {}
            // The log is written by clients here, who waited for it.
            (Who::Client(_) | Who::Log | Who::Flush | Who::MergeRead | Who::Space, None) => {}
            other => panic!("request {number}: {other:?}"),
        }
        if let Some(of) = waits_for {
            seen.insert(of.index());
        }
        askers.push(who);
    }
    let askers = [Who::MergeRead, Who::Client(0), Who::Client(1)];
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), askers.map(Who::index));
}

/// Serves a store's requests and checks that each client's operations begin and end in turn, and wait for requests of their own and of
/// flushes. How many ended of each kind, and how many of these waited for a request of their own, and of others.
fn ended(operations: Operations, log: Log) -> BTreeMap<OperationKind, [u64; 3]> {
    let config = LsmConfig { clients: 3, log, load: Load::Assumed, cache_hits: 0.3, ..small(operations) };
    let mut source = source(config);
    let (mut batch, mut askers, mut ended) = (Batch::default(), Vec::new(), BTreeMap::new());
    let (mut since, mut held) = ([None; 3], [None; 3]);
    for number in 0..30_000u64 {
        while !source.ready.iter().any(|next| matches!(next, Queued::Io(_))) {
            source.advance().unwrap();
        }
        let next = source.ready.iter().find_map(|next| if let Queued::Io(io) = next { Some(io.who) } else { None });
        source.next(&mut batch, 1 << 20, 1).unwrap();
        for milestone in &batch.milestones {
            match *milestone {
                Milestone::Begins { client } => {
                    assert_eq!(since[client as usize].replace(number), None, "the one before has ended");
                }
                Milestone::Ends { client, kind, after } => {
                    let begun = since[client as usize].take().expect("it has begun");
                    let asker = |after: u64| askers[(number - after) as usize];
                    let own = (begun..number).rev().find(|number| askers[*number as usize] == Who::Client(client));
                    assert_eq!(after[0], own.map_or(0, |own| number - own), "{kind:?} of {begun} to {number}");
                    assert!(after[1] == 0 || matches!(asker(after[1]), Who::Flush | Who::MergeWrite));
                    if after[1] > 0 {
                        held[client as usize] = Some(number - after[1]);
                    }
                    let counts: &mut [u64; 3] = ended.entry(kind).or_default();
                    let add = [1, u64::from(after[0] > 0), u64::from(after[1] > 0)];
                    counts.iter_mut().zip(add).for_each(|(count, add)| *count += add);
                }
            }
        }
        if let Some(Who::Client(client)) = next
            && let Some(held) = held[client as usize].take()
        {
            assert!(batch.after > 0 && number - batch.after >= held, "a client waits for what held its put");
        }
        askers.push(next.unwrap());
    }
    ended
}

#[test]
fn operations_begin_and_end_in_turn_and_wait_for_what_they_need() {
    let mixed = Operations { gets: 0.3, scans: 0.2, read_modify_writes: 0.3, ..puts(Keys::Zipf { exponent: 0.99 }) };
    let of = ended(mixed, Log::Buffered);
    let kinds = [OperationKind::Read, OperationKind::Update, OperationKind::Scan, OperationKind::ReadModifyWrite];
    assert_eq!(of.keys().copied().collect::<Vec<_>>(), kinds);
    for (kind, [count, own, other]) in &of {
        let puts = matches!(kind, OperationKind::Update | OperationKind::ReadModifyWrite);
        let reads = *kind != OperationKind::Update;
        assert_eq!((*own > 0, *other > 0), (reads, puts), "{kind:?}: {count}, {own}, {other}");
        assert!(own < count, "{kind:?}: some are found in memory, and nobody waits for a buffered log");
    }
    let synced = ended(mixed, Log::Synced)[&OperationKind::Update];
    assert_eq!(synced[0], synced[1], "each put waits for its log");
    let latest = ended(Operations { gets: 0.5, ..puts(Keys::Latest { exponent: 0.99 }) }, Log::Off);
    assert_eq!(latest.keys().copied().collect::<Vec<_>>(), [OperationKind::Read, OperationKind::Insert]);
}

#[test]
fn a_store_that_cannot_be_is_refused() {
    let good = small(Operations::ycsb("ycsb-a").unwrap());
    assert_eq!(good.check(), Ok(()));
    let asked = |operations: Operations| LsmConfig { operations, ..good.clone() };
    for (config, reason) in [
        (LsmConfig { record_bytes: 0, ..good.clone() }, "a record is 0 B; 1 B to 128 KiB are allowed"),
        (LsmConfig { memtable_bytes: 100, ..good.clone() }, "a record is 512 B; 1 B to 100 B are allowed"),
        (LsmConfig { table_bytes: 100, ..good.clone() }, "a table is 100 B; 4 KiB to"),
        (LsmConfig { data_bytes: 4096, ..good.clone() }, "the data is 4 KiB; 128 KiB to"),
        (LsmConfig { fan_out: 1, ..good.clone() }, "the fan-out is 1; 2 to 100 are allowed"),
        (LsmConfig { clients: 0, ..good.clone() }, "the number of clients is 0; 1 to 1024"),
        (LsmConfig { cache_hits: 1.0, ..good.clone() }, "the share of blocks found in memory is 1; 0 to less than 1"),
        (LsmConfig { false_positive: f64::NAN, ..good.clone() }, "the rate of false positives is NaN"),
        (LsmConfig { units: 5000, ..good.clone() }, "for 16 MiB of records, and has 19.53 MiB"),
        (asked(Operations { gets: 0.7, scans: 0.5, ..good.operations }), "the sum of the shares of operations is 1.2"),
        (asked(Operations { scan_records: 0, ..good.operations }), "the longest scan is 0"),
        (asked(puts(Keys::Zipf { exponent: 0.0 })), "Zipf's exponent is 0; more than 0 to 10 is allowed"),
    ] {
        let refusal = config.check().unwrap_err().to_string();
        assert!(refusal.contains(reason), "{refusal}");
    }
    for name in Operations::YCSB {
        assert_eq!(asked(Operations::ycsb(name).unwrap()).check(), Ok(()), "{name}");
    }
    assert_eq!(Operations::ycsb("ycsb-g"), None);
}
