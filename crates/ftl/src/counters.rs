//! What an FTL counts. Pages are mapping units unless a name says otherwise.

/// Why a page is programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The host wrote it.
    Host,
    /// Garbage collection relocated it.
    GarbageCollection,
    /// Wear leveling relocated it.
    WearLeveling,
    /// The file system relocated it out of given-up space.
    FileSystem,
    /// Scrubbing relocated it.
    Scrub,
    /// It protects other pages.
    Parity,
}

/// Monotone counters since the drive was new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Units written by the host.
    pub host_units_written: u64,
    /// Units read by the host, unmapped ones included.
    pub host_units_read: u64,
    /// Of these, units that held nothing.
    pub host_units_read_unmapped: u64,
    /// Mapped units that the host trimmed.
    pub host_units_trimmed: u64,
    /// Units programmed for the host.
    pub programmed_host: u64,
    /// Units relocated by garbage collection.
    pub programmed_gc: u64,
    /// Units relocated by wear leveling.
    pub programmed_wear_leveling: u64,
    /// Units relocated by the file system.
    pub programmed_file_system: u64,
    /// Units relocated by scrubbing.
    pub programmed_scrub: u64,
    /// Units of parity, programmed for the first time or relocated with the block they lie in.
    pub programmed_parity: u64,
    /// Units of padding in pages that closed before they were full.
    pub programmed_padding: u64,
    /// Flash pages programmed.
    pub program_operations: u64,
    /// Flash blocks erased by garbage collection.
    pub erases_gc: u64,
    /// Flash blocks erased by wear leveling.
    pub erases_wear_leveling: u64,
    /// Flash blocks erased by scrubbing.
    pub erases_scrub: u64,
    /// Pages that scrubbing read to see how they fare.
    pub scrub_checks: u64,
    /// Pages that error correction gave up and redundancy gave back.
    pub recoveries: u64,
    /// Pages that redundancy could not give back either, because another page of the stripe failed.
    pub recovery_failures: u64,
    /// Host reads of a page that was lost.
    pub host_reads_uncorrectable: u64,
    /// Relocation reads of a page that was lost.
    pub relocation_reads_uncorrectable: u64,
    /// Stripes that got no parity because no die had room for it.
    pub stripes_unprotected: u64,
    /// Blocks that garbage collection reclaimed.
    pub gc_victims: u64,
    /// Valid units in these.
    pub gc_victim_valid_units: u64,
    /// Answers of policies that the mechanism refused.
    pub policy_refusals: u64,
}

impl Counters {
    /// Units programmed for any cause.
    pub fn programmed_total(&self) -> u64 {
        self.programmed_host
            + self.programmed_gc
            + self.programmed_wear_leveling
            + self.programmed_file_system
            + self.programmed_scrub
            + self.programmed_parity
            + self.programmed_padding
    }

    pub(crate) fn programmed(&mut self, cause: Cause, units: u64) {
        *match cause {
            Cause::Host => &mut self.programmed_host,
            Cause::GarbageCollection => &mut self.programmed_gc,
            Cause::WearLeveling => &mut self.programmed_wear_leveling,
            Cause::FileSystem => &mut self.programmed_file_system,
            Cause::Scrub => &mut self.programmed_scrub,
            Cause::Parity => &mut self.programmed_parity,
        } += units;
    }
}
