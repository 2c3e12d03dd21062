//! What a drive does for those whom it does not know: strangers, web pages, and those who repeat what others sent.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod served;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use served::{Drives, WAIT, answer, config, get, options, put, raw, sent, serve, until};
use wane_actor::{Client, Leave, RingId};

const SECRET: &str = "the secret of this cluster";

#[test]
fn a_request_that_is_not_signed_is_refused_by_its_head() {
    let drives = Drives::with(1, Some(SECRET));
    for what in ["PUT /v1/members", "POST /v1/join", "POST /v1/seal"] {
        let mut stream = TcpStream::connect(&drives.drive(0).address).unwrap();
        stream.set_read_timeout(Some(WAIT)).unwrap();
        // Nothing of the body comes.
        let head = "host: localhost\r\ncontent-type: application/json\r\ncontent-length: 60000\r\n\r\n";
        write!(stream, "{what} HTTP/1.1\r\n{head}").unwrap();
        let told = answer(&mut stream);
        assert!(told.starts_with("HTTP/1.1 401") && told.contains("the request is not signed"), "{told}");
    }
}

#[test]
fn bodies_that_never_end_or_say_no_length_are_not_waited_for() {
    let drives = Drives::new(1);
    let address = &drives.drive(0).address;
    let head = "host: localhost\r\ncontent-type: application/json\r\n";
    let open = sent(address, &format!("PUT /v1/members HTTP/1.1\r\n{head}transfer-encoding: chunked\r\n\r\n5\r\n"));
    assert!(open.starts_with("HTTP/1.1 400") && open.contains("how long its body is (Content-Length)"), "{open}");
    for (what, most) in [("PUT /v1/members", 16 << 20), ("POST /v1/code", 64 << 10)] {
        let long = sent(address, &format!("{what} HTTP/1.1\r\n{head}content-length: {}\r\n\r\n", most + 1));
        assert!(long.starts_with("HTTP/1.1 400") && long.contains(&format!("at most {most} B are allowed")), "{long}");
    }
    // More bodies that do not come than the drive has memory for, and yet it answers.
    let begun = |_| {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "PUT /v1/members HTTP/1.1\r\n{head}content-length: 16000000\r\n\r\n").unwrap();
        stream
    };
    let _held: Vec<TcpStream> = (0..10).map(begun).collect();
    assert!(raw(address, "GET /v1/status", "", "").starts_with("HTTP/1.1 200"));
}

#[test]
fn a_web_page_has_a_drive_do_nothing() {
    let (mine, stranger) = (Drives::new(1), Drives::new(2));
    let (address, theirs) = (&mine.drive(0).address, &stranger.drive(0).address);
    let join = format!("{{\"address\":\"{theirs}\"}}");
    let json = "content-type: application/json\r\n";
    for (head, told) in [
        (
            "content-type: text/plain\r\n",
            "the Content-Type of POST /v1/join is \"text/plain\": application/json is allowed",
        ),
        ("content-type: application/x-www-form-urlencoded\r\n", "application/json is allowed"),
        ("content-type: multipart/form-data; boundary=x\r\n", "application/json is allowed"),
        ("content-type: application/octet-stream\r\n", "application/json is allowed"),
        ("content-type: \r\n", "application/json is allowed"),
        ("content-type: application/json\r\ncontent-type: text/plain\r\n", "application/json is allowed"),
        (&format!("{json}origin: http://evil.example\r\n"), "sent by a web page (\"http://evil.example\")"),
        (&format!("{json}origin: null\r\n"), "sent by a web page (\"null\")"),
        (&format!("{json}sec-fetch-site: cross-site\r\n"), "sent by a web page"),
        (&format!("{json}sec-fetch-site: same-origin\r\n"), "sent by a web page"),
        (&format!("{json}host: evil.example\r\n"), "the request's Host is \"evil.example\": a drive answers under"),
        (&format!("{json}host: evil.example:4801\r\n"), "the request's Host is"),
        (&format!("{json}host: localhost\r\nhost: evil.example\r\n"), "the request's Host is \"evil.example\""),
        (&format!("{json}host: 192.0.2.1:4801\r\n"), "the request's Host is"),
    ] {
        let answer = raw(address, "POST /v1/join", head, &join);
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains(&told.replace('"', "\\\"")), "{head}: {answer}");
    }
    let bare = sent(
        address,
        &format!("POST /v1/join HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{join}", join.len()),
    );
    assert!(bare.starts_with("HTTP/1.1 400") && bare.contains("application/json is allowed"), "{bare}");
    let elsewhere = raw(address, "GET http://evil.example/v1/status", "", "");
    assert!(elsewhere.starts_with("HTTP/1.1 400"), "{elsewhere}");
    for what in ["GET /v1/status", "GET /v1/members", "GET /v1/objects"] {
        assert!(raw(address, what, "host: evil.example\r\n", "").starts_with("HTTP/1.1 400"), "{what}");
    }
    assert_eq!(mine.client().members().on_ring().count(), 1, "it joined nobody");
    assert_eq!(stranger.client().members().on_ring().count(), 2);
    // A user may look at a drive by a browser.
    assert!(raw(address, "GET /v1/status", "sec-fetch-site: none\r\n", "").starts_with("HTTP/1.1 200"));
}

/// Passes connections on to a drive, and notes what clients send.
fn listened_to(drive: &str) -> (String, Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, noted) = (listener.local_addr().unwrap().to_string(), Arc::new(Mutex::new(Vec::new())));
    let (drive, notes) = (drive.to_owned(), Arc::clone(&noted));
    #[expect(clippy::disallowed_methods, reason = "both directions of a connection are passed on at once")]
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut client, mut server) = (stream.unwrap(), TcpStream::connect(&drive).unwrap());
            let (mut back, mut answers) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut answers, &mut back));
            let notes = Arc::clone(&notes);
            std::thread::spawn(move || {
                let mut part = [0; 1 << 12];
                while let Ok(count @ 1..) = client.read(&mut part) {
                    notes.lock().unwrap().extend_from_slice(&part[..count]);
                    server.write_all(&part[..count]).unwrap();
                }
            });
        }
    });
    (address, noted)
}

#[test]
fn a_signed_request_counts_once_at_one_drive() {
    let mut drives = Drives::with(2, Some(SECRET));
    let first = drives.drive(0).address.clone();
    let (between, noted) = listened_to(&first);
    Client::connect(&[between], drives.secret.as_deref()).unwrap();
    let text = String::from_utf8(noted.lock().unwrap().clone()).unwrap();
    let mut signed = text.split_inclusive("\r\n\r\n").filter(|request| request.contains("authorization: WANE "));
    let (signed, more) = (signed.next().unwrap(), signed.next());
    assert!(signed.starts_with("GET /v1/members") && more.is_none(), "{text}");
    let again = sent(&first, signed);
    assert!(again.starts_with("HTTP/1.1 401") && again.contains("the signature was used before"), "{again}");
    let other = sent(&drives.drive(1).address, signed);
    assert!(other.starts_with("HTTP/1.1 401") && other.contains("signed for another drive"), "{other}");
    drives.stop(0);
    let config =
        wane_actor::ServerConfig { listen: first.clone(), secret: drives.secret.clone(), ..config(&drives.folder(0)) };
    drives.served[0] = Some(serve(config).unwrap());
    let anew = sent(&first, signed);
    assert!(anew.starts_with("HTTP/1.1 401") && anew.contains("signed for another drive"), "{anew}");
}

#[test]
fn a_client_goes_on_when_a_drive_was_started_anew() {
    let mut drives = Drives::with(3, Some(SECRET));
    let client = drives.client();
    let content = served::bytes(200_000, 1);
    put(&client, "a", &content, options("2+1", 16 << 10)).unwrap();
    for number in 0..3 {
        let listen = drives.drive(number).address.clone();
        drives.stop(number);
        let config =
            wane_actor::ServerConfig { listen, secret: drives.secret.clone(), ..config(&drives.folder(number)) };
        drives.served[number] = Some(serve(config).unwrap());
    }
    // The challenges that it knows are none any more.
    put(&client, "b", &content, options("2+1", 16 << 10)).unwrap();
    assert_eq!(get(&client, "a").unwrap(), content);
    assert_eq!(get(&client, "b").unwrap(), content);
}

#[test]
fn a_share_that_an_order_names_many_times_is_refused() {
    let drives = Drives::new(1);
    let (address, id) = (&drives.drive(0).address, drives.drive(0).id);
    put(&drives.client(), "a", b"content", options("1+0", 64)).unwrap();
    let members = drives.client().members();
    let tag = format!("wane-members: {}:{}\r\n", members.version(), members.digest());
    let held = raw(address, &format!("GET /v1/objects/{}", RingId::of_object("a")), &tag, "");
    let version = held.split_once("\"version\":").unwrap().1.split_once('}').unwrap().0;
    let order = |code: &str, sources: &str, wanted: &str| {
        let object = RingId::of_object("a");
        let order = format!(
            "{{\"object\":\"{object}\",\"version\":{version}}},\"code\":{code},\"stripe\":0,\"cell_here\":64,\"block\":0,\
             \"sources\":[{sources}],\"wanted\":[{wanted}]}}"
        );
        raw(address, "POST /v1/code", &tag, &order)
    };
    let (one, source) = ("{\"data\":1,\"parity\":0}", format!("[0,\"{id}\"]"));
    let answer = order(one, &source, "[0,null]");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("content"), "{answer}");
    for (code, sources, wanted, told) in [
        (one, source.clone(), "[0,null],[0,null]".to_owned(), "share 0 is wanted twice"),
        (one, source.clone(), format!("[0,null],[0,\"{id}\"]"), "share 0 is wanted twice"),
        (one, source.clone(), "[1,null]".to_owned(), "share 1 is wanted, and its shares are 0 to 0"),
        ("{\"data\":2,\"parity\":1}", format!("{source},{source}"), "[2,null]".to_owned(), "share 0 is a source twice"),
        (one, format!("{source},{source}"), "[0,null]".to_owned(), "2 sources, and 1 are needed"),
    ] {
        let answer = order(code, &sources, &wanted);
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains(told), "{told}: {answer}");
    }
}

#[test]
fn a_put_whose_client_is_gone_does_not_keep_a_drive_from_leaving() {
    let drives = Drives::new(2);
    let client = drives.client();
    let (drive, members) = (drives.drive(1), client.members());
    let tag = format!("wane-members: {}:{}\r\n", members.version(), members.digest());
    let plan = "{\"name\":\"a\",\"version\":{\"generation\":1,\"upload\":1},\"share\":0,\"code\":{\"data\":1,\"parity\":0},\"cell\":64}";
    let staged = raw(&drive.address, "POST /v1/stage", &tag, plan);
    assert!(staged.starts_with("HTTP/1.1 200"), "{staged}");
    assert_eq!(drives.status(1).being_written, 1);
    client.leave(&drive.id.to_string(), Leave::InOrder, WAIT).unwrap();
    until("the drive hears that it has left", || raw(&drive.address, "GET /v1/members", "", "").contains("\"gone\""));
    let members = drives.client().members();
    let tag = format!("wane-members: {}:{}\r\n", members.version(), members.digest());
    let late = raw(&drive.address, "POST /v1/stage", &tag, plan);
    assert!(late.starts_with("HTTP/1.1 404") && late.contains("has left the cluster, and takes no shares"), "{late}");
}
