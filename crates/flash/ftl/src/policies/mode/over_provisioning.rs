//! Degraded while the effective over-provisioning is below that of the new drive.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_units::Ratio;

use super::{Change, Mode, ModePolicy, ModeView, Trigger};
use crate::policies::state::remembered_by_serde;
use crate::policies::{Builtin, Needs};

/// Most blocks of a domain, since each question to the policy counts the data of all of them.
const BLOCKS_MAX: u32 = 4096;

/// See [`OverProvisioningParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OverProvisioning {
    params: OverProvisioningParams,
}

/// Degraded while the effective over-provisioning is below that of the new drive.
///
/// The drive becomes degraded when
///
/// - its effective over-provisioning, (flash in service - data) / data, falls below the over-provisioning of the new drive,
/// - the flash in service falls below `watermark`, or
/// - fewer than `low-pool` blocks are free and no closed block is more than half invalid.
///
/// It is normal again once the host has given up data, by a trim or a remap, the effective over-provisioning is more than `hysteresis`
/// above that of the new drive, and the flash in service is at or above the watermark. This also holds for a drive that the host
/// made degraded.
///
/// Source: the capacity-variant SSD (001, section 3.2.4), which has no hysteresis; the low pool is that of its released code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct OverProvisioningParams {
    /// Share of the new drive's flash below which the drive is degraded.
    pub watermark: Ratio,
    /// Effective over-provisioning, beyond that of the new drive, above which the drive is normal again.
    pub hysteresis: Ratio,
    /// Number of free blocks of a domain below which the drive is degraded, unless a closed block is more than half invalid.
    #[schemars(extend("x-scales" = "reserve"))]
    pub low_pool: u32,
}

impl Default for OverProvisioningParams {
    fn default() -> Self {
        Self { watermark: Ratio::ZERO, hysteresis: Ratio::ZERO, low_pool: 5 }
    }
}

impl Builtin for OverProvisioning {
    const NAME: &'static str = "over-provisioning";
    type Params = OverProvisioningParams;

    fn build(params: OverProvisioningParams) -> Self {
        Self { params }
    }
}

impl OverProvisioning {
    fn is_below_watermark(&self, view: &ModeView) -> bool {
        (view.physical as f64) < self.params.watermark.get() * view.physical_initial as f64
    }
}

impl ModePolicy for OverProvisioning {
    remembered_by_serde!();

    fn judge(&mut self, view: &ModeView) -> Option<Change> {
        let (now, new) = (view.effective_over_provisioning(), view.over_provisioning());
        match view.mode {
            Mode::Normal if now < new => Some(Change::Degrade(Trigger::OverProvisioning)),
            Mode::Normal if self.is_below_watermark(view) => Some(Change::Degrade(Trigger::Watermark)),
            Mode::Normal if view.free < self.params.low_pool && !view.has_half_invalid => {
                Some(Change::Degrade(Trigger::LowPool))
            }
            Mode::Degraded
                if view.has_freed && now > new + self.params.hysteresis.get() && !self.is_below_watermark(view) =>
            {
                Some(Change::Recover)
            }
            Mode::Normal | Mode::Degraded => None,
        }
    }

    fn needs(&self) -> Needs {
        Needs { blocks_max: Some(BLOCKS_MAX), ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A drive of 128 units that exported 119.2 when new, in thousandths.
    fn view(physical: u64, valid: u64) -> ModeView {
        ModeView {
            mode: Mode::Normal,
            physical_initial: 128_000,
            physical,
            logical_initial: 119_200,
            valid,
            free: 20,
            has_half_invalid: true,
            has_freed: false,
        }
    }

    fn judged(toml: &str, view: ModeView) -> Option<Change> {
        OverProvisioning::read(toml.parse().unwrap()).unwrap().judge(&view)
    }

    #[test]
    fn effective_over_provisioning_decides() {
        // 128 / 120 is 6.7 %, below the 7.4 % of the new drive; 100 / 90 is 11 %.
        assert_eq!(judged("", view(128_000, 120_000)), Some(Change::Degrade(Trigger::OverProvisioning)));
        assert_eq!(judged("", view(100_000, 90_000)), None);
        assert_eq!(judged("", view(128_000, 119_200)), None, "a full new drive is normal");
        assert_eq!(judged("", view(1_000, 0)), None, "so is one without data");
    }

    #[test]
    fn the_watermark_and_a_low_pool_degrade_as_well() {
        assert_eq!(judged("watermark = 0.5", view(63_999, 1)), Some(Change::Degrade(Trigger::Watermark)));
        assert_eq!(judged("watermark = 0.5", view(64_000, 1)), None);
        let low = ModeView { free: 4, has_half_invalid: false, ..view(100_000, 1) };
        assert_eq!(judged("", low), Some(Change::Degrade(Trigger::LowPool)));
        assert_eq!(judged("", ModeView { has_half_invalid: true, ..low }), None);
        assert_eq!(judged("", ModeView { free: 5, ..low }), None);
        assert_eq!(judged("low-pool = 0", low), None);
    }

    #[test]
    fn a_drive_recovers_when_the_host_has_freed_enough() {
        let degraded = ModeView { mode: Mode::Degraded, has_freed: true, ..view(100_000, 90_000) };
        assert_eq!(judged("", degraded), Some(Change::Recover));
        assert_eq!(judged("", ModeView { has_freed: false, ..degraded }), None);
        assert_eq!(judged("hysteresis = 0.04", degraded), None, "11.1 % is no more than 7.4 and 4 %");
        assert_eq!(judged("watermark = 0.9", degraded), None);
        assert_eq!(judged("", ModeView { valid: 94_000, ..degraded }), None, "6.4 %");
    }
}
