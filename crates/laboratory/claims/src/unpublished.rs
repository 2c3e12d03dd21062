//! What 004 (Kim et al., FAST 2019) leaves open of all its experiments, and how claims RE1 to RE9 read it.
//!
//! All of them are run under one reading, and some under others too, so that no verdict depends on a hidden choice.

use super::reliability::Chip;
use super::{Finding, Matter, Reading, Runs};
use wane_scenario::Scenario;

/// A reading of what is not published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unpublished {
    pub(super) checks: Checks,
    pub(super) wear: Wear,
    pub(super) data: Data,
    pub(super) mlc: Codeword,
}

/// Which codewords of a host read are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Checks {
    /// All eight of 4 KiB; the worst decides.
    EveryCodeword,
    /// One decides for all.
    OneCodeword,
}

/// How the blocks' P/E cycles lie around their mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wear {
    /// Normal, with a deviation of 5 %.
    Spread,
    /// All alike.
    Alike,
}

/// Where data lies when a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Data {
    /// Written once in order, then at random.
    Scattered,
    /// Written twice in the order of its addresses.
    InOrder,
}

/// What error correction of the MLC chips corrects together. That of the TLC chip follows from figure 5: 512 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Codeword {
    Bytes512,
    KiB2,
}

/// The reading that judges all claims: data are written at random, as the paper says. RE-reading counts the claims that this reading and the
/// others explain.
pub(super) const OURS: Unpublished =
    Unpublished { checks: Checks::OneCodeword, wear: Wear::Spread, data: Data::Scattered, mlc: Codeword::Bytes512 };

/// Other readings that the claims are run under.
pub(super) const OTHERS: [Unpublished; 6] = [
    Unpublished { checks: Checks::EveryCodeword, ..OURS },
    Unpublished { wear: Wear::Alike, ..OURS },
    IN_ORDER,
    Unpublished { checks: Checks::EveryCodeword, ..IN_ORDER },
    Unpublished { mlc: Codeword::KiB2, ..IN_ORDER },
    Unpublished { mlc: Codeword::KiB2, ..OURS },
];

/// The start under which few blocks take all reads: nothing is scattered, neither cycles nor data.
const IN_ORDER: Unpublished = Unpublished { wear: Wear::Alike, data: Data::InOrder, ..OURS };

/// What 004 says of where its experiments start, and what it leaves open.
pub(super) const PUBLISHED: &str = "8 x 4 x 2 planes of 1,024 blocks, 200 of 256 GiB logical, an hour of 7.2 million requests; the cycles of blocks \
                                    are given \"on average\", and data are written at random to the entire physical space before. Not published: the \
                                    codeword, how many codewords a read of 4 KiB checks, and the spread of cycles";

pub(super) const READ: &str = "one codeword of 512 bytes decides for a read of 4 KiB; cycles are normal with a deviation of 5 %; data are written once in \
                               order and then at random. All of RE2 to RE9 are read alike";

impl Unpublished {
    /// Lines of `[drive.initial]`.
    pub(super) fn initial(self) -> &'static str {
        match self.wear {
            Wear::Spread => "",
            Wear::Alike => "erase-count-spread = 0\n",
        }
    }

    /// Lines of `[drive.ecc]`.
    pub(super) fn ecc(self, chip: &Chip) -> String {
        let mut text = String::new();
        if self.checks == Checks::OneCodeword {
            text += "checks-per-read = 'one-codeword'\n";
        }
        if self.mlc == Codeword::KiB2 && chip.is_mlc() {
            text += "codeword = '2 KiB'\n";
        }
        text
    }

    /// Lines of `[precondition]`. `random` is the number of random drive writes that scatter the data.
    pub(super) fn precondition(self, random: &str) -> String {
        match self.data {
            Data::Scattered => format!("sequential-drive-writes = 1\nrandom-drive-writes = {random}\n"),
            Data::InOrder => "sequential-drive-writes = 2\n".to_owned(),
        }
    }

    /// How it differs from ours, in words; empty if it does not.
    pub(super) fn told(self) -> String {
        let told = [
            (self.checks != OURS.checks).then_some("every codeword of a read checked"),
            (self.wear != OURS.wear).then_some("all blocks alike"),
            (self.data != OURS.data).then_some("data in the order of its addresses"),
            (self.mlc != OURS.mlc).then_some("codewords of 2 KiB on MLC"),
        ];
        told.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// How a claim is judged under a reading: its runs, and the finding on them.
#[derive(Clone, Copy)]
pub(super) struct Trial {
    pub(super) id: &'static str,
    pub(super) scenarios: fn(Unpublished) -> Vec<Scenario>,
    pub(super) judge: fn(&Runs, Unpublished) -> Finding,
}

impl Trial {
    /// Its runs under every other reading.
    pub(super) fn other_scenarios(self) -> Vec<Scenario> {
        OTHERS.into_iter().flat_map(self.scenarios).collect()
    }

    /// Results under every other reading whose runs are not those of an earlier one.
    pub(super) fn readings(self, runs: &Runs) -> Vec<Reading> {
        let hashes = |open| (self.scenarios)(open).iter().map(Scenario::hash).collect::<Vec<_>>();
        let mut seen = vec![hashes(OURS)];
        let mut fresh = |open: &Unpublished| {
            let hashes = hashes(*open);
            let is_fresh = !seen.contains(&hashes);
            seen.push(hashes);
            is_fresh
        };
        OTHERS.into_iter().filter(&mut fresh).map(|open| reading(open.told(), (self.judge)(runs, open))).collect()
    }
}

/// Result of a claim under another reading.
pub(super) fn reading(what: impl Into<String>, finding: Finding) -> Reading {
    Reading { what: what.into(), matter: Matter::Choice, ours: finding.ours, verdict: finding.verdict }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prevention::TRIALS;

    #[test]
    fn every_reading_has_words_of_its_own_and_changes_a_run() {
        assert_eq!(OURS.told(), "");
        let runs = |open| {
            let scenarios = TRIALS.into_iter().flat_map(|trial| (trial.scenarios)(open));
            scenarios.map(|scenario| scenario.hash()).collect::<Vec<_>>()
        };
        let readings: Vec<Unpublished> = [OURS].into_iter().chain(OTHERS).collect();
        for (number, open) in readings.iter().enumerate() {
            for other in &readings[..number] {
                assert_ne!(open.told(), other.told());
                assert_ne!(runs(*open), runs(*other), "{}", open.told());
            }
        }
    }
}
