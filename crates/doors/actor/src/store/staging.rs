//! Shares that are being written. Blocks come in any order; a share is sealed only if all of them are there at the end.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::{Held, Store, disk, file_name, locked};
use crate::layout::{Code, Layout, block_range, check_cell, record_offset};
use crate::share::{Header, Place, Version, check_name};
use crate::{ActorError, RingId, clock};

/// A share of a put of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// The object.
    pub object: RingId,
    /// The put.
    pub version: Version,
    /// The share.
    pub share: u16,
}

/// A share to write. The object's length is known only at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The object's name.
    pub name: String,
    /// The put.
    pub version: Version,
    /// The share.
    pub share: u16,
    /// The object's code.
    pub code: Code,
    /// Bytes of a cell of full stripes.
    pub cell: u32,
}

impl Plan {
    /// The share's key.
    pub fn key(&self) -> Key {
        Key { object: RingId::of_object(&self.name), version: self.version, share: self.share }
    }
}

/// A share that is being written.
pub(super) struct Staged {
    pub(super) plan: Plan,
    pub(super) path: PathBuf,
    /// When it was last written to, in seconds of the system's clock.
    touched: AtomicU64,
}

impl Store {
    /// Begins to write a share. It may already be being written: two writers do no harm, since a put's share has the same bytes from each.
    ///
    /// # Errors
    /// It makes no sense, or the system refuses.
    pub fn stage(&self, plan: Plan) -> Result<(), ActorError> {
        check_name(&plan.name)?;
        plan.code.checked()?;
        check_cell(plan.cell)?;
        if plan.share >= plan.code.shares() {
            let (share, code) = (plan.share, plan.code);
            return Err(ActorError::Invalid(format!(
                "share {share}: the code {code} has shares 0 to {}",
                code.shares() - 1
            )));
        }
        let key = plan.key();
        let mut all = locked(&self.staged);
        if let Some(staged) = all.get(&key).filter(|staged| staged.plan == plan) {
            staged.touched.store(clock::seconds(), Ordering::Relaxed);
            return Ok(());
        }
        // A separate name, since the share of this name may be on its way to its place.
        let number = self.uploads.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}.{number}", file_name(key.object, key.version, Some(key.share)));
        let path = self.folder.join("staging").join(name);
        let made = disk::private().write(true).create_new(true).open(&path);
        made.map_err(|error| ActorError::file(&path, "written", &error))?;
        all.insert(key, Arc::new(Staged { plan, path, touched: AtomicU64::new(clock::seconds()) }));
        Ok(())
    }

    fn staged(&self, key: &Key) -> Result<Arc<Staged>, ActorError> {
        let found = locked(&self.staged).get(key).cloned();
        found.ok_or_else(|| ActorError::Missing(format!("share {} of this put is not being written here", key.share)))
    }

    /// Writes a block of a share, or with `None` all blocks of a cell.
    ///
    /// # Errors
    /// The share is not being written, the number of bytes is wrong, or the system refuses.
    pub fn write(
        &self,
        key: &Key,
        stripe: u64,
        cell_here: u32,
        block: Option<u16>,
        bytes: &[u8],
    ) -> Result<(), ActorError> {
        let staged = self.staged(key)?;
        let Plan { code, cell, .. } = staged.plan;
        check_cell(cell_here)?;
        let blocks = block.map_or(0..code.data, |block| block..block.saturating_add(1));
        if cell_here > cell
            || blocks.is_empty()
            || blocks.end > code.data
            || stripe > crate::layout::SIZE_MAX / u64::from(cell)
        {
            return Err(ActorError::Invalid(format!(
                "stripe {stripe} with a cell of {cell_here} B is none of this share"
            )));
        }
        let from = block.map_or(0, |block| block_range(cell_here, code, block).start);
        let wanted = block.map_or(cell_here as usize, |block| block_range(cell_here, code, block).len());
        if bytes.len() != wanted {
            return Err(ActorError::Invalid(format!(
                "{} B came for stripe {stripe}, and {wanted} B belong there",
                bytes.len()
            )));
        }
        let parts = blocks.clone().map(|block| block_range(cell_here, code, block).len());
        debug_assert_eq!(parts.sum::<usize>(), bytes.len(), "the blocks of a cell hold all of its bytes");
        for block in blocks {
            let range = block_range(cell_here, code, block);
            let place = Place { version: key.version, share: key.share, stripe, block };
            let held = &bytes[(range.start - from) as usize..(range.end - from) as usize];
            disk::write_block(&staged.path, record_offset(cell, cell_here, code, stripe, block), place, held)?;
        }
        staged.touched.store(clock::seconds(), Ordering::Relaxed);
        Ok(())
    }

    /// Seals a share of an object of `size` bytes with this SHA-256. When this returns, the share is on the disk. A drive refuses a second
    /// share of the same put, unless shares are on the move.
    ///
    /// # Errors
    /// Blocks are missing or damaged, another share of the object is here, or the system refuses.
    pub fn seal(&self, key: &Key, size: u64, object_sha256: &str, on_the_move: bool) -> Result<(), ActorError> {
        let staged = self.staged(key)?;
        // From here on no other request writes to it or seals it.
        locked(&self.staged).remove(key);
        let sealed = self.seal_staged(&staged, key, size, object_sha256, on_the_move);
        if sealed.is_err() {
            locked(&self.staged).entry(*key).or_insert(staged);
        }
        sealed
    }

    fn seal_staged(
        &self,
        staged: &Staged,
        key: &Key,
        size: u64,
        object_sha256: &str,
        on_the_move: bool,
    ) -> Result<(), ActorError> {
        assert_eq!(staged.plan.key(), *key, "a share is sealed as the one that it was begun as");
        let Plan { name, version, share, code, cell } = staged.plan.clone();
        let other =
            |(kept, number): &(Version, Option<u16>)| *kept == version && number.is_some_and(|number| number != share);
        if !on_the_move && self.kept(key.object).iter().any(other) {
            return Err(ActorError::Moving(format!(
                "this drive keeps another share of {}, which is on the move; in some seconds it will be gone",
                wane_units::excerpt(&name)
            )));
        }
        let layout = Layout { code, cell, size }.checked()?;
        let (object_sha256, share_sha256) = (object_sha256.to_owned(), String::new());
        let mut header = Header { name, version, share, deleted: false, layout, object_sha256, share_sha256 };
        header.share_sha256 = disk::digest(&staged.path, &header)?;
        let bytes = header.to_bytes()?;
        let file = file_name(key.object, version, Some(share));
        self.note_kept(&file, layout.file_bytes())?;
        let write = || {
            let mut file = OpenOptions::new().write(true).open(&staged.path)?;
            file.write_all(&bytes)?;
            file.sync_all()
        };
        write().map_err(|error| ActorError::file(&staged.path, "written", &error))?;
        let path = self.path(key.object, &file);
        disk::make_folder(&path)?;
        if path.is_dir() {
            disk::set_aside(&path, &self.folder.join("rotten"))?;
        }
        disk::rename(&staged.path, &path)?;
        self.index(key.object, Held { version, share: Some(share), header: Some(Arc::new(header)) });
        Ok(())
    }

    /// Gives up a share that is being written, if it is.
    ///
    /// # Errors
    /// The system refuses.
    pub fn abort(&self, key: &Key) -> Result<(), ActorError> {
        let found = locked(&self.staged).remove(key);
        found.map_or(Ok(()), |staged| disk::remove(&staged.path))
    }

    /// Gives up shares that were not written to for `seconds`: their client is gone.
    ///
    /// # Errors
    /// The system refuses.
    pub fn expire(&self, seconds: u64) -> Result<(), ActorError> {
        let now = clock::seconds();
        let is_old = |staged: &Staged| now.saturating_sub(staged.touched.load(Ordering::Relaxed)) > seconds;
        let old: Vec<Key> =
            locked(&self.staged).iter().filter(|(_, staged)| is_old(staged)).map(|(key, _)| *key).collect();
        old.iter().try_for_each(|key| self.abort(key))
    }

    /// Shares that are being written.
    pub fn being_written(&self) -> usize {
        locked(&self.staged).len()
    }
}
