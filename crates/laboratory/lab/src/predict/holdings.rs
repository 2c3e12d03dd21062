//! How much of a drive holds data: pages that hold nothing are spare space, whatever the drive exports.

use wane_scenario::{Scenario, Workload};

use super::load::Touched;

/// Shares of the logical pages, in the steady state of a workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Holdings {
    /// Pages that the workload writes and that hold data at any time: all that it writes, less what is trimmed and not written again yet.
    pub(super) written: f64,
    /// Pages that hold data of before, which nobody writes any more.
    pub(super) rest: f64,
    /// Of the pages that the workload writes, the share that held nothing when it began.
    at_first_empty: f64,
}

impl Holdings {
    /// Of a drive that is given a scenario's first phase.
    pub(super) fn of(scenario: &Scenario, touched: Touched) -> Self {
        let Touched { written, filled, reachable, before } = touched;
        // Writes at random over all that can be reached miss a page with this chance.
        let missed = libm::exp(-before.1);
        let beyond = (reachable - filled.max(written)).max(0.0) * (1.0 - missed);
        Self {
            written: written * in_use(&scenario.phases[0].workload),
            rest: (filled - written).max(0.0) + beyond,
            at_first_empty: (1.0 - filled / written).max(0.0) * missed,
        }
    }

    /// Pages that hold data.
    pub(super) fn all(self) -> f64 {
        self.written + self.rest
    }

    /// The spare factor where pages without data are spare, of a drive whose pages without data are not.
    pub(super) fn spare_factor(self, spare_factor: f64) -> f64 {
        1.0 - (1.0 - spare_factor) * self.all()
    }

    /// What a reader should know of it.
    pub(super) fn warnings(self, scenario: &Scenario, empty_by: &str) -> Vec<String> {
        const LITTLE: f64 = 1e-3;
        let mut told = Vec::new();
        let empty = 1.0 - self.all();
        if empty > LITTLE {
            told.push(format!(
                "{:.1} % of the logical pages hold no data ({empty_by}): the model takes them as spare space",
                100.0 * empty
            ));
        }
        if self.at_first_empty > LITTLE {
            told.push(format!(
                "{:.1} % of the pages that the workload writes are empty at first: the drive amplifies less until they are written, and this is the \
                 state after that",
                100.0 * self.at_first_empty
            ));
        }
        let fill = scenario.precondition.fill.get();
        let is_pattern = matches!(scenario.phases[0].workload, Workload::Pattern(_));
        if !is_pattern && fill > 0.0 && fill < 1.0 && scenario.precondition.sequential_drive_writes == 0 {
            told.push(
                "the workload is taken to write the first pages of the drive, which precondition.fill fills".to_owned(),
            );
        }
        told
    }
}

/// Of the pages that a workload writes, the share that holds data: each page is written or trimmed next in the proportion of the two.
fn in_use(workload: &Workload) -> f64 {
    let Workload::Pattern(spec) = workload else { return 1.0 };
    let trims = spec.trim_share.get();
    let writes = 1.0 - spec.read_share.get() - trims;
    if trims > 0.0 && writes > 0.0 { writes / (writes + trims) } else { 1.0 }
}
