//! What requests through the block device cost.
//!
//! `cargo bench -p wane-ssd --bench device` prints one JSON object a line. Requests a second, with a hash of all completions: 16
//! outstanding on a drive of 8 channels with 2 dies each that was filled before, by each scheduler, without bytes and with them.
//! `inherent` are the same reads by the calls of a run (`read_batch`, `commit`), which name units instead of sectors. Ragged
//! writes are of 512 bytes, on units of 9 and 33 sectors: units of 8 and 32 are written in sectors of 4 KiB. Then milliseconds of
//! long requests, in parts, on a drive whose every eighth unit is empty. Arguments after `--` choose cases by a part of their name.

#![allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
#![allow(missing_docs, reason = "a program")]

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use wane_blockdev::{BlockDevice, Completion, Extent, Request, SectorRange, Until};
use wane_ftl::FtlConfig;
use wane_sim::{Stream, Streams};
use wane_ssd::{ClockSpec, CommandKind, Drive, DriveConfig, SchedulerConfig, Timing};
use wane_units::{Bytes, Geometry, Lba, Lpn, Ratio, Sectors, SimTime};

const RUNS: usize = 5;
const OUTSTANDING: usize = 16;
const DIES: u32 = 16;
const PAGES: u32 = 256;
/// Units of a call that fills a drive.
const FILL_UNITS: u32 = 256;

/// A kind of requests.
#[derive(Clone, Copy)]
struct Load {
    name: &'static str,
    unit_bytes: u64,
    /// Length and alignment of a request.
    sectors: u64,
    /// Of a hundred requests.
    writes: u64,
    keeps_bytes: bool,
    /// About how many times as long as a plain read a request takes.
    longer: usize,
}

const PLAIN: Load = Load { name: "reads", unit_bytes: 4096, sectors: 8, writes: 0, keeps_bytes: false, longer: 1 };
const WITH_BYTES: Load = Load { name: "reads-with-bytes", keeps_bytes: true, longer: 4, ..PLAIN };

const LOADS: [Load; 7] = [
    PLAIN,
    Load { name: "mix-70-30", writes: 30, ..PLAIN },
    WITH_BYTES,
    Load { name: "mix-70-30-with-bytes", writes: 30, ..WITH_BYTES },
    Load { name: "writes-with-bytes", writes: 100, ..WITH_BYTES },
    Load { name: "ragged-4.5-kib-units", unit_bytes: 9 * 512, sectors: 1, writes: 100, longer: 50, ..WITH_BYTES },
    Load { name: "ragged-16.5-kib-units", unit_bytes: 33 * 512, sectors: 1, writes: 100, longer: 50, ..WITH_BYTES },
];

/// How much is measured.
struct Scale {
    blocks_per_die: u32,
    requests: usize,
    /// Bytes of a long trim and of long extents; long write-zeroes have a quarter.
    long_bytes: u64,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // The test suite runs benches too, without `--bench`.
    let scale = if arguments.iter().any(|argument| argument == "--bench") {
        Scale { blocks_per_die: 24, requests: 1_000_000, long_bytes: 4 << 30 }
    } else {
        Scale { blocks_per_die: 4, requests: 2_000, long_bytes: 32 << 20 }
    };
    let wanted: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str()));
    for by_events in [true, false] {
        let kind = if by_events { "event" } else { "timeline" };
        for load in LOADS {
            let name = format!("{kind}-{}", load.name);
            if is_wanted(&name) {
                // As much flash for long units as for short ones, and fewer of the requests that take longer.
                let blocks_per_die = (scale.blocks_per_die * 4096 / load.unit_bytes as u32).max(4);
                let requests = scale.requests / load.longer;
                let mut drive = filled(&load, by_events, blocks_per_die);
                measure(&name, requests, || serve(&mut drive, &load, requests));
            }
        }
        let name = format!("{kind}-inherent");
        if is_wanted(&name) {
            let mut drive = filled(&PLAIN, by_events, scale.blocks_per_die);
            measure(&name, scale.requests, || serve_inherently(&mut drive, by_events, scale.requests));
        }
    }
    if is_wanted("long") {
        long_calls(scale.long_bytes);
    }
}

fn clock(by_events: bool) -> ClockSpec {
    let timing = Timing {
        read_ns: vec![75_000],
        program_ns: vec![750_000],
        erase_ns: 3_800_000,
        channel_bytes_per_second: Some(333_000_000),
    };
    ClockSpec { by_events, timing, config: SchedulerConfig::default(), rereads_max: 0, thermal: None }
}

/// A drive whose units were all written once.
fn filled(load: &Load, by_events: bool, blocks_per_die: u32) -> Drive {
    let geometry = Geometry::new(8, DIES / 8, 1, blocks_per_die, PAGES, Bytes(load.unit_bytes)).expect("a small drive");
    let ftl = FtlConfig::new(&geometry, Ratio::new(0.25).expect("a ratio"));
    let (keeps_bytes, clock) = (load.keeps_bytes, Some(clock(by_events)));
    let config = DriveConfig { keeps_bytes, clock, ..DriveConfig::new(geometry, ftl) };
    let mut drive = Drive::new(config).expect("consistent");
    for first in (0..drive.exported()).step_by(FILL_UNITS as usize) {
        let units: Vec<Lpn> = (first..drive.exported().min(first + FILL_UNITS)).map(Lpn).collect();
        let bytes = if load.keeps_bytes { vec![0x5a; units.len() * load.unit_bytes as usize] } else { Vec::new() };
        match load.keeps_bytes {
            true => assert_eq!(drive.write_bytes(&units, &bytes).0, units.len(), "a bench drive lives"),
            false => drive.age(&units).expect("a bench drive lives"),
        }
    }
    drive
}

/// Runs `serve`, which returns a hash of all completions, and prints the rate. A drive goes on from run to run: a copy of one that
/// keeps bytes would copy them when they are written.
fn measure(name: &str, requests: usize, mut serve: impl FnMut() -> u64) {
    let mut rates = Vec::new();
    let mut hash = 0;
    for _ in 0..RUNS {
        let start = Instant::now();
        hash = mixed(hash, serve());
        rates.push(requests as f64 / start.elapsed().as_secs_f64());
    }
    rates.sort_by(f64::total_cmp);
    println!(
        "{{\"case\":\"{name}\",\"requests_per_second\":{:.0},\"slowest\":{:.0},\"fastest\":{:.0},\"hash\":\"{hash:016x}\"}}",
        rates[RUNS / 2],
        rates[0],
        rates[RUNS - 1]
    );
}

const fn mixed(hash: u64, value: u64) -> u64 {
    (hash.rotate_left(25) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Keeps requests outstanding until all are complete. The buffers of reads serve the next requests.
fn serve(drive: &mut Drive, load: &Load, requests: usize) -> u64 {
    let places = drive.capacity().0 / load.sectors;
    let mut stream = Streams::new(1).stream("bench");
    let (mut buffers, mut out): (Vec<Vec<u8>>, Vec<Completion>) = (Vec::new(), Vec::new());
    let (mut now, mut submitted, mut outstanding, mut hash) = (drive.now(), 0, 0, 0);
    loop {
        while outstanding < OUTSTANDING && submitted < requests {
            let range = SectorRange::new(Lba(stream.below(places) * load.sectors), Sectors(load.sectors));
            let buffer = if load.keeps_bytes { buffers.pop() } else { None };
            drive.submit(now, request(load, range, buffer, &mut stream));
            (submitted, outstanding) = (submitted + 1, outstanding + 1);
        }
        let Some(next) = drive.next_event_at() else { return hash };
        now = next;
        drive.complete(now, &mut out);
        outstanding -= out.len();
        for done in out.drain(..) {
            assert!(done.status.is_done(), "a bench drive serves all: {:?}", done.status);
            hash = mixed(mixed(hash, done.id.0), done.at.0);
            buffers.extend(done.bytes);
        }
    }
}

fn request(load: &Load, range: SectorRange, buffer: Option<Vec<u8>>, stream: &mut Stream) -> Request {
    let is_write = load.writes > 0 && stream.below(100) < load.writes;
    match (is_write, load.keeps_bytes) {
        (false, _) => Request { bytes: buffer, ..Request::read(range) },
        (true, false) => Request::write_without_bytes(range),
        (true, true) => Request::write(range, buffer.unwrap_or_else(|| vec![0xa5; range.len_bytes()])),
    }
}

/// The reads of [`PLAIN`] by units.
fn serve_inherently(drive: &mut Drive, by_events: bool, requests: usize) -> u64 {
    let go = AtomicBool::new(false);
    let units = u64::from(drive.exported());
    let mut stream = Streams::new(1).stream("bench");
    let mut hash = 0;
    drive.start_clock(&clock(by_events)).expect("consistent");
    for _ in 0..requests {
        let each = &mut |done: &wane_ssd::Completion| hash = mixed(mixed(hash, done.token), done.at);
        drive.run_until(Until::Below(OUTSTANDING as u64, SimTime::MAX), &go, each);
        let unit = Lpn(stream.below(units) as u32);
        drive.read_batch(&[unit]).expect("it is exported");
        drive.commit(CommandKind::Read, 4096);
    }
    drive.drain(&go, &mut |done| hash = mixed(mixed(hash, done.token), done.at));
    hash
}

/// Prints how long requests take that name gigabytes, in parts.
fn long_calls(bytes: u64) {
    // As many blocks as the bytes need, and half as many again.
    let blocks_per_die = (bytes * 3 / 2 / (u64::from(DIES * PAGES) * 4096)) as u32;
    let mut filled = filled(&PLAIN, true, blocks_per_die.max(4));
    let empty: Vec<Lpn> = (0..filled.exported()).step_by(8).map(Lpn).collect();
    filled.trim_batch(&empty).expect("they are exported");
    let sectors = |bytes: u64| SectorRange::new(Lba(0), Sectors((bytes / 512).min(filled.capacity().0)));
    let whole = sectors(bytes);
    for (name, request) in
        [("long-trim", Request::trim(whole)), ("long-write-zeroes", Request::write_zeroes(sectors(bytes / 4)))]
    {
        time(name, &filled, |drive| {
            let parts = request.clone().parts(request.part(), &drive.features());
            let mut submit = |part| _ = drive.submit(SimTime(0), part);
            parts.map(|part| took(|| submit(part))).collect()
        });
    }
    let mut extents: Vec<Extent> = Vec::new();
    time("long-extents", &filled, |drive| {
        let (mut rest, mut times) = (whole, Vec::new());
        while !rest.is_empty() {
            extents.clear();
            times.push(took(|| drive.extents(rest, &mut extents)));
            rest = rest.without_first(extents.iter().fold(Sectors::ZERO, |sum, extent| sum + extent.range.count));
        }
        times
    });
}

/// Milliseconds of a call.
fn took(call: impl FnOnce()) -> f64 {
    let start = Instant::now();
    call();
    start.elapsed().as_secs_f64() * 1e3
}

/// Prints the milliseconds of calls on a copy of the drive: of all together, and of the longest one.
fn time(name: &str, filled: &Drive, mut calls: impl FnMut(&mut Drive) -> Vec<f64>) {
    let mut runs: Vec<(f64, f64)> = (0..RUNS)
        .map(|_| calls(&mut filled.clone()))
        .map(|times| (times.iter().sum(), times.iter().copied().fold(0.0, f64::max)))
        .collect();
    runs.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (all, longest) = runs[RUNS / 2];
    println!("{{\"case\":\"{name}\",\"ms\":{all:.2},\"longest_part_ms\":{longest:.3}}}");
}
