//! A mirror of two devices in memory. Reads that fail on one device are served by the other, and the bad sectors are rewritten.
//!
//! `cargo run -p wane-blockdev --example mirror`

use wane_blockdev::{Blocking, Fault, IoError, Origin, Persistence, Ram, Request, SectorRange, Status};
use wane_units::{Lba, Sectors};

fn main() -> Result<(), IoError> {
    let range = SectorRange::new(Lba(0), Sectors(64));
    let bad = SectorRange::new(Lba(21), Sectors(2));
    let mut good = Blocking::new(Ram::new(Sectors(1 << 21)));
    let mut worn = Blocking::new(Fault::new(Ram::new(Sectors(1 << 21))));
    let data: Vec<u8> = (0..64 * 512).map(|place: u32| (place >> 9) as u8).collect();
    good.write(range.start, data.clone())?;
    worn.write(range.start, data.clone())?;
    worn.device_mut().make_bad(bad, Persistence::UntilWritten);

    let error = worn.read(range).expect_err("two sectors are bad");
    println!("{error}");
    let Status::MediumError(lost) = &error.status else { return Err(error) };
    for &lost in lost {
        let bytes = good.read(lost)?;
        worn.perform(Request::write(lost, bytes).with_origin(Origin::ArrayRepair))?;
    }
    assert_eq!(worn.read(range)?, data);
    println!("repaired");
    Ok(())
}
