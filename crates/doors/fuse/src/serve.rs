//! The kernel's calls, as calls of the volume.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig,
    LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyDirectoryPlus,
    ReplyEmpty, ReplyEntry, ReplyLseek, ReplyOpen, ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use wane_fs::{
    Allocate, Answer, Attr, DirEntry, FileKind, FsError, Ino, Moment, NewFile, Port, ROOT, Rename, Seek, SetAttr,
    SetAttribute, Volume,
};

use crate::AccessTimes;
use crate::control;
use crate::convert::{asked, attributes, errno, file_type, ino, none, now};
use crate::rights::{inherited, without_set_ids};
use crate::shared::Shared;

/// How long the kernel may answer by what it was told: nobody but the kernel changes the file system.
const TTL: Duration = Duration::from_secs(1);
/// Most bytes of a write.
const WRITE_MAX: u32 = 1 << 20;
/// Entries of a directory that are looked at together.
const ENTRIES: usize = 64;
/// A capability of a program, which a change of its data ends.
const CAPABILITY: &[u8] = b"security.capability";
/// Beginnings of names of attributes that there can be. POSIX ACLs (`system.`) are not supported.
const NAMESPACES: [&[u8]; 3] = [b"user.", b"trusted.", b"security."];
/// After this time a file that is read is noted as read again.
const ACCESS_DAY: i64 = 86_400;

/// Linux's flags and modes of calls.
mod linux {
    pub(super) const O_DSYNC: i32 = 0o10_000;
    pub(super) const XATTR_CREATE: i32 = 1;
    pub(super) const XATTR_REPLACE: i32 = 2;
    pub(super) const SEEK_DATA: i32 = 3;
    pub(super) const SEEK_HOLE: i32 = 4;
    pub(super) const KEEP_SIZE: i32 = 1;
    pub(super) const PUNCH_HOLE: i32 = 2;
    pub(super) const ZERO_RANGE: i32 = 16;
}

/// See the head of this file.
pub(crate) struct Served<P> {
    shared: Arc<Shared<P>>,
    /// The kernel opens files without asking. An open file is held by the kernel's entry of it, which it does not forget meanwhile.
    opens_alone: bool,
}

/// Answers a read.
fn give(read: Result<Vec<u8>, FsError>, reply: ReplyData) {
    match read {
        Ok(bytes) => reply.data(&bytes),
        Err(error) => reply.error(errno(error)),
    }
}

impl<P: Port> Served<P> {
    pub(crate) fn new(shared: &Arc<Shared<P>>) -> Self {
        Self { shared: Arc::clone(shared), opens_alone: false }
    }

    fn shown(&self, attr: &Attr) -> FileAttr {
        attributes(attr, self.shared.block_bytes)
    }

    /// Answers with an entry that the kernel knows from now on.
    fn enter(&self, made: Answer<Attr>, reply: ReplyEntry) {
        match made {
            Ok(attr) => reply.entry(&TTL, &self.shown(&attr), Generation(u64::from(attr.generation))),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn show(&self, found: Answer<Attr>, reply: ReplyAttr) {
        match found {
            Ok(attr) => reply.attr(&TTL, &self.shown(&attr)),
            Err(error) => reply.error(errno(error)),
        }
    }

    /// The question or order to the mount that an attribute is, which only its root directory has.
    fn of_mount<'n>(&self, number: INodeNo, name: &'n OsStr) -> Option<&'n str> {
        control::ours(name.as_bytes()).filter(|_| ino(number) == Ok(ROOT))
    }

    /// Refuses orders of others than root and the user who mounted it.
    fn may_order(&self, req: &Request) -> Answer<()> {
        let is_allowed = req.uid() == 0 || req.uid() == rustix::process::geteuid().as_raw();
        if is_allowed { Ok(()) } else { Err(FsError::NotPermitted) }
    }

    /// Makes a file in a directory for a caller.
    fn make(&self, req: &Request, parent: INodeNo, name: &OsStr, new: &Asked<'_>) -> Answer<Attr> {
        let (parent, now) = (ino(parent)?, now());
        self.shared.change(|volume| {
            let dir = volume.attr(parent)?;
            let (gid, permissions) = inherited(&dir, new.kind, new.permissions, req.gid());
            let file = NewFile { kind: new.kind, permissions, uid: req.uid(), gid, rdev: new.rdev };
            let made = match new.target {
                Some(target) => volume.make_symlink(parent, name.as_bytes(), target, &file, now),
                None => volume.make(parent, name.as_bytes(), &file, now),
            }?;
            volume.hold(made.ino);
            Ok(made)
        })
    }

    /// An open file stays until it is released.
    fn hold_open(&self, ino: Ino) -> Answer<()> {
        if self.opens_alone {
            return Ok(());
        }
        self.shared.ask(|volume| {
            volume.hold(ino);
            Ok(())
        })
    }

    /// Notes that a file is read, if that is due.
    fn note_read(&self, volume: &mut Volume<P>, ino: Ino, now: Moment) -> Answer<()> {
        if self.shared.access_times == AccessTimes::Never || volume.mode() != wane_fs::Mode::ReadWrite {
            return Ok(());
        }
        let attr = volume.attr(ino)?;
        let Moment { seconds, .. } = attr.accessed;
        let is_due = attr.accessed <= attr.modified
            || attr.accessed <= attr.changed
            || now.seconds.saturating_sub(seconds) >= ACCESS_DAY;
        if is_due {
            self.shared.note_change();
            volume.set_accessed(ino, now)?;
        }
        Ok(())
    }

    /// Hands the entries of a directory to `add` until that is full.
    fn list(&self, number: INodeNo, after: u64, mut add: impl FnMut(&mut Volume<P>, &DirEntry) -> bool) -> Answer<()> {
        let (dir, mut after) = (ino(number)?, after);
        self.shared.ask(|volume| {
            if after == 0 {
                // A directory that cannot be noted as read can be read.
                let _ = self.note_read(volume, dir, now());
            }
            loop {
                let entries = volume.read_dir(dir, after, ENTRIES)?;
                for entry in &entries {
                    if add(volume, entry) {
                        return Ok(());
                    }
                    after = entry.cookie;
                }
                if entries.len() < ENTRIES {
                    return Ok(());
                }
            }
        })
    }
}

/// What a new file is asked to be.
struct Asked<'a> {
    kind: FileKind,
    permissions: u16,
    rdev: u32,
    target: Option<&'a [u8]>,
}

impl Asked<'_> {
    const fn of(kind: FileKind, permissions: u16) -> Self {
        Self { kind, permissions, rdev: 0, target: None }
    }
}

/// Ends the rights of a program whose data changed: its set-id bits, unless root changed them, and its capability.
fn end_rights<P: Port>(volume: &mut Volume<P>, ino: Ino, keeps_set_ids: bool, now: Moment) -> Answer<()> {
    let permissions = if keeps_set_ids { None } else { without_set_ids(&volume.attr(ino)?) };
    volume.end_rights(ino, permissions, CAPABILITY, now)
}

fn done(answer: Answer<()>, reply: ReplyEmpty) {
    match answer {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(errno(error)),
    }
}

/// Whether there can be an attribute of this name.
fn check_attribute_name(name: &OsStr) -> Answer<&[u8]> {
    let name = name.as_bytes();
    if NAMESPACES.iter().any(|space| name.starts_with(space)) { Ok(name) } else { Err(FsError::NotSupported) }
}

/// Answers with bytes, or with how many they are.
fn fill(found: Answer<Vec<u8>>, size: u32, reply: ReplyXattr) {
    match found {
        Ok(bytes) if size == 0 => reply.size(bytes.len() as u32),
        Ok(bytes) if bytes.len() > size as usize => reply.error(Errno::ERANGE),
        Ok(bytes) => reply.data(&bytes),
        Err(error) => reply.error(errno(error)),
    }
}

impl<P: Port + Send + 'static> Filesystem for Served<P> {
    fn init(&mut self, _req: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        let wanted = [
            InitFlags::FUSE_ASYNC_DIO,
            InitFlags::FUSE_DO_READDIRPLUS,
            InitFlags::FUSE_READDIRPLUS_AUTO,
            InitFlags::FUSE_HANDLE_KILLPRIV_V2,
            InitFlags::FUSE_CACHE_SYMLINKS,
            // A file is found by its number alone, so that handles of it last: an NFS server and backup programs hold those.
            InitFlags::FUSE_EXPORT_SUPPORT,
        ];
        for flag in wanted {
            // What a kernel lacks it does not do.
            let _ = config.add_capabilities(flag);
        }
        let alone = InitFlags::FUSE_NO_OPEN_SUPPORT | InitFlags::FUSE_NO_OPENDIR_SUPPORT;
        self.opens_alone = config.capabilities().contains(alone);
        let _ = config.set_max_write(WRITE_MAX);
        Ok(())
    }

    fn lookup(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = ino(parent).and_then(|parent| {
            self.shared.ask(|volume| {
                // Whatever has this number: so a handle is opened.
                let is_itself = name.as_bytes() == b".";
                let found = if is_itself { parent } else { volume.lookup(parent, name.as_bytes())? };
                let attr = volume.attr(found)?;
                volume.hold(found);
                Ok(attr)
            })
        });
        match found {
            // The kernel keeps that, too.
            Err(FsError::NotFound) => reply.entry(&TTL, &none(), Generation(0)),
            found => self.enter(found, reply),
        }
    }

    fn forget(&self, _req: &Request, number: INodeNo, count: u64) {
        if let Ok(number) = ino(number) {
            // There is nobody to answer. What failed is told by the volume's mode.
            let _ = self.shared.change(|volume| volume.release(number, count));
        }
    }

    fn getattr(&self, _req: &Request, number: INodeNo, _fh: Option<FileHandle>, reply: ReplyAttr) {
        self.show(ino(number).and_then(|number| self.shared.ask(|volume| volume.attr(number))), reply);
    }

    fn setattr(
        &self,
        req: &Request,
        number: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        accessed: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _changed: Option<SystemTime>,
        _fh: Option<FileHandle>,
        _born: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let now = now();
        let set = SetAttr {
            size,
            permissions: mode.map(|mode| (mode & 0o7777) as u16),
            uid,
            gid,
            accessed: accessed.map(|time| asked(time, now)),
            modified: modified.map(|time| asked(time, now)),
        };
        let (changes_owner, is_root) = (uid.is_some() || gid.is_some(), req.uid() == 0);
        let changed = ino(number).and_then(|number| {
            self.shared.change(|volume| {
                volume.set_attr(number, &set, now)?;
                if changes_owner || size.is_some() {
                    let keeps_set_ids = mode.is_some() || (is_root && !changes_owner);
                    end_rights(volume, number, keeps_set_ids, now)?;
                }
                volume.attr(number)
            })
        });
        self.show(changed, reply);
    }

    fn readlink(&self, _req: &Request, number: INodeNo, reply: ReplyData) {
        let read = ino(number).and_then(|number| {
            self.shared.ask(|volume| {
                let target = volume.read_link(number)?;
                let _ = self.note_read(volume, number, now());
                Ok(target)
            })
        });
        give(read, reply);
    }

    fn mknod(
        &self,
        req: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        rdev: u32,
        reply: ReplyEntry,
    ) {
        let kind = FileKind::of_mode((mode & 0o170_000) as u16).filter(|kind| *kind != FileKind::Directory);
        let made = kind.ok_or(FsError::Invalid).and_then(|kind| {
            let new = Asked { rdev, ..Asked::of(kind, (mode & 0o7777) as u16) };
            self.make(req, parent, name, &new)
        });
        self.enter(made, reply);
    }

    fn mkdir(&self, req: &Request, parent: INodeNo, name: &OsStr, mode: u32, _umask: u32, reply: ReplyEntry) {
        let new = Asked::of(FileKind::Directory, (mode & 0o7777) as u16);
        self.enter(self.make(req, parent, name, &new), reply);
    }

    fn unlink(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let gone =
            ino(parent).and_then(|parent| self.shared.change(|volume| volume.unlink(parent, name.as_bytes(), now())));
        done(gone, reply);
    }

    fn rmdir(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let gone = ino(parent)
            .and_then(|parent| self.shared.change(|volume| volume.remove_dir(parent, name.as_bytes(), now())));
        done(gone, reply);
    }

    fn symlink(&self, req: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let target = Some(target.as_os_str().as_bytes());
        let new = Asked { target, ..Asked::of(FileKind::Symlink, 0o777) };
        self.enter(self.make(req, parent, name, &new), reply);
    }

    fn rename(
        &self,
        req: &Request,
        parent: INodeNo,
        name: &OsStr,
        to: INodeNo,
        new: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let replaces = !flags.contains(RenameFlags::RENAME_NOREPLACE);
        let how = match flags.difference(RenameFlags::RENAME_NOREPLACE) {
            rest if rest.is_empty() => Ok(if replaces { Rename::Replace } else { Rename::NoReplace }),
            RenameFlags::RENAME_EXCHANGE if replaces => Ok(Rename::Exchange),
            // Of one that replaces nothing, the kernel made sure that there is nothing.
            RenameFlags::RENAME_WHITEOUT => Ok(Rename::Whiteout { uid: req.uid(), gid: req.gid() }),
            _ => Err(FsError::Invalid),
        };
        let renamed = how.and_then(|how| {
            let (from, to) = (ino(parent)?, ino(to)?);
            self.shared.change(|volume| volume.rename((from, name.as_bytes()), (to, new.as_bytes()), how, now()))
        });
        done(renamed, reply);
    }

    fn link(&self, _req: &Request, number: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let linked = ino(number).and_then(|number| {
            let parent = ino(parent)?;
            self.shared.change(|volume| {
                let attr = volume.link(number, parent, name.as_bytes(), now())?;
                volume.hold(number);
                Ok(attr)
            })
        });
        self.enter(linked, reply);
    }

    fn open(&self, _req: &Request, number: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        if self.opens_alone {
            // The kernel does not ask again.
            return reply.error(Errno::ENOSYS);
        }
        match ino(number).and_then(|number| self.hold_open(number)) {
            Ok(()) => reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn release(
        &self,
        _req: &Request,
        number: INodeNo,
        _fh: FileHandle,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        if self.opens_alone {
            return reply.ok();
        }
        done(ino(number).and_then(|number| self.shared.change(|volume| volume.release(number, 1))), reply);
    }

    fn create(
        &self,
        req: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        _umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        let made = self.make(req, parent, name, &Asked::of(FileKind::File, (mode & 0o7777) as u16)).and_then(|attr| {
            // Once as a name, and once as an open file.
            self.hold_open(attr.ino).map(|()| attr)
        });
        match made {
            Ok(attr) => {
                let generation = Generation(u64::from(attr.generation));
                reply.created(&TTL, &self.shown(&attr), generation, FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE);
            }
            Err(error) => reply.error(errno(error)),
        }
    }

    fn read(
        &self,
        _req: &Request,
        number: INodeNo,
        _fh: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let read = ino(number).and_then(|number| {
            self.shared.ask(|volume| {
                let read = volume.read(number, offset, size as usize)?;
                let _ = self.note_read(volume, number, now());
                Ok(read)
            })
        });
        give(read, reply);
    }

    fn write(
        &self,
        _req: &Request,
        number: INodeNo,
        _fh: FileHandle,
        offset: u64,
        data: &[u8],
        how: WriteFlags,
        flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        // The kernel makes EIO of a short direct write, and lets go of pages that it kept without looking at the count.
        let is_direct = flags.0 & rustix::fs::OFlags::DIRECT.bits().cast_signed() != 0;
        let wants_whole = is_direct || how.contains(WriteFlags::FUSE_WRITE_CACHE);
        let written = ino(number).and_then(|number| {
            self.shared.change(|volume| {
                let now = now();
                let count = if wants_whole {
                    volume.write_whole(number, offset, data, now).map(|()| data.len())
                } else {
                    volume.write(number, offset, data, now)
                }?;
                end_rights(volume, number, !how.contains(WriteFlags::FUSE_WRITE_KILL_SUIDGID), now)?;
                if flags.0 & linux::O_DSYNC != 0 {
                    volume.fsync(number)?;
                }
                Ok(count)
            })
        });
        match written {
            Ok(count) => {
                self.shared.note_written(count as u64);
                reply.written(count as u32);
            }
            Err(error) => reply.error(errno(error)),
        }
    }

    fn flush(&self, _req: &Request, _ino: INodeNo, _fh: FileHandle, _lock_owner: LockOwner, reply: ReplyEmpty) {
        // Nothing waits here for a close. The kernel does not ask again.
        reply.error(Errno::ENOSYS);
    }

    fn fsync(&self, _req: &Request, number: INodeNo, _fh: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        done(ino(number).and_then(|number| self.shared.ask(|volume| volume.fsync(number))), reply);
    }

    fn opendir(&self, _req: &Request, _ino: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        if self.opens_alone {
            return reply.error(Errno::ENOSYS);
        }
        reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE | FopenFlags::FOPEN_CACHE_DIR);
    }

    fn readdir(&self, _req: &Request, number: INodeNo, _fh: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let listed = self.list(number, offset, |_, entry| {
            let name = OsStr::from_bytes(&entry.name);
            reply.add(INodeNo(u64::from(entry.ino)), entry.cookie, file_type(entry.kind), name)
        });
        match listed {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn readdirplus(
        &self,
        _req: &Request,
        number: INodeNo,
        _fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        let listed = self.list(number, offset, |volume, entry| {
            let attr = volume.attr(entry.ino);
            // Of an inode that is lost there is only a name.
            let shown = attr.as_ref().map_or_else(|_| none(), |attr| self.shown(attr));
            let shown = FileAttr { kind: file_type(entry.kind), ..shown };
            let generation = Generation(attr.as_ref().map_or(0, |attr| u64::from(attr.generation)));
            let name = OsString::from_vec(entry.name.clone());
            let is_full = reply.add(INodeNo(u64::from(entry.ino)), entry.cookie, &name, &TTL, &shown, generation);
            if !is_full && attr.is_ok() && !matches!(entry.name.as_slice(), b"." | b"..") {
                volume.hold(entry.ino);
            }
            is_full
        });
        match listed {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn fsyncdir(&self, _req: &Request, number: INodeNo, _fh: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        done(ino(number).and_then(|number| self.shared.ask(|volume| volume.fsync(number))), reply);
    }

    fn statfs(&self, _req: &Request, _ino: INodeNo, reply: ReplyStatfs) {
        match self.shared.ask(|volume| Ok(volume.space())) {
            Ok(space) => reply.statfs(
                space.blocks,
                space.free,
                space.free,
                space.files,
                space.files_free,
                space.block_bytes,
                space.name_max,
                space.block_bytes,
            ),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn setxattr(
        &self,
        req: &Request,
        number: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _position: u32,
        reply: ReplyEmpty,
    ) {
        let how = match flags {
            linux::XATTR_CREATE => SetAttribute::Create,
            linux::XATTR_REPLACE => SetAttribute::Replace,
            _ => SetAttribute::Any,
        };
        if let Some(order) = self.of_mount(number, name) {
            return done(self.may_order(req).and_then(|()| self.shared.ordered(order, value)), reply);
        }
        let set = check_attribute_name(name).and_then(|name| {
            let number = ino(number)?;
            self.shared.change(|volume| volume.set_attribute(number, name, value, how, now()))
        });
        done(set, reply);
    }

    fn getxattr(&self, _req: &Request, number: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        if let Some(question) = self.of_mount(number, name) {
            return fill(self.shared.told(question), size, reply);
        }
        let found = check_attribute_name(name).and_then(|name| {
            let number = ino(number)?;
            self.shared.ask(|volume| volume.attribute(number, name))
        });
        fill(found, size, reply);
    }

    fn listxattr(&self, _req: &Request, number: INodeNo, size: u32, reply: ReplyXattr) {
        let names = ino(number).and_then(|number| self.shared.ask(|volume| volume.attribute_names(number)));
        let list = names.map(|names| names.into_iter().flat_map(|name| [name, vec![0]].concat()).collect());
        fill(list, size, reply);
    }

    fn removexattr(&self, _req: &Request, number: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let gone = check_attribute_name(name).and_then(|name| {
            let number = ino(number)?;
            self.shared.change(|volume| volume.remove_attribute(number, name, now()))
        });
        done(gone, reply);
    }

    fn fallocate(
        &self,
        req: &Request,
        number: INodeNo,
        _fh: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let how = match mode {
            0 => Ok(Allocate::Grow),
            linux::KEEP_SIZE => Ok(Allocate::KeepSize),
            mode if mode == linux::PUNCH_HOLE | linux::KEEP_SIZE => Ok(Allocate::PunchHole),
            linux::ZERO_RANGE => Ok(Allocate::Zero),
            mode if mode == linux::ZERO_RANGE | linux::KEEP_SIZE => Ok(Allocate::ZeroKeepSize),
            _ => Err(FsError::NotSupported),
        };
        let is_root = req.uid() == 0;
        let allocated = how.and_then(|how| {
            let number = ino(number)?;
            self.shared.change(|volume| {
                let now = now();
                volume.allocate(number, offset, length, how, now)?;
                end_rights(volume, number, is_root, now)
            })
        });
        done(allocated, reply);
    }

    fn lseek(&self, _req: &Request, number: INodeNo, _fh: FileHandle, offset: i64, whence: i32, reply: ReplyLseek) {
        let what = match whence {
            linux::SEEK_DATA => Ok(Seek::Data),
            linux::SEEK_HOLE => Ok(Seek::Hole),
            _ => Err(FsError::Invalid),
        };
        let found = what.and_then(|what| {
            let offset = u64::try_from(offset).map_err(|_| FsError::NothingThere)?;
            let number = ino(number)?;
            self.shared.ask(|volume| volume.seek(number, offset, what))
        });
        match found {
            Ok(offset) => reply.offset(offset.cast_signed()),
            Err(error) => reply.error(errno(error)),
        }
    }
}
