//! What clients write: also what looks like a journal's own.

use std::path::Path;

use wane_folder::{Disk, Simulated};
use wane_journal::segment_of;
use wane_sim::Stream;

use super::{DEVICE, FOLDER, old};

/// Kinds of [`contents`].
pub(crate) const KINDS: u64 = 7;

/// The last of them, which knows the salt of the old format and makes whole records of it.
pub(crate) const FORGED: u64 = 6;

/// Most bytes of a record. A record of them is torn at any place, and to look at each place in it that may be a head takes long.
const BYTES_MOST: u64 = 96 << 10;

/// Bytes of a client, which comes when the journal has records up to `number`.
pub(crate) fn contents(kind: u64, number: u64, disk: &Simulated, stream: &mut Stream) -> Vec<u8> {
    // Most are short: a segment then has many records.
    let most = if kind > 0 && stream.chance(0.3) { BYTES_MOST } else { 300 };
    let length = stream.below(most) as usize;
    let repeated = |pattern: &[u8]| pattern.iter().copied().cycle().take(length).collect::<Vec<u8>>();
    match kind {
        0 => vec![stream.below(250) as u8 + 1; length],
        // Numbers of eight bytes: also such as are a length and a number of a record at once.
        1 => repeated(&(1 + stream.below(1 + length as u64 / 3)).to_le_bytes()),
        2 => (0..length).map(|_| stream.below(256) as u8).collect(),
        3 => vec![0; length],
        // Heads of records of the old format that come next.
        4 => {
            let next = number + stream.below(4);
            repeated(&old::head(1 + stream.below(most) as u32, (next, stream.below(next + 1))))
        }
        // A part of the journal itself, which somebody keeps on the drive.
        5 => {
            let folder = Path::new(FOLDER);
            let names = disk.names(folder).unwrap();
            let segments: Vec<&String> = names.iter().filter(|name| segment_of(name).is_some()).collect();
            let name = segments[stream.below(segments.len() as u64) as usize];
            let all = disk.read(&folder.join(name)).unwrap();
            let from = if stream.chance(0.5) { 0 } else { stream.below(1 + all.len() as u64) as usize };
            all[from..all.len().min(from + BYTES_MOST as usize)].to_vec()
        }
        FORGED.. => {
            let newest = disk.names(Path::new(FOLDER)).unwrap().iter().filter_map(|name| segment_of(name)).max();
            let segment = newest.unwrap_or(0) + stream.below(2);
            let next = number + 1 + stream.below(3);
            repeated(&old::record(DEVICE, segment, (next, 10 * next, next), &[4; 9]).0)
        }
    }
}
