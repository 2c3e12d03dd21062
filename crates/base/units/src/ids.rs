//! Typed ids: `repr(transparent)` over their integer, without arithmetic.
//!
//! They are plain old data, so a slice of integers becomes a slice of ids without a copy ([`Lpn::slice`]). One kind is never
//! mistaken for another:
//!
//! ```compile_fail
//! let flash_block: wane_units::BlockId = wane_units::SuperblockId(7);
//! ```

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($raw:ty)) => {
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, bytemuck::Pod, bytemuck::Zeroable)]
        pub struct $name(pub $raw);

        impl $name {
            /// The id as an index into a table.
            #[inline(always)]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// A slice of raw numbers as one of ids, without a copy.
            #[inline(always)]
            pub fn slice(raw: &[$raw]) -> &[Self] {
                bytemuck::cast_slice(raw)
            }

            /// The ids of a range.
            pub fn all(range: std::ops::Range<$raw>) -> impl DoubleEndedIterator<Item = Self> + Clone {
                range.map(Self)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// Host sector of 512 bytes.
    Lba(u64)
);
id!(
    /// Logical mapping unit: one unit of the host's address space.
    Lpn(u32)
);
id!(
    /// Physical page: one unit of program.
    Ppn(u32)
);
id!(
    /// Physical mapping unit: the place of one unit of the map on the flash. They are numbered superblock by superblock: unit
    /// `i` of superblock `s` is `s * units_per_block + i`.
    UnitId(u32)
);
id!(
    /// Erase block of the flash. Blocks are numbered die by die, so that a die owns a contiguous range.
    BlockId(u32)
);
id!(
    /// Firmware block, which the firmware erases as one: a block, or a superblock of several. Policies, free lists and victim
    /// indexes know only these. They are numbered domain by domain.
    SuperblockId(u32)
);
id!(
    /// Plane of a die.
    PlaneId(u32)
);
id!(
    /// Die: the unit that executes a flash command (ONFI: LUN). Consecutive dies lie on consecutive channels.
    DieId(u32)
);
id!(
    /// Channel: the bus that dies share.
    ChannelId(u32)
);
