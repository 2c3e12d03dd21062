//! Inputs and figures of the comparison, each with one name for Rust, Python and messages.

/// An input of the comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Input {
    /// Its name.
    pub name: &'static str,
    /// The paper's value.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// Where the value comes from.
    pub source: &'static str,
}

macro_rules! inputs {
    ($($name:ident = $value:literal, $unit:literal, $source:literal, $says:literal;)+) => {
        /// Inputs of the comparison; [`INPUTS`] has units and sources.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Inputs {
            $(#[doc = $says] pub $name: f64,)+
        }

        /// Every input, in the order of the fields.
        pub const INPUTS: [Input; [$(stringify!($name)),+].len()] =
            [$(Input { name: stringify!($name), value: $value, unit: $unit, source: $source }),+];

        /// The paper's values.
        impl Default for Inputs {
            fn default() -> Self {
                Self { $($name: $value),+ }
            }
        }

        impl Inputs {
            /// The inputs with these values, in the order of [`INPUTS`].
            pub const fn from_values([$($name),+]: [f64; INPUTS.len()]) -> Self {
                Self { $($name),+ }
            }

            /// The values in the order of [`INPUTS`].
            pub const fn values(&self) -> [f64; INPUTS.len()] {
                [$(self.$name),+]
            }
        }
    };
}

macro_rules! figures {
    ($($name:ident, $says:literal;)+) => {
        /// Figures of the comparison.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Figures {
            $(#[doc = $says] pub $name: f64,)+
        }

        /// The names of the figures, in the order of the fields.
        pub const FIGURES: [&str; [$(stringify!($name)),+].len()] = [$(stringify!($name)),+];

        impl Figures {
            /// The values in the order of [`FIGURES`].
            pub const fn values(&self) -> [f64; FIGURES.len()] {
                [$(self.$name),+]
            }
        }
    };
}

inputs! {
    hdd_read_iops = 189.0, "1/s", "002, table 5.3", "Random reads a second of a hard disk.";
    hdd_random_mb_per_s = 50.0, "MB/s", "002, table 5.3", "Random throughput of a hard disk, in MB/s.";
    hdd_dollars_per_gb = 0.02, "$/GB", "002, table 5.3", "Price of a hard disk, in dollars a GB.";
    hdd_watts_min = 8.0, "W", "002, section 5.2.3: 8 to 11 W", "The least that a hard disk draws, in watts.";
    hdd_watts_max = 11.0, "W", "002, section 5.2.3: 8 to 11 W", "The most that a hard disk draws, in watts.";
    hdd_interface_pb_min = 2.5, "PB", "002, section 5.2.3: 2.5 to 3.5 PB", "The least that a hard disk reads and writes in its life, in PB.";
    hdd_interface_pb_max = 3.5, "PB", "002, section 5.2.3: 2.5 to 3.5 PB", "The most that a hard disk reads and writes in its life, in PB.";
    hdd_tb = 14.0, "TB", "002, section 5.2.3: 3.5 inches, 7,200 turns a minute", "Capacity of a large hard disk, in TB.";
    hdd_bays = 12.0, "drives", "002, section 5.2.3: a twelve-bay server of 2U", "Large hard disks in 2U.";
    fast_hdd_tb = 2.4, "TB", "002, section 5.2.3: 2.5 inches, 10,000 turns a minute", "Capacity of a fast hard disk, in TB.";
    fast_hdd_bays = 12.0, "drives", "002, section 5.2.3: a twelve-bay server of 2U", "Fast hard disks in 2U.";
    ssd_read_iops = 2441.0, "1/s", "002, table 5.3 as eQLC; brand C's, consumer QLC, in table 5.2", "Random reads a second of the SSD.";
    ssd_random_mb_per_s = 186.0, "MB/s", "002, table 5.3", "Random throughput of the SSD, in MB/s.";
    ssd_dollars_per_gb = 0.12, "$/GB", "002, table 5.3", "Price of the SSD, in dollars a GB.";
    ssd_watts = 3.0, "W", "002, section 5.2.3", "What the SSD draws, in watts.";
    ssd_tbw = 450.0, "TB", "002, section 5.2.3", "What may be written to the SSD in its life, in TB.";
    ssd_write_share = 0.1, "share of bytes", "002, section 5.2.3: 90 % reads or more", "Writes among all bytes, above 0 and up to 1.";
    ssd_tb = 7.6, "TB", "002, section 5.2.3", "Capacity of the SSD, in TB.";
    ssd_bays = 24.0, "drives", "not printed: the least that 184 TB of 002, section 5.2.3, can mean", "SSDs in 2U.";
    raid5_drives = 5.0, "drives", "002, section 5.2.3", "Hard disks of a RAID-5.";
    raid6_drives = 7.0, "drives", "002, section 5.2.3", "Hard disks of a RAID-6.";
}

figures! {
    read_iops_gain, "Reads a second of the SSD over those of a hard disk.";
    power_ratio_min, "Power of a hard disk over that of the SSD, at the least.";
    power_ratio_max, "Power of a hard disk over that of the SSD, at the most.";
    ssd_read_iops_per_watt, "Reads a second a watt of the SSD.";
    hdd_read_iops_per_watt_min, "Reads a second a watt of a hard disk that draws the most.";
    hdd_read_iops_per_watt_max, "Reads a second a watt of a hard disk that draws the least.";
    iops_per_watt_ratio_min, "Reads a second a watt of the SSD over those of a hard disk, at the least.";
    iops_per_watt_ratio_max, "Reads a second a watt of the SSD over those of a hard disk, at the most.";
    ssd_interface_pb, "What the SSD reads and writes until its writes are used up, in PB.";
    interface_gain_min, "What the SSD reads and writes over the most of a hard disk, less 1.";
    interface_gain_max, "What the SSD reads and writes over the least of a hard disk, less 1.";
    raid5_mb_per_s, "Random throughput of the RAID-5's data drives, in MB/s.";
    raid6_mb_per_s, "Random throughput of the RAID-6's data drives, in MB/s.";
    raid5_read_iops, "Random reads a second of the RAID-5's drives.";
    raid6_read_iops, "Random reads a second of the RAID-6's drives.";
    raid5_drives_for_throughput, "The fewest drives of a RAID-5 that reach the SSD's random throughput.";
    raid6_drives_for_throughput, "The fewest drives of a RAID-6 that reach it.";
    drives_for_read_iops, "The fewest hard disks that reach the SSD's reads a second.";
    raid5_dollars_per_drive_gb, "Price of the RAID-5 over the GB of one of its drives, in dollars.";
    raid6_dollars_per_drive_gb, "Price of the RAID-6 over the GB of one of its drives, in dollars.";
    raid5_dollars_per_usable_gb, "Price of the RAID-5 over its usable GB, in dollars.";
    raid6_dollars_per_usable_gb, "Price of the RAID-6 over its usable GB, in dollars.";
    raid5_watts_min, "The least that the RAID-5 draws, in watts.";
    raid5_watts_max, "The most that the RAID-5 draws, in watts.";
    raid6_watts_min, "The least that the RAID-6 draws, in watts.";
    raid6_watts_max, "The most that the RAID-6 draws, in watts.";
    hdd_dollars_per_read_iops, "Price of a large hard disk over its reads a second, in dollars.";
    ssd_dollars_per_read_iops, "Price of the SSD over its reads a second, in dollars.";
    hdd_2u_tb, "Large hard disks in 2U, in TB.";
    fast_hdd_2u_tb, "Fast hard disks in 2U, in TB.";
    ssd_2u_tb, "SSDs in 2U, in TB.";
    density_gain, "SSDs in 2U over large hard disks, less 1.";
}
