//! Energy of flash operations.
//!
//! It is current times voltage times time, of the array alone: 25 mA at 3.3 V for reads, programs and erases alike, and the mean
//! times of the two page types of an MLC die with pages of 16 KiB. Source: SimpleSSD's configuration of a Micron drive
//! (`config/512GB_micron.xml`: ICC1 to ICC3, VCC, tR 50 and 80 us, tPROG 600 and 1200 us, tBERS 10 ms). The values are the same
//! for every drive here, whatever its cells and pages: they serve to compare policies on one drive, not drives of different
//! flash. Transfers, controller, DRAM and idle time are not included.

/// Watts of a working die: 25 mA at 3.3 V.
pub const DIE_WATTS: f64 = 0.025 * 3.3;

/// Joules to read a page: 65 us.
pub const PAGE_READ_JOULES: f64 = DIE_WATTS * 65e-6;

/// Joules to program a page: 900 us.
pub const PAGE_PROGRAM_JOULES: f64 = DIE_WATTS * 900e-6;

/// Joules to erase a block: 10 ms.
pub const BLOCK_ERASE_JOULES: f64 = DIE_WATTS * 10e-3;

/// A watt-hour in joules.
pub const JOULES_PER_WATT_HOUR: f64 = 3600.0;

/// Joules of these numbers of operations.
pub fn joules(pages_read: u64, pages_programmed: u64, blocks_erased: u64) -> f64 {
    pages_read as f64 * PAGE_READ_JOULES
        + pages_programmed as f64 * PAGE_PROGRAM_JOULES
        + blocks_erased as f64 * BLOCK_ERASE_JOULES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_erase_takes_the_energy_of_eleven_programs() {
        let close = |found: f64, want: f64| assert!((found - want).abs() < 1e-12, "{found} is not {want}");
        close(joules(1, 0, 0), 5.3625e-6);
        close(joules(0, 1, 0), 74.25e-6);
        close(joules(0, 0, 1), 825e-6);
        close(joules(2, 3, 4), 2.0 * 5.3625e-6 + 3.0 * 74.25e-6 + 4.0 * 825e-6);
    }
}
