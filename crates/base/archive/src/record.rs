//! The record of a piece that lies in another file, in whole or in part: its form, file, offset and checksum, and for one that changed the same and the
//! length of the list of changes. A base that repeats a word has no file, and the word for its offset. The record's own checksum follows.

use crate::index::{Base, Lies, List, Piece};
use crate::shared::Place;
use crate::{Form, PIECE_BYTES};

/// Bytes of a record of either form, without the form and the record's own checksum.
pub(crate) const ELSEWHERE: usize = 20;
pub(crate) const CHANGED: usize = ELSEWHERE + 24;
/// From the begin of the record of a change to the list that follows it.
pub(crate) const TO_LIST: u64 = 1 + CHANGED as u64 + 4;

/// Number of no file: there are never that many saves.
const NO_FILE: u64 = u64::MAX;

pub(crate) fn encode(piece: &Piece) -> Vec<u8> {
    let base = match piece.base() {
        Base::At(place) => place,
        Base::Repeated(word) => Place { file: NO_FILE, offset: u64::from(u32::from_le_bytes(word)) },
    };
    let mut record = Vec::with_capacity(TO_LIST as usize);
    let mut put = |form: Option<Form>, place: Place, length: Option<u32>, checksum: u32| {
        record.extend(form.map(|form| form as u8));
        record.extend_from_slice(&place.file.to_le_bytes());
        record.extend_from_slice(&place.offset.to_le_bytes());
        record.extend(length.into_iter().flat_map(u32::to_le_bytes));
        record.extend_from_slice(&checksum.to_le_bytes());
    };
    match piece.lies {
        Lies::Changed(_, List { place, length, checksum }) => {
            put(Some(Form::Changed), base, None, piece.checksum);
            put(None, place, Some(length), checksum);
        }
        _ => put(Some(Form::Elsewhere), base, None, piece.checksum),
    }
    record
}

/// The piece of a record of one of the two lengths. `None`: it is none.
pub(crate) fn decode(record: &[u8]) -> Option<Piece> {
    let (file, rest) = record.split_first_chunk::<8>()?;
    let (offset, rest) = rest.split_first_chunk::<8>()?;
    let (checksum, rest) = rest.split_first_chunk::<4>()?;
    let (file, offset) = (u64::from_le_bytes(*file), u64::from_le_bytes(*offset));
    let checksum = u32::from_le_bytes(*checksum);
    if rest.is_empty() {
        return Some(Piece { checksum, lies: Lies::At(file, offset) });
    }
    let base = match file {
        NO_FILE => Base::Repeated(u32::try_from(offset).ok()?.to_le_bytes()),
        _ => Base::At(Place { file, offset }),
    };
    let (file, rest) = rest.split_first_chunk::<8>()?;
    let (offset, rest) = rest.split_first_chunk::<8>()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let of_list = u32::from_le_bytes(rest.try_into().ok()?);
    let place = Place { file: u64::from_le_bytes(*file), offset: u64::from_le_bytes(*offset) };
    let list = List { place, length: u32::from_le_bytes(*length), checksum: of_list };
    (list.length as usize <= PIECE_BYTES).then_some(Piece { checksum, lies: Lies::Changed(base, list) })
}
