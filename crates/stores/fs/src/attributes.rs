//! Extended attributes: in the inode as long as they fit there, and then in a node of their own.

use crate::error::{Answer, FsError};
use crate::inode::{ATTRIBUTES, INLINE_ATTRIBUTES, INLINE_ATTRIBUTES_END, Ino, Moment};
use crate::le::{Reader, Writer, put_u32, u32_at};
use crate::port::Port;
use crate::room::{By, Need};
use crate::seal::{BlockKind, SEAL};
use crate::volume::Volume;

/// Most bytes of all attributes of a file, their names included.
pub const ATTRIBUTES_MAX: usize = 4096 - SEAL;
/// Longest name of an attribute.
pub const ATTRIBUTE_NAME_MAX: usize = 255;

/// What setting an attribute asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetAttribute {
    /// It is made or changed.
    Any,
    /// It must be new.
    Create,
    /// It must be there.
    Replace,
}

type List = Vec<(Vec<u8>, Vec<u8>)>;

/// Attributes one after the other: length of the name (1 byte; 0 ends the list), of the value (2), name, value.
fn parsed(bytes: &[u8]) -> Option<List> {
    let (mut input, mut all) = (Reader::new(bytes), Vec::new());
    while let Some(length) = input.u8().filter(|length| *length > 0) {
        let value = usize::from(input.u16()?);
        all.push((input.take(usize::from(length))?.to_vec(), input.take(value)?.to_vec()));
    }
    Some(all)
}

fn written(list: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let mut out = Writer::default();
    for (name, value) in list {
        out.u8(name.len() as u8);
        out.u16(value.len() as u16);
        out.bytes(name);
        out.bytes(value);
    }
    out.0
}

impl<P: Port> Volume<P> {
    fn attributes(&mut self, ino: Ino) -> Answer<List> {
        self.inode(ino)?;
        let nid = u32_at(&self.node(ino)?.bytes, ATTRIBUTES);
        let list = if nid == 0 {
            parsed(&self.node(ino)?.bytes[INLINE_ATTRIBUTES..INLINE_ATTRIBUTES_END])
        } else {
            let end = self.geometry.block - SEAL;
            parsed(&self.node(nid)?.bytes[..end])
        };
        list.ok_or(FsError::Io)
    }

    /// The value of an attribute.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn attribute(&mut self, ino: Ino, name: &[u8]) -> Answer<Vec<u8>> {
        let found = self.attributes(ino)?.into_iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value).ok_or(FsError::NoAttribute)
    }

    /// The names of all attributes.
    ///
    /// # Errors
    /// There is no such file.
    pub fn attribute_names(&mut self, ino: Ino) -> Answer<Vec<Vec<u8>>> {
        Ok(self.attributes(ino)?.into_iter().map(|(name, _)| name).collect())
    }

    /// Sets an attribute.
    ///
    /// # Errors
    /// It is there, or not there, against what is asked for; the name is too long; all together are too many bytes; there is no room.
    pub fn set_attribute(&mut self, ino: Ino, name: &[u8], value: &[u8], how: SetAttribute, now: Moment) -> Answer<()> {
        self.writable()?;
        if name.is_empty() || name.len() > ATTRIBUTE_NAME_MAX {
            return Err(FsError::BufferTooSmall);
        }
        self.balance()?;
        let mut list = self.attributes(ino)?;
        let place = list.iter().position(|(known, _)| known == name);
        match (how, place) {
            (SetAttribute::Create, Some(_)) => return Err(FsError::Exists),
            (SetAttribute::Replace, None) => return Err(FsError::NoAttribute),
            (_, Some(place)) => value.clone_into(&mut list[place].1),
            (_, None) => list.push((name.to_vec(), value.to_vec())),
        }
        self.put_attributes(ino, &list, now)
    }

    /// Removes an attribute.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn remove_attribute(&mut self, ino: Ino, name: &[u8], now: Moment) -> Answer<()> {
        self.writable()?;
        self.balance()?;
        let mut list = self.attributes(ino)?;
        let place = list.iter().position(|(known, _)| known == name).ok_or(FsError::NoAttribute)?;
        list.remove(place);
        self.put_attributes(ino, &list, now)
    }

    /// Ends rights of a file whose data changed: it gets other permissions, and loses an attribute if it has that. That takes no room, so that it can
    /// follow the change that ends them.
    ///
    /// # Errors
    /// The device lost some of the file.
    pub fn end_rights(&mut self, ino: Ino, permissions: Option<u16>, attribute: &[u8], now: Moment) -> Answer<()> {
        self.writable()?;
        if let Some(permissions) = permissions {
            self.set_permissions(ino, permissions)?;
            self.inode_mut(ino)?.set_changed(now);
        }
        let mut list = self.attributes(ino)?;
        let Some(place) = list.iter().position(|(known, _)| known == attribute) else { return Ok(()) };
        list.remove(place);
        self.put_attributes(ino, &list, now)
    }

    fn put_attributes(&mut self, ino: Ino, list: &[(Vec<u8>, Vec<u8>)], now: Moment) -> Answer<()> {
        let bytes = written(list);
        if bytes.len() >= ATTRIBUTES_MAX {
            return Err(FsError::NoSpace);
        }
        let fits = bytes.len() < INLINE_ATTRIBUTES_END - INLINE_ATTRIBUTES;
        let mut nid = u32_at(&self.node(ino)?.bytes, ATTRIBUTES);
        if !fits && nid == 0 {
            self.ask_room(Need::NODE, By::Other)?;
            nid = self.make_node(BlockKind::Attributes, Some(ino), 0)?;
            put_u32(&mut self.node_mut(ino)?.bytes, ATTRIBUTES, nid);
        }
        if fits && nid != 0 {
            self.check_node(nid, ino, BlockKind::Attributes)?;
            self.drop_node(nid)?;
            put_u32(&mut self.node_mut(ino)?.bytes, ATTRIBUTES, 0);
        }
        let own = &mut self.node_mut(ino)?.bytes[INLINE_ATTRIBUTES..INLINE_ATTRIBUTES_END];
        own.fill(0);
        if fits {
            own[..bytes.len()].copy_from_slice(&bytes);
        } else {
            let end = self.geometry.block - SEAL;
            let node = &mut self.node_mut(nid)?.bytes[..end];
            node.fill(0);
            node[..bytes.len()].copy_from_slice(&bytes);
        }
        self.inode_mut(ino)?.set_changed(now);
        self.entangled.insert(ino);
        Ok(())
    }
}
