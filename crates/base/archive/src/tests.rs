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
        // One piece of five changes, in each word.
        first[65_536..131_072].iter_mut().for_each(|entry| *entry ^= file as u32);
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

#[test]
fn a_table_is_read_piece_by_piece_and_written_partly_unread() {
    let entry = |at: u32, seed: u32| if at < 70_000 { 7 } else { at.wrapping_mul(2_654_435_761).rotate_left(seed) };
    let table = |seed: u32| (0..300_000u32).map(|at| entry(at, seed)).collect::<Vec<u32>>();
    let mut shelf = Shelf::default();
    let write = |shelf: &mut Shelf, file: u64, known: Pieces, table: &mut Vec<u32>| {
        let mut writer = Writer::beside(Vec::new(), file, Some((known, Arc::new(shelf.clone())))).unwrap();
        (&mut writer as &mut dyn Archive).fixed("table", table).unwrap();
        let (bytes, pieces) = writer.finish_told().unwrap();
        shelf.0.insert(file, bytes);
        pieces
    };
    let mut whole = table(1);
    let pieces = write(&mut shelf, 1, Pieces::default(), &mut whole);
    let files: Arc<dyn Others> = Arc::new(shelf.clone());
    let late = |shelf: &Shelf| {
        let from = std::io::BufReader::new(io::Cursor::new(shelf.0[&1].clone()));
        let mut reader = Reader::late(from, 1, Arc::new(shelf.clone())).unwrap();
        let unread = reader.pieces_later("table", 1_200_000).unwrap().expect("it can be read later");
        assert_eq!(
            reader.finish_told().unwrap().digest(),
            pieces.digest(),
            "what was not read is known by its checksum"
        );
        unread
    };
    let mut reader = Reader::beside(shelf.0[&1].as_slice(), 1, None).unwrap();
    assert!(reader.pieces_later("table", 1_200_000).unwrap().is_none(), "it is read at once");
    let unread = late(&shelf);
    assert_eq!(unread.len(), 5);
    assert!(matches!(unread[0], Unread::Repeated([7, 0, 0, 0])), "{:?}", unread[0]);
    // One piece is read, and all of its entries change.
    let mut partly = vec![0u32; 300_000];
    let mut left: Vec<Option<Unread>> = unread.into_iter().map(Some).collect();
    let piece = 2 * PIECE_BYTES / 4..3 * PIECE_BYTES / 4;
    left[2].take().unwrap().read(bytemuck::cast_slice_mut(&mut partly[piece.clone()])).unwrap();
    assert!(partly[piece.clone()] == whole[piece.clone()]);
    [&mut partly, &mut whole]
        .into_iter()
        .for_each(|table| table[piece.clone()].iter_mut().for_each(|entry| *entry ^= 1));
    let wanted = write(&mut shelf, 2, pieces.clone(), &mut whole);
    for (known, most) in [(pieces.clone(), PIECE_BYTES + 1000), (Pieces::default(), 5 * PIECE_BYTES)] {
        let mut writer = Writer::beside(Vec::new(), 3, Some((known, Arc::clone(&files)))).unwrap();
        writer.table_partly("table", bytemuck::cast_slice_mut(&mut partly), &left).unwrap();
        let (bytes, told) = writer.finish_told().unwrap();
        assert_eq!(told.digest(), wanted.digest());
        assert!(bytes.len() < most && bytes.len() > most / 2, "{} of {most}", bytes.len());
    }
    // Damage is found when its piece is read, or copied.
    let mut damaged = shelf.clone();
    let place = damaged.0[&1].len() - 100;
    damaged.0.get_mut(&1).unwrap()[place] ^= 1;
    let unread = late(&damaged);
    unread[3].read(&mut vec![0; PIECE_BYTES]).unwrap();
    let length = 1_200_000 - 4 * PIECE_BYTES;
    let told = unread[4].read(&mut vec![0; length]).unwrap_err().to_string();
    assert_eq!(told, "it is damaged in \"table in archive 1\"");
    let mut writer = Writer::new(Vec::new()).unwrap();
    let unread: Vec<Option<Unread>> = unread.into_iter().map(Some).collect();
    assert!(writer.table_partly("table", bytemuck::cast_slice_mut(&mut partly), &unread).is_err());
    let mut reader = Reader::new(shelf.0[&1].as_slice()).unwrap();
    assert!(reader.table_partly("table", &mut [0; 8], &[]).is_err(), "what is read is not written");
}

#[test]
fn an_index_names_no_list_that_is_longer_than_a_piece() {
    use crate::index::{Base, Lies, List, Piece, Table};
    use crate::shared::Place;

    let index_with = |length: u32| {
        let list = List { place: Place { file: 1, offset: 9 }, length, checksum: 0 };
        let piece = Piece { checksum: 0, lies: Lies::Changed(Base::Repeated([0; 4]), list) };
        let mut index = Index::default();
        index.push(Table { begin: 0, end: 1, pieces: vec![piece; 64] });
        Index::read(&index.bytes(7).unwrap(), 7)
    };
    assert!(index_with(PIECE_BYTES as u32).is_some() && index_with(PIECE_BYTES as u32 + 1).is_none());
}

/// An index finds the same pieces as a look through the archive, and one of another archive, or a damaged one, is none.
#[test]
fn an_index_finds_the_pieces_of_large_tables_at_once() {
    let entry = |at: u32| if at.is_multiple_of(5 << 16) { at } else { at >> 18 };
    let mut table: Vec<u32> = (0..66 * (PIECE_BYTES as u32 / 4) + 9).map(entry).collect();
    let mut small = vec![3u32; 100];
    let mut write = |file: u64, known| {
        let mut writer = Writer::beside(Vec::new(), file, known).unwrap();
        let archive = &mut writer as &mut dyn Archive;
        archive.fixed("small", &mut small).unwrap();
        archive.fixed("table", &mut table).unwrap();
        archive.list("small", &mut small).unwrap();
        writer.finish_told().unwrap()
    };
    let (first, pieces) = write(1, None);
    let mut shelf = Shelf([(1, first)].into());
    // The second has references to the first.
    let (second, pieces) = write(2, Some((pieces, Arc::new(shelf.clone()))));
    shelf.0.insert(2, second.clone());
    let bytes = pieces.index_bytes().expect("it has many pieces");
    assert_eq!(Index::read(&bytes, pieces.digest()).as_ref(), Some(pieces.index()));
    assert_eq!(Index::read(&bytes, pieces.digest() ^ 1), None);
    for bit in (0..8 * bytes.len()).step_by(97) {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(Index::read(&flipped, pieces.digest()), None, "bit {bit}");
    }
    let read = |index: Option<Index>| {
        let from = || std::io::BufReader::new(io::Cursor::new(second.clone()));
        let late = || Reader::late(from(), 2, Arc::new(shelf.clone())).unwrap().indexed(index.clone());
        assert_eq!(late().skim().unwrap().digest(), pieces.digest());
        let mut reader = late();
        let mut few = vec![0u32; 100];
        (&mut reader as &mut dyn Archive).fixed("small", &mut few).unwrap();
        let unread = reader.pieces_later("table", 4 * table.len()).unwrap().expect("it can be read later");
        (&mut reader as &mut dyn Archive).list("small", &mut few).unwrap();
        let told = reader.finish_told().unwrap();
        assert_eq!(told.digest(), pieces.digest());
        assert_eq!(told.files().collect::<Vec<_>>(), pieces.files().collect::<Vec<_>>());
        assert_eq!(told.index(), pieces.index(), "who reads it knows as much as who wrote it");
        let mut all = vec![0u32; table.len()];
        let places = bytemuck::cast_slice_mut::<u32, u8>(&mut all).chunks_mut(PIECE_BYTES);
        unread.iter().zip(places).for_each(|(piece, place)| piece.read(place).unwrap());
        assert!(all == table);
        unread.len()
    };
    assert_eq!([None, Index::read(&bytes, pieces.digest())].map(read), [67, 67]);
}

/// Tables of which a few words change from archive to archive.
struct Changing {
    tables: [Vec<u32>; 2],
    shelf: Shelf,
    known: Pieces,
    file: u64,
}

impl Changing {
    /// Seven pieces: five of numbers, one that repeats a word, and a short one.
    fn new() -> Self {
        let words = PIECE_BYTES as u32 / 4;
        let mut first: Vec<u32> = (0..5 * words).map(|at| at.wrapping_mul(2_654_435_761)).collect();
        first.resize(6 * words as usize, u32::MAX);
        first.extend(0..2000);
        let mut new = Self {
            tables: [first, vec![u32::MAX; 2 * words as usize]],
            shelf: Shelf::default(),
            known: Pieces::default(),
            file: 0,
        };
        new.write();
        new
    }

    fn change(&mut self, each: usize, value: u32) {
        for (at, word) in self.tables.iter_mut().flatten().enumerate() {
            if (at + value as usize).is_multiple_of(each) {
                *word = word.wrapping_add(value);
            }
        }
    }

    fn writer(&self) -> Writer<Vec<u8>> {
        Writer::beside(Vec::new(), self.file + 1, Some((self.known.clone(), Arc::new(self.shelf.clone())))).unwrap()
    }

    fn took(&mut self, writer: Writer<Vec<u8>>) -> usize {
        let (bytes, known) = writer.finish_told().unwrap();
        let length = bytes.len();
        self.file += 1;
        self.shelf.0.insert(self.file, bytes);
        self.known = known;
        // What nothing refers to is gone.
        let needed: Vec<u64> = self.known.files().map(|(file, _)| file).chain([self.file]).collect();
        self.shelf.0.retain(|file, _| needed.contains(file));
        length
    }

    fn write(&mut self) -> usize {
        let mut writer = self.writer();
        let [first, second] = &mut self.tables;
        (&mut writer as &mut dyn Archive).fixed("first", first).unwrap();
        (&mut writer as &mut dyn Archive).fixed("second", second).unwrap();
        self.took(writer)
    }

    fn late(&self) -> Reader<std::io::BufReader<io::Cursor<Vec<u8>>>> {
        let from = std::io::BufReader::new(io::Cursor::new(self.shelf.0[&self.file].clone()));
        Reader::late(from, self.file, Arc::new(self.shelf.clone())).unwrap()
    }

    fn lengths(&self) -> [usize; 2] {
        [0, 1].map(|number: usize| 4 * self.tables[number].len())
    }

    /// Its tables' pieces, unread, as found with and without the index.
    fn unread(&self) -> Vec<Vec<Unread>> {
        let read = |mut reader: Reader<_>| -> Vec<Vec<Unread>> {
            let names = ["first", "second"].into_iter().zip(self.lengths());
            let found = names.map(|(name, length)| reader.pieces_later(name, length).unwrap().unwrap()).collect();
            let told = reader.finish_told().unwrap();
            assert_eq!((told.digest(), told.index()), (self.known.digest(), self.known.index()));
            found
        };
        let index = self.known.index().clone();
        let [found, looked_through] = [Some(index), None].map(|index| read(self.late().indexed(index)));
        assert_eq!(
            found.iter().map(Vec::len).collect::<Vec<_>>(),
            looked_through.iter().map(Vec::len).collect::<Vec<_>>()
        );
        assert_eq!(self.late().skim().unwrap().index(), self.known.index());
        found
    }

    /// Reads it in each way.
    fn check(&self) {
        let mut reader =
            Reader::beside(self.shelf.0[&self.file].as_slice(), self.file, Some(Arc::new(self.shelf.clone()))).unwrap();
        let mut read = [0, 1].map(|number: usize| vec![1u32; self.tables[number].len()]);
        let [first, second] = &mut read;
        (&mut reader as &mut dyn Archive).fixed("first", first).unwrap();
        (&mut reader as &mut dyn Archive).fixed("second", second).unwrap();
        assert_eq!(reader.finish_told().unwrap().index(), self.known.index());
        assert!(read == self.tables, "read at once");
        for (table, unread) in self.tables.iter().zip(self.unread()) {
            let mut read = vec![1u32; table.len()];
            let places = bytemuck::cast_slice_mut::<u32, u8>(&mut read).chunks_mut(PIECE_BYTES);
            unread.iter().zip(places).for_each(|(piece, place)| piece.read(place).unwrap());
            assert!(read == *table, "read later");
        }
        self.verify(&self.shelf).unwrap();
    }

    fn verify(&self, shelf: &Shelf) -> Result<Pieces, ArchiveError> {
        Reader::beside(shelf.0[&self.file].as_slice(), self.file, Some(Arc::new(shelf.clone())))
            .and_then(Reader::verify)
    }
}

/// A list is made against the piece that lies whole somewhere, so it grows from archive to archive, until the piece is written whole again.
#[test]
fn a_piece_of_which_little_changed_is_written_as_its_changes() {
    let mut changing = Changing::new();
    let whole = changing.shelf.0[&1].len();
    let mut sizes = Vec::new();
    for value in 1..=16 {
        changing.change(30, value);
        sizes.push(changing.write());
        changing.check();
    }
    // A thirtieth of the words, five bytes each, of all pieces: a word that repeats is a base, too.
    let words: usize = changing.tables.iter().map(Vec::len).sum();
    assert!((words / 30 * 5..words / 30 * 5 + 1000).contains(&sizes[0]), "{} of {words} words", sizes[0]);
    assert!(sizes.windows(2).take(10).all(|pair| pair[1] > pair[0]), "{sizes:?}");
    // After twelve archives half of the bytes would be changes.
    assert!(sizes[11] + sizes[12] > whole && sizes[13] < whole / 8, "{sizes:?} of {whole}");
    assert!(changing.shelf.0.len() <= 3, "only bases and the last archive are needed");
}

/// Pieces that were not read are written again by their places: base and list, of which a short one is copied.
#[test]
fn changes_that_were_not_read_are_written_again() {
    for each in [30, 3000] {
        let mut changing = Changing::new();
        changing.change(each, 1);
        changing.write();
        let digest = changing.known.digest();
        for known in [true, false] {
            let unread = changing.unread();
            if !known {
                // What may not be referred to is read and written.
                changing.known = Pieces::default();
            }
            let mut writer = changing.writer();
            for ((name, length), unread) in ["first", "second"].into_iter().zip(changing.lengths()).zip(unread) {
                let unread: Vec<Option<Unread>> = unread.into_iter().map(Some).collect();
                writer.table_partly(name, &mut vec![0; length], &unread).unwrap();
            }
            let length = changing.took(writer);
            changing.check();
            if known {
                assert_eq!(changing.known.digest(), digest, "it is what it was");
                assert!(length < 10_000, "{length} B where {each} words changed");
            } else {
                assert_eq!(changing.shelf.0.len(), 1);
            }
        }
    }
}

/// Whichever byte of base, record or list is damaged, it is found, and a list that fits no piece is no way out of it.
#[test]
fn damaged_changes_are_found() {
    let mut changing = Changing::new();
    changing.change(200, 3);
    changing.write();
    for file in [1, 2] {
        let length = changing.shelf.0[&file].len();
        for place in (0..length).step_by(if file == 1 { 9973 } else { 211 }) {
            let mut damaged = changing.shelf.clone();
            damaged.0.get_mut(&file).unwrap()[place] ^= 4;
            // The repeated pieces of the first are in the second by their word.
            let is_needed = file == 2 || place > 100 && place < 5 * (PIECE_BYTES + 5);
            assert!(!is_needed || changing.verify(&damaged).is_err(), "byte {place} of {file}");
        }
    }
    let told = |file: u64, place: usize| {
        let mut damaged = changing.shelf.clone();
        damaged.0.get_mut(&file).unwrap()[place] ^= 4;
        changing.verify(&damaged).unwrap_err().to_string()
    };
    assert_eq!(told(1, 1000), "it is damaged in \"first in archive 1\"");
    assert_eq!(told(2, 1000), "it is damaged in \"first\"");
    // A base that is damaged is not referred to: all of the piece is at hand.
    changing.shelf.0.get_mut(&1).unwrap()[1000] ^= 4;
    changing.change(200, 5);
    changing.write();
    changing.check();
    let mut piece = [0u8; 64];
    for list in [&[16, 1, 2, 3, 4][..], &[0, 1, 2, 3], &[0x80], &[0xff; 9], &[15, 1, 2, 3, 4, 0, 1, 2, 3, 4]] {
        assert_eq!(changes::apply_changes(list, &mut piece), None, "{list:?}");
    }
    assert_eq!(changes::apply_changes(&[15, 1, 2, 3, 4], &mut piece), Some(()));
}
