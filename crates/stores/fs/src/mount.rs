//! A file system is made on a device, and mounted.

use std::collections::{BTreeMap, BTreeSet};

use crate::checkpoint::{Lost, NEXT_ORPHAN, Newest, Pack, Why};
use crate::error::Answer;
use crate::geometry::{self, FormatConfig, FormatError, Geometry};
use crate::inode::{FileKind, Ino, LINKS, Moment, ROOT};
use crate::le::u32_at;
use crate::nat::Nat;
use crate::nodes::Nodes;
use crate::pages::Pages;
use crate::port::{Barrier, Port, Use};
use crate::recovery::Chain;
use crate::seal::BlockKind;
use crate::segments::Segments;
use crate::volume::{Counted, Damaged, Mode, Trims, Volume};

/// How a file system is mounted.
#[derive(Clone, Copy, Debug)]
pub struct MountConfig {
    /// Whether it may be changed.
    pub mode: Mode,
    /// A number that no earlier mount had, so that what those left behind is not taken for its own.
    pub nonce: u32,
    /// Most blocks of files that are kept in memory although they could be read again.
    pub cache_blocks: usize,
    /// Whether free sections are discarded.
    pub trims: Trims,
}

impl MountConfig {
    /// Read and write, 64 MiB of blocks of 4 KiB in memory, discards.
    pub const fn new(nonce: u32) -> Self {
        Self { mode: Mode::ReadWrite, nonce, cache_blocks: 1 << 14, trims: Trims::AtOnce }
    }
}

/// Makes an empty file system. What the device held is lost.
///
/// # Errors
/// The sizes do not fit the device, or it cannot be written.
pub fn format<P: Port>(
    mut port: P,
    config: &FormatConfig,
    now: Moment,
    (uid, gid): (u32, u32),
) -> Result<P, FormatError> {
    if port.block_bytes() != config.block_bytes as usize {
        return Err(FormatError::Size(format!(
            "a block has {} bytes, and the device is used in blocks of {}",
            config.block_bytes,
            port.block_bytes()
        )));
    }
    let (geometry, sections) = Geometry::new(config, port.blocks())?;
    if port.limit() < port.blocks() {
        // What it holds leaves no room.
        let blocks = u32::try_from(port.blocks()).unwrap_or(u32::MAX);
        port.trim(0, blocks).map_err(|_| FormatError::Device)?;
    }
    let zeros = vec![0; geometry.block];
    // Old checkpoints go first, then the tables' copies that the first checkpoint takes.
    let packs = (0..geometry.pack_blocks()).flat_map(|block| [geometry.pack(0) + block, geometry.pack(1) + block]);
    let tables = (0..geometry.sit_blocks).map(|block| geometry.sit(block, 0));
    let tables = tables.chain((0..geometry.nat_blocks).map(|block| geometry.nat(block, 0)));
    let device = |_| FormatError::Device;
    for at in packs.chain(tables) {
        port.write(at, &zeros, Use::Meta).map_err(device)?;
    }
    port.flush(Barrier::Footer).map_err(device)?;
    let mount = MountConfig { trims: Trims::Never, ..MountConfig::new(0) };
    let mut volume = Volume::empty(port, geometry, &mount);
    volume.segments.set_end(sections);
    volume.segments.cap = sections;
    volume.segments.begin_logs(&volume.geometry, &mut volume.port, 0).map_err(device)?;
    let made = volume.make_root(now, (uid, gid)).and_then(|()| volume.checkpoint(Why::Unmount));
    made.map_err(|_| FormatError::Device)?;
    let Volume { geometry, mut port, .. } = volume;
    // A file system is there once its superblock is.
    for segment in 0..2 {
        let at = segment * geometry.segment;
        port.write(at, &geometry.superblock(at), Use::Meta).map_err(device)?;
    }
    port.flush(Barrier::Footer).map_err(device)?;
    Ok(port)
}

/// Bytes of a block of the file system whose first bytes these are, 4096 of them; `None` if it is none.
pub fn block_bytes(first: &[u8]) -> Option<usize> {
    Geometry::block_bytes(first)
}

/// Most bytes before the second superblock that are looked through for it.
const LOOKED_THROUGH: u64 = 8 << 20;

/// Bytes of a block of the file system on a device of this capacity in bytes, even if its first superblock is damaged. `read` reads 4096 bytes from an
/// offset, and says whether they could be read.
///
/// # Errors
/// There is none.
pub fn find_block_bytes(bytes: u64, mut read: impl FnMut(u64, &mut [u8]) -> bool) -> Result<usize, FormatError> {
    let mut first = vec![0; LEAST_BLOCK as usize];
    if bytes < LEAST_BLOCK {
        return Err(FormatError::Other(None));
    }
    let is_read = read(0, &mut first);
    if let Some(found) = block_bytes(&first) {
        return Ok(found);
    }
    let none = FormatError::Other(crate::geometry::other(&first));
    if none != FormatError::Other(None) {
        return Err(none);
    }
    // Segments have any size up to this, and powers of two of bytes beyond it.
    let near = (1..=LOOKED_THROUGH / LEAST_BLOCK).map(|number| number * LEAST_BLOCK);
    let far = (1..8).map(|shift| LOOKED_THROUGH << shift);
    let mut block = vec![0; LEAST_BLOCK as usize];
    let reaches = bytes >= geometry::BTRFS_AT + LEAST_BLOCK;
    if reaches && read(geometry::BTRFS_AT, &mut block) && geometry::is_btrfs(&block) {
        return Err(FormatError::Other(Some("btrfs".to_owned())));
    }
    for at in near.chain(far).take_while(|at| at + LEAST_BLOCK <= bytes) {
        if read(at, &mut block)
            && let Some(found) = block_bytes(&block)
        {
            return Ok(found);
        }
    }
    Err(if is_read { none } else { FormatError::Device })
}

/// Bytes of the smallest block.
const LEAST_BLOCK: u64 = 4096;

impl<P: Port> Volume<P> {
    fn empty(port: P, geometry: Geometry, config: &MountConfig) -> Self {
        Self {
            nat: Nat::new(&geometry),
            segments: Segments::new(&geometry),
            port,
            geometry,
            nodes: Nodes::default(),
            nodes_max: config.cache_blocks.max(16),
            dirty: BTreeSet::new(),
            pages: Pages::new(config.cache_blocks),
            version: 1,
            seal_version: u64::from(config.nonce),
            pack: 0,
            charged: 0,
            node_count: 0,
            held: BTreeMap::new(),
            orphans: BTreeSet::new(),
            entangled: BTreeSet::new(),
            newborn: BTreeSet::new(),
            gone_names: BTreeSet::new(),
            generation: 0,
            mode: Mode::ReadWrite,
            has_changed: true,
            trims: config.trims,
            target: None,
            damaged: Vec::new(),
            intended: Vec::new(),
            remaps: crate::remap::Remaps::Yes,
            wanted: None,
            counted: Counted::default(),
            was_clean: false,
        }
    }

    fn make_root(&mut self, now: Moment, (uid, gid): (u32, u32)) -> Answer<()> {
        let ino = self.make_node(BlockKind::Inode, None, 0)?;
        debug_assert_eq!(ino, ROOT, "the first node is the root");
        let mut inode = self.first_inode(ino)?;
        inode.set_mode(FileKind::Directory.bits() | 0o755);
        inode.set_u32(LINKS, 2);
        inode.set_u32(crate::inode::UID, uid);
        inode.set_u32(crate::inode::GID, gid);
        inode.set_name(ROOT, b"");
        inode.set_accessed(now);
        inode.set_modified(now);
        inode.set_changed(now);
        inode.set_born(now);
        Ok(())
    }

    /// Mounts the file system of a device. What was made durable after its last checkpoint is recovered.
    ///
    /// # Errors
    /// There is none, it is a newer one, or what is needed of it is lost.
    pub fn mount(mut port: P, config: &MountConfig) -> Result<Self, FormatError> {
        let (geometry, is_second) = read_superblock(&mut port)?;
        let Newest { number, pack, lost: newer, lacks_footer, contradictions } = Pack::newest(&geometry, &mut port)?;
        let needs = u64::from(geometry.main()) + u64::from(pack.space.end) * u64::from(geometry.section());
        let is_short = needs > port.blocks();
        if is_short && config.mode == Mode::ReadWrite {
            let has = port.blocks();
            return Err(FormatError::Size(format!(
                "the file system has {needs} blocks, and the device only {has}; mounted read-only, it shows what is left"
            )));
        }
        let mut config = *config;
        let mut volume = Self::empty(port, geometry, &config);
        volume.damaged.extend(is_short.then_some(Damaged::Tail));
        volume.damaged.extend(is_second.then_some(Damaged::Superblock));
        volume.damaged.extend(lacks_footer.then_some(Damaged::Footer(pack.version)));
        volume.damaged.extend(newer.map(|Lost { version, why }| Damaged::Checkpoint(version, pack.version, why)));
        volume.damaged.extend(contradictions.into_iter().map(Damaged::Contradiction));
        volume.nat.live.clone_from(&pack.nat_live);
        volume.nat.journal.clone_from(&pack.nat_journal);
        volume.nat.next = pack.next_nid;
        volume.segments.live.clone_from(&pack.sit_live);
        volume.segments.heads.clone_from(&pack.heads);
        volume.take_given(&pack.space);
        let read = volume.segments.read(&volume.geometry, &mut volume.port, &pack.sit_journal);
        read.map_err(|_| FormatError::Lost("the table of segments"))?;
        volume.version = pack.version + 1;
        volume.pack = 1 - number;
        (volume.charged, volume.node_count) = (pack.charged, pack.node_count);
        volume.generation = pack.generation;
        volume.has_changed = false;
        let found = volume.audit(&pack);
        volume.damaged.extend(found.into_iter().map(Damaged::Contradiction));
        volume.node(ROOT).map_err(|_| FormatError::Lost("the root directory"))?;
        volume.orphans = volume.orphans_of(&pack).map_err(|_| FormatError::Lost("the list of orphans"))?;
        let found = volume.audit_orphans();
        volume.damaged.extend(found.into_iter().map(Damaged::Contradiction));
        let chain = volume.chain(pack.seal_version);
        // After an unmount nothing is written before another checkpoint.
        let is_known = volume.damaged.iter().any(|damaged| matches!(damaged, Damaged::Checkpoint(..)));
        let missing = if pack.is_clean || is_known { None } else { volume.missing_after(&chain, &pack) };
        volume.damaged.extend(missing);
        if volume.damaged.iter().any(Damaged::forbids_changes) {
            config.mode = Mode::ReadOnly;
        }
        volume.go_on_from(&pack, chain, config.mode)?;
        Ok(volume)
    }

    /// Goes on from a checkpoint: finishes what was begun, and recovers what was made durable after it.
    fn go_on_from(&mut self, pack: &Pack, chain: Chain, mode: Mode) -> Result<(), FormatError> {
        if !pack.space.intended.is_empty() {
            let finished = self.finish_remap(&pack.space.intended, mode);
            finished.map_err(|_| FormatError::Lost("what was being remapped"))?;
        }
        // What fsynced after an unmount and was cut off follows a clean checkpoint.
        let lost = |_| FormatError::Lost("what was written after the last checkpoint");
        let has_more = self.roll_forward(chain, mode).map_err(lost)?;
        self.was_clean = pack.is_clean && !has_more;
        // Later nodes begin with this mount's own number: a mount before may have left nodes behind that no chain leads to yet.
        self.seal_version |= pack.version << 32;
        if mode == Mode::ReadWrite && (!pack.is_clean || has_more) {
            for orphan in self.orphans.clone() {
                // One that is lost takes its blocks with it.
                if self.free_file(orphan).is_err() {
                    self.orphans.remove(&orphan);
                }
            }
            self.has_changed = true;
            self.checkpoint(Why::Sync).map_err(|_| FormatError::Device)?;
            // A discard before the power failed may not have been durable.
            let free = self.segments.all_free();
            self.discard(&free).map_err(|_| FormatError::Device)?;
        }
        if mode == Mode::ReadWrite && self.port.limit() < self.port.blocks() {
            // What was written past the file system would take the room that it counts as its own.
            self.discard_all_else().map_err(|_| FormatError::Device)?;
        }
        self.mode = mode;
        Ok(())
    }

    fn orphans_of(&mut self, pack: &Pack) -> Answer<BTreeSet<Ino>> {
        let mut all: BTreeSet<Ino> = pack.orphans.iter().copied().collect();
        let mut next = pack.first_chained;
        while next != 0 && all.insert(next) {
            next = u32_at(&self.node(next)?.bytes, NEXT_ORPHAN);
        }
        Ok(all)
    }
}

/// Reads the first superblock that is whole, and tells whether it is the second one.
fn read_superblock(port: &mut impl Port) -> Result<(Geometry, bool), FormatError> {
    let mut block = vec![0; port.block_bytes()];
    let first = port.read(0, &mut block).map_err(|_| FormatError::Device).and_then(|()| Geometry::read(&block, 0));
    let why = match first {
        Ok(geometry) => return Ok((geometry, false)),
        Err(why) => why,
    };
    // The other one lies a segment later, of which the damaged one may not tell.
    let most = (port.blocks() / 2).min(1 << 12) as u32;
    for at in 1..=most {
        let is_there = port.read(at, &mut block).is_ok();
        if is_there && block.starts_with(&crate::geometry::MAGIC) {
            match Geometry::read(&block, at) {
                Ok(geometry) if geometry.segment == at => return Ok((geometry, true)),
                _ => {}
            }
        }
    }
    Err(why)
}
