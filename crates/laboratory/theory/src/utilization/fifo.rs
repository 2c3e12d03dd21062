//! FIFO (LRU) cleaning: the block filled longest ago is the victim, whatever the workload.

use crate::error::{TheoryError, distribution, within};
use crate::roots::falling_root;

/// Pages with the same write rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// Share of the logical pages.
    pub pages: f64,
    /// Share of the host's writes.
    pub writes: f64,
}

/// Write amplification of FIFO cleaning at a spare factor under independent writes of any popularity. Exact for many blocks, with
/// any number of pages a block.
///
/// A page comes round after a fixed number t of host writes and is copied if it was not written meanwhile. So a page with a share
/// r of the writes is programmed at a rate of r / (1 - e^(-r t)). t follows from the sum: all pages programmed in one round are
/// the physical pages. Under uniform writes this is alpha / (alpha + W0(-alpha e^-alpha)). Source: Desnoyers, "Analytic Models of
/// SSD Write Performance", 2014, for two classes; any number is the same sum.
///
/// # Errors
/// The spare factor is outside 0.001 to 0.999, or shares of pages or of writes do not add up to 1.
pub fn fifo(spare_factor: f64, classes: &[Class]) -> Result<f64, TheoryError> {
    within("the spare factor", spare_factor, 0.001, 0.999)?;
    let padded = |of: fn(&Class) -> f64| classes.iter().map(of).chain([0.0, 0.0]).collect::<Vec<f64>>();
    distribution("shares of the pages", &padded(|class| class.pages))?;
    distribution("shares of the writes", &padded(|class| class.writes))?;
    let alpha = 1.0 / (1.0 - spare_factor);
    // Pages programmed in a round of z host writes for each logical page, in logical pages.
    let programmed = |class: &Class, z: f64| {
        if class.pages == 0.0 {
            return 0.0;
        }
        let y = class.writes / class.pages * z;
        class.pages * if y > 0.0 { -y / libm::expm1(-y) } else { 1.0 }
    };
    let missing = |z: f64| alpha - classes.iter().map(|class| programmed(class, z)).sum::<f64>();
    // Every page is programmed at least as often as the host writes it: a round is at most alpha.
    let round = falling_root(missing, 0.0, alpha);
    assert!(round > 0.0, "with more flash than data a round takes some writes");
    Ok(alpha / round)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_writes_have_lamberts_form() {
        for spare in [0.01, 0.07, 0.1, 0.2, 0.4, 0.8] {
            let want = crate::lru_write_amplification(1.0 / (1.0 - spare));
            for shares in [vec![1.0], vec![0.3, 0.7], vec![0.2; 5]] {
                let classes: Vec<Class> = shares.iter().map(|share| Class { pages: *share, writes: *share }).collect();
                let found = fifo(spare, &classes).unwrap();
                assert!((found / want - 1.0).abs() < 1e-10, "{spare}: {found} for {want}");
            }
        }
    }

    #[test]
    fn data_that_is_never_written_is_carried_round() {
        // Half of the pages rest: each round copies them, and the others have the rest of the flash.
        let classes = [Class { pages: 0.5, writes: 1.0 }, Class { pages: 0.5, writes: 0.0 }];
        let found = fifo(0.1, &classes).unwrap();
        let hot = 1.0 / 0.9 / 0.5 - 1.0;
        let y = hot + lambert_w::lambert_w0(-hot * libm::exp(-hot));
        assert!((found - 1.0 / 0.9 / (0.5 * y)).abs() < 1e-9, "{found}");
        let text = fifo(0.1, &[Class { pages: 0.5, writes: 1.0 }]).unwrap_err().to_string();
        assert_eq!(text, "shares of the pages add up to 0.5, allowed is 1 within 0.000001");
    }
}
