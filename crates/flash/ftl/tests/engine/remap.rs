//! REMAP gives data another address and writes nothing.

use wane_ftl::{Ftl, FtlConfig, RemapError};
use wane_nand::Array;
use wane_units::{Bytes, Geometry, Lpn, UnitId};

/// A drive whose units 0 to 5 lie in physical units 0 to 5.
fn written() -> Ftl<Array> {
    let mut ftl = Ftl::new(Array::new(Geometry::flat(6, 4, Bytes(4096)).unwrap()), config()).unwrap();
    ftl.write(Lpn::slice(&[0, 1, 2, 3, 4, 5]));
    ftl
}

fn config() -> FtlConfig {
    super::config(12, 5, 1)
}

fn places(ftl: &Ftl<Array>) -> Vec<Option<u32>> {
    (0..8).map(|unit| ftl.lookup(Lpn(unit)).map(|UnitId(place)| place)).collect()
}

#[test]
fn data_move_to_their_destination_and_what_was_there_is_gone() {
    let mut ftl = written();
    let before = *ftl.counters();
    assert_eq!(ftl.remap(Lpn(3), Lpn(5), 1, 1), Ok(1));
    assert_eq!(places(&ftl), [Some(0), Some(1), Some(2), Some(5), Some(4), None, None, None]);
    let since = *ftl.counters() - before;
    assert_eq!((since.host_units_remapped, since.host_units_written, since.programmed_total()), (1, 0, 0));
    assert_eq!(since.host_units_trimmed, 0, "nobody trimmed what the destination held");
    let valid: Vec<u32> = ftl.layout().superblocks().map(|block| ftl.valid(block)).collect();
    assert_eq!(valid, [3, 2, 0, 0, 0, 0], "the unit that 3 had is invalid");
    ftl.check().unwrap();
}

#[test]
fn units_without_data_and_padding_leave_their_destination_empty() {
    let mut ftl = written();
    ftl.trim(&[Lpn(5)]).unwrap();
    assert_eq!(ftl.remap(Lpn(0), Lpn(4), 3, 2), Ok(1));
    assert_eq!(places(&ftl), [Some(4), None, None, Some(3), None, None, None, None]);
    assert_eq!(ftl.remap(Lpn(6), Lpn(3), 2, 1), Ok(1));
    assert_eq!(places(&ftl)[6..], [Some(3), None]);
    assert_eq!(ftl.remap(Lpn(0), Lpn(6), 0, 0), Ok(0), "nothing at all is no overlap");
    ftl.check().unwrap();
}

#[test]
fn what_is_refused_changes_nothing() {
    let refused = [
        (3, 5, 1, 2, "the destination has 1 units and the source 2; it needs at least as many"),
        (0, 11, 2, 2, "units 11 to 12 are not all exported: the drive exports 12"),
        (12, 0, 1, 1, "units 12 to 12 are not all exported: the drive exports 12"),
        (u32::MAX, 0, 4, 1, "units 4294967295 to 4294967298 are not all exported: the drive exports 12"),
        (2, 4, 3, 1, "the source, units 4 to 4, and the destination, units 2 to 4, overlap"),
        (3, 3, 1, 1, "the source, units 3 to 3, and the destination, units 3 to 3, overlap"),
    ];
    let mut ftl = written();
    let before = places(&ftl);
    for (to, from, to_units, from_units, want) in refused {
        let outcome = ftl.remap(Lpn(to), Lpn(from), to_units, from_units);
        assert_eq!(outcome.map_err(|error| error.to_string()), Err(want.to_owned()));
    }
    assert_eq!(places(&ftl), before);
    assert_eq!(ftl.remap(Lpn(0), Lpn(1), 1, 2), Err(RemapError::Short { to_units: 1, from_units: 2 }));
    ftl.shrink_to(6);
    assert!(ftl.remap(Lpn(6), Lpn(0), 1, 1).is_err(), "what was given up is no destination");
}
