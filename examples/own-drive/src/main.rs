//! A drive as a library: built from Rust structs, aged, then measured for the time of a read.
//!
//! Run it with `cargo run -p own-drive`.

// ANCHOR: drive
use wane_blockdev::{BlockDevice, Request, SectorRange, drain};
use wane_ftl::FtlConfig;
use wane_sim::Streams;
use wane_ssd::{ClockSpec, Drive, DriveConfig, SchedulerConfig, Timing};
use wane_units::{Bytes, Geometry, Lba, Lpn, Ratio, Sectors, SimTime};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let geometry = Geometry::new(4, 2, 1, 64, 256, Bytes(4096))?;
    let (read_ns, program_ns) = (vec![75_000], vec![750_000]);
    let timing = Timing { read_ns, program_ns, erase_ns: 3_800_000, channel_bytes_per_second: Some(333_000_000) };
    let clock =
        ClockSpec { by_events: true, timing, config: SchedulerConfig::default(), rereads_max: 0, thermal: None };
    let ftl = FtlConfig::new(&geometry, Ratio::new(0.1).ok_or("a ratio")?);
    let mut drive = Drive::new(DriveConfig { clock: Some(clock), ..DriveConfig::new(geometry, ftl) })?;

    // Age it: ten drive writes at random, at full speed, because no time passes.
    let mut stream = Streams::new(1).stream("workload");
    let units = u64::from(drive.logical_initial());
    let batch: Vec<Lpn> = (0..10 * units).map(|_| Lpn(stream.below(units) as u32)).collect();
    drive.age(&batch)?;
    let waf = drive.health_record().write_amplification().ok_or("nothing was written")?;

    // Ask it: a thousand reads of 4 KiB, one every 20 us.
    for number in 0..1000 {
        let range = SectorRange::new(Lba(8 * stream.below(units)), Sectors(8));
        drive.submit(SimTime(20_000 * number), Request::read(range));
    }
    let mut done = Vec::new();
    drain(&mut drive, SimTime(20_000_000), &mut done);
    let mean_ns = done.iter().map(|completion| completion.latency().0).sum::<u64>() / 1000;
    println!("write amplification {waf:.2}, mean read latency {} us", mean_ns / 1000);
    Ok(())
}
// ANCHOR_END: drive

#[cfg(test)]
mod tests {
    #[test]
    fn it_runs() {
        super::main().expect("the example runs");
    }
}
