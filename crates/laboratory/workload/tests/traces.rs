//! Checks real traces against figures that were computed from the same files by other means.

use std::path::{Path, PathBuf};

use wane_workload::trace::{Figures, Format, Options, Reader, TraceError, info};
use wane_workload::{Op, Request};

const SECOND: f64 = 1e9;
const MIB: f64 = (1 << 20) as f64;
const GIB: f64 = (1 << 30) as f64;

/// The folder with `traces/`, if the environment names it.
fn data() -> Option<PathBuf> {
    let folder = std::env::var_os("WANE_TEST_DATA").map(|folder| Path::new(&folder).join("traces"));
    if folder.is_none() {
        wane_testkit::skipped("WANE_TEST_DATA, a folder with real traces, is not set");
    }
    folder
}

/// The known figures of a file, each to the given digits.
struct Want {
    file: &'static str,
    format: Format,
    requests: u64,
    write_share: f64,
    read_mib: f64,
    written_mib: f64,
}

const fn want(
    file: &'static str,
    format: Format,
    requests: u64,
    write_share: f64,
    read_mib: f64,
    written_mib: f64,
) -> Want {
    Want { file, format, requests, write_share, read_mib, written_mib }
}

const CLOUDPHYSICS_WRITES: f64 = 66_898.0 / 113_872.0;

const WANTED: [Want; 8] = [
    want("mqsim_tpcc-small.trace.gz", Format::Mqsim, 6999, 0.374, 34.6, 22.3),
    want("ssdsim_DTRS100M.trace.gz", Format::Mqsim, 127_043, 0.110, 6138.8, 725.6),
    want("cloudphysics_cloudPhysicsIO.csv.gz", Format::CloudphysicsCsv, 113_872, CLOUDPHYSICS_WRITES, 1714.0, 2297.0),
    want("cloudphysics_cloudPhysicsIO.vscsi.gz", Format::Vscsi, 113_872, CLOUDPHYSICS_WRITES, 1714.0, 2297.0),
    want("ycsb_blkparse_ext4.txt.gz", Format::Blkparse, 9887, 0.086, 999.1, 240.3),
    want("ycsb_blkparse_btrfs.txt.gz", Format::Blkparse, 1824, 0.287, 1002.1, 244.6),
    want("nvme_blkparse_java_10000.txt.gz", Format::Blkparse, 1694, 0.0, 188.9, 0.0),
    // 5,741 reads and 259 writes of 8 sectors.
    want("fiu_cheetah_mail_first6000.blkparse.gz", Format::Fiu, 6000, 259.0 / 6000.0, 22.4, 1.0),
];

fn figures(path: &Path, format: Format) -> (Figures, Vec<String>) {
    let reader = Reader::open(path, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(reader.format(), format, "{}", path.display());
    let info = info(reader).unwrap_or_else(|error| panic!("{error}"));
    (info.figures, info.notes)
}

fn requests(path: &Path) -> Vec<Request> {
    let reader = Reader::open(path, &Options::default());
    reader.and_then(Iterator::collect::<Result<_, TraceError>>).unwrap_or_else(|error| panic!("{error}"))
}

fn near(what: &str, found: f64, want: f64, by: f64) {
    assert!((found - want).abs() <= by, "{what}: found {found}, expected {want}");
}

#[test]
fn real_traces_add_up_to_their_known_figures() {
    let Some(folder) = data() else { return };
    for want in WANTED {
        let (found, notes) = figures(&folder.join(want.file), want.format);
        assert_eq!(found.requests, want.requests, "{} {notes:?}", want.file);
        near(want.file, found.writes as f64 / found.requests as f64, want.write_share, 0.000_51);
        let digit = if want.read_mib.fract() == 0.0 { 0.51 } else { 0.051 };
        near(want.file, found.bytes_read as f64 / MIB, want.read_mib, digit);
        near(want.file, found.bytes_written as f64 / MIB, want.written_mib, digit);
    }
}

#[test]
fn real_traces_reach_as_far_in_time_and_space_as_known() {
    let Some(folder) = data() else { return };
    // (file, seconds, last byte in GiB)
    let table = [
        ("mqsim_tpcc-small.trace.gz", Some((0.136, 0.000_51)), Some((216.7, 0.051))),
        ("ssdsim_DTRS100M.trace.gz", Some((30_000.0, 1.0)), None),
        ("cloudphysics_cloudPhysicsIO.csv.gz", Some((7200.0, 0.51)), Some((31.28, 0.005_1))),
        ("cloudphysics_cloudPhysicsIO.vscsi.gz", Some((7200.0, 1.0)), Some((31.28, 0.005_1))),
        ("ycsb_blkparse_btrfs.txt.gz", Some((1071.28, 0.005_1)), None),
        ("fiu_cheetah_mail_first6000.blkparse.gz", Some((4.966, 0.000_51)), None),
    ];
    for (file, span, reach) in table {
        let requests = requests(&folder.join(file));
        let last = requests.iter().map(|request| request.at).max().unwrap_or(0);
        let end = requests.iter().map(|request| request.offset + request.length).max().unwrap_or(0);
        for (found, want) in [(last as f64 / SECOND, span), (end as f64 / GIB, reach)] {
            if let Some((want, by)) = want {
                near(file, found, want, by);
            }
        }
    }
}

#[test]
fn two_forms_of_one_trace_agree() {
    let Some(folder) = data() else { return };
    let strip = |request: Request| (request.op, request.offset, request.length);
    let [text, binary] = ["cloudphysics_cloudPhysicsIO.csv.gz", "cloudphysics_cloudPhysicsIO.vscsi.gz"]
        .map(|file| requests(&folder.join(file)).into_iter().map(strip).collect::<Vec<_>>());
    assert!(text == binary, "the requests differ");
}

#[test]
fn odd_times_lists_and_iologs_are_read() {
    let Some(folder) = data() else { return };
    let (_, notes) = figures(&folder.join("ycsb_blkparse_ext4.txt.gz"), Format::Blkparse);
    assert!(notes.iter().any(|note| note.contains("timestamps jump")), "{notes:?}");
    let (dtrs, _) = figures(&folder.join("ssdsim_DTRS100M.trace.gz"), Format::Mqsim);
    assert_eq!(dtrs.footprint_written_bytes / 4096, 184_051);
    let (oltp, notes) = figures(&folder.join("arc_OLTP_first300000.lis.gz"), Format::Lis);
    assert_eq!((oltp.requests, oltp.writes, oltp.footprint_bytes / 4096), (300_000, 300_000, 11_262));
    assert!(notes[0].contains("no direction and no unit"));
    let (iolog, _) = figures(&folder.join("fio_t0038_v3.iolog"), Format::FioIolog3);
    assert_eq!((iolog.reads, iolog.writes, iolog.trims, iolog.bytes_written), (0, 10, 10, 10 * 4096));
    let first = &requests(&folder.join("fio_t0038_v3.iolog"))[0];
    assert_eq!((first.op, first.length), (Op::Trim, 2 << 30));
}
