//! How fast a drive is saved and opened.
//!
//! `cargo bench -p wane-ssd --bench kept` prints one JSON object a line, for a drive whose tables are fully written. It gives the
//! bytes of its state, and the rates in gigabytes a second (10^9) of a save into a file and of an opening from the page cache. An
//! opening verifies every checksum and goes into a new drive whose memory was not touched before. For comparison it gives what
//! the machine does without the drive: a copy of as many bytes into a file, and from one into new memory. The drive is then put
//! under load, and saved and opened again with its requests outstanding.

#![allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
#![allow(missing_docs, reason = "a program")]

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::time::Instant;

use wane_archive::{Archive, Reader, Writer};
use wane_blockdev::{BlockDevice, Request, SectorRange};
use wane_ftl::FtlConfig;
use wane_sim::Streams;
use wane_ssd::{ClockSpec, Drive, DriveConfig, SchedulerConfig, Timing};
use wane_units::{Bytes, Geometry, Lba, Lpn, Ratio, Sectors, SimTime};

const RUNS: usize = 5;

fn main() {
    // The test suite runs benches too, without `--bench`.
    let blocks = if std::env::args().any(|argument| argument == "--bench") { 1 << 16 } else { 1 << 8 };
    let geometry = Geometry::flat(blocks, 512, Bytes(4096)).expect("the units fit");
    let ftl = || FtlConfig::new(&geometry, Ratio::new(0.1).expect("a ratio"));
    let config = || DriveConfig { clock: Some(clock()), ..DriveConfig::new(geometry, ftl()) };
    let mut drive = Drive::new(config()).expect("a drive");
    age(&mut drive);
    let mut file = tempfile::tempfile().expect("a temporary file");
    let bytes = save(&mut drive, &file).1;
    let saves: Vec<f64> = (0..RUNS).map(|_| bytes / save(&mut drive, &file).0).collect();
    let opens: Vec<f64> = (0..RUNS).map(|_| bytes / open(config(), &file)).collect();
    let plain = vec![0x5a; bytes as usize];
    let copies_in: Vec<f64> = (0..RUNS).map(|_| bytes / copy_in(&plain, &mut file)).collect();
    let copies_out: Vec<f64> = (0..RUNS).map(|_| bytes / copy_out(&mut file, bytes as usize)).collect();
    load(&mut drive);
    let loaded = save(&mut drive, &file).1;
    let loaded_saves: Vec<f64> = (0..RUNS).map(|_| loaded / save(&mut drive, &file).0).collect();
    let loaded_opens: Vec<f64> = (0..RUNS).map(|_| loaded / open(config(), &file)).collect();
    for (name, bytes, rates) in [
        ("save", bytes, saves),
        ("open", bytes, opens),
        ("write-file", bytes, copies_in),
        ("read-file", bytes, copies_out),
        ("save-under-load", loaded, loaded_saves),
        ("open-under-load", loaded, loaded_opens),
    ] {
        let mut rates = rates;
        rates.sort_by(f64::total_cmp);
        println!(
            "{{\"case\":\"{name}\",\"bytes\":{bytes:.0},\"gb_per_second\":{:.2},\"slowest\":{:.2},\"fastest\":{:.2}}}",
            rates[RUNS / 2] / 1e9,
            rates[0] / 1e9,
            rates[RUNS - 1] / 1e9
        );
    }
}

fn clock() -> ClockSpec {
    let timing = Timing {
        read_ns: vec![50_000],
        program_ns: vec![600_000],
        erase_ns: 3_000_000,
        channel_bytes_per_second: Some(400_000_000),
    };
    ClockSpec { by_events: true, timing, config: SchedulerConfig::default(), rereads_max: 0, thermal: None }
}

/// Requests that all come at once, most of them writes.
fn load(drive: &mut Drive) {
    let mut stream = Streams::new(2).stream("bench");
    for request in 0..2_000 {
        let page = stream.below(u64::from(drive.exported()));
        let range = SectorRange::new(Lba(8 * page), Sectors(8));
        let asked = if request % 4 == 0 { Request::read(range) } else { Request::write_without_bytes(range) };
        drive.submit(SimTime(0), asked);
    }
}

/// Two drive writes at random.
fn age(drive: &mut Drive) {
    let mut stream = Streams::new(1).stream("bench");
    let logical = u64::from(drive.logical_initial());
    let mut units = Vec::with_capacity(4096);
    for _ in 0..2 * logical / 4096 + 1 {
        units.clear();
        units.extend((0..4096).map(|_| Lpn(stream.below(logical) as u32)));
        drive.age(&units).expect("the drive lives");
    }
}

/// Seconds, and bytes written.
fn save(drive: &mut Drive, file: &File) -> (f64, f64) {
    let start = Instant::now();
    let mut to = file;
    to.seek(SeekFrom::Start(0)).expect("a file");
    let mut writer = Writer::new(to).expect("it is written");
    drive.archive(&mut writer as &mut dyn Archive).expect("it is saved");
    writer.finish().expect("it is written");
    (start.elapsed().as_secs_f64(), to.stream_position().expect("a file") as f64)
}

fn open(config: DriveConfig, file: &File) -> f64 {
    // A new drive's tables are reserved, and committed as they are read.
    let start = Instant::now();
    let mut drive = Drive::new(config).expect("a drive");
    let mut from = file;
    from.seek(SeekFrom::Start(0)).expect("a file");
    let mut reader = Reader::new(BufReader::new(from)).expect("an archive");
    drive.archive(&mut reader as &mut dyn Archive).expect("it is opened");
    let seconds = start.elapsed().as_secs_f64();
    assert!(drive.counters().host_units_written > 0, "it is the drive that was saved");
    seconds
}

fn copy_in(bytes: &[u8], file: &mut File) -> f64 {
    let start = Instant::now();
    file.seek(SeekFrom::Start(0)).expect("a file");
    file.write_all(bytes).expect("it is written");
    start.elapsed().as_secs_f64()
}

fn copy_out(file: &mut File, bytes: usize) -> f64 {
    let start = Instant::now();
    file.seek(SeekFrom::Start(0)).expect("a file");
    let mut read = vec![0; bytes];
    file.read_exact(&mut read).expect("it is read");
    assert_eq!(read[bytes / 2], 0x5a, "it is what was written");
    start.elapsed().as_secs_f64()
}
