//! Nodes in memory, by number: each page that is written looks some of them up.
//!
//! Numbers are dense, so that a table in two levels finds a node by two indexes instead of a walk. Its second level is there only around numbers of nodes
//! that are or were in memory: 1 KiB beside at least one node of 4 KiB.

use crate::inode::Ino;
use crate::seal::BlockKind;

/// A node in memory.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) bytes: Box<[u8]>,
    pub(crate) kind: BlockKind,
    pub(crate) ino: Ino,
    /// The first block of the file that it is about.
    pub(crate) first: u32,
    /// Whether it is among the dirty ones, so that a change of one that is costs no look-up there.
    pub(crate) is_dirty: bool,
}

/// Numbers of a part of the table.
const PART: usize = 256;

/// See the head of this file.
#[derive(Clone, Default)]
pub(crate) struct Nodes {
    /// By number: the place among the nodes plus 1; 0 is none.
    parts: Vec<Option<Box<[u32; PART]>>>,
    nodes: Vec<Option<(u32, Node)>>,
    /// Places that are free.
    free: Vec<u32>,
}

impl Nodes {
    /// Nodes in memory.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    fn place(&self, nid: u32) -> Option<usize> {
        let part = self.parts.get(nid as usize / PART)?.as_ref()?;
        (part[nid as usize % PART] as usize).checked_sub(1)
    }

    pub(crate) fn contains(&self, nid: u32) -> bool {
        self.place(nid).is_some()
    }

    pub(crate) fn get(&self, nid: u32) -> Option<&Node> {
        self.nodes[self.place(nid)?].as_ref().map(|(_, node)| node)
    }

    pub(crate) fn get_mut(&mut self, nid: u32) -> Option<&mut Node> {
        let place = self.place(nid)?;
        self.nodes[place].as_mut().map(|(_, node)| node)
    }

    /// Keeps a node, instead of another one with its number.
    pub(crate) fn insert(&mut self, nid: u32, node: Node) {
        if let Some(place) = self.place(nid) {
            self.nodes[place] = Some((nid, node));
            return;
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.nodes.push(None);
            self.nodes.len() as u32 - 1
        });
        self.nodes[place as usize] = Some((nid, node));
        let number = nid as usize / PART;
        if self.parts.len() <= number {
            self.parts.resize_with(number + 1, || None);
        }
        self.parts[number].get_or_insert_with(|| Box::new([0; PART]))[nid as usize % PART] = place + 1;
    }

    pub(crate) fn remove(&mut self, nid: u32) {
        let Some(place) = self.place(nid) else { return };
        self.nodes[place] = None;
        self.free.push(place as u32);
        if let Some(Some(part)) = self.parts.get_mut(nid as usize / PART) {
            part[nid as usize % PART] = 0;
        }
    }

    /// Keeps those alone whose number is wanted.
    pub(crate) fn retain(&mut self, mut is_wanted: impl FnMut(u32) -> bool) {
        let all = std::mem::take(self);
        all.nodes
            .into_iter()
            .flatten()
            .filter(|(nid, _)| is_wanted(*nid))
            .for_each(|(nid, node)| self.insert(nid, node));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(first: u32) -> Node {
        Node { bytes: Box::default(), kind: BlockKind::Direct, ino: 1, first, is_dirty: false }
    }

    #[test]
    fn a_number_finds_its_newest_node_alone() {
        let mut nodes = Nodes::default();
        for (first, nid) in [3, 255, 256, 70_000, 3].into_iter().enumerate() {
            nodes.insert(nid, node(first as u32));
        }
        nodes.remove(255);
        nodes.remove(255);
        nodes.insert(9, node(9));
        let found = |nodes: &Nodes, nid| nodes.get(nid).map(|node: &Node| node.first);
        let all = [3, 255, 256, 70_000, 9, 4, u32::MAX];
        let want = [Some(4), None, Some(2), Some(3), Some(9), None, None];
        assert_eq!(all.map(|nid| found(&nodes, nid)), want);
        assert_eq!(nodes.len(), 4);
        nodes.retain(|nid| nid > 200);
        assert_eq!(all.map(|nid| found(&nodes, nid)), [None, None, Some(2), Some(3), None, None, None]);
        assert_eq!(nodes.len(), 2);
    }
}
