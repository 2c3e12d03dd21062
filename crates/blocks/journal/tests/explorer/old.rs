//! Journals of the format before the present one, as it was written: nothing else writes it any more.

use std::io::Write;
use std::path::Path;

use wane_folder::{Disk, Simulated};
use wane_journal::{Input, JournalError, Place};
use wane_sim::Streams;

use super::contents::{FORGED, KINDS, contents};
use super::{DEVICE, FOLDER, Model, holds, live, open};

/// Where the first record of a segment begins.
const BEGIN: u64 = 52;

/// The bytes of an input.
pub(crate) fn encoded(input: &Input) -> Vec<u8> {
    let (kind, bytes) = match input {
        Input::Command(bytes) => (3, bytes),
        Input::Comment(bytes) => (4, bytes),
        Input::Call(_) => panic!("tests of journals have no device"),
    };
    [&[kind], bytes.as_slice()].concat()
}

/// The head of a record with this length, number and mark, which has no checksum.
pub(crate) fn head(length: u32, (number, synced): (u64, u64)) -> Vec<u8> {
    let fields = [number, 10 * number, synced].into_iter().flat_map(|field| field.to_le_bytes());
    length.to_le_bytes().into_iter().chain([7; 4]).chain(fields).collect()
}

/// A record, and its checksum.
pub(crate) fn record(device: u64, segment: u64, (number, at, synced): (u64, u64, u64), input: &[u8]) -> (Vec<u8>, u32) {
    let mut rest = Vec::new();
    for field in [number, at, synced] {
        rest.extend(field.to_le_bytes());
    }
    rest.extend(input);
    let length = (input.len() as u32).to_le_bytes();
    let mut hasher = crc32fast::Hasher::new();
    for part in [&device.to_le_bytes()[..], &segment.to_le_bytes(), &length, &rest] {
        hasher.update(part);
    }
    let checksum = hasher.finalize();
    ([&length[..], &checksum.to_le_bytes(), &rest].concat(), checksum)
}

/// A journal that is written into memory.
struct Old {
    device: u64,
    segment: u64,
    bytes: Vec<u8>,
    number: u64,
    synced: u64,
    digest: u32,
}

impl Old {
    pub(crate) fn new(device: u64) -> Self {
        let mut old = Self { device, segment: 0, bytes: Vec::new(), number: 0, synced: 0, digest: 0 };
        old.begin();
        old
    }

    fn begin(&mut self) {
        self.segment += 1;
        self.bytes = b"wanejr01".to_vec();
        for field in [self.device, self.segment, self.number, self.synced] {
            self.bytes.extend(field.to_le_bytes());
        }
        self.bytes.extend(self.digest.to_le_bytes());
        self.bytes.extend([0; 4]);
        self.bytes.extend(crc32fast::hash(&self.bytes).to_le_bytes());
    }

    /// Appends a record. Returns the bytes before it.
    fn append(&mut self, at: u64, input: &Input) -> usize {
        let marks = (self.number, at, self.synced);
        let (bytes, checksum) = record(self.device, self.segment, marks, &encoded(input));
        let before = self.bytes.len();
        self.bytes.extend(bytes);
        self.number += 1;
        let mut hasher = crc32fast::Hasher::new_with_initial(self.digest);
        hasher.update(&checksum.to_le_bytes());
        self.digest = hasher.finalize();
        before
    }

    /// All that was appended is on the disk.
    fn sync(&mut self) {
        self.synced = self.number;
    }

    /// Puts the present segment on a disk: `written` bytes of it, and room.
    fn put(&self, disk: &Simulated, written: usize) {
        let folder = Path::new(FOLDER);
        let mut file = disk.create(&folder.join(wane_journal::name(self.segment))).unwrap();
        file.write_all(&self.bytes[..written]).unwrap();
        file.reserve((self.bytes.len() + 1000) as u64).unwrap();
        file.sync().unwrap();
        disk.sync_folder(folder);
    }

    /// Ends the present segment, and begins the next.
    fn go_over(&mut self, disk: &Simulated) {
        self.sync();
        self.put(disk, self.bytes.len());
        self.begin();
    }
}

/// Where such a journal begins.
fn begin() -> Place {
    Place { segment: 1, offset: BEGIN, number: 0, digest: 0 }
}

/// A journal of two segments whose last record has [`contents`] of a kind, and the place of that record. All before it but the last is on the disk.
fn lived(disk: &Simulated, kind: u64, seed: u64) -> (Old, Model, usize) {
    let (mut old, mut model) = (Old::new(DEVICE), Model::default());
    let mut stream = Streams::new(seed).stream("old");
    let mut torn = 0;
    for number in 0..12 {
        let input = match number {
            11 => Input::Command(contents(kind, number, disk, &mut stream)),
            _ => Input::Command(vec![number as u8 + 1; stream.below(90) as usize]),
        };
        torn = old.append(10 * number, &input);
        model.appended.push((10 * number, input));
        match number {
            5 => old.go_over(disk),
            9 => old.sync(),
            _ => {}
        }
    }
    model.synced = 10;
    (old, model, torn)
}

#[test]
fn an_old_journal_torn_in_the_midst_of_any_contents_opens_and_goes_on() {
    for seed in 0..40 * KINDS {
        let kind = seed % KINDS;
        let disk = Simulated::default();
        let (old, mut model, torn) = lived(&disk, kind, seed);
        let mut stream = Streams::new(seed).stream("cut");
        let written = torn + stream.below((old.bytes.len() - torn) as u64) as usize;
        old.put(&disk, written);
        let case = format!("seed {seed}, {written} B");
        let opened = open(&disk, begin());
        if kind == FORGED && matches!(opened, Err(JournalError::Damaged { .. })) {
            // Who knows the device makes records that nothing tells from others; journals that are written now have a secret.
            continue;
        }
        let (mut journal, opened, records) = opened.unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(opened.dropped, 0, "{case}");
        holds(&records, &mut model, 11, &case);
        live(&mut journal, &mut model, (&disk, kind), &mut stream, 10).unwrap();
        journal.sync().unwrap();
        drop(journal);
        let all = model.appended.len();
        for crash in 0..2 {
            let (_, _, records) = open(&disk.crashed(crash), begin()).unwrap();
            holds(&records, &mut model, all, &case);
        }
    }
}

#[test]
fn an_old_journal_that_is_damaged_where_it_was_on_the_disk_is_refused() {
    let (mut refused, mut cut) = (0, 0);
    for seed in 0..4 {
        let disk = Simulated::default();
        let (old, model, torn) = lived(&disk, 1, seed);
        let path = Path::new(FOLDER).join("journal.2");
        for place in 0..torn {
            old.put(&disk, old.bytes.len());
            disk.damage(&path, |bytes| bytes[place] ^= 1 << (place % 8));
            match open(&disk, begin()) {
                Err(JournalError::Damaged { .. } | JournalError::Missing { .. }) => refused += 1,
                Ok((_, _, records)) => {
                    // Of the record before the last nobody knows whether it was.
                    holds(&records, &mut model.clone(), 10, &format!("seed {seed}, byte {place}"));
                    cut += 1;
                }
                Err(other) => panic!("seed {seed}, byte {place}: {other}"),
            }
            // It was opened, and went on.
            let _ = disk.remove(&Path::new(FOLDER).join("journal.3"));
        }
    }
    assert!(refused > 1000 && cut > 100, "{refused} {cut}");
}

#[test]
fn an_old_record_behind_a_torn_one_is_found_among_bytes_that_look_like_heads() {
    let disk = Simulated::default();
    let mut old = Old::new(DEVICE);
    let heads = [head(1 << 16, (2, 0)), head(1 << 15, (2, 1))].concat().repeat(1 << 14);
    old.append(0, &Input::Command(vec![1; 9]));
    let torn = old.append(10, &Input::Command(heads));
    old.append(20, &Input::Command(vec![1; 9]));
    old.sync();
    old.append(30, &Input::Command(vec![1; 9]));
    old.put(&disk, old.bytes.len());
    disk.damage(&Path::new(FOLDER).join("journal.1"), |bytes| bytes[torn + 99] ^= 1);
    assert!(matches!(open(&disk, begin()), Err(JournalError::Damaged { number: 1, .. })));
}
