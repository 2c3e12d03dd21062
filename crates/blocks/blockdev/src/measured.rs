//! Speeds of drives as they were measured, for devices of which only the speed is simulated.
//!
//! From dissertation 000. Table 7 has what reads of 4 KiB and of 64 KiB reach, in GiB/s; Table 9 has writes, which are taken as those of 64 KiB. They are
//! rates of one drive under many requests, so they say how long it is busy, not how long a request takes. The latency beside that is assumed: 75 us a read
//! and 15 us a write of an NVMe drive, 90 and 40 us of a SATA drive.

use wane_units::Nanos;

use crate::{BusyTime, ServiceTimes};

const NVME: ServiceTimes = ServiceTimes {
    read: BusyTime::of_4k_and_64k(0.73, 3.33),
    write: BusyTime::of_64k(1.35),
    read_latency: Nanos(75_000),
    write_latency: Nanos(15_000),
};

const SATA: ServiceTimes = ServiceTimes {
    read: BusyTime::of_4k_and_64k(0.44, 0.53),
    write: BusyTime::of_64k(0.43),
    read_latency: Nanos(90_000),
    write_latency: Nanos(40_000),
};

/// The NVMe drive NVMe0: reads 0.73 and 3.33, writes 1.35 GiB/s.
pub const NVME0: ServiceTimes = NVME;

/// The NVMe drive NVMe1: reads 0.73 and 2.58, writes 1.30 GiB/s.
pub const NVME1: ServiceTimes =
    ServiceTimes { read: BusyTime::of_4k_and_64k(0.73, 2.58), write: BusyTime::of_64k(1.30), ..NVME };

/// An NVMe0 that logged 63 device errors: reads 0.65 and 1.34 GiB/s. Its writes were not measured; they are those of a good one here.
pub const NVME0_DEGRADED: ServiceTimes = ServiceTimes { read: BusyTime::of_4k_and_64k(0.65, 1.34), ..NVME };

/// The SATA drive SATA0: reads 0.44 and 0.53 GiB/s. Table 9 lists writes of one SATA model alone, 0.43 GiB/s, which stand for both.
pub const SATA0: ServiceTimes = SATA;

/// The SATA drive SATA1: reads 0.33 and 0.48, writes 0.43 GiB/s.
pub const SATA1: ServiceTimes = ServiceTimes { read: BusyTime::of_4k_and_64k(0.33, 0.48), ..SATA };
