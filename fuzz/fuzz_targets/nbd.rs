//! Arbitrary bytes of a client of the network block device protocol: cargo +nightly fuzz run nbd
#![no_main]

use libfuzzer_sys::fuzz_target;
use wane_nbd::{Block, Export, FRAME_BYTES, Frame, Handshake, Turn};

fuzz_target!(|sent: &[u8]| {
    let block = Block { least: 512, preferred: 4096, most: 32 << 20 };
    let export = |name: &str, is_default| {
        let (name, description) = (name.to_owned(), "a drive".to_owned());
        Export { name, is_default, description, size: 1 << 30, is_read_only: false, block }
    };
    let exports = [export("drive", true), export("other", false)];
    let (mut handshake, mut rest) = (Handshake::default(), sent);
    while let Ok((taken, turn)) = handshake.feed(rest, &exports, &mut Vec::new()) {
        rest = &rest[taken..];
        if turn != Turn::More || taken == 0 {
            break;
        }
    }
    while let Some(head) = rest.first_chunk::<FRAME_BYTES>() {
        let Ok(frame) = Frame::parse(head) else { break };
        rest = rest.get(FRAME_BYTES + frame.data()..).unwrap_or_default();
    }
});
