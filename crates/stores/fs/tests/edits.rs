//! Images with arbitrary edits: the fuzz target `fs_image` with seeded bytes.

#![allow(clippy::expect_used, reason = "a test may fail by panicking")]

#[path = "edits/mod.rs"]
mod edits;

use wane_sim::Streams;

#[test]
fn images_without_edits_are_sound() {
    assert_eq!(edits::files_of_images(), [66; 2]);
}

#[test]
fn edited_images_do_no_harm_to_the_program() {
    let images: u64 = std::env::var("WANE_FS_IMAGES").ok().and_then(|given| given.parse().ok()).unwrap_or(600);
    for seed in 0..images {
        let mut stream = Streams::new(seed).stream("fs.edits");
        let count = 1 + stream.below(5) as usize;
        let mut input: Vec<u8> = (0..1 + count * edits::EDIT).map(|_| stream.below(256) as u8).collect();
        for edit in input[1..].chunks_exact_mut(edits::EDIT) {
            // Most numbers stand at the beginning of a block, or in its seal; odd ones are small, or all ones.
            let place = match stream.below(3) {
                0 => stream.below(160) * 4,
                1 => 4064 + stream.below(8) * 4,
                _ => stream.below(4093),
            };
            edit[2..4].copy_from_slice(&(place as u16).to_le_bytes());
            match stream.below(4) {
                0 => edit[4..8].fill(0xFF),
                1 => edit[4..8].copy_from_slice(&(stream.below(700) as u32).to_le_bytes()),
                2 => edit[4..8].copy_from_slice(&(u32::MAX - 1).to_le_bytes()),
                _ => {}
            }
            edit[8] &= u8::from(stream.below(4) == 0);
        }
        let ended = std::panic::catch_unwind(|| edits::run(&input));
        assert!(ended.is_ok(), "image {seed}: {input:?}");
    }
}
