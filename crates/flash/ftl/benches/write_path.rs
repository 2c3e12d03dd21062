//! Flash pages programmed per second, compared with a bare loop on the same machine.
//!
//! `cargo bench -p wane-ftl` prints one JSON object per line. The reference is a bare loop of random read-modify-writes over a table
//! of the map's size, each prefetched 32 accesses ahead. Loop and engine alternate for five rounds, so that changes of the
//! machine's speed affect both figures. The share is the median of the rounds' shares. Each line also has the latency of a
//! dependent load over the same table, so that figures of different machines can be compared. Arguments after `--` choose
//! cases by a part of their name; without them the 256 GiB case is left out.
//!
//! A flash page costs more than one random access. A host write also lowers the count of the block that loses a unit, and each
//! page is written to the reverse map, from which collection reads it. [`Necessary`] makes these accesses and decides nothing, so its
//! rate is the most that the engine could reach with these tables. Like the engine it prefetches earlier than the loop. So it may be
//! faster where 32 accesses take less time than memory takes to answer; `bare_loop_early_per_second` is a loop that prefetches as early.

#![allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
#![allow(missing_docs, reason = "a program")]

use std::time::Instant;

use wane_ftl::policies::allocation::ALLOCATION_POLICIES;
use wane_ftl::policies::capacity::CAPACITY_POLICIES;
use wane_ftl::policies::mode::MODE_POLICIES;
use wane_ftl::policies::placement::PLACEMENT_POLICIES;
use wane_ftl::policies::recovery::RECOVERY_POLICIES;
use wane_ftl::policies::redundancy::REDUNDANCY_POLICIES;
use wane_ftl::policies::retirement::RETIRE_POLICIES;
use wane_ftl::policies::scrub::SCRUB_POLICIES;
use wane_ftl::policies::victim::VICTIM_POLICIES;
use wane_ftl::policies::wear_leveling::WEAR_LEVEL_POLICIES;
use wane_ftl::policies::{Entry, find};
use wane_ftl::{EraseGroup, Ftl, FtlConfig, Outcome, Pooling};
use wane_nand::Array;
use wane_sim::{Stream, Streams};
use wane_units::{Bytes, Geometry, Lpn, Ratio, prefetch, prefetch_far};

const PAGES_PER_BLOCK: u32 = 256;
const ROUNDS: usize = 5;

struct Case {
    name: &'static str,
    logical_blocks: u32,
    /// Number of dies with their own frontiers; 1: a single domain.
    dies: u32,
    victim: &'static str,
    leveler: &'static str,
    redundancy: &'static str,
    recovery: &'static str,
}

const fn case(name: &'static str, logical_blocks: u32, victim: &'static str, leveler: &'static str) -> Case {
    let none = "policy = 'none'";
    Case { name, logical_blocks, dies: 1, victim, leveler, redundancy: none, recovery: none }
}

/// Greedy with out-of-band data, on `dies` dies.
const fn kept(name: &'static str, logical_blocks: u32, dies: u32, recovery: &'static str) -> Case {
    Case { recovery, ..on_dies(name, logical_blocks, dies, "policy = 'none'") }
}

const fn on_dies(name: &'static str, logical_blocks: u32, dies: u32, redundancy: &'static str) -> Case {
    Case { dies, redundancy, ..case(name, logical_blocks, "policy = 'greedy'", "policy = 'none'") }
}

const CASES: &[Case] = &[
    case("1g-greedy", 1024, "policy = 'greedy'", "policy = 'none'"),
    case("8g-greedy", 8192, "policy = 'greedy'", "policy = 'none'"),
    case("8g-cost-benefit", 8192, "policy = 'cost-benefit'", "policy = 'none'"),
    case("8g-random", 8192, "policy = 'random'", "policy = 'none'"),
    case("8g-d-choices", 8192, "policy = 'd-choices'\nd = 8", "policy = 'none'"),
    case("8g-windowed-greedy", 8192, "policy = 'windowed-greedy'\nwindow = 500", "policy = 'none'"),
    case("8g-fifo", 8192, "policy = 'fifo'", "policy = 'none'"),
    case("8g-greedy-hot-cold-swap", 8192, "policy = 'greedy'", "policy = 'hot-cold-swap'"),
    case("8g-greedy-obp", 8192, "policy = 'greedy'", "policy = 'obp'"),
    case("8g-greedy-dual-pool", 8192, "policy = 'greedy'", "policy = 'dual-pool'"),
    case("8g-greedy-pwl", 8192, "policy = 'greedy'", "policy = 'pwl'"),
    case("8g-greedy-variance", 8192, "policy = 'greedy'", "policy = 'variance'"),
    on_dies("1g-dies", 1024, 8, "policy = 'none'"),
    on_dies("8g-dies", 8192, 8, "policy = 'none'"),
    on_dies("1g-stripes", 1024, 8, "policy = 'stripes'\ndata-pages = 7"),
    on_dies("8g-stripes", 8192, 8, "policy = 'stripes'\ndata-pages = 7"),
    kept("1g-full-scan", 1024, 1, "policy = 'full-scan'"),
    kept("8g-full-scan", 8192, 1, "policy = 'full-scan'"),
    kept("8g-checkpoint", 8192, 1, "policy = 'checkpoint'"),
    kept("8g-checkpoint-dies", 8192, 8, "policy = 'checkpoint'"),
    case("256g-greedy-full", 262_144, "policy = 'greedy'", "policy = 'none'"),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if !arguments.iter().any(|argument| argument == "--bench") {
        // A test only sees that it runs.
        let ftl = build(&case("64m-greedy", 64, "policy = 'greedy'", "policy = 'none'"));
        let blocks = ftl.erase_counts().len();
        measure("64m-greedy", ftl, 1.0, blocks);
        return;
    }
    let wanted: Vec<String> = arguments.into_iter().filter(|argument| !argument.starts_with("--")).collect();
    for case in CASES {
        let chosen = wanted.iter().any(|part| case.name.contains(part.as_str()));
        if chosen || (wanted.is_empty() && !case.name.ends_with("full")) {
            let ftl = build(case);
            let blocks = ftl.erase_counts().len();
            measure(case.name, ftl, 1.0, blocks);
        }
    }
    if wanted.is_empty() || wanted.iter().any(|part| FOCUSING.iter().any(|(name, _)| name.contains(part.as_str()))) {
        let [greedy, variant] =
            FOCUSING.map(|(name, firmware)| measure(name, build_focusing(firmware), MAPPED, FOCUSING_BLOCKS));
        println!("{{\"case\":\"cvss-128g\",\"share_of_greedy\":{:.3}}}", variant / greedy);
    }
}

/// The drive of preset `cvss-128g` under greedy collection and under its own policies: names and firmware.
const FOCUSING: [(&str, Focus); 2] = [("128g-greedy", Focus::Greedy), ("128g-cvss", Focus::Variant)];

/// Its flash in blocks of [`PAGES_PER_BLOCK`] pages.
const FOCUSING_BLOCKS: usize = 8 * 8 * 512 * 1024 / PAGES_PER_BLOCK as usize;

/// Share of the drive's capacity that is written.
const MAPPED: f64 = 0.7;

/// Firmware of 128 GiB in superblocks.
#[derive(Clone, Copy)]
enum Focus {
    Greedy,
    /// That of 001: frontiers apart, wear focusing in allocation and collection, a variant capacity, a mode.
    Variant,
}

fn build_focusing(focus: Focus) -> Ftl<Array> {
    let geometry = Geometry::new(8, 8, 1, 512, 1024, Bytes(4096)).expect("the drive is addressable");
    let mut config = FtlConfig {
        logical_units: 31_249_920,
        gc_reserve: 21,
        rated_blocks: 512,
        endurance: Some(300),
        erase_group: EraseGroup::Superblock,
        domain: Pooling::Drive,
        streams: Streams::new(1),
        ..FtlConfig::new(&geometry, Ratio::ZERO)
    };
    if let Focus::Variant = focus {
        config.placement = policy(PLACEMENT_POLICIES, "policy = 'separate'");
        config.allocation = policy(ALLOCATION_POLICIES, "policy = 'wear-focusing'");
        config.victim = policy(VICTIM_POLICIES, "policy = 'wear-focusing'");
        config.retire = policy(RETIRE_POLICIES, "policy = 'at-erases'\nerases = 267");
        config.capacity = policy(
            CAPACITY_POLICIES,
            "policy = 'variant'\nshrink = 'graceful'\nkeep = 'spare'\nstep = 4\nmethod = 'remap'",
        );
        config.mode = policy(MODE_POLICIES, "policy = 'over-provisioning'");
    }
    Ftl::new(Array::new(geometry), config).expect("the case is consistent")
}

/// A table of the map's size in huge pages, for the bare loop and the chase.
struct Ceiling {
    memory: memmap2::MmapMut,
    stream: Stream,
    batch: Vec<u32>,
}

impl Ceiling {
    fn new(entries: usize) -> Self {
        let mut memory = memmap2::MmapMut::map_anon(entries * 4).expect("memory for the table");
        let _ = memory.advise(memmap2::Advice::HugePage);
        // A linear congruential generator modulo a power of two visits each number once: one cycle through all entries. Numbers
        // beyond the table are skipped.
        let table: &mut [u32] = bytemuck::cast_slice_mut(&mut memory);
        let length = entries.next_power_of_two() as u64;
        let next =
            |entry: u64| (entry.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f)) % length;
        for entry in 0..entries as u64 {
            let mut successor = next(entry);
            while successor >= entries as u64 {
                successor = next(successor);
            }
            table[entry as usize] = successor as u32;
        }
        Self { memory, stream: Streams::new(1).stream("bench"), batch: vec![0; 4096] }
    }

    /// Nanoseconds of a load that depends on the previous one.
    fn latency_ns(&self) -> f64 {
        let table: &[u32] = bytemuck::cast_slice(&self.memory);
        let (loads, mut entry) = (2_000_000u32, 0u32);
        let start = Instant::now();
        for _ in 0..loads {
            entry = table[entry as usize];
        }
        let elapsed = start.elapsed();
        std::hint::black_box(entry);
        elapsed.as_secs_f64() * 1e9 / f64::from(loads)
    }

    /// Random read-modify-writes per second, each prefetched `LOOKAHEAD` accesses ahead. Entries keep their values.
    fn loop_rate<const LOOKAHEAD: usize>(&mut self) -> f64 {
        let table: &mut [u32] = bytemuck::cast_slice_mut(&mut self.memory);
        let rounds = (table.len() / self.batch.len()).clamp(1000, 8192);
        let mut sum = 0u32;
        let start = Instant::now();
        for _ in 0..rounds {
            fill(&mut self.stream, &mut self.batch, table.len() as u64);
            for position in 0..self.batch.len() {
                if let Some(ahead) = self.batch.get(position + LOOKAHEAD) {
                    prefetch(table, *ahead as usize);
                }
                let entry = &mut table[self.batch[position] as usize];
                sum = sum.wrapping_add(*entry);
                *entry = std::hint::black_box(*entry);
            }
        }
        let elapsed = start.elapsed();
        std::hint::black_box(sum);
        (rounds * self.batch.len()) as f64 / elapsed.as_secs_f64()
    }
}

/// Only the memory accesses that greedy collection cannot do without, in its order, on tables of its size.
struct Necessary {
    /// Physical unit of each logical one.
    map: memmap2::MmapMut,
    /// Logical unit of each physical one.
    reverse: memmap2::MmapMut,
    /// A cache line for each block: one bit for each valid unit, and their number.
    rows: memmap2::MmapMut,
    stream: Stream,
    blocks: u64,
}

const UNITS: usize = PAGES_PER_BLOCK as usize;
const ROW_WORDS: usize = 8;
/// Prefetch distance of the bare loop.
const LOOP_AHEAD: usize = 32;
/// Prefetch distances of map entries, as in the engine: for host writes, and for moved units. The distance for rows is half of that
/// for host writes.
const AHEAD: usize = 96;
const MOVES_AHEAD: usize = 64;
/// Maps of at least `FAR_ENTRIES` entries are prefetched in two steps, with the same distance for moved units as for host writes.
/// `NEAR_AHEAD` is the distance of the second step.
const FAR_ENTRIES: usize = 1 << 22;
const NEAR_AHEAD: usize = 12;
const _: () = assert!(AHEAD <= UNITS && MOVES_AHEAD <= UNITS, "no more is asked for ahead than a block holds");

impl Necessary {
    fn new(logical: usize, blocks: usize) -> Self {
        let zeroed = |bytes| {
            let memory = memmap2::MmapMut::map_anon(bytes).expect("memory for the table");
            let _ = memory.advise(memmap2::Advice::HugePage);
            memory
        };
        let (mut map, mut reverse) = (zeroed(logical * 4), zeroed(blocks * UNITS * 4));
        let mut stream = Streams::new(1).stream("necessary");
        fill(&mut stream, bytemuck::cast_slice_mut(&mut map), (blocks * UNITS) as u64);
        fill(&mut stream, bytemuck::cast_slice_mut(&mut reverse), logical as u64);
        Self { map, reverse, rows: zeroed(blocks * ROW_WORDS * 8), stream, blocks: blocks as u64 }
    }

    /// Pages per second if `valid` of a victim's units are moved.
    fn rate(&mut self, valid: usize, host_blocks: usize) -> f64 {
        if self.map.len() / 4 >= FAR_ENTRIES {
            self.rate_of::<true>(valid, host_blocks)
        } else {
            self.rate_of::<false>(valid, host_blocks)
        }
    }

    fn rate_of<const FAR: bool>(&mut self, valid: usize, host_blocks: usize) -> f64 {
        let ask = if FAR { prefetch_far } else { prefetch };
        let moves_ahead = if FAR { AHEAD } else { MOVES_AHEAD };
        let Self { map, reverse, rows, stream, blocks } = self;
        let map: &mut [u32] = bytemuck::cast_slice_mut(map);
        let reverse: &mut [u32] = bytemuck::cast_slice_mut(reverse);
        let rows: &mut [u64] = bytemuck::cast_slice_mut(rows);
        let mut host = vec![0u32; UNITS + AHEAD];
        let mut moved = vec![0u32; UNITS];
        let (mut pages, mut room) = (0usize, 0usize);
        fill(stream, &mut host, map.len() as u64);
        let start = Instant::now();
        for _ in 0..host_blocks {
            let base = stream.below(*blocks) as usize * UNITS;
            // Units that were prefetched before come first.
            host.copy_within(UNITS.., 0);
            fill(stream, &mut host[AHEAD..], map.len() as u64);
            reverse[base..][..UNITS].copy_from_slice(&host[..UNITS]);
            for position in 0..UNITS {
                ask(map, host[position + AHEAD] as usize);
                prefetch(rows, map[host[position + AHEAD / 2] as usize] as usize / UNITS * ROW_WORDS);
                let entry = &mut map[host[position] as usize];
                rows[*entry as usize / UNITS * ROW_WORDS] += 1;
                *entry = (base + position) as u32;
            }
            pages += UNITS;
            let mut victim = stream.below(*blocks) as usize * UNITS;
            room = room.saturating_sub(UNITS);
            while room < UNITS {
                moved[..valid].copy_from_slice(&reverse[victim..][..valid]);
                victim = stream.below(*blocks) as usize * UNITS;
                (victim..victim + UNITS).step_by(16).for_each(|line| prefetch(reverse, line));
                let base = stream.below(*blocks) as usize * UNITS;
                reverse[base..][..valid].copy_from_slice(&moved[..valid]);
                moved[..moves_ahead].iter().for_each(|unit| ask(map, *unit as usize));
                for position in 0..valid {
                    ask(map, moved[(position + moves_ahead).min(UNITS - 1)] as usize);
                    if FAR {
                        prefetch(map, moved[(position + NEAR_AHEAD).min(UNITS - 1)] as usize);
                    }
                    map[moved[position] as usize] = (base + position) as u32;
                }
                pages += valid;
                room += UNITS - valid;
            }
        }
        pages as f64 / start.elapsed().as_secs_f64()
    }
}

/// Out of line, so that loop and engine draw with the same code.
#[inline(never)]
fn fill(stream: &mut Stream, batch: &mut [u32], bound: u64) {
    for page in batch {
        *page = stream.below(bound) as u32;
    }
}

/// Writes a share of the drive's capacity at random. The flash has `blocks` blocks of [`PAGES_PER_BLOCK`] pages. Returns the flash pages
/// programmed per second as a share of the bare loop's rate.
fn measure(name: &str, mut ftl: Ftl<Array>, share: f64, blocks: usize) -> f64 {
    let logical = (share * f64::from(ftl.logical_initial())) as u32;
    let mut batch: Vec<u32> = Vec::new();
    for first in (0..logical).step_by(4096) {
        batch.clear();
        batch.extend(first..(first + 4096).min(logical));
        write(&mut ftl, &batch);
    }
    let mut stream = Streams::new(1).stream("workload");
    batch.resize(4096, 0);
    let drive_write = logical as usize / batch.len();
    for _ in 0..3 * drive_write {
        fill(&mut stream, &mut batch, u64::from(logical));
        write(&mut ftl, &batch);
    }
    ftl.set_leveling(true);
    let mut ceiling = Ceiling::new(logical as usize);
    let mut necessary = Necessary::new(logical as usize, blocks);
    let [mut rates, mut loops, mut early, mut shares, mut latencies, mut bounds] = [const { Vec::new() }; 6];
    let before = *ftl.counters();
    // Rounds of some tenths of a second, or of twelve drive writes.
    let batches = (12 * drive_write).min(3000);
    for _ in 0..ROUNDS {
        latencies.push(ceiling.latency_ns());
        early.push(ceiling.loop_rate::<AHEAD>());
        let bare = ceiling.loop_rate::<LOOP_AHEAD>();
        let programmed = ftl.counters().programmed_total();
        let start = Instant::now();
        for _ in 0..batches {
            fill(&mut stream, &mut batch, u64::from(logical));
            write(&mut ftl, &batch);
        }
        let rate = (ftl.counters().programmed_total() - programmed) as f64 / start.elapsed().as_secs_f64();
        let written = batches * batch.len();
        let programmed = (ftl.counters().programmed_total() - programmed) as f64;
        let valid = UNITS as f64 * (1.0 - written as f64 / programmed);
        bounds.push(necessary.rate(valid as usize, written / UNITS) / bare);
        rates.push(rate);
        loops.push(bare);
        shares.push(rate / bare);
    }
    let after = ftl.counters();
    let host = (after.host_units_written - before.host_units_written) as f64;
    let waf = (after.programmed_total() - before.programmed_total()) as f64 / host;
    let hash =
        ftl.erase_counts().iter().fold(0u64, |hash, count| hash.wrapping_mul(31).wrapping_add(u64::from(*count)));
    println!(
        "{{\"case\":\"{}\",\"flash_pages_per_second\":{:.0},\"bare_loop_per_second\":{:.0},\
         \"bare_loop_early_per_second\":{:.0},\"share_of_loop\":{:.3},\"necessary_share_of_loop\":{:.3},\
         \"dependent_load_ns\":{:.1},\"write_amplification\":{waf:.3},\"hash\":\"{hash:016x}\"}}",
        name,
        median(&mut rates),
        median(&mut loops),
        median(&mut early),
        median(&mut shares),
        median(&mut bounds),
        median(&mut latencies),
    );
    median(&mut shares)
}

fn write(ftl: &mut Ftl<Array>, pages: &[u32]) {
    let mut done = 0;
    while done < pages.len() {
        let (written, outcome) = ftl.write(Lpn::slice(&pages[done..]));
        assert!(matches!(outcome, Outcome::Done | Outcome::Paused), "a bench drive does not die");
        assert_eq!(ftl.resume(), Outcome::Done, "a bench drive does not die");
        done += written;
    }
}

fn build(case: &Case) -> Ftl<Array> {
    // Parity of one page in eight takes as much again as the spare blocks of a drive without it.
    let share = if case.redundancy.contains("none") { 0.9 } else { 0.7 };
    let rated_blocks = (f64::from(case.logical_blocks) / share) as u32 / case.dies * case.dies;
    let blocks = rated_blocks / case.dies + 7;
    let geometry =
        Geometry::new(case.dies, 1, 1, blocks, PAGES_PER_BLOCK, Bytes(4096)).expect("the drive is addressable");
    let config = FtlConfig {
        units_per_page: 1,
        logical_units: case.logical_blocks * PAGES_PER_BLOCK,
        gc_reserve: 7,
        rated_blocks,
        endurance: Some(500),
        retire: policy(RETIRE_POLICIES, "policy = 'never'"),
        erase_group: EraseGroup::Block,
        domain: if case.dies == 1 { Pooling::Drive } else { Pooling::Die },
        placement: policy(PLACEMENT_POLICIES, "policy = 'one'"),
        allocation: policy(ALLOCATION_POLICIES, "policy = 'fifo'"),
        victim: policy(VICTIM_POLICIES, case.victim),
        wear_leveling: policy(WEAR_LEVEL_POLICIES, case.leveler),
        redundancy: policy(REDUNDANCY_POLICIES, case.redundancy),
        scrub: policy(SCRUB_POLICIES, "policy = 'none'"),
        capacity: policy(CAPACITY_POLICIES, "policy = 'fixed'"),
        recovery: policy(RECOVERY_POLICIES, case.recovery),
        streams: Streams::new(1),
        ..FtlConfig::new(&geometry, Ratio::ZERO)
    };
    Ftl::new(Array::new(geometry), config).expect("the case is consistent")
}

/// A policy of a family, by its name and parameters as TOML.
fn policy<T>(family: &'static [Entry<T>], text: &str) -> T {
    let mut table: toml::Table = text.parse().expect("the case is TOML");
    let name = table.remove("policy").expect("the case names a policy");
    let name = name.as_str().expect("a name");
    find(family, name).expect("built in").parse(table).expect("valid")
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
