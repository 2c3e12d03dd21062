//! Objects on drives that are servers: objects are read back despite losses; which drives do the work, and what it moves.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod served;

use std::collections::BTreeSet;

use served::{Drives, bytes, get, options, put, until};
use wane_actor::{ActorError, Layout, Moved, PutOptions};

#[test]
fn cells_have_up_to_eight_mebibytes() {
    let drives = Drives::new(3);
    let content = bytes((20 << 20) + 7, 1);
    for code in ["1+0", "2+1"] {
        put(&drives.client(), code, &content, options(code, 8 << 20)).unwrap();
        assert_eq!(get(&drives.client(), code).unwrap(), content, "{code}");
    }
}

#[test]
fn objects_of_any_size_are_read_as_they_were_put() {
    let drives = Drives::new(6);
    let client = drives.client();
    let cell = 512;
    // A stripe has 2,048 B.
    for (number, size) in [0, 1, 63, 64, 65, 255, 256, 2047, 2048, 2049, 10_000].into_iter().enumerate() {
        for code in ["4+2", "1+0", "1+2", "3+0"] {
            let (name, content) = (format!("{code} of {size}"), bytes(size, number as u64));
            let done = put(&client, &name, &content, options(code, cell)).unwrap();
            assert_eq!((done.size, done.missing.len()), (size as u64, 0));
            assert_eq!(get(&client, &name).unwrap(), content, "{name}");
        }
    }
    assert_eq!(client.list().unwrap().len(), 44);
    let missing = get(&client, "never put").unwrap_err();
    assert_eq!(missing.to_string(), "there is no object never put");
    // Put again, it is another object.
    put(&client, "4+2 of 1", b"new", options("2+1", 64)).unwrap();
    assert_eq!(get(&client, "4+2 of 1").unwrap(), b"new");
}

#[test]
fn drives_do_the_work_and_move_the_bytes_that_the_formula_says() {
    let drives = Drives::new(8);
    let client = drives.client();
    let (content, options) = (bytes(10 * 4096 - 100, 1), options("4+2", 1024));
    let before: Vec<Moved> = (0..8).map(|number| drives.status(number).moved).collect();
    let done = put(&client, "a", &content, options).unwrap();
    let layout = Layout { code: options.code, cell: options.cell, size: content.len() as u64 };
    let (traffic, stripes, share) = (layout.traffic(), layout.stripes(), layout.share_bytes());
    assert_eq!(traffic.cells, 4 * share);
    assert_eq!(done.placed, client.place("a", 6).unwrap());
    assert_eq!(done.placed.iter().collect::<BTreeSet<_>>().len(), 6, "no two shares lie on one drive");
    let mut total = Moved::default();
    for (number, before) in before.iter().enumerate() {
        let (moved, id) = (drives.status(number).moved, drives.drive(number).id);
        let place = done.placed.iter().position(|drive| *drive == id);
        let files = drives.shares(number);
        match place {
            None => assert_eq!((moved, files.len()), (*before, 0), "a drive without a share does nothing"),
            Some(place) if place < 4 => {
                // Its share comes in, and its byte range of the three others; its range of both parities goes out.
                assert_eq!(moved.cells_in, share);
                assert_eq!((moved.sources_in, moved.made_out), (3 * share / 4, 2 * share / 4), "{place}");
                assert_eq!((moved.sources_out, moved.made_in), (3 * share / 4, 0));
                assert_eq!(moved.blocks_coded, 2 * stripes, "each drive makes its own byte range of all parities");
                let held = moved.cells_in + moved.sources_in;
                assert!(held < layout.size, "no drive ever sees the whole object: {held}");
            }
            Some(_) => {
                let want = Moved { made_in: share, ..Moved::default() };
                assert_eq!(moved, want, "a drive of a parity gets that parity, and makes nothing");
            }
        }
        for file in &files {
            assert_eq!(std::fs::metadata(file).unwrap().len(), layout.file_bytes());
        }
        assert_eq!(files.len(), usize::from(place.is_some()));
        total.cells_in += moved.cells_in;
        total.sources_in += moved.sources_in;
        total.made_in += moved.made_in;
    }
    assert_eq!((total.cells_in, total.sources_in, total.made_in), (traffic.cells, traffic.sources, traffic.parities));
}

#[test]
fn any_k_drives_may_be_lost_and_one_more_may_not() {
    let mut drives = Drives::new(6);
    let client = drives.client();
    let content = bytes(9000, 3);
    put(&client, "all", &content, options("3+2", 1024)).unwrap();
    put(&client, "small", b"small", options("1+4", 64)).unwrap();
    for first in 0..6 {
        for second in first + 1..6 {
            drives.stop(first);
            drives.stop(second);
            assert_eq!(get(&client, "all").unwrap(), content, "without drives {first} and {second}");
            drives.start(first);
            drives.start(second);
        }
    }
    let placed = client.place("all", 5).unwrap();
    for share in [0, 2, 4] {
        let number = drives.number(placed[share]);
        drives.stop(number);
    }
    let error = get(&client, "all").unwrap_err();
    assert!(matches!(error, ActorError::Lost(_)), "{error}");
    let told = error.to_string();
    assert!(
        told.starts_with("object all: 2 of its 3+2 shares are left, and 3 are needed; 3 drives did not answer"),
        "{told}"
    );
    assert_eq!(get(&client, "small").unwrap(), b"small", "other objects live");
}

#[test]
fn drives_decode_and_the_client_gets_the_object_alone() {
    let mut drives = Drives::new(6);
    let client = drives.client();
    let content = bytes(8 * 4096, 4);
    put(&client, "a", &content, options("4+2", 1024)).unwrap();
    let placed = client.place("a", 6).unwrap();
    drives.stop(drives.number(placed[1]));
    let mut read = Vec::new();
    let got = client.get("a", &mut read).unwrap();
    assert_eq!((read, got.decoded), (content, 8 * 1024));
    // The drives of the first four shares that are left each made a quarter of what is lost.
    for (share, decodes) in [(0, true), (2, true), (3, true), (4, true), (5, false)] {
        let moved = drives.status(drives.number(placed[share])).moved;
        assert_eq!(moved.decoded_out, if decodes { 8 * 256 } else { 0 }, "share {share}");
    }
}

#[test]
fn rotten_and_truncated_shares_are_found_and_repaired() {
    let drives = Drives::new(5);
    let client = drives.client();
    let content = bytes(20_000, 5);
    put(&client, "a", &content, options("3+2", 1024)).unwrap();
    let placed = client.place("a", 5).unwrap();
    let damaged = [drives.number(placed[0]), drives.number(placed[4])];
    let whole: Vec<Vec<u8>> = damaged.iter().map(|number| std::fs::read(&drives.shares(*number)[0]).unwrap()).collect();
    let mut flipped = whole[0].clone();
    flipped[4096 + 16 + 5] ^= 1;
    std::fs::write(&drives.shares(damaged[0])[0], flipped).unwrap();
    std::fs::write(&drives.shares(damaged[1])[0], &whole[1][..whole[1].len() - 7]).unwrap();
    assert_eq!(get(&client, "a").unwrap(), content, "what is rotten is decoded around");
    let found = client.scrub();
    let sum = |count: fn(&wane_actor::Scrubbed) -> u64| {
        found.iter().map(|(_, one)| count(one.as_ref().unwrap())).sum::<u64>()
    };
    assert_eq!((sum(|one| one.rotten), sum(|one| one.repaired)), (2, 2), "{found:?}");
    for (number, bytes) in damaged.iter().zip(&whole) {
        assert_eq!(&std::fs::read(&drives.shares(*number)[0]).unwrap(), bytes, "a repaired share is what it was");
        assert_eq!(std::fs::read_dir(drives.folder(*number).join("rotten")).unwrap().count(), 1);
    }
    let again = client.scrub();
    assert!(
        again.iter().all(|(_, one)| one.as_ref().unwrap().rotten + one.as_ref().unwrap().repaired == 0),
        "{again:?}"
    );
}

#[test]
fn a_rotten_share_is_made_anew_while_another_drive_is_away() {
    let mut drives = Drives::new(5);
    let client = drives.client();
    let content = bytes(20_000, 5);
    put(&client, "a", &content, options("3+2", 1024)).unwrap();
    let placed = client.place("a", 5).unwrap();
    let (away, damaged) = (drives.number(placed[1]), drives.number(placed[4]));
    drives.stop(away);
    let place = drives.shares(damaged)[0].clone();
    let whole = std::fs::read(&place).unwrap();
    std::fs::write(&place, &whole[..whole.len() - 7]).unwrap();
    let client = drives.client();
    let found = client.scrub();
    let made: u64 = found.iter().filter_map(|(_, one)| one.as_ref().ok()).map(|one| one.repaired).sum();
    assert_eq!(made, 1, "{found:?}");
    assert_eq!(std::fs::read(&place).unwrap(), whole, "a share is made anew though another has to wait");
    let waits = |one: &wane_actor::Scrubbed| one.unrepaired.iter().any(|why| why.contains("does not answer"));
    assert!(found.iter().any(|(_, one)| one.as_ref().is_ok_and(waits)), "{found:?}");
    assert_eq!(get(&client, "a").unwrap(), content);
}

#[test]
fn a_quorum_is_enough_and_the_rest_is_repaired_when_its_drive_is_back() {
    let mut drives = Drives::new(5);
    let client = drives.client();
    let content = bytes(30_000, 6);
    let quorum = |quorum| PutOptions { quorum: Some(quorum), ..options("3+2", 1024) };
    let placed = client.place("a", 5).unwrap();
    // One drive of data and one of parity are away.
    let away = [drives.number(placed[1]), drives.number(placed[4])];
    away.into_iter().for_each(|number| drives.stop(number));
    let refused = put(&client, "a", &content, options("3+2", 1024)).unwrap_err().to_string();
    assert!(refused.starts_with("object a was not put: ") && refused.contains("5 are needed; drive "), "{refused}");
    assert!(refused.contains("does not answer"), "{refused}");
    let short = put(&client, "a", &content, quorum(4)).unwrap_err().to_string();
    assert!(short.contains("3 of its 5 drives take it, and 4 are needed"), "{short}");
    let none = put(&client, "a", &content, quorum(2)).unwrap_err().to_string();
    assert!(none.contains("3 to 5 are allowed"), "{none}");
    assert!(matches!(get(&client, "a"), Err(ActorError::Missing(_))), "what was refused is not there");
    let done = put(&client, "a", &content, quorum(3)).unwrap();
    assert_eq!(done.missing, [1, 4]);
    assert_eq!(get(&client, "a").unwrap(), content);
    let owing = |drives: &Drives| {
        (0..5).filter(|number| !away.contains(number)).all(|number| drives.status(number).owed == ["a"])
    };
    assert!(owing(&drives));
    away.into_iter().for_each(|number| drives.start(number));
    until("the shares are made anew", || {
        (0..5).all(|number| drives.shares(number).len() == 1 && drives.status(number).owed.is_empty())
    });
    // Now the others may be lost.
    for number in (0..5).filter(|number| !away.contains(number)).take(2) {
        drives.stop(number);
    }
    assert_eq!(get(&client, "a").unwrap(), content);
}

#[test]
fn what_is_deleted_stays_so_when_a_drive_comes_back_that_did_not_hear_of_it() {
    let mut drives = Drives::new(5);
    let client = drives.client();
    put(&client, "a", &bytes(5000, 7), options("3+2", 1024)).unwrap();
    drives.stop(0);
    drives.stop(1);
    client.delete("a").unwrap();
    let gone = get(&client, "a").unwrap_err().to_string();
    assert!(gone.starts_with("there is no object a: it was deleted"), "{gone}");
    drives.start(0);
    drives.start(1);
    drives.stop(2);
    assert!(matches!(get(&client, "a"), Err(ActorError::Missing(_))));
    let few = put(&client, "b", b"b", options("3+2", 64)).unwrap_err();
    assert!(matches!(few, ActorError::Lost(_)), "{few}");
    drives.start(2);
    client.scrub();
    assert!((0..5).all(|number| drives.shares(number).iter().all(|path| path.to_string_lossy().ends_with(".deleted"))));
    client.scrub();
    assert!((0..5).all(|number| drives.shares(number).is_empty()), "notes go once all drives heard");
    let again = client.delete("a").unwrap_err().to_string();
    assert_eq!(again, "there is no object a");
    // With a code of two parities, three drives must hear of it.
    put(&client, "c", &bytes(5000, 8), options("3+2", 1024)).unwrap();
    (0..3).for_each(|number| drives.stop(number));
    let few = client.delete("c").unwrap_err().to_string();
    assert!(few.contains("2 of its drives noted") && few.contains("3 are needed"), "{few}");
}

#[test]
fn an_object_that_is_put_again_is_old_or_new_and_never_a_mix() {
    let mut drives = Drives::new(4);
    let client = drives.client();
    let (old, new) = (bytes(5000, 9), bytes(7000, 10));
    put(&client, "a", &old, options("2+2", 512)).unwrap();
    drives.stop(3);
    let quorum = PutOptions { quorum: Some(3), ..options("2+2", 512) };
    put(&client, "a", &new, quorum).unwrap();
    drives.start(3);
    // The drive that was away still has a share of the old one.
    assert_eq!(get(&client, "a").unwrap(), new);
    until("the share is made anew", || drives.shares(3).len() == 1 && drives.status(0).owed.is_empty());
    drives.stop(0);
    drives.stop(1);
    assert_eq!(get(&client, "a").unwrap(), new);
}
