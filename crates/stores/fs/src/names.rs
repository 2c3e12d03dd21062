//! Names: files are made, linked, renamed and removed.

use crate::directory::{NAME_MAX, Place};
use crate::error::{Answer, FsError};
use crate::inode::{
    ATTRIBUTES, Attr, FLAG_INLINE, FileKind, GENERATION, GID, Ino, InodeMut, LINKS, Moment, PARENT, RDEV, UID,
    inline_max,
};
use crate::port::Port;
use crate::room::{By, Need};
use crate::seal::BlockKind;
use crate::volume::Volume;

/// Most names of a file.
pub const LINKS_MAX: u32 = 65_000;
/// Longest target of a symbolic link.
pub const TARGET_MAX: usize = 4095;

/// What a new file is.
#[derive(Clone, Copy, Debug)]
pub struct NewFile {
    /// Its kind.
    pub kind: FileKind,
    /// Its permissions.
    pub permissions: u16,
    /// Its owner.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// For devices: which.
    pub rdev: u32,
}

/// What a rename does where the new name is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rename {
    /// It replaces that file.
    Replace,
    /// It is refused.
    NoReplace,
    /// The two names change places.
    Exchange,
    /// It replaces that file, and the former name becomes a whiteout (`RENAME_WHITEOUT`): device 0, which overlay file systems take for a name that is
    /// removed. It has this owner and group.
    Whiteout {
        /// The owner.
        uid: u32,
        /// The group.
        gid: u32,
    },
}

/// Changes of attributes. What is `None` stays.
#[derive(Clone, Copy, Debug, Default)]
pub struct SetAttr {
    /// Bytes, of a regular file.
    pub size: Option<u64>,
    /// Permissions.
    pub permissions: Option<u16>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// When it was last read.
    pub accessed: Option<Moment>,
    /// When its data last changed.
    pub modified: Option<Moment>,
}

impl<P: Port> Volume<P> {
    /// Refuses names that cannot be given.
    fn check_name(name: &[u8]) -> Answer<()> {
        match name {
            b"" => Err(FsError::NotFound),
            name if name.len() > NAME_MAX => Err(FsError::NameTooLong),
            b"." | b".." => Err(FsError::Exists),
            name if name.contains(&b'/') || name.contains(&0) => Err(FsError::Invalid),
            _ => Ok(()),
        }
    }

    /// Notes that a directory changed.
    fn touch(&mut self, ino: Ino, now: Moment) -> Answer<()> {
        let mut inode = self.inode_mut(ino)?;
        inode.set_modified(now);
        inode.set_changed(now);
        Ok(())
    }

    fn add_links(&mut self, ino: Ino, count: i32) -> Answer<u32> {
        let links = self.inode(ino)?.links().saturating_add_signed(count);
        self.inode_mut(ino)?.set_u32(LINKS, links);
        Ok(links)
    }

    /// Makes a file. A directory has no entries.
    ///
    /// # Errors
    /// There is one of that name, the name is none, or there is no room.
    pub fn make(&mut self, dir: Ino, name: &[u8], new: &NewFile, now: Moment) -> Answer<Attr> {
        let ino = self.make_with(dir, name, new, Need::default(), now)?;
        self.attr(ino)
    }

    /// Makes a file that takes room beside its inode.
    fn make_with(&mut self, dir: Ino, name: &[u8], new: &NewFile, beside: Need, now: Moment) -> Answer<Ino> {
        self.writable()?;
        self.directory(dir)?;
        Self::check_name(name)?;
        if self.inode(dir)?.links() == 0 {
            return Err(FsError::NotFound);
        }
        if self.find(dir, name)?.is_some() {
            return Err(FsError::Exists);
        }
        if new.kind == FileKind::Directory && self.inode(dir)?.links() >= LINKS_MAX {
            return Err(FsError::TooManyLinks);
        }
        self.balance()?;
        let gap = self.gap_for(dir, name)?;
        let need = self.need_of_gap(dir, &gap)?;
        self.ask_room(need + Need::NODE + beside, By::Other)?;
        let ino = self.make_inode(dir, name, new, now)?;
        if let Err(error) = self.add_name(dir, name, &gap, ino, new.kind) {
            self.drop_node(ino)?;
            return Err(error);
        }
        if new.kind == FileKind::Directory {
            self.add_links(dir, 1)?;
        }
        self.touch(dir, now)?;
        self.newborn.insert(ino);
        if self.gone_names.contains(&(dir, name.to_vec())) {
            // Another file may still have this name on the disk.
            self.entangled.insert(ino);
        }
        Ok(ino)
    }

    /// The inode of a new file, for which there is room.
    fn make_inode(&mut self, dir: Ino, name: &[u8], new: &NewFile, now: Moment) -> Answer<Ino> {
        let ino = self.make_node(BlockKind::Inode, None, 0)?;
        self.generation = self.generation.wrapping_add(1);
        let generation = self.generation;
        let mut inode = self.first_inode(ino)?;
        inode.set_mode(new.kind.bits() | (new.permissions & 0o7777));
        inode.set_u32(UID, new.uid);
        inode.set_u32(GID, new.gid);
        inode.set_u32(RDEV, new.rdev);
        inode.set_u32(LINKS, if new.kind == FileKind::Directory { 2 } else { 1 });
        inode.set_u32(GENERATION, generation);
        inode.set_name(dir, name);
        inode.set_flag(FLAG_INLINE, matches!(new.kind, FileKind::File | FileKind::Symlink));
        inode.set_accessed(now);
        inode.set_modified(now);
        inode.set_changed(now);
        inode.set_born(now);
        Ok(ino)
    }

    /// The inode of a file that is being made.
    pub(crate) fn first_inode(&mut self, ino: Ino) -> Answer<InodeMut<'_>> {
        Ok(InodeMut(&mut self.node_mut(ino)?.bytes))
    }

    /// Makes a symbolic link.
    ///
    /// # Errors
    /// As of [`Volume::make`]; the target is empty or too long.
    pub fn make_symlink(&mut self, dir: Ino, name: &[u8], target: &[u8], new: &NewFile, now: Moment) -> Answer<Attr> {
        if target.is_empty() || target.len() > TARGET_MAX {
            return Err(if target.is_empty() { FsError::NotFound } else { FsError::NameTooLong });
        }
        let new = NewFile { kind: FileKind::Symlink, ..*new };
        let is_inline = target.len() <= inline_max(self.geometry.block);
        let beside = if is_inline { Need::default() } else { Need::BLOCK };
        let ino = self.make_with(dir, name, &new, beside, now)?;
        self.inode_mut(ino)?.set_flag(FLAG_INLINE, is_inline);
        self.write_any(ino, 0, target)?;
        self.inode_mut(ino)?.set_size(target.len() as u64);
        self.attr(ino)
    }

    /// The target of a symbolic link.
    ///
    /// # Errors
    /// It is none, or lost.
    pub fn read_link(&mut self, ino: Ino) -> Answer<Vec<u8>> {
        let attr = self.attr(ino)?;
        if attr.kind != FileKind::Symlink {
            return Err(FsError::Invalid);
        }
        if attr.size > TARGET_MAX as u64 {
            return Err(FsError::Io);
        }
        self.read_any(ino, 0, attr.size as usize)
    }

    /// Gives a file another name.
    ///
    /// # Errors
    /// It is a directory, has too many names, or there is one of that name, or no room.
    pub fn link(&mut self, ino: Ino, dir: Ino, name: &[u8], now: Moment) -> Answer<Attr> {
        self.writable()?;
        self.directory(dir)?;
        Self::check_name(name)?;
        let attr = self.attr(ino)?;
        if attr.kind == FileKind::Directory {
            return Err(FsError::NotPermitted);
        }
        if attr.links == 0 || self.inode(dir)?.links() == 0 {
            return Err(FsError::NotFound);
        }
        if attr.links >= LINKS_MAX {
            return Err(FsError::TooManyLinks);
        }
        if self.find(dir, name)?.is_some() {
            return Err(FsError::Exists);
        }
        self.balance()?;
        let gap = self.gap_for(dir, name)?;
        let need = self.need_of_gap(dir, &gap)?;
        self.ask_room(need, By::Other)?;
        self.add_name(dir, name, &gap, ino, attr.kind)?;
        self.add_links(ino, 1)?;
        self.inode_mut(ino)?.set_changed(now);
        self.touch(dir, now)?;
        self.entangled.insert(ino);
        self.attr(ino)
    }

    /// Removes a name of a file. The file goes with its last name, when nobody uses it any more.
    ///
    /// # Errors
    /// There is none of that name, or it is a directory.
    pub fn unlink(&mut self, dir: Ino, name: &[u8], now: Moment) -> Answer<()> {
        self.writable()?;
        self.directory(dir)?;
        let (place, ino, kind) = self.find(dir, name)?.ok_or(FsError::NotFound)?;
        if kind == FileKind::Directory {
            return Err(FsError::IsDirectory);
        }
        self.balance()?;
        self.remove_name(dir, place)?;
        self.touch(dir, now)?;
        self.unnamed(ino, now)
    }

    /// A name of a file is gone.
    fn unnamed(&mut self, ino: Ino, now: Moment) -> Answer<()> {
        let links = self.add_links(ino, -1)?;
        self.inode_mut(ino)?.set_changed(now);
        self.entangled.insert(ino);
        if links == 0 { self.let_go(ino) } else { Ok(()) }
    }

    /// A file has no name any more.
    fn let_go(&mut self, ino: Ino) -> Answer<()> {
        if self.held.contains_key(&ino) {
            self.orphans.insert(ino);
            return Ok(());
        }
        self.free_file(ino)
    }

    /// Gives up a file with all that it has.
    pub(crate) fn free_file(&mut self, ino: Ino) -> Answer<()> {
        self.orphans.remove(&ino);
        self.entangled.remove(&ino);
        self.newborn.remove(&ino);
        let is_inline = self.inode(ino)?.has(FLAG_INLINE);
        if is_inline {
            self.pages.drop_from(ino, 0);
        } else {
            self.cut_off(ino, 0)?;
        }
        let attributes = crate::le::u32_at(&self.node(ino)?.bytes, ATTRIBUTES);
        if attributes != 0 {
            self.check_node(attributes, ino, BlockKind::Attributes)?;
            self.drop_node(attributes)?;
        }
        self.drop_node(ino)
    }

    /// Somebody uses a file, which is then there until [`Volume::release`].
    pub fn hold(&mut self, ino: Ino) {
        *self.held.entry(ino).or_insert(0) += 1;
    }

    /// Ends `count` uses of a file.
    ///
    /// # Errors
    /// It had no name any more, and the device failed as it was given up.
    pub fn release(&mut self, ino: Ino, count: u64) -> Answer<()> {
        let Some(uses) = self.held.get_mut(&ino) else { return Ok(()) };
        *uses = uses.saturating_sub(count);
        if *uses > 0 {
            return Ok(());
        }
        self.held.remove(&ino);
        if self.orphans.contains(&ino) && self.mode == crate::volume::Mode::ReadWrite {
            return self.free_file(ino);
        }
        Ok(())
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// There is none of that name, or it has entries.
    pub fn remove_dir(&mut self, dir: Ino, name: &[u8], now: Moment) -> Answer<()> {
        self.writable()?;
        self.directory(dir)?;
        match name {
            b"." => return Err(FsError::Invalid),
            b".." => return Err(FsError::NotEmpty),
            _ => {}
        }
        let (place, ino, kind) = self.find(dir, name)?.ok_or(FsError::NotFound)?;
        if kind != FileKind::Directory {
            return Err(FsError::NotDirectory);
        }
        if self.inode(ino)?.entries() > 0 {
            return Err(FsError::NotEmpty);
        }
        self.balance()?;
        self.remove_name(dir, place)?;
        self.add_links(dir, -1)?;
        self.touch(dir, now)?;
        self.directory_unnamed(ino, now)
    }

    fn directory_unnamed(&mut self, ino: Ino, now: Moment) -> Answer<()> {
        let mut inode = self.inode_mut(ino)?;
        inode.set_u32(LINKS, 0);
        inode.set_changed(now);
        self.let_go(ino)
    }

    /// Whether a directory is another one or lies below it.
    fn is_below(&mut self, ino: Ino, above: Ino) -> Answer<bool> {
        let mut at = ino;
        // A damaged parent must not lead around for ever.
        for _ in 0..=self.geometry.nodes() {
            if at == above {
                return Ok(true);
            }
            if at == crate::inode::ROOT {
                return Ok(false);
            }
            at = self.inode(at)?.parent();
        }
        Err(FsError::Io)
    }

    /// Renames a file or a directory.
    ///
    /// # Errors
    /// There is none of that name; the new name is taken by what cannot be replaced; a directory would lie below itself; there is no room.
    pub fn rename(
        &mut self,
        (from, name): (Ino, &[u8]),
        (to, new): (Ino, &[u8]),
        how: Rename,
        now: Moment,
    ) -> Answer<()> {
        self.writable()?;
        self.directory(from)?;
        self.directory(to)?;
        for name in [name, new] {
            if matches!(name, b"." | b"..") {
                return Err(FsError::Busy);
            }
        }
        Self::check_name(new)?;
        let (_, ino, kind) = self.find(from, name)?.ok_or(FsError::NotFound)?;
        let target = self.find(to, new)?;
        if self.inode(to)?.links() == 0 {
            return Err(FsError::NotFound);
        }
        if kind == FileKind::Directory && from != to && self.is_below(to, ino)? {
            return Err(FsError::Invalid);
        }
        match (how, target) {
            (Rename::NoReplace, Some(_)) => return Err(FsError::Exists),
            (Rename::Exchange, None) => return Err(FsError::NotFound),
            (Rename::Exchange, Some(_)) => return self.exchange((from, name), (to, new), now),
            (_, Some((_, other, _))) if other == ino => return Ok(()),
            (_, Some((_, other, of))) => self.check_replaced(kind, other, of)?,
            (_, None) => {}
        }
        if kind == FileKind::Directory && from != to && target.is_none() && self.inode(to)?.links() >= LINKS_MAX {
            return Err(FsError::TooManyLinks);
        }
        self.balance()?;
        let gap = if target.is_none() { Some(self.gap_for(to, new)?) } else { None };
        let of_name = gap.as_ref().map_or(Ok(Need::default()), |gap| self.need_of_gap(to, gap))?;
        let of_whiteout = if matches!(how, Rename::Whiteout { .. }) { Need::NODE } else { Need::default() };
        self.ask_room(of_name + of_whiteout, By::Rename)?;
        match (target, gap) {
            (Some((place, ..)), _) => self.change_name(to, place, ino, kind)?,
            (None, Some(gap)) => self.add_name(to, new, &gap, ino, kind)?,
            (None, None) => {}
        }
        let (place, ..) = self.find(from, name)?.ok_or(FsError::Io)?;
        match how {
            Rename::Whiteout { uid, gid } => self.white_out((from, name), place, (uid, gid), now)?,
            _ => self.remove_name(from, place)?,
        }
        if kind == FileKind::Directory {
            self.add_links(from, -1)?;
            self.add_links(to, 1)?;
        }
        if let Some((_, other, of)) = target {
            if of == FileKind::Directory {
                self.add_links(to, -1)?;
                self.directory_unnamed(other, now)?;
            } else {
                self.unnamed(other, now)?;
            }
        }
        self.renamed(ino, to, new, now)?;
        self.touch(from, now)?;
        self.touch(to, now)
    }

    /// Lets a name stand for a file that is removed.
    fn white_out(
        &mut self,
        (dir, name): (Ino, &[u8]),
        place: Place,
        (uid, gid): (u32, u32),
        now: Moment,
    ) -> Answer<()> {
        let new = NewFile { kind: FileKind::CharDevice, permissions: 0, uid, gid, rdev: 0 };
        let ino = self.make_inode(dir, name, &new, now)?;
        self.change_name(dir, place, ino, new.kind)?;
        self.newborn.insert(ino);
        self.entangled.insert(ino);
        Ok(())
    }

    /// Refuses to replace a file by one of this kind.
    fn check_replaced(&mut self, kind: FileKind, other: Ino, of: FileKind) -> Answer<()> {
        match (kind == FileKind::Directory, of == FileKind::Directory) {
            (true, false) => Err(FsError::NotDirectory),
            (false, true) => Err(FsError::IsDirectory),
            (true, true) if self.inode(other)?.entries() > 0 => Err(FsError::NotEmpty),
            _ => Ok(()),
        }
    }

    /// A file has another name now.
    fn renamed(&mut self, ino: Ino, dir: Ino, name: &[u8], now: Moment) -> Answer<()> {
        let mut inode = self.inode_mut(ino)?;
        inode.set_name(dir, name);
        inode.set_changed(now);
        self.entangled.insert(ino);
        Ok(())
    }

    /// Two names change places.
    fn exchange(&mut self, (from, name): (Ino, &[u8]), (to, new): (Ino, &[u8]), now: Moment) -> Answer<()> {
        let (place, ino, kind) = self.find(from, name)?.ok_or(FsError::NotFound)?;
        let (other_place, other, other_kind) = self.find(to, new)?.ok_or(FsError::NotFound)?;
        if other_kind == FileKind::Directory && from != to && self.is_below(from, other)? {
            return Err(FsError::Invalid);
        }
        if ino == other {
            return Ok(());
        }
        self.balance()?;
        self.change_name(from, place, other, other_kind)?;
        self.change_name(to, other_place, ino, kind)?;
        if from != to {
            for (dir, leaves, comes) in [(from, kind, other_kind), (to, other_kind, kind)] {
                let count = i32::from(comes == FileKind::Directory) - i32::from(leaves == FileKind::Directory);
                self.add_links(dir, count)?;
            }
        }
        self.renamed(ino, to, new, now)?;
        self.renamed(other, from, name, now)?;
        self.touch(from, now)?;
        self.touch(to, now)
    }

    /// Changes attributes, and the size of a file. With its size its data change.
    ///
    /// # Errors
    /// There is no such file; for a size also as of [`Volume::truncate`]. Then nothing changed.
    pub fn set_attr(&mut self, ino: Ino, set: &SetAttr, now: Moment) -> Answer<Attr> {
        self.writable()?;
        if let Some(size) = set.size {
            self.check_size_of(ino, size)?;
        }
        self.balance()?;
        if let Some(size) = set.size {
            self.set_size_of(ino, size)?;
            self.inode_mut(ino)?.set_modified(now);
        }
        if let Some(permissions) = set.permissions {
            self.set_permissions(ino, permissions)?;
        }
        let mut inode = self.inode_mut(ino)?;
        set.uid.into_iter().for_each(|uid| inode.set_u32(UID, uid));
        set.gid.into_iter().for_each(|gid| inode.set_u32(GID, gid));
        set.accessed.into_iter().for_each(|moment| inode.set_accessed(moment));
        set.modified.into_iter().for_each(|moment| inode.set_modified(moment));
        inode.set_changed(now);
        if set.uid.is_some() || set.gid.is_some() {
            self.entangled.insert(ino);
        }
        self.attr(ino)
    }

    /// Changes permissions.
    pub(crate) fn set_permissions(&mut self, ino: Ino, permissions: u16) -> Answer<()> {
        let mode = self.inode(ino)?.mode();
        self.inode_mut(ino)?.set_mode((mode & !0o7777) | (permissions & 0o7777));
        self.entangled.insert(ino);
        Ok(())
    }

    /// Notes when a file was last read. Unlike [`Volume::set_attr`] that is no change of the file.
    ///
    /// # Errors
    /// There is no such file.
    pub fn set_accessed(&mut self, ino: Ino, now: Moment) -> Answer<()> {
        self.writable()?;
        self.balance()?;
        self.inode_mut(ino)?.set_accessed(now);
        Ok(())
    }

    /// The directory in which a file had its last name.
    pub(crate) fn parent_of(&mut self, ino: Ino) -> Answer<Ino> {
        Ok(crate::le::u32_at(&self.node(ino)?.bytes, PARENT))
    }
}
