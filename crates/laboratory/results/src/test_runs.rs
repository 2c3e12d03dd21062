//! Made-up runs for tests: plausible figures without an engine. Other crates get them with the feature `test-runs`.

#![allow(clippy::unwrap_used, reason = "only tests call it")]

use wane_units::{Bytes, Geometry};

use crate::*;

/// The properties of a made-up drive.
#[derive(Clone, Copy, Debug)]
pub struct MadeUp {
    /// Name of its scenario.
    pub name: &'static str,
    /// Root of its noise.
    pub seed: u64,
    /// Blocks, a multiple of eight.
    pub blocks: u32,
    /// Rows of its timeline, at least two.
    pub rows: u64,
    /// Whether the drive gives up capacity instead of dying when its spare blocks are used up.
    pub variant: bool,
    /// Whether wear is leveled.
    pub leveled: bool,
}

const UNITS_PER_BLOCK: u64 = 64;
const PAGE: u64 = 4096;
const ENDURANCE: u32 = 500;
/// Blocks by which each row of a timeline is made up; those of a larger drive are like them. Tests make hundreds of such drives.
const BLOCKS_OF_A_ROW: usize = 512;

/// A small run that died.
pub fn test_run(seed: u64) -> RunResult {
    made_up(MadeUp { name: "test", seed, blocks: 32, rows: 12, variant: false, leveled: false })
}

/// A number in 0..1 that looks random.
fn noise(seed: u64, index: u64) -> f64 {
    let mut word = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ index.wrapping_mul(0xD1B5_4A32_D192_ED03);
    word ^= word >> 29;
    word = word.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word ^= word >> 32;
    (word >> 11) as f64 / (1u64 << 53) as f64
}

/// The run of a made-up drive.
pub fn made_up(like: MadeUp) -> RunResult {
    let MadeUp { blocks, rows, seed, .. } = like;
    let geometry = Geometry::new(2, 2, 2, blocks / 8, UNITS_PER_BLOCK as u32, Bytes(PAGE)).unwrap();
    let logical = u64::from(blocks) * UNITS_PER_BLOCK * 9 / 10;
    let spread = if like.leveled { 0.05 } else { 0.35 };
    let speed: Vec<f64> = (0..u64::from(blocks))
        .map(|block| {
            let hot = if !like.leveled && block % 3 == 0 { 1.3 } else { 0.9 };
            hot * (1.0 + spread * (noise(seed, block) + noise(seed, block + 7_000_000) - 1.0))
        })
        .collect();
    let limit = if like.variant { blocks * 6 / 10 } else { blocks / 10 };
    let mut timeline = Timeline::new(1);
    let mut counters = Counters::default();
    let mut last_window = Counters::default();
    let one_in = speed.len().div_ceil(BLOCKS_OF_A_ROW);
    let mean_at = |life: f64| 8.0 + life * f64::from(ENDURANCE) * if like.variant { 1.15 } else { 0.85 };
    let count_at = |speed: &f64, mean: f64| ((speed * mean) as u32).min(ENDURANCE);
    for row in 0..rows {
        let life = row as f64 / (rows - 1) as f64;
        let mean = mean_at(life);
        let counts: Vec<u32> = speed.iter().step_by(one_in).map(|speed| count_at(speed, mean)).collect();
        let worn_out = counts.iter().filter(|count| **count >= ENDURANCE).count() * one_in;
        let retired = (worn_out as u32).min(limit);
        let gc = 2.2
            + 0.8 * (-life * 9.0).exp()
            + 1.6 * f64::from(retired) / f64::from(blocks)
            + 0.1 * noise(seed, row + 99);
        let wear_leveling = if like.leveled && life > 0.2 { 0.12 + 0.1 * life } else { 0.0 };
        if row > 0 {
            last_window = counters;
            advance(&mut counters, 40 * logical / rows, gc, wear_leveling);
        }
        let lost =
            if like.variant { logical * u64::from(retired.saturating_sub(blocks / 20)) / u64::from(blocks) } else { 0 };
        timeline.push(Row {
            drive_writes: counters.host_units_written as f64 / logical as f64,
            drive_writes_predicted: 0.0,
            phase: 0,
            counters,
            erase_count: EraseCounts::of(&counts),
            blocks_retired: retired,
            exported_bytes: (logical - lost) * PAGE,
            states: None,
        });
    }
    let counts: Vec<u32> = speed.iter().map(|speed| count_at(speed, mean_at(1.0))).collect();
    let state = |count: &u32| if *count >= ENDURANCE { BlockState::Retired } else { BlockState::Closed };
    let states = counts.iter().map(state).collect();
    let snapshot = WearSnapshot::new(geometry, counts, vec![UNITS_PER_BLOCK as u32 / 2; blocks as usize], states);
    let timeline = timeline.into_rows();
    let summary = summarize(like, &timeline, &snapshot, &(counters - last_window), logical);
    RunResult {
        summary,
        timeline,
        blocks: snapshot.rows(),
        windows: Vec::new(),
        error_histogram: None,
        drives: Vec::new(),
        scenario_toml: scenario(like),
    }
}

/// The same run with `windows` windows, on a drive that gets slower and flash with errors.
pub fn timed(mut run: RunResult, windows: usize) -> RunResult {
    let (seed, end) = (run.summary.run.seed, run.summary.end.at_drive_writes);
    let window = |index: usize| {
        let slow = 1.0 + index as f64 / 4.0 + noise(seed, index as u64) / 10.0;
        let (reads, writes) = (latencies(75_000.0 * slow), latencies(750_000.0 * slow));
        let (read, write) = (figures(&reads), figures(&writes));
        Window {
            kind: WindowKind::Run,
            phase: 0,
            at_drive_writes: end * index as f64 / windows as f64,
            at_days: None,
            erase_count_mean: 10.0 * index as f64,
            life_used: None,
            seconds: 1.5,
            latency: Latency { read: Some(read), write: Some(write), operations: None },
            throughput: Throughput {
                read: OpThroughput {
                    iops: read.times.count as f64 / 1.5,
                    bytes_per_second: 4096.0 * read.times.count as f64 / 1.5,
                },
                write: OpThroughput { iops: write.times.count as f64 / 1.5, bytes_per_second: 1e6 },
            },
            thermal: None,
            errors: Some(Errors {
                retries: 40 * index as u64,
                host_retries: 30 * index as u64,
                host_page_reads: read.times.count,
                uncorrectable: index as u64 / 2,
                ..Errors::default()
            }),
            read_cdf: reads,
            write_cdf: writes,
        }
    };
    run.windows = (0..windows).map(window).collect();
    run.error_histogram =
        Some((0..=256).map(|bits: u64| if bits < 90 { 1_000_000 >> (bits / 5) } else { 0 }).collect());
    run.summary.latency = run.windows.last().map(|window| window.latency.clone());
    run.summary.throughput = run.windows.last().map(|window| window.throughput);
    run.summary.latency_of = run.latency_of();
    run.summary.errors = run.windows.last().and_then(|window| window.errors);
    run.summary.run.flash_operations_per_second = Some(4e6);
    run.scenario_toml.push_str("\n[drive.ecc]\nstrength = 75\n\n[time]\nscheduler = \"event\"\n");
    run
}

/// The same run with probes at these ages, in drive writes.
pub fn probed(run: RunResult, ages: &[f64]) -> RunResult {
    let mut run = timed(run, ages.len());
    for (window, age) in run.windows.iter_mut().zip(ages) {
        (window.kind, window.at_drive_writes) = (WindowKind::Probe, *age);
    }
    run.summary.latency_of = run.latency_of();
    run
}

/// A distribution of latencies with a tail, the fastest first.
fn latencies(fastest_ns: f64) -> Vec<(u64, f64)> {
    let depth = |step: u32| f64::from(step) / 40.0;
    let share = |step: u32| if step == 200 { 1.0 } else { 1.0 - 10f64.powf(-depth(step)) };
    (1..=200).map(|step| ((fastest_ns * (1.0 + depth(step) * depth(step))) as u64, share(step))).collect()
}

fn figures(latencies: &[(u64, f64)]) -> LatencyFigures {
    let at = |share: f64| latencies.iter().find(|point| point.1 >= share).map_or(0, |point| point.0);
    let mean_ns = at(0.6) as f64;
    LatencyFigures {
        times: LatencyDistribution {
            count: 20_000,
            mean_ns,
            p50_ns: at(0.5),
            p75_ns: at(0.75),
            p90_ns: at(0.9),
            p95_ns: at(0.95),
            p99_ns: at(0.99),
            p999_ns: at(0.999),
            p9999_ns: at(0.9999),
            max_ns: at(1.0),
        },
        breakdown_ns: BreakdownMeans {
            sensing: 0.4 * mean_ns,
            behind_host: 0.3 * mean_ns,
            behind_gc: 0.2 * mean_ns,
            transfer: 0.1 * mean_ns,
            ..BreakdownMeans::default()
        },
    }
}

fn advance(counters: &mut Counters, host: u64, gc: f64, wear_leveling: f64) {
    counters.host_units_written += host;
    counters.programmed_host += host;
    counters.programmed_gc += (host as f64 * (gc - 1.0)) as u64;
    counters.programmed_wear_leveling += (host as f64 * wear_leveling) as u64;
    counters.program_operations = counters.programmed_total();
    counters.erases_gc = (counters.programmed_host + counters.programmed_gc) / UNITS_PER_BLOCK;
    counters.erases_wear_leveling = counters.programmed_wear_leveling / UNITS_PER_BLOCK;
    counters.gc_victims = counters.erases_gc;
    counters.gc_victim_valid_units = counters.programmed_gc;
}

fn flash(counters: &Counters) -> Flash {
    Flash {
        scrub_checks: counters.scrub_checks,
        stripes_unprotected: counters.stripes_unprotected,
        reads_buffered: 0,
        reads_around: 0,
        pages_programmed: PagesProgrammed {
            host: counters.programmed_host,
            gc: counters.programmed_gc,
            wear_leveling: counters.programmed_wear_leveling,
            total: counters.programmed_total(),
            ..PagesProgrammed::default()
        },
        program_operations: counters.program_operations,
        blocks_erased: BlocksErased {
            gc: counters.erases_gc,
            wear_leveling: counters.erases_wear_leveling,
            scrub: counters.erases_scrub,
            metadata: counters.erases_metadata,
            total: counters.erases_total(),
        },
    }
}

fn life(written: u64, logical: u64) -> Life {
    Life::of(written as f64 / logical as f64, logical * PAGE, None, true)
}

fn summarize(like: MadeUp, timeline: &[Row], snapshot: &WearSnapshot, last_window: &Counters, logical: u64) -> Summary {
    let (last, counters) = timeline.last().map(|last| (last, last.counters)).unwrap();
    Summary {
        scenario: Scenario {
            name: like.name.to_owned(),
            hash: format!("{:016x}", like.seed * 7919),
            ..Scenario::default()
        },
        host: Host {
            pages_written: counters.host_units_written,
            page_bytes: PAGE,
            bytes_written: counters.host_units_written * PAGE,
            drive_writes: last.drive_writes,
            ..Host::default()
        },
        scaled: None,
        file_system: None,
        array: None,
        fast_forward: None,
        life: Some(life(counters.host_units_written, logical)),
        flash: flash(&counters),
        write_amplification: SummaryWriteAmplification::new(
            write_amplification(&counters, PAGE),
            write_amplification(last_window, PAGE),
        ),
        gc: Gc { victims: counters.gc_victims, valid_pages_per_victim_mean: Some(41.5) },
        wear: Wear {
            erase_count: snapshot.quantiles(),
            erase_count_mean_at_start: timeline[0].erase_count.mean,
            jain_index: snapshot.jain_index(),
            blocks_retired: u64::from(last.blocks_retired),
        },
        capacity: Capacity {
            logical_bytes_initial: logical * PAGE,
            logical_bytes_exported: last.exported_bytes,
            physical_bytes_usable: u64::from(like.blocks - last.blocks_retired) * UNITS_PER_BLOCK * PAGE,
            over_provisioning: None,
        },
        end: End {
            reason: EndReason::EndOfLife,
            cause: Some(if like.variant { EndCause::FootprintDoesNotFit } else { EndCause::SpareExhausted }),
            at_drive_writes: last.drive_writes,
        },
        latency: None,
        latency_of: None,
        latency_by_gc: None,
        throughput: None,
        thermal: None,
        errors: None,
        warnings: vec![],
        run: Run {
            seed: like.seed,
            wall_seconds: 2.5,
            flash_pages_programmed_per_second: Some(1.25e8),
            flash_operations_per_second: None,
            peak_memory_bytes: Some(120 << 20),
            version: "0.1.0".to_owned(),
        },
    }
}

fn scenario(like: MadeUp) -> String {
    format!(
        "seed = {}\n\n[drive]\nlogical-capacity = \"{} KiB\"\nspare-factor = 0.1\npage-size = \"4 KiB\"\n\
         pages-per-block = 64\nendurance = {ENDURANCE}\n\n[ftl]\ncapacity = {{ policy = \"{}\" }}\n\
         gc = {{ policy = \"greedy\" }}\nwear-leveling = {{ policy = \"{}\" }}\n\n\
         [workload]\npattern = \"hot-cold\"\nr = 0.9\nh = 0.1\n",
        like.seed,
        u64::from(like.blocks) * UNITS_PER_BLOCK * 9 / 10 * 4,
        if like.variant { "variant" } else { "fixed" },
        if like.leveled { "pwl" } else { "none" },
    )
}
