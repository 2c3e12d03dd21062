//! A log-structured file system whose device may shrink, in the structure of F2FS (Lee et al., FAST '15), on which the capacity-variant storage
//! system stands (Jiao et al., FAST '24, section 3.1).
//!
//! A [`Volume`] is a mounted file system. It has no clock and no thread of its own: a call changes its state at once, and tells its [`Port`] which
//! blocks are read and written. So one body of code runs in virtual time, behind a mount, and in the crash explorer. It knows block devices, and
//! never a drive.
//!
//! # On the disk
//!
//! Blocks of 4 KiB or more make segments, segments make sections. In order: two superblocks, two packs of checkpoints, the segment information
//! table (SIT), the node address table (NAT), summaries of segments, and the main area with all nodes and data. Six logs write the main area, hot,
//! warm and cold ones of nodes and of data. Nodes refer to each other by number, and the NAT says where each lies, so that a node that is written
//! anew changes no other. Every block of metadata ends in a seal with a checksum.
//!
//! # What is durable
//!
//! A checkpoint makes everything durable at once. Between two of them an fsync writes a file's data and then its nodes, in a chain that the next
//! mount follows. No block that the last checkpoint needs is written, trimmed or moved before the next one is durable.
//!
//! # Where things are
//!
//! `geometry` and `seal` are the format; `nat`, `segments` and `checkpoint` the tables and what makes them durable at once. `names`, `directory`, `file`, `map`
//! and `attributes` are the calls, `data` holds contents against their checksums, `pages` what is in memory. `clean` makes room, `shrink` gives space back
//! by ways that are policies, a file each. `recovery` is fsync and the roll-forward; `audit` holds a checkpoint against its tables at a mount, `check` walks
//! through all of it.

mod attributes;
mod audit;
mod check;
mod checkpoint;
mod clean;
mod data;
mod demand;
mod directory;
mod error;
mod file;
mod geometry;
mod inode;
mod layout;
mod le;
mod map;
mod mount;
mod names;
mod nat;
mod nodes;
mod pages;
mod planned;
mod port;
mod recovery;
mod remap;
mod room;
mod seal;
mod segments;
mod shrink;
mod volume;

pub use attributes::{ATTRIBUTE_NAME_MAX, ATTRIBUTES_MAX, SetAttribute};
pub use check::Finding;
pub use data::Scrubbed;
pub use demand::{Attended, Wanted};
pub use directory::{DirEntry, NAME_MAX};
pub use error::{Answer, FsError};
pub use file::{Allocate, Seek};
pub use geometry::{DataChecksums, FormatConfig, FormatError};
pub use inode::{Attr, FileKind, Ino, Moment, ROOT};
pub use layout::{Area, Layout, LogHead, SegmentStates};
pub use mount::{MountConfig, block_bytes, find_block_bytes, format};
pub use names::{LINKS_MAX, NewFile, Rename, SetAttr, TARGET_MAX};
pub use planned::{Planned, Stage, Stages, Step};
pub use port::{Addr, Barrier, Direct, Fault, Port, Use};
pub use shrink::{Plan, Progress, Refusal, Target, Way};
pub use volume::{Counted, Mode, Space, Trims, Volume};
