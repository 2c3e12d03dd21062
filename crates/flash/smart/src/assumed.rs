//! Values that log pages and smartctl report and that nothing here models: one table of constants, each with its reason.

/// Degrees Celsius of a drive without heat of its own, whatever it does and however warm its data lie: drives in racks report 40.
pub const TEMPERATURE_CELSIUS: u8 = 40;

/// Percent of spare below which a drive warns: 24 of 30 drives of a public collection report 10, the others 5 or 0.
pub const AVAILABLE_SPARE_THRESHOLD_PERCENT: u8 = 10;

/// Minutes that the controller was busy: a drive ages without time.
pub const CONTROLLER_BUSY_MINUTES: u64 = 0;

/// Entries of the error log: the drive keeps none. Failed commands are reported to the host and counted as media errors.
pub const ERROR_LOG_ENTRIES: u64 = 0;

/// Minutes above the temperatures of warning and danger: no drive here names such temperatures.
pub const OVERHEATED_MINUTES: u32 = 0;

/// PCI vendor, subsystem, IEEE company and controller: no company makes the drive.
pub const VENDOR: u64 = 0;

/// Namespaces: a drive is one.
pub const NAMESPACES: u64 = 1;

/// Whole percent of what never wears: spare blocks of the system area, and failures allowed there. Metadata that a drive keeps on
/// flash are counted with its other blocks.
pub const UNWORN_PERCENT: u8 = 100;

/// Percent of a new capacitor's energy. The capacitor that `drive.power-loss-protection` stands for does not age.
pub const CAPACITOR_PERCENT: u16 = 100;

/// Dies that may fail: no redundancy policy promises a number.
pub const DIE_FAILURE_TOLERANCE: u16 = 0;

/// Errors of end-to-end protection, of the PCIe link and its retraining, timeouts, changes of the power state: there is no host link.
pub const LINK_EVENTS: u64 = 0;

/// Seconds of the Unix clock on the drive's day 0, which is 2025-01-01 00:00 UTC. The time of a log is the drive's day and not
/// the reader's clock, so that two readings of one state are the same, and a dashboard draws a life over the drive's days.
pub const DAY_0_UNIX_SECONDS: i64 = 1_735_689_600;

/// The version of smartctl whose JSON is printed.
pub const SMARTCTL_VERSION: [u64; 2] = [7, 3];

/// The version of NVMe that smartctl shows: that of the fields of log 02h that it knows.
pub const NVME_VERSION: (&str, u64) = ("1.4", 0x0001_0400);
