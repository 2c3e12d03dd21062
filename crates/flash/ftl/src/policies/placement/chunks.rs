//! The parts that both AutoStream policies share: the chunk in which a write starts, whether it continues the previous write, and
//! which stream filled a block. The policies decide how chunks become hot.

use serde::{Deserialize, Serialize};
use wane_units::SuperblockId;

use super::HostWrite;
use crate::policies::{Setting, StreamId};

/// The host's writes: their number and the last one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Writes {
    /// Number of writes so far.
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

/// How a write relates to the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Follows {
    /// It is the rest of the previous write, which the drive interrupted.
    Rest(StreamId),
    /// It starts where the previous write ended.
    Sequential(StreamId),
    /// It starts elsewhere.
    Nothing,
}

impl Writes {
    /// Number of writes so far, the present one included.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Counts a write and returns how it relates to the previous one. The rest of a write is not counted.
    pub(super) fn next(&mut self, write: &HostWrite) -> Follows {
        let follows = self.before.map_or(Follows::Nothing, |before| before.follows(write));
        if !matches!(follows, Follows::Rest(_)) {
            self.count += 1;
        }
        follows
    }

    /// Notes the stream of the write that was just counted.
    pub(super) fn placed(&mut self, write: &HostWrite, stream: StreamId) {
        self.before = Some(Before { first: write.first.0, units: write.units, now: write.now, stream: stream.0 });
    }
}

impl Before {
    fn follows(self, write: &HostWrite) -> Follows {
        let end = |first: u32, units: u32| u64::from(first) + u64::from(units);
        let stream = StreamId(self.stream);
        let same_end = end(self.first, self.units) == end(write.first.0, write.units) && write.first.0 >= self.first;
        // If the previous write had been completed, the clock would have advanced by all its units.
        if same_end && write.now < self.now + u64::from(self.units) {
            return Follows::Rest(stream);
        }
        let is_next = end(self.first, self.units) == u64::from(write.first.0);
        if is_next { Follows::Sequential(stream) } else { Follows::Nothing }
    }
}

/// Number of chunks that hold the logical units of a drive, of which it has at most as many as physical ones.
pub(super) fn count(setting: &Setting, chunk_units: u32) -> usize {
    let units = u64::from(setting.blocks) * u64::from(setting.units_per_block);
    units.div_ceil(u64::from(chunk_units)) as usize
}

/// The stream for which each block was last opened.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Filled {
    first: u32,
    /// By block, counted from `first`.
    streams: Vec<u8>,
}

impl Filled {
    /// Every block counts as filled by the first stream until it is opened.
    pub(super) fn new(setting: &Setting) -> Self {
        Self { first: setting.first.0, streams: vec![0; setting.blocks as usize] }
    }

    /// Notes that a block was opened. Data that wear leveling moves have not changed for long, so they count as the first stream's.
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
