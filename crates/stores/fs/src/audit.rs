//! The audit of a checkpoint: its numbers are held against each other and against the tables to which they lead, before anything is written by them.
//!
//! Checksums tell what a device damaged. They do not tell what a faulty program, or somebody, wrote on purpose. A mount that finds a contradiction
//! changes nothing, since logs that go on inside blocks in use, or tables that count them as free, would cost files. It reads both tables, and no
//! file: the walk through those is the check's.

use std::collections::BTreeSet;

use crate::checkpoint::Pack;
use crate::error::FsError;
use crate::geometry::Geometry;
use crate::nat::NatEntry;
use crate::port::{Addr, Port};
use crate::seal::{MARK_FSYNC, Seal};
use crate::segments::{Head, Log};
use crate::shrink::Way;
use crate::volume::Volume;

/// Versions that are left to a file system at least. Its last one cannot be followed by another.
const VERSIONS_LEFT: u64 = 1 << 20;

impl Pack {
    /// A number that cannot be, whatever the tables say: nothing is there to which it leads.
    pub(crate) fn impossible(&self, geometry: &Geometry) -> Option<String> {
        let (most, segments) = (geometry.sections, geometry.main_segments());
        let space = &self.space;
        if space.end > most {
            return Some(format!("it has {} sections, and its tables are for {most}", space.end));
        }
        if space.cap > space.end {
            return Some(format!("{} of its {} sections may hold something", space.cap, space.end));
        }
        if let Some(section) = space.intended.iter().find(|section| **section >= space.end) {
            return Some(format!("data are being remapped into section {section}, and it has {}", space.end));
        }
        let there = space.end * geometry.section_segments;
        for (log, Head { segment, next, .. }) in Log::ALL.into_iter().zip(&self.heads) {
            let log = log.name();
            if *segment >= there {
                return Some(format!("the log of {log} is in segment {segment}, and there are {there}"));
            }
            if *next > geometry.segment {
                let blocks = geometry.segment;
                return Some(format!("the log of {log} goes on at block {next} of a segment, which has {blocks}"));
            }
        }
        if let Some((nid, _)) = self.nat_journal.iter().find(|(nid, _)| **nid == 0 || **nid >= geometry.nodes()) {
            return Some(format!(
                "its journal has node {nid}, and nodes have numbers from 1 to {}",
                geometry.nodes() - 1
            ));
        }
        let outside = self.sit_journal.keys().find(|segment| **segment >= segments);
        outside.map(|segment| format!("its journal has segment {segment}, and there are {segments}"))
    }
}

impl<P: Port> Volume<P> {
    /// What contradicts a checkpoint whose tables were just read, in sentences.
    pub(crate) fn audit(&mut self, pack: &Pack) -> Vec<String> {
        let mut found = Vec::new();
        self.audit_versions(pack, &mut found);
        self.audit_space(pack, &mut found);
        for (log, head) in Log::ALL.into_iter().zip(&pack.heads) {
            self.audit_log(pack, log, head, &mut found);
        }
        self.audit_nodes(pack, &mut found);
        if !pack.is_of_length {
            let blocks: u64 = pack.heads.iter().map(|head| u64::from(head.next)).sum();
            found.push(format!("its logs have filled {blocks} blocks of their segments, and it has owners of others"));
        }
        found
    }

    fn audit_versions(&mut self, pack: &Pack, found: &mut Vec<String>) {
        let Pack { version, seal_version, .. } = *pack;
        let last = u64::from(u32::MAX) - VERSIONS_LEFT;
        if version > last {
            found.push(format!("its version is {version}, and {last} is the last that can be followed"));
        }
        if seal_version >> 32 != version {
            let of = seal_version >> 32;
            found.push(format!("nodes written after it are to be of checkpoint {of}, and it is {version}"));
        }
        if pack.is_clean {
            return;
        }
        // The first fsync of a mount is a checkpoint, which gives later ones their number.
        let at = self.head_at(&pack.heads[Log::WarmNode as usize]);
        if let Some(seal) = self.seal_at(at).filter(|seal| seal.marks & MARK_FSYNC != 0)
            && seal.version >> 32 == version
            && seal.version != seal_version
        {
            found.push(format!(
                "files synchronized after it are to have the number {:#x}, and that at block {at} has {:#x}",
                seal_version & 0xFFFF_FFFF,
                seal.version & 0xFFFF_FFFF
            ));
        }
    }

    /// Counts of blocks, and what is to be given back.
    fn audit_space(&self, pack: &Pack, found: &mut Vec<String>) {
        let (space, used, section) = (&pack.space, self.segments.used(), u64::from(self.geometry.section()));
        if let Some(beyond) = (space.end..self.geometry.sections).find(|section| self.segments.used_of(*section) > 0) {
            found.push(format!("it has {} sections, and section {beyond} is in use", space.end));
        }
        let most = u64::from(space.end) * section;
        if pack.charged < used || pack.charged > most {
            found.push(format!("{} blocks are charged, and {used} of {most} are in use", pack.charged));
        }
        if let Some(sum) = pack.sum.filter(|sum| *sum != self.segments.sum) {
            let read = self.segments.sum;
            found.push(format!("the blocks in use have the sum {read:#010x}, and it says {sum:#010x}"));
        }
        if let Some(target) = space.target {
            let (least, holds) = (2 * self.geometry.logs_and_cleaning(), u64::from(target.sections) * section);
            if !(least..=space.end).contains(&target.sections) {
                let (wanted, end) = (target.sections, space.end);
                found.push(format!("it is to have {wanted} sections; from {least} to {end} are allowed"));
            } else if holds < used {
                found.push(format!("it is to have {holds} blocks, and {used} are in use"));
            }
        }
        let is_remapping = space.target.is_some_and(|target| target.way == Way::Remap) && !pack.is_clean;
        if !space.intended.is_empty() && !is_remapping {
            found.push("data are being remapped, and nothing is to be given back by a remap".to_owned());
        }
        let mut seen = BTreeSet::new();
        for section in &space.intended {
            let is_free = self.segments.used_of(*section) == 0 && !self.segments.is_open(*section);
            let first = section * self.geometry.section_segments;
            let is_cold = |segment| self.segments.log_of(segment) == Log::ColdData;
            if !is_free || !seen.insert(*section) || !(first..first + self.geometry.section_segments).all(is_cold) {
                found.push(format!("data are being remapped into section {section}, which was not made ready"));
            }
        }
    }

    /// Where a log goes on.
    fn audit_log(&mut self, pack: &Pack, log: Log, head: &Head, found: &mut Vec<String>) {
        let (each, name, segment, next) = (self.geometry.section_segments, log.name(), head.segment, head.next);
        let section = segment / each;
        let shares = |(other, head): &(Log, &Head)| *other > log && head.segment / each == section;
        if let Some((other, _)) = Log::ALL.into_iter().zip(&pack.heads).find(shares) {
            found.push(format!("the logs of {name} and of {} are both in section {section}", other.name()));
        }
        if let Some(place) = self.segments.used_from(segment, next) {
            found.push(format!(
                "the log of {name} goes on at block {next} of segment {segment}, of which block {place} is in use"
            ));
        }
        let after = (segment + 1..(section + 1) * each).find(|segment| self.segments.used_from(*segment, 0).is_some());
        if let Some(after) = after {
            found.push(format!("the log of {name} goes on in segment {after}, of which blocks are in use"));
        }
        if self.segments.log_of(segment) != log {
            let other = self.segments.log_of(segment).name();
            found.push(format!("the log of {name} is in segment {segment}, which is one of {other}"));
        }
        // Each node says where the next one of its log lies, by which a mount finds what was synchronized. After an unmount nothing was.
        let at = self.head_at(head);
        if !log.is_of_nodes() || next == 0 || pack.is_clean {
            return;
        }
        let owner = head.owners.get(next as usize - 1).map(|owner| owner.nid);
        let says = match self.seal_at(at - 1) {
            Some(seal) if seal.next == at && seal.version != pack.seal_version && Some(seal.owner) == owner => return,
            Some(seal) if Some(seal.owner) != owner => {
                format!("node {} lies before, instead of {}", seal.owner, owner.unwrap_or_default())
            }
            Some(seal) => match seal.next.checked_sub(at - next).filter(|place| *place < self.geometry.segment) {
                Some(place) => format!("the node before says at block {place}"),
                None => "the node before says elsewhere".to_owned(),
            },
            // One that is in use was lost by the device, which the walk finds.
            None if self.segments.is_used(&self.geometry, at - 1) => return,
            None => "no node was written before".to_owned(),
        };
        found.push(format!("the log of {name} goes on at block {next} of segment {segment}, and {says}"));
    }

    /// The table of nodes: it leads to each block of nodes that is in use, once, and to no other.
    fn audit_nodes(&mut self, pack: &Pack, found: &mut Vec<String>) {
        let (per_block, wanted) = (self.geometry.nat_entries(), self.segments.nodes_used());
        let (mut claimed, mut nodes) = (self.segments.unclaimed(), 0);
        let mut wrong: Option<(u32, Addr)> = None;
        let mut claim = |volume: &Self, nid: u32, entry: NatEntry| {
            if nid != 0 && entry.at != 0 {
                nodes += 1;
                let is_right = volume.segments.claim(&volume.geometry, &mut claimed, entry.at);
                wrong = wrong.or((!is_right).then_some((nid, entry.at)));
            }
            nodes
        };
        let mut of_journal = 0;
        for (nid, entry) in &pack.nat_journal {
            of_journal = claim(self, *nid, *entry);
        }
        // In a new file system they are all in the journal.
        let blocks = if of_journal == wanted { 0 } else { self.geometry.nat_blocks };
        for block in 0..blocks {
            // One that the device lost says nothing. The walk finds what is missing.
            let Ok(entries) = self.nat.read(&self.geometry, &mut self.port, block) else { return };
            for (nid, entry) in (block * per_block..).zip(&entries) {
                if !pack.nat_journal.contains_key(&nid) {
                    claim(self, nid, *entry);
                }
            }
        }
        match wrong {
            Some((nid, at)) => {
                found.push(format!("node {nid} lies at block {at}, which is no node's or another one's"));
            }
            None if nodes != wanted => {
                found.push(format!("the table of nodes has {nodes}, and {wanted} blocks of nodes are in use"));
            }
            None => {}
        }
    }

    /// Files without a name: they are freed, so that each must have none.
    pub(crate) fn audit_orphans(&mut self) -> Vec<String> {
        let mut found = Vec::new();
        for orphan in self.orphans.clone() {
            match self.inode(orphan).map(|inode| inode.links()) {
                Ok(0) | Err(FsError::Io) => {}
                Ok(links) => found.push(format!("file {orphan} is to have no name, and counts {links}")),
                Err(_) => found.push(format!("file {orphan} is to have no name, and there is none")),
            }
        }
        found
    }

    /// Where a log writes next.
    fn head_at(&self, head: &Head) -> Addr {
        self.geometry.main() + head.segment * self.geometry.segment + head.next
    }

    /// The seal of a node.
    pub(crate) fn seal_at(&mut self, at: Addr) -> Option<Seal> {
        let mut bytes = vec![0; self.geometry.block];
        let is_there = self.geometry.is_main(at) && self.port.read(at, &mut bytes).is_ok();
        Seal::open(&bytes, at).filter(|seal| is_there && seal.kind.is_node())
    }
}
