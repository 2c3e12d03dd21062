//! The list of members, which every drive and every client has: each drive's id, address, and whether it is on the ring, leaving or gone.
//!
//! There is no manager. A change adds 1 to the serial of one entry. A merge of two lists takes each entry with the larger serial, so that changes
//! made at the same time in two places are both kept, in whatever order lists meet. The version of a list is the sum of its serials: it grows
//! with every change. Two lists are the same if their digests are.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{ActorError, RingId};

/// Most drives of a cluster, with those that left.
const DRIVES_MAX: usize = 65_536;

/// Default points of each drive on the ring.
pub const POINTS_DEFAULT: u16 = 64;

/// Most points of each drive.
pub const POINTS_MAX: u16 = 1024;

/// Standing of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// On the ring.
    In,
    /// No longer on the ring, but still there: it hands on what it keeps.
    Leaving,
    /// Not there any more.
    Gone,
}

/// A drive in the list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// How often this entry was changed; in a merge the larger one counts.
    pub serial: u64,
    /// Its standing. Of two entries with the same serial, the later standing counts.
    pub standing: Standing,
    /// Its address, such as `127.0.0.1:4801`.
    pub address: String,
}

/// The list of members. It is checked when it is read, alone or in an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Members {
    /// The cluster's id.
    pub cluster: RingId,
    /// Points on the ring of each drive.
    pub points: u16,
    /// Every drive that ever was there, by its id.
    pub drives: BTreeMap<RingId, Member>,
}

/// A list as received, before it is checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a list of members")]
struct Unchecked {
    cluster: RingId,
    points: u16,
    drives: BTreeMap<RingId, Member>,
}

impl TryFrom<Unchecked> for Members {
    type Error = ActorError;

    fn try_from(read: Unchecked) -> Result<Self, ActorError> {
        let Unchecked { cluster, points, drives } = read;
        Self { cluster, points, drives }.checked()
    }
}

impl Members {
    /// Makes the list of a new cluster, without drives.
    ///
    /// # Errors
    /// There are no points, or too many.
    pub fn new(cluster: RingId, points: u16) -> Result<Self, ActorError> {
        Self { cluster, points, drives: BTreeMap::new() }.checked()
    }

    /// Reads a list.
    ///
    /// # Errors
    /// It is no list of members.
    pub fn parse(text: &[u8]) -> Result<Self, ActorError> {
        let read: Result<Unchecked, _> = serde_json::from_slice(text);
        read.map_err(|error| ActorError::Invalid(format!("no list of members: {error}")))?.try_into()
    }

    /// The list that the drive at `address` sent, if it says where drives are: a drive that has just been started may not have taken its place yet, and
    /// who took its list now would never find it.
    ///
    /// # Errors
    /// [`ActorError::Unreachable`] if no drive is there.
    pub(crate) fn placed(self, address: &str) -> Result<Self, ActorError> {
        if self.present().next().is_some() {
            return Ok(self);
        }
        let what = format!("the drive at {address} has no place in a cluster yet: it is being started, or has left");
        Err(ActorError::Unreachable { what, drives: Vec::new() })
    }

    fn checked(self) -> Result<Self, ActorError> {
        if self.points == 0 || self.points > POINTS_MAX {
            let found = self.points;
            return Err(ActorError::Invalid(format!("{found} points a drive: 1 to {POINTS_MAX} are allowed")));
        }
        if self.drives.len() > DRIVES_MAX {
            let found = self.drives.len();
            return Err(ActorError::Invalid(format!("a list of {found} drives: at most {DRIVES_MAX} are allowed")));
        }
        for member in self.drives.values() {
            check_address(&member.address)?;
            if member.serial == 0 || member.serial > u64::MAX / (2 * DRIVES_MAX as u64) {
                return Err(ActorError::Invalid(format!(
                    "a drive whose serial is {}: no change makes it that",
                    member.serial
                )));
            }
        }
        Ok(self)
    }

    /// How often it was changed.
    pub fn version(&self) -> u64 {
        self.drives.values().map(|member| member.serial).sum()
    }

    /// Digest by which lists are compared.
    pub fn digest(&self) -> String {
        let mut text = format!("{} {}", self.cluster, self.points);
        for (id, member) in &self.drives {
            text += &format!("\n{id} {} {:?} {}", member.serial, member.standing, member.address);
        }
        RingId::of("members", &[text.as_bytes()]).short()
    }

    /// Sets a drive's standing and address; changes nothing if they are so already.
    ///
    /// # Errors
    /// The address is not valid.
    pub fn set(&mut self, id: RingId, standing: Standing, address: &str) -> Result<(), ActorError> {
        check_address(address)?;
        let before = self.drives.get(&id);
        if before.is_some_and(|member| member.standing == standing && member.address == address) {
            return Ok(());
        }
        let serial = before.map_or(0, |member| member.serial) + 1;
        self.drives.insert(id, Member { serial, standing, address: address.to_owned() });
        Ok(())
    }

    /// Merges `other` into this list; returns whether that changed it.
    ///
    /// # Errors
    /// It is another cluster's.
    pub fn merge(&mut self, other: &Self) -> Result<bool, ActorError> {
        if (self.cluster, self.points) != (other.cluster, other.points) {
            let (ours, theirs) = (self.cluster.short(), other.cluster.short());
            return Err(ActorError::Invalid(format!("a list of cluster {theirs}, and this is cluster {ours}")));
        }
        let mut changed = false;
        for (id, member) in &other.drives {
            // Ordered by serial, then standing, then address, so that every merge gives the same list.
            if self.drives.get(id).is_none_or(|mine| mine < member) {
                self.drives.insert(*id, member.clone());
                changed = true;
            }
        }
        Ok(changed)
    }

    /// Drives that can be asked: on the ring, or leaving.
    pub fn present(&self) -> impl Iterator<Item = (RingId, &Member)> {
        self.drives.iter().filter(|(_, member)| member.standing != Standing::Gone).map(|(id, member)| (*id, member))
    }

    /// Drives on the ring.
    pub fn on_ring(&self) -> impl Iterator<Item = RingId> {
        self.drives.iter().filter(|(_, member)| member.standing == Standing::In).map(|(id, _)| *id)
    }

    /// Finds the drive whose id is `text` or begins with it, or whose address it is.
    ///
    /// # Errors
    /// There is none, or several.
    pub fn find(&self, text: &str) -> Result<RingId, ActorError> {
        let fits = |id: &RingId, member: &Member| {
            member.address == text || (text.len() >= 4 && id.to_string().starts_with(text))
        };
        let found: Vec<RingId> =
            self.drives.iter().filter(|(id, member)| fits(id, member)).map(|(id, _)| *id).collect();
        match found[..] {
            [id] => Ok(id),
            [] => {
                let given = wane_units::excerpt(text);
                Err(ActorError::Missing(format!("no drive of the list has the id or the address \"{given}\"")))
            }
            _ => Err(ActorError::Invalid(format!("{} drives have ids that begin with {text}", found.len()))),
        }
    }
}

/// # Errors
/// [`ActorError::Invalid`] if it is no address of a port.
pub fn check_address(address: &str) -> Result<std::net::SocketAddr, ActorError> {
    let wrong = || {
        let found = wane_units::excerpt(address);
        ActorError::Invalid(format!("\"{found}\" is no address: write IP:PORT, such as 127.0.0.1:4801"))
    };
    address.parse().map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> RingId {
        RingId::of("test", &[name.as_bytes()])
    }

    fn three() -> Members {
        let mut members = Members::new(id("cluster"), 1).unwrap();
        for (name, port) in [("a", 1), ("b", 2), ("c", 3)] {
            members.set(id(name), Standing::In, &format!("127.0.0.1:{port}")).unwrap();
        }
        members
    }

    #[test]
    fn changes_made_apart_are_both_kept_whatever_way_lists_take() {
        let (mut one, mut other) = (three(), three());
        one.set(id("d"), Standing::In, "127.0.0.1:4").unwrap();
        other.set(id("a"), Standing::Leaving, "127.0.0.1:1").unwrap();
        other.set(id("b"), Standing::In, "127.0.0.1:9").unwrap();
        one.set(id("b"), Standing::In, "127.0.0.1:8").unwrap();
        let (mut there, mut back) = (one.clone(), other.clone());
        assert!(there.merge(&other).unwrap() && back.merge(&one).unwrap());
        assert_eq!(there, back);
        assert_eq!((there.version(), there.digest()), (back.version(), back.digest()));
        assert!(there.version() > one.version() && !there.merge(&other).unwrap());
        assert_eq!(there.on_ring().count(), 3);
        assert_eq!(there.present().count(), 4);
    }

    #[test]
    fn a_version_grows_with_every_change_and_only_then() {
        let mut members = three();
        assert_eq!(members.version(), 3);
        members.set(id("a"), Standing::In, "127.0.0.1:1").unwrap();
        assert_eq!(members.version(), 3);
        members.set(id("a"), Standing::Gone, "127.0.0.1:1").unwrap();
        assert_eq!(members.version(), 4);
    }

    #[test]
    fn the_list_of_a_drive_that_has_no_place_yet_is_not_taken() {
        let refused = Members::new(id("new"), 1).unwrap().placed("127.0.0.1:9").unwrap_err();
        assert!(matches!(&refused, ActorError::Unreachable { what, .. } if what.contains("127.0.0.1:9 has no place")));
        assert_eq!(three().placed("127.0.0.1:9").unwrap(), three());
    }

    #[test]
    fn bad_lists_are_told() {
        let other = Members::new(id("other"), 1).unwrap();
        assert!(three().merge(&other).unwrap_err().to_string().contains("this is cluster"));
        assert!(Members::new(id("x"), 0).unwrap_err().to_string().contains("1 to 1024"));
        assert!(Members::parse(b"{}").unwrap_err().to_string().contains("no list of members"));
        assert!(three().set(id("a"), Standing::In, "here").unwrap_err().to_string().contains("IP:PORT"));
        assert!(three().find("127.0.0.1:7").unwrap_err().to_string().contains("no drive of the list"));
        assert_eq!(three().find("127.0.0.1:2").unwrap(), id("b"));
        assert_eq!(three().find(&id("c").to_string()).unwrap(), id("c"));
        let mut wrapped = three();
        wrapped.drives.values_mut().for_each(|member| member.serial = u64::MAX);
        let text = serde_json::to_vec(&wrapped).unwrap();
        assert!(Members::parse(&text).unwrap_err().to_string().contains("serial"));
        // In an answer, where it is one part of a larger whole.
        let answer: Result<Vec<Members>, _> = serde_json::from_slice(&[b"[", &text[..], b"]"].concat());
        assert!(answer.unwrap_err().to_string().contains("a drive whose serial is"));
    }
}
