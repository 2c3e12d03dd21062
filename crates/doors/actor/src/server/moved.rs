//! Counters of the bytes that a drive moves while it serves.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::Moved;

macro_rules! counted {
    ($($name:ident),+ $(,)?) => {
        /// See [`Moved`].
        #[derive(Debug, Default)]
        pub(super) struct Counted {
            $(pub(super) $name: AtomicU64,)+
        }

        impl Counted {
            /// Returns the present counts.
            pub(super) fn read(&self) -> Moved {
                Moved { $($name: self.$name.load(Ordering::Relaxed)),+ }
            }
        }
    };
}

counted!(
    cells_in,
    cells_out,
    sources_in,
    sources_out,
    made_in,
    made_out,
    decoded_out,
    handed_in,
    handed_out,
    blocks_coded,
);

/// Adds bytes to a count.
pub(super) fn add(count: &AtomicU64, bytes: usize) {
    count.fetch_add(bytes as u64, Ordering::Relaxed);
}
