//! A piece as what differs from an earlier one: for each changed word the number of words since the one before, as a LEB128 number, and its bytes.
//!
//! Of a piece of a drive's map some hundredths change from save to save, scattered: five bytes each instead of the whole piece.

use crate::writer::WORD;

/// A list of changes longer than `1 / LONG` of its piece is not worth its base: the piece is written whole, and later lists are short again.
const LONG: usize = 2;

/// Writes into `list` what of `piece` differs from `base`, which is as long. Returns false if that is too long, or they do not consist of words.
pub(crate) fn list_changes(base: &[u8], piece: &[u8], list: &mut Vec<u8>) -> bool {
    debug_assert_eq!(base.len(), piece.len(), "a piece changes in place");
    list.clear();
    if !piece.len().is_multiple_of(WORD) {
        return false;
    }
    let most = piece.len() / LONG;
    let words = base.chunks_exact(WORD).zip(piece.chunks_exact(WORD)).enumerate();
    let mut next = 0;
    for (at, (_, new)) in words.filter(|(_, (old, new))| old != new) {
        if list.len() + 2 * WORD > most {
            return false;
        }
        let mut gap = at - next;
        while gap >= 0x80 {
            list.push(gap as u8 | 0x80);
            gap >>= 7;
        }
        list.push(gap as u8);
        list.extend_from_slice(new);
        next = at + 1;
    }
    true
}

/// Changes a base to the piece. `None`: the list is not one of such a piece, which is left half changed.
pub(crate) fn apply_changes(list: &[u8], piece: &mut [u8]) -> Option<()> {
    let mut rest = list;
    let mut next = 0usize;
    while !rest.is_empty() {
        let (mut gap, mut shift) = (0usize, 0);
        loop {
            let (byte, behind) = rest.split_first()?;
            rest = behind;
            gap |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
            if shift > 28 {
                return None;
            }
        }
        let (word, behind) = rest.split_first_chunk::<WORD>()?;
        let at = next + gap;
        piece.get_mut(at * WORD..(at + 1) * WORD)?.copy_from_slice(word);
        (rest, next) = (behind, at + 1);
    }
    Some(())
}
