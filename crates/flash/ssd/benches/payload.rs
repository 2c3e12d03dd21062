//! The cost of keeping bytes.
//!
//! `cargo bench -p wane-ssd --bench payload` prints one JSON object a line: random writes of 4 KiB a second, untimed, on a drive
//! with 2 GiB of logical units that were all written before. The drive keeps bytes (`bytes`), is ready to keep them but given
//! none (`ready`), or keeps none (`none`). For comparison there is a bare loop that copies 4 KiB to random places in as much
//! touched memory (`copies`), and the ratios.

#![allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
#![allow(missing_docs, reason = "a program")]

use std::time::Instant;

use wane_ftl::FtlConfig;
use wane_sim::{Stream, Streams};
use wane_ssd::{Drive, DriveConfig};
use wane_units::{Bytes, Geometry, Lpn, Ratio};

const RUNS: usize = 5;
const UNIT: usize = 4096;
/// Units of one call.
const BATCH: usize = 256;

fn main() {
    // The test suite runs benches too, without `--bench`.
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    let (blocks, writes) = if is_measured { (1 << 12, 1 << 18) } else { (1 << 6, 1 << 12) };
    let geometry = Geometry::flat(blocks, 150, Bytes(UNIT as u64)).expect("the units fit");
    let config = |keeps_bytes| {
        let ftl = FtlConfig::new(&geometry, Ratio::new(0.1).expect("a ratio"));
        DriveConfig { keeps_bytes, ..DriveConfig::new(geometry, ftl) }
    };
    let mut drives = [true, true, false].map(|keeps| Drive::new(config(keeps)).expect("a drive"));
    let logical = drives[0].logical_initial() as usize;
    let data = vec![0x5a; BATCH * UNIT];
    let mut memory = vec![1u8; logical * UNIT];
    let mut stream = Streams::new(1).stream("bench");
    // Two drive writes, so that each drive collects and what it keeps lies all over.
    for (number, drive) in drives.iter_mut().enumerate() {
        write(drive, &mut stream, 2 * logical, (number == 0).then_some(&data));
    }
    let mut seconds: [Vec<f64>; 4] = Default::default();
    for _ in 0..RUNS {
        for (number, drive) in drives.iter_mut().enumerate() {
            seconds[number].push(write(drive, &mut stream, writes, (number == 0).then_some(&data)));
        }
        seconds[3].push(copy(&mut memory, &data[..UNIT], &mut stream, writes));
    }
    let rates = seconds.map(|mut seconds| {
        seconds.sort_by(f64::total_cmp);
        writes as f64 / seconds[RUNS / 2]
    });
    for (name, rate) in ["bytes", "ready", "none", "copies"].into_iter().zip(rates) {
        println!(
            "{{\"case\":\"{name}\",\"writes_per_second\":{rate:.0},\"share_of_copies\":{:.3},\"share_of_none\":{:.3}}}",
            rate / rates[3],
            rate / rates[2]
        );
    }
}

/// Seconds of random writes.
fn write(drive: &mut Drive, stream: &mut Stream, writes: usize, data: Option<&Vec<u8>>) -> f64 {
    let logical = u64::from(drive.logical_initial());
    let mut units = Vec::with_capacity(BATCH);
    let start = Instant::now();
    for _ in 0..writes / BATCH {
        units.clear();
        units.extend((0..BATCH).map(|_| Lpn(stream.below(logical) as u32)));
        match data {
            Some(data) => {
                let (done, _) = drive.write_bytes(&units, data);
                assert_eq!(done, BATCH, "the drive lives");
            }
            None => drive.age(&units).expect("the drive lives"),
        }
    }
    start.elapsed().as_secs_f64()
}

/// Seconds of random copies.
fn copy(memory: &mut [u8], unit: &[u8], stream: &mut Stream, writes: usize) -> f64 {
    let units = (memory.len() / UNIT) as u64;
    let start = Instant::now();
    for _ in 0..writes {
        let at = stream.below(units) as usize * UNIT;
        memory[at..at + UNIT].copy_from_slice(unit);
    }
    assert_eq!(memory[0] | 0x5b, 0x5b, "it was written or not");
    start.elapsed().as_secs_f64()
}
