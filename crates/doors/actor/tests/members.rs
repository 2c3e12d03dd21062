//! Drives that join and leave: which are on the list, what moves, and which are refused.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod served;

use served::{Drives, WAIT, bytes, config, get, options, put, raw, serve, until, write_secret};
use wane_actor::{ActorError, Client, Leave, Left, PutOptions, RingId, Standing};

const OBJECTS: u64 = 40;

fn filled(drives: usize) -> (Drives, Client) {
    let drives = Drives::new(drives);
    let client = drives.client();
    for number in 0..OBJECTS {
        put(&client, &format!("object {number}"), &bytes(3000, number), options("2+1", 512)).unwrap();
    }
    (drives, client)
}

/// Checks that every object is there, with each share at its owner and no two on one drive.
fn check(drives: &Drives) {
    let client = drives.client();
    for number in 0..OBJECTS {
        let name = format!("object {number}");
        assert_eq!(get(&client, &name).unwrap(), bytes(3000, number), "{name}");
        let object = RingId::of_object(&name).to_string();
        for (share, drive) in client.place(&name, 3).unwrap().into_iter().enumerate() {
            let files = drives.shares(drives.number(drive));
            let mut own = files.iter().filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(&object));
            let (file, more) = (own.next().unwrap().to_string_lossy().into_owned(), own.next());
            assert!(file.ends_with(&format!(".{share}")) && more.is_none(), "{name}: {file} {more:?}");
        }
    }
    let all: usize = (0..drives.served.len())
        .filter(|number| drives.served[*number].is_some())
        .map(|number| drives.shares(number).len())
        .sum();
    assert_eq!(all as u64, 3 * OBJECTS, "nothing is kept twice");
}

fn settled(drives: &Drives) -> bool {
    drives.client().statuses().into_iter().all(|(_, status)| status.is_ok_and(|status| !status.is_moving))
}

#[test]
fn drives_join_and_leave_and_little_moves() {
    let (mut drives, client) = filled(7);
    until("shares lie where they belong", || settled(&drives));
    drives.served.push(None);
    drives.start(7);
    until("shares moved", || settled(&drives));
    check(&drives);
    let joined = drives.status(7);
    let moved: u64 = (0..8).map(|number| drives.status(number).moved.handed_in).sum();
    // A share of 3,000 B in two cells each of 512 B and 2 x 476 B, padded: 1,536 B. What must move is what the new drive keeps now.
    assert_eq!(joined.moved.handed_in, joined.shares * 1536);
    let (least, ideal) = (joined.shares * 1536, (3 * OBJECTS) as f64 / 8.0);
    assert!(moved as f64 <= 1.5 * least as f64, "{moved} B moved where {least} B must");
    assert!((0.4..2.0).contains(&(joined.shares as f64 / ideal)), "{} shares, ideally {ideal}", joined.shares);
    let left = client.leave(&drives.drive(2).address, Leave::InOrder, WAIT).unwrap();
    let id = drives.drive(2).id;
    assert_eq!(left, Left { id, drives: 7, widest: 3 });
    until("shares moved", || settled(&drives));
    assert!(drives.shares(2).is_empty());
    drives.stop(2);
    check(&drives);
    assert_eq!(client.members().drives[&id].standing, Standing::Gone);
}

#[test]
fn a_lost_drive_s_shares_are_made_anew_by_a_scrub() {
    let (mut drives, client) = filled(6);
    let id = drives.drive(3).id;
    drives.stop(3);
    client.leave(&id.to_string(), Leave::Lost, WAIT).unwrap();
    until("shares moved", || settled(&drives));
    let scrubbed = client.scrub();
    assert!(scrubbed.iter().all(|(_, one)| one.as_ref().is_ok_and(|one| one.unrepaired.is_empty())), "{scrubbed:?}");
    until("shares moved", || settled(&drives));
    check(&drives);
}

#[test]
fn objects_that_need_more_drives_than_are_left_are_read_and_made_whole_by_the_next() {
    let mut drives = Drives::new(3);
    let client = drives.client();
    put(&client, "a", &bytes(3000, 1), options("2+1", 512)).unwrap();
    let id = drives.drive(1).id;
    drives.stop(1);
    assert_eq!(client.leave(&id.to_string(), Leave::Lost, WAIT).unwrap(), Left { id, drives: 2, widest: 3 });
    assert_eq!(get(&drives.client(), "a").unwrap(), bytes(3000, 1));
    let refused = put(&drives.client(), "b", b"content", options("2+1", 64)).unwrap_err().to_string();
    assert_eq!(refused, "3 shares need as many drives, and 2 are on the ring");
    drives.served.push(None);
    drives.start(3);
    until("shares moved", || settled(&drives));
    let scrubbed = drives.client().scrub();
    assert_eq!(scrubbed.iter().map(|(_, one)| one.as_ref().unwrap().repaired).sum::<u64>(), 1, "{scrubbed:?}");
    assert_eq!((drives.shares(0).len(), drives.shares(2).len(), drives.shares(3).len()), (1, 1, 1));
}

#[test]
fn a_scrub_waits_for_shares_that_are_on_the_move() {
    let (mut drives, client) = filled(6);
    let id = drives.drive(3).id;
    drives.stop(3);
    client.leave(&id.to_string(), Leave::Lost, WAIT).unwrap();
    // At once, while drives hand on what belongs to others now.
    let scrubbed = client.scrub();
    assert!(scrubbed.iter().all(|(_, one)| one.as_ref().is_ok_and(|one| one.unrepaired.is_empty())), "{scrubbed:?}");
    until("shares moved", || settled(&drives));
    check(&drives);
}

#[test]
fn wrong_secrets_and_none_are_refused() {
    let drives = Drives::with(3, Some("the secret of this cluster"));
    let client = drives.client();
    put(&client, "a", b"content", options("2+1", 64)).unwrap();
    assert_eq!(get(&client, "a").unwrap(), b"content");
    let address = [drives.drive(0).address.clone()];
    let none = Client::connect(&address, None).err().unwrap();
    assert!(matches!(none, ActorError::Unauthorized(_)) && none.to_string().contains("not signed"), "{none}");
    let other = drives.root.path().join("other");
    write_secret(&other, "the secret of another one");
    let wrong = Client::connect(&address, Some(&other)).err().unwrap().to_string();
    assert!(wrong.contains("signed with another secret"), "{wrong}");
}

#[test]
fn a_drive_that_is_served_again_with_another_secret_says_so() {
    let mut drives = Drives::with(2, Some("the secret of this cluster"));
    drives.stop(1);
    let other = drives.root.path().join("other");
    write_secret(&other, "the secret of another one");
    let alone = serve(wane_actor::ServerConfig { secret: Some(other.clone()), ..config(&drives.folder(1)) }).unwrap();
    let told = format!("{}: the request is signed with another secret", drives.drive(0).address);
    assert!(alone.strangers.len() == 1 && alone.strangers[0].starts_with(&told), "{:?}", alone.strangers);
    alone.stop();
    let right = serve(wane_actor::ServerConfig { secret: drives.secret.clone(), ..config(&drives.folder(1)) }).unwrap();
    assert!(right.strangers.is_empty(), "{:?}", right.strangers);
    right.stop();
}

#[test]
fn a_drive_with_another_secret_is_one_that_does_not_answer() {
    let mut drives = Drives::with(4, Some("the secret of this cluster"));
    let other = drives.root.path().join("other");
    write_secret(&other, "the secret of another one");
    let listen = drives.drive(3).address.clone();
    drives.stop(3);
    let stranger =
        serve(wane_actor::ServerConfig { secret: Some(other), listen: listen.clone(), ..config(&drives.folder(3)) })
            .unwrap();
    let put = |quorum| {
        let options = PutOptions { quorum, ..options("2+2", 64) };
        put(&drives.client(), "a", b"content", options)
    };
    let refused = put(None).unwrap_err().to_string();
    assert!(refused.contains(&format!("at {listen} has another secret: the request is signed")), "{refused}");
    assert_eq!(put(Some(3)).unwrap().missing.len(), 1);
    assert_eq!(get(&drives.client(), "a").unwrap(), b"content");
    stranger.stop();
}

#[test]
fn a_drive_that_nobody_asks_hears_of_a_change() {
    let drives = Drives::new(3);
    let (mut members, gone) = (drives.client().members(), drives.drive(1));
    members.set(gone.id, Standing::Gone, &gone.address).unwrap();
    let told = raw(&drives.drive(0).address, "PUT /v1/members", "", &serde_json::to_string(&members).unwrap());
    assert!(told.starts_with("HTTP/1.1 200"), "{told}");
    let stands = |number: usize| {
        drives.client().statuses().into_iter().find_map(|(id, status)| {
            (id == drives.drive(number).id).then(|| status.unwrap().members.drives[&gone.id].standing)
        })
    };
    until("the others hear of it", || stands(2) == Some(Standing::Gone));
    let own = raw(&gone.address, "GET /v1/members", "", "");
    until("the drive itself hears of it", || raw(&gone.address, "GET /v1/members", "", "").contains("\"gone\""));
    assert!(own.starts_with("HTTP/1.1 200"), "{own}");
}

#[test]
fn a_drive_listens_elsewhere_with_a_secret_alone() {
    let folder = tempfile::tempdir().unwrap();
    for listen in ["0.0.0.0:0", "192.0.2.1:4801", "[::]:0"] {
        let refused = serve(wane_actor::ServerConfig { listen: listen.into(), ..config(folder.path()) })
            .err()
            .unwrap()
            .to_string();
        assert!(refused.contains("with a secret alone (--secret-file)"), "{refused}");
    }
    let refused =
        serve(wane_actor::ServerConfig { listen: "here".into(), ..config(folder.path()) }).err().unwrap().to_string();
    assert!(refused.contains("write IP:PORT"), "{refused}");
}

#[test]
fn a_start_that_fails_does_not_bind_the_folder_to_a_secret() {
    let root = tempfile::tempdir().unwrap();
    let (folder, secret) = (root.path().join("drive"), root.path().join("secret"));
    write_secret(&secret, "the secret of this cluster");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let signed = |listen: &str| wane_actor::ServerConfig {
        listen: listen.into(),
        secret: Some(secret.clone()),
        ..config(&folder)
    };
    let refused = serve(signed(&listen)).err().unwrap().to_string();
    assert!(refused.contains("cannot be listened on"), "{refused}");
    serve(config(&folder)).unwrap().stop();
    serve(signed("127.0.0.1:0")).unwrap().stop();
    let refused = serve(config(&folder)).err().unwrap().to_string();
    assert!(refused.contains("says that its cluster has a secret"), "{refused}");
}

#[test]
fn a_drive_whose_list_is_damaged_joins_another_cluster_only_if_it_keeps_nothing() {
    let (mut one, folder) = (Drives::new(2), tempfile::tempdir().unwrap());
    let other = serve(config(folder.path())).unwrap();
    let joining =
        |folder: &std::path::Path| wane_actor::ServerConfig { join: Some(other.address.clone()), ..config(folder) };
    put(&one.client(), "a", b"content", options("1+0", 64)).unwrap();
    let keeper = one.number(one.client().place("a", 1).unwrap()[0]);
    one.stop(0);
    one.stop(1);
    for number in 0..2 {
        std::fs::write(one.folder(number).join("members.json"), "").unwrap();
    }
    let refused = serve(joining(&one.folder(keeper))).err().unwrap().to_string();
    assert!(refused.contains("keeps 1 share, and cluster"), "{refused}");
    assert!(refused.ends_with("does not know this drive: what it keeps belongs to another cluster"), "{refused}");
    serve(joining(&one.folder(1 - keeper))).unwrap().stop();
    other.stop();
}

#[test]
fn who_has_an_older_list_is_told_so_with_the_newer_one() {
    let drives = Drives::new(3);
    let address = &drives.drive(0).address;
    let object = RingId::of_object("a");
    let told = raw(address, &format!("GET /v1/objects/{object}"), "wane-members: 2:00000000\r\n", "");
    let version = drives.client().members().version();
    assert!(told.starts_with("HTTP/1.1 409"), "{told}");
    assert!(
        told.contains(&format!("goes by version 2 of the list of members, and this drive has version {version}")),
        "{told}"
    );
    assert!(told.contains("\"members\":{"), "{told}");
}

/// Makes a drive that accepts everything, but blames another drive when a share is to be sealed.
fn blaming() -> (String, impl Sized) {
    let answer = async |uri: axum::http::Uri| match uri.path() {
        "/v1/seal" => {
            let body =
                format!("{{\"error\":\"it is another's fault\",\"drives\":[\"{}\"]}}", RingId::of("nobody", &[]));
            (axum::http::StatusCode::BAD_GATEWAY, body)
        }
        path if path.starts_with("/v1/objects/") => (axum::http::StatusCode::OK, "[]".to_owned()),
        _ => (axum::http::StatusCode::OK, "null".to_owned()),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    runtime.spawn(axum::serve(listener, axum::Router::new().fallback(answer)).into_future());
    (address, runtime)
}

#[test]
fn a_drive_that_blames_another_counts_as_one_without_its_share() {
    let drives = Drives::new(1);
    let (address, _runtime) = blaming();
    let mut members = drives.client().members();
    members.set(RingId::of("blaming", &[]), Standing::In, &address).unwrap();
    let told = raw(&drives.drive(0).address, "PUT /v1/members", "", &serde_json::to_string(&members).unwrap());
    assert!(told.starts_with("HTTP/1.1 200"), "{told}");
    let client = drives.client();
    // With the parity there: the data's drive codes.
    let is_parity = |name: &String| client.place(name, 2).unwrap()[0] == drives.drive(0).id;
    let name = (0..).map(|number| format!("object {number}")).find(is_parity).unwrap();
    let refused = put(&client, &name, b"content", options("1+1", 64)).unwrap_err().to_string();
    assert_eq!(
        refused,
        format!("object {name} was not put: 1 of its 2 shares is on a disk, and 2 are needed; it is another's fault")
    );
}

#[test]
fn requests_that_make_no_sense_are_refused_in_a_sentence() {
    let drives = Drives::new(1);
    let address = &drives.drive(0).address;
    let members = drives.client().members();
    let tag = format!("wane-members: {}:{}\r\n", members.version(), members.digest());
    let ask = |what: &str, body: &str| raw(address, what, &tag, body);
    let object = RingId::of_object("a");
    for (what, body, status, told) in [
        ("GET /v1/nothing", "", 400, "no such request"),
        ("GET /v1/objects/xyz", "", 400, "40 hexadecimal digits"),
        (&format!("GET /v1/cells/{object}/1-0000000000000001/0/0/64")[..], "", 404, "keeps no share 0"),
        (&format!("GET /v1/cells/{object}/1-0000000000000001/0/0/65")[..], "", 400, "multiples of 64 B"),
        (&format!("GET /v1/cells/{object}/1/0/0/64")[..], "", 400, "no version of an object"),
        (&format!("GET /v1/cells/{object}/1-0000000000000001/99999/0/64")[..], "", 400, "no share"),
        ("POST /v1/code", "{", 400, "no such request or answer"),
        ("POST /v1/stage", "{}", 400, "missing field"),
        ("POST /v1/seal", "[1]", 400, "no such request"),
        ("PUT /v1/members", "{\"cluster\":1}", 400, "no list of members"),
        ("DELETE /v1/status", "", 405, ""),
    ] {
        let answer = ask(what, body);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")) && answer.contains(told), "{what}: {answer}");
    }
    assert!(ask("GET /v1/status", "").starts_with("HTTP/1.1 200"), "it serves on");
}

#[test]
fn a_drive_of_a_cluster_with_others_does_not_join_another() {
    let (one, folder) = (Drives::new(2), tempfile::tempdir().unwrap());
    let other = serve(config(folder.path())).unwrap();
    let client = Client::connect(std::slice::from_ref(&other.address), None).unwrap();
    let refused = client.join(&one.drive(0).address, None).unwrap_err().to_string();
    assert!(refused.contains("cannot join cluster"), "{refused}");
    // A drive that is alone and empty may.
    one.client().join(&other.address, Some(WAIT)).unwrap();
    assert_eq!(one.client().members().on_ring().count(), 3);
    other.stop();
}
