//! Real traces against figures computed from the same files by other means.

use std::path::{Path, PathBuf};

use wane_workload::trace::{Figures, Format, Options, Reader, info};

/// The folder with `traces/`, if the environment names it.
fn data() -> Option<PathBuf> {
    let folder = std::env::var_os("WANE_TEST_DATA").map(|folder| Path::new(&folder).join("traces"));
    if folder.is_none() {
        println!("skipped: WANE_TEST_DATA is not set, so real traces are not read");
    }
    folder
}

struct Want {
    file: &'static str,
    format: Format,
    requests: u64,
    writes: u64,
    read_mib: f64,
    written_mib: f64,
}

const fn want(file: &'static str, format: Format, requests: u64, writes: u64, read_mib: f64, written_mib: f64) -> Want {
    Want { file, format, requests, writes, read_mib, written_mib }
}

const WANTED: [Want; 8] = [
    want("mqsim_tpcc-small.trace.gz", Format::Mqsim, 6999, 2618, 34.6, 22.3),
    want("ssdsim_DTRS100M.trace.gz", Format::Mqsim, 127_043, 13_975, 6138.8, 725.6),
    want("cloudphysics_cloudPhysicsIO.csv.gz", Format::CloudphysicsCsv, 113_872, 66_898, 1714.0, 2297.0),
    want("cloudphysics_cloudPhysicsIO.vscsi.gz", Format::Vscsi, 113_872, 66_898, 1714.0, 2297.0),
    want("ycsb_blkparse_ext4.txt.gz", Format::Blkparse, 9887, 850, 999.1, 240.3),
    want("ycsb_blkparse_btrfs.txt.gz", Format::Blkparse, 1824, 523, 1002.1, 244.6),
    want("nvme_blkparse_java_10000.txt.gz", Format::Blkparse, 1694, 0, 188.9, 0.0),
    want("fiu_cheetah_mail_first6000.blkparse.gz", Format::Fiu, 6000, 258, 22.4, 1.0),
];

fn figures(path: &Path, format: Format) -> (Figures, Vec<String>) {
    let reader = Reader::open(path, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(reader.format(), format, "{}", path.display());
    let info = info(reader).unwrap_or_else(|error| panic!("{error}"));
    (info.figures, info.notes)
}

#[test]
fn real_traces_add_up_to_their_known_figures() {
    let Some(folder) = data() else { return };
    for want in WANTED {
        let (found, notes) = figures(&folder.join(want.file), want.format);
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        assert_eq!(found.requests, want.requests, "{} {notes:?}", want.file);
        // Shares are given to a tenth of a percent, sizes to a tenth of a MiB.
        let near = |found: f64, want: f64, by: f64| (found - want).abs() <= by;
        assert!(near(found.writes as f64, want.writes as f64, found.requests as f64 * 5.1e-4), "{} {}", want.file, found.writes);
        assert!(near(mib(found.bytes_read), want.read_mib, 0.51), "{} {}", want.file, mib(found.bytes_read));
        assert!(near(mib(found.bytes_written), want.written_mib, 0.51), "{} {}", want.file, mib(found.bytes_written));
    }
}

#[test]
fn odd_times_lists_and_iologs_are_read() {
    let Some(folder) = data() else { return };
    let (_, notes) = figures(&folder.join("ycsb_blkparse_ext4.txt.gz"), Format::Blkparse);
    assert!(notes.iter().any(|note| note.contains("timestamps jump")), "{notes:?}");
    let (dtrs, _) = figures(&folder.join("ssdsim_DTRS100M.trace.gz"), Format::Mqsim);
    assert_eq!(dtrs.footprint_written_bytes / 4096, 184_051);
    let (oltp, notes) = figures(&folder.join("arc_OLTP_first300000.lis.gz"), Format::Lis);
    assert_eq!((oltp.requests, oltp.writes), (300_000, 300_000));
    assert!(notes[0].contains("no direction and no unit"));
    let (iolog, _) = figures(&folder.join("fio_t0038_v3.iolog"), Format::FioIolog3);
    assert!(iolog.requests > 0);
}
