//! The cost of QLC drives and hard disks for the same work, by 002, section 5.2.3. Every price and power is an input.
//!
//! [`Inputs`] holds the paper's values unless others are given; [`INPUTS`] says where each comes from; [`compare`] computes [`Figures`]. The paper
//! gives ranges for a hard disk's power and for the bytes through its interface, so that results from these are ranges too. [`ownership`]
//! adds energy, for which the paper has no price.

mod benchmarks;
mod inputs;

pub use benchmarks::{BENCHMARKED, Benchmarked, COMPARED, Compared, Side};
pub use inputs::{FIGURES, Figures, INPUTS, Input, Inputs};

use crate::FleetError;
use crate::error::{positive, within};

/// Slack of rounding up, so that a floating-point error above a whole number does not add one.
const CEILING_SLACK: f64 = 1e-9;

/// Parity drives of a RAID-5 and of a RAID-6.
const PARITY: (f64, f64) = (1.0, 2.0);

/// Computes the comparison of section 5.2.3.
///
/// An array of n disks, p of them parity, reads with n - p times a disk's throughput (reads skip the parity) and n times its IOPS (a small
/// read needs one disk). As in the paper, the SSD's dollars per GB are compared with the price of an array divided by the GB of one of its disks.
///
/// # Errors
///
/// [`FleetError::OutOfRange`] for a price, a power or a size that is not above 0, a share of writes outside 0 to 1, a range whose ends are
/// swapped, numbers of bays or drives that are not whole, or arrays too small for their parity.
pub fn compare(inputs: &Inputs) -> Result<Figures, FleetError> {
    checked(inputs)?;
    let of = inputs;
    let ssd_per_watt = of.ssd_read_iops / of.ssd_watts;
    let (hdd_per_watt_min, hdd_per_watt_max) =
        (of.hdd_read_iops / of.hdd_watts_max, of.hdd_read_iops / of.hdd_watts_min);
    let ssd_interface_pb = of.ssd_tbw / of.ssd_write_share / 1000.0;
    let data_drives = whole(of.ssd_random_mb_per_s / of.hdd_random_mb_per_s);
    let (raid5, raid6) = (of.raid5_drives, of.raid6_drives);
    assert!(raid5 > PARITY.0, "a RAID-5 has drives of data");
    assert!(raid6 > PARITY.1, "a RAID-6 has drives of data");
    let hdd_2u_tb = of.hdd_bays * of.hdd_tb;
    let ssd_2u_tb = of.ssd_bays * of.ssd_tb;
    Ok(Figures {
        read_iops_gain: of.ssd_read_iops / of.hdd_read_iops,
        power_ratio_min: of.hdd_watts_min / of.ssd_watts,
        power_ratio_max: of.hdd_watts_max / of.ssd_watts,
        ssd_read_iops_per_watt: ssd_per_watt,
        hdd_read_iops_per_watt_min: hdd_per_watt_min,
        hdd_read_iops_per_watt_max: hdd_per_watt_max,
        iops_per_watt_ratio_min: ssd_per_watt / hdd_per_watt_max,
        iops_per_watt_ratio_max: ssd_per_watt / hdd_per_watt_min,
        ssd_interface_pb,
        interface_gain_min: ssd_interface_pb / of.hdd_interface_pb_max - 1.0,
        interface_gain_max: ssd_interface_pb / of.hdd_interface_pb_min - 1.0,
        raid5_mb_per_s: (raid5 - PARITY.0) * of.hdd_random_mb_per_s,
        raid6_mb_per_s: (raid6 - PARITY.1) * of.hdd_random_mb_per_s,
        raid5_read_iops: raid5 * of.hdd_read_iops,
        raid6_read_iops: raid6 * of.hdd_read_iops,
        raid5_drives_for_throughput: f64::max(data_drives + PARITY.0, RAID5_MIN),
        raid6_drives_for_throughput: f64::max(data_drives + PARITY.1, RAID6_MIN),
        drives_for_read_iops: whole(of.ssd_read_iops / of.hdd_read_iops),
        raid5_dollars_per_drive_gb: raid5 * of.hdd_dollars_per_gb,
        raid6_dollars_per_drive_gb: raid6 * of.hdd_dollars_per_gb,
        raid5_dollars_per_usable_gb: raid5 / (raid5 - PARITY.0) * of.hdd_dollars_per_gb,
        raid6_dollars_per_usable_gb: raid6 / (raid6 - PARITY.1) * of.hdd_dollars_per_gb,
        raid5_watts_min: raid5 * of.hdd_watts_min,
        raid5_watts_max: raid5 * of.hdd_watts_max,
        raid6_watts_min: raid6 * of.hdd_watts_min,
        raid6_watts_max: raid6 * of.hdd_watts_max,
        hdd_dollars_per_read_iops: of.hdd_dollars_per_gb * 1000.0 * of.hdd_tb / of.hdd_read_iops,
        ssd_dollars_per_read_iops: of.ssd_dollars_per_gb * 1000.0 * of.ssd_tb / of.ssd_read_iops,
        hdd_2u_tb,
        fast_hdd_2u_tb: of.fast_hdd_bays * of.fast_hdd_tb,
        ssd_2u_tb,
        density_gain: ssd_2u_tb / hdd_2u_tb - 1.0,
    })
}

/// The fewest drives of an array.
const RAID5_MIN: f64 = 3.0;
const RAID6_MIN: f64 = 4.0;

/// Largest number of drives: more than any array or shelf has.
const DRIVES_MAX: f64 = 1e6;

fn whole(count: f64) -> f64 {
    libm::ceil(count - CEILING_SLACK)
}

fn checked(inputs: &Inputs) -> Result<(), FleetError> {
    for (input, value) in INPUTS.iter().zip(inputs.values()) {
        positive(input.name, value)?;
    }
    within("ssd_write_share", inputs.ssd_write_share, 0.0, 1.0)?;
    within("hdd_watts_max", inputs.hdd_watts_max, inputs.hdd_watts_min, f64::MAX)?;
    within("hdd_interface_pb_max", inputs.hdd_interface_pb_max, inputs.hdd_interface_pb_min, f64::MAX)?;
    let counts = [
        ("hdd_bays", inputs.hdd_bays, 1.0),
        ("fast_hdd_bays", inputs.fast_hdd_bays, 1.0),
        ("ssd_bays", inputs.ssd_bays, 1.0),
        ("raid5_drives", inputs.raid5_drives, RAID5_MIN),
        ("raid6_drives", inputs.raid6_drives, RAID6_MIN),
    ];
    for (what, found, least) in counts {
        if found != libm::floor(found) || !(least..=DRIVES_MAX).contains(&found) {
            let allowed = format!("a whole number from {least} to {DRIVES_MAX}");
            return Err(FleetError::OutOfRange { what, found, allowed });
        }
    }
    Ok(())
}

/// Drives to buy and to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Owned {
    /// Number of drives.
    pub drives: f64,
    /// Price of a gigabyte, in dollars.
    pub dollars_per_gb: f64,
    /// Capacity of a drive, in GB.
    pub gigabytes: f64,
    /// Power of a drive, in watts.
    pub watts: f64,
    /// Time that they run, in years of 365 days.
    pub years: f64,
    /// Price of energy, in dollars per kilowatt-hour.
    pub dollars_per_kwh: f64,
    /// Power usage effectiveness (PUE), at least 1: energy of the whole room, with cooling and losses, divided by that of the equipment in it.
    pub power_usage_effectiveness: f64,
}

/// Costs in dollars.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Price of the drives.
    pub purchase: f64,
    /// Energy to run and cool them.
    pub energy: f64,
    /// Sum of both.
    pub total: f64,
}

/// Computes the cost of drives over some years: their price, and energy with cooling. 002 names both but has numbers only for the first.
///
/// # Errors
///
/// [`FleetError::OutOfRange`] for an input that is not above 0 (an energy price of 0 is allowed), or a PUE below 1.
pub fn ownership(owned: &Owned) -> Result<Cost, FleetError> {
    let drives = positive("drives", owned.drives)?;
    let gigabytes = drives * positive("gigabytes", owned.gigabytes)?;
    let purchase = gigabytes * positive("dollars_per_gb", owned.dollars_per_gb)?;
    let hours = 24.0 * wane_units::DAYS_PER_YEAR * positive("years", owned.years)?;
    let kilowatts = drives * positive("watts", owned.watts)? / 1000.0;
    let overhead = within("power_usage_effectiveness", owned.power_usage_effectiveness, 1.0, 10.0)?;
    let price = within("dollars_per_kwh", owned.dollars_per_kwh, 0.0, 1000.0)?;
    let energy = kilowatts * hours * overhead * price;
    Ok(Cost { purchase, energy, total: purchase + energy })
}

#[cfg(test)]
mod tests;
