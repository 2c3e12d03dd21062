use std::sync::Arc;

use super::*;

#[derive(Clone, Debug, Default, PartialEq)]
struct State {
    name: String,
    counts: Vec<u32>,
    table: Vec<u64>,
    part: Option<u8>,
}

impl State {
    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.field("name", &mut self.name)?;
        archive.list("counts", &mut self.counts)?;
        archive.fixed("table", &mut self.table)?;
        archive.optional("part", &mut self.part, |part, archive| archive.field("part's", part))
    }

    fn written(&mut self) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new()).unwrap();
        self.archive(&mut writer).unwrap();
        writer.finish().unwrap()
    }

    fn read(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        let mut reader = Reader::new(bytes)?;
        self.archive(&mut reader)?;
        reader.finish()
    }

    /// A state whose table has several pieces: numbers, zeros, and one repeated word.
    fn full() -> Self {
        let words = PIECE_BYTES / 8;
        let mut table: Vec<u64> = (0..words as u64 + 3).map(|word| word * 0x9e37_79b9).collect();
        table.resize(3 * words, 0);
        table.resize(5 * words, u64::from(u32::MAX) << 32 | u64::from(u32::MAX));
        table.resize(5 * words + 7, 9);
        Self { name: "a drive".to_owned(), counts: vec![3, 1, 4], table, part: Some(5) }
    }

    /// A new state of the same shape.
    fn new_like(&self) -> Self {
        Self { table: vec![1; self.table.len()], part: self.part.map(|_| 0), ..Self::default() }
    }
}

#[test]
fn what_was_written_is_read_and_repeated_words_take_no_room() {
    let mut state = State::full();
    let bytes = state.written();
    assert!(bytes.len() < 3 * PIECE_BYTES, "{} bytes for two and a half pieces", bytes.len());
    let mut back = state.new_like();
    back.read(&bytes).unwrap();
    assert_eq!(back, state);
    Reader::new(bytes.as_slice()).unwrap().verify().unwrap();
}

/// A state whose archive is short.
fn short() -> State {
    State { name: "x".to_owned(), counts: vec![7; 9], table: vec![8; 40], part: None }
}

#[test]
fn every_flipped_bit_is_found() {
    let mut state = short();
    let bytes = state.written();
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let mut back = state.new_like();
        assert!(back.read(&flipped).is_err(), "bit {bit} of {}", bytes.len() * 8);
        assert!(Reader::new(flipped.as_slice()).and_then(Reader::verify).is_err(), "bit {bit} of {}", bytes.len() * 8);
    }
}

#[test]
fn every_cut_and_every_byte_too_many_is_found() {
    let mut state = short();
    let mut bytes = state.written();
    for length in 0..bytes.len() {
        let error = state.new_like().read(&bytes[..length]).unwrap_err();
        assert!(matches!(error, ArchiveError::CutShort { .. } | ArchiveError::NotAnArchive), "{length}: {error}");
    }
    bytes.push(0);
    assert!(matches!(state.new_like().read(&bytes), Err(ArchiveError::TooLong)));
}

#[test]
fn the_state_of_another_thing_is_refused() {
    let mut state = short();
    let bytes = state.written();
    let refused = |mut other: State, bytes: &[u8]| other.read(bytes).unwrap_err().to_string();
    assert_eq!(
        refused(State { table: vec![0; 41], ..state.new_like() }, &bytes),
        "its \"table\" is 320 B long, and this drive's is 328 B"
    );
    assert_eq!(
        refused(State { part: Some(1), ..state.new_like() }, &bytes),
        "its \"part\" is false, and this drive's is true"
    );
    let mut later = bytes.clone();
    later[6..8].copy_from_slice(b"02");
    assert_eq!(refused(state.new_like(), &later), "its format is \"02\"; this version of wane reads \"01\"");
    assert_eq!(
        refused(state.new_like(), b"PK\x03\x04 something else"),
        "it does not begin as the state of a drive does"
    );
    let mut writer = Writer::new(Vec::new()).unwrap();
    (&mut writer as &mut dyn Archive).field("size", &mut 3u8).unwrap();
    let other = writer.finish().unwrap();
    assert_eq!(refused(state.new_like(), &other), "it holds \"size\" where \"name\" belongs");
}

/// Archives by number.
#[derive(Clone, Debug, Default)]
struct Shelf(std::collections::BTreeMap<u64, Vec<u8>>);

impl Others for Shelf {
    fn read_at(&self, file: u64, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let held = self.0.get(&file).ok_or(io::ErrorKind::NotFound)?;
        let from = held.get(offset as usize..).and_then(|rest| rest.get(..bytes.len()));
        bytes.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn name(&self, file: u64) -> String {
        format!("archive {file}")
    }
}

#[test]
fn what_lies_in_an_archive_before_is_not_written_again() {
    let table =
        |seed: u32| (0..300_000u32).map(|at| at.wrapping_mul(2_654_435_761).rotate_left(seed)).collect::<Vec<u32>>();
    let mut shelf = Shelf::default();
    let mut known = Pieces::default();
    let (mut first, mut second) = (table(1), table(2));
    for file in 1..=4u64 {
        // One entry of one table changes: one piece of five.
        first[70_000] = file as u32;
        let mut writer = Writer::beside(Vec::new(), file, Some((known.clone(), Arc::new(shelf.clone())))).unwrap();
        let archive = &mut writer as &mut dyn Archive;
        archive.fixed("first", &mut first).unwrap();
        archive.fixed("second", &mut second).unwrap();
        let (bytes, told) = writer.finish_told().unwrap();
        let most = if file == 1 { 2_500_000 } else { PIECE_BYTES + 1000 };
        assert!(bytes.len() < most && bytes.len() > most / 2, "archive {file} has {}", bytes.len());
        shelf.0.insert(file, bytes.clone());
        let mut reader = Reader::beside(bytes.as_slice(), file, Some(Arc::new(shelf.clone()))).unwrap();
        let (mut one, mut two) = (vec![0u32; 300_000], vec![0u32; 300_000]);
        let archive = &mut reader as &mut dyn Archive;
        archive.fixed("first", &mut one).unwrap();
        archive.fixed("second", &mut two).unwrap();
        known = reader.finish_told().unwrap();
        assert!(one == first && two == second);
        assert_eq!(known.files().collect::<Vec<_>>(), told.files().collect::<Vec<_>>());
    }
    // Pieces of the second and third archive lie only in these archives.
    assert_eq!(known.files().map(|(file, _)| file).collect::<Vec<_>>(), [1, 4]);
    let last = shelf.0[&4].clone();
    let verify = |shelf: Shelf| Reader::beside(last.as_slice(), 4, Some(Arc::new(shelf))).and_then(Reader::verify);
    verify(shelf.clone()).unwrap();
    let place = shelf.0[&1].len() - 1000;
    shelf.0.get_mut(&1).unwrap()[place] ^= 1;
    assert_eq!(verify(shelf.clone()).unwrap_err().to_string(), "it is damaged in \"second in archive 1\"");
    shelf.0.get_mut(&1).unwrap().truncate(place);
    assert_eq!(verify(shelf).unwrap_err().to_string(), "it is cut short in \"second in archive 1\"");
    // Alone, it is not whole.
    assert!(Reader::new(last.as_slice()).and_then(Reader::verify).is_err());
    known.forget(1);
    assert_eq!(known.files().count(), 1);
}

#[test]
fn tables_are_read_later_and_written_again_unread() {
    let table =
        |seed: u8| (0..PIECE_BYTES).map(|at| (at as u8).wrapping_mul(3) ^ (at >> 8) as u8 ^ seed).collect::<Vec<u8>>();
    let (mut tables, mut zeros) = ([table(1), table(2)], vec![0u8; PIECE_BYTES]);
    let mut shelf = Shelf::default();
    let mut write = |shelf: &mut Shelf, file: u64, known: Pieces| {
        let mut writer = Writer::beside(Vec::new(), file, Some((known, Arc::new(shelf.clone())))).unwrap();
        let archive = &mut writer as &mut dyn Archive;
        tables.iter_mut().for_each(|table| archive.table("table", table).unwrap());
        archive.table("zeros", &mut zeros).unwrap();
        let (bytes, pieces) = writer.finish_told().unwrap();
        shelf.0.insert(file, bytes);
        pieces
    };
    let pieces = write(&mut shelf, 1, Pieces::default());
    // The second lies in the first.
    let whole = write(&mut shelf, 2, pieces);
    for file in [1, 2] {
        let files: Arc<dyn Others> = Arc::new(shelf.clone());
        let open = || {
            Reader::late(std::io::BufReader::new(io::Cursor::new(shelf.0[&file].clone())), file, Arc::clone(&files))
                .unwrap()
        };
        let mut reader = open();
        assert!(matches!(reader.table_later("table", PIECE_BYTES + 1), Ok(Found::Unread)), "it has two pieces");
        let mut late = Vec::new();
        for number in 0..2u8 {
            let Ok(Found::Later(later)) = reader.table_later("table", PIECE_BYTES) else { panic!("it is one piece") };
            let mut bytes = vec![0; later.len()];
            later.read(&mut bytes).unwrap();
            assert!(bytes == table(number + 1));
            late.push(later);
        }
        assert!(matches!(reader.table_later("zeros", PIECE_BYTES), Ok(Found::Repeated([0, 0, 0, 0]))));
        let told = reader.finish_told().unwrap();
        assert_eq!((told.digest(), open().skim().unwrap().digest()), (whole.digest(), whole.digest()));
        // Unread, it is written as it would be if it had been read.
        let mut writer = Writer::beside(Vec::new(), 3, Some((told.clone(), Arc::clone(&files)))).unwrap();
        late.iter().for_each(|later| assert!(writer.table_again("table", later).unwrap()));
        writer.table("zeros", &mut vec![0; PIECE_BYTES]).unwrap();
        assert_eq!(writer.finish_told().unwrap().1.digest(), whole.digest());
        let mut writer = Writer::beside(Vec::new(), 3, Some((Pieces::default(), files))).unwrap();
        assert!(!writer.table_again("table", &late[0]).unwrap(), "it lies nowhere that is known");
        // Damage is found when it is read.
        let mut damaged = shelf.clone();
        damaged.0.get_mut(&1).unwrap()[PIECE_BYTES] ^= 1;
        let broken = Later { files: Arc::new(damaged), ..late[0].clone() };
        let told = broken.read(&mut vec![0; PIECE_BYTES]).unwrap_err().to_string();
        assert_eq!(told, "it is damaged in \"table in archive 1\"");
    }
}
