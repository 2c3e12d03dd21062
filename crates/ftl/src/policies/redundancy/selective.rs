//! Stripes over cold data only: the redundancy of holistic reliability management.

use serde::Deserialize;
use wane_nand::Task;

use super::{BuiltinRedundancy, RedundancyPolicy, check_size};
use crate::policies::Builtin;

/// See [`Builtin::PAGE`].
#[derive(Clone, Debug)]
pub struct Selective {
    data_pages: u32,
    rereads_max: u32,
}

/// Parameters of [`Selective`].
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    data_pages: u32,
    rereads_max: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { data_pages: 15, rereads_max: 1 }
    }
}

impl Builtin for Selective {
    const NAME: &'static str = "selective";
    const SUMMARY: &'static str = "only data that garbage collection or wear leveling moved join a stripe";
    const EXAMPLE: &'static str = "{ policy = \"selective\", data-pages = 15, rereads-max = 1 }";
    const PAGE: &'static str = "\
Data are classed by who moved them last. What garbage collection or wear leveling moved is cold and joins a stripe, as with
`stripes`; what the scrubber moved is read often, and what the host wrote will soon be overwritten, so neither is worth
its parity. A protected page is re-read at most so many times and then reconstructed, since every re-read disturbs its
neighbors; other pages are re-read as often as error correction allows.

| key | default | allowed | meaning |
|---|---|---|---|
| `data-pages` | `15` | 1 to 1024 | data pages of a stripe; one fewer than the dies at most |
| `rereads-max` | `1` | 0 and up | re-reads of a protected page before it is reconstructed |

Source: Kim et al., FAST 2019 (004) §5; the limit of one is ours.
";
    type Params = Params;

    fn check(params: &Params) -> Result<(), String> {
        check_size(params.data_pages)
    }
}

impl BuiltinRedundancy for Selective {
    fn new(params: &Params) -> Self {
        Self { data_pages: params.data_pages, rereads_max: params.rereads_max }
    }
}

impl RedundancyPolicy for Selective {
    fn data_pages(&self) -> u32 {
        self.data_pages
    }

    fn protects(&self, task: Task) -> bool {
        matches!(task, Task::GarbageCollection | Task::WearLeveling)
    }

    fn rereads_max(&self) -> Option<u32> {
        Some(self.rereads_max)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Stripes;
    use super::*;

    #[test]
    fn only_cold_data_are_protected() {
        let selective = Selective::new(&Params::default());
        let stripes = Stripes::new(&Default::default());
        let protected = Task::ALL.map(|task| (selective.protects(task), stripes.protects(task)));
        assert_eq!(protected, [(false, true), (true, true), (false, true), (true, true)]);
        assert_eq!((selective.rereads_max(), stripes.rereads_max()), (Some(1), None));
    }
}
