//! The live page and the metrics, as a browser and Prometheus ask for them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Client, READ, WRITE};
use super::{Server, has, skipped, told, wane};

/// The page's address, as in a URL.
pub(super) fn address(server: &Server) -> &str {
    let page = server.facts["page"].as_str().unwrap();
    page.strip_prefix("http://").unwrap().strip_suffix('/').unwrap()
}

/// Sends a request without a body, by the version of HTTP whose answers end with the connection.
pub(super) fn asked(server: &Server, line: &str, host: Option<&str>) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(address(server)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let host = host.map_or(String::new(), |host| format!("Host: {host}\r\n"));
    write!(stream, "{line} HTTP/1.0\r\n{host}\r\n").unwrap();
    BufReader::new(stream)
}

/// The head of an answer, in small letters, and its body.
fn answer(server: &Server, line: &str, host: Option<&str>) -> (String, String) {
    let mut text = String::new();
    asked(server, line, host).read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.to_lowercase(), body.to_owned())
}

/// Ends what runs beside a test, also if the test fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Writes, and reads what was written, until it is to end or the power fails.
fn load(mut client: Client, ends: &AtomicBool) {
    for number in 0.. {
        let (offset, bytes) = (number % 1024 * 4096, [number as u8; 4096]);
        if ends.load(Ordering::Relaxed) || client.ask(WRITE, offset, 4096, &bytes).0 != 0 {
            break;
        }
        let (errno, read) = client.ask(READ, offset, 4096, &[]);
        assert!(errno != 0 || read == bytes, "{number}");
    }
}

/// The next event of this name, and how many others came before.
pub(super) fn event(events: &mut impl BufRead, wanted: &str) -> (Value, usize) {
    let mut others = 0;
    let mut name = String::new();
    for line in events.lines() {
        let line = line.unwrap();
        if let Some(found) = line.strip_prefix("event: ") {
            name = found.to_owned();
        } else if let Some(data) = line.strip_prefix("data: ") {
            if name == wanted {
                return (serde_json::from_str(data).unwrap(), others);
            }
            others += 1;
        }
    }
    panic!("the events end without a {wanted}");
}

/// The value of a sample.
fn sample(metrics: &str, name: &str) -> f64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name} in {metrics}")).parse().unwrap()
}

#[test]
fn the_page_shows_what_clients_do() {
    let server = Server::start(&["--preset", "tiny", "--page", "0", "--speed", "1x"]);
    assert_eq!(server.ctl(&["status"])["page"], server.facts["page"]);
    let host = address(&server);
    let (head, body) = answer(&server, "GET /", Some(host));
    assert!(head.starts_with("http/1.0 200"), "{head}");
    for line in [
        "content-type: text/html; charset=utf-8",
        "content-security-policy: default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:",
        "x-content-type-options: nosniff",
        "cache-control: no-store",
    ] {
        assert!(head.lines().any(|found| found == line), "{line} in {head}");
    }
    assert!(body.contains("data-ticks"), "{body}");
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| load(server.client(), &ends));
        let _ends = Ends(&ends);
        let mut events = asked(&server, "GET /events", Some(host));
        let (drive, _) = event(&mut events, "drive");
        assert_eq!((&drive["name"], &drive["capacity_bytes"]), (&json!("tiny"), &json!(64 << 20)));
        let (wear, _) = event(&mut events, "wear");
        let erases = wear["erases"].as_array().unwrap().len();
        assert_eq!((wear["state"].as_str().unwrap().len(), &wear["per_cell"]), (erases, &json!(1)));
        let ticks: Vec<Value> = (0..3).map(|_| event(&mut events, "tick").0).collect();
        for pair in ticks.windows(2) {
            let seconds = pair[1]["real_s"].as_f64().unwrap() - pair[0]["real_s"].as_f64().unwrap();
            assert!((0.5..10.0).contains(&seconds), "{pair:?}");
            let write = &pair[1]["done"]["write"];
            let (requests, bytes) = (write["requests"].as_u64().unwrap(), write["bytes"].as_u64().unwrap());
            assert!(requests > 0 && bytes == requests * 4096, "{write}");
            assert!(write["latency_ns"]["p50"].as_f64() <= write["latency_ns"]["max"].as_f64(), "{write}");
            assert!(pair[1]["lag_ns"]["p50"].as_f64().unwrap() > 0.0, "{pair:?}");
            assert!(
                pair[1]["counters"]["host_units_written"].as_u64() > pair[0]["counters"]["host_units_written"].as_u64()
            );
        }
        assert_eq!((&ticks[2]["state"], &ticks[2]["busy"]), (&json!("serving"), &Value::Null));
        server.ctl(&["power-cut"]);
        assert_eq!(event(&mut events, "happening").0["text"], "the power failed");
        assert_eq!(event(&mut events, "tick").0["state"], "off");
        server.ctl(&["power-on"]);
    });
}

#[test]
fn the_page_answers_its_own_browser_alone_and_only_shows() {
    let server = Server::tiny(&["--page", "127.0.0.1:0"]);
    let (host, port) = (address(&server), address(&server).rsplit_once(':').unwrap().1);
    let of = |line: &str, host: Option<&str>| {
        let (head, body) = answer(&server, line, host);
        (head.split(' ').nth(1).unwrap().to_owned(), body)
    };
    assert_eq!(of("GET /metrics", Some(&format!("localhost:{port}"))).0, "200");
    for (line, host, wanted, why) in [
        ("GET /metrics", Some("evil.example"), "403", "found the host evil.example"),
        ("GET /events", None, "403", "found no host"),
        ("POST /", Some(host), "405", "found POST, and GET is allowed"),
        ("GET /v1/status", Some(host), "404", "/, /events and /metrics are here"),
        ("GET /?drive=other", Some(host), "404", "found drive other, and tiny is allowed"),
    ] {
        let (status, body) = of(line, host);
        assert!(status == wanted && body.contains(why), "{line}: {status} {body}");
    }
    // Too many who watch.
    let watching: Vec<_> = (0..16)
        .map(|_| {
            let mut events = asked(&server, "GET /events", Some(host));
            event(&mut events, "drive");
            events
        })
        .collect();
    let (status, body) = of("GET /events", Some(host));
    assert!(status == "503" && body.contains("16 viewers watch already"), "{status} {body}");
    drop(watching);
    let is_there = || of("GET /events?drive=other", Some(host)).0 == "404" && of("GET /metrics", Some(host)).0 == "200";
    assert!(is_there());
    let elsewhere = wane().args(["serve", "--preset", "tiny", "--page", "0.0.0.0:8080"]).output().unwrap();
    assert_eq!(elsewhere.status.code(), Some(2));
    assert!(told(&elsewhere).contains("serves this machine alone"), "{}", told(&elsewhere));
}

#[test]
fn metrics_count_what_clients_asked_for_and_are_there_while_the_drive_ages() {
    let server = Server::tiny(&["--page", "0", "--set", "drive.endurance=1000000"]);
    let mut client = server.client();
    for number in 0..5u64 {
        assert_eq!(client.ask(WRITE, number * 8192, 8192, &[1; 8192]).0, 0);
    }
    assert_eq!(client.ask(READ, 1 << 40, 512, &[]).0, 22);
    let by_page = || answer(&server, "GET /metrics", Some(address(&server))).1;
    let by_control = || {
        let told = wane().arg("ctl").arg(server.path("control")).arg("metrics").output().unwrap();
        String::from_utf8(told.stdout).unwrap()
    };
    for metrics in [by_page(), by_control()] {
        for (name, wanted) in [
            ("wane_requests_total{drive=\"tiny\",kind=\"write\"}", 5.0),
            ("wane_request_bytes_total{drive=\"tiny\",kind=\"write\"}", 40960.0),
            ("wane_request_errors_total{drive=\"tiny\",kind=\"read\"}", 1.0),
            ("wane_request_latency_seconds_count{drive=\"tiny\",kind=\"write\"}", 5.0),
            ("wane_clients{drive=\"tiny\"}", 1.0),
            ("wane_capacity_bytes{drive=\"tiny\"}", f64::from(64 << 20)),
            ("wane_power_on{drive=\"tiny\"}", 1.0),
            ("wane_busy{drive=\"tiny\"}", 0.0),
        ] {
            assert_eq!(sample(&metrics, name).to_bits(), f64::to_bits(wanted), "{name}");
        }
        assert!(!metrics.contains("wane_journal_bytes"), "this drive keeps no journal");
    }
    let mut aging = wane();
    aging.arg("ctl").arg(server.path("control")).args(["age", "--until", "drive-writes=1e6", "--most", "9 h"]);
    let mut aging = aging.stdout(Stdio::null()).spawn().unwrap();
    super::busy(&server, true);
    let mut events = asked(&server, "GET /events", Some(address(&server)));
    assert_eq!(event(&mut events, "drive").0["name"], "tiny", "who comes meanwhile is told what it is");
    let (tick, _) = event(&mut events, "tick");
    assert!(tick["busy"]["doing"] == "age" && tick["busy"]["done"].as_f64().unwrap() < 1.0, "{tick}");
    let metrics = by_page();
    assert_eq!(sample(&metrics, "wane_busy{drive=\"tiny\"}").to_bits(), f64::to_bits(1.0));
    assert_eq!(sample(&metrics, "wane_requests_total{drive=\"tiny\",kind=\"write\"}").to_bits(), f64::to_bits(5.0));
    server.ctl(&["cancel"]);
    aging.wait().unwrap();
}

/// A browser that is told what to do through pipes.
struct Browser {
    process: std::process::Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    asked: u64,
    /// What scripts threw.
    faults: Vec<String>,
}

impl Browser {
    fn start(profile: &std::path::Path) -> Self {
        // It reads commands from the third descriptor and answers on the fourth.
        let command = "exec timeout 120 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
                       --remote-debugging-pipe --user-data-dir=\"$profile\" about:blank 3<&0 4>&1 </dev/null >/dev/null 2>&1";
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).env("profile", profile).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = shell.spawn().unwrap();
        let (to, from) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
        Self { process, to, from, asked: 0, faults: Vec::new() }
    }

    /// The answer to a command; `None` if the browser has ended.
    fn ask(&mut self, session: Option<&str>, method: &str, parameters: &Value) -> Option<Value> {
        self.asked += 1;
        let mut command = json!({ "id": self.asked, "method": method, "params": parameters });
        if let Some(session) = session {
            command["sessionId"] = json!(session);
        }
        write!(self.to, "{command}\0").ok()?;
        loop {
            let mut told = Vec::new();
            self.from.read_until(0, &mut told).ok()?;
            let told: Value = serde_json::from_slice(told.strip_suffix(b"\0")?).unwrap();
            if told["method"] == "Runtime.exceptionThrown" {
                self.faults.push(told["params"].to_string());
            }
            if told["id"] == self.asked {
                return Some(told["result"].clone());
            }
        }
    }

    /// What the page says once it has drawn some ticks.
    fn look(&mut self, url: &str) -> Option<Value> {
        let target = self.ask(None, "Target.createTarget", &json!({ "url": url }))?["targetId"].clone();
        let attached = self.ask(None, "Target.attachToTarget", &json!({ "targetId": target, "flatten": true }))?;
        let session = attached["sessionId"].as_str()?.to_owned();
        self.ask(Some(&session), "Runtime.enable", &json!({}))?;
        let texts = "JSON.stringify(Object.fromEntries([['ticks', document.body?.dataset.ticks], \
                     ...['name', 'state', 'iops-write'].map((id) => [id, document.getElementById(id)?.textContent])]))";
        for _ in 0..150 {
            let told = self.ask(Some(&session), "Runtime.evaluate", &json!({ "expression": texts }))?;
            let told: Value = serde_json::from_str(told["result"]["value"].as_str()?).unwrap();
            if told["ticks"].as_str().is_some_and(|ticks| ticks.parse::<u32>().unwrap() >= 3) {
                return Some(told);
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        panic!("the page draws no ticks: {:?}", self.faults);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.ask(None, "Browser.close", &json!({}));
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_browser_draws_the_page() {
    if !has(&["chromium", "timeout"]) {
        return;
    }
    let profile = tempfile::tempdir().unwrap();
    let server = Server::start(&["--preset", "tiny", "--page", "0", "--speed", "1x"]);
    let ends = AtomicBool::new(false);
    let (told, faults) = std::thread::scope(|scope| {
        scope.spawn(|| load(server.client(), &ends));
        let _ends = Ends(&ends);
        let mut browser = Browser::start(profile.path());
        let told = browser.look(server.facts["page"].as_str().unwrap());
        (told, std::mem::take(&mut browser.faults))
    });
    let Some(told) = told else { return skipped("chromium ends before it has drawn the page") };
    assert_eq!(faults, Vec::<String>::new());
    assert_eq!((&told["name"], &told["state"]), (&json!("tiny"), &json!("serving")), "{told}");
    let writes: String = told["iops-write"].as_str().unwrap().chars().filter(char::is_ascii_digit).collect();
    assert!(writes.parse::<u64>().is_ok_and(|writes| writes > 0), "{told}");
}
