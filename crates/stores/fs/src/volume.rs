//! A mounted file system: its structures in memory, and what they have in common.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Answer, FsError};
use crate::geometry::Geometry;
use crate::inode::{Attr, Ino, Inode, InodeMut};
use crate::nat::{NOT_WRITTEN, Nat, NatEntry};
use crate::nodes::{Node, Nodes};
use crate::pages::Pages;
use crate::port::{Addr, Fault, Port, Use};
use crate::remap::Remaps;
use crate::seal::{BlockKind, Seal};
use crate::segments::{Log, Owner, Segments};
use crate::shrink::Target;

/// How a volume is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// For all.
    ReadWrite,
    /// Nothing is changed, as it was asked for.
    ReadOnly,
    /// Nothing is changed any more, since the device failed.
    Failed,
}

/// What `statfs` tells, in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Blocks for users.
    pub blocks: u64,
    /// Of these, blocks that are free.
    pub free: u64,
    /// Files and directories that there can be.
    pub files: u64,
    /// Of these, how many there can still be.
    pub files_free: u64,
    /// Longest name.
    pub name_max: u32,
}

/// A mounted file system on a port.
///
/// It has neither a clock nor a thread: each call changes its state at once, and tells its port which blocks are read and written.
#[derive(Clone)]
pub struct Volume<P> {
    pub(crate) port: P,
    pub(crate) geometry: Geometry,
    pub(crate) nat: Nat,
    pub(crate) segments: Segments,
    pub(crate) nodes: Nodes,
    /// Nodes from which on those that did not change leave memory.
    pub(crate) nodes_max: usize,
    /// Nodes that changed since they were written.
    pub(crate) dirty: BTreeSet<u32>,
    pub(crate) pages: Pages,
    /// Version of the next checkpoint.
    pub(crate) version: u64,
    /// Version in seals, which no earlier mount used.
    pub(crate) seal_version: u64,
    /// The pack of the next checkpoint.
    pub(crate) pack: u32,
    /// Blocks that users have or were promised, nodes included.
    pub(crate) charged: u64,
    pub(crate) node_count: u32,
    /// How often a file is in use by somebody who may still ask for it.
    pub(crate) held: BTreeMap<Ino, u64>,
    /// Files without a name that are in use.
    pub(crate) orphans: BTreeSet<Ino>,
    /// Files of which an fsync must be a checkpoint.
    pub(crate) entangled: BTreeSet<Ino>,
    /// Names that were removed since the checkpoint, with their directories.
    pub(crate) gone_names: BTreeSet<(Ino, Vec<u8>)>,
    /// Files that are new since the checkpoint.
    pub(crate) newborn: BTreeSet<Ino>,
    pub(crate) generation: u32,
    pub(crate) mode: Mode,
    pub(crate) has_changed: bool,
    pub(crate) trims: Trims,
    /// What is to be given back.
    pub(crate) target: Option<Target>,
    /// Sections into which data are being remapped.
    pub(crate) intended: Vec<u32>,
    pub(crate) remaps: Remaps,
    /// Blocks that the device wants the file system to have at most, and that it does not have yet.
    pub(crate) wanted: Option<u64>,
    /// What was damaged at the mount.
    pub(crate) damaged: Vec<Damaged>,
    pub(crate) counted: Counted,
    /// The last checkpoint was made as it was unmounted.
    pub(crate) was_clean: bool,
}

/// What was found damaged at a mount, and is no reason not to look at the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Damaged {
    Superblock,
    /// The footer of the checkpoint of this version.
    Footer(u64),
    /// The checkpoint of this version, instead of which that of the other one is used. If it is whole, why it cannot be used.
    Checkpoint(u64, u64, Option<String>),
    /// A node that an fsync wrote after the checkpoint of this version, at this block.
    Synchronized(Addr, u64),
    /// What contradicts the checkpoint.
    Contradiction(String),
    /// The device is shorter than the file system.
    Tail,
}

impl Damaged {
    /// Whether a change could cost more.
    pub(crate) const fn forbids_changes(&self) -> bool {
        !matches!(self, Self::Superblock | Self::Footer(_))
    }

    /// What is found, in a sentence.
    pub(crate) fn finding(&self) -> String {
        match self {
            Self::Superblock => "the first superblock is damaged".to_owned(),
            Self::Footer(version) => format!("the footer of the newest checkpoint, {version}, is damaged"),
            Self::Checkpoint(version, used, why) => {
                let why = why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
                format!(
                    "the newest checkpoint, {version}, is damaged{why}; what is newer than checkpoint {used} is missing"
                )
            }
            Self::Synchronized(at, version) => format!(
                "a file that was synchronized after checkpoint {version} has its node at block {at}, which is damaged; what was synchronized from \
                 it on is missing"
            ),
            Self::Contradiction(what) => format!("the checkpoint contradicts itself: {what}"),
            Self::Tail => "the device is shorter than the file system; what lay beyond its end is lost".to_owned(),
        }
    }

    /// What a user should know who mounts it.
    fn note(&self) -> String {
        let instead = match self {
            Self::Superblock => "the second one is used",
            Self::Footer(_) => "what was noted at the unmount is used",
            Self::Checkpoint(..) | Self::Synchronized(..) | Self::Contradiction(_) => "nothing is changed",
            Self::Tail => return self.finding() + ", and nothing is changed",
        };
        format!("{}; {instead}", self.finding())
    }
}

/// Whether sections that become free are discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trims {
    /// After the checkpoint that frees them.
    AtOnce,
    /// Never.
    Never,
}

/// What a volume did since it was mounted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Checkpoints.
    pub checkpoints: u64,
    /// Sections that were cleaned.
    pub cleaned: u64,
    /// Blocks that cleaning moved.
    pub moved: u64,
    /// Of these, blocks of data that were copied as they were: not those that a program had changed, and which it writes anyway, and no nodes, which
    /// the next checkpoint writes.
    pub copied: u64,
    /// Blocks that the device remapped.
    pub remapped: u64,
    /// Blocks of data that were written.
    pub data: u64,
    /// Blocks of nodes that were written.
    pub nodes: u64,
    /// Files that a roll-forward recovered at the mount.
    pub recovered: u64,
    /// Blocks of data that were read and did not match their checksum.
    pub mismatched: u64,
    /// Blocks of data that were to be moved and were lost.
    pub lost: u64,
}

impl<P: Port> Volume<P> {
    /// How it is used.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// What a user should know of its mount, in sentences: what is damaged, and what is used instead.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        self.damaged.iter().map(Damaged::note)
    }

    /// Whether what is there may be older than what was made durable, or wrong: nothing is changed then.
    pub fn is_doubtful(&self) -> bool {
        self.damaged.iter().any(Damaged::forbids_changes)
    }

    /// What it did since it was mounted.
    pub const fn counted(&self) -> Counted {
        self.counted
    }

    /// The port.
    pub const fn port(&self) -> &P {
        &self.port
    }

    /// The port, to be changed.
    pub const fn port_mut(&mut self) -> &mut P {
        &mut self.port
    }

    /// The same on another port of the same device, with the same contents.
    pub fn on<Q: Port>(self, change: impl FnOnce(P) -> Q) -> Volume<Q> {
        let Self {
            port,
            geometry,
            nat,
            segments,
            nodes,
            nodes_max,
            dirty,
            pages,
            version,
            seal_version,
            pack,
            charged,
            node_count,
            held,
            orphans,
            entangled,
            gone_names,
            newborn,
            generation,
            mode,
            has_changed,
            trims,
            target,
            intended,
            remaps,
            wanted,
            damaged,
            counted,
            was_clean,
        } = self;
        Volume {
            port: change(port),
            geometry,
            nat,
            segments,
            nodes,
            nodes_max,
            dirty,
            pages,
            version,
            seal_version,
            pack,
            charged,
            node_count,
            held,
            orphans,
            entangled,
            gone_names,
            newborn,
            generation,
            mode,
            has_changed,
            trims,
            target,
            intended,
            remaps,
            wanted,
            damaged,
            counted,
            was_clean,
        }
    }

    /// What was to be done later failed: nothing is changed any more.
    pub fn note_failure(&mut self, fault: Fault) {
        self.fail(fault);
    }

    /// Ends it as a cut of the power would. Nothing is written.
    pub fn into_port(self) -> P {
        self.port
    }

    /// Refuses changes where nothing may change.
    pub(crate) fn writable(&self) -> Answer<()> {
        if self.mode == Mode::ReadWrite { Ok(()) } else { Err(FsError::ReadOnly) }
    }

    /// The device failed: nothing is changed any more.
    pub(crate) fn fail(&mut self, fault: Fault) -> FsError {
        self.mode = Mode::Failed;
        fault.into()
    }

    // Nodes.

    /// A node.
    pub(crate) fn node(&mut self, nid: u32) -> Answer<&Node> {
        self.load(nid)?;
        self.nodes.get(nid).ok_or(FsError::Io)
    }

    /// A node, to be changed.
    pub(crate) fn node_mut(&mut self, nid: u32) -> Answer<&mut Node> {
        self.load(nid)?;
        let node = self.nodes.get_mut(nid).ok_or(FsError::Io)?;
        self.has_changed = true;
        if !std::mem::replace(&mut node.is_dirty, true) {
            self.dirty.insert(nid);
        }
        Ok(node)
    }

    /// Reads a node into memory.
    fn load(&mut self, nid: u32) -> Answer<()> {
        if self.nodes.contains(nid) {
            return Ok(());
        }
        let entry = self.nat.get(&self.geometry, &mut self.port, nid)?;
        if entry.at == 0 {
            return Err(FsError::NotFound);
        }
        let node = self.read_node(entry.at, nid)?;
        if self.nodes.len() > self.nodes_max && 2 * self.dirty.len() < self.nodes.len() {
            // What was not changed can be read again.
            let dirty = &self.dirty;
            self.nodes.retain(|nid| dirty.contains(&nid));
        }
        self.nodes.insert(nid, node);
        Ok(())
    }

    /// Reads the node that lies at an address.
    fn read_node(&mut self, at: Addr, nid: u32) -> Answer<Node> {
        if !self.geometry.is_main(at) {
            return Err(FsError::Io);
        }
        let mut bytes = vec![0; self.geometry.block].into_boxed_slice();
        self.port.read(at, &mut bytes)?;
        let seal = Seal::open(&bytes, at).filter(|seal| seal.kind.is_node() && seal.owner == nid).ok_or(FsError::Io)?;
        Ok(Node { bytes, kind: seal.kind, ino: seal.ino, first: seal.first, is_dirty: false })
    }

    /// Makes a node, for which there is room.
    ///
    /// # Errors
    /// There is no number.
    pub(crate) fn make_node(&mut self, kind: BlockKind, ino: Option<Ino>, first: u32) -> Answer<u32> {
        let nid = self.nat.take(&self.geometry, &mut self.port)?.ok_or(FsError::NoSpace)?;
        let ino = ino.unwrap_or(nid);
        self.nat.set(&self.geometry, &mut self.port, nid, NatEntry { at: NOT_WRITTEN, ino })?;
        let bytes = vec![0; self.geometry.block].into_boxed_slice();
        self.nodes.insert(nid, Node { bytes, kind, ino, first, is_dirty: true });
        self.dirty.insert(nid);
        self.has_changed = true;
        self.charged = self.charged.saturating_add(1);
        self.node_count = self.node_count.saturating_add(1);
        self.add_blocks(ino, 1)?;
        Ok(nid)
    }

    /// Gives a node up.
    pub(crate) fn drop_node(&mut self, nid: u32) -> Answer<()> {
        let entry = self.nat.get(&self.geometry, &mut self.port, nid)?;
        if entry.at != 0 && entry.at != NOT_WRITTEN {
            self.segments.note_unused(&self.geometry, entry.at);
            // A roll-forward knows the node of the checkpoint, and not that it is gone.
            self.entangled.insert(entry.ino);
        }
        self.nat.set(&self.geometry, &mut self.port, nid, NatEntry::default())?;
        self.nodes.remove(nid);
        self.dirty.remove(&nid);
        self.has_changed = true;
        self.charged = self.charged.saturating_sub(1);
        self.node_count = self.node_count.saturating_sub(1);
        if entry.ino != nid {
            self.add_blocks(entry.ino, -1)?;
        }
        Ok(())
    }

    /// Counts blocks of a file.
    pub(crate) fn add_blocks(&mut self, ino: Ino, count: i64) -> Answer<()> {
        let node = self.node_mut(ino)?;
        InodeMut(&mut node.bytes).add_blocks(count);
        Ok(())
    }

    /// Writes a node to its log.
    pub(crate) fn write_node(&mut self, nid: u32, marks: u8) -> Result<(), Fault> {
        let (Some(node), version) = (self.nodes.get(nid), self.seal_version) else { return Ok(()) };
        let (kind, ino, first) = (node.kind, node.ino, node.first);
        let log = self.log_of(nid);
        let owner = Owner { nid, slot: 0 };
        let at = self.segments.take(&self.geometry, &mut self.port, log, owner, version)?;
        // The chain of a log leads from each node to the next.
        let next = self.segments.next_of(&self.geometry, &mut self.port, log, version)?;
        let seal = Seal { marks, ino, first, next, ..Seal::new(kind, nid, version) };
        let Some(node) = self.nodes.get_mut(nid) else { return Ok(()) };
        seal.close(&mut node.bytes, at);
        self.port.write(at, &node.bytes, Use::Meta)?;
        let before = self.nat.get(&self.geometry, &mut self.port, nid)?;
        if before.at != NOT_WRITTEN && before.at != 0 {
            self.segments.note_unused(&self.geometry, before.at);
        }
        self.nat.set(&self.geometry, &mut self.port, nid, NatEntry { at, ino })?;
        self.dirty.remove(&nid);
        if let Some(node) = self.nodes.get_mut(nid) {
            node.is_dirty = false;
        }
        self.counted.nodes += 1;
        Ok(())
    }

    /// The log of a node.
    fn log_of(&self, nid: u32) -> Log {
        let Some(node) = self.nodes.get(nid) else { return Log::WarmNode };
        let is_directory = |bytes: &[u8]| Inode(bytes).kind() == Some(crate::inode::FileKind::Directory);
        match node.kind {
            BlockKind::Indirect => Log::ColdNode,
            BlockKind::Inode if is_directory(&node.bytes) => Log::HotNode,
            BlockKind::Inode => Log::WarmNode,
            _ if self.nodes.get(node.ino).is_some_and(|inode| is_directory(&inode.bytes)) => Log::HotNode,
            _ => Log::WarmNode,
        }
    }

    // Inodes.

    /// The inode of a file.
    pub(crate) fn inode(&mut self, ino: Ino) -> Answer<Inode<'_>> {
        let node = self.node(ino)?;
        if node.kind == BlockKind::Inode { Ok(Inode(&node.bytes)) } else { Err(FsError::NotFound) }
    }

    /// The inode of a file, to be changed.
    pub(crate) fn inode_mut(&mut self, ino: Ino) -> Answer<InodeMut<'_>> {
        if self.node(ino)?.kind != BlockKind::Inode {
            return Err(FsError::NotFound);
        }
        Ok(InodeMut(&mut self.node_mut(ino)?.bytes))
    }

    /// What `stat` tells of a file.
    ///
    /// # Errors
    /// There is no such file, or the device lost its inode.
    pub fn attr(&mut self, ino: Ino) -> Answer<Attr> {
        self.inode(ino)?.attr(ino).ok_or(FsError::Io)
    }
}
