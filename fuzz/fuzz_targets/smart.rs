//! Any bytes as what a tool told of a drive, and judged where they are.
//!
//! `cargo +nightly fuzz run smart`

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(judgement) = wane_smart::read(bytes).map(wane_smart::doctor::judge) {
        let _ = judgement.map(|judgement| (judgement.text(), judgement.prometheus(), judgement.ceph()));
    }
});
