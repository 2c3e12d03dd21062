//! Any bytes as a trace of a given format; the first byte chooses it.
//!
//! `cargo +nightly fuzz run trace_forced`

#![no_main]

use libfuzzer_sys::fuzz_target;
use wane_workload::trace::{Format, read_all};

fuzz_target!(|bytes: &[u8]| {
    if let Some((choice, trace)) = bytes.split_first() {
        let _ = read_all(trace, Some(Format::ALL[usize::from(*choice) % Format::ALL.len()]));
    }
});
