//! Requests submitted and completed a second on one core.
//!
//! `cargo bench -p wane-blockdev` prints one JSON object a line, with a hash of all completions: reads and writes of 4 KiB at
//! random places, 32 outstanding, through memory alone and through a stack of three layers; and through memory with checksums and without, one place after
//! the other and at random. Buffers of completed reads serve the next requests, so that only what memory keeps is allocated.

#![allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
#![allow(missing_docs, reason = "a program")]

use std::time::Instant;

use wane_blockdev::{
    BlockDevice, Completion, Delay, Delays, Fault, Integrity, Kind, Ram, RamConfig, Request, SectorRange, Stats,
};
use wane_sim::Streams;
use wane_units::{Lba, Nanos, Sectors, SimTime};

const RUNS: usize = 5;
const OUTSTANDING: usize = 32;
const UNITS: u64 = 16_384;

fn main() {
    // The test suite runs benches too, without `--bench`.
    let requests = if std::env::args().any(|argument| argument == "--bench") { 2_000_000 } else { 2_000 };
    for (bytes, kind) in [(true, "4k"), (false, "without-bytes")] {
        measure(&format!("ram-{kind}"), requests, Order::Random, || Box::new(ram(bytes)));
        measure(&format!("stats-delay-fault-ram-{kind}"), requests, Order::Random, || {
            Box::new(Stats::new(Delay::new(Fault::new(ram(bytes)), Delays::all(Nanos(500)))))
        });
    }
    measure("ram-4k-sequential", requests, Order::Sequential, || Box::new(ram(true)));
    for (order, name) in [(Order::Random, "random"), (Order::Sequential, "sequential")] {
        measure(&format!("integrity-ram-4k-{name}"), requests, order, || {
            Box::new(Integrity::new(ram(true)).expect("a device of whole blocks"))
        });
    }
}

/// Where requests go.
#[derive(Clone, Copy)]
enum Order {
    Random,
    /// One place after the other.
    Sequential,
}

/// A device with some room for checksums.
fn ram(keeps_bytes: bool) -> Ram {
    let config = RamConfig { latency: Nanos(10_000), keeps_bytes, ..RamConfig::new(Sectors((UNITS + 64) * 8)) };
    Ram::with(config).expect("a small device")
}

fn measure(name: &str, requests: u64, order: Order, make: impl Fn() -> Box<dyn BlockDevice>) {
    let mut rates = Vec::new();
    let mut hash = 0;
    for _ in 0..RUNS {
        let mut device = make();
        let start = Instant::now();
        hash = drive(device.as_mut(), requests, order);
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

/// Keeps requests outstanding until `requests` are complete. Returns a hash of all completions.
fn drive(device: &mut dyn BlockDevice, requests: u64, order: Order) -> u64 {
    let keeps_bytes = device.features().keeps_bytes;
    let mut stream = Streams::new(1).stream("bench");
    let mut buffers: Vec<Vec<u8>> = Vec::new();
    let mut out: Vec<Completion> = Vec::new();
    let (mut now, mut submitted, mut hash) = (SimTime::ZERO, 0, 0u64);
    let mut completed = 0;
    while completed < requests {
        while submitted < requests && submitted - completed < OUTSTANDING as u64 {
            let unit = match order {
                Order::Random => stream.below(UNITS),
                Order::Sequential => submitted % UNITS,
            };
            let range = SectorRange::new(Lba(unit * 8), Sectors(8));
            // Every second request is a write; it takes the buffer that a read filled.
            let buffer = if keeps_bytes { buffers.pop() } else { None };
            device.submit(
                now,
                match buffer {
                    Some(bytes) if submitted % 2 == 1 => Request::write(range, bytes),
                    None if submitted % 2 == 1 => Request::write_without_bytes(range),
                    bytes => Request { bytes, ..Request::read(range) },
                },
            );
            submitted += 1;
        }
        now = device.next_event_at().expect("requests are outstanding");
        device.complete(now, &mut out);
        for done in out.drain(..) {
            completed += 1;
            hash = (hash ^ done.id.0 ^ done.at.0.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            if done.kind == Kind::Read {
                buffers.extend(done.bytes);
            }
        }
    }
    hash
}
