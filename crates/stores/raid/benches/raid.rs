//! How fast a parity array works.
//!
//! `cargo bench -p wane-raid --bench raid` prints one JSON object a line:
//! - `sequential`: writes of 1 MiB one after the other to five devices in memory (4 data chunks, 1 parity), beside plain copies of the same bytes to five
//!   buffers in the same run; without a journal, and with it where all stripes hold something already. `members_bytes_per_second`: the same chunks written to
//!   five such devices without an array, the first chunk again in the place of parity;
//! - `random`: writes of 4 KiB, each of which reads old data and old parity;
//! - `aging`: host pages a second of an array of five drives under batches, beside one of its drives.
//!
//! Each figure is the best of several runs.

#![allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
#![allow(missing_docs, reason = "a program")]

use std::time::Instant;

use wane_blockdev::{Batch, BlockDevice, Living, Ram, Request, SectorRange, Stop, Work};
use wane_ftl::FtlConfig;
use wane_raid::code::XOR;
use wane_raid::{DIRECT, EQUAL, Following, Journal, Raid, RaidConfig};
use wane_sim::{Stream, Streams};
use wane_ssd::{Drive, DriveConfig};
use wane_units::{Bytes, Geometry, Lba, Ratio, Sectors, SimTime};

const RUNS: usize = 5;
/// Bytes of a sequential write.
const WRITE: usize = 1 << 20;
/// Sectors of a member in memory: 64 MiB of data and what the array needs.
const MEMBER: u64 = (64 << 11) + (16 << 11);

fn config(journal: Journal) -> RaidConfig {
    RaidConfig {
        code: &XOR,
        width: 5,
        chunk: Sectors(128),
        slot: Sectors(1 << 14),
        placement: &EQUAL,
        parity_shares: Vec::new(),
        path: &DIRECT,
        journal,
        ring: Sectors(8 << 11),
        write_mostly: Vec::new(),
        read_around: None,
        following: Following::Never,
        rebuild_rate: 1 << 30,
        scrub_every: None,
        uuid: 1,
    }
}

fn in_memory(journal: Journal) -> Raid {
    let members = (0..5).map(|_| -> Box<dyn Living> { Box::new(Ram::new(Sectors(MEMBER))) }).collect();
    Raid::new(config(journal), members).expect("five equal members")
}

/// Submits a write and lets it complete.
fn write(array: &mut Raid, range: SectorRange, bytes: Vec<u8>) {
    let mut out = Vec::new();
    array.submit(SimTime(0), Request::write(range, bytes));
    array.complete(SimTime(0), &mut out);
    assert!(out.len() == 1 && out[0].status.is_done(), "{out:?}");
}

/// Bytes a second of writes one after the other.
fn sequential(array: &mut Raid, pattern: &[u8]) -> f64 {
    let writes = array.capacity().0 / (WRITE as u64 / 512);
    let start = Instant::now();
    for number in 0..writes {
        let range = SectorRange::new(Lba(number * (WRITE as u64 / 512)), Sectors(WRITE as u64 / 512));
        write(array, range, pattern.to_vec());
    }
    (writes as usize * WRITE) as f64 / start.elapsed().as_secs_f64()
}

/// The same bytes copied to five buffers, of which the fifth stands for parity.
fn copies(buffers: &mut [Vec<u8>], pattern: &[u8], writes: usize) -> f64 {
    let start = Instant::now();
    for number in 0..writes {
        let bytes = std::hint::black_box(pattern.to_vec());
        for (chunk, part) in bytes.chunks(1 << 16).enumerate() {
            let at = (number * 4 + chunk / 4) << 16;
            buffers[chunk % 4][at..at + part.len()].copy_from_slice(part);
            if chunk % 4 == 3 {
                buffers[4][at..at + part.len()].copy_from_slice(part);
            }
        }
    }
    (writes * WRITE) as f64 / start.elapsed().as_secs_f64()
}

/// The same chunks written to five devices, without an array.
fn members(devices: &mut [Ram], pattern: &[u8], writes: usize) -> f64 {
    let start = Instant::now();
    let mut out = Vec::new();
    for number in 0..writes {
        let bytes = std::hint::black_box(pattern.to_vec());
        for (chunk, part) in bytes.chunks(1 << 16).enumerate() {
            let range = SectorRange::new(Lba((number * 4 + chunk / 4) as u64 * 128), Sectors(128));
            let targets = [Some(chunk % 4), (chunk % 4 == 0).then_some(4)];
            for target in targets.into_iter().flatten() {
                devices[target].submit(SimTime(0), Request::write(range, part.to_vec()));
                devices[target].complete(SimTime(0), &mut out);
            }
        }
        assert!(out.drain(..).all(|end| end.status.is_done()));
    }
    (writes * WRITE) as f64 / start.elapsed().as_secs_f64()
}

/// Writes of 4 KiB a second, at random.
fn random(array: &mut Raid, stream: &mut Stream, count: usize) -> f64 {
    let pages = array.capacity().0 / 8;
    let start = Instant::now();
    for _ in 0..count {
        write(array, SectorRange::new(Lba(stream.below(pages) * 8), Sectors(8)), vec![7; 4096]);
    }
    count as f64 / start.elapsed().as_secs_f64()
}

fn drive() -> Box<dyn Living> {
    let geometry = Geometry::new(1, 1, 1, 8192, 256, Bytes(4096)).expect("8 GiB");
    let ftl = FtlConfig::new(&geometry, Ratio::new(0.15).expect("a share"));
    Box::new(Drive::new(DriveConfig::new(geometry, ftl)).expect("a drive"))
}

/// Hands a device batches of random units to overwrite. Returns units a second.
fn overwrite(device: &mut dyn Living, batches: usize, stream: &mut Stream) -> f64 {
    const BATCH: usize = 4096;
    let units = device.capacity().0 / 8;
    let start = Instant::now();
    for _ in 0..batches {
        let extents: Vec<SectorRange> =
            (0..BATCH).map(|_| SectorRange::new(Lba(stream.below(units) * 8), Sectors(8))).collect();
        let now = device.now();
        let mut stop = device.batch(now, &Batch::new(Work::Write, &extents)).stop;
        while stop == Stop::Paused {
            stop = device.go_on(now, stop);
        }
        assert_eq!(stop, Stop::Done, "the device lives on");
    }
    (batches * BATCH) as f64 / start.elapsed().as_secs_f64()
}

fn main() {
    let mut stream = Streams::new(1).stream("bench");
    let pattern: Vec<u8> = (0..WRITE).map(|byte| (byte / 7) as u8).collect();
    let mut buffers = vec![vec![0; 65 << 20]; 5];
    let writes = 256;
    for (name, journal) in [("none", Journal::None), ("ppl", Journal::Ppl), ("full", Journal::Full)] {
        let mut array = in_memory(journal);
        let first = sequential(&mut array, &pattern);
        let (mut again, mut plain, mut small, mut bare) = (0.0f64, 0.0f64, 0.0f64, 0.0f64);
        let mut devices: Vec<Ram> = (0..5).map(|_| Ram::new(Sectors(MEMBER))).collect();
        for _ in 0..RUNS {
            plain = plain.max(copies(&mut buffers, &pattern, writes.min(255)));
            bare = bare.max(members(&mut devices, &pattern, writes.min(255)));
            again = again.max(sequential(&mut array, &pattern));
            small = small.max(random(&mut array, &mut stream, 20_000));
        }
        println!(
            "{{\"bench\":\"raid\",\"what\":\"sequential\",\"journal\":\"{name}\",\"first_bytes_per_second\":{first:.3e},\
             \"bytes_per_second\":{again:.3e},\"copied_bytes_per_second\":{plain:.3e},\"members_bytes_per_second\":{bare:.3e},\
             \"ratio\":{:.3},\"ratio_to_members\":{:.3}}}",
            again / plain,
            again / bare
        );
        println!("{{\"bench\":\"raid\",\"what\":\"random\",\"journal\":\"{name}\",\"writes_per_second\":{small:.0}}}");
    }
    let mut alone = drive();
    overwrite(&mut *alone, 1_500, &mut stream);
    let drive_rate = (0..3).map(|_| overwrite(&mut *alone, 400, &mut stream)).fold(0.0, f64::max);
    for (name, journal) in [("none", Journal::None), ("ppl", Journal::Ppl), ("full", Journal::Full)] {
        let config = RaidConfig { slot: Sectors(1 << 17), ..config(journal) };
        let mut array = Raid::new(config, (0..5).map(|_| drive()).collect()).expect("five equal drives");
        overwrite(&mut array, 3_000, &mut stream);
        let rate = (0..3).map(|_| overwrite(&mut array, 300, &mut stream)).fold(0.0, f64::max);
        let ratio = rate / drive_rate;
        println!(
            "{{\"bench\":\"raid\",\"what\":\"aging\",\"journal\":\"{name}\",\"pages_per_second\":{rate:.0},\
             \"drive_pages_per_second\":{drive_rate:.0},\"ratio\":{ratio:.3}}}"
        );
    }
}
