//! How fast a mirror ages beside one of its drives.
//!
//! `cargo bench -p wane-raid --bench aging` prints one JSON object a line: host pages a second of a drive of 8 GiB under random writes, of a mirror of
//! two such drives, and of such a pair without a mirror, each of which gets every batch; and their ratios to the one drive. The pair is what a mirror on
//! one core can have at most: 0.5, or less where the drives' maps push each other out of the cache. Each figure is the best of several runs, which take
//! turns.

#![allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
#![allow(missing_docs, reason = "a program")]

use std::time::Instant;

use wane_blockdev::{Batch, Living, SectorRange, Stop, Work};
use wane_ftl::FtlConfig;
use wane_raid::{Mirror, MirrorConfig};
use wane_sim::{Stream, Streams};
use wane_ssd::{Drive, DriveConfig};
use wane_units::{Bytes, Geometry, Lba, Ratio, Sectors};

const RUNS: usize = 5;
/// Units of a batch.
const BATCH: usize = 4096;

fn drive() -> Box<dyn Living> {
    let geometry = Geometry::new(1, 1, 1, 8192, 256, Bytes(4096)).expect("8 GiB");
    let ftl = FtlConfig::new(&geometry, Ratio::new(0.15).expect("a share"));
    Box::new(Drive::new(DriveConfig::new(geometry, ftl)).expect("a drive"))
}

/// Hands each device N batches of random units to overwrite. Returns units a second.
fn overwrite(devices: &mut [&mut Box<dyn Living>], batches: usize, stream: &mut Stream) -> f64 {
    let units = devices[0].capacity().0 / 8;
    let mut extents: Vec<SectorRange> = Vec::with_capacity(BATCH);
    let start = Instant::now();
    for _ in 0..batches {
        extents.clear();
        extents.extend((0..BATCH).map(|_| SectorRange::new(Lba(stream.below(units) * 8), Sectors(8))));
        for device in devices.iter_mut() {
            let now = device.now();
            let mut stop = device.batch(now, &Batch::new(Work::Rewrite, &extents)).stop;
            while stop == Stop::Paused {
                stop = device.go_on(now, stop);
            }
            assert_eq!(stop, Stop::Done, "the drive lives on");
        }
    }
    (batches * BATCH) as f64 / start.elapsed().as_secs_f64()
}

fn main() {
    let mut stream = Streams::new(1).stream("bench");
    let (mut alone, mut one, mut other) = (drive(), drive(), drive());
    let mut mirror: Box<dyn Living> =
        Box::new(Mirror::new(MirrorConfig::default(), vec![drive(), drive()]).expect("two equal drives"));
    // All are filled, and collect.
    for device in [&mut alone, &mut one, &mut other, &mut mirror] {
        overwrite(&mut [device], 1_500, &mut stream);
    }
    let mut best = [0.0f64; 3];
    for _ in 0..RUNS {
        best[0] = best[0].max(overwrite(&mut [&mut alone], 400, &mut stream));
        best[1] = best[1].max(overwrite(&mut [&mut one, &mut other], 400, &mut stream));
        best[2] = best[2].max(overwrite(&mut [&mut mirror], 400, &mut stream));
    }
    for (device, pages) in ["drive", "pair", "mirror"].into_iter().zip(best) {
        let ratio = pages / best[0];
        println!(
            "{{\"bench\":\"raid-aging\",\"device\":\"{device}\",\"pages_per_second\":{pages:.0},\"ratio\":{ratio:.3}}}"
        );
    }
}
