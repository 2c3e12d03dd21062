//! Typed ids. `repr(transparent)` over their integer, no arithmetic.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($raw:ty)) => {
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $raw);

        impl $name {
            /// The id as an index into a table.
            #[inline(always)]
            pub const fn index(self) -> usize {
                self.0 as usize
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
    /// Logical page: one mapping unit of the host's address space.
    Lpn(u32)
);
id!(
    /// Physical page: one unit of program.
    Ppn(u32)
);
id!(
    /// Erase block. Blocks are numbered die by die, so that a die owns a contiguous range.
    BlockId(u32)
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
