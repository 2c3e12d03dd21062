//! Whether what counts as a read of a block decides how slow its reads are.

use wane_nand::DisturbCount;
use wane_scenario::Scenario;

use super::build::error_correction;

/// A sentence if a block that was read `reads` times since its erase, at this mean of P/E cycles, needs another number of re-reads by one way to
/// count its reads than by another: the source of the published fits does not say which is right for blocks larger than its own.
pub(crate) fn countings_differ(scenario: &Scenario, cycles: f64, reads: u32) -> Option<String> {
    let chip = scenario.medium.chip.as_ref()?;
    let (pages, fitted) = (scenario.device.geometry.pages_per_block(), chip.block_pages?);
    if pages <= fitted {
        return None;
    }
    let ecc = error_correction(scenario);
    let rereads = |count: DisturbCount| {
        let model =
            chip.model.disturbed_by(count.share(pages, Some(fitted))).aging_at(scenario.medium.retention.rate());
        ecc.rereads_expected(model.rber(cycles, 0.0, f64::from(reads))).0
    };
    let [as_fitted, by_block, by_page] =
        [DisturbCount::AsFitted, DisturbCount::ByBlock, DisturbCount::ByPage].map(rereads);
    (as_fitted != by_block || as_fitted != by_page).then(|| {
        format!(
            "what counts as a read decides: the most read block, with {reads} reads at {cycles:.0} P/E cycles, needs {by_block} re-reads for a read if \
             each read of its {pages} pages counts (drive.ecc.disturb-count = \"by-block\"), {as_fitted} if a pass over it counts {fitted}, the pages \
             of the blocks with which {} was used (\"as-fitted\"), and {by_page} if it counts one (\"by-page\"); this run counts {}",
            chip.name,
            scenario.medium.ecc.disturb_count.name(),
        )
    })
}

#[cfg(test)]
mod tests {
    use wane_scenario::{Scenario, Sources};

    use super::countings_differ;

    fn scenario(pages: u32) -> Scenario {
        let text = format!(
            "[drive]\nlogical-capacity = '2 GiB'\npages-per-block = {pages}\nchip = 'tlc-72l-2018'\n[drive.ecc]\nstrength = 40\n\
             [time]\nscheduler = 'event'\n[until]\nrequests = 9\n"
        );
        Scenario::resolve(&Sources { file: Some(("t.toml", &text)), ..Sources::default() }).unwrap()
    }

    #[test]
    fn a_block_larger_than_the_fits_tells_when_its_size_decides() {
        let told = countings_differ(&scenario(2048), 1000.0, 6000).unwrap();
        assert!(told.contains("needs 4 re-reads for a read if each read of its 2048 pages counts"), "{told}");
        assert!(
            told.contains(", 0 if a pass over it counts 256,") && told.contains(", and 0 if it counts one"),
            "{told}"
        );
        for (pages, reads) in [(2048, 0), (256, 6000)] {
            assert_eq!(countings_differ(&scenario(pages), 1000.0, reads), None, "{pages} pages, {reads} reads");
        }
    }
}
