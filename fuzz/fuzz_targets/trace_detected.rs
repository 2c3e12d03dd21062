//! Any bytes as a trace whose format is recognized by content.
//!
//! `cargo +nightly fuzz run trace_detected`

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = wane_workload::trace::read_all(bytes, None);
});
