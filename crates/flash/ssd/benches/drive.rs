//! How fast a drive ages compared with its firmware alone, and the cost of waking it.
//!
//! `cargo bench -p wane-ssd --bench drive` prints one JSON object a line. Three take turns: firmware alone, a plain drive, and a
//! drive that has a clock and errors but does not use them. They make five rounds of random writes on 8 GiB; the ratio is the
//! median of the rounds' ratios to the firmware. Then a read wakes the last drive, and it rests again.

#![allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
#![allow(missing_docs, reason = "a program")]

use std::time::Instant;

use wane_blockdev::{BlockDevice, Request, SectorRange};
use wane_ftl::{Ftl, FtlConfig, Outcome};
use wane_nand::{Array, Ecc, ErrorConfig, rber};
use wane_sim::{Stream, Streams};
use wane_ssd::{ClockSpec, Drive, DriveConfig, SchedulerConfig, Timing};
use wane_units::{Bytes, Geometry, Lba, Lpn, Ratio, Sectors, SimTime};

const ROUNDS: usize = 5;
const BATCH: usize = 4096;

fn main() {
    // 8 GiB and its spare, or a small part of it where a test only sees that it runs.
    let blocks = if std::env::args().any(|argument| argument == "--bench") { 1138 } else { 24 };
    let geometry = Geometry::new(8, 1, 1, blocks, 256, Bytes(4096)).expect("the drive is addressable");
    let config = || FtlConfig::new(&geometry, Ratio::new(0.1).expect("a ratio"));
    let mut ftl = Ftl::new(Array::new(geometry), config()).expect("consistent");
    let plain = DriveConfig::new(geometry, config());
    let chip = rber::chip("tlc-72l-2018").expect("a chip").model;
    let with_all = DriveConfig {
        clock: Some(clock()),
        errors: Some(ErrorConfig::new(chip, Ecc { strength: Some(75), ..Ecc::default() })),
        ..plain.clone()
    };
    let mut drives = [plain, with_all].map(|config| Drive::new(config).expect("consistent"));
    let logical = u64::from(ftl.logical_initial());
    let mut streams = [(); 3].map(|()| Streams::new(1).stream("workload"));
    let mut batch = vec![Lpn(0); BATCH];
    let batches = (2 * logical / BATCH as u64) as usize;
    let mut ratios = [const { Vec::new() }; 2];
    for round in 0..=ROUNDS {
        let alone = rate(batches, &mut batch, &mut streams[0], logical, |units| age(&mut ftl, units));
        for (kind, drive) in drives.iter_mut().enumerate() {
            let write = |units: &[Lpn]| drive.age(units).expect("a bench drive lives");
            let rate = rate(batches, &mut batch, &mut streams[1 + kind], logical, write);
            // The first round fills the drives.
            if round > 0 {
                ratios[kind].push(rate / alone);
            }
        }
    }
    for (name, mut ratios) in ["a plain drive", "one with a clock and errors not in use"].into_iter().zip(ratios) {
        ratios.sort_by(f64::total_cmp);
        println!("{{\"case\":\"{name} ages\",\"ratio_to_firmware_alone\":{:.3}}}", ratios[ROUNDS / 2]);
    }
    let [_, mut drive] = drives;
    let start = Instant::now();
    drive.submit(SimTime(0), Request::read(SectorRange::new(Lba(0), Sectors(8))));
    let first = start.elapsed();
    drive.complete(SimTime(1_000_000_000), &mut Vec::new());
    let start = Instant::now();
    assert!(drive.rest(), "nothing is outstanding");
    let rest = start.elapsed();
    let start = Instant::now();
    drive.wake();
    let again = start.elapsed();
    println!(
        "{{\"case\":\"a drive of 8 GiB\",\"first_read_ms\":{:.2},\"rest_ms\":{:.3},\"wake_again_ms\":{:.3}}}",
        first.as_secs_f64() * 1e3,
        rest.as_secs_f64() * 1e3,
        again.as_secs_f64() * 1e3,
    );
}

fn clock() -> ClockSpec {
    let timing = Timing {
        read_ns: vec![75_000],
        program_ns: vec![750_000],
        erase_ns: 3_800_000,
        channel_bytes_per_second: Some(333_000_000),
    };
    ClockSpec { by_events: true, timing, config: SchedulerConfig::default(), rereads_max: 0, thermal: None }
}

/// Units written a second.
fn rate(batches: usize, batch: &mut [Lpn], stream: &mut Stream, logical: u64, mut write: impl FnMut(&[Lpn])) -> f64 {
    let start = Instant::now();
    for _ in 0..batches {
        batch.iter_mut().for_each(|unit| *unit = Lpn(stream.below(logical) as u32));
        write(batch);
    }
    (batches * batch.len()) as f64 / start.elapsed().as_secs_f64()
}

fn age(ftl: &mut Ftl<Array>, units: &[Lpn]) {
    let mut done = 0;
    while done < units.len() {
        let (written, outcome) = ftl.write(&units[done..]);
        assert!(matches!(outcome, Outcome::Done | Outcome::Paused), "a bench drive lives");
        assert_eq!(ftl.resume(), Outcome::Done, "a bench drive lives");
        done += written;
    }
}
