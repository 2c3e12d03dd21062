//! A drive's health: one record, and the log pages and formats made from it.
//!
//! [`HealthRecord`] is plain data that a drive fills from its true state. From it are made the NVMe log pages [`HealthLog`] (02h)
//! and [`EnduranceGroupLog`] (09h), OCP's [`OcpLog`] (C0h) and wane's own [`RequirementLog`] (CAh), each as fields and as 512 bytes, the output of
//! `smartctl --json` ([`smartctl`]), and its table for people ([`table`]). Values that nothing models are constants of [`assumed`], with their
//! reasons; flash operations take the energies of [`energy`].
//!
//! The other way, [`read`] parses the output of tools for any drive, real or simulated, into [`Reading`]s. A record has
//! everything that a simulated drive knows; a reading has only what was reported. [`attributes`] is the table of vendors'
//! meanings, and [`doctor`] judges readings.
//!
//! Nothing here knows a drive or counts anything: pages are computed when they are asked for.
//!
//! Sources: NVM Express Base Specification, "Get Log Page"; OCP Datacenter NVMe SSD Specification 2.7, section 4.8.6; both with
//! the layouts that libnvme and nvme-cli decode (`nvme_smart_log`, `nvme_endurance_group_log`, `ocp_smart_extended_log`). Output
//! follows smartctl 7.3.

#[macro_use]
mod page;
pub mod assumed;
pub mod attributes;
mod consistency;
pub mod doctor;
mod endurance;
pub mod energy;
mod health;
mod identity;
mod json;
mod names;
mod numbers;
mod ocp;
mod quantity;
mod read;
mod reading;
mod record;
mod requirement;
mod statistics;
mod table;
mod time;

pub use endurance::EnduranceGroupLog;
pub use health::HealthLog;
pub use identity::Identity;
pub use json::smartctl;
pub use ocp::{OCP_GUID, OcpLog};
pub use page::{Guid, LogError, LogId, LogPage, PAGE_BYTES, Text};
pub use quantity::{Kind, Quantity};
pub use read::{ReadError, latest_first, read, read_named};
pub use reading::{Attribute, Failed, Known, Protocol, Reading, Source};
pub use record::HealthRecord;
pub use requirement::{REQUIREMENT_GUID, RequirementLog};
pub use table::table;
