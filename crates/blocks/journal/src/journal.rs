//! Writing a journal.

use std::collections::VecDeque;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wane_folder::{Disk, Output, UNFINISHED};

use crate::keyed::{Keys, RECORD_HEAD_BYTES, Secret};
use crate::read::{self, Found, Loose, Opened, name, segment_of};
use crate::segment::{HEAD_BYTES, Head, INPUT_MAX, Lineage, Place, Record};
use crate::syncing::{Ended, Syncing};
use crate::{Input, JournalError};

/// How a journal is written.
#[derive(Clone, Copy, Debug)]
pub struct JournalConfig {
    /// Bytes of a segment. One with a longer record is longer.
    pub segment_bytes: u64,
    /// Room that a segment takes at first. It takes twice as much each time that this is used up.
    pub step_bytes: u64,
}

impl Default for JournalConfig {
    fn default() -> Self {
        Self { segment_bytes: 64 << 20, step_bytes: 1 << 20 }
    }
}

impl JournalConfig {
    /// Room of a segment that begins.
    fn first_room(&self) -> u64 {
        self.segment_bytes.min(self.step_bytes)
    }
}

/// A segment that is written.
#[derive(Debug)]
struct Segment {
    head: Head,
    keys: Keys,
    file: Box<dyn Output>,
    /// Bytes for which there is room.
    room: u64,
}

/// A journal to which records are appended. Appended records form a group, which [`Journal::write`] hands to the system.
#[derive(Debug)]
pub struct Journal {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    config: JournalConfig,
    present: Segment,
    /// The next segment, for which room was taken.
    next: Option<Segment>,
    /// Records that are not written.
    group: Vec<u8>,
    /// The number of the next record, and the digest of all before it.
    number: u64,
    digest: u32,
    /// Records that are written, and that are on the disk.
    written: u64,
    synced: u64,
    /// A sync that another thread makes, and the number of records that are on the disk once it is done.
    syncing: Option<(u64, Arc<Ended>)>,
    is_broken: bool,
    /// Bytes of earlier segments.
    bytes: u64,
}

impl Journal {
    /// Begins a journal with record 0, in a segment of its own. `device` sets it apart from those of all others. Segments that are there belong
    /// to none any more.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn create(
        disk: Arc<dyn Disk>,
        folder: &Path,
        device: u64,
        config: JournalConfig,
    ) -> Result<Self, JournalError> {
        let unread = |error| JournalError::Unread { file: "its folder".to_owned(), error };
        let newest = disk.names(folder).map_err(unread)?.iter().filter_map(|name| segment_of(name)).max().unwrap_or(0);
        let secret = Secret::draw().map_err(JournalError::Unwritten)?;
        let head = Head { device, number: newest + 1, first: 0, synced: 0, digest: 0, secret: Some(secret) };
        Self::begin(disk, folder, config, head, VecDeque::new())
    }

    /// Opens a journal at the place that a checkpoint names. Each record from there on goes to `each`, with its file's name. A torn tail is cut
    /// off. The journal goes on in a new segment, into which the last records are written again of which nobody knows that they are on the
    /// disk: a system that has them in memory may have failed to write them, and says so only once. The caller knows of the first `known` records
    /// that they are.
    ///
    /// # Errors
    /// It is damaged, of another device, or `each` refuses; nothing is changed then. Or the disk refuses.
    pub fn open<E: From<JournalError>>(
        disk: Arc<dyn Disk>,
        folder: &Path,
        lineage: &Lineage,
        config: JournalConfig,
        (place, known): (Place, u64),
        each: &mut dyn FnMut(&Record<'_>, &str) -> Result<(), E>,
    ) -> Result<(Self, Opened), E> {
        let Found { mut opened, loose, newest, secret } =
            read::read(disk.as_ref(), folder, lineage, (place, u64::MAX, known), each)?;
        let (first, digest) =
            loose.front().map_or((opened.end.number, opened.end.digest), |first| (first.number, first.digest));
        let number = lineage.before.last().map_or(newest, |(until, _)| newest.max(*until)) + 1;
        // A journal of the format before goes on in the present one.
        let secret = Some(secret.map_or_else(Secret::draw, Ok).map_err(JournalError::Unwritten)?);
        let head = Head { device: lineage.device, number, first, synced: first, digest, secret };
        let journal = Self::begin(disk, folder, config, head, loose)?;
        opened.end = journal.place();
        Ok((journal, opened))
    }

    fn begin(
        disk: Arc<dyn Disk>,
        folder: &Path,
        config: JournalConfig,
        head: Head,
        loose: VecDeque<Loose>,
    ) -> Result<Self, JournalError> {
        let needed: usize = loose.iter().map(|record| RECORD_HEAD_BYTES + record.bytes.len()).sum();
        let room = config.first_room().max((HEAD_BYTES + needed) as u64);
        // Under its own name it replaces what it repeats, and must be whole then.
        let unfinished = folder.join(format!("{}{UNFINISHED}", name(head.number)));
        let present = reserved(disk.as_ref(), &unfinished, head, room).map_err(refused)?;
        let mut journal = Self {
            disk,
            folder: folder.to_owned(),
            config,
            group: Vec::new(),
            number: head.first,
            digest: head.digest,
            written: head.first,
            synced: head.synced,
            syncing: None,
            is_broken: false,
            bytes: 0,
            present,
            next: None,
        };
        if let Err(error) = journal.repeat(loose, &unfinished) {
            let _ = journal.disk.remove(&unfinished);
            return Err(error);
        }
        journal.disk.sync_folder(folder);
        Ok(journal)
    }

    /// Writes the head and the first records of a segment that begins, and gives it its name when they are on the disk.
    fn repeat(&mut self, loose: VecDeque<Loose>, unfinished: &Path) -> Result<(), JournalError> {
        self.present.file.write_all(&self.present.head.bytes()).map_err(JournalError::Unwritten)?;
        for Loose { number, at, bytes, .. } in loose {
            assert_eq!(number, self.number, "the records that are written again follow each other");
            self.put(at, |out| out.extend_from_slice(&bytes));
        }
        self.write()?;
        self.present.file.sync().map_err(JournalError::Unwritten)?;
        self.synced = self.written;
        let name = self.folder.join(name(self.present.head.number));
        self.disk.rename(unfinished, &name).map_err(JournalError::Unwritten)
    }

    /// Appends a record to the group.
    fn put(&mut self, at: u64, write: impl FnOnce(&mut Vec<u8>)) {
        let marks = (self.number, at, self.synced);
        let place = self.place().offset;
        let checksum = self.present.keys.put(&mut self.group, place, marks, write);
        self.digest = checksum.digest_after(self.digest);
        self.number += 1;
    }

    /// The number of the next record.
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// Records that are written: a process that dies now does not lose them.
    pub const fn written(&self) -> u64 {
        self.written
    }

    /// Records that are on the disk: a machine that dies now does not lose them.
    pub const fn synced(&self) -> u64 {
        self.synced
    }

    /// The place of the next record.
    pub fn place(&self) -> Place {
        Place {
            segment: self.present.head.number,
            offset: self.present.file.length() + self.group.len() as u64,
            number: self.number,
            digest: self.digest,
        }
    }

    /// Takes the room for a record of an input of `bytes` bytes, so that it can be appended and written. If it fails, nothing has happened, and
    /// the request can be refused.
    ///
    /// # Errors
    /// There is no room; or the journal is broken.
    ///
    /// # Panics
    /// The input is longer than a record may be.
    pub fn make_room(&mut self, bytes: usize) -> Result<(), JournalError> {
        assert!(bytes <= INPUT_MAX, "an input of {bytes} bytes is submitted in parts");
        self.check()?;
        let needed = (RECORD_HEAD_BYTES + bytes) as u64;
        let end = self.place().offset + needed;
        if end <= self.present.room {
            return Ok(());
        }
        if end <= self.config.segment_bytes {
            let room = (2 * self.present.room).clamp(end, self.config.segment_bytes);
            // On a disk that is nearly full, as much as is needed.
            self.present.room = match self.present.file.reserve(room) {
                Ok(()) => room,
                Err(_) => self.present.file.reserve(end).map(|()| end).map_err(refused)?,
            };
            return Ok(());
        }
        let room = self.config.first_room().max(HEAD_BYTES as u64 + needed);
        match &mut self.next {
            Some(next) if next.room >= room => Ok(()),
            Some(next) => {
                next.file.reserve(room).map_err(refused)?;
                next.room = room;
                Ok(())
            }
            None => self.reserve_next(room),
        }
    }

    /// Makes the file of the next segment. What it goes on from is known when it begins.
    fn reserve_next(&mut self, room: u64) -> Result<(), JournalError> {
        let head = Head { number: self.present.head.number + 1, ..self.present.head };
        let path = self.folder.join(name(head.number));
        self.next = Some(reserved(self.disk.as_ref(), &path, head, room).map_err(refused)?);
        Ok(())
    }

    /// Appends a record at an instant of the device's time. Returns its number.
    ///
    /// # Errors
    /// There is no room, or what came before cannot be written. It is not appended then.
    pub fn append(&mut self, at: u64, input: &Input) -> Result<u64, JournalError> {
        self.check()?;
        let (before, digest, number) = (self.group.len(), self.digest, self.number);
        self.put(at, |out| input.encode(out));
        if self.present.file.length() + self.group.len() as u64 > self.present.room {
            // There is no room yet, or it belongs to the next segment.
            let record = self.group.split_off(before);
            (self.digest, self.number) = (digest, number);
            let bytes = &record[RECORD_HEAD_BYTES..];
            self.make_room(bytes.len())?;
            if self.place().offset + record.len() as u64 > self.present.room {
                self.go_over()?;
            }
            self.put(at, |out| out.extend_from_slice(bytes));
        }
        Ok(number)
    }

    /// Hands all that was appended to the system. Returns the number of records that are written.
    ///
    /// # Errors
    /// The system refuses; the journal takes nothing more.
    pub fn write(&mut self) -> Result<u64, JournalError> {
        self.check()?;
        if !self.group.is_empty() {
            self.is_broken = true;
            self.present.file.write_all(&self.group).map_err(JournalError::Unwritten)?;
            self.is_broken = false;
            self.group.clear();
        }
        self.written = self.number;
        Ok(self.written)
    }

    /// Writes, and waits until it is on the disk. Returns the number of records that are.
    ///
    /// # Errors
    /// The system refuses; the journal takes nothing more, as nobody knows what is on the disk.
    pub fn sync(&mut self) -> Result<u64, JournalError> {
        self.write()?;
        if let Some((records, ended)) = self.syncing.take() {
            // A sync that fails is told once: if that is it, nobody else hears of it.
            self.ended(records, ended.wait())?;
        }
        if self.synced < self.written {
            self.is_broken = true;
            self.present.file.sync().map_err(JournalError::Unwritten)?;
            self.is_broken = false;
            self.synced = self.written;
        }
        Ok(self.synced)
    }

    /// Writes, and returns the sync of what is written, which another thread makes; `None` if all is on the disk, or another one is being made.
    ///
    /// # Errors
    /// As of [`Journal::write`].
    pub fn sync_later(&mut self) -> Result<Option<Syncing>, JournalError> {
        self.write()?;
        if self.synced == self.written || self.syncing.is_some() {
            return Ok(None);
        }
        let call = self.present.file.sync_later().map_err(JournalError::Unwritten)?;
        let (syncing, ended) = Syncing::new(call);
        self.syncing = Some((self.written, ended));
        Ok(Some(syncing))
    }

    /// Takes note of the sync that another thread made, if it is over. Returns the number of records that are on the disk.
    ///
    /// # Errors
    /// It failed; the journal takes nothing more.
    pub fn settle(&mut self) -> Result<u64, JournalError> {
        self.check()?;
        if let Some((records, how)) =
            self.syncing.as_ref().and_then(|(records, ended)| Some((*records, ended.taken()?)))
        {
            self.syncing = None;
            self.ended(records, how)?;
        }
        Ok(self.synced)
    }

    fn ended(&mut self, records: u64, how: std::io::Result<()>) -> Result<(), JournalError> {
        self.is_broken = how.is_err();
        how.map_err(JournalError::Unwritten)?;
        self.synced = self.synced.max(records);
        Ok(())
    }

    /// Ends the present segment, on the disk, and begins the next, so that those before it never change again. Returns the place of the next
    /// record.
    ///
    /// # Errors
    /// There is no room, or the system refuses.
    pub fn seal(&mut self) -> Result<Place, JournalError> {
        self.sync()?;
        if self.next.is_none() {
            self.reserve_next(self.config.first_room())?;
        }
        self.go_over()?;
        self.is_broken = true;
        self.present.file.sync().map_err(JournalError::Unwritten)?;
        self.is_broken = false;
        self.bytes = 0;
        Ok(self.place())
    }

    /// Reads a journal from the place that a checkpoint names, as [`Journal::open`] does, and changes nothing.
    ///
    /// # Errors
    /// As of [`Journal::open`].
    pub fn look<E: From<JournalError>>(
        disk: &dyn Disk,
        folder: &Path,
        lineage: &Lineage,
        place: Place,
        each: &mut dyn FnMut(&Record<'_>, &str) -> Result<(), E>,
    ) -> Result<Opened, E> {
        Self::look_before(disk, folder, lineage, (place, u64::MAX), each)
    }

    /// The same, but for segments before this one alone. Others may be written meanwhile.
    ///
    /// # Errors
    /// As of [`Journal::open`].
    pub fn look_before<E: From<JournalError>>(
        disk: &dyn Disk,
        folder: &Path,
        lineage: &Lineage,
        (place, before): (Place, u64),
        each: &mut dyn FnMut(&Record<'_>, &str) -> Result<(), E>,
    ) -> Result<Opened, E> {
        Ok(read::read(disk, folder, lineage, (place, before, 0), each)?.opened)
    }

    /// Bytes of the records since it was opened or sealed.
    pub fn bytes(&self) -> u64 {
        self.bytes + self.place().offset
    }

    /// Removes segments that lie before a place from which a checkpoint goes on. What cannot be removed stays, and harms nobody.
    pub fn remove_before(&self, place: Place) {
        let names = self.disk.names(&self.folder).unwrap_or_default();
        for number in names.iter().filter_map(|name| segment_of(name)).filter(|number| *number < place.segment) {
            let _ = self.disk.remove(&self.folder.join(name(number)));
        }
    }

    fn check(&self) -> Result<(), JournalError> {
        if self.is_broken { Err(JournalError::Broken) } else { Ok(()) }
    }

    /// Goes over to the next segment, whose room was taken. What lies before it is on the disk first: a record there could not be told from a
    /// torn one otherwise.
    fn go_over(&mut self) -> Result<(), JournalError> {
        self.sync()?;
        let mut next = self.next.take().expect("the room of the next segment was taken");
        next.head = Head { first: self.number, synced: self.synced, digest: self.digest, ..next.head };
        self.is_broken = true;
        next.file.write_all(&next.head.bytes()).map_err(JournalError::Unwritten)?;
        self.disk.sync_folder(&self.folder);
        self.is_broken = false;
        self.bytes += self.present.file.length();
        self.present = next;
        Ok(())
    }
}

/// Why there is no segment, or no room in it: nothing has happened yet.
fn refused(error: std::io::Error) -> JournalError {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    match error.kind() {
        StorageFull | QuotaExceeded | FileTooLarge => JournalError::NoRoom(error),
        _ => JournalError::Unwritten(error),
    }
}

/// Makes a segment's file and takes room for it. Its head is not written.
fn reserved(disk: &dyn Disk, path: &Path, head: Head, room: u64) -> std::io::Result<Segment> {
    let mut file = disk.create(path)?;
    if let Err(error) = file.reserve(room) {
        let _ = disk.remove(path);
        return Err(error);
    }
    let secret = head.secret.as_ref().expect("what is written has a secret");
    Ok(Segment { keys: Keys::new(secret, head.device, head.number), head, file, room })
}
