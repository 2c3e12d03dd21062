//! Any bytes as changes to a drive's saved state: each is detected, or harmless.
//!
//! `cargo +nightly fuzz run drive_state`

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use wane_archive::{Archive, Reader, Writer};
use wane_blockdev::{BlockDevice, Request, SectorRange};
use wane_ftl::FtlConfig;
use wane_ssd::{ClockSpec, Drive, DriveConfig, SchedulerConfig, Timing};
use wane_units::{Bytes, Geometry, Lba, Lpn, Ratio, Sectors, SimTime};

fn drive() -> Drive {
    let geometry = Geometry::flat(24, 8, Bytes(4096)).expect("a small drive fits");
    let ftl = FtlConfig::new(&geometry, Ratio::new(0.3).expect("a ratio"));
    let timing = Timing {
        read_ns: vec![50_000],
        program_ns: vec![600_000],
        erase_ns: 3_000_000,
        channel_bytes_per_second: None,
    };
    let clock =
        ClockSpec { by_events: true, timing, config: SchedulerConfig::default(), rereads_max: 0, thermal: None };
    let config = DriveConfig { keeps_bytes: true, clock: Some(clock), ..DriveConfig::new(geometry, ftl) };
    Drive::new(config).expect("a small drive fits")
}

fn state(drive: &mut Drive) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).expect("memory takes it");
    drive.archive(&mut writer as &mut dyn Archive).expect("the drive's policies are wane's own");
    writer.finish().expect("memory takes it")
}

/// The state of a drive that holds data and has requests under way.
static WHOLE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut drive = drive();
    let units: Vec<Lpn> = (0..drive.exported()).map(Lpn).collect();
    drive.age(&units).expect("it is exported");
    let _ = drive.write_bytes(&units[..9], &[7; 9 * 4096]);
    for unit in 0..9 {
        let range = SectorRange::new(Lba(8 * unit), Sectors(8));
        drive.submit(SimTime(0), Request::write(range, vec![9; 4096]));
        drive.submit(SimTime(0), Request::read(range));
    }
    state(&mut drive)
});

fuzz_target!(|edits: &[u8]| {
    let mut bytes = WHOLE.clone();
    for edit in edits.chunks_exact(4) {
        let place = usize::from(edit[0]) << 16 | usize::from(edit[1]) << 8 | usize::from(edit[2]);
        let place = place % bytes.len();
        bytes[place] ^= edit[3];
    }
    let mut opened = drive();
    let read = Reader::new(bytes.as_slice()).and_then(|mut reader| {
        opened.archive(&mut reader as &mut dyn Archive)?;
        reader.finish()
    });
    if read.is_ok() {
        assert!(state(&mut opened) == *WHOLE, "what is not refused is what was written");
    }
});
