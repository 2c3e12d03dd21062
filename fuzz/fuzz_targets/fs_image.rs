//! Any bytes as edits of a small file system, sealed again: it is refused or used, and never a panic, a hang or memory without bound.
//!
//! `cargo +nightly fuzz run fs_image`

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/stores/fs/tests/edits/mod.rs"]
mod edits;

fuzz_target!(|bytes: &[u8]| edits::run(bytes));
