//! One request of a host, as a trace records it.

use serde::{Deserialize, Serialize};

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Op {
    /// Read data.
    Read,
    /// Write data.
    Write,
    /// The data is no longer needed (TRIM, deallocate, discard).
    Trim,
    /// Make earlier writes durable. Has no address.
    Flush,
}

/// One request. Addresses and lengths are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Arrival in nanoseconds since the first request of the trace; 0 where the format has no time.
    pub at: u64,
    /// What is asked.
    pub op: Op,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
}
