//! What a drive has seen: errors, the oldest of its data, and the past that it is given.

use wane_nand::Cells;
use wane_results::Errors;
use wane_sim::Stream;
use wane_ssd::Drive;
use wane_units::BlockId;

use super::Past;

/// Gives the data of a drive a past. Where it is drawn, it comes from a stream that is made then.
pub(crate) fn set_past(drive: &mut Drive, past: Past, stream: impl FnOnce() -> Stream) {
    let Past { retention_days, reads } = past;
    if retention_days.is_some() || reads > 0 {
        let (least, most) = retention_days.unwrap_or_default();
        let mut stream = stream();
        drive.set_past(|_| (least + (most - least) * stream.unit(), reads));
    }
}

/// Most reads and most days of any block.
pub(crate) fn oldest(drive: &Drive) -> (u32, f64) {
    let blocks = (0..drive.geometry().blocks()).map(|block| drive.health(BlockId(block)));
    blocks.fold((0, 0.0), |(reads, days), health| (health.reads.max(reads), health.age_days.max(days)))
}

/// Codewords of first reads by their number of raw bit errors; `None` on flash without errors.
pub(super) fn histogram(drive: &Drive) -> Option<Vec<u64>> {
    drive.flash().and_then(wane_nand::Flash::cells).map(|cells| cells.histogram().counts().to_vec())
}

/// Errors that a drive has seen since it was new; `None` if it cannot err.
pub(crate) fn errors(drive: &Drive) -> Option<Errors> {
    let flash = drive.flash()?;
    if flash.cells().is_none() && !flash.has_faults() {
        return None;
    }
    let seen = flash.cells().map(Cells::counters).unwrap_or_default();
    let counters = drive.counters();
    Some(Errors {
        codewords_checked: seen.codewords_checked,
        raw_bit_errors: seen.raw_bit_errors,
        reads_retried: seen.reads_retried,
        retries: seen.retries,
        host_page_reads: seen.host_page_reads,
        host_retries: seen.host_retries,
        background_page_reads: seen.page_reads - seen.host_page_reads,
        background_retries: seen.retries - seen.host_retries,
        recoveries: counters.recoveries,
        recovery_failures: counters.recovery_failures,
        uncorrectable: counters.host_reads_uncorrectable,
        uncorrectable_relocated: counters.relocation_reads_uncorrectable,
    })
}
