//! A file system in memory, which does no more than a benchmark asks: what a mount of wane is measured against by `tools/fs-bench`.
//!
//!     cargo run --release -p wane-fuse --example memory -- DIRECTORY
//!
//! It talks to the kernel as the mount does: one thread, writes of 1 MiB, files that the kernel opens alone, attributes that stay for a second.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    BsdFileFlags, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, Session, TimeOrNow, WriteFlags,
};

const TTL: Duration = Duration::from_secs(1);

/// A file or a directory.
struct Node {
    is_directory: bool,
    data: Vec<u8>,
    names: BTreeMap<OsString, u64>,
}

/// The nodes by their numbers; the root is 1.
struct Memory(Mutex<Vec<Option<Node>>>);

type Nodes<'a> = MutexGuard<'a, Vec<Option<Node>>>;

const fn node(is_directory: bool) -> Node {
    Node { is_directory, data: Vec::new(), names: BTreeMap::new() }
}

fn find(nodes: &mut [Option<Node>], number: INodeNo) -> Result<&mut Node, Errno> {
    nodes.get_mut(number.0 as usize).and_then(Option::as_mut).ok_or(Errno::ENOENT)
}

fn shown(number: u64, node: &Node) -> FileAttr {
    let (kind, perm) = if node.is_directory { (FileType::Directory, 0o755) } else { (FileType::RegularFile, 0o644) };
    let size = node.data.len() as u64;
    let [atime, mtime, ctime, crtime] = [UNIX_EPOCH; 4];
    FileAttr {
        ino: INodeNo(number),
        size,
        blocks: size.div_ceil(512),
        atime,
        mtime,
        ctime,
        crtime,
        kind,
        perm,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

impl Memory {
    fn lock(&self) -> Nodes<'_> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn attr(&self, number: INodeNo) -> Result<FileAttr, Errno> {
        find(&mut self.lock(), number).map(|node| shown(number.0, node))
    }

    fn make(&self, parent: INodeNo, name: &OsStr, made: Node) -> Result<FileAttr, Errno> {
        let mut nodes = self.lock();
        let number = nodes.len() as u64;
        let attr = shown(number, &made);
        if find(&mut nodes, parent)?.names.insert(name.to_owned(), number).is_some() {
            return Err(Errno::EEXIST);
        }
        nodes.push(Some(made));
        Ok(attr)
    }

    fn remove(&self, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let mut nodes = self.lock();
        let gone = find(&mut nodes, parent).and_then(|dir| dir.names.remove(name).ok_or(Errno::ENOENT));
        match gone {
            Ok(number) => {
                nodes[number as usize] = None;
                reply.ok();
            }
            Err(error) => reply.error(error),
        }
    }
}

fn enter(found: Result<FileAttr, Errno>, reply: ReplyEntry) {
    match found {
        Ok(attr) => reply.entry(&TTL, &attr, Generation(0)),
        Err(error) => reply.error(error),
    }
}

fn show(found: Result<FileAttr, Errno>, reply: ReplyAttr) {
    match found {
        Ok(attr) => reply.attr(&TTL, &attr),
        Err(error) => reply.error(error),
    }
}

impl Filesystem for Memory {
    fn init(&mut self, _req: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        let _ = config.set_max_write(1 << 20);
        Ok(())
    }

    fn lookup(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = find(&mut self.lock(), parent).and_then(|dir| dir.names.get(name).copied().ok_or(Errno::ENOENT));
        enter(found.and_then(|number| self.attr(INodeNo(number))), reply);
    }

    fn getattr(&self, _req: &Request, number: INodeNo, _fh: Option<FileHandle>, reply: ReplyAttr) {
        show(self.attr(number), reply);
    }

    fn setattr(
        &self,
        _req: &Request,
        number: INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _accessed: Option<TimeOrNow>,
        _modified: Option<TimeOrNow>,
        _changed: Option<SystemTime>,
        _fh: Option<FileHandle>,
        _born: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        if let (Some(size), Ok(node)) = (size, find(&mut self.lock(), number)) {
            node.data.resize(size as usize, 0);
        }
        show(self.attr(number), reply);
    }

    fn mkdir(&self, _req: &Request, parent: INodeNo, name: &OsStr, _mode: u32, _umask: u32, reply: ReplyEntry) {
        enter(self.make(parent, name, node(true)), reply);
    }

    fn create(
        &self,
        _req: &Request,
        parent: INodeNo,
        name: &OsStr,
        _mode: u32,
        _umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        match self.make(parent, name, node(false)) {
            Ok(attr) => reply.created(&TTL, &attr, Generation(0), FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE),
            Err(error) => reply.error(error),
        }
    }

    fn open(&self, _req: &Request, _number: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        reply.error(Errno::ENOSYS);
    }

    fn opendir(&self, _req: &Request, _number: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        reply.error(Errno::ENOSYS);
    }

    fn unlink(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.remove(parent, name, reply);
    }

    fn rmdir(&self, _req: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.remove(parent, name, reply);
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
        match find(&mut self.lock(), number) {
            Ok(node) => {
                let from = node.data.len().min(offset as usize);
                reply.data(&node.data[from..node.data.len().min(from + size as usize)]);
            }
            Err(error) => reply.error(error),
        }
    }

    fn write(
        &self,
        _req: &Request,
        number: INodeNo,
        _fh: FileHandle,
        offset: u64,
        data: &[u8],
        _how: WriteFlags,
        _flags: OpenFlags,
        _lock_owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match find(&mut self.lock(), number) {
            Ok(node) => {
                let (from, to) = (offset as usize, offset as usize + data.len());
                node.data.resize(node.data.len().max(to), 0);
                node.data[from..to].copy_from_slice(data);
                reply.written(data.len() as u32);
            }
            Err(error) => reply.error(error),
        }
    }

    fn flush(&self, _req: &Request, _number: INodeNo, _fh: FileHandle, _lock_owner: LockOwner, reply: ReplyEmpty) {
        reply.error(Errno::ENOSYS);
    }

    fn fsync(&self, _req: &Request, _number: INodeNo, _fh: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn readdir(&self, _req: &Request, number: INodeNo, _fh: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let mut nodes = self.lock();
        let names = match find(&mut nodes, number) {
            Ok(node) => node.names.clone(),
            Err(error) => return reply.error(error),
        };
        for (at, (name, number)) in names.iter().enumerate().skip(offset as usize) {
            let kind = find(&mut nodes, INodeNo(*number)).map_or(FileType::RegularFile, |node| shown(0, node).kind);
            if reply.add(INodeNo(*number), at as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }
}

fn main() -> std::io::Result<()> {
    let point = std::env::args_os().nth(1).map(PathBuf::from);
    let point = point.ok_or_else(|| std::io::Error::other("memory DIRECTORY"))?;
    let mut config = Config::default();
    config.mount_options = vec![MountOption::FSName("memory".to_owned()), MountOption::DefaultPermissions];
    let session = Session::new(Memory(Mutex::new(vec![None, Some(node(true))])), &point, &config)?;
    println!("mounted on {}", point.display());
    session.run()
}
