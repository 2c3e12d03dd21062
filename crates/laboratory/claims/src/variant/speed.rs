//! CS6 to CS8: throughput over the life of a drive (001, section 5.2.1).

use super::{
    Access, Claim, Class, DEEP, Design, Finding, Life, Matter, Others, PAGES, PAGES_WHOLE, PUBLISHED, READ, Reading,
    Runs, SUPERBLOCK, Twist, claim, finding, lives, pair, percent, read_rate, reading, side_by_side, write_rate,
};
use crate::{mean, scenario};
use wane_results::{RunResult, Window};
use wane_scenario::Scenario;

/// Shares of the capacity that hold data.
pub(super) const SHARES: [u32; 2] = [30, 70];

pub(super) fn claims() -> Vec<Claim> {
    vec![
        claim(
            Class::Mechanism,
            [
                "CS6",
                "001 Fig. 10",
                "Zipf: CVSS reads faster than TrSS by up to 0.72 at equal host writes",
                "0.4 to 1.2 at 30 or at 70 % mapped",
            ],
            || both(Access::Zipf),
            |runs| gains(runs, Access::Zipf, [0.4, 1.2]),
            Others::Run { scenarios: cs6_others, evaluate: cs6_readings },
        ),
        claim(
            Class::Mechanism,
            [
                "CS7",
                "001 Fig. 11",
                "random: CVSS reads faster than TrSS by up to 0.6 (30 % mapped) and 0.7 (70 %)",
                "0.3 to 1.1 at both",
            ],
            || both(Access::Uniform),
            |runs| gains(runs, Access::Uniform, [0.3, 1.1]),
            Others::None("those of CS6 change the same lives"),
        ),
        Claim::new(
            Class::Mechanism,
            [
                "CS8",
                "001 Fig. 13",
                "TrSS writes 60 % less while wear leveling runs; CVSS writes 12 % more than TrSS on average",
                "TrSS 40 to 75 % less in the probes in which a request waits behind wear leveling",
            ],
            [CS8_CONFIGURATION, PUBLISHED, READ],
            cs8_lives,
            cs8,
            Others::Run { scenarios: || WORST.map(worst_case).into(), evaluate: cs8_readings },
        ),
    ]
}

fn both(access: Access) -> Vec<Scenario> {
    lives(SHARES.into_iter().flat_map(|share| pair(access, share)))
}

/// The largest gain of the variant drive's read throughput at equal host writes, and after how many drive writes.
fn largest_gain(runs: &Runs, [variant, traditional]: [Life; 2]) -> (f64, f64) {
    let (variant, traditional) = (runs.life(variant), runs.life(traditional));
    let gains = side_by_side(variant, traditional)
        .map(|(one, other)| (read_rate(one) / read_rate(other) - 1.0, one.at_drive_writes));
    gains.fold((f64::MIN, 0.0), |best, next| if next.0 > best.0 { next } else { best })
}

fn gains(runs: &Runs, access: Access, [least, most]: [f64; 2]) -> Finding {
    let found = SHARES.map(|share| largest_gain(runs, pair(access, share)));
    let is_near = |(gain, _): (f64, f64)| (least..=most).contains(&gain);
    let agrees = match access {
        Access::Uniform => found.into_iter().all(is_near),
        Access::Zipf | Access::Apart => {
            is_near(found.into_iter().fold((f64::MIN, 0.0), |a, b| if b.0 > a.0 { b } else { a }))
        }
    };
    let [low, high] = found;
    let ours = format!("{:+.2} (30 %), {:+.2} (70 %)", low.0, high.0);
    let note = if access == Access::Uniform { CS7_NOTE } else { CS6_NOTE };
    finding(ours, agrees, note.to_owned(), table(runs, access))
}

const CS6_NOTE: &str = "read throughput as a share of the new drive's. TrSS falls much as in the paper, but CVSS falls sooner: Zipf reads what it \
                        writes, and the host's data lie in the most worn blocks (CS17). Where reads lie apart from writes CVSS is ahead, by less \
                        than in the paper. With one request at a time, a read of 50 us comes with a write of 500 us, so a drive without any re-read \
                        could gain at most 0.55 over one with six. At most WAF - 1 of the reads meet young blocks (CS-B1), which bounds the gain in \
                        re-reads (CS-B2)";

const CS7_NOTE: &str = "read throughput as a share of the new drive's. Random reads meet the data of all blocks that take writes, and with 30 or 70 \
                        % mapped all blocks do: the two drives' re-reads, and their throughput, stay alike (CS17 has them for 30 %). CS-B1 and \
                        CS-B2 say how much CVSS could gain";

/// Read throughput over the life as a share of the new drive's, every third probe.
fn table(runs: &Runs, access: Access) -> String {
    let designs: Vec<Life> = SHARES.into_iter().flat_map(|share| pair(access, share)).collect();
    let results: Vec<&RunResult> = designs.iter().map(|life| runs.life(*life)).collect();
    let mut text =
        "| drive writes | CVSS, 30 % | TrSS, 30 % | CVSS, 70 % | TrSS, 70 % |\n|---:|---:|---:|---:|---:|\n".to_owned();
    let longest = results.iter().map(|result| result.windows.len()).max().unwrap_or(0);
    for number in (0..longest).filter(|number| number % 3 == 0) {
        let age =
            results.iter().find_map(|result| result.windows.get(number)).map_or(0.0, |window| window.at_drive_writes);
        text += &format!("| {age:.0} |");
        for result in &results {
            let rate = result
                .windows
                .get(number)
                .map(|window| format!(" {:.2} |", read_rate(window) / read_rate(&result.windows[0])));
            text += &rate.unwrap_or_else(|| " - |".to_owned());
        }
        text.push('\n');
    }
    text
}

/// The lives under another reading.
fn twisted(twist: Twist) -> [Life; 2] {
    pair(Access::Zipf, 30).map(|life| life.with(twist))
}

fn cs6_cases() -> [(Matter, &'static str, [Life; 2]); 5] {
    [
        (
            Matter::Choice,
            "30 % alone: writes by Zipf on a sixth of the data, reads uniform on all",
            pair(Access::Apart, 30),
        ),
        (Matter::Choice, "30 % alone: re-reads by the table of the released code", twisted(Twist::Table)),
        (Matter::Choice, "30 % alone: 32 requests at a time", pair(Access::Zipf, 30).map(Life::deep)),
        (Matter::Choice, "30 % alone: one frontier, as in the released code", {
            let [variant, traditional] = pair(Access::Zipf, 30);
            [variant.with(Twist::OneFrontier), traditional]
        }),
        (Matter::Scale, "30 % alone: 1/16", pair(Access::Zipf, 30).map(Life::larger)),
    ]
}

fn cs6_others() -> Vec<Scenario> {
    lives(cs6_cases().into_iter().flat_map(|(_, _, lives)| lives))
}

fn cs6_readings(runs: &Runs) -> Vec<Reading> {
    let of = |(matter, what, lives): (Matter, &'static str, [Life; 2])| {
        let (gain, at) = largest_gain(runs, lives);
        reading(matter, what, (format!("{gain:+.2} after {at:.0} drive writes"), (0.4..=1.2).contains(&gain)))
    };
    cs6_cases().into_iter().map(of).collect()
}

/// Lives of the claim on wear leveling.
const LEVELED: [Life; 2] = {
    let leveled = Life { step: 2, ..Life::new(Design::Traditional, Access::Zipf, 70).deep() };
    [leveled, leveled.with(Twist::Unleveled)]
};

/// The variant drive beside them.
const VARIANT: Life = Life { design: Design::Variant, ..LEVELED[0] };

fn cs8_lives() -> Vec<Scenario> {
    lives(LEVELED.into_iter().chain([VARIANT]))
}

const CS8_CONFIGURATION: &str = "presets trss-128g, the same without wear leveling, and cvss-128g at 1/64, an erase 1/64 as long; 70 % mapped, the \
                                 rest never written; requests of 16 KiB, half of them reads, Zipf 1.1; lives to their end, with a probe of 20,000 \
                                 requests of the same kind after every 2 drive writes, 32 at a time";

const CS8_NOTE: &str = "PWL at 10 % is idle until blocks have 270 of their 300 cycles, so it runs for a tenth of a drive's life or less, and only \
                        this probe falls there before the drive without it has died. It then moves up to 0.44 pages a host page (1/256), on top of \
                        2.5 that are programmed anyway; a drop of 60 % would take four. CVSS writes less than TrSS because focusing wear costs \
                        amplification. In a worst case the drop is seen: most data are static, the host only writes, and the rewritten blocks come \
                        to PWL's threshold together, so that a probe as long as the refill of a superblock loses half";

/// Leveling of the worst case's two drives.
const WORST: [&str; 2] = ["{ policy = 'pwl', threshold = '10 %', average = 'in-service' }", "{ policy = 'none' }"];

/// Requests of 16 KiB that fill a superblock.
const FILL: u32 = PAGES * SUPERBLOCK as u32 / 4;

/// TrSS with 60 % of data that are never rewritten, and 10 % that are. Each probe writes as much as a superblock holds. The probes lie around the
/// age at which the rewritten blocks come to PWL's threshold.
fn worst_case(leveling: &str) -> Scenario {
    let ages = (0..=40).map(|step| format!("{:.2}", 22.0 + 0.05 * f64::from(step))).collect::<Vec<_>>().join(", ");
    let text = format!(
        "[drive]\npreset = 'trss-128g'\npages-per-block = {PAGES}\n[drive.timing]\nerase = '{} ns'\n[ftl]\nwear-leveling = {leveling}\n\
         [workload]\npattern = 'uniform'\nfootprint = '10 %'\nrequest-size = '16 KiB'\n[precondition]\nfill = '70 %'\n[time]\n\
         scheduler = 'timeline'\n[probe]\nat-drive-writes = [{ages}]\nuntil = {{ requests = {FILL} }}\nworkload = {{ arrival = {{ queue-depth = {DEEP} }} }}\n\
         [until]\ndrive-writes = 24.5\n",
        5_000_000 / (PAGES_WHOLE / PAGES)
    );
    scenario(&format!("TrSS, 60 % static, 10 % rewritten, leveling {leveling}"), &text)
}

fn cs8_readings(runs: &Runs) -> Vec<Reading> {
    let [leveled, unleveled] = WORST.map(|leveling| runs.get(&worst_case(leveling)));
    // While a whole superblock is refilled each outstanding request waits for all pages of a die to be read and programmed.
    let whole = f64::from(DEEP * PAGES) * (50_000.0 + 500_000.0) / f64::from(FILL);
    let drops = drops(leveled, unleveled, 0.95 * whole);
    let (least, most) = drops.iter().fold((0.0f64, -1.0f64), |(least, most), drop| (least.min(*drop), most.max(*drop)));
    let agrees = is_drop(&drops);
    let told = if drops.is_empty() {
        "no probe meets a whole refill".to_owned()
    } else {
        format!(
            "TrSS {} on average over {} probes, {} to {}",
            percent(mean(drops.iter().copied())),
            drops.len(),
            percent(most),
            percent(least)
        )
    };
    vec![reading(Matter::Choice, WORST_CASE, (told, agrees))]
}

const WORST_CASE: &str = "a worst case: 60 % of the capacity holds data that are never rewritten, 10 % are rewritten at random, writes alone, and \
                          each probe writes one superblock; the probes into which the whole refill of one falls";

/// Changes of the write throughput in the probes in which requests wait behind wear leveling for more than `least` nanoseconds on average.
fn drops(leveled: &RunResult, unleveled: &RunResult, least: f64) -> Vec<f64> {
    let waits = |window: &Window| {
        let kinds = [window.latency.read, window.latency.write];
        kinds.into_iter().flatten().any(|of| of.breakdown_ns.behind_wear_leveling > least)
    };
    let met = side_by_side(leveled, unleveled).filter(|(with, _)| waits(with));
    met.map(|(with, without)| write_rate(with) / write_rate(without) - 1.0).collect()
}

/// Whether throughput drops as in the paper.
fn is_drop(drops: &[f64]) -> bool {
    !drops.is_empty() && (-0.75..=-0.4).contains(&mean(drops.iter().copied()))
}

fn cs8(runs: &Runs) -> Finding {
    let [leveled, unleveled] = LEVELED.map(|life| runs.life(life));
    let drops = drops(leveled, unleveled, 0.0);
    let variant = runs.life(VARIANT);
    let gain = mean(side_by_side(variant, leveled).map(|(one, other)| write_rate(one) / write_rate(other) - 1.0));
    let told = if drops.is_empty() {
        "no probe meets wear leveling".to_owned()
    } else {
        format!("TrSS {} on average over {} probes", percent(mean(drops.iter().copied())), drops.len())
    };
    finding(format!("{told}; CVSS {} on average", percent(gain)), is_drop(&drops), CS8_NOTE.to_owned(), String::new())
}
