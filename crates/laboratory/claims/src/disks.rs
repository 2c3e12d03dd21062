//! DC7 to DC9: how disks fail, which attributes show it, and when they will fail (dissertation 002, chapter 7).
//!
//! The paper's drives are not public. The Python package has its analyses (`wane.fleet.analyses`) and measures DC7 and DC8. This file has the texts of both, and DC9,
//! whose data are not here.

use super::{Claim, Class, Finding, Others, Verdict};

pub(super) fn claims() -> Vec<Claim> {
    vec![types(), signatures(), backblaze()]
}

fn types() -> Claim {
    Claim::new(
        Class::Imported,
        [
            "DC7",
            "002 §7.2.1, §7.2.2, §7.3, §7.4.2",
            "of the failed disks 59.6 % fail logically (of 258: 8.6 % SUT, 4.3 % HFW), 7.6 % by sectors, 32.8 % by heads; of those RSC changes with RUE in 84.6 %; \
             thresholds 0.37 (RUE), 0.03 (RSC), 0.26 (SUT), 0.27 (HFW)",
            "the shares sum to 100, and each is that of a whole number of drives, rounded or cut",
        ],
        [
            "arithmetic on what is printed; in addition the same analyses of 400 simulated drives over 180 days, and of half of Backblaze's drives of \
             April and May 2013",
            "private data of a data center; how groups were named and which records were clustered is published, the number of disks is not",
            "groups by k-means of failure records, three on the simulated drives and two on Backblaze's, on logarithms of raw counts; the truth of the simulated \
             ones is known",
        ],
        Vec::new,
        |runs| runs.packaged("DC7"),
        Others::None("its numbers are imported"),
    )
    .by_package()
}

fn signatures() -> Claim {
    Claim::new(
        Class::Order,
        [
            "DC8",
            "002 §7.3.2, §7.4.1, equations 1 and 2",
            "RUE: degradation = 1.26 + 1.03 u - 0.15 u² - 0.28 u³ + 0.29 c, R² 0.91, RMSE 0.098; RSC: 0.87 + 0.96 c + 0.18 c² + 0.06 c³, R² 0.98, RMSE 0.116; \
             failures forecast to less than 20 hours (RUE) and 8 hours (RSC)",
            "the error on held-out drives is at most 1.2 times the noise, and no forecast of a held-out drive is off by the paper's hours",
        ],
        [
            "series made from the two equations and noise of their printed errors: 20 drives that fail by each equation and 100 that live, hourly, \
             whole numbers from 100 to 1 as vendors normalize, 120 to 360 hours from the first loss to the failure; RUE falls evenly and RSC along \
             with it, or RSC alone in 12 steps",
            "equations, errors and hours, from private data; no durations, no orders of ARIMA, and not which degradation is a failure",
            "scaled to -1 to 1; regression on 70 % of the drives, judged by the others: their first half after the start is seen, and extrapolated by \
             a line (RUE) or ARIMA (RSC, orders by Akaike) to a degradation of 0.1",
        ],
        Vec::new,
        |runs| runs.packaged("DC8"),
        Others::Run { scenarios: Vec::new, evaluate: |runs| runs.packaged_others("DC8") },
    )
    .by_package()
}

fn backblaze() -> Claim {
    Claim::new(
        Class::Order,
        [
            "DC9",
            "002 §7.5, Figs. 7.12 to 7.14",
            "on Backblaze's ST4000DM000: six groups of failures; errors of the regression 0.1839 (RUE) and 0.1624 (HFW)",
            "six groups that have the paper's signs, and both errors within a fifth",
        ],
        [
            "nothing: the 40 days of 2013 at hand have attributes 1, 5, 9, 194 and 197 only, and neither RUE nor HFW",
            "the model and the scale of 0 to 100; not the days, the unit of the degradation, nor the regression",
            "a downloaded quarter of 2015 or later, normalized values, the whole method of the section",
        ],
        Vec::new,
        |_| Finding {
            ours: "its data are public but not here".to_owned(),
            verdict: Verdict::NotRun,
            note:
                "the Python package runs it on any quarter that Backblaze offers (Drive Stats), here data_Q1_2016.zip: \
                   `wane fleet ingest backblaze.fleet data_Q1_2016.zip`, then \
                   `wane fleet analyze backblaze.fleet backblaze-variant --model ST4000DM000 --option groups=6`"
                    .to_owned(),
            table: String::new(),
        },
        Others::None("its data are not here"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_whose_data_are_not_here_says_so_and_names_the_command() {
        let claim = backblaze();
        let finding = (claim.evaluate)(&crate::Runs::default());
        assert_eq!(finding.verdict, Verdict::NotRun);
        assert!(finding.note.contains("`wane fleet analyze"), "{}", finding.note);
        assert!(!claim.needs_package);
    }

    #[test]
    fn the_page_has_the_texts_of_these_claims() {
        let page = include_str!("../../../../docs/claims.md");
        for claim in claims() {
            let texts = [claim.configuration, claim.published, claim.reading, claim.tolerance];
            for (title, text) in ["run", "the paper", "read here", "agreement"].into_iter().zip(texts) {
                assert!(page.contains(&format!("\n- {title}: {text}\n")), "{}: {title}: {text}", claim.id);
            }
            assert!(page.contains(&format!("| {} | {} |", claim.source, claim.paper)), "{}", claim.id);
        }
    }
}
