//! Any bytes as a scenario file.
//!
//! `cargo +nightly fuzz run scenario`

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = wane_scenario::resolve_bytes(bytes);
});
