//! A drive that was saved and read back continues as if it had never stopped, to the last byte of its state.

#![allow(missing_docs, reason = "tests")]
#![allow(clippy::unwrap_used, reason = "a test")]

use wane_archive::{Archive, ArchiveError, Reader, Writer};
use wane_blockdev::{BlockDevice, Request, SectorRange, drain};
use wane_ftl::policies::allocation::ALLOCATION_POLICIES;
use wane_ftl::policies::capacity::{CAPACITY_POLICIES, Demand};
use wane_ftl::policies::mode::MODE_POLICIES;
use wane_ftl::policies::placement::PLACEMENT_POLICIES;
use wane_ftl::policies::recovery::RECOVERY_POLICIES;
use wane_ftl::policies::redundancy::REDUNDANCY_POLICIES;
use wane_ftl::policies::retirement::RETIRE_POLICIES;
use wane_ftl::policies::scrub::SCRUB_POLICIES;
use wane_ftl::policies::victim::VICTIM_POLICIES;
use wane_ftl::policies::wear_leveling::WEAR_LEVEL_POLICIES;
use wane_ftl::policies::{Entry, Mode};
use wane_ftl::{EraseGroup, FtlConfig, Outcome, Pooling};
use wane_nand::{Ecc, ErrorConfig, FailureRate, FaultConfig, rber};
use wane_sim::{Stream, Streams};
use wane_ssd::{Clock, ClockSpec, Drive, DriveConfig, SchedulerConfig, Thermal, Throttle, Timing};
use wane_units::{Bytes, Geometry, Lba, Lpn, Nanos, Ratio, Sectors};

/// Any policy of a family that needs no parameters, by its name.
fn any<T>(stream: &mut Stream, family: &[Entry<T>], names: &mut Vec<&'static str>) -> T {
    loop {
        let entry = &family[stream.below(family.len() as u64) as usize];
        if let Ok(policy) = entry.parse(toml::Table::new()) {
            names.push(entry.name());
            return policy;
        }
    }
}

/// A random drive; `None` if its parts do not fit together.
fn config(stream: &mut Stream) -> Option<(DriveConfig, Vec<&'static str>)> {
    let (dies, planes) = [(1, 1), (1, 2), (4, 1)][stream.below(3) as usize];
    let geometry = Geometry::new(dies, 1, planes, 96 / dies, 8, Bytes(8192)).unwrap();
    let mut names = Vec::new();
    let base = FtlConfig::new(&geometry, Ratio::new(0.5).unwrap());
    let logical_units = base.logical_units;
    let units_per_page = 1 + stream.below(2) as u32;
    let mut ftl = FtlConfig {
        units_per_page,
        logical_units: logical_units * units_per_page,
        endurance: Some([40, 400][stream.below(2) as usize]),
        retire: any(stream, RETIRE_POLICIES, &mut names),
        erase_group: if planes > 1 { EraseGroup::Superblock } else { EraseGroup::Block },
        domain: if dies > 1 && stream.chance(0.5) { Pooling::Die } else { Pooling::Drive },
        placement: any(stream, PLACEMENT_POLICIES, &mut names),
        allocation: any(stream, ALLOCATION_POLICIES, &mut names),
        victim: any(stream, VICTIM_POLICIES, &mut names),
        wear_leveling: any(stream, WEAR_LEVEL_POLICIES, &mut names),
        redundancy: any(stream, REDUNDANCY_POLICIES, &mut names),
        scrub: any(stream, SCRUB_POLICIES, &mut names),
        capacity: any(stream, CAPACITY_POLICIES, &mut names),
        mode: any(stream, MODE_POLICIES, &mut names),
        recovery: any(stream, RECOVERY_POLICIES, &mut names),
        power_loss_protection: stream.chance(0.5),
        streams: Streams::new(stream.bits()),
        ..base
    };
    if planes > 1 {
        ftl.gc_reserve = 4;
        ftl.rated_blocks = 96 / 2 / planes - 4;
        ftl.logical_units /= 3;
    }
    let mut config = DriveConfig::new(geometry, ftl);
    if stream.chance(0.5) {
        let model = rber::chip("tlc-72l-2018").unwrap().model;
        let ecc = Ecc { strength: Some(40), rereads_max: Some(3), ..Ecc::default() };
        config.errors = Some(ErrorConfig { block_sigma: 0.1, ..ErrorConfig::new(model, ecc) });
    }
    if stream.chance(0.2) {
        let program = FailureRate::constant(1e-4);
        config.faults = Some(FaultConfig { program, wordline_loss: 1e-5, ..FaultConfig::default() });
    }
    let timing = Timing {
        read_ns: vec![50_000],
        program_ns: vec![600_000],
        erase_ns: 3_000_000,
        channel_bytes_per_second: None,
    };
    let by_events = stream.chance(0.5);
    if stream.chance(0.4) {
        config.clock =
            Some(ClockSpec { by_events, timing, config: SchedulerConfig::default(), rereads_max: 3, thermal: None });
    }
    Drive::new(config.clone()).is_ok().then_some((config, names))
}

/// Lets a drive live for a while. The stream determines every command.
fn live(drive: &mut Drive, stream: &mut Stream, commands: u32) {
    for _ in 0..commands {
        let exported = u64::from(drive.exported());
        if exported < 16 || drive.end_of_life().is_some() {
            return;
        }
        let some = |stream: &mut Stream| Lpn(stream.below(exported) as u32);
        match stream.below(40) {
            0..=29 => {
                let units: Vec<Lpn> = (0..64).map(|_| some(stream)).collect();
                let (_, outcome) = drive.write_batch(&units);
                settle(drive, outcome);
            }
            30..=33 => drive.read_batch(&[some(stream), some(stream)]).unwrap(),
            34..=35 => drive.trim_batch(&[some(stream)]).unwrap(),
            36 => {
                let outcome = drive.flush_batch();
                settle(drive, outcome);
            }
            37 => drive.set_mode(if stream.chance(0.5) { Mode::Degraded } else { Mode::Normal }),
            38 if stream.chance(0.5) => drive.lie(1.5),
            38 => drive.set_day(drive.day() + 1.5),
            _ => {
                drive.idle(Nanos(1_000_000));
            }
        }
    }
}

fn settle(drive: &mut Drive, mut outcome: Outcome) {
    loop {
        outcome = match outcome {
            Outcome::Done | Outcome::Dead(_) => return,
            Outcome::Paused => drive.resume(),
            Outcome::Demand(demand) => {
                if let Demand::ExportAtMost(units) = demand {
                    let exported = (units as u32).min(drive.exported());
                    let above: Vec<Lpn> = (exported..drive.exported()).map(Lpn).collect();
                    drive.trim_batch(&above).unwrap();
                    drive.shrink_to(exported);
                }
                drive.reclaim()
            }
            Outcome::OutOfRange(refused) => panic!("{refused}"),
        }
    }
}

fn saved(drive: &mut Drive) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    drive.archive(&mut writer).unwrap();
    writer.finish().unwrap()
}

fn opened(config: DriveConfig, bytes: &[u8]) -> Result<Drive, ArchiveError> {
    let mut drive = Drive::new(config).unwrap();
    let mut reader = Reader::new(bytes)?;
    drive.archive(&mut reader as &mut dyn Archive)?;
    reader.finish()?;
    Ok(drive)
}

#[test]
fn a_saved_drive_goes_on_as_if_it_had_never_stopped() {
    let (mut drives, mut names_seen) = (0, std::collections::BTreeSet::new());
    for seed in 0..900 {
        let mut stream = Streams::new(seed).stream("kept");
        let Some((config, names)) = config(&mut stream) else { continue };
        drives += 1;
        let mut drive = Drive::new(config.clone()).unwrap();
        drive.set_leveling(true);
        live(&mut drive, &mut stream, 40);
        for part in 0..3 {
            let bytes = saved(&mut drive);
            let mut again = opened(config.clone(), &bytes).unwrap_or_else(|error| panic!("{seed} {names:?}: {error}"));
            assert!(saved(&mut again) == bytes, "{seed}, {part}: what was read is not what was written, {names:?}");
            again.check().unwrap();
            live(&mut again, &mut stream.clone(), 40);
            live(&mut drive, &mut stream, 40);
            assert!(saved(&mut again) == saved(&mut drive), "{seed}, {part}: another life, {names:?}");
        }
        names_seen.extend(names);
    }
    assert!(drives > 200, "{drives}");
    assert!(names_seen.len() > 30, "{names_seen:?}");
}

#[test]
fn a_saved_drive_is_as_warm_as_it_was() {
    let geometry = Geometry::flat(40, 8, Bytes(4096)).unwrap();
    let thermal = Thermal {
        ambient: 30.0,
        initial: None,
        idle_watts: 1.0,
        die_watts: 4.0,
        channel_watts: 0.0,
        resistance: 10.0,
        time_constant_ns: 5_000_000,
        throttle: Some(Throttle { above: 60.0, below: 45.0, stretch: 3.0 }),
    };
    let timing = Timing {
        read_ns: vec![50_000],
        program_ns: vec![600_000],
        erase_ns: 3_000_000,
        channel_bytes_per_second: None,
    };
    let schedule = SchedulerConfig::default();
    let clock = ClockSpec { by_events: true, timing, config: schedule, rereads_max: 3, thermal: Some(thermal) };
    let ftl = FtlConfig::new(&geometry, Ratio::new(0.3).unwrap());
    let config = DriveConfig { clock: Some(clock), ..DriveConfig::new(geometry, ftl) };
    let mut drive = Drive::new(config.clone()).unwrap();
    drive.age(&[Lpn(3)]).unwrap();
    // When the last of 200 simultaneous reads is done.
    let serve = |drive: &mut Drive| {
        let (at, mut out) = (drive.now(), Vec::new());
        for _ in 0..200 {
            drive.submit(at, Request::read(SectorRange::new(Lba(24), Sectors(8))));
        }
        drain(drive, at, &mut out);
        out.iter().map(|completion| completion.at.0 - at.0).max().unwrap()
    };
    let first = serve(&mut drive);
    let heat = drive.clock().and_then(Clock::heat).unwrap();
    assert!(heat.celsius > 50.0 && heat.throttles == 1, "{heat:?}");
    let bytes = saved(&mut drive);
    let mut again = opened(config, &bytes).unwrap();
    assert_eq!(again.clock().and_then(Clock::heat), drive.clock().and_then(Clock::heat));
    assert!(saved(&mut again) == bytes);
    let (one, other) = (serve(&mut drive), serve(&mut again));
    assert_eq!(one, other);
    assert!(one > first, "it was warm from the beginning: {one} ns after {first}");
}

#[test]
fn the_state_of_another_drive_is_refused() {
    let geometry = Geometry::flat(40, 8, Bytes(4096)).unwrap();
    let config = |spare: f64| DriveConfig::new(geometry, FtlConfig::new(&geometry, Ratio::new(spare).unwrap()));
    let bytes = saved(&mut Drive::new(config(0.3)).unwrap());
    assert!(opened(config(0.3), &bytes).is_ok());
    let error = opened(config(0.4), &bytes).map(drop).unwrap_err();
    assert_eq!(error.to_string(), "its \"drive.shape\" is (40, 8, 1, 185), and this drive's is (40, 8, 1, 159)");
    for family in ["levels", "fails"] {
        let mut other = config(0.3);
        match family {
            "levels" => other.ftl.wear_leveling = any_named(WEAR_LEVEL_POLICIES, "pwl"),
            _ => other.faults = Some(FaultConfig::default()),
        }
        assert!(opened(other, &bytes).is_err(), "{family}");
    }
}

fn any_named<T>(family: &[Entry<T>], name: &str) -> T {
    family.iter().find(|entry| entry.name() == name).unwrap().parse(toml::Table::new()).unwrap()
}
