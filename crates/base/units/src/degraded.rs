//! What made a drive degraded.

use serde::{Deserialize, Serialize};

/// What made a drive with wear focusing degraded (001, section 3.2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// The effective over-provisioning fell below the over-provisioning of the new drive.
    OverProvisioning,
    /// The flash in service fell below a share of the new drive's.
    Watermark,
    /// Few blocks are free, and no closed one is more than half invalid.
    LowPool,
    /// The host set the mode.
    Host,
}

impl Trigger {
    /// Every trigger.
    pub const ALL: [Self; 4] = [Self::OverProvisioning, Self::Watermark, Self::LowPool, Self::Host];

    /// The trigger's name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OverProvisioning => "over-provisioning",
            Self::Watermark => "watermark",
            Self::LowPool => "low-pool",
            Self::Host => "host",
        }
    }

    /// The inverse of [`Trigger::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|trigger| trigger.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        for trigger in Trigger::ALL {
            assert_eq!(Trigger::from_name(trigger.name()), Some(trigger));
        }
        assert_eq!(Trigger::from_name("bad"), None);
    }
}
