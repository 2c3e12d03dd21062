//! `wane fs cp`: copies files and directories out of a file system and into it, without a mount.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, SeekFrom, Timespec, Timestamps};
use rustix::io::Errno;
use serde_json::json;
use wane_fs::{Attr, FileKind, FsError, Ino, Moment, NewFile, ROOT, Seek, SetAttr, Trims};
use wane_fuse::now;
use wane_serve::backing::{Access, Closing, Mounted, unmounted};
use wane_units::excerpt_path;

use super::{mounted, trusted};
use crate::args::fs::CpArguments;
use crate::output::{Failure, print, print_json, tell, unwritable};
use crate::{DIFFERS, DONE};

/// Bytes that are copied together.
const PART: usize = 1 << 20;
/// Entries of a directory that are read together.
const ENTRIES: usize = 256;
/// Deepest directory that is copied.
const DEPTH: usize = 1000;

/// What was copied.
#[derive(Default)]
struct Copied {
    files: u64,
    directories: u64,
    bytes: u64,
    /// Pipes, sockets and devices, which are left out.
    left_out: u64,
    /// Files and directories that could not be read whole, and are not in the copy.
    unread: u64,
}

pub(super) fn cp(arguments: &CpArguments) -> Result<i32, Failure> {
    let CpArguments { from, to, .. } = arguments;
    let mut copied = Copied::default();
    let mut is_doubtful = false;
    match (inside(from), inside(to)) {
        (Some((what, path)), None) => {
            let mut volume = mounted(&what, Access::Read, Trims::Never)?;
            is_doubtful = volume.is_doubtful();
            let done = Out {
                volume: &mut volume,
                what: &what,
                force: arguments.force,
                copied: &mut copied,
                linked: BTreeMap::new(),
            }
            .copy(&path, to);
            volume.into_port().into_inner().into_inner().close(Closing::Looked)?;
            done?;
        }
        (None, Some((what, path))) => {
            let mut volume = trusted(&what, Access::Write, Trims::AtOnce)?;
            let done = Into {
                volume: &mut volume,
                what: &what,
                force: arguments.force,
                copied: &mut copied,
                linked: BTreeMap::new(),
            }
            .copy(from, &path);
            let note = format!("copied {} files with {} bytes to it", copied.files, copied.bytes);
            unmounted(volume, Closing::Changed(note))?;
            done?;
        }
        (None, None) => {
            return Err(Failure::wrong(
                "neither path is in a file system; one of them is WHAT:/PATH, such as disk.img:/etc",
            ));
        }
        (Some(_), Some(_)) => {
            return Err(Failure::wrong("both paths are in a file system; copy to a place outside first"));
        }
    }
    let Copied { files, directories, bytes, left_out, unread } = copied;
    if left_out > 0 {
        tell(&format!("warning: {left_out} pipes, sockets or devices were left out"));
    }
    if is_doubtful {
        tell("warning: files may be missing in the copy, or be older than they were; `wane fs fsck` tells more");
    }
    if unread > 0 && files + directories == 0 {
        return Err(Failure::wrong("nothing is copied"));
    }
    if unread > 0 {
        tell(&format!(
            "warning: the copy is not whole: {unread} of what should be in it could not be read, and is left out"
        ));
    }
    if arguments.json {
        print_json(&json!({
            "files": files, "directories": directories, "bytes": bytes, "left_out": left_out, "unread": unread,
            "is_doubtful": is_doubtful,
        }))?;
    } else {
        let s = |count| if count == 1 { "" } else { "s" };
        print(&format!(
            "copied {files} file{} with {bytes} bytes in {directories} director{}\n",
            s(files),
            if directories == 1 { "y" } else { "ies" }
        ))?;
    }
    Ok(if is_doubtful || unread > 0 { DIFFERS } else { DONE })
}

/// The parts of WHAT:/PATH; `None` for a plain path.
fn inside(path: &Path) -> Option<(PathBuf, Vec<u8>)> {
    let bytes = path.as_os_str().as_bytes();
    let at = bytes.windows(2).position(|pair| pair == b":/")?;
    // A plain path may have a colon.
    let what = PathBuf::from(OsStr::from_bytes(&bytes[..at]));
    what.exists().then(|| (what, bytes[at + 1..].to_vec()))
}

/// The names of a path.
fn names(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".")
}

/// Names a path in a file system.
fn shown(what: &Path, path: &[u8]) -> String {
    format!("{}:{}", excerpt_path(what), excerpt_path(Path::new(OsStr::from_bytes(path))))
}

/// Leads from the root to a path.
fn find(volume: &mut Mounted, what: &Path, path: &[u8]) -> Result<Ino, Failure> {
    let mut at = ROOT;
    for name in names(path) {
        at = volume.lookup(at, name).map_err(|error| Failure::wrong(format!("{}: {error}", shown(what, path))))?;
    }
    Ok(at)
}

fn joined(path: &[u8], name: &[u8]) -> Vec<u8> {
    let slash: &[u8] = if path.ends_with(b"/") { b"" } else { b"/" };
    [path, slash, name].concat()
}

/// Copies out.
struct Out<'a> {
    volume: &'a mut Mounted,
    what: &'a Path,
    force: bool,
    copied: &'a mut Copied,
    /// Files of several names that were copied, and to where.
    linked: BTreeMap<Ino, PathBuf>,
}

impl Out<'_> {
    fn copy(&mut self, path: &[u8], to: &Path) -> Result<(), Failure> {
        let ino = find(self.volume, self.what, path)?;
        let last = names(path).last().map(|name| OsString::from_vec(name.to_vec()));
        let to = match last {
            Some(last) if to.is_dir() => to.join(last),
            _ => to.to_owned(),
        };
        self.entry(ino, path, &to, 0)
    }

    /// Notes what could not be read: the rest is copied all the same.
    fn leave_out(&mut self, path: &[u8], error: FsError) {
        self.copied.unread += 1;
        tell(&format!("warning: {}: {error}", shown(self.what, path)));
    }

    fn entry(&mut self, ino: Ino, path: &[u8], to: &Path, depth: usize) -> Result<(), Failure> {
        let attr = match self.volume.attr(ino) {
            Ok(attr) => attr,
            Err(error) => {
                self.leave_out(path, error);
                return Ok(());
            }
        };
        match attr.kind {
            FileKind::Directory => self.directory(&attr, path, to, depth)?,
            FileKind::File if !self.file(&attr, path, to)? => return Ok(()),
            FileKind::File => {}
            FileKind::Symlink => {
                let target = match self.volume.read_link(ino) {
                    Ok(target) => target,
                    Err(error) => {
                        self.leave_out(path, error);
                        return Ok(());
                    }
                };
                self.make_way(to)?;
                let target = OsString::from_vec(target);
                std::os::unix::fs::symlink(target, to).map_err(|error| unwritable(to, &error))?;
                self.copied.files += 1;
            }
            _ => {
                self.copied.left_out += 1;
                return Ok(());
            }
        }
        keep(&attr, to);
        Ok(())
    }

    /// Removes what is in the way, if that may be.
    fn make_way(&self, to: &Path) -> Result<(), Failure> {
        match fs::symlink_metadata(to) {
            Ok(_) if !self.force => Err(Failure::wrong(format!(
                "{}: exists: give another name, or --force to overwrite it",
                excerpt_path(to)
            ))),
            Ok(found) if !found.is_dir() => fs::remove_file(to).map_err(|error| unwritable(to, &error)),
            _ => Ok(()),
        }
    }

    fn directory(&mut self, attr: &Attr, path: &[u8], to: &Path, depth: usize) -> Result<(), Failure> {
        if depth > DEPTH {
            return Err(Failure::wrong(format!("{}: is more than {DEPTH} directories deep", shown(self.what, path))));
        }
        if !fs::symlink_metadata(to).is_ok_and(|found| found.is_dir()) {
            fs::create_dir(to).map_err(|error| unwritable(to, &error))?;
        }
        let mut after = 0;
        loop {
            let entries = match self.volume.read_dir(attr.ino, after, ENTRIES) {
                Ok(entries) => entries,
                Err(error) => {
                    self.leave_out(path, error);
                    break;
                }
            };
            let Some(last) = entries.last() else { break };
            after = last.cookie;
            for entry in entries.iter().filter(|entry| !matches!(entry.name.as_slice(), b"." | b"..")) {
                if entry.name.contains(&b'/') {
                    return Err(Failure::wrong(format!("{}: has an entry that is no name", shown(self.what, path))));
                }
                let to = to.join(OsStr::from_bytes(&entry.name));
                self.entry(entry.ino, &joined(path, &entry.name), &to, depth + 1)?;
            }
        }
        self.copied.directories += 1;
        Ok(())
    }

    /// Copies a file. Returns whether it is there, whole: a part of one would look like all of it.
    fn file(&mut self, attr: &Attr, path: &[u8], to: &Path) -> Result<bool, Failure> {
        self.make_way(to)?;
        // Where the file system outside has no hard links, it is a file of its own.
        if self.linked.get(&attr.ino).is_some_and(|first| fs::hard_link(first, to).is_ok()) {
            self.copied.files += 1;
            return Ok(true);
        }
        let wrong = |error: io::Error| unwritable(to, &error);
        // Readable by others once it has its permissions.
        let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(to).map_err(wrong)?;
        // What is a hole here is one there.
        file.set_len(attr.size).map_err(wrong)?;
        if let Err(error) = self.contents(attr, &file).map_err(wrong)? {
            fs::remove_file(to).map_err(wrong)?;
            self.leave_out(path, error);
            return Ok(false);
        }
        if attr.links > 1 {
            self.linked.insert(attr.ino, to.to_owned());
        }
        self.copied.files += 1;
        self.copied.bytes += attr.size;
        Ok(true)
    }

    /// Copies a file's data. What cannot be read is the inner error, what cannot be written the outer one.
    fn contents(&mut self, attr: &Attr, file: &File) -> io::Result<Result<(), FsError>> {
        let mut at = 0;
        loop {
            let (mut from, end) = match self.data_from(attr, at) {
                Ok(Some(found)) => found,
                Ok(None) => return Ok(Ok(())),
                Err(error) => return Ok(Err(error)),
            };
            while from < end {
                let length = usize::try_from(end - from).unwrap_or(PART).min(PART);
                let part = match self.volume.read(attr.ino, from, length) {
                    Ok(part) if part.is_empty() => break,
                    Ok(part) => part,
                    Err(error) => return Ok(Err(error)),
                };
                file.write_all_at(&part, from)?;
                from += part.len() as u64;
            }
            at = end;
        }
    }

    /// The next data of a file from an offset on, and where they end.
    fn data_from(&mut self, attr: &Attr, at: u64) -> Result<Option<(u64, u64)>, FsError> {
        match self.volume.seek(attr.ino, at, Seek::Data) {
            Err(FsError::NothingThere) => Ok(None),
            Err(error) => Err(error),
            Ok(from) => Ok(Some((from, self.volume.seek(attr.ino, from, Seek::Hole)?))),
        }
    }
}

/// Gives a copy the owner, permissions and times of what it is a copy of, as far as the user may.
fn keep(attr: &Attr, to: &Path) {
    if rustix::process::geteuid().is_root() {
        let _ = std::os::unix::fs::lchown(to, Some(attr.uid), Some(attr.gid));
    }
    if attr.kind != FileKind::Symlink {
        let _ = fs::set_permissions(to, fs::Permissions::from_mode(u32::from(attr.permissions)));
    }
    let system = |moment: Moment| Timespec { tv_sec: moment.seconds, tv_nsec: moment.nanos.into() };
    let times = Timestamps { last_access: system(attr.accessed), last_modification: system(attr.modified) };
    let _ = rustix::fs::utimensat(CWD, to, &times, AtFlags::SYMLINK_NOFOLLOW);
}

/// Copies into a file system.
struct Into<'a> {
    volume: &'a mut Mounted,
    what: &'a Path,
    force: bool,
    copied: &'a mut Copied,
    /// Files of several names that were copied, by device and number, and their copies.
    linked: BTreeMap<(u64, u64), Ino>,
}

impl Into<'_> {
    fn copy(&mut self, from: &Path, path: &[u8]) -> Result<(), Failure> {
        let found = metadata(from)?;
        let (parents, last): (Vec<&[u8]>, Option<&[u8]>) = {
            let mut all: Vec<&[u8]> = names(path).collect();
            let last = all.pop();
            (all, last)
        };
        let of_source = from.file_name().map(|name| name.as_bytes().to_vec());
        let at_end = match last {
            None => Some(ROOT),
            Some(_) => find(self.volume, self.what, path).ok(),
        };
        let is_dir = |volume: &mut Mounted, ino| volume.attr(ino).is_ok_and(|attr| attr.kind == FileKind::Directory);
        if let Some(dir) = at_end.filter(|ino| is_dir(self.volume, *ino)) {
            let name = of_source.ok_or_else(|| Failure::wrong(format!("{}: has no name", excerpt_path(from))))?;
            return self.entry(from, &found, dir, &name, &joined(path, &name), 0);
        }
        let dir = find(self.volume, self.what, &parents.join(&b'/'))?;
        self.entry(from, &found, dir, last.unwrap_or_default(), path, 0)
    }

    fn failed(&self, path: &[u8], error: FsError) -> Failure {
        Failure::wrong(format!("{}: {error}", shown(self.what, path)))
    }

    fn entry(
        &mut self,
        from: &Path,
        found: &Metadata,
        dir: Ino,
        name: &[u8],
        path: &[u8],
        depth: usize,
    ) -> Result<(), Failure> {
        let kind = found.file_type();
        let new = NewFile {
            kind: if kind.is_dir() { FileKind::Directory } else { FileKind::File },
            permissions: (found.mode() & 0o7777) as u16,
            uid: found.uid(),
            gid: found.gid(),
            rdev: 0,
        };
        let ino = if kind.is_dir() {
            self.directory(from, dir, name, &new, path, depth)?
        } else if let Some(copy) = self.linked.get(&(found.dev(), found.ino())).copied() {
            self.make_way(dir, name, path)?;
            self.volume.link(copy, dir, name, now()).map_err(|error| self.failed(path, error))?;
            self.copied.files += 1;
            copy
        } else if kind.is_file() {
            let copy = self.file(from, dir, name, &new, path)?;
            if found.nlink() > 1 {
                self.linked.insert((found.dev(), found.ino()), copy);
            }
            copy
        } else if kind.is_symlink() {
            let target = fs::read_link(from).map_err(|error| unreadable(from, &error))?;
            self.make_way(dir, name, path)?;
            let made = self.volume.make_symlink(dir, name, target.as_os_str().as_bytes(), &new, now());
            self.copied.files += 1;
            made.map_err(|error| self.failed(path, error))?.ino
        } else {
            self.copied.left_out += 1;
            return Ok(());
        };
        let times = SetAttr {
            permissions: (!kind.is_symlink()).then_some(new.permissions),
            accessed: Some(moment(found.atime(), found.atime_nsec())),
            modified: Some(moment(found.mtime(), found.mtime_nsec())),
            ..SetAttr::default()
        };
        self.volume.set_attr(ino, &times, now()).map_err(|error| self.failed(path, error))?;
        Ok(())
    }

    fn make_way(&mut self, dir: Ino, name: &[u8], path: &[u8]) -> Result<(), Failure> {
        match self.volume.lookup(dir, name) {
            Err(FsError::NotFound) => Ok(()),
            Err(error) => Err(self.failed(path, error)),
            Ok(_) if self.force => self.volume.unlink(dir, name, now()).map_err(|error| self.failed(path, error)),
            Ok(_) => {
                let path = shown(self.what, path);
                Err(Failure::wrong(format!("{path}: exists: give another name, or --force to overwrite it")))
            }
        }
    }

    fn directory(
        &mut self,
        from: &Path,
        dir: Ino,
        name: &[u8],
        new: &NewFile,
        path: &[u8],
        depth: usize,
    ) -> Result<Ino, Failure> {
        if depth > DEPTH {
            return Err(Failure::wrong(format!("{}: is more than {DEPTH} directories deep", excerpt_path(from))));
        }
        let own = match self.volume.lookup(dir, name) {
            Ok(own) => own,
            Err(_) => self.volume.make(dir, name, new, now()).map_err(|error| self.failed(path, error))?.ino,
        };
        let entries = fs::read_dir(from).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut entries = entries.map_err(|error| unreadable(from, &error))?;
        // The order in which a directory lists them is nobody's choice.
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name();
            let below = entry.path();
            let found = metadata(&below)?;
            self.entry(&below, &found, own, name.as_bytes(), &joined(path, name.as_bytes()), depth + 1)?;
        }
        self.copied.directories += 1;
        Ok(own)
    }

    fn file(&mut self, from: &Path, dir: Ino, name: &[u8], new: &NewFile, path: &[u8]) -> Result<Ino, Failure> {
        self.make_way(dir, name, path)?;
        let unreadable = |error: io::Error| unreadable(from, &error);
        let file = File::open(from).map_err(unreadable)?;
        let made = self.volume.make(dir, name, new, now()).map_err(|error| self.failed(path, error))?;
        let (mut part, mut at) = (vec![0; PART], 0);
        while let Some(length) = next_data(&file, &mut at).map_err(unreadable)? {
            let count = file.read_at(&mut part[..length], at).map_err(unreadable)?;
            if count == 0 {
                break;
            }
            let mut rest = &part[..count];
            while !rest.is_empty() {
                let written = self.volume.write(made.ino, at, rest, now()).map_err(|error| self.failed(path, error))?;
                at += written as u64;
                rest = &rest[written..];
            }
        }
        // It may end with a hole.
        let size = at.max(file.metadata().map_err(unreadable)?.len());
        if size > at {
            self.volume.truncate(made.ino, size, now()).map_err(|error| self.failed(path, error))?;
        }
        self.copied.files += 1;
        self.copied.bytes += size;
        Ok(made.ino)
    }
}

/// Leads to the next data of a file, and tells how many bytes can be read there; `None` if only a hole follows.
fn next_data(file: &File, at: &mut u64) -> io::Result<Option<usize>> {
    match rustix::fs::seek(file, SeekFrom::Data(*at)) {
        Ok(data) => *at = data,
        Err(Errno::NXIO) => return Ok(None),
        // What cannot tell, such as a file of /proc, is read to its end.
        Err(_) => return Ok(Some(PART)),
    }
    let hole = rustix::fs::seek(file, SeekFrom::Hole(*at))?;
    Ok(Some(usize::try_from(hole - *at).unwrap_or(PART).min(PART)))
}

/// A time of the system's own files: the fraction counts up from the second.
fn moment(seconds: i64, nanos: i64) -> Moment {
    Moment { seconds, nanos: u32::try_from(nanos).unwrap_or(0) }
}

fn metadata(path: &Path) -> Result<Metadata, Failure> {
    fs::symlink_metadata(path).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::wrong(format!("{}: cannot be read: {error}", excerpt_path(path)))
}
