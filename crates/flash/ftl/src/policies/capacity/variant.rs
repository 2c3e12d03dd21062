//! Variant capacity: the drive gives up logical space instead of dying.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_units::Bytes;

use super::{CapacityPolicy, CapacityView, Demand, ShrinkMethod};
use crate::policies::Builtin;
use crate::policies::state::remembered_by_serde;

/// See [`VariantParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Variant {
    params: VariantParams,
    dropped: bool,
}

/// When logical space is given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shrink {
    /// Nothing happens until the spare blocks are used up or at most one block is free. Then every page that the workload never
    /// wrote is given up at once.
    #[default]
    Lazy,
    /// Each retired block lowers the exported capacity, and a drive short of free blocks gives up all unused space.
    Graceful,
}

/// What a graceful drive keeps as long as it can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// Its over-provisioning ratio.
    #[default]
    OverProvisioning,
    /// Its capacity as long as spare blocks last.
    Capacity,
    /// Its spare blocks: the exported capacity shrinks by the capacity of the retired blocks, as with the host of 001.
    Spare,
}

/// Gives up logical space instead of dying.
///
/// As blocks retire the drive exports less, down to the pages that the workload uses. It dies when those no longer fit. Capacity
/// never comes back: after a lazy drive gave up its unused pages, a never written page fits only if another was trimmed.
///
/// With `graceful`, used pages above the exported capacity are relocated by the file system into its lowest free pages;
/// their writes count as `flash.pages_programmed.file_system`, not as host writes.
///
/// Source: dissertation (000) ch. 4 and §4.5.3; the released FTLSim for `lazy`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(extend("dependentSchemas" = {
    "relocation-bound": { "required": ["shrink"], "properties": { "shrink": { "const": Shrink::Graceful } } }
}))]
pub struct VariantParams {
    /// When logical space is given up.
    pub shrink: Shrink,
    /// What a graceful drive keeps as long as it can.
    pub keep: Keep,
    /// Most data that the file system may relocate out of given-up space over the drive's life; `graceful` only. Once the bound
    /// is reached, the capacity stays and over-provisioning shrinks. The drive ends when its blocks hold no more than that
    /// capacity. With `"0 B"` the capacity is fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-scales" = "capacity"))]
    pub relocation_bound: Option<Bytes>,
    /// How a graceful drive's file system gives up space.
    pub method: ShrinkMethod,
    /// Number of retired blocks after which a drive with `keep = "spare"` gives up space again; superblocks count as blocks. The artifact
    /// of 001 gives up whole GiB, which are 4 of its superblocks.
    #[schemars(range(min = 1, max = 1 << 20), extend("x-scales" = "blocks"))]
    pub step: u32,
}

impl Default for VariantParams {
    fn default() -> Self {
        Self {
            shrink: Shrink::Lazy,
            keep: Keep::OverProvisioning,
            relocation_bound: None,
            method: ShrinkMethod::Relocate,
            step: 1,
        }
    }
}

impl Builtin for Variant {
    const NAME: &'static str = "variant";
    type Params = VariantParams;

    fn build(params: VariantParams) -> Self {
        Self { params, dropped: false }
    }

    fn check(params: &VariantParams) -> Result<(), String> {
        let is_graceful = params.shrink == Shrink::Graceful;
        if params.relocation_bound.is_some() && !is_graceful {
            return Err("relocation-bound needs shrink = \"graceful\"; a lazy drive relocates nothing".to_owned());
        }
        if params.relocation_bound.is_some() && params.method != ShrinkMethod::Relocate {
            return Err("relocation-bound needs method = \"relocate\"; nothing else relocates data".to_owned());
        }
        if params.method != ShrinkMethod::Relocate && !is_graceful {
            return Err("method needs shrink = \"graceful\"; a lazy drive moves nothing".to_owned());
        }
        if params.step != 1 && (params.keep != Keep::Spare || !is_graceful) {
            return Err("step needs shrink = \"graceful\" and keep = \"spare\"".to_owned());
        }
        Ok(())
    }
}

impl Variant {
    fn lazy(&mut self, view: &CapacityView) -> Demand {
        if self.dropped || !(view.spare_exhausted() || view.free <= 1) {
            return Demand::Keep;
        }
        self.dropped = true;
        Demand::DropUnused
    }

    fn graceful(&self, view: &CapacityView) -> Demand {
        if view.free <= 1 {
            // Out of room before the rule notices: all unused space is given up now.
            return Demand::ExportAtMost(0);
        }
        let service =
            u64::from(view.rated_blocks.saturating_sub(view.retired_blocks)) * u64::from(view.units_per_block);
        let rule = match self.params.keep {
            // floor(service x U / T), U in units: the ratio of service to logical space stays that of the new drive.
            Keep::OverProvisioning => {
                let rated = u128::from(view.rated_blocks) * u128::from(view.units_per_block);
                (u128::from(service) * u128::from(view.logical_initial) / rated) as u64
            }
            Keep::Capacity => service,
            Keep::Spare => {
                let given_up = view.retired_blocks / self.params.step * self.params.step;
                view.logical_initial.saturating_sub(u64::from(given_up) * u64::from(view.units_per_block)).min(service)
            }
        };
        debug_assert!(rule <= service, "a drive exports no more than its blocks in service hold");
        if rule < view.exported { Demand::ExportAtMost(rule) } else { Demand::Keep }
    }
}

impl CapacityPolicy for Variant {
    remembered_by_serde!();

    fn demand(&mut self, view: &CapacityView) -> Demand {
        // A file system that may move nothing cannot give up the end of its space: the paper's bound of 0 is the fixed drive.
        if self.params.relocation_bound == Some(Bytes(0)) {
            return if view.spare_exhausted() { Demand::EndOfLife } else { Demand::Keep };
        }
        match self.params.shrink {
            Shrink::Lazy => self.lazy(view),
            Shrink::Graceful => self.graceful(view),
        }
    }

    fn may_shrink(&self) -> bool {
        self.params.relocation_bound != Some(Bytes(0))
    }

    fn relocation_bound(&self) -> Option<Bytes> {
        self.params.relocation_bound
    }

    fn method(&self) -> ShrinkMethod {
        self.params.method
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::view;
    use super::*;

    fn variant(toml: &str) -> Variant {
        Variant::read(toml.parse().unwrap()).unwrap()
    }

    #[test]
    fn a_lazy_drive_drops_once_when_its_spare_is_gone() {
        let mut lazy = variant("");
        assert_eq!(lazy.demand(&view(1, 100)), Demand::Keep);
        assert_eq!(lazy.demand(&view(2, 100)), Demand::DropUnused);
        assert_eq!(lazy.demand(&view(3, 100)), Demand::Keep);
        assert_eq!(variant("").demand(&CapacityView { free: 1, ..view(1, 100) }), Demand::DropUnused);
    }

    #[test]
    fn a_graceful_drive_follows_its_rule() {
        // 10 rated blocks of 10 units hold 80 logical ones; 9 blocks leave 72 at the same ratio.
        assert_eq!(variant("shrink = 'graceful'").demand(&view(1, 80)), Demand::ExportAtMost(72));
        let capacity = "shrink = 'graceful'\nkeep = 'capacity'";
        assert_eq!(variant(capacity).demand(&view(2, 80)), Demand::Keep);
        let spare = "shrink = 'graceful'\nkeep = 'spare'";
        assert_eq!(variant(spare).demand(&view(1, 80)), Demand::ExportAtMost(70));
        let by_two = "shrink = 'graceful'\nkeep = 'spare'\nstep = 2";
        assert_eq!(variant(by_two).demand(&view(1, 80)), Demand::Keep);
        assert_eq!(variant(by_two).demand(&view(3, 80)), Demand::ExportAtMost(60));
        assert_eq!(variant(capacity).demand(&view(3, 80)), Demand::ExportAtMost(70));
        assert_eq!(variant(capacity).demand(&CapacityView { free: 1, ..view(1, 80) }), Demand::ExportAtMost(0));
    }

    #[test]
    fn a_bound_of_nothing_is_a_fixed_drive() {
        let mut bound = variant("shrink = 'graceful'\nrelocation-bound = '0 B'");
        assert_eq!(bound.demand(&view(1, 80)), Demand::Keep);
        assert_eq!(bound.demand(&view(2, 80)), Demand::EndOfLife);
        assert!(!bound.may_shrink());
    }

    #[test]
    fn keys_that_would_mean_nothing_are_refused() {
        let graceful = "shrink = 'graceful'\n";
        for (toml, names) in [
            ("relocation-bound = '1 GiB'".to_owned(), "graceful"),
            ("method = 'remap'".to_owned(), "graceful"),
            ("step = 2".to_owned(), "spare"),
            (format!("{graceful}step = 2"), "spare"),
            (format!("{graceful}relocation-bound = '1 GiB'\nmethod = 'remap'"), "method"),
        ] {
            let refused = Variant::params(toml.parse().unwrap());
            assert!(refused.unwrap_err().reason.contains(names), "{toml}");
        }
    }
}
