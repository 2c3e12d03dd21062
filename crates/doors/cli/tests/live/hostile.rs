//! Clients that do not keep to the protocol: the server closes their connections, counts them, and serves the others.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use wane_sim::{Stream, Streams};

use super::Server;
use super::client::{READ, WRITE, frame, hello};

/// Resident memory of a process, in KiB.
pub(super) fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// A session as clients have it, with some bytes changed, left out or put in.
fn mutated(stream: &mut Stream) -> Vec<u8> {
    let mut bytes = hello("");
    for _ in 0..stream.below(6) {
        let kind = stream.below(12) as u16;
        let length = [0, 1, 512, 4096, 1 << 20, 32 << 20, u32::MAX][stream.below(7) as usize];
        let offset = [0, 512, 1 << 20, 67_108_864, u64::MAX - 511][stream.below(5) as usize];
        bytes.extend(frame(kind, offset, length));
        if kind == WRITE {
            bytes.extend(vec![7; length.min(8192) as usize]);
        }
    }
    for _ in 0..stream.below(4) {
        let at = stream.below(bytes.len() as u64) as usize;
        match stream.below(3) {
            0 => bytes[at] ^= 1 << stream.below(8),
            1 => drop(bytes.drain(at..(at + 5).min(bytes.len()))),
            _ => drop(bytes.splice(at..at, [0xff; 7])),
        }
        if bytes.is_empty() {
            break;
        }
    }
    bytes
}

#[test]
fn no_client_can_harm_the_server() {
    let server = Server::tiny(&[]);
    let mut stream = Streams::new(1).stream("hostile");
    let mut good = server.client();
    let count = if super::is_full() { 20_000 } else { 1_500 };
    let before = resident(server.process.id());
    for number in 0..count {
        let mut wire = UnixStream::connect(server.path("socket")).unwrap();
        // The server may close it while more is sent.
        let _ = wire.write_all(&mutated(&mut stream));
        if stream.below(2) == 0 {
            wire.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
            let _ = wire.read(&mut [0; 4096]);
        }
        if number % 100 == 0 {
            assert_eq!(good.ask(READ, 0, 4096, &[]).0, 0, "the others are served");
        }
    }
    drop(good);
    let status = server.ctl(&["status"]);
    assert!(status["protocol_violations"].as_u64().unwrap() > count / 20, "{status}");
    let grown = resident(server.process.id()).saturating_sub(before);
    assert!(grown < 400 << 10, "{grown} KiB more");
    server.stop();
}

#[test]
fn a_client_that_reads_no_answers_holds_little_memory() {
    let server = Server::tiny(&[]);
    let mut wire = UnixStream::connect(server.path("socket")).unwrap();
    wire.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    wire.write_all(&hello("")).unwrap();
    let before = resident(server.process.id());
    // A gigabyte is asked for; what does not fit stays with the client.
    let asked = (0..64).take_while(|_| wire.write_all(&frame(READ, 0, 16 << 20)).is_ok()).count();
    assert!(asked > 0);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(server.client().ask(READ, 0, 512, &[]).0, 0, "the others are served");
    let grown = resident(server.process.id()).saturating_sub(before);
    assert!(grown < 160 << 10, "{grown} KiB more");
    // It goes in the middle of a write.
    let mut half = UnixStream::connect(server.path("socket")).unwrap();
    half.write_all(&[&hello("")[..], &frame(WRITE, 0, 32 << 20), &[1; 5000]].concat()).unwrap();
    drop(half);
    drop(wire);
    assert_eq!(server.client().ask(READ, 0, 512, &[]), (0, vec![0; 512]), "a write that is not whole is none");
    server.stop();
}
