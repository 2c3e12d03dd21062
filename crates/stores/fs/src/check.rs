//! Checks: a walk from the root through all that can be reached, held against all that the structures say.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::directory::Slots;
use crate::error::{Answer, FsError};
use crate::inode::{ATTRIBUTES, FLAG_INLINE, FileKind, Ino, Inode, NIDS, ROOT, nid_at};
use crate::le::u32_at;
use crate::map::{LOST, Slot};
use crate::nat::NOT_WRITTEN;
use crate::port::{Addr, Port};
use crate::seal::BlockKind;
use crate::segments::Owner;
use crate::volume::{Damaged, Volume};

/// Something that does not hold, in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding(pub String);

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a walk has seen.
#[derive(Default)]
struct Walk {
    findings: Vec<Finding>,
    /// Blocks that are pointed at, and what does.
    blocks: BTreeMap<Addr, Owner>,
    nodes: BTreeSet<u32>,
    promised: u64,
    /// Names of each file, and directories in each directory.
    names: BTreeMap<Ino, u32>,
}

impl Walk {
    fn find(&mut self, text: String) {
        self.findings.push(Finding(text));
    }
}

impl<P: Port> Volume<P> {
    /// Walks through all files, and returns what does not hold, after what the mount found. What is in memory counts as if it were written.
    ///
    /// # Errors
    /// The root directory is lost.
    pub fn check(&mut self) -> Answer<Vec<Finding>> {
        let mut findings: Vec<Finding> = self.damaged.iter().map(Damaged::finding).map(Finding).collect();
        let mut walk = self.walk()?;
        self.check_summaries(&mut walk);
        findings.append(&mut walk.findings);
        Ok(findings)
    }

    /// Walks through all files, and returns the blocks of the main area that they and their nodes have.
    ///
    /// # Errors
    /// The root directory is lost.
    pub fn blocks_in_use(&mut self) -> Answer<BTreeSet<Addr>> {
        Ok(self.walk()?.blocks.into_keys().collect())
    }

    fn walk(&mut self) -> Answer<Walk> {
        let mut walk = Walk::default();
        self.inode(ROOT)?;
        walk.names.insert(ROOT, 2);
        let mut dirs = vec![ROOT];
        let mut seen = BTreeSet::from([ROOT]);
        while let Some(dir) = dirs.pop() {
            self.check_file(dir, &mut walk);
            for (ino, kind, name) in self.check_directory(dir, &mut walk) {
                let is_directory = kind == FileKind::Directory;
                *walk.names.entry(ino).or_insert(0) += if is_directory { 2 } else { 1 };
                if is_directory {
                    *walk.names.entry(dir).or_insert(0) += 1;
                }
                if !seen.insert(ino) {
                    if is_directory {
                        walk.find(format!("directory {ino} has two names, one of them {name} in {dir}"));
                    }
                } else if is_directory {
                    self.check_parent(ino, dir, &mut walk);
                    dirs.push(ino);
                } else {
                    self.check_file(ino, &mut walk);
                }
            }
        }
        for orphan in self.orphans.clone() {
            walk.names.insert(orphan, 0);
            self.check_file(orphan, &mut walk);
        }
        self.check_links(&mut walk);
        self.check_tables(&mut walk);
        Ok(walk)
    }

    fn check_parent(&mut self, ino: Ino, dir: Ino, walk: &mut Walk) {
        if self.inode(ino).is_ok_and(|inode| inode.parent() != dir) {
            walk.find(format!("directory {ino} lies in {dir}, and says otherwise"));
        }
    }

    /// The entries of a directory.
    fn check_directory(&mut self, dir: Ino, walk: &mut Walk) -> Vec<(Ino, FileKind, String)> {
        let (mut all, mut at) = (Vec::new(), 0);
        let slots = Slots::new(self.geometry.block);
        loop {
            let next = match self.next_mapped(dir, at) {
                Ok(Some(next)) => next,
                Ok(None) => break,
                Err(_) => {
                    walk.find(format!("directory {dir} lost a node"));
                    break;
                }
            };
            match self.dir_page(dir, next as u32) {
                Ok(Some(block)) => {
                    let block = block.to_vec();
                    for (_, hash, ino, kind, name) in slots.entries(&block) {
                        let told = String::from_utf8_lossy(name).into_owned();
                        if self.hash(name) != hash {
                            walk.find(format!("{told} in directory {dir} has another hash"));
                        }
                        match (FileKind::of_number(kind), self.attr_of(ino)) {
                            (Some(kind), Some(found)) if kind == found => all.push((ino, kind, told)),
                            (_, Some(_)) => {
                                walk.find(format!("{told} in directory {dir} is of another kind than its inode"));
                            }
                            (_, None) => walk.find(format!("{told} in directory {dir} has no inode")),
                        }
                    }
                }
                Ok(None) => {}
                Err(_) => walk.find(format!("block {next} of directory {dir} is lost")),
            }
            at = next + 1;
        }
        if self.inode(dir).is_ok_and(|inode| inode.entries() as usize != all.len()) {
            walk.find(format!("directory {dir} counts other entries than it has"));
        }
        all
    }

    fn attr_of(&mut self, ino: Ino) -> Option<FileKind> {
        self.inode(ino).ok()?.kind()
    }

    /// The nodes and blocks of a file.
    fn check_file(&mut self, ino: Ino, walk: &mut Walk) {
        if let Err(error) = self.walk_file(ino, walk) {
            walk.find(format!("file {ino}: {error}"));
        }
    }

    fn walk_file(&mut self, ino: Ino, walk: &mut Walk) -> Answer<()> {
        let block = self.geometry.block;
        self.see_node(ino, ino, walk)?;
        let attributes = u32_at(&self.node(ino)?.bytes, ATTRIBUTES);
        if attributes != 0 {
            self.see_node(attributes, ino, walk)?;
        }
        let blocks = self.blocks_of(ino)?;
        let told = crate::le::u64_at(&self.node(ino)?.bytes, crate::inode::BLOCKS);
        if blocks != told {
            walk.find(format!("file {ino} counts {told} blocks and has {blocks}"));
        }
        if self.inode(ino)?.has(FLAG_INLINE) {
            return Ok(());
        }
        let size = self.inode(ino)?.size();
        let is_directory = self.inode(ino)?.kind() == Some(FileKind::Directory);
        for slot in 0..self.geometry.inode_pointers() {
            let at = self.pointer(Slot { nid: ino, slot })?.at;
            self.see_block(ino, Owner { nid: ino, slot: slot as u16 }, at, walk);
        }
        for place in 0..NIDS {
            let nid = u32_at(&self.node(ino)?.bytes, nid_at(block, place));
            if nid != 0 {
                self.walk_node(ino, nid, walk)?;
            }
        }
        if is_directory && !size.is_multiple_of(block as u64) {
            walk.find(format!("directory {ino} has {size} bytes, which are no whole blocks"));
        }
        Ok(())
    }

    fn walk_node(&mut self, ino: Ino, nid: u32, walk: &mut Walk) -> Answer<()> {
        self.see_node(nid, ino, walk)?;
        let is_direct = self.node(nid)?.kind == BlockKind::Direct;
        if is_direct {
            for slot in 0..self.geometry.node_pointers() {
                let at = self.pointer(Slot { nid, slot })?.at;
                self.see_block(ino, Owner { nid, slot: slot as u16 }, at, walk);
            }
            return Ok(());
        }
        for place in 0..self.geometry.node_children() {
            let child = u32_at(&self.node(nid)?.bytes, 4 * place as usize);
            if child != 0 {
                self.walk_node(ino, child, walk)?;
            }
        }
        Ok(())
    }

    fn see_node(&mut self, nid: u32, ino: Ino, walk: &mut Walk) -> Answer<()> {
        if !walk.nodes.insert(nid) {
            walk.find(format!("node {nid} belongs to two files, one of them {ino}"));
            return Err(FsError::Io);
        }
        let entry = self.nat.get(&self.geometry, &mut self.port, nid)?;
        if entry.ino != ino || self.node(nid)?.ino != ino {
            walk.find(format!("node {nid} is used by file {ino}, and says otherwise"));
        }
        self.see_block(ino, Owner { nid, slot: 0 }, entry.at, walk);
        Ok(())
    }

    fn see_block(&mut self, ino: Ino, owner: Owner, at: Addr, walk: &mut Walk) {
        match at {
            0 | LOST => {}
            NOT_WRITTEN => walk.promised += 1,
            at if !self.geometry.is_main(at) => walk.find(format!("file {ino} points outside, at block {at}")),
            at if walk.blocks.insert(at, owner).is_some() => {
                walk.find(format!("block {at} is used twice, once by file {ino}"));
            }
            at if !self.segments.is_used(&self.geometry, at) => {
                walk.find(format!("block {at} of file {ino} counts as free"));
            }
            _ => {}
        }
    }

    fn check_links(&mut self, walk: &mut Walk) {
        for (ino, names) in walk.names.clone() {
            match self.inode(ino).map(|inode| Inode(inode.0).links()) {
                Ok(links) if links != names => walk.find(format!("file {ino} counts {links} names and has {names}")),
                _ => {}
            }
        }
    }

    /// Summaries say who owns each block, by which cleaning moves it. What was recovered since the last checkpoint is in none yet.
    fn check_summaries(&mut self, walk: &mut Walk) {
        let (mut findings, mut known): (_, Option<(u32, Vec<Owner>)>) = (Vec::new(), None);
        let mut told = None;
        for (at, owner) in &walk.blocks {
            let (segment, place) = self.geometry.place(*at);
            if told == Some(segment) || !self.segments.is_durable(&self.geometry, *at) {
                continue;
            }
            if known.as_ref().is_none_or(|(of, _)| *of != segment) {
                let Ok(owners) = self.segments.owners(&self.geometry, &mut self.port, segment) else {
                    findings.push(format!("the summary of segment {segment} is damaged: its blocks cannot be moved"));
                    told = Some(segment);
                    continue;
                };
                known = Some((segment, owners));
            }
            let says = known.as_ref().and_then(|(_, owners)| owners.get(place as usize)).copied().unwrap_or_default();
            if says != *owner {
                let (told_as, is) = (says.describe(), owner.describe());
                findings.push(format!("the summary of segment {segment} says {told_as} of block {at}, which is {is}"));
                told = Some(segment);
            }
        }
        walk.findings.extend(findings.into_iter().map(Finding));
    }

    fn check_tables(&mut self, walk: &mut Walk) {
        let (used, seen) = (self.segments.used(), walk.blocks.len() as u64);
        if used != seen {
            walk.find(format!("{used} blocks count as used, and {seen} are"));
        }
        if self.nat.next == 0 || self.nat.next >= self.geometry.nodes() {
            let (next, last) = (self.nat.next, self.geometry.nodes() - 1);
            walk.find(format!("the search for a free node goes on at {next}; from 1 to {last} are allowed"));
        }
        if self.node_count as usize != walk.nodes.len() {
            walk.find(format!("{} nodes are counted, and {} are there", self.node_count, walk.nodes.len()));
        }
        if self.charged != seen + walk.promised {
            let promised = walk.promised;
            walk.find(format!("{} blocks are charged, and {seen} are used and {promised} promised", self.charged));
        }
    }
}
