//! A drive's health record, from which log pages are made.

use wane_ftl::BlockState;
use wane_nand::{Cells, Faults, Loss};
use wane_smart::{HealthRecord, energy};

use crate::{Clock, Drive};

/// Hours of a day.
const DAY_HOURS: f64 = 24.0;

/// Counts of firmware blocks.
struct Spare {
    /// Mapping units in blocks in service, beyond what is exported: now, and of a new drive.
    units: u64,
    units_new: u64,
    /// Blocks beyond what is exported, and all blocks that are erased.
    blocks: u32,
    blocks_free: u32,
}

impl Drive {
    /// The drive's health. This looks at every block, and changes nothing.
    pub fn health_record(&self) -> HealthRecord {
        let (counters, unit) = (self.counters(), u64::from(self.unit_bytes()));
        let geometry = self.geometry();
        let erases = self.erase_counts();
        let factory = self.firmware_blocks_bad_new();
        let (spare, width) = (self.spare(factory), self.layout().width());
        let relocated = counters.programmed_gc
            + counters.programmed_wear_leveling
            + counters.programmed_file_system
            + counters.programmed_scrub;
        let host_units_read = counters.host_units_read.saturating_sub(counters.host_units_read_unmapped);
        let units_read = host_units_read + counters.units_read_to_modify + relocated;
        let pages_read = units_read + counters.scrub_checks;
        let mapped = self.mapped_units();
        let rated = self.rated_cycles().map(|cycles| u64::from(cycles).saturating_mul(geometry.capacity().0));
        let corrected = self.cells().map(|cells| cells.counters());
        let commands = &self.front.commands;
        // A drive that was fast-forwarded counts what it would have done, so that writes and wear agree.
        let predicted = self.predicted();
        let units_per_page = (geometry.page_size().0 / unit).max(1);
        let pages_programmed = counters.program_operations + predicted.programmed_units / units_per_page;
        let blocks_erased = counters.erases_total() + predicted.erases;
        let (days_unpowered, times_unpowered) = self.unpowered();
        // An error that nobody noticed is not one that the drive could report.
        let reads_failed = counters.host_reads_uncorrectable.saturating_sub(self.reads_misread());
        let noticed = reads_failed + counters.relocation_reads_uncorrectable;
        let heat = self.clock().and_then(Clock::heat);
        // A drive whose clock does not run does nothing and has cooled down to its idle temperature.
        let idle = self.clock_spec().and_then(|spec| spec.thermal).map(|thermal| thermal.idle_celsius());
        HealthRecord {
            capacity_initial_bytes: u64::from(self.logical_initial()) * unit,
            capacity_bytes: u64::from(self.exported()) * unit,
            logical_block_bytes: self.sector_bytes(),
            mapped_bytes: mapped * unit,
            host_bytes_read: counters.host_bytes_read(unit),
            host_bytes_written: counters.host_bytes_written(unit) + predicted.host_units * unit,
            // A unit that no request asked for counts as a command, because batches consist of units.
            host_reads: counters.host_units_read - commands.units_read + commands.reads,
            host_writes: counters.host_units_written - commands.units_written + commands.writes + predicted.host_units,
            media_errors: reads_failed,
            flash_bytes_read: units_read * unit + counters.scrub_checks * geometry.page_size().0,
            flash_bytes_programmed: (counters.programmed_total() + predicted.programmed_units) * unit,
            flash_pages_read: pages_read,
            flash_pages_programmed: pages_programmed,
            flash_blocks_erased: blocks_erased,
            erase_count_min: erases.iter().copied().min().unwrap_or(0),
            erase_count_mean: erases.iter().map(|count| f64::from(*count)).sum::<f64>() / erases.len() as f64,
            erase_count_max: erases.iter().copied().max().unwrap_or(0),
            blocks_bad_factory: factory * width,
            blocks_bad_grown: self.retired_blocks().saturating_sub(factory) * width,
            blocks_refreshed: counters.erases_scrub,
            rereads_max: self.read_recovery(),
            percentage_used: self.life_used().map(|used| 100.0 * used),
            available_spare_percent: percent(spare.units, spare.units_new, self.retired_blocks() == factory),
            free_blocks_percent: percent(spare.blocks_free.into(), spare.blocks.into(), false),
            endurance_estimate_bytes: rated,
            is_unreliable: noticed > 0,
            is_read_only: self.end_of_life().is_some(),
            reads_corrected: corrected.map_or(0, |seen| seen.reads_retried.saturating_sub(seen.uncorrectable_reads)),
            reads_uncorrectable: noticed,
            recoveries: counters.recoveries + counters.recovery_failures,
            celsius: heat.map(|heat| heat.celsius).or(idle),
            celsius_max: heat.map(|heat| heat.celsius_max).or(idle),
            throttles: heat.map_or(0, |heat| heat.throttles),
            throttled_seconds: heat.map_or(0.0, |heat| heat.throttled_ns as f64 / 1e9),
            dies: geometry.dies(),
            dies_offline: self.faults().map_or(0, dies_lost),
            day: self.day(),
            power_on_hours: DAY_HOURS * (self.day() - days_unpowered).max(0.0),
            power_cycles: 1 + times_unpowered + self.power_cuts(),
            unsafe_shutdowns: self.power_cuts(),
            flash_energy_joules: energy::joules(pages_read, pages_programmed, blocks_erased),
        }
    }

    /// Number of firmware blocks that were out of service when the drive was new because one of their flash blocks was bad from
    /// the factory.
    fn firmware_blocks_bad_new(&self) -> u32 {
        let mut holders: Vec<_> = self.faults().map_or(&[][..], Faults::factory_bad).to_vec();
        holders.iter_mut().for_each(|block| block.0 = self.layout().holder(*block).0);
        // Holders of rising blocks need not rise.
        holders.sort_unstable();
        holders.dedup();
        holders.len() as u32
    }

    /// What is left of the blocks beyond those that the host's data take. `factory`: number of firmware blocks that a new drive
    /// lacks.
    fn spare(&self, factory: u32) -> Spare {
        let (layout, unit_count) = (self.layout(), u64::from(self.layout().units_per_block()));
        let exported = u64::from(self.exported());
        let lost_since = u64::from(self.retired_blocks().saturating_sub(factory)) * unit_count;
        let taken = u32::try_from(exported.div_ceil(unit_count)).unwrap_or(u32::MAX);
        let free = layout.superblocks().filter(|block| self.state(*block) == BlockState::Free).count();
        Spare {
            units: self.service_units().saturating_sub(exported),
            units_new: (self.service_units() + lost_since).saturating_sub(u64::from(self.logical_initial())),
            blocks: (layout.blocks() - self.retired_blocks()).saturating_sub(taken),
            blocks_free: free as u32,
        }
    }

    /// The cells' error model, whether the flash is awake or rests; `None` if the flash never errs.
    pub fn cells(&self) -> Option<&Cells> {
        self.flash().and_then(|flash| flash.cells()).or_else(|| self.resting().and_then(|resting| resting.cells()))
    }

    /// The faults of the flash. A drive with faults is always awake.
    fn faults(&self) -> Option<&Faults> {
        self.flash().and_then(|flash| flash.faults())
    }
}

/// `part` of `whole` in percent, at most 100. If `whole` is 0: 100 if `is_all`, otherwise 0.
fn percent(part: u64, whole: u64, is_all: bool) -> f64 {
    match whole {
        0 if is_all => 100.0,
        0 => 0.0,
        _ => (100.0 * part as f64 / whole as f64).min(100.0),
    }
}

fn dies_lost(faults: &Faults) -> u32 {
    faults.lost().iter().filter(|loss| matches!(loss, Loss::Die(_))).count() as u32
}
