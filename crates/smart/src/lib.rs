//! A drive's health: one record, and the pages that others know it by.
//!
//! [`HealthRecord`] is plain data that a drive fills from its true state. Of it come the NVMe log pages [`HealthLog`] (02h) and
//! [`EnduranceGroupLog`] (09h), OCP's [`OcpLog`] (C0h), each as fields and as 512 bytes, what `smartctl --json` prints ([`smartctl`]),
//! and its table for people ([`table`]). What nothing models is a constant of [`assumed`], with its reason; flash operations take the
//! energies of [`energy`].
//!
//! Nothing here knows a drive, and nothing is counted here: pages are computed when they are asked for.
//!
//! Sources: NVM Express Base Specification, "Get Log Page"; OCP Datacenter NVMe SSD Specification 2.7, section 4.8.6; both with the layouts that
//! libnvme and nvme-cli decode (`nvme_smart_log`, `nvme_endurance_group_log`, `ocp_smart_extended_log`). smartctl 7.3 for what is printed.

#[macro_use]
mod page;
pub mod assumed;
mod endurance;
pub mod energy;
mod health;
mod identity;
mod json;
mod ocp;
mod record;
mod table;

pub use endurance::EnduranceGroupLog;
pub use health::HealthLog;
pub use identity::Identity;
pub use json::smartctl;
pub use ocp::{OCP_GUID, OcpLog};
pub use page::{Guid, LogError, LogId, LogPage, PAGE_BYTES, Text};
pub use record::HealthRecord;
pub use table::table;
