//! Several drives by one server.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::client::{Client, READ, WRITE};
use super::{Server, create, told, wane};

/// New drives in a folder.
fn drives<const N: usize>(folder: &Path, names: [&str; N]) -> [PathBuf; N] {
    names.map(|name| {
        let path = folder.join(format!("{name}.wane"));
        create(&path, &["--empty"]);
        path
    })
}

fn serve(paths: &[&PathBuf], more: &[&str]) -> Server {
    let paths: Vec<&str> = paths.iter().map(|path| path.to_str().unwrap()).collect();
    Server::start(&[&paths[..], &["--speed", "max"], more].concat())
}

/// Asks control of what is at a path. Returns the answer, or why there is none.
fn ctl(path: &Path, words: &[&str]) -> Result<Value, String> {
    let asked = wane().arg("ctl").arg(path).args(words).output().unwrap();
    if asked.status.success() { Ok(serde_json::from_slice(&asked.stdout).unwrap()) } else { Err(told(&asked)) }
}

fn refused(arguments: &[&str]) -> String {
    let asked = wane().arg("serve").args(arguments).output().unwrap();
    assert_eq!(asked.status.code(), Some(2), "{arguments:?}: {}", told(&asked));
    told(&asked)
}

/// The byte with which the first sector of a drive is filled.
fn first(client: &mut Client) -> u8 {
    let (errno, read) = client.ask(READ, 0, 512, &[]);
    assert!(errno == 0 && read.iter().all(|byte| *byte == read[0]), "{errno}: {read:?}");
    read[0]
}

#[test]
fn each_drive_has_its_own_clients_and_its_own_control() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = drives(folder.path(), ["a", "b"]);
    let mut server = serve(&[&a, &b], &[]);
    let socket = server.path("socket");
    assert!(ctl(&folder.path().join("c.wane"), &["status"]).unwrap_err().contains("there is no such drive"));
    let uris: Vec<&str> =
        server.facts["drives"].as_array().unwrap().iter().map(|one| one["uri"].as_str().unwrap()).collect();
    assert_eq!(uris[0], server.uri());
    assert!(uris[0].starts_with("nbd+unix:///a?socket=") && uris[1].starts_with("nbd+unix:///b?socket="), "{uris:?}");
    let (mut of_a, mut of_b) = (Client::new(&socket), Client::of(&socket, "b").unwrap());
    assert!(Client::of(&socket, "c").is_none());
    assert_eq!((of_a.ask(WRITE, 0, 512, &[1; 512]).0, of_b.ask(WRITE, 0, 512, &[2; 512]).0), (0, 0));
    assert_eq!(first(&mut Client::of(&socket, "a").unwrap()), 1, "the first one has a name too");
    assert_eq!((first(&mut of_a), first(&mut of_b)), (1, 2));
    // Control means the drive whose folder it is given, and without one the first.
    assert_eq!(ctl(&b, &["power-cut"]).unwrap()["power"], "off");
    assert!(of_b.ask(READ, 0, 512, &[]).0 != 0 && first(&mut of_a) == 1);
    assert_eq!(
        (server.ctl(&["status"])["drive"].clone(), ctl(&b, &["status"]).unwrap()["power"].clone()),
        (json!("a"), json!("off"))
    );
    ctl(&b, &["power-on"]).unwrap();
    assert_eq!(first(&mut of_b), 2);
    let metrics = wane().arg("ctl").arg(&a).arg("metrics").output().unwrap();
    for sample in ["wane_clients{drive=\"a\"} 1.0", "wane_clients{drive=\"b\"} 1.0", "wane_protocol_violations_total 1"]
    {
        assert!(told(&metrics).lines().any(|line| line == sample), "{sample}: {}", told(&metrics));
    }
    // A kill loses nothing of either.
    server.process.kill().unwrap();
    server.process.wait().unwrap();
    assert!(ctl(&b, &["status"]).unwrap_err().contains("has ended without a word"));
    let server = serve(&[&b, &a], &[]);
    let socket = server.path("socket");
    assert_eq!((first(&mut Client::new(&socket)), first(&mut Client::of(&socket, "a").unwrap())), (2, 1));
    server.stop();
    for path in [&a, &b] {
        assert!(told(&wane().args(["drive", "show"]).arg(path).output().unwrap()).contains("served 1 request"));
    }
}

#[test]
fn drives_come_and_go_while_others_are_served() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = drives(folder.path(), ["a", "b"]);
    let server = serve(&[&a], &[]);
    let socket = server.path("socket");
    let mut of_a = Client::new(&socket);
    assert_eq!(of_a.ask(WRITE, 0, 512, &[1; 512]).0, 0);
    assert_eq!(ctl(&a, &["serve", b.to_str().unwrap()]).unwrap()["drive"], "b");
    // A fork is served at once, and goes its own way.
    let fork = ctl(&a, &["fork", "f.wane", "--serve"]).unwrap();
    assert_eq!(
        (&fork["drive"], Path::new(fork["fork"].as_str().unwrap())),
        (&json!("f"), &*folder.path().join("f.wane"))
    );
    let mut of_f = Client::of(&socket, "f").unwrap();
    assert_eq!(of_f.ask(WRITE, 0, 512, &[3; 512]).0, 0);
    assert_eq!((first(&mut of_a), first(&mut of_f)), (1, 3));
    let names = |told: &Value| -> Vec<String> {
        told["drives"].as_array().unwrap().iter().map(|one| one["drive"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&ctl(&b, &["drives"]).unwrap()), ["a", "b", "f"]);
    for (words, why) in [
        (vec!["serve", b.to_str().unwrap()], "is served already, by process"),
        (vec!["serve", folder.path().join("none.wane").to_str().unwrap()], "there is no such drive"),
        (vec!["fork", "b.else", "--serve"], "two drives would be served as b"),
    ] {
        let found = ctl(&a, &words).unwrap_err();
        assert!(found.contains(why), "{found}");
    }
    assert!(!folder.path().join("b.else").exists(), "what would not be served is not made");
    // One that leaves is saved, and can be served again.
    let mut of_b = Client::of(&socket, "b").unwrap();
    assert_eq!(of_b.ask(WRITE, 0, 512, &[2; 512]).0, 0);
    assert_eq!(
        ctl(&b, &["withdraw"]).unwrap(),
        json!({ "withdrawn": "b", "saved": true, "requests": 1, "clients": 1 })
    );
    assert!(of_b.try_ask(WRITE, 0, 512, &[9; 512]).is_none() && Client::of(&socket, "b").is_none());
    assert!(ctl(&b, &["status"]).unwrap_err().contains("is not served"));
    let checked = wane().args(["drive", "check", "--data"]).arg(&b).output().unwrap();
    assert!(checked.status.success(), "{}", told(&checked));
    ctl(&a, &["serve", b.to_str().unwrap()]).unwrap();
    assert_eq!(first(&mut Client::of(&socket, "b").unwrap()), 2);
    // Without the first one, clients that name none get none: what is another drive must not take their writes.
    ctl(&a, &["withdraw"]).unwrap();
    assert!(Client::of(&socket, "").is_none());
    let found = server.refused(&["status"]);
    assert!(
        found.contains("found no drive, and the first one is served no longer, and one of f, b is allowed"),
        "{found}"
    );
    // Without any, the server ends.
    ctl(&b, &["withdraw"]).unwrap();
    assert_eq!(first(&mut of_f), 3);
    ctl(folder.path().join("f.wane").as_path(), &["withdraw"]).unwrap();
    let mut server = server;
    assert!(server.process.wait().unwrap().success() && !socket.exists());
}

#[test]
fn drives_that_cannot_be_served_together_are_refused_and_stay_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = drives(folder.path(), ["a", "b"]);
    std::fs::create_dir(folder.path().join("in")).unwrap();
    let [other] = drives(&folder.path().join("in"), ["a"]);
    let (a, b, other) = (a.to_str().unwrap(), b.to_str().unwrap(), other.to_str().unwrap());
    let before = told(&wane().args(["drive", "show", a]).output().unwrap());
    for (arguments, why) in [
        (vec![a, other], "two drives would be served as a"),
        (vec![a, a], "a.wane: is given twice"),
        (vec![a, "none.wane"], "none.wane: there is no such drive"),
        (vec![a, b, "--log", "x.csv"], "--log: a log is of one drive"),
        (vec![a, b, "--preset", "tiny"], "--preset"),
    ] {
        let found = refused(&arguments);
        assert!(found.contains(why), "{found}");
    }
    assert_eq!(told(&wane().args(["drive", "show", a]).output().unwrap()), before);
    // Bytes of all of them count.
    let server = serve(&[&PathBuf::from(a), &PathBuf::from(b)], &["--memory", "1 MiB"]);
    let (mut of_a, mut of_b) = (server.client(), Client::of(&server.path("socket"), "b").unwrap());
    let written = [&mut of_a, &mut of_b].map(|client| {
        (0..300u64)
            .filter(|unit| client.ask(WRITE, unit * 4096, 4096, &[unit.to_le_bytes()[0] | 1; 4096]).0 == 0)
            .count()
    });
    assert!((150..256).contains(&written[0]) && written[1] < 20, "{written:?}");
    assert!(server.stop().contains("writes found no space"));
}

#[test]
fn pages_know_of_drives_that_come_and_go() {
    let folder = tempfile::tempdir().unwrap();
    let [a] = drives(folder.path(), ["a"]);
    let plain = folder.path().join("plain.wane");
    let made = wane().args(["drive", "create", "--preset", "tiny", "--quiet", "--empty"]).arg(&plain).output().unwrap();
    assert!(made.status.success(), "{}", told(&made));
    let server = serve(&[&a], &["--page", "0"]);
    let host = super::page::address(&server).to_owned();
    let mut events = super::page::asked(&server, "GET /events", Some(&host));
    let mut next = |name: &str| super::page::event(&mut events, name).0;
    assert_eq!(next("drives"), json!(["a"]));
    let served = ctl(&a, &["serve", plain.to_str().unwrap()]).unwrap();
    assert!(served["lacks"].as_array().unwrap().len() > 1, "{served}");
    assert_eq!(next("drives"), json!(["a", "plain"]));
    // Each has its own page, and without the first one the address alone shows another.
    let page = ctl(&plain, &["status"]).unwrap()["page"].as_str().unwrap().to_owned();
    assert_eq!(page, format!("http://{host}/?drive=plain"));
    ctl(&a, &["withdraw"]).unwrap();
    next("withdrawn");
    let mut left = String::new();
    std::io::Read::read_to_string(&mut events, &mut left).unwrap();
    assert_eq!(left.trim(), "", "the stream ends");
    let mut events = super::page::asked(&server, "GET /events", Some(&host));
    assert_eq!(super::page::event(&mut events, "drive").0["name"], "plain");
    // An end concerns all drives, whichever it is asked of.
    assert_eq!(server.ctl(&["stop"]), json!({ "stopped": ["plain"] }));
}

#[test]
fn the_clock_of_a_drive_goes_on_while_nobody_asks_it_for_anything() {
    let folder = tempfile::tempdir().unwrap();
    let [a] = drives(folder.path(), ["a"]);
    let now = |path: &Path| ctl(path, &["status"]).unwrap()["now_s"].as_f64().unwrap();
    let server = Server::start(&[a.to_str().unwrap(), "--speed", "10x"]);
    std::thread::sleep(std::time::Duration::from_millis(300));
    let was = now(&a);
    assert!(was >= 3.0, "{was}");
    ctl(&a, &["fork", "f.wane", "--serve"]).unwrap();
    assert!(now(&folder.path().join("f.wane")) >= was);
    server.stop();
    let _server = serve(&[&a], &[]);
    assert!(now(&a) >= was, "{} after {was}", now(&a));
}
