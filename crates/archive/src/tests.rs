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

    /// With a table of some pieces: numbers, zeros, and one word over and over.
    fn full() -> Self {
        let words = PIECE_BYTES / 8;
        let mut table: Vec<u64> = (0..words as u64 + 3).map(|word| word * 0x9e37_79b9).collect();
        table.resize(3 * words, 0);
        table.resize(5 * words, u64::from(u32::MAX) << 32 | u64::from(u32::MAX));
        table.resize(5 * words + 7, 9);
        Self { name: "a drive".to_owned(), counts: vec![3, 1, 4], table, part: Some(5) }
    }

    /// As a new one of the same shape.
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
    Reader::verify(bytes.as_slice()).unwrap();
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
        assert!(Reader::verify(flipped.as_slice()).is_err(), "bit {bit} of {}", bytes.len() * 8);
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
    assert_eq!(refused(state.new_like(), &later), "its form is \"02\"; this version of wane reads \"01\"");
    assert_eq!(
        refused(state.new_like(), b"PK\x03\x04 something else"),
        "it does not begin as the state of a drive does"
    );
    let mut writer = Writer::new(Vec::new()).unwrap();
    (&mut writer as &mut dyn Archive).field("size", &mut 3u8).unwrap();
    let other = writer.finish().unwrap();
    assert_eq!(refused(state.new_like(), &other), "it holds \"size\" where \"name\" belongs");
}
