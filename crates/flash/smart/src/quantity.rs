//! One list of the quantities that can be known of a drive, from any source.

use serde::{Serialize, Serializer};

/// How a quantity behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Counts from when the drive was new, and never falls.
    Counter,
    /// Gives the present state.
    Gauge,
}

macro_rules! quantities {
    ($($(#[$doc:meta])* $name:ident, $key:literal, $kind:ident;)*) => {
        /// A quantity of a drive's health. Its key ends in its unit; a quantity without a unit is a count.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Quantity {
            $($(#[$doc])* $name,)*
        }

        impl Quantity {
            /// All quantities.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Its name in JSON and in Prometheus's text.
            pub const fn key(self) -> &'static str {
                match self {
                    $(Self::$name => $key,)*
                }
            }

            /// Its kind.
            pub const fn kind(self) -> Kind {
                match self {
                    $(Self::$name => Kind::$kind,)*
                }
            }
        }
    };
}

quantities! {
    /// Percent of the rated wear that is used; may pass 100.
    PercentageUsed, "percentage_used_percent", Gauge;
    /// Least erases of a block in service. It falls when worn blocks retire, and so do the mean and the most.
    EraseCountMin, "erase_count_min", Gauge;
    /// Mean erases of a block.
    EraseCountMean, "erase_count_mean", Gauge;
    /// Most erases of a block.
    EraseCountMax, "erase_count_max", Gauge;
    /// Erases of all blocks together.
    EraseCountTotal, "erase_count_total", Counter;
    /// Erases that a block is rated for.
    EraseCountRated, "erase_count_rated", Gauge;
    /// Bytes that the host wrote.
    HostWritten, "host_written_bytes", Counter;
    /// Bytes that the host read.
    HostRead, "host_read_bytes", Counter;
    /// Bytes programmed into flash, for any cause.
    FlashWritten, "flash_written_bytes", Counter;
    /// Bytes read from flash, for any cause.
    FlashRead, "flash_read_bytes", Counter;
    /// Flash pages programmed for the host.
    PagesForHost, "flash_pages_for_host", Counter;
    /// Flash pages programmed in the background.
    PagesInBackground, "flash_pages_in_background", Counter;
    /// Write commands of the host.
    HostWrites, "host_write_commands", Counter;
    /// Read commands of the host.
    HostReads, "host_read_commands", Counter;
    /// Bytes that the flash is rated for.
    EnduranceEstimate, "endurance_estimate_bytes", Gauge;
    /// Percent of the spare blocks that are left.
    Spare, "available_spare_percent", Gauge;
    /// Percent of spare below which the drive warns.
    SpareThreshold, "available_spare_threshold_percent", Gauge;
    /// Spare blocks that are left.
    SpareBlocks, "spare_blocks", Gauge;
    /// Blocks that were bad from the factory.
    BadBlocksFactory, "blocks_bad_factory", Counter;
    /// Blocks that left service later.
    BadBlocksGrown, "blocks_bad_grown", Counter;
    /// Programs that failed.
    ProgramFails, "program_fails", Counter;
    /// Erases that failed.
    EraseFails, "erase_fails", Counter;
    /// Number of times that data could not be read correctly.
    MediaErrors, "media_errors", Counter;
    /// Reads that could not be corrected in any way, as the flash counts them.
    UncorrectableReads, "uncorrectable_reads", Counter;
    /// Sectors that could not be read or written, as offline scans count them.
    OfflineUncorrectable, "offline_uncorrectable_sectors", Gauge;
    /// Sectors that wait to be rewritten because they could not be read.
    Pending, "pending_sectors", Gauge;
    /// Sectors that were replaced, or a SCSI drive's grown defects.
    Reallocated, "reallocated_sectors", Counter;
    /// Errors that end-to-end protection found.
    EndToEndErrors, "end_to_end_errors", Counter;
    /// Reads that redundancy inside the drive reconstructed.
    Recoveries, "recoveries", Counter;
    /// Blocks rewritten because their data were old or read often.
    Refreshed, "blocks_refreshed", Counter;
    /// Entries of the error log; harmless commands make some too.
    ErrorLogEntries, "error_log_entries", Counter;
    /// Errors of the link between host and drive.
    LinkErrors, "link_errors", Counter;
    /// Resets of the link or the drive while commands were under way.
    Resets, "resets", Counter;
    /// Commands that took too long.
    Timeouts, "command_timeouts", Counter;
    /// Degrees Celsius.
    Temperature, "temperature_celsius", Gauge;
    /// Degrees Celsius from which the drive warns.
    TemperatureWarning, "temperature_warning_celsius", Gauge;
    /// Degrees Celsius from which the drive is in danger.
    TemperatureCritical, "temperature_critical_celsius", Gauge;
    /// Minutes above the temperature of warning.
    MinutesWarning, "temperature_warning_minutes", Counter;
    /// Minutes above the temperature of danger.
    MinutesCritical, "temperature_critical_minutes", Counter;
    /// Times that the drive throttled.
    Throttled, "throttle_events", Counter;
    /// Hours under power.
    PowerOnHours, "power_on_hours", Counter;
    /// Number of times that it was switched on.
    PowerCycles, "power_cycles", Counter;
    /// Number of times that power failed without notice.
    UnsafeShutdowns, "unsafe_shutdowns", Counter;
    /// Bits of NVMe's critical warning.
    CriticalWarning, "critical_warning", Gauge;
    /// Dies that are lost.
    DiesOffline, "dies_offline", Counter;
    /// Percent of the energy that the capacitors need.
    CapacitorHealth, "capacitor_health_percent", Gauge;
    /// Bytes that the drive exports.
    Capacity, "capacity_bytes", Gauge;
}

/// Bytes that no drive moves in its life: 10^19 are twenty years at 16 GB/s, the whole of a PCIe 5 link of four lanes.
const BYTES_MAX: f64 = 1e19;

/// Hours that no drive has run: 114 years.
const HOURS_MAX: f64 = 1e6;

/// Commands and flash pages that no drive served in its life: [`BYTES_MAX`] in blocks of 512 bytes.
const COMMANDS_MAX: f64 = BYTES_MAX / 512.0;

/// Events that no drive counted: one in each microsecond of a hundred years.
const EVENTS_MAX: f64 = 3.2e15;

/// Erases that no block endures: ten times the best cells of one bit.
const ERASES_MAX: f64 = 1e6;

/// Fields of these bits that are all ones are not filled.
const ALL_ONES: [f64; 2] = [u32::MAX as f64, 0xFFFF_FFFF_FFFFu64 as f64];

impl Quantity {
    /// Whether a drive can have this value: a percentage is never 255, no drive has 65,535 degrees, and none wrote 2^128 - 1
    /// units.
    pub fn allows(self, value: f64) -> bool {
        let range = match self {
            Self::Spare | Self::SpareThreshold => 0.0..=100.0,
            // Drives outlive their rating, but not a thousandfold.
            Self::PercentageUsed => 0.0..=100_000.0,
            Self::Temperature | Self::TemperatureWarning | Self::TemperatureCritical => -100.0..=300.0,
            Self::HostWritten | Self::HostRead | Self::FlashWritten => 0.0..=BYTES_MAX,
            // Flash is read far more than it is asked for: to correct, to verify and to move.
            Self::FlashRead => 0.0..=100.0 * BYTES_MAX,
            Self::PagesForHost | Self::PagesInBackground | Self::HostWrites | Self::HostReads => 0.0..=COMMANDS_MAX,
            Self::PowerOnHours => 0.0..=HOURS_MAX,
            Self::EraseCountMin | Self::EraseCountMean | Self::EraseCountMax | Self::EraseCountRated => {
                0.0..=ERASES_MAX
            }
            Self::EnduranceEstimate | Self::Capacity => 0.0..=f64::MAX,
            _ => 0.0..=EVENTS_MAX,
        };
        range.contains(&value) && !(self.is_error() && ALL_ONES.contains(&value))
    }

    /// Whether it counts errors.
    pub fn is_error(self) -> bool {
        matches!(
            self,
            Self::MediaErrors
                | Self::UncorrectableReads
                | Self::OfflineUncorrectable
                | Self::Pending
                | Self::Reallocated
                | Self::EndToEndErrors
                | Self::ErrorLogEntries
                | Self::LinkErrors
                | Self::ProgramFails
                | Self::EraseFails
        )
    }

    /// Whether no drive can be called good while this was reported and could not be read.
    pub fn is_weighty(self) -> bool {
        let is_harmless = matches!(self, Self::ErrorLogEntries | Self::LinkErrors);
        (self.is_error() && !is_harmless)
            || matches!(
                self,
                Self::PercentageUsed | Self::Spare | Self::CriticalWarning | Self::BadBlocksGrown | Self::DiesOffline
            )
    }

    /// Whether two sources cannot both be right. Counts are read one after the other, and are rounded to different units.
    pub(crate) fn disagrees(self, one: f64, other: f64) -> bool {
        let (less, more) = (one.min(other), one.max(other));
        match self {
            // What a drive calls a media error differs, but not whether there are any.
            Self::MediaErrors | Self::UncorrectableReads => less == 0.0 && more > 0.0,
            Self::PercentageUsed => more - less > 10.0,
            Self::Spare => more - less > 10.0,
            Self::PowerOnHours => more - less > 100.0 && more > 1.2 * less,
            Self::HostWritten | Self::HostRead => more - less > 1e10 && more > 1.5 * less,
            _ => false,
        }
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.key())
    }
}
