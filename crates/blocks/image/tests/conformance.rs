//! An image follows the rules of every block device.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::sync::atomic::{AtomicU32, Ordering};

use wane_image::Image;
use wane_testkit::conformance;

#[test]
fn a_file_is_a_block_device() {
    let folder = tempfile::tempdir().unwrap();
    let number = AtomicU32::new(0);
    let make = || {
        // The file goes with its last device.
        let path = folder.path().join(number.fetch_add(1, Ordering::Relaxed).to_string());
        let image = Image::create(&path, 2 << 20).unwrap();
        std::fs::remove_file(path).unwrap();
        Box::new(image) as Box<dyn wane_blockdev::BlockDevice>
    };
    conformance::block_device_cases("an image", &make, 24);
}
