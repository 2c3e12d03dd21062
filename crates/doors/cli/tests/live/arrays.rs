//! Served arrays whose power and drives are lost in one instant.

use super::client::{Client, FLUSH, READ, WRITE};
use super::{Server, create};

const PAGE: u64 = 4096;
/// Pages that are written over and over.
const PAGES: u64 = 256;

/// What is left of flushed pages and of those that were being written when the power and a drive went: bytes that cannot be read.
fn lost_with(journal: &str) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.wane");
    let journal = format!("array.journal={journal}");
    let shape = ["array.layout=raid", "array.chunk=16KiB", "array.member=[{count=4}]", "drive.logical-capacity=16MiB"];
    let set: Vec<&str> = shape.into_iter().chain([&*journal]).flat_map(|key| ["--set", key]).collect();
    create(&path, &[&["--empty"][..], &set].concat());
    let server = Server::start(&[path.to_str().unwrap(), "--speed", "max"]);
    let mut client = server.client();
    assert_eq!(client.ask(WRITE, 0, (PAGES * PAGE) as u32, &vec![1; (PAGES * PAGE) as usize]).0, 0);
    assert_eq!(client.ask(FLUSH, 0, 0, &[]).0, 0);
    for (out, why) in [("4", "has no drive 4; its drives are 0 to 3"), ("1,1", "drive 1 of the array is out already")] {
        assert!(server.refused(&["power-cut", "--take-out", out]).contains(why));
    }
    assert_eq!(server.ctl(&["status"])["power"], "on");
    std::thread::scope(|scope| {
        let writers = (0..4u64).map(|number| {
            let socket = server.path("socket");
            scope.spawn(move || {
                let (mut client, mut page) = (Client::new(&socket), number);
                while client.ask(WRITE, page % PAGES * PAGE, PAGE as u32, &[2; PAGE as usize]).0 == 0 {
                    page += 7;
                }
            })
        });
        let writers: Vec<_> = writers.collect();
        std::thread::sleep(std::time::Duration::from_millis(300));
        let cut = server.ctl(&["power-cut", "--take-out", "1"]);
        assert_eq!((&cut["power"], &cut["taken_out"]), (&"off".into(), &serde_json::json!([1])));
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
    server.ctl(&["power-on"]);
    let told = server.ctl(&["status"]);
    assert_eq!(told["members"][1]["state"], "absent", "{told}");
    let mut lost = 0;
    for page in 0..PAGES {
        let (errno, bytes) = client.ask(READ, page * PAGE, PAGE as u32, &[]);
        // Each sector is old or new.
        assert!(errno == 5 || bytes.chunks(512).all(|sector| sector == [1; 512] || sector == [2; 512]), "page {page}");
        lost += if errno == 5 { PAGE } else { 0 };
    }
    assert_eq!(told["array"]["lost_bytes"].as_u64().unwrap() > 0, lost > 0, "{told}");
    // A drive that was lost with the power comes back with it, too.
    server.ctl(&["power-cut", "--take-out", "0,2"]);
    assert!(server.refused(&["power-on"]).contains("1 members of generation"));
    server.ctl(&["put-back", "0"]);
    server.ctl(&["put-back", "2"]);
    server.ctl(&["power-on"]);
    assert_eq!(server.ctl(&["status"])["members"][0]["state"], "online");
    server.stop();
    lost
}

/// With a journal nothing that was flushed is lost with the power and a drive; without one stripes are lost that were being written.
#[test]
fn the_power_and_a_drive_go_in_one_instant() {
    assert_eq!((lost_with("full"), lost_with("ppl")), (0, 0));
    assert!(lost_with("none") > 0);
}
