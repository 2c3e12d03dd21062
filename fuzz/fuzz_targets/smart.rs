//! Any bytes as a tool's report about a drive, which is judged if it can be read.
//!
//! `cargo +nightly fuzz run smart`

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(judgement) = wane_smart::read(bytes).map(wane_smart::doctor::judge) {
        let _ = judgement.map(|judgement| (judgement.text(), judgement.prometheus(), judgement.ceph()));
    }
});
