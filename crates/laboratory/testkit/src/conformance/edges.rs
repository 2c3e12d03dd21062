//! Edge cases for every device: empty ranges, ends of the device and of numbers, capacity that falls while requests are
//! outstanding, time that goes back.

use std::panic::{AssertUnwindSafe, catch_unwind};

use wane_blockdev::{BlockDevice, Completion, Kind, Request, SectorRange, Status, Unsupported, drain};
use wane_units::{Lba, Sectors, SimTime};

use super::Make;
use super::session::mapped;

/// Checks all edge cases, each on a fresh device.
pub(super) fn check(make: Make<'_>) -> Result<(), String> {
    features_fit(make().as_ref())?;
    ranges(make)?;
    falling_capacity(make)?;
    mapped_limit(make)?;
    time_goes_on(make)
}

fn features_fit(device: &dyn BlockDevice) -> Result<(), String> {
    let (features, capacity) = (device.features(), device.capacity());
    let sector = features.sector.0;
    let fits = matches!(sector, 1 | 8) && features.atomic_unit.0 > 0 && features.atomic_unit.0.is_multiple_of(sector);
    if !fits || !capacity.0.is_multiple_of(sector) {
        return Err(format!("sector, atomic unit and capacity do not fit: {features:?}, {capacity}"));
    }
    if device.next_event_at().is_some() {
        return Err("a fresh device expects something".to_owned());
    }
    Ok(())
}

/// Submits one request and runs to its end. Returns its completion, and the time to which the device ran.
fn one(device: &mut dyn BlockDevice, at: SimTime, request: &Request) -> Result<(Completion, SimTime), String> {
    let id = device.submit(at, request.clone());
    let mut out = Vec::new();
    let reached = drain(device, at, &mut out);
    match out.pop() {
        Some(done) if out.is_empty() && done.id == id => Ok((done, reached)),
        last => Err(format!("{request:?} is answered by {last:?} and {out:?}")),
    }
}

fn ranges(make: Make<'_>) -> Result<(), String> {
    let device = make();
    let (features, end) = (device.features(), device.capacity().0);
    let unit = features.sector.0;
    let range = |start, count| SectorRange::new(Lba(start), Sectors(count));
    let aligned_max = u64::MAX - (unit - 1);
    let table = [
        (range(0, 0), None),
        (range(end, 0), None),
        (range(end + unit, 0), Some(Status::OutOfRange)),
        (range(end, unit), Some(Status::OutOfRange)),
        (range(end - unit, 2 * unit), Some(Status::OutOfRange)),
        (range(aligned_max, unit), Some(Status::OutOfRange)),
        (range(unit, aligned_max), Some(Status::OutOfRange)),
        (range(aligned_max, aligned_max), Some(Status::OutOfRange)),
        (range(end - unit, unit), None),
    ];
    for (range, refusal) in table {
        for kind in Kind::ALL {
            let request = match kind {
                Kind::Read => Request::read(range),
                Kind::Write => Request::write_without_bytes(range),
                Kind::WriteZeroes => Request::write_zeroes(range),
                Kind::Trim => Request::trim(range),
                Kind::Flush | Kind::Remap => continue,
            };
            // Reads of any length are allowed if no bytes are carried.
            let too_long = kind == Kind::Read && features.keeps_bytes && range.count > Request::TRANSFER_MAX;
            let want = if too_long { Some(Status::Unsupported(Unsupported::Length)) } else { refusal.clone() };
            let status = one(make().as_mut(), SimTime::ZERO, &request)?.0.status;
            let fine = want.as_ref().map_or(!status.is_refusal(), |want| status == *want);
            if !fine {
                return Err(format!("{request:?} ends as {status:?} on a device of {end} sectors"));
            }
        }
    }
    misfits(make)
}

/// Checks that inconsistent requests are refused and have no effect.
fn misfits(make: Make<'_>) -> Result<(), String> {
    let features = make().features();
    let unit = features.sector.0;
    let range = |start, count| SectorRange::new(Lba(start), Sectors(count));
    let mut table = vec![
        (Request::write(range(0, unit), vec![1; 512 * unit as usize - 1]), Unsupported::Length),
        (Request::write(range(0, unit), Vec::new()), Unsupported::Length),
        (Request::write(range(0, 0), vec![1]), Unsupported::Length),
        (Request::write(range(0, u64::MAX), vec![1; 512]), Unsupported::Length),
    ];
    if unit > 1 {
        table.push((Request::read(range(1, unit)), Unsupported::Alignment));
        table.push((Request::trim(range(0, unit - 1)), Unsupported::Alignment));
    }
    if !features.fua {
        table.push((Request::write_zeroes(range(0, unit)).with_fua(), Unsupported::Fua));
    }
    let whole = features.atomic_unit.0;
    let remap = Request::remap(range(0, whole), range(0, whole));
    let overlap = if features.remap { Unsupported::Overlap } else { Unsupported::Kind };
    table.push((remap, overlap));
    for (request, why) in table {
        let mut device = make();
        let (refused, reached) = one(device.as_mut(), SimTime::ZERO, &request)?;
        if refused.status != Status::Unsupported(why) {
            return Err(format!("{request:?} must be refused as {why:?}, and ends as {:?}", refused.status));
        }
        let (read, _) = one(device.as_mut(), reached, &Request::read(range(0, unit)))?;
        if read.status.is_done() && read.bytes.is_some_and(|bytes| bytes.iter().any(|byte| *byte != 0)) {
            return Err(format!("{request:?} was refused and changed what is read"));
        }
    }
    Ok(())
}

/// Checks that requests submitted before the capacity fell are not affected, and that later ones are out of range.
fn falling_capacity(make: Make<'_>) -> Result<(), String> {
    let mut device = make();
    let (unit, end) = (device.features().sector.0, device.capacity().0);
    let last = SectorRange::new(Lba(end - unit), Sectors(unit));
    let before = device.submit(SimTime::ZERO, Request::write_without_bytes(last));
    if !device.set_capacity(SimTime::ZERO, Sectors(end - unit)).is_done() {
        return Ok(());
    }
    let after = device.submit(SimTime::ZERO, Request::write_without_bytes(last));
    let mut out = Vec::new();
    drain(device.as_mut(), SimTime::ZERO, &mut out);
    for (id, refused) in [(before, false), (after, true)] {
        let status = out.iter().find(|done| done.id == id).map(|done| &done.status);
        if status.is_none_or(|status| (*status == Status::OutOfRange) != refused) {
            return Err(format!("around a fall of capacity to {} request {id} ends as {status:?}", end - unit));
        }
    }
    Ok(())
}

/// Checks that units are mapped up to the limit and no further, that mapped ones are written on, and that it goes both ways.
fn mapped_limit(make: Make<'_>) -> Result<(), String> {
    let mut device = make();
    let (features, capacity) = (device.features(), device.capacity());
    if !features.mapped_limit {
        let is_capacity = device.mapped_limit() == capacity;
        return if is_capacity { Ok(()) } else { Err("a limit that cannot be set is not the capacity".to_owned()) };
    }
    let unit = features.atomic_unit;
    let is_fresh = device.mapped_limit() == capacity && mapped(&*device) == Sectors::ZERO;
    if !is_fresh || capacity.0 < 16 * unit.0 {
        return Ok(());
    }
    let first = capacity.0 / 2 / unit.0;
    let units = |from: u64, count: u64| SectorRange::new(Lba((first + from) * unit.0), Sectors(count * unit.0));
    let (none, write, zero) = (Vec::new(), Request::write_without_bytes, Request::write_zeroes);
    let steps: Vec<Limited> = vec![
        Limited::To(2 * unit.0, Status::Done),
        Limited::Ask(write(units(0, 4)), vec![units(2, 2)]),
        Limited::Ask(write(units(1, 1)), none.clone()),
        Limited::Ask(zero(units(1, 2)), vec![units(2, 1)]),
        Limited::Ask(zero(units(7, 1)).with_may_unmap(), none.clone()),
        Limited::Ask(Request::flush(), none.clone()),
        Limited::To(unit.0, Status::NoSpace(Vec::new())),
        Limited::To((capacity.0 / unit.0 + 1) * unit.0, Status::OutOfRange),
        Limited::Ask(Request::trim(units(0, 1)), none.clone()),
        Limited::Ask(write(units(5, 2)), vec![units(6, 1)]),
        Limited::Ask(Request::read(units(0, 8)), none.clone()),
        Limited::To(3 * unit.0, Status::Done),
        Limited::Ask(write(units(5, 2)), none.clone()),
        Limited::To(capacity.0, Status::Done),
        Limited::Ask(write(units(0, 8)), none),
    ];
    let mut now = SimTime::ZERO;
    for step in steps {
        if !step.check(device.as_mut(), &mut now)? {
            break;
        }
    }
    Ok(())
}

/// A step of the check of mapped limits.
enum Limited {
    /// A limit, and how it is answered.
    To(u64, Status),
    /// A request, and what it finds no room for.
    Ask(Request, Vec<SectorRange>),
}

impl Limited {
    /// Whether the next step makes sense: what failed for reasons of its own says nothing of the limit.
    fn check(self, device: &mut dyn BlockDevice, now: &mut SimTime) -> Result<bool, String> {
        match self {
            Self::To(limit, want) => {
                let before = device.mapped_limit();
                let status = device.set_mapped_limit(*now, Sectors(limit));
                let after = if want == Status::Done { Sectors(limit) } else { before };
                match status {
                    Status::Gone(_) => Ok(false),
                    status if status == want && device.mapped_limit() == after => Ok(true),
                    status => Err(format!("a mapped limit of {limit} ends as {status:?}, not {want:?}")),
                }
            }
            Self::Ask(request, beyond) => {
                let (done, reached) = one(device, *now, &request)?;
                *now = reached;
                let want = if beyond.is_empty() { Status::Done } else { Status::NoSpace(beyond.clone()) };
                let holds =
                    |range: &SectorRange| done.status.failed().iter().any(|all| all.intersection(*range) == *range);
                match done.status {
                    ref status if *status == want => Ok(true),
                    ref status if status.is_failure() && beyond.iter().all(holds) => Ok(false),
                    status => Err(format!("within a mapped limit {request:?} ends as {status:?}, not {want:?}")),
                }
            }
        }
    }
}

/// Checks that a device panics when time goes back, in every call.
fn time_goes_on(make: Make<'_>) -> Result<(), String> {
    type Call = fn(&mut dyn BlockDevice, SimTime);
    let submit: Call = |device, at| {
        device.submit(at, Request::flush());
    };
    let complete: Call = |device, at| device.complete(at, &mut Vec::new());
    for (first, name) in [(submit, "submit"), (complete, "complete")] {
        for (second, then) in [(submit, "submit"), (complete, "complete")] {
            let mut device = make();
            first(device.as_mut(), SimTime(1_000));
            second(device.as_mut(), SimTime(1_000));
            let back = catch_unwind(AssertUnwindSafe(|| second(device.as_mut(), SimTime(999))));
            if back.is_ok() {
                return Err(format!("{then} at 999 ns is taken after {name} at 1 us"));
            }
        }
    }
    Ok(())
}
