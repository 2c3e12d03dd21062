//! The requests of a key-value store: those of its clients, and those of flushes and merges in the background.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};
use wane_sim::Stream;
use wane_units::Bytes;

use super::ranges::{Extent, Ranges};
use super::shape::{Popularity, Shape};
use super::tree::{Level, Merge, PLACES, Table, Tree, cut};
use super::{Discard, Files, Keys, LEVEL0_STOP, Load, Log, LsmConfig};
use crate::source::SHARE_MIN;
use crate::zipf::Zipf;
use crate::{Batch, Drawn, Milestone, Op, OperationKind, Source, SourceError};

/// Bytes of a write of the log, a flush or a merge: RocksDB's `writable_file_max_buffer_size`.
const WRITE_BYTES: u64 = 1 << 20;
/// Bytes of a read of a merge: RocksDB's `compaction_readahead_size`.
const READ_BYTES: u64 = 2 << 20;
/// Most units of a trim.
const TRIM_UNITS: u32 = 1 << 18;
/// Speed of flushes and merges divided by the average speed at which puts make work for them. A guess.
const HEADROOM: f64 = 1.25;

/// A store as a source. It never ends.
#[derive(Clone, Debug)]
pub struct LsmSource {
    pub(super) config: LsmConfig,
    pub(super) shape: Shape,
    popularity: Popularity,
    law: Option<Zipf>,
    pub(super) stream: Stream,
    pub(super) tree: Tree,
    space: Space,
    /// Number of records in the memtable.
    memtable: u64,
    log: LogFile,
    pub(super) clients: Vec<VecDeque<Step>>,
    turn: usize,
    flush: VecDeque<Step>,
    flushing: Option<(Table, LogFile)>,
    merge: VecDeque<Step>,
    merging: Option<(Merge, Vec<Table>)>,
    /// Bytes that flushes and merges may still move before the next put, and the bytes that each byte put adds.
    credit: f64,
    rate: f64,
    /// Requests in their order, with the beginnings and ends of operations among them.
    pub(super) ready: VecDeque<Queued>,
    /// Whether the first of them was begun in the last batch.
    is_begun: bool,
    has_loaded: bool,
    /// Number of requests that were given out.
    given: u64,
    /// Number of the last request of each requester, from 1; 0 for none.
    last: Vec<u64>,
    /// Number of requests that were given out when each client's operation began.
    begun: Vec<u64>,
    pub(super) written: Written,
}

/// The space of the files.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Space {
    free: Ranges,
    /// End of the last file.
    #[serde(default)]
    end: u32,
    /// Extents freed since the last flush, and before it, that are still to be trimmed.
    waiting: Ranges,
    due: Ranges,
}

/// The log of a memtable.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct LogFile {
    extents: Vec<Extent>,
    filled: u64,
    written: u64,
}

/// The next step of a client or of the store.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Step {
    Io(Io),
    Put,
    /// A client's operation has made all of its requests.
    End(OperationKind),
    /// A flush has ended.
    Flushed,
    /// A merge has ended.
    Merged,
}

/// An entry of the queue.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum Queued {
    Io(Io),
    /// A client's operation begins.
    Begins(u32),
    /// It has made all of its requests, and waits for the last of them and for the last one of another requester.
    Ends(u32, OperationKind, Option<Who>),
}

/// A request.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Io {
    op: Op,
    at: Extent,
    pub(super) who: Who,
}

/// The requester. A client's request waits for its previous one, a flush for the log that it replaces, and a write of a merge for
/// the last read of the merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Who {
    Log,
    Flush,
    MergeRead,
    MergeWrite,
    /// Loading and trimming, which wait for nothing.
    Space,
    Client(u32),
}

impl Who {
    pub(super) fn index(self) -> usize {
        match self {
            Self::Log => 0,
            Self::Flush => 1,
            Self::MergeRead => 2,
            Self::MergeWrite => 3,
            Self::Space => 4,
            Self::Client(number) => 5 + number as usize,
        }
    }

    /// The requester whose last request it waits for.
    fn waits_for(self) -> Option<Self> {
        match self {
            Self::Client(_) => Some(self),
            Self::Flush => Some(Self::Log),
            Self::MergeWrite => Some(Self::MergeRead),
            Self::Log | Self::MergeRead | Self::Space => None,
        }
    }
}

/// Bytes that a store moved since it was loaded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Written {
    pub(super) puts: u64,
    pub(super) log: u64,
    pub(super) flushes: u64,
    /// Bytes merged into each level, from level 1 on.
    pub(super) merged: Vec<u64>,
    pub(super) merge_reads: u64,
}

impl LsmSource {
    /// Makes the store, which draws from `stream`.
    ///
    /// # Panics
    /// [`LsmConfig::check`] refuses the config. Callers must check it first.
    pub fn new(config: LsmConfig, stream: Stream) -> Self {
        if let Err(refusal) = config.check() {
            panic!("{refusal}");
        }
        let popularity = config.popularity();
        let shape = Shape::new(&config, &popularity);
        let records = u32::try_from(config.data_bytes / config.record_bytes).expect("the check allows no more records");
        let law = match config.operations.keys {
            Keys::Zipf { exponent } | Keys::Latest { exponent } => Some(Zipf::new(records.max(1), exponent)),
            Keys::Uniform => None,
        };
        let written = shape.written(&config, 1.0);
        let mut space = Space::default();
        space.free.insert(Extent { start: 0, units: config.units });
        let mut source = Self {
            clients: vec![VecDeque::new(); config.clients as usize],
            last: vec![0; config.clients as usize + Who::Client(0).index()],
            begun: vec![0; config.clients as usize],
            rate: HEADROOM * (2.0 * written.iter().sum::<f64>() - written[0]),
            written: Written { merged: vec![0; shape.targets.len()], ..Written::default() },
            config,
            shape,
            popularity,
            law,
            stream,
            tree: Tree::default(),
            space,
            memtable: 0,
            log: LogFile::default(),
            turn: 0,
            flush: VecDeque::new(),
            flushing: None,
            merge: VecDeque::new(),
            merging: None,
            credit: 0.0,
            ready: VecDeque::new(),
            is_begun: false,
            has_loaded: false,
            given: 0,
        };
        source.place_tables();
        source
    }

    /// Fills each level to its target.
    fn place_tables(&mut self) {
        for target in self.shape.targets.clone() {
            let mut level = Level::default();
            let parts = cut(&(0..PLACES), target, self.config.table_bytes);
            let table = |(keys, bytes)| {
                let extents = self.allocate(bytes).expect("the check left room for every level");
                Table { keys, bytes, extents }
            };
            let tables = parts.into_iter().map(table).collect();
            level.replace(0..0, tables);
            self.tree.levels.push(level);
        }
        self.log = self.new_log().expect("the check left room for the log");
    }

    /// Queues the first requests: they trim the space and write the tables, the last level first.
    fn load(&mut self) {
        self.has_loaded = true;
        if self.config.load == Load::Assumed {
            return;
        }
        let whole = [Extent { start: 0, units: self.config.units }];
        self.ready.extend(pieces(&whole, TRIM_UNITS, Op::Trim, Who::Space).map(Queued::Io));
        for table in self.tree.levels.iter().rev().flat_map(|level| &level.tables) {
            let units = self.config.units_of(WRITE_BYTES);
            self.ready.extend(pieces(&table.extents, units, Op::Write, Who::Space).map(Queued::Io));
        }
    }

    /// Does one more step of the clients.
    pub(super) fn advance(&mut self) -> Result<(), SourceError> {
        if !self.has_loaded {
            self.load();
            return Ok(());
        }
        if self.config.discard == Discard::Idle
            && self.flush.is_empty()
            && self.merge.is_empty()
            && let Some(at) = self.space.waiting.pop_first(TRIM_UNITS)
        {
            self.ready.push_back(Queued::Io(Io { op: Op::Trim, at, who: Who::Space }));
        }
        let client = self.turn;
        self.turn = (self.turn + 1) % self.clients.len();
        if self.clients[client].is_empty() {
            self.begin_operation(client);
        }
        match self.clients[client].pop_front() {
            Some(Step::Put) => self.put(client)?,
            Some(Step::Io(io)) => self.ready.push_back(Queued::Io(io)),
            // All of its blocks were in memory.
            Some(Step::End(kind)) => self.ready.push_back(Queued::Ends(client as u32, kind, None)),
            None => unreachable!("an operation has an end"),
            Some(Step::Flushed | Step::Merged) => unreachable!("clients neither flush nor merge"),
        }
        self.end_operation(client, None);
        Ok(())
    }

    /// Queues the end of a client's operation, if it has no more requests and its end is not queued yet.
    fn end_operation(&mut self, client: usize, waits_for: Option<Who>) {
        if let Some(Step::End(kind)) = self.clients[client].front() {
            self.ready.push_back(Queued::Ends(client as u32, *kind, waits_for));
            self.clients[client].pop_front();
        }
    }

    /// Draws a client's next operation.
    fn begin_operation(&mut self, client: usize) {
        let operations = self.config.operations;
        let draw = self.stream.unit();
        let scans = operations.gets + operations.scans;
        self.ready.push_back(Queued::Begins(client as u32));
        let kind = if draw < operations.gets {
            self.get(client);
            OperationKind::Read
        } else if draw < scans {
            self.scan(client);
            OperationKind::Scan
        } else {
            let is_read_first = draw < scans + operations.read_modify_writes;
            if is_read_first {
                self.get(client);
            }
            self.clients[client].push_back(Step::Put);
            match operations.keys {
                _ if is_read_first => OperationKind::ReadModifyWrite,
                Keys::Latest { .. } => OperationKind::Insert,
                Keys::Uniform | Keys::Zipf { .. } => OperationKind::Update,
            }
        };
        self.clients[client].push_back(Step::End(kind));
    }

    /// Draws a place in the order of keys, and how many puts ago the key was put.
    fn draw_key(&mut self) -> (u64, f64) {
        match self.config.operations.keys {
            Keys::Uniform => {
                let place = self.stream.bits() >> 32;
                (place, self.stream.exponential() * (self.config.data_bytes / self.config.record_bytes) as f64)
            }
            Keys::Zipf { exponent } => {
                let rank = self.law.as_ref().expect("Zipf's law was made").draw(&mut self.stream);
                (place_of(rank), self.stream.exponential() / self.popularity.chance(rank, exponent))
            }
            Keys::Latest { .. } => {
                let puts_ago = self.law.as_ref().expect("Zipf's law was made").draw(&mut self.stream);
                (self.stream.bits() >> 32, f64::from(puts_ago))
            }
        }
    }

    /// Plans a lookup. It goes from the newest tables down to the one that holds the key, and reads a block of each table whose filter lets it pass.
    pub(super) fn get(&mut self, client: usize) {
        let (place, puts_ago) = self.draw_key();
        let full = self.shape.memtable_records as f64;
        let mut left = puts_ago - self.memtable as f64 - if self.flushing.is_some() { full } else { 0.0 };
        if left < 0.0 {
            return;
        }
        for number in (0..self.tree.level0.len()).rev() {
            let is_there = left < full;
            if self.passes(is_there) {
                let io = self.block(&self.tree.level0[number], place, 1, client);
                self.clients[client].extend(io);
            }
            if is_there {
                return;
            }
            left -= full;
        }
        let found = self.shape.reaches.iter().position(|reach| left < *reach);
        for number in 0..self.tree.levels.len() {
            let Some(table) = self.tree.levels[number].table_of(place) else { continue };
            let io = self.block(table, place, 1, client);
            let is_there =
                found.is_none_or(|found| found <= number) && (found.is_some() || number + 1 == self.tree.levels.len());
            if self.passes(is_there) {
                self.clients[client].extend(io);
            }
            if is_there {
                return;
            }
        }
    }

    /// Draws whether a block must be read: the filter lets the lookup pass, and the block is not in memory.
    fn passes(&mut self, is_there: bool) -> bool {
        (is_there || self.stream.chance(self.config.false_positive)) && !self.stream.chance(self.config.cache_hits)
    }

    /// Plans a scan. Each table and level with the first key gives its share of the records. The scan ends with these tables.
    fn scan(&mut self, client: usize) {
        let (place, _) = self.draw_key();
        let records = 1 + self.stream.below(u64::from(self.config.operations.scan_records));
        let share = (records * self.config.record_bytes) as f64 / self.tree.bytes() as f64;
        let runs = self.tree.level0.iter().map(|table| (table, table.bytes));
        let levels = self.tree.levels.iter().filter_map(|level| Some((level.table_of(place)?, level.bytes)));
        let mut found = Vec::new();
        for (table, bytes) in runs.chain(levels) {
            let blocks = libm::ceil(share * bytes as f64 / self.config.block_bytes as f64).max(1.0) as u64;
            found.push(self.block(table, place, blocks, client));
        }
        for io in found {
            if !self.stream.chance(self.config.cache_hits) {
                self.clients[client].extend(io);
            }
        }
    }

    /// Reads of `blocks` blocks of a table, starting with the one that holds `place`.
    fn block(&self, table: &Table, place: u64, blocks: u64, client: usize) -> Vec<Step> {
        let LsmConfig { block_bytes, unit_bytes, .. } = self.config;
        let all = table.bytes.div_ceil(block_bytes);
        let (from, of) = (place - table.keys.start, table.keys.end - table.keys.start);
        let first = (u128::from(from) * u128::from(all) / u128::from(of)) as u64;
        let end = ((first + blocks).min(all) * block_bytes).min(table.bytes);
        let units = first * block_bytes / unit_bytes..end.div_ceil(unit_bytes);
        let who = Who::Client(client as u32);
        within(&table.extents, units).map(|at| Step::Io(Io { op: Op::Read, at, who })).collect()
    }

    /// Puts a record into the log and the memtable, and lets flushes and merges work in proportion.
    pub(super) fn put(&mut self, client: usize) -> Result<(), SourceError> {
        let record = self.config.record_bytes;
        self.memtable += 1;
        self.written.puts += record;
        self.log.filled += record;
        match self.config.log {
            Log::Synced => {
                self.write_log(Who::Client(client as u32), self.log.filled);
                let (at, who) = (Extent { start: 0, units: 0 }, Who::Client(client as u32));
                self.ready.push_back(Queued::Io(Io { op: Op::Flush, at, who }));
            }
            Log::Buffered if self.log.filled - self.log.written >= WRITE_BYTES => {
                self.write_log(Who::Log, self.log.filled - self.log.filled % self.config.unit_bytes);
            }
            Log::Buffered | Log::Off => {}
        }
        if self.memtable < self.shape.memtable_records {
            self.end_operation(client, None);
        }
        self.credit += self.rate * record as f64;
        while self.credit > 0.0 {
            let Some(moved) = self.work()? else {
                self.credit = 0.0;
                break;
            };
            self.credit -= moved as f64;
        }
        if self.memtable >= self.shape.memtable_records { self.switch_memtable(client) } else { Ok(()) }
    }

    /// Writes the log's units up to byte `until`.
    fn write_log(&mut self, who: Who, until: u64) {
        let unit = self.config.unit_bytes;
        let units = self.log.written / unit..until.div_ceil(unit);
        self.written.log += (units.end - units.start) * unit;
        self.log.written = until;
        self.ready.extend(within(&self.log.extents, units).map(|at| Queued::Io(Io { op: Op::Write, at, who })));
    }

    /// Does a step of a flush, otherwise of a merge. Returns the bytes that it moved; `None` if there is nothing to do.
    fn work(&mut self) -> Result<Option<u64>, SourceError> {
        let Some(step) = self.flush.pop_front().or_else(|| self.merge.pop_front()) else { return Ok(None) };
        let mut moved = 0;
        match step {
            Step::Io(io) => {
                moved = u64::from(io.at.units) * self.config.unit_bytes;
                match io.who {
                    Who::Flush => self.written.flushes += moved,
                    Who::MergeRead => self.written.merge_reads += moved,
                    _ => {
                        let into = self.merging.as_ref().map_or(0, |(merge, _)| merge.from);
                        self.written.merged[into] += moved;
                    }
                }
                self.ready.push_back(Queued::Io(io));
            }
            Step::Flushed => self.end_flush(),
            Step::Merged => self.end_merge(),
            Step::Put | Step::End(_) => unreachable!("only clients put and end"),
        }
        self.begin_merge()?;
        Ok(Some(moved))
    }

    /// Flushes the full memtable, after the previous flush. Puts wait meanwhile, and while level 0 is too full. In the model
    /// only the client whose put filled it waits.
    fn switch_memtable(&mut self, client: usize) -> Result<(), SourceError> {
        while !self.flush.is_empty() {
            self.work()?;
        }
        let most = LEVEL0_STOP * u64::from(self.config.level0_tables);
        let waits_for = if self.tree.level0.len() as u64 >= most { Who::MergeWrite } else { Who::Flush };
        while self.tree.level0.len() as u64 >= most && self.work()?.is_some() {}
        self.end_operation(client, Some(waits_for));
        if self.config.log == Log::Buffered {
            self.write_log(Who::Log, self.log.filled);
        }
        let bytes = (self.shape.flushed * self.memtable as f64 * self.config.record_bytes as f64).round() as u64;
        let table = Table { keys: 0..PLACES, bytes: bytes.max(1), extents: self.allocate(bytes.max(1))? };
        let units = self.config.units_of(WRITE_BYTES);
        self.flush.extend(pieces(&table.extents, units, Op::Write, Who::Flush).map(Step::Io));
        self.flush.push_back(Step::Flushed);
        let log = std::mem::take(&mut self.log);
        self.flushing = Some((table, log));
        self.log = self.new_log()?;
        self.memtable = 0;
        Ok(())
    }

    fn new_log(&mut self) -> Result<LogFile, SourceError> {
        let bytes = self.shape.memtable_records * self.config.record_bytes;
        let extents = if self.config.log == Log::Off { Vec::new() } else { self.allocate(bytes)? };
        Ok(LogFile { extents, filled: 0, written: 0 })
    }

    fn end_flush(&mut self) {
        let (table, log) = self.flushing.take().expect("a flush ends that began");
        self.tree.level0.push_back(table);
        if self.config.discard == Discard::Delayed {
            let waiting = std::mem::take(&mut self.space.waiting);
            let due = std::mem::replace(&mut self.space.due, waiting);
            self.trim(due);
        }
        self.free(log.extents);
    }

    /// Begins the merge that is most needed, unless one is going on.
    fn begin_merge(&mut self) -> Result<(), SourceError> {
        if self.merging.is_some() {
            return Ok(());
        }
        let Some(merge) = self.tree.next_merge(&self.shape.targets, self.config.level0_tables) else { return Ok(()) };
        let inputs: Vec<Table> = self.tree.inputs(&merge).cloned().collect();
        if merge.from > 0 && merge.lower.is_empty() {
            // There is nothing to merge with, so the table is only renamed.
            self.merging = Some((merge, inputs));
            self.merge.push_back(Step::Merged);
            return Ok(());
        }
        let upper: u64 = inputs[..merge.upper.len()].iter().map(|table| table.bytes).sum();
        let lower: u64 = inputs[merge.upper.len()..].iter().map(|table| table.bytes).sum();
        let bytes = (lower + (self.shape.kept[merge.from] * upper as f64).round() as u64).max(1);
        let first = inputs.iter().map(|table| table.keys.start).min().unwrap_or(0);
        let end = inputs.iter().map(|table| table.keys.end).max().unwrap_or(PLACES);
        let mut outputs = Vec::new();
        for (keys, bytes) in cut(&(first..end), bytes, self.config.table_bytes) {
            outputs.push(Table { keys, bytes, extents: self.allocate(bytes)? });
        }
        self.merge = interleaved(&self.config, &inputs, &outputs);
        self.merge.push_back(Step::Merged);
        self.merging = Some((merge, outputs));
        Ok(())
    }

    fn end_merge(&mut self) {
        let (merge, outputs) = self.merging.take().expect("a merge ends that began");
        let is_move = merge.from > 0 && merge.lower.is_empty();
        let gone = self.tree.merged(&merge, outputs);
        if is_move {
            return;
        }
        // Lookups in progress keep the tables that they use.
        for client in 0..self.clients.len() {
            while let Some(Step::Io(io)) = self.clients[client].front().cloned() {
                self.clients[client].pop_front();
                self.ready.push_back(Queued::Io(io));
                self.end_operation(client, None);
            }
        }
        gone.into_iter().for_each(|table| self.free(table.extents));
    }

    /// Allocates room for a file.
    fn allocate(&mut self, bytes: u64) -> Result<Vec<Extent>, SourceError> {
        let units = self.config.units_of(bytes);
        let found = match self.config.files {
            Files::Lowest => self.space.free.take(units),
            Files::Around => self.space.free.take_from(self.space.end, units),
        };
        let Some(extents) = found else {
            let message = format!("the key-value store has no room for a file of {}; give it less data", Bytes(bytes));
            return Err(SourceError::new(message));
        };
        self.space.end = extents.last().map_or(0, |last| last.start + last.units);
        for extent in &extents {
            self.space.waiting.remove(*extent);
            self.space.due.remove(*extent);
        }
        Ok(extents)
    }

    /// Frees the extents of a deleted file.
    fn free(&mut self, extents: Vec<Extent>) {
        let mut freed = Ranges::default();
        for extent in extents {
            self.space.free.insert(extent);
            match self.config.discard {
                Discard::Now => freed.insert(extent),
                Discard::Delayed | Discard::Idle => self.space.waiting.insert(extent),
                Discard::Never => {}
            }
        }
        self.trim(freed);
    }

    fn trim(&mut self, mut gone: Ranges) {
        while let Some(at) = gone.pop_first(TRIM_UNITS) {
            self.ready.push_back(Queued::Io(Io { op: Op::Trim, at, who: Who::Space }));
        }
    }

    /// The next request, with the operations that begin and end before it.
    fn upcoming(&mut self, milestones: &mut Vec<Milestone>) -> Result<Io, SourceError> {
        loop {
            match self.ready.front().copied() {
                Some(Queued::Io(io)) => return Ok(io),
                Some(Queued::Begins(client)) => {
                    self.begun[client as usize] = self.given;
                    milestones.push(Milestone::Begins { client });
                }
                Some(Queued::Ends(client, kind, other)) => milestones.push(self.ended(client, kind, other)),
                None => {
                    self.advance()?;
                    continue;
                }
            }
            self.ready.pop_front();
        }
    }

    /// Makes the end of an operation. The client's next request also waits for everything that the operation waits for.
    fn ended(&mut self, client: u32, kind: OperationKind, other: Option<Who>) -> Milestone {
        let back = |number: u64| if number == 0 { 0 } else { self.given + 1 - number };
        let own = self.last[Who::Client(client).index()];
        let other = other.map_or(0, |who| self.last[who.index()]);
        let is_own = own > self.begun[client as usize];
        let after = [if is_own { back(own) } else { 0 }, back(other)];
        self.last[Who::Client(client).index()] = own.max(other);
        Milestone::Ends { client, kind, after }
    }
}

#[cfg(test)]
impl LsmSource {
    /// Checks that files and free space fill the space without overlaps.
    pub(super) fn check(&self) {
        let mut seen = Ranges::default();
        self.files().chain(self.space.free.iter()).for_each(|extent| seen.insert(extent));
        assert_eq!(seen.iter().collect::<Vec<_>>(), [Extent { start: 0, units: self.config.units }]);
    }

    /// Bytes of all files.
    pub(super) fn bytes(&self) -> u64 {
        self.files().map(|extent| u64::from(extent.units) * self.config.unit_bytes).sum()
    }

    fn files(&self) -> impl Iterator<Item = Extent> {
        let tables = self.tree.level0.iter().chain(self.tree.levels.iter().flat_map(|level| &level.tables));
        let flushing = self.flushing.iter().flat_map(|(table, log)| table.extents.iter().chain(&log.extents));
        let is_move = |merge: &Merge| merge.from > 0 && merge.lower.is_empty();
        let merging = self.merging.iter().filter(move |(merge, _)| !is_move(merge)).flat_map(|(_, outputs)| outputs);
        let files = tables.chain(merging).flat_map(|table| &table.extents);
        files.chain(flushing).chain(&self.log.extents).copied()
    }
}

impl LsmConfig {
    /// Number of units of a file of `bytes`.
    fn units_of(&self, bytes: u64) -> u32 {
        u32::try_from(bytes.div_ceil(self.unit_bytes).max(1)).unwrap_or(u32::MAX)
    }
}

/// The place of a rank in the order of keys, by SplitMix64's mixing, so that neighboring ranks are not neighbors in the order.
fn place_of(rank: u32) -> u64 {
    let mut mixed = (u64::from(rank) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) >> 32
}

/// Requests for the extents of a file in order, each of at most `units_max` units.
fn pieces(extents: &[Extent], units_max: u32, op: Op, who: Who) -> impl Iterator<Item = Io> {
    extents.iter().flat_map(move |extent| {
        let starts = (extent.start..extent.start + extent.units).step_by(units_max as usize);
        let end = extent.start + extent.units;
        starts.map(move |start| Io { op, at: Extent { start, units: units_max.min(end - start) }, who })
    })
}

/// The extents of some units of a file.
fn within(extents: &[Extent], units: std::ops::Range<u64>) -> impl Iterator<Item = Extent> {
    let mut before = 0u64;
    extents.iter().filter_map(move |extent| {
        let (from, until) = (before, before + u64::from(extent.units));
        before = until;
        let (first, end) = (units.start.max(from), units.end.min(until));
        (first < end).then(|| Extent { start: extent.start + (first - from) as u32, units: (end - first) as u32 })
    })
}

/// The requests of a merge. Each read is followed by the writes that it makes possible.
fn interleaved(config: &LsmConfig, inputs: &[Table], outputs: &[Table]) -> VecDeque<Step> {
    let of = |tables: &[Table], bytes, op, who| -> Vec<Io> {
        tables.iter().flat_map(|table| pieces(&table.extents, config.units_of(bytes), op, who)).collect()
    };
    let reads = of(inputs, READ_BYTES, Op::Read, Who::MergeRead);
    let writes = of(outputs, WRITE_BYTES, Op::Write, Who::MergeWrite);
    let units = |ios: &[Io]| ios.iter().map(|io| u64::from(io.at.units)).sum::<u64>();
    let (all_read, all_written) = (units(&reads), units(&writes));
    let (mut steps, mut read, mut written) = (VecDeque::new(), 0, 0);
    let mut writes = writes.into_iter().peekable();
    for io in reads {
        read += u64::from(io.at.units);
        steps.push_back(Step::Io(io));
        while let Some(next) =
            writes.next_if(|next| (written + u64::from(next.at.units)) * all_read <= read * all_written)
        {
            written += u64::from(next.at.units);
            steps.push_back(Step::Io(next));
        }
    }
    debug_assert!(writes.peek().is_none(), "all that was read is written");
    steps
}

impl Source for LsmSource {
    fn next(&mut self, batch: &mut Batch, pages_max: usize, requests_max: u64) -> Result<Drawn, SourceError> {
        batch.clear();
        batch.milestones.clear();
        (batch.requests, batch.after) = (0, 0);
        while batch.pages.len() < pages_max && batch.requests < requests_max {
            let mut io = self.upcoming(&mut batch.milestones)?;
            let is_first = batch.pages.is_empty() && batch.requests == 0;
            if !is_first && (io.op != batch.op || io.op == Op::Flush) {
                break;
            }
            batch.op = io.op;
            if !self.is_begun {
                let last = io.who.waits_for().map_or(0, |who| self.last[who.index()]);
                // Several requests would each have their own.
                batch.after = if is_first && last > 0 { self.given + 1 - last } else { 0 };
            }
            let fits = io.at.units.min(u32::try_from(pages_max - batch.pages.len()).unwrap_or(u32::MAX));
            batch.pages.extend(io.at.start..io.at.start + fits);
            io.at = Extent { start: io.at.start + fits, units: io.at.units - fits };
            self.is_begun = io.at.units > 0;
            if self.is_begun {
                self.ready[0] = Queued::Io(io);
            } else {
                self.given += 1;
                batch.end_request();
                self.last[io.who.index()] = self.given;
                self.ready.pop_front();
            }
        }
        Ok(Drawn::More)
    }

    fn never_writes(&self) -> bool {
        self.config.operations.puts() <= SHARE_MIN
    }

    fn notes(&self) -> Vec<String> {
        let Written { puts, log, flushes, merged, merge_reads } = &self.written;
        if *puts == 0 {
            return Vec::new();
        }
        let share = |bytes: u64| bytes as f64 / *puts as f64;
        let into = merged.iter().sum::<u64>();
        vec![format!(
            "the key-value store put {:.3} GB of records and wrote {:.2} times as much: its log {:.2}, flushes {:.2}, compaction {:.2}, which read {:.2}",
            *puts as f64 / 1e9,
            share(log + flushes + into),
            share(*log),
            share(*flushes),
            share(into),
            share(*merge_reads)
        )]
    }

    fn try_clone(&self) -> Result<Box<dyn Source>, SourceError> {
        Ok(Box::new(self.clone()))
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.field("lsm.stream", &mut self.stream)?;
        archive.field("lsm.tree", &mut self.tree)?;
        archive.field("lsm.space", &mut self.space)?;
        archive.field("lsm.memtable", &mut self.memtable)?;
        archive.field("lsm.log", &mut self.log)?;
        archive.field("lsm.clients", &mut self.clients)?;
        archive.field("lsm.turn", &mut self.turn)?;
        archive.field("lsm.flush", &mut self.flush)?;
        archive.field("lsm.flushing", &mut self.flushing)?;
        archive.field("lsm.merge", &mut self.merge)?;
        archive.field("lsm.merging", &mut self.merging)?;
        archive.field("lsm.credit", &mut self.credit)?;
        archive.field("lsm.ready", &mut self.ready)?;
        archive.field("lsm.is-begun", &mut self.is_begun)?;
        archive.field("lsm.has-loaded", &mut self.has_loaded)?;
        archive.field("lsm.given", &mut self.given)?;
        archive.field("lsm.last", &mut self.last)?;
        archive.field("lsm.begun", &mut self.begun)?;
        archive.field("lsm.written", &mut self.written)
    }
}
