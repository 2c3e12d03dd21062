//! AutoStream by sequentiality, frequency and recency.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_nand::Task;
use wane_units::SuperblockId;

use super::chunks::{self, Filled, Follows, Writes};
use super::{HostWrite, PlacementPolicy, RelocatedRun, STREAMS_MAX, StreamId};
use crate::policies::state::remembered_by_serde;
use crate::policies::{Builtin, Needs, Setting};

/// See [`AutostreamSfrParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AutostreamSfr {
    params: AutostreamSfrParams,
    writes: Writes,
    filled: Filled,
    chunks: Vec<Chunk>,
}

/// A stretch of the logical space.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Chunk {
    /// Sum of the writes' weights. The weight of a write halves every `decay` writes.
    count: f64,
    /// Number of the chunk's last write.
    last: u64,
}

/// One stream per power of two of a chunk's recent write count.
///
/// The drive finds the streams by itself and ignores hints of the host. A write that starts where the previous one ended goes to the
/// same stream. Any other write counts for the chunk in which it starts: the chunk's count is divided by 2^((now - last) / `decay`)
/// and 1 is added. The stream is floor(log2 count), at most the last one. Times are counted in host writes. A chunk that is written
/// every x writes reaches a count of about 1.44 `decay` / x, so streams tell chunks apart only if `decay` fits the drive. With
/// 1,000,000 writes and chunks of 1 MiB, an evenly written drive of 128 GiB reaches a count of 11, and one of 1 GiB reaches 1400, so
/// that all its chunks share the last stream.
///
/// Relocated data go to the stream that filled their block. A placement policy hears of blocks and never of pages, so that stream
/// stands for the level that the chunks had when the host last wrote them. A chunk that became hotter or colder since then shows it
/// at its next write. Data that wear leveling moved, and parity, count as stream 0. Memory: 16 bytes a chunk, 1 a block.
///
/// Source: Yang et al., SYSTOR 2017, as described in its abstract, talk and patent, since the text was not available; a rival in the
/// capacity-variant SSD (001, section 4), whose code does not contain it. No source gives the following, so they are ours: the chunk,
/// 8 streams, a decay of 1,000,000 writes, and the stream of relocated data.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct AutostreamSfrParams {
    /// Number of streams. Each keeps a block of each domain open, which takes spare space.
    #[schemars(range(min = 2, max = STREAMS_MAX))]
    pub streams: u32,
    /// Mapping units whose writes are counted together: 1 MiB where a unit is 4 KiB.
    #[schemars(range(min = 1, max = 1 << 24), extend("x-unit" = "mapping units", "x-scales" = "capacity"))]
    pub chunk_units: u32,
    /// Number of host writes after which an earlier write counts half.
    #[schemars(range(min = 1, max = 1_u64 << 40), extend("x-unit" = "host writes", "x-scales" = "capacity"))]
    pub decay: u64,
}

impl Default for AutostreamSfrParams {
    fn default() -> Self {
        Self { streams: 8, chunk_units: 256, decay: 1_000_000 }
    }
}

impl Builtin for AutostreamSfr {
    const NAME: &'static str = "autostream-sfr";
    type Params = AutostreamSfrParams;

    fn build(params: AutostreamSfrParams) -> Self {
        Self { params, writes: Writes::default(), filled: Filled::default(), chunks: Vec::new() }
    }
}

impl AutostreamSfr {
    /// Counts a write for its chunk and returns the chunk's level.
    fn level(&mut self, write: &HostWrite) -> StreamId {
        let now = self.writes.count();
        let chunk = &mut self.chunks[(write.first.0 / self.params.chunk_units) as usize];
        let weight = libm::exp2((now - chunk.last) as f64 / self.params.decay as f64);
        *chunk = Chunk { count: chunk.count / weight + 1.0, last: now };
        debug_assert!(chunk.count >= 1.0, "the present write counts whole");
        StreamId((chunk.count as u64).ilog2()).min(StreamId(self.params.streams - 1))
    }
}

impl PlacementPolicy for AutostreamSfr {
    remembered_by_serde!();

    fn begin(&mut self, setting: Setting) {
        self.filled = Filled::new(&setting);
        self.chunks = vec![Chunk::default(); chunks::count(&setting, self.params.chunk_units)];
    }

    fn streams(&self, _tasks: &[Task]) -> u32 {
        self.params.streams
    }

    fn host(&mut self, write: &HostWrite) -> StreamId {
        let stream = match self.writes.next(write) {
            Follows::Rest(stream) | Follows::Sequential(stream) => stream,
            Follows::Nothing => self.level(write),
        };
        self.writes.placed(write, stream);
        stream
    }

    fn opened(&mut self, block: SuperblockId, stream: Option<StreamId>) {
        self.filled.opened(block, stream);
    }

    fn relocated(&mut self, run: &RelocatedRun) -> StreamId {
        self.filled.stream(run.from)
    }

    fn parity(&self, _task: Task) -> StreamId {
        StreamId(0)
    }

    fn needs(&self) -> Needs {
        Needs { requests: true, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policies::placement::tests::{setting, write};

    /// A policy with chunks of 4 units on a drive of 64 units.
    fn policy(decay: u64) -> AutostreamSfr {
        let mut policy = AutostreamSfr::build(AutostreamSfrParams { streams: 4, chunk_units: 4, decay });
        policy.begin(setting(16, 4));
        policy
    }

    #[test]
    fn a_count_decays_by_half_each_decay_and_its_logarithm_is_the_stream() {
        let mut policy = policy(4);
        // Units 0 to 3 are chunk 0. Each row: a unit of one page, the stream, the chunk's count after it.
        let half = |writes: f64| 2f64.powf(-writes / 4.0);
        let second = half(1.0) + 1.0;
        let table = [
            (0, 0, 1.0),
            // 1.84: not yet 2.
            (2, 0, second),
            (0, 1, second * half(1.0) + 1.0),
            (40, 0, 1.0),
            (50, 0, 1.0),
            (44, 0, 1.0),
            // Four writes after its last: half of 2.55 and 1.
            (2, 1, (second * half(1.0) + 1.0) / 2.0 + 1.0),
        ];
        for (number, (unit, stream, count)) in table.into_iter().enumerate() {
            assert_eq!(policy.host(&write(unit, 1, number as u64)), StreamId(stream), "write {number}");
            let found = policy.chunks[unit as usize / 4].count;
            assert!((found - count).abs() < 1e-12, "write {number}: {found} and {count}");
        }
        for number in 7..40 {
            policy.host(&write(2 * (number as u32 % 2), 1, number));
        }
        // Written each time it comes to 1 / (1 - 2^(-1/4)) = 6.29.
        assert_eq!(policy.host(&write(2, 1, 40)), StreamId(2));
    }

    #[test]
    fn a_run_keeps_the_stream_of_its_first_write_and_is_not_counted() {
        let mut policy = policy(1000);
        for now in 0..4 {
            policy.host(&write(0, 1, now));
        }
        // The fifth write of chunk 0 is at level 2; what goes on from it crosses into chunks that were never written.
        assert_eq!(policy.host(&write(0, 3, 4)), StreamId(2));
        assert_eq!(policy.host(&write(3, 3, 7)), StreamId(2));
        assert_eq!(policy.host(&write(6, 10, 10)), StreamId(2));
        assert_eq!(policy.chunks[1].count, 0.0);
        assert_eq!(policy.host(&write(4, 1, 20)), StreamId(0));
    }

    #[test]
    fn counts_beyond_the_last_stream_stay_there() {
        let mut policy = policy(1_000_000);
        let streams: Vec<u32> = (0..40).map(|now| policy.host(&write(0, 1, now)).0).collect();
        assert_eq!([streams[0], streams[2], streams[4], streams[8], streams[16], streams[39]], [0, 1, 2, 3, 3, 3]);
    }
}
