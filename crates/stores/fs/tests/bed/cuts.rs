//! A port in memory whose power may go at any moment, and which refuses what would destroy the last durable state.

use std::collections::BTreeSet;
use std::sync::Arc;

use wane_fs::{Addr, Barrier, Fault, Mode, MountConfig, Port, Use, Volume, Wanted};
use wane_sim::Stream;

/// Blocks of a device. Those that were never written are zeros.
#[derive(Clone)]
pub(crate) struct Image {
    pub(crate) size: usize,
    pub(crate) blocks: Vec<Option<Arc<[u8]>>>,
    /// Most blocks that hold something.
    limit: u64,
    /// Blocks that are there.
    end: u64,
}

impl Image {
    /// The same device, made larger.
    pub(crate) fn grown(&self, blocks: usize) -> Self {
        let mut grown = Self::new(self.size, blocks);
        grown.blocks[..self.blocks.len()].clone_from_slice(&self.blocks);
        grown
    }

    pub(crate) const fn limit(&self) -> u64 {
        self.limit
    }

    pub(crate) fn new(size: usize, blocks: usize) -> Self {
        Self { size, blocks: vec![None; blocks], limit: blocks as u64, end: blocks as u64 }
    }
}

/// A block, and what it holds then.
type Change = (Addr, Option<Arc<[u8]>>);

/// How many of the states are looked at that a cut may leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cutting {
    /// Unflushed writes up to which every subset is taken.
    pub(crate) each_of: usize,
    /// Subsets that are taken of more.
    pub(crate) some: usize,
    /// Looks at one step of N.
    pub(crate) every: u64,
    /// Whether space is given back.
    pub(crate) shrinks: bool,
    /// A flush that is left out, as a fault would.
    pub(crate) without: Option<Barrier>,
}

pub(crate) struct Cuts {
    now: Image,
    durable: Image,
    /// What changed and is not durable: blocks that change together, and what they hold. `None`: nothing.
    pending: Vec<Vec<Change>>,
    /// Blocks that the last durable state needs.
    needed: BTreeSet<Addr>,
    pub(crate) cutting: Option<Cutting>,
    /// States that a cut could have left.
    pub(crate) left: Vec<Image>,
    stream: Stream,
    packs: std::ops::Range<Addr>,
    /// Blocks that last held structures of the file system.
    pub(crate) structures: BTreeSet<Addr>,
    /// What it wants of its host.
    pub(crate) wants: Option<Wanted>,
    /// Whether needed blocks are looked for.
    pub(crate) guards: bool,
    /// Blocks that cannot be read.
    pub(crate) lost: BTreeSet<Addr>,
    /// Whether it refuses to remap.
    pub(crate) refuses_remap: bool,
    /// Whether it is cut at each unit of what is not durable: all before it survive, only it, or all but it.
    pub(crate) cuts_each: bool,
}

impl Cuts {
    pub(crate) fn new(image: Image, packs: std::ops::Range<Addr>, stream: Stream) -> Self {
        Self {
            durable: image.clone(),
            now: image,
            pending: Vec::new(),
            needed: BTreeSet::new(),
            cutting: None,
            left: Vec::new(),
            stream,
            packs,
            structures: BTreeSet::new(),
            wants: None,
            guards: false,
            lost: BTreeSet::new(),
            refuses_remap: false,
            cuts_each: false,
        }
    }

    pub(crate) fn durable(&self) -> &Image {
        &self.durable
    }

    /// Takes states that a cut could leave now.
    fn cut(&mut self) {
        let Some(Cutting { each_of, some, .. }) = self.cutting else { return };
        let count = self.pending.len();
        let subsets: Vec<Vec<bool>> = if count <= each_of {
            (0..1_u64 << count).map(|bits| (0..count).map(|bit| bits >> bit & 1 == 1).collect()).collect()
        } else {
            let mut all: Vec<Vec<bool>> =
                (0..some).map(|_| (0..count).map(|_| self.stream.below(2) == 1).collect()).collect();
            // Nearly all, and nearly none.
            let odd = self.stream.below(count as u64) as usize;
            all.push((0..count).map(|place| place != odd).collect());
            all.push((0..count).map(|place| place == odd).collect());
            all.push((0..count).map(|place| place < odd).collect());
            all.push(vec![true; count]);
            all
        };
        let each = if self.cuts_each { count } else { 0 };
        let at_each = (0..each).flat_map(|odd| {
            let subset = |survives: fn(usize, usize) -> bool| (0..count).map(|place| survives(place, odd)).collect();
            [subset(|place, odd| place < odd), subset(|place, odd| place == odd), subset(|place, odd| place != odd)]
        });
        for subset in subsets.into_iter().chain(at_each) {
            let mut image = self.durable.clone();
            for (changes, _) in self.pending.iter().zip(subset).filter(|(_, survives)| *survives) {
                for (at, bytes) in changes {
                    image.blocks[*at as usize].clone_from(bytes);
                }
            }
            self.left.push(image);
        }
    }

    fn change(&mut self, at: Addr, bytes: Option<Arc<[u8]>>) {
        if self.guards {
            assert!(!self.needed.contains(&at), "block {at} is changed, which the last durable state needs");
        }
        assert!(u64::from(at) < self.now.end, "block {at} was given back");
        self.now.blocks[at as usize].clone_from(&bytes);
        if self.now.limit < self.now.end {
            let held = self.now.blocks.iter().flatten().count() as u64;
            assert!(held <= self.now.limit, "{held} blocks hold something, {} may", self.now.limit);
        }
        self.pending.push(vec![(at, bytes)]);
    }

    /// Finds what the durable state needs.
    fn find_needed(&mut self) {
        let port = Self::new(self.durable.clone(), 0..0, self.stream.clone());
        let config = MountConfig { mode: Mode::ReadOnly, ..MountConfig::new(0) };
        let mut volume = Volume::mount(port, &config).unwrap();
        self.needed = volume.blocks_in_use().unwrap();
    }
}

impl Port for Cuts {
    fn block_bytes(&self) -> usize {
        self.now.size
    }

    fn blocks(&self) -> u64 {
        self.now.end
    }

    fn read(&mut self, at: Addr, bytes: &mut [u8]) -> Result<(), Fault> {
        if self.lost.contains(&at) {
            return Err(Fault::Medium);
        }
        match &self.now.blocks[at as usize] {
            Some(held) => bytes.copy_from_slice(held),
            None => bytes.fill(0),
        }
        Ok(())
    }

    fn write(&mut self, at: Addr, bytes: &[u8], purpose: Use) -> Result<(), Fault> {
        if purpose == Use::Meta {
            self.structures.insert(at);
        } else {
            self.structures.remove(&at);
        }
        self.lost.remove(&at);
        self.change(at, Some(bytes.into()));
        Ok(())
    }

    fn flush(&mut self, barrier: Barrier) -> Result<(), Fault> {
        self.cut();
        if self.cutting.is_some_and(|cutting| cutting.without == Some(barrier)) {
            return Ok(());
        }
        let mut has_pack = false;
        for (at, bytes) in std::mem::take(&mut self.pending).into_iter().flatten() {
            has_pack |= self.packs.contains(&at);
            self.durable.blocks[at as usize] = bytes;
        }
        if self.guards && (has_pack && barrier == Barrier::Footer || barrier == Barrier::Nodes) {
            self.find_needed();
        }
        Ok(())
    }

    fn trim(&mut self, at: Addr, count: u32) -> Result<(), Fault> {
        (at..at + count).for_each(|at| self.change(at, None));
        Ok(())
    }

    fn remap(&mut self, from: Addr, to: Addr, count: u32) -> Result<(), Fault> {
        if self.refuses_remap {
            return Err(Fault::Unsupported);
        }
        for place in 0..count {
            let (from, to) = (from + place, to + place);
            assert!(!self.needed.contains(&to), "block {to} gets other contents, and the last durable state needs it");
            let bytes = self.now.blocks[from as usize].take();
            self.now.blocks[to as usize].clone_from(&bytes);
            self.pending.push(vec![(to, bytes), (from, None)]);
        }
        Ok(())
    }

    fn holds(&self, at: Addr) -> bool {
        self.now.blocks[at as usize].is_some()
    }

    fn wanted(&mut self) -> Option<Wanted> {
        self.wants.take()
    }

    fn limit(&self) -> u64 {
        self.now.limit
    }

    fn set_limit(&mut self, blocks: u64) -> Result<(), Fault> {
        self.cut();
        let held = self.now.blocks.iter().flatten().count() as u64;
        assert!(held <= blocks, "{held} blocks hold something as the limit becomes {blocks}");
        (self.now.limit, self.durable.limit) = (blocks, blocks);
        self.cut();
        Ok(())
    }

    fn set_blocks(&mut self, blocks: u64) -> Result<(), Fault> {
        if blocks > self.now.blocks.len() as u64 {
            return Err(Fault::Unsupported);
        }
        self.cut();
        (self.now.end, self.durable.end) = (blocks, blocks);
        // What lay there is lost at once, and comes back as zeros.
        for image in [&mut self.now, &mut self.durable] {
            image.blocks[blocks as usize..].fill(None);
        }
        self.pending.retain(|changes| changes.iter().all(|(at, _)| u64::from(*at) < blocks));
        self.cut();
        Ok(())
    }
}
