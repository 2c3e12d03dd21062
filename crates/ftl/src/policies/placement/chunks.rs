//! What both AutoStream policies go by: the chunk in which a write starts, whether it goes on from the write before, and which
//! stream filled a block. How chunks become hot is for the policies.

use serde::{Deserialize, Serialize};
use wane_units::SuperblockId;

use super::HostWrite;
use crate::policies::{Setting, StreamId};

/// The host's writes as they come.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Writes {
    /// How many there were.
    count: u64,
    before: Option<Before>,
}

/// The write before the present one.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Before {
    first: u32,
    units: u32,
    /// Host units written before it.
    now: u64,
    stream: u32,
}

/// What a write is to the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Follows {
    /// The rest of it, which the drive interrupted.
    Rest(StreamId),
    /// It starts where the one before ended.
    Sequential(StreamId),
    /// It starts elsewhere.
    Nothing,
}

impl Writes {
    /// How many writes there were, the present one included.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Takes a write in, and says what it is to the one before. A rest is no write of its own.
    pub(super) fn next(&mut self, write: &HostWrite) -> Follows {
        let follows = self.before.map_or(Follows::Nothing, |before| before.follows(write));
        if !matches!(follows, Follows::Rest(_)) {
            self.count += 1;
        }
        follows
    }

    /// Keeps the stream of the write that was just taken in.
    pub(super) fn placed(&mut self, write: &HostWrite, stream: StreamId) {
        self.before = Some(Before { first: write.first.0, units: write.units, now: write.now, stream: stream.0 });
    }
}

impl Before {
    fn follows(self, write: &HostWrite) -> Follows {
        let end = |first: u32, units: u32| u64::from(first) + u64::from(units);
        let stream = StreamId(self.stream);
        let same_end = end(self.first, self.units) == end(write.first.0, write.units) && write.first.0 >= self.first;
        // The whole of the write before would have moved the clock by its units.
        if same_end && write.now < self.now + u64::from(self.units) {
            return Follows::Rest(stream);
        }
        let is_next = end(self.first, self.units) == u64::from(write.first.0);
        if is_next { Follows::Sequential(stream) } else { Follows::Nothing }
    }
}

/// Chunks that the logical units of a drive take: it exports no more of them than it has physical ones.
pub(super) fn count(setting: &Setting, chunk_units: u32) -> usize {
    let units = u64::from(setting.blocks) * u64::from(setting.units_per_block);
    units.div_ceil(u64::from(chunk_units)) as usize
}

/// The stream that filled each block, as long as it holds data of that opening.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Filled {
    first: u32,
    /// By block, counted from the first.
    streams: Vec<u8>,
}

impl Filled {
    /// Every block counts as filled by the first stream until it is opened.
    pub(super) fn new(setting: &Setting) -> Self {
        Self { first: setting.first.0, streams: vec![0; setting.blocks as usize] }
    }

    /// A block is opened. What wear leveling moves is data that lay still, as those of the first stream.
    pub(super) fn opened(&mut self, block: SuperblockId, stream: Option<StreamId>) {
        let number = stream.unwrap_or_default().0;
        self.streams[(block.0 - self.first) as usize] = u8::try_from(number).expect("a drive has few streams");
    }

    /// The stream that filled a block.
    pub(super) fn stream(&self, block: SuperblockId) -> StreamId {
        StreamId(u32::from(self.streams[(block.0 - self.first) as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policies::placement::Origin;
    use wane_units::Lpn;

    #[test]
    fn a_write_follows_the_one_before_by_where_it_starts_and_what_was_written() {
        let write = |first, units, now| HostWrite { first: Lpn(first), units, origin: Origin::Host, hint: None, now };
        let stream = StreamId(3);
        let table = [
            (write(108, 4, 58), Follows::Sequential(stream), "starts where it ended"),
            (write(107, 4, 58), Follows::Nothing, "starts within it"),
            (write(100, 8, 58), Follows::Nothing, "the same again"),
            (write(100, 8, 50), Follows::Rest(stream), "asked again before a unit was written"),
            (write(103, 5, 53), Follows::Rest(stream), "the last five of its units"),
            (write(103, 5, 58), Follows::Nothing, "those again, after all were written"),
            (write(99, 9, 50), Follows::Nothing, "starts before it"),
        ];
        for (next, want, what) in table {
            let mut writes = Writes::default();
            let first = write(100, 8, 50);
            assert_eq!(writes.next(&first), Follows::Nothing);
            writes.placed(&first, stream);
            assert_eq!(writes.next(&next), want, "{what}");
            assert_eq!(writes.count(), if matches!(want, Follows::Rest(_)) { 1 } else { 2 }, "{what}");
        }
    }
}
