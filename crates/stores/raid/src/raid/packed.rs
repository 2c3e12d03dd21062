//! How a checkpoint is written: in few bytes where little is remarkable, since every member gets it, however small.
//!
//! Tiles that follow each other on the next slots of the same members are one run, and so are words of sets without a bit, or with all.

use serde::{Deserialize, Serialize};

use super::meta::{self, Areas, Checkpoint};

/// What begins a checkpoint, with the version of its format.
const NAME: [u8; 8] = *b"waneRC02";
/// The same of arrays of earlier versions, which have each slot and each word.
const PLAIN: [u8; 8] = *b"waneRC01";

/// What a run of words is, in the two lowest bits of its head; the others have their number.
const ZEROS: u64 = 0;
const ONES: u64 = 1;
/// They follow.
const AS_THEY_ARE: u64 = 2;

/// Tiles on slots of these members: the next ones in each further tile.
#[derive(Debug, Serialize, Deserialize)]
struct Run {
    tiles: u32,
    first: Vec<(u16, u32)>,
}

/// A checkpoint as it is written.
#[derive(Debug, Serialize, Deserialize)]
struct Packed {
    table: Vec<Run>,
    written: Vec<u64>,
    stale: Vec<Vec<u64>>,
    dirty: Vec<u64>,
    slots: Vec<u32>,
    target: Vec<u32>,
    capacity: u64,
    lost: Vec<(u64, u64)>,
}

/// Packs words of a set.
fn pack(words: &[u64]) -> Vec<u64> {
    let kind = |word: &u64| match *word {
        0 => ZEROS,
        u64::MAX => ONES,
        _ => AS_THEY_ARE,
    };
    let mut packed = Vec::new();
    for run in words.chunk_by(|one, other| kind(one) == kind(other)) {
        let kind = kind(&run[0]);
        packed.push((run.len() as u64) << 2 | kind);
        packed.extend(run.iter().filter(|_| kind == AS_THEY_ARE));
    }
    packed
}

/// Unpacks words of a set, `most` at most.
fn unpack(packed: &[u64], most: usize) -> Option<Vec<u64>> {
    let (mut words, mut rest) = (Vec::new(), packed);
    while let Some((head, after)) = rest.split_first() {
        let count = usize::try_from(head >> 2).ok().filter(|count| *count <= most - words.len())?;
        rest = after;
        match head & 3 {
            ZEROS => words.resize(words.len() + count, 0),
            ONES => words.resize(words.len() + count, u64::MAX),
            AS_THEY_ARE => {
                words.extend(rest.get(..count)?);
                rest = &rest[count..];
            }
            _ => return None,
        }
    }
    Some(words)
}

/// Packs an extent table.
fn pack_table(slots: &[(u16, u32)], width: usize) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for tile in slots.chunks(width) {
        if let Some(run) = runs.last_mut() {
            let is_next = |(first, slot): (&(u16, u32), &(u16, u32))| {
                first.0 == slot.0 && first.1.checked_add(run.tiles) == Some(slot.1)
            };
            if run.first.len() == tile.len() && run.first.iter().zip(tile).all(is_next) {
                run.tiles += 1;
                continue;
            }
        }
        runs.push(Run { tiles: 1, first: tile.to_vec() });
    }
    runs
}

/// Unpacks it, `most` slots at most.
fn unpack_table(runs: &[Run], most: usize) -> Option<Vec<(u16, u32)>> {
    let mut slots = Vec::new();
    for run in runs {
        let count = run.first.len().checked_mul(run.tiles as usize)?;
        if run.first.is_empty() || count > most - slots.len() {
            return None;
        }
        for tile in 0..run.tiles {
            for (member, slot) in &run.first {
                slots.push((*member, slot.checked_add(tile)?));
            }
        }
    }
    Some(slots)
}

/// Seals a checkpoint of an array. Its tiles have `width` slots.
pub(super) fn seal(array: u64, checkpoint: &Checkpoint, width: usize, unit: usize) -> Vec<u8> {
    let Checkpoint { table, written, stale, dirty, slots, target, capacity, lost } = checkpoint;
    let packed = Packed {
        table: pack_table(table, width),
        written: pack(written),
        stale: stale.iter().map(|stale| pack(stale)).collect(),
        dirty: pack(dirty),
        slots: slots.clone(),
        target: target.clone(),
        capacity: *capacity,
        lost: lost.clone(),
    };
    meta::seal(NAME, array, &packed, unit)
}

/// Opens a checkpoint of either version. Returns the array as well; `None` if it is something else, torn, or has no room in these areas.
pub(super) fn open(bytes: &[u8], areas: &Areas) -> Option<(u64, Checkpoint)> {
    let Some((array, packed)) = meta::open::<Packed>(NAME, bytes) else { return meta::open(PLAIN, bytes) };
    // Their room is for what is not packed.
    let most = areas.checkpoint as usize * areas.unit_bytes();
    let stale = packed.stale.iter().map(|stale| unpack(stale, most)).collect::<Option<_>>()?;
    let checkpoint = Checkpoint {
        table: unpack_table(&packed.table, most)?,
        written: unpack(&packed.written, most)?,
        stale,
        dirty: unpack(&packed.dirty, most)?,
        slots: packed.slots,
        target: packed.target,
        capacity: packed.capacity,
        lost: packed.lost,
    };
    Some((array, checkpoint))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint() -> Checkpoint {
        let tile = |number: u32| [(0, number), (3, number + 7), (1, number)];
        let mut table: Vec<(u16, u32)> = (0..1000).flat_map(tile).collect();
        // One slot has moved.
        table[1500] = (2, 4);
        let mut written = vec![u64::MAX; 1000];
        (written[17], written[999]) = (5, 3);
        let stale = vec![Vec::new(), vec![0; 1000], vec![u64::MAX, 0, 1, 2, 0], vec![0, 7]];
        let dirty = vec![0, 1 << 63, 0];
        Checkpoint { table, written, stale, dirty, slots: vec![9; 4], target: vec![], capacity: 77, lost: vec![(1, 2)] }
    }

    #[test]
    fn checkpoints_are_read_as_they_were_written_in_either_version() {
        let areas = Areas::new(8, 4, 64_000, 3000, 1 << 10);
        let checkpoint = checkpoint();
        let packed = seal(5, &checkpoint, 3, 4096);
        assert_eq!(open(&packed, &areas), Some((5, checkpoint.clone())));
        let plain = meta::seal(PLAIN, 5, &checkpoint, 4096);
        assert_eq!(open(&plain, &areas), Some((5, checkpoint)));
        assert!(packed.len() == 4096 && plain.len() > 4 * 4096, "{} {}", packed.len(), plain.len());
    }

    #[test]
    fn what_has_no_room_is_no_checkpoint() {
        let areas = Areas::new(8, 4, 64, 64, 1 << 10);
        assert_eq!(open(&seal(5, &Checkpoint { written: vec![0; 1 << 20], ..checkpoint() }, 3, 4096), &areas), None);
        let run = Run { tiles: u32::MAX, first: vec![(0, 0); 3] };
        assert!(unpack_table(&[run], 1 << 20).is_none());
        assert!(unpack_table(&[Run { tiles: u32::MAX, first: Vec::new() }], 1 << 20).is_none());
        assert_eq!(unpack(&[9 << 2 | AS_THEY_ARE, 1], 100), None);
        assert_eq!(unpack(&[u64::MAX], 100), None);
    }

    #[test]
    fn words_that_differ_all_take_no_more_than_their_room() {
        let words: Vec<u64> = (1..=1000u64).flat_map(|number| [number << 54, 0]).collect();
        let bytes = |packed: &Vec<u64>| postcard::to_allocvec(packed).unwrap().len();
        assert!(bytes(&pack(&words)) <= words.len() * 10);
        let words: Vec<u64> = (1..=1000u64).map(|number| u64::MAX - number).collect();
        assert!(bytes(&pack(&words)) <= (words.len() + 2) * 10);
    }
}
