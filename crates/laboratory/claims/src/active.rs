//! DC11: time and energy of erasure coding on drives (dissertation 002, section 8.3).
//!
//! The drives are not available and nothing here measures their power, so it is imported. The rest follows from the model of `fleet::coding`: the claim
//! compares its order and ratios with what the paper says of its figure 8.4.

use wane_fleet::coding::{Coding, Matched, Shares, Work};
use wane_report::published::{Bars, Picture};

use super::{Claim, Class, Finding, Others, Verdict};

/// Codes of figure 8.4: those whose M and K the text names, and more with each M.
const CODES: [Shares; 6] = [
    Shares { needed: 3, made: 8 },
    Shares { needed: 4, made: 8 },
    Shares { needed: 6, made: 8 },
    Shares { needed: 3, made: 16 },
    Shares { needed: 8, made: 16 },
    Shares { needed: 12, made: 16 },
];

/// Size of the object in MB: what fits in a drive's memory. Times grow in proportion.
const MEGABYTES: f64 = 1000.0;

/// Rate of a disk that takes no time, which stands for files in memory.
const MEMORY_MB_PER_S: f64 = 1e9;

pub(super) fn claims() -> Vec<Claim> {
    vec![Claim::new(
        Class::Imported,
        [
            "DC11",
            "002 §8.3.2, figure 8.4",
            "zfec on a drive that encodes: 8.4 to 8.7 W over 16 W idle, decoding 8.2 to 9.2 W; encoding takes longer with larger M and less with larger K; \
             decoding is almost 10 times as fast",
            "the order of times for every K and M; 10 lies among the codes' ratios",
        ],
        [
            "a model in virtual time of 1 GB, six codes, one drive and a server",
            "the powers and that order; no times, no file sizes, and no power of the server",
            "powers are imported; products a second are measured by `cargo bench -p wane-actor` and scaled to 1 GHz; decoding rebuilds one lost share \
             of data",
        ],
        Vec::new,
        |_| coded(),
        Others::None("powers are imported, and the rest follows from inputs; `wane_fleet::coding` accepts others"),
    )]
}

/// The model with files in memory, and with files on a disk.
fn models() -> [Coding; 2] {
    let disk = Coding::default();
    [Coding { drive_disk_mb_per_s: MEMORY_MB_PER_S, server_disk_mb_per_s: MEMORY_MB_PER_S, ..disk }, disk]
}

fn seconds(model: &Coding, shares: Shares, work: Work) -> f64 {
    model.on_drives(shares, work, MEGABYTES, 1).map_or_else(|error| never(&error), |taken| taken.seconds)
}

/// Panics: a test shows that the claim's codes and inputs are within their ranges.
fn never<T>(error: &wane_fleet::FleetError) -> T {
    unreachable!("the inputs of the claim are within their ranges: {error}")
}

const DECODE: Work = Work::Decode { lost: 1 };

fn coded() -> Finding {
    let [memory, disk] = models();
    let ratio = |model: &Coding, shares: Shares| seconds(model, shares, Work::Encode) / seconds(model, shares, DECODE);
    let mut agrees = true;
    for (one, other) in CODES.iter().flat_map(|one| CODES.iter().map(move |other| (*one, *other))) {
        let encode = |shares| seconds(&memory, shares, Work::Encode);
        agrees &= one.made != other.made || one.needed >= other.needed || encode(one) > encode(other);
        agrees &= one.needed != other.needed || one.made >= other.made || encode(one) < encode(other);
    }
    let ends = |model: &Coding| {
        let ratios = CODES.iter().map(|shares| ratio(model, *shares));
        ratios.fold((f64::INFINITY, 0.0), |(least, most), ratio| (f64::min(least, ratio), f64::max(most, ratio)))
    };
    let (in_memory, on_disk) = (ends(&memory), ends(&disk));
    agrees &= (in_memory.0..=in_memory.1).contains(&10.0) && on_disk.0 > 1.0;
    let (idle, encode, decode) = (
        disk.drive_idle_watts,
        (disk.encode_watts_min, disk.encode_watts_max),
        (disk.decode_watts_min, disk.decode_watts_max),
    );
    Finding {
        ours: format!(
            "decoding {:.1} to {:.1} times as fast in memory, {:.1} to {:.1} times from a disk; imported: {:.1} to {:.1} W encoding, {:.1} to {:.1} W decoding",
            in_memory.0, in_memory.1, on_disk.0, on_disk.1, idle + encode.0, idle + encode.1, idle + decode.0, idle + decode.1
        ),
        verdict: Verdict::of(agrees),
        note: "encoding makes M - K products of each byte, decoding one for each lost share of data (none if none is lost), so \"almost 10 times\" is \
               not a constant but depends on the code: M - K over the lost shares, up to 13 here, and less once a disk is waited for. Decoding is \
               faster with more shares only if its throughput counts the bytes of all M shares; counted in the data's bytes it does not depend on M. \
               The text's M = 8, K = 8 has no parity, and M = 3, K = 16 is no code: the text swaps the two there. The last columns apply the paper's \
               rule to a server whose power it does not print: the number of drives that are as fast, with files on disks, and the power that a \
               server may draw before the drives use less energy. With the same disk one drive does a server's work as long as the disk is the \
               bottleneck; with a core slower than 1 GHz against 3 GHz it takes several:"
            .to_owned(),
        table: table(&memory, &disk),
    }
}

fn matched(model: &Coding, shares: Shares) -> Matched {
    model.matched(shares, Work::Encode, MEGABYTES).unwrap_or_else(|error| never(&error))
}

fn table(memory: &Coding, disk: &Coding) -> String {
    let mut table = "| K of M | encode in memory, s/GB | from disk | decode in memory | from disk | Wh/GB to encode, from disk | drives for a server | break-even, W | \
                     drives of a tenth of the speed | break-even, W |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    let slow = Coding { drive_core_ratio: disk.drive_core_ratio / 10.0, ..*disk };
    for shares in CODES {
        let taken = disk.on_drives(shares, Work::Encode, MEGABYTES, 1).unwrap_or_else(|error| never(&error));
        let (same, slower) = (matched(disk, shares), matched(&slow, shares));
        table += &format!(
            "| {} of {} | {:.2} | {:.2} | {:.2} | {:.2} | {:.3} to {:.3} | {} | {:.0} | {} | {:.0} |\n",
            shares.needed,
            shares.made,
            seconds(memory, shares, Work::Encode),
            seconds(disk, shares, Work::Encode),
            seconds(memory, shares, DECODE),
            seconds(disk, shares, DECODE),
            taken.watt_hours_min,
            taken.watt_hours_max,
            same.drives,
            same.break_even_watts_max,
            slower.drives,
            slower.break_even_watts_max,
        );
    }
    table
}

/// Figure 8.4 over K and M, from the model.
pub(super) fn pictures() -> (&'static str, Vec<Picture>) {
    let [memory, disk] = models();
    let bars = |heading, caption: &str, measure, of: &dyn Fn(&Coding, Shares) -> f64, levels| {
        let row = |shares: &Shares| {
            (format!("{} of {}", shares.needed, shares.made), vec![of(&memory, *shares), of(&disk, *shares)])
        };
        Picture::Bars(Bars {
            heading,
            caption: caption.to_owned(),
            measure,
            series: vec!["files in memory".to_owned(), "files on a disk".to_owned()],
            groups: CODES.iter().map(row).collect(),
            levels,
        })
    };
    let throughput = |model: &Coding, shares| MEGABYTES / seconds(model, shares, DECODE);
    let energy = |model: &Coding, shares| {
        let taken = model.on_drives(shares, Work::Encode, MEGABYTES, 1).unwrap_or_else(|error| never(&error));
        taken.watt_hours_max
    };
    let pictures = vec![
        bars(
            "Figure 8.4 (a)",
            "Encoding on a drive, K of M shares, by the model of one drive of 1 GHz.",
            "seconds to encode 1 GB",
            &|model, shares| seconds(model, shares, Work::Encode),
            Vec::new(),
        ),
        bars(
            "Figure 8.4 (b)",
            "Decoding on a drive, one share of data lost.",
            "MB of data decoded a second",
            &throughput,
            Vec::new(),
        ),
        bars(
            "Figure 8.4 (c)",
            "Energy to encode on a drive at 24.7 W, the paper's highest (imported). The paper plots power; energy follows from the time.",
            "watt-hours to encode 1 GB",
            &energy,
            Vec::new(),
        ),
    ];
    ("Figure 8.4: erasure coding on a drive", pictures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_claim_s_inputs_are_within_their_ranges() {
        let finding = coded();
        assert_eq!(finding.verdict, Verdict::Agrees, "{}", finding.ours);
        assert_eq!(finding.table.lines().count(), 2 + CODES.len());
        assert_eq!(pictures().1.len(), 3);
    }
}
