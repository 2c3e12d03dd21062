//! Long requests in parts: a host submits one part after the other, so that no call takes long, and joins their statuses by
//! [`Status::join`](crate::Status::join).

use wane_units::Sectors;

use crate::{Features, Kind, Request};

impl Request {
    /// Sectors of a part of a read or a write: 1 MiB.
    pub const DATA_PART: Sectors = Sectors(2_048);
    /// Sectors of a part of a trim or of write-zeroes: 64 MiB.
    pub const LONG_PART: Sectors = Sectors(131_072);

    /// The usual length of a part of this request.
    pub const fn part(&self) -> Sectors {
        match self.kind {
            Kind::Trim | Kind::WriteZeroes => Self::LONG_PART,
            Kind::Read | Kind::Write | Kind::Remap | Kind::Flush => Self::DATA_PART,
        }
    }

    /// Cuts a request into parts of at most `most` sectors, in rising order. They end at multiples of `most`, rounded down to whole
    /// atomic units of a device with these `features`: no unit is cut that the request covers. Flushes and remaps are not cut.
    ///
    /// The bytes of a write are copied once, those of a single part never. The first part of a read gets the read's buffer.
    /// Cut no request that the device refuses ([`Request::check`]): some of its parts could be carried out.
    ///
    /// # Panics
    /// The range ends beyond 2^64, or the bytes of a write do not fill it.
    pub fn parts(self, most: Sectors, features: &Features) -> impl Iterator<Item = Self> + use<> {
        let unit = features.atomic_unit.0.max(1);
        let step = (most.0 - most.0 % unit).max(unit);
        let is_one = matches!(self.kind, Kind::Flush | Kind::Remap) || self.range.count <= most;
        let (mut rest, mut taken) = (Some(self), 0);
        std::iter::from_fn(move || {
            let left = rest.as_mut()?;
            let count = Sectors(step - left.range.start.0 % step);
            if is_one || left.range.count <= count {
                let mut last = rest.take()?;
                if let (Kind::Write, Some(bytes)) = (last.kind, &mut last.bytes) {
                    bytes.drain(..taken);
                }
                return Some(last);
            }
            let range = left.range.first(count);
            let bytes = match (left.kind, &mut left.bytes) {
                (Kind::Write, Some(bytes)) => Some(bytes[taken..taken + range.len_bytes()].to_vec()),
                (_, bytes) => bytes.take(),
            };
            taken += bytes.as_ref().filter(|_| left.kind == Kind::Write).map_or(0, Vec::len);
            left.range = left.range.without_first(count);
            Some(Self { range, bytes, ..*left })
        })
    }
}

#[cfg(test)]
mod tests {
    use wane_units::Lba;

    use super::*;
    use crate::{BlockDevice, Ram, RamConfig, SectorRange};

    fn range(start: u64, count: u64) -> SectorRange {
        SectorRange::new(Lba(start), Sectors(count))
    }

    #[test]
    fn parts_end_at_whole_units_and_are_the_request() {
        // The unit, the longest part, the range, and where parts begin.
        let table: [(u64, u64, SectorRange, &[u64]); 8] = [
            (8, 16, range(0, 16), &[0]),
            (8, 16, range(3, 40), &[3, 16, 32]),
            (8, 20, range(16, 27), &[16, 32]),
            (8, 5, range(7, 10), &[7, 8, 16]),
            (3, 7, range(0, 13), &[0, 6, 12]),
            (8, 16, range(3, 16), &[3]),
            (8, 16, range(40, 0), &[40]),
            (1, 16, range(u64::MAX - 20, 20), &[u64::MAX - 20, u64::MAX - 15]),
        ];
        for (unit, most, whole, starts) in table {
            let config = RamConfig { atomic_unit: Sectors(unit), ..RamConfig::new(Sectors(1 << 20)) };
            let features = Ram::with(config).unwrap().features();
            let bytes: Vec<u8> = (0..whole.len_bytes()).map(|place| (place >> 9) as u8).collect();
            let write = Request::write(whole, bytes.clone()).with_fua();
            let parts: Vec<Request> = write.parts(Sectors(most), &features).collect();
            assert_eq!(parts.iter().map(|part| part.range.start.0).collect::<Vec<_>>(), starts, "{whole}");
            let mut joined = Vec::new();
            parts.iter().for_each(|part| part.range.push_to(&mut joined));
            assert_eq!(joined.first().copied().unwrap_or(whole), whole);
            assert!(parts.iter().all(|part| part.range.count.0 <= most.max(unit) && part.flags.fua));
            let held: Vec<u8> = parts.into_iter().flat_map(|part| part.bytes.unwrap()).collect();
            assert_eq!(held, bytes, "{whole}");
        }
    }

    #[test]
    fn what_is_done_whole_is_one_part() {
        let features = Ram::new(Sectors(1 << 20)).features();
        for request in [Request::flush(), Request::remap(range(0, 64), range(64, 128))] {
            assert_eq!(request.clone().parts(Sectors(8), &features).collect::<Vec<_>>(), [request]);
        }
        let read = Request { bytes: Some(vec![1]), ..Request::read(range(0, 24)) };
        let lent: Vec<bool> = read.parts(Sectors(8), &features).map(|part| part.bytes.is_some()).collect();
        assert_eq!(lent, [true, false, false]);
    }
}
