//! A drive's folder: its id, its list of members, its shares, and shares that are being written.
//!
//! | file | is |
//! |---|---|
//! | `drive.json` | the drive's id, the format, and whether its cluster has a secret |
//! | `members.json` | the list of members, as the drive knew it last |
//! | `lock` | held while a server has the folder open |
//! | `shares/AB/OBJECT.VERSION.SHARE` | a share, whose object's id begins with AB; `.deleted` in place of the number: the object was deleted |
//! | `staging/` | shares that are being written; empty after a start |
//! | `rotten/` | shares whose checksums were found wrong or that could not be read, for people to look at, and to remove |
//! | `owed/OBJECT` | an object with fewer shares than it should have; holds its name |
//! | `simulated.json` | which pages of a simulated drive beneath files have |
//!
//! A share is written under `staging`, read back, checked against its checksums, synced and renamed to its place, and the folder is synced. Only then
//! is it acknowledged. If the process ends earlier, nothing of it is left in `shares`.

mod disk;
mod staging;

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use wane_units::excerpt_path;

pub(crate) use disk::{hex, replace};
use staging::Staged;
pub use staging::{Key, Plan};

use crate::layout::{HEADER_BYTES, SHARES_MAX, record_offset};
use crate::share::{Header, Place, Version, check_name};
use crate::{ActorError, Members, RingId};

const FORMAT: u32 = 1;
const DELETED: &str = "deleted";

/// A medium that wears with what is kept: a simulated drive beneath the folder.
pub trait Medium: Send {
    /// Writes a file of `bytes` bytes.
    ///
    /// # Errors
    /// [`ActorError::Full`] if there is no room, or the drive has worn out.
    fn keep(&mut self, file: &str, bytes: u64) -> Result<(), ActorError>;
    /// Removes a file.
    fn free(&mut self, file: &str);
    /// Removes the files for which `is_there` is false.
    fn retain(&mut self, is_there: &dyn Fn(&str) -> bool);
    /// Its state, for the drive's status.
    fn facts(&self) -> serde_json::Value;
    /// Saves its state.
    ///
    /// # Errors
    /// It cannot be written.
    fn save(&mut self) -> Result<(), ActorError>;
}

#[derive(Serialize, Deserialize)]
struct Identity {
    format: u32,
    id: RingId,
    /// Whether its cluster has a secret.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    secret: bool,
}

/// A share that is kept, by its file's name.
#[derive(Clone, Debug)]
struct Held {
    version: Version,
    /// `None` for a deleted object.
    share: Option<u16>,
    /// Read on first use.
    header: Option<Arc<Header>>,
}

/// What a scrub found of an object, by version and share; the share is `None` for a note of a deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Shares that read as they were written.
    pub whole: u64,
    /// Shares that do not read as they were written, or cannot be read.
    pub rotten: Vec<(Version, Option<u16>)>,
    /// Files that are not there any more.
    pub gone: Vec<(Version, Option<u16>)>,
    /// Why files could not be read this time, or could not be set aside.
    pub unread: Vec<String>,
}

impl Found {
    /// Whether nothing has to be made anew.
    pub const fn is_whole(&self) -> bool {
        self.rotten.is_empty() && self.gone.is_empty()
    }
}

/// See the head of this file.
pub struct Store {
    folder: PathBuf,
    id: RingId,
    has_secret: bool,
    held: Mutex<BTreeMap<RingId, Vec<Held>>>,
    staged: Mutex<BTreeMap<Key, Arc<Staged>>>,
    /// Number of shares whose writing was begun.
    uploads: AtomicU64,
    medium: Option<Mutex<Box<dyn Medium>>>,
    /// Held as long as the folder is open.
    _lock: File,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn file_name(object: RingId, version: Version, share: Option<u16>) -> String {
    let share = share.map_or_else(|| DELETED.to_owned(), |share| share.to_string());
    format!("{object}.{version}.{share}")
}

fn read_name(name: &str) -> Option<(RingId, Held)> {
    let mut parts = name.split('.');
    let (object, version, share) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?);
    let share = if share == DELETED { None } else { Some(share.parse().ok()?) };
    parts.next().is_none().then_some((object, Held { version, share, header: None }))
}

impl Store {
    /// Opens the folder, and makes it if nothing is there. With `id`, a new drive gets this id, and another drive's folder is refused.
    ///
    /// # Errors
    /// It is in use, no drive's, or the system refuses.
    pub fn open(folder: &Path, id: Option<RingId>) -> Result<Self, ActorError> {
        let shown = excerpt_path(folder);
        let known = folder.join("drive.json");
        let is_new = !known.exists();
        if is_new && fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(ActorError::Invalid(format!(
                "{shown} is no drive's folder: it holds something, and no drive.json"
            )));
        }
        disk::make_private(folder)?;
        for part in ["shares", "staging", "rotten", "owed"] {
            disk::make_private(&folder.join(part))?;
        }
        let lock = lock(folder)?;
        disk::make_all_private(folder);
        if is_new {
            let id = id.map_or_else(RingId::random, Ok)?;
            disk::replace(&known, &to_json(&Identity { format: FORMAT, id, secret: false })?)?;
        }
        let text = fs::read(&known).map_err(|error| ActorError::unread(&known, &error))?;
        let found: Identity = serde_json::from_slice(&text)
            .map_err(|error| ActorError::Invalid(format!("{}: no drive's: {error}", excerpt_path(&known))))?;
        if found.format != FORMAT {
            let format = found.format;
            return Err(ActorError::Invalid(format!("{shown} has format {format}; this wane reads format {FORMAT}")));
        }
        if let Some(id) = id.filter(|id| *id != found.id) {
            return Err(ActorError::Invalid(format!("{shown} is drive {}, not {id}", found.id)));
        }
        disk::empty(&folder.join("staging"))?;
        disk::remove_parts(folder, |name| ["drive.json", "members.json", "simulated.json"].contains(&name))?;
        disk::remove_parts(&folder.join("owed"), |name| name.parse::<RingId>().is_ok())?;
        let held = Mutex::new(scan(&folder.join("shares"))?);
        Ok(Self {
            folder: folder.to_owned(),
            id: found.id,
            has_secret: found.secret,
            held,
            staged: Mutex::default(),
            uploads: AtomicU64::new(0),
            medium: None,
            _lock: lock,
        })
    }

    /// Has a simulated drive wear with what is written from now on.
    ///
    /// # Errors
    /// It has no room for what is kept already.
    pub fn wear(&mut self, mut medium: Box<dyn Medium>) -> Result<(), ActorError> {
        let mut names = std::collections::BTreeSet::new();
        for (object, held) in locked(&self.held).iter() {
            names.extend(held.iter().map(|one| (*object, file_name(*object, one.version, one.share))));
        }
        medium.retain(&|name| {
            name.split('.')
                .next()
                .and_then(|id| id.parse().ok())
                .is_some_and(|id| names.contains(&(id, name.to_owned())))
        });
        for (object, name) in &names {
            medium.keep(name, disk::length(&self.path(*object, name))?)?;
        }
        self.medium = Some(Mutex::new(medium));
        Ok(())
    }

    /// The simulated drive beneath.
    pub fn medium(&self) -> Option<MutexGuard<'_, Box<dyn Medium>>> {
        self.medium.as_ref().map(locked)
    }

    /// The drive's id.
    pub const fn id(&self) -> RingId {
        self.id
    }

    /// Checks that the drive may be served without a secret: one that was served with a secret may not.
    ///
    /// # Errors
    /// [`ActorError::Invalid`] if its cluster has a secret.
    pub fn check_open(&self) -> Result<(), ActorError> {
        if !self.has_secret {
            return Ok(());
        }
        Err(ActorError::Invalid(format!(
            "{} says that its cluster has a secret: --secret-file must give it; without it the drive would answer anybody",
            excerpt_path(&self.folder.join("drive.json"))
        )))
    }

    /// Notes that the drive's cluster has a secret, so that it is never served without one.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn note_secret(&self) -> Result<(), ActorError> {
        if self.has_secret {
            return Ok(());
        }
        disk::replace(
            &self.folder.join("drive.json"),
            &to_json(&Identity { format: FORMAT, id: self.id, secret: true })?,
        )
    }

    /// The list of members that was kept; `None` for a new drive. A drive that keeps shares belongs to a cluster, and has its list.
    ///
    /// # Errors
    /// The list cannot be read, or is gone from a drive that keeps shares.
    pub fn members(&self) -> Result<Option<Members>, ActorError> {
        let path = self.folder.join("members.json");
        let back = "; with --join and the address of another drive of its cluster it gets the list anew";
        match fs::read(&path) {
            Ok(text) => Members::parse(&text)
                .map(Some)
                .map_err(|error| ActorError::Invalid(format!("{}: {error}{back}", excerpt_path(&path)))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => match self.counts() {
                (0, 0) => Ok(None),
                _ => Err(ActorError::Invalid(format!(
                    "{} is gone, and the drive keeps {}{back}",
                    excerpt_path(&path),
                    self.kept_in_words()
                ))),
            },
            Err(error) => Err(ActorError::unread(&path, &error)),
        }
    }

    /// Keeps the list of members. A list that is kept already is not written again, since the disk may be full.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep_members(&self, members: &Members) -> Result<(), ActorError> {
        let (path, text) = (self.folder.join("members.json"), to_json(members)?);
        if fs::read(&path).is_ok_and(|kept| kept == text) { Ok(()) } else { disk::replace(&path, &text) }
    }

    fn path(&self, object: RingId, name: &str) -> PathBuf {
        self.folder.join("shares").join(&object.to_string()[..2]).join(name)
    }

    /// Returns what is kept of an object, the newest first, with notes of deletions. Checks the files: one that is gone, has another length or
    /// an unreadable description no longer counts as kept, and a scrub sets it aside.
    ///
    /// # Errors
    /// [`ActorError::System`] if files cannot be read now, such as when too many are open or memory is short. Then what is kept is unknown, and
    /// another try may succeed.
    pub fn held(&self, object: RingId) -> Result<Vec<Arc<Header>>, ActorError> {
        let mut found = Vec::new();
        for (version, share) in self.kept(object) {
            let path = self.path(object, &file_name(object, version, share));
            match disk::described(&path, object, version, share) {
                Ok(header) => found.push(Arc::new(header)),
                Err(ActorError::Missing(_) | ActorError::Rotten(_)) => {}
                Err(error) => return Err(error),
            }
        }
        for header in &found {
            self.remember(object, header);
        }
        found.sort_by_key(|header| std::cmp::Reverse(header.version));
        Ok(found)
    }

    /// The newest that is kept of an object, as read before or now.
    ///
    /// # Errors
    /// See [`Store::held`].
    pub fn newest(&self, object: RingId) -> Result<Option<Arc<Header>>, ActorError> {
        let newest = locked(&self.held).get(&object).into_iter().flatten().max_by_key(|one| one.version).cloned();
        match newest {
            Some(Held { header: Some(header), .. }) => Ok(Some(header)),
            Some(_) => Ok(self.held(object)?.into_iter().next()),
            None => Ok(None),
        }
    }

    fn remember(&self, object: RingId, header: &Arc<Header>) {
        let named = (header.version, (!header.deleted).then_some(header.share));
        let mut index = locked(&self.held);
        let mut all = index.get_mut(&object).into_iter().flatten();
        if let Some(one) = all.find(|one| (one.version, one.share) == named) {
            one.header = Some(Arc::clone(header));
        }
    }

    /// Objects of which shares are kept, by file names: at most `most` of them, after `after` in order.
    pub fn objects(&self, after: Option<RingId>, most: usize) -> Vec<RingId> {
        let held = locked(&self.held);
        let behind = |object: &&RingId| after.is_none_or(|after| **object > after);
        held.keys().filter(behind).take(most).copied().collect()
    }

    /// What is kept of an object, by file names alone: the version, and the share, or `None` for a deletion.
    pub fn kept(&self, object: RingId) -> Vec<(Version, Option<u16>)> {
        locked(&self.held).get(&object).into_iter().flatten().map(|one| (one.version, one.share)).collect()
    }

    /// Numbers of shares, and of objects known to be deleted.
    pub fn counts(&self) -> (u64, u64) {
        let held = locked(&self.held);
        let all = || held.values().flatten();
        (all().filter(|one| one.share.is_some()).count() as u64, all().filter(|one| one.share.is_none()).count() as u64)
    }

    /// What is kept, as in "2 shares and 1 note of a deletion".
    pub fn kept_in_words(&self) -> String {
        let some = |count: u64, one: &str, many: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            _ => Some(format!("{count} {many}")),
        };
        let (shares, deleted) = self.counts();
        let kept = [some(shares, "share", "shares"), some(deleted, "note of a deletion", "notes of deletions")];
        let kept: Vec<String> = kept.into_iter().flatten().collect();
        if kept.is_empty() { "nothing".to_owned() } else { kept.join(" and ") }
    }

    /// Reads a block of a share that is kept or being written, and checks its checksum. `cell_here` is the bytes of its stripe's cells.
    ///
    /// # Errors
    /// [`ActorError::Missing`] if there is no such share, [`ActorError::Rotten`] if its bytes are not those that were written.
    pub fn read_block(&self, key: &Key, stripe: u64, cell_here: u32, block: u16) -> Result<Vec<u8>, ActorError> {
        let staged = locked(&self.staged).get(key).cloned();
        let place = Place { version: key.version, share: key.share, stripe, block };
        if let Some(staged) = staged {
            let offset = record_offset(staged.plan.cell, cell_here, staged.plan.code, stripe, block);
            return disk::read_block(&staged.path, offset, place, cell_here, staged.plan.code);
        }
        let header = self.header(key)?;
        if stripe >= header.layout.stripes() || header.layout.cell_bytes(stripe) != cell_here {
            return Err(ActorError::Invalid(format!(
                "stripe {stripe} with cells of {cell_here} B: the object is cut otherwise"
            )));
        }
        let offset = record_offset(header.layout.cell, cell_here, header.layout.code, stripe, block);
        let path = self.path(key.object, &file_name(key.object, key.version, Some(key.share)));
        disk::read_block(&path, offset, place, cell_here, header.layout.code)
    }

    /// The description of a share that is kept; read once.
    ///
    /// # Errors
    /// There is none, or it is damaged.
    pub fn header(&self, key: &Key) -> Result<Arc<Header>, ActorError> {
        let is_its = |one: &&Held| one.version == key.version && one.share == Some(key.share);
        let found = locked(&self.held).get(&key.object).into_iter().flatten().find(is_its).cloned();
        let Some(found) = found else {
            let share = key.share;
            return Err(ActorError::Missing(format!(
                "this drive keeps no share {share} of that version of the object"
            )));
        };
        if let Some(header) = found.header {
            return Ok(header);
        }
        let path = self.path(key.object, &file_name(key.object, key.version, Some(key.share)));
        let header = Arc::new(disk::described(&path, key.object, key.version, Some(key.share))?);
        self.remember(key.object, &header);
        Ok(header)
    }

    /// Notes that an object is deleted, as of this version.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn bury(&self, header: &Header) -> Result<(), ActorError> {
        assert!(header.deleted, "a note of a deletion says that the object is deleted");
        let object = header.object();
        let name = file_name(object, header.version, None);
        let path = self.path(object, &name);
        self.note_kept(&name, HEADER_BYTES)?;
        disk::make_folder(&path)?;
        disk::replace(&path, &header.to_bytes()?)?;
        self.index(object, Held { version: header.version, share: None, header: Some(Arc::new(header.clone())) });
        Ok(())
    }

    fn note_kept(&self, name: &str, bytes: u64) -> Result<(), ActorError> {
        self.medium().map_or(Ok(()), |mut medium| medium.keep(name, bytes))
    }

    fn index(&self, object: RingId, held: Held) {
        let mut index = locked(&self.held);
        let all = index.entry(object).or_default();
        all.retain(|one| (one.version, one.share) != (held.version, held.share));
        all.push(held);
    }

    /// Removes the shares of an object that `which` selects, by version and share, or `None` for a deletion. Returns how many.
    ///
    /// # Errors
    /// The system refuses.
    pub fn forget(&self, object: RingId, which: impl Fn(Version, Option<u16>) -> bool) -> Result<u64, ActorError> {
        let mut removed = 0;
        for (version, share) in self.kept(object).into_iter().filter(|(version, share)| which(*version, *share)) {
            let name = file_name(object, version, share);
            let path = self.path(object, &name);
            if path.is_dir() {
                disk::set_aside(&path, &self.folder.join("rotten"))?;
            } else {
                disk::remove(&path)?;
            }
            self.leave_index(object, version, share, &name);
            removed += 1;
        }
        Ok(removed)
    }

    fn leave_index(&self, object: RingId, version: Version, share: Option<u16>, name: &str) {
        let mut index = locked(&self.held);
        if let Some(all) = index.get_mut(&object) {
            all.retain(|one| (one.version, one.share) != (version, share));
            if all.is_empty() {
                index.remove(&object);
            }
        }
        drop(index);
        if let Some(mut medium) = self.medium() {
            medium.free(name);
        }
    }

    /// Reads what is kept of an object, byte by byte. Files that differ from what was written, or cannot be read, are moved to `rotten`. A file
    /// that fails does not keep the others from being read.
    pub fn scrub(&self, object: RingId) -> Found {
        let mut found = Found::default();
        for (version, share) in self.kept(object) {
            let name = file_name(object, version, share);
            let path = self.path(object, &name);
            let set_aside = match disk::verify(&path, object, version, share) {
                Ok(()) => {
                    found.whole += u64::from(share.is_some());
                    continue;
                }
                Err(ActorError::Missing(_)) => {
                    found.gone.push((version, share));
                    Ok(())
                }
                Err(ActorError::Rotten(_)) => {
                    found.rotten.push((version, share));
                    disk::set_aside(&path, &self.folder.join("rotten"))
                }
                // As far as is known, it is there.
                Err(error) => {
                    found.unread.push(error.to_string());
                    continue;
                }
            };
            // It counts as lost even if it cannot be moved, and a new one is written in its place.
            self.leave_index(object, version, share, &name);
            if let Err(error) = set_aside {
                found.unread.push(error.to_string());
            }
        }
        found
    }

    /// Most shares of any object of which one is kept here, which is the number of drives that it needs; 0 without shares. Notes of deletions do not
    /// count. Descriptions that were read before are not read again.
    ///
    /// # Errors
    /// See [`Store::held`].
    pub fn widest(&self) -> Result<u16, ActorError> {
        let mut keys = Vec::new();
        for (object, held) in locked(&self.held).iter() {
            let shares = held.iter().filter_map(|one| Some((one.version, one.share?)));
            keys.extend(shares.map(|(version, share)| Key { object: *object, version, share }));
        }
        let mut widest = 0;
        for key in keys {
            match self.header(&key) {
                Ok(header) => widest = header.layout.code.shares().max(widest),
                // It is lost, so nothing of it is handed on.
                Err(ActorError::Missing(_) | ActorError::Rotten(_)) => {}
                Err(error) => return Err(error),
            }
        }
        assert!(widest <= SHARES_MAX, "the codes of shares that are kept were checked");
        Ok(widest)
    }

    /// Notes that an object has fewer shares than it should have.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn owe(&self, name: &str) -> Result<(), ActorError> {
        check_name(name)?;
        disk::replace(&self.folder.join("owed").join(RingId::of_object(name).to_string()), name.as_bytes())
    }

    /// The names of the objects that have fewer shares than they should have.
    pub fn owed(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.join("owed")).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| fs::read_to_string(entry.path()).ok()).collect();
        names.retain(|name| check_name(name).is_ok());
        names.sort();
        names
    }

    /// Notes that the object has all its shares, or was deleted.
    ///
    /// # Errors
    /// The system refuses.
    pub fn paid(&self, name: &str) -> Result<(), ActorError> {
        let path = self.folder.join("owed").join(RingId::of_object(name).to_string());
        if path.exists() { disk::remove(&path) } else { Ok(()) }
    }
}

fn to_json(value: &impl Serialize) -> Result<Vec<u8>, ActorError> {
    let text = serde_json::to_string_pretty(value).map_err(|error| ActorError::System(error.to_string()))?;
    Ok((text + "\n").into_bytes())
}

fn lock(folder: &Path) -> Result<File, ActorError> {
    let path = folder.join("lock");
    let refused = |error: &std::io::Error| ActorError::file(&path, "locked", error);
    let opened = disk::private().create(true).truncate(false).write(true).open(&path);
    let file = opened.map_err(|error| refused(&error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let folder = excerpt_path(folder);
            Err(ActorError::Invalid(format!("{folder} is in use by another process; wait until that has ended")))
        }
        Err(TryLockError::Error(error)) => Err(refused(&error)),
    }
}

/// Lists the shares below a folder, by file names. Files with other names are not wane's, and stay.
fn scan(folder: &Path) -> Result<BTreeMap<RingId, Vec<Held>>, ActorError> {
    let mut found: BTreeMap<RingId, Vec<Held>> = BTreeMap::new();
    for part in disk::entries(folder)? {
        if !part.is_dir() {
            continue;
        }
        for path in disk::entries(&part)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if disk::part_of(&name).is_some_and(|name| read_name(name).is_some()) {
                // A killed process left it; the note that it was to become was never acknowledged.
                disk::remove(&path)?;
                continue;
            }
            if let Some((object, held)) = read_name(&name) {
                found.entry(object).or_default().push(held);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
