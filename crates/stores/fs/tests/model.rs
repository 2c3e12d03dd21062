//! The file system under random calls, against a tree in memory.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod bed;

use bed::{Bed, Taste, step};
use wane_blockdev::{Blocking, Ram};
use wane_fs::{DataChecksums, Direct, FormatConfig, Moment, MountConfig, Volume, format};
use wane_sim::Streams;
use wane_units::Sectors;

const SMALL: FormatConfig = FormatConfig { segment_bytes: 64 << 10, ..FormatConfig::new([7; 16], [1, 2]) };

/// The same, with checksums of data.
const CHECKED: FormatConfig = FormatConfig { data_checksums: DataChecksums::Crc32c, ..SMALL };

fn port(bytes: u64, block: usize) -> Direct<Ram> {
    Direct::new(Blocking::new(Ram::new(Sectors(bytes / 512))), block)
}

/// Random calls with remounts between them.
fn lived(seed: u64, bytes: u64, config: &FormatConfig, taste: Taste, steps: u64) -> (u64, u64) {
    let mut stream = Streams::new(seed).stream("fs.model");
    let port = format(port(bytes, config.block_bytes as usize), config, Moment::default(), (0, 0)).unwrap();
    let mut bed = Bed::new(Volume::mount(port, &MountConfig::new(1)).unwrap());
    let mut cleaned = 0;
    for number in 0..steps {
        let next = step(&bed.tree, taste, &mut stream);
        bed.call(&next);
        if number % 64 == 0 {
            bed.compare();
        }
        if stream.below(128) == 0 {
            let Bed { volume, tree, inos, now, full } = bed;
            cleaned += volume.counted().cleaned;
            let port = volume.unmount().map_err(|(_, error)| error).unwrap();
            let volume = Volume::mount(port, &MountConfig::new(number as u32 + 2)).unwrap();
            bed = Bed { volume, tree, inos, now, full };
            bed.compare();
        }
    }
    bed.compare();
    (bed.full, cleaned + bed.volume.counted().cleaned)
}

#[test]
fn a_volume_is_the_tree_that_its_calls_make() {
    let taste = Taste { write_max: 20_000, size_max: 200_000, names: 40 };
    for (seed, config) in (0..4).flat_map(|seed| [(seed, &SMALL), (seed, &CHECKED)]) {
        lived(seed, 8 << 20, config, taste, 1_500);
    }
}

#[test]
fn a_full_volume_refuses_and_goes_on() {
    let taste = Taste { write_max: 60_000, size_max: 600_000, names: 200 };
    let (mut full, mut cleaned) = (0, 0);
    for (seed, config) in [(0, &SMALL), (1, &SMALL), (2, &CHECKED)] {
        let lived = lived(seed, 6 << 20, config, taste, 2_500);
        (full, cleaned) = (full + lived.0, cleaned + lived.1);
    }
    assert!(full > 20 && cleaned > 50, "{full} {cleaned}");
}

#[test]
fn blocks_of_16_kib_and_sections_of_several_segments_work() {
    let taste = Taste { write_max: 40_000, size_max: 300_000, names: 60 };
    let large = FormatConfig { block_bytes: 16384, segment_bytes: 256 << 10, ..SMALL };
    lived(1, 40 << 20, &large, taste, 1_000);
    let checked = FormatConfig { data_checksums: DataChecksums::Crc32c, ..large };
    lived(3, 40 << 20, &checked, taste, 1_000);
    let sections = FormatConfig { section_segments: 3, ..SMALL };
    lived(2, 16 << 20, &sections, taste, 1_000);
}
