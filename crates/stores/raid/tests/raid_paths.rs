//! What write paths read and write at the members of a parity array, counted by hand.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod common;

use std::any::Any;
use std::collections::BTreeSet;

use common::{All, ended, raid_config, range};
use wane_blockdev::{
    BlockDevice, Completion, Entry, Fifo, Keep, Kind, Living, Passing, Ram, RamConfig, Record, Request, Resize, drain,
    measured,
};
use wane_raid::code::{Code, PQ, XOR};
use wane_raid::{DIRECT, Journal, MD, Raid, RaidConfig, STRAID, WritePath};
use wane_units::{Fate, Nanos, Sectors};

/// Sectors of a chunk.
const CHUNK: u64 = 16;

type Recorded = Record<Fifo<Ram>>;

/// An array over NVMe drives, with its first stripes written and no record due.
struct Rig {
    array: Raid,
    data: usize,
    width: usize,
    /// Where the first stripe begins on each member.
    offset: u64,
}

/// What members were asked for: the positions of md's left-symmetric layout that were read and written, in order of members.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked {
    reads: Vec<String>,
    writes: Vec<String>,
}

impl Rig {
    fn new(code: &'static dyn Code, width: usize, path: &'static dyn WritePath) -> Self {
        let ram = |_| Ram::with(RamConfig { resize: Resize::Fixed, ..RamConfig::new(Sectors(4096)) });
        let member =
            |ram| -> Box<dyn Living> { Box::new(Record::new(Fifo::new(ram, measured::NVME0), Keep::Requests, 9_999)) };
        let members = (0..width).map(ram).map(|ram| member(ram.unwrap())).collect();
        let slot = Sectors(CHUNK * 10 * width as u64);
        let config = RaidConfig { path, journal: Journal::None, slot, ..raid_config(code, width, &All) };
        let mut array = Raid::new(config, members).unwrap();
        let data = width - code.tolerates();
        for start in (0..8).map(|stripe| stripe * data as u64 * CHUNK) {
            let bytes = (0..data as u64 * CHUNK * 512).map(|at| (at / 512 + start) as u8).collect();
            assert!(ended(&mut array, Request::write(range(start, data as u64 * CHUNK), bytes)).status.is_done());
        }
        ended(&mut array, Request::flush());
        let mut rig = Self { array, data, width, offset: 0 };
        rig.take();
        ended(&mut rig.array, Request::read(range(0, CHUNK)));
        rig.offset = rig.take().iter().flatten().find(|(kind, _)| *kind == Kind::Read).unwrap().1;
        // The record that tells that the tile may not fit is made now.
        rig.write(0, 0, 1);
        rig.take();
        rig
    }

    fn sector(&self, stripe: u64, chunk: u64) -> u64 {
        (stripe * self.data as u64 + chunk) * CHUNK
    }

    fn bytes(count: u64, value: u8) -> Vec<u8> {
        vec![value; count as usize * 512]
    }

    fn write(&mut self, stripe: u64, chunk: u64, chunks: u64) -> Completion {
        let at = self.sector(stripe, chunk);
        ended(&mut self.array, Request::write(range(at, chunks * CHUNK), Self::bytes(chunks * CHUNK, 7)))
    }

    /// The member of a position, by md's formula: the parity of stripe s is on member n - 1 - (s mod n), the others follow.
    fn member(&self, stripe: u64, position: usize) -> usize {
        let (n, m) = (self.width, self.width - self.data);
        let p = n - 1 - stripe as usize % n;
        if position < self.data { (p + m + position) % n } else { (p + position - self.data) % n }
    }

    /// Positions of a stripe that members were asked for since the last call. What is asked for the ring and other stripes is left out.
    fn asked(&mut self, stripe: u64) -> Asked {
        let mut asked = Asked::default();
        let first = self.offset + stripe * CHUNK;
        let by_member = self.take();
        for position in 0..self.width {
            let name =
                if position < self.data { format!("{position}") } else { ["P", "Q"][position - self.data].to_owned() };
            for (kind, start) in &by_member[self.member(stripe, position)] {
                if (first..first + CHUNK).contains(start) {
                    let list = if *kind == Kind::Read { &mut asked.reads } else { &mut asked.writes };
                    list.push(name.clone());
                }
            }
        }
        asked
    }

    /// Requests to each member since the last call.
    fn take(&mut self) -> Vec<Vec<(Kind, u64)>> {
        let mut all = Vec::new();
        self.array.members_mut(&mut |member| {
            let member: &mut dyn Any = member;
            let entries = member.downcast_mut::<Recorded>().map(Record::take_entries).unwrap_or_default();
            let requests = entries.into_iter().filter_map(|entry| match entry {
                Entry::Submit { request, .. } if request.kind != Kind::Flush => {
                    Some((request.kind, request.range.start.0))
                }
                _ => None,
            });
            all.push(requests.collect());
        });
        all
    }
}

/// Names of positions.
fn names(list: &str) -> Vec<String> {
    list.split_whitespace().map(str::to_owned).collect()
}

/// Reads and writes of a change of the first `d` chunks of a stripe, or of reads of these.
type Row = (&'static dyn Code, usize, u64, &'static str, &'static str);

#[test]
fn changes_read_and_write_as_by_hand() {
    let table: [Row; 17] = [
        (&XOR, 3, 1, "1", "0 P"),
        (&XOR, 3, 2, "", "0 1 P"),
        // Two reads either way: reconstruct-write.
        (&XOR, 4, 1, "1 2", "0 P"),
        (&XOR, 4, 2, "2", "0 1 P"),
        (&XOR, 4, 3, "", "0 1 2 P"),
        (&XOR, 5, 1, "0 P", "0 P"),
        (&XOR, 5, 2, "2 3", "0 1 P"),
        (&XOR, 5, 3, "3", "0 1 2 P"),
        (&XOR, 5, 4, "", "0 1 2 3 P"),
        (&PQ, 6, 1, "1 2 3", "0 P Q"),
        (&PQ, 6, 2, "2 3", "0 1 P Q"),
        (&PQ, 6, 3, "3", "0 1 2 P Q"),
        (&PQ, 6, 4, "", "0 1 2 3 P Q"),
        (&XOR, 6, 1, "0 P", "0 P"),
        (&XOR, 6, 2, "2 3 4", "0 1 P"),
        (&XOR, 6, 4, "4", "0 1 2 3 P"),
        (&XOR, 6, 5, "", "0 1 2 3 4 P"),
    ];
    for path in [&DIRECT as &'static dyn WritePath, &MD] {
        for (code, width, chunks, reads, writes) in table {
            let mut rig = Rig::new(code, width, path);
            // The second stripe's parities lie elsewhere.
            for stripe in [0, 1] {
                assert!(rig.write(stripe, 0, chunks).status.is_done());
                let asked = rig.asked(stripe);
                let name = format!("{} of {width}, {chunks} chunks by {}, stripe {stripe}", code.name(), path.name());
                assert_eq!(asked, Asked { reads: names(reads), writes: names(writes) }, "{name}");
            }
        }
    }
}

/// Which chunk of stripe 0 is lost, how many of its first chunks are written (0: the lost chunk is read), what is read and what written; what md reads if
/// that is not the same.
type Degraded = (&'static dyn Code, usize, usize, u64, &'static str, &'static str, Option<&'static str>);

#[test]
fn stripes_that_lack_a_member_are_read_and_written_as_by_hand() {
    let table: [Degraded; 11] = [
        (&XOR, 3, 0, 0, "1 P", "", None),
        (&XOR, 5, 2, 0, "0 1 3 P", "", None),
        // As many as there are data chunks, though one more is there.
        (&PQ, 6, 1, 0, "0 2 3 P", "", None),
        // What is lost cannot be modified, and what is lost of the others cannot be read.
        (&XOR, 5, 0, 1, "1 2 3", "P", None),
        (&XOR, 5, 3, 1, "0 P", "0 P", None),
        (&XOR, 3, 1, 1, "0 P", "0 P", None),
        (&XOR, 5, 3, 2, "0 1 P", "0 1 P", None),
        (&PQ, 6, 3, 1, "0 P Q", "0 P Q", None),
        // A lost parity needs nothing, but md counts it as one that cannot be read.
        (&XOR, 5, 4, 1, "", "0", Some("1 2 3")),
        (&PQ, 6, 4, 1, "0 Q", "0 Q", Some("1 2 3")),
        (&PQ, 6, 5, 2, "2 3", "0 1 P", None),
    ];
    for path in [&DIRECT as &'static dyn WritePath, &MD] {
        for (code, width, lost, chunks, reads, writes, by_md) in table {
            let mut rig = Rig::new(code, width, path);
            let (at, member) = (rig.array.now(), rig.member(0, lost));
            rig.array.take_out(at, member, &mut || Fate::Done);
            rig.array.pass(at, Passing::Idle(Nanos(1_000_000)));
            rig.take();
            let done = if chunks == 0 {
                let start = rig.sector(0, lost as u64);
                ended(&mut rig.array, Request::read(range(start, CHUNK)))
            } else {
                rig.write(0, 0, chunks)
            };
            assert!(done.status.is_done());
            let name = format!("{} of {width} without {lost}, {chunks} chunks by {}", code.name(), path.name());
            let reads = by_md.filter(|_| path.name() == "md").unwrap_or(reads);
            assert_eq!(rig.asked(0), Asked { reads: names(reads), writes: names(writes) }, "{name}");
        }
    }
}

/// Submits writes of rows of chunks of stripe 2, each so long after the one before. Returns the requests' statuses and latencies.
fn submit(rig: &mut Rig, writes: &[(u64, u64, u64, u8)], apart: Nanos) -> Vec<Completion> {
    let mut at = rig.array.now();
    let mut out = Vec::new();
    for (chunk, row, count, value) in writes {
        let start = rig.sector(2, *chunk) + row;
        rig.array.submit(at, Request::write(range(start, *count), Rig::bytes(*count, *value)));
        at = at.saturating_add(apart);
        rig.array.complete(at, &mut out);
    }
    drain(&mut rig.array, at, &mut out);
    assert!(out.iter().all(|done| done.status.is_done()));
    out
}

/// The contents of stripe 2 are those of the writes over what was there, and any four chunks tell the fifth.
fn check_contents(rig: &mut Rig, writes: &[(u64, u64, u64, u8)]) {
    let sectors = rig.data as u64 * CHUNK;
    let start = rig.sector(2, 0);
    let mut want: Vec<u8> = (0..sectors * 512).map(|at| (at / 512 + start) as u8).collect();
    for (chunk, row, count, value) in writes {
        let at = ((chunk * CHUNK + row) * 512) as usize;
        want[at..at + *count as usize * 512].fill(*value);
    }
    for lost in 0..rig.width {
        let mut array = rig.array.another();
        let array: &mut dyn Any = &mut *array;
        let array = array.downcast_mut::<Raid>().unwrap();
        array.take_out(array.now(), lost, &mut || Fate::Done);
        let read = ended(array, Request::read(range(start, sectors)));
        assert!(read.bytes.as_ref() == Some(&want), "without member {lost} after {writes:?}");
    }
}

/// Writes of rows of chunks at the same instant, what is read and written then.
type Joint = (&'static [(u64, u64, u64, u8)], &'static str, &'static str);

#[test]
fn changes_of_a_stripe_that_wait_are_written_together() {
    let table: [Joint; 9] = [
        // A lone change is a read-modify-write.
        (&[(0, 0, 16, 1)], "0 P", "0 P"),
        // One chunk that joins is not more than half of the other three: its old data are read.
        (&[(0, 0, 16, 1), (1, 0, 16, 2)], "0 1 P", "0 1 P"),
        // Two are: the fourth is read instead.
        (&[(0, 0, 16, 1), (1, 0, 16, 2), (2, 0, 16, 3)], "0 3 P", "0 1 2 P"),
        (&[(1, 0, 16, 1), (0, 0, 16, 2), (2, 0, 16, 3), (3, 0, 16, 4)], "1 P", "0 1 2 3 P"),
        // The last of equal ones stays.
        (&[(0, 0, 16, 1), (0, 0, 16, 2), (0, 8, 8, 3)], "0 P", "0 P"),
        // Rows that follow each other: the first phase read the first of them alone.
        (&[(0, 0, 8, 1), (0, 8, 8, 2)], "0 0 P P", "0 P"),
        // Other rows of another chunk are no rectangle with it, and wait.
        (&[(0, 0, 8, 1), (2, 8, 8, 2)], "0 2 P P", "0 2 P P"),
        // What waits is overtaken by what it does not overlap.
        (&[(0, 0, 8, 1), (2, 8, 8, 2), (1, 0, 8, 3)], "0 1 2 P P", "0 1 2 P P"),
        (&[(0, 0, 8, 1), (2, 8, 8, 2), (2, 8, 8, 3), (1, 0, 8, 4)], "0 1 2 P P", "0 1 2 P P"),
    ];
    for (writes, reads, written) in table {
        let mut rig = Rig::new(&XOR, 5, &STRAID);
        submit(&mut rig, writes, Nanos::ZERO);
        assert_eq!(rig.asked(2), Asked { reads: names(reads), writes: names(written) }, "{writes:?}");
        check_contents(&mut rig, writes);
    }
}

#[test]
fn a_change_that_has_read_takes_nothing_in() {
    // It reads for 4 + 8 + 75 us; what comes later goes by itself, and finds the parity in the cache.
    for (apart, reads, writes) in [(80, "0 1 P", "0 1 P"), (90, "0 1 P", "0 1 P P")] {
        let mut rig = Rig::new(&XOR, 5, &STRAID);
        submit(&mut rig, &[(0, 0, 16, 1), (1, 0, 16, 2)], Nanos(apart * 1_000));
        assert_eq!(rig.asked(2), Asked { reads: names(reads), writes: names(writes) }, "{apart} us apart");
    }
}

#[test]
fn a_read_between_two_changes_sees_the_first_alone() {
    let mut rig = Rig::new(&XOR, 5, &STRAID);
    let (at, start) = (rig.array.now(), rig.sector(2, 0));
    let write = |value| Request::write(range(start, CHUNK), Rig::bytes(CHUNK, value));
    let mut out = Vec::new();
    rig.array.submit(at, write(1));
    let read = rig.array.submit(at, Request::read(range(start, CHUNK)));
    rig.array.submit(at, write(2));
    drain(&mut rig.array, at, &mut out);
    let read = out.iter().find(|done| done.id == read).unwrap();
    assert_eq!(read.bytes, Some(Rig::bytes(CHUNK, 1)));
    assert_eq!(rig.asked(2).writes, names("0 0 P P"));
}

#[test]
fn parities_at_hand_are_not_read() {
    let mut rig = Rig::new(&PQ, 6, &STRAID);
    submit(&mut rig, &[(0, 0, 16, 1)], Nanos::ZERO);
    assert_eq!(rig.asked(2).reads, names("0 P Q"));
    submit(&mut rig, &[(3, 0, 8, 2)], Nanos::ZERO);
    assert_eq!(rig.asked(2), Asked { reads: names("3"), writes: names("3 P Q") });
    check_contents(&mut rig, &[(0, 0, 16, 1), (3, 0, 8, 2)]);
    // What the processor knew is gone with the power.
    let at = rig.array.now();
    rig.array.power_off(at, &mut || Fate::Done);
    rig.array.power_on(at).unwrap();
    rig.take();
    submit(&mut rig, &[(3, 0, 8, 3)], Nanos::ZERO);
    let reads: BTreeSet<String> = rig.asked(2).reads.into_iter().collect();
    assert!(reads.contains("P") || reads.contains("1"), "{reads:?}");
}

#[test]
fn a_group_of_md_has_one_processor_and_a_stripe_of_straid_one_of_its_own() {
    // Chunks of 8 KiB are two stripe heads of 7.6 us each; members write for 5.65 us, and end 15 us later.
    let write_us = 5_651 + 15_000;
    for (path, ends) in [(&MD as &'static dyn WritePath, [22_800, 30_400]), (&STRAID, [8_000, 8_000])] {
        let mut rig = Rig::new(&XOR, 3, path);
        let at = rig.array.now();
        for stripe in [0, 3] {
            let start = rig.sector(stripe, 0);
            rig.array.submit(at, Request::write(range(start, 2 * CHUNK), Rig::bytes(2 * CHUNK, 1)));
        }
        let mut out = Vec::new();
        drain(&mut rig.array, at, &mut out);
        let found: Vec<u64> = out.iter().map(|done| done.at.0 - at.0).collect();
        let queue = if path.name() == "md" { 0 } else { 5_651 };
        assert_eq!(found, [ends[0] + write_us, ends[1] + write_us + queue], "{}", path.name());
    }
}
