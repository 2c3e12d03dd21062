//! A request of a host, as a trace records it.

use serde::{Deserialize, Serialize};

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Op {
    /// Read data.
    Read,
    /// Write data.
    Write,
    /// The data is no longer needed (TRIM, deallocate, discard).
    Trim,
    /// Make earlier writes durable. It has no address.
    Flush,
}

/// One request. Addresses and lengths are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Arrival in nanoseconds since the first request of the trace; 0 if the format has no times.
    pub at: u64,
    /// The operation.
    pub op: Op,
    /// Address of the first byte.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
}
