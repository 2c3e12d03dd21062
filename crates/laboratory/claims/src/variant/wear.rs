//! CS4, CS5, CS17, CS18 and CS20: capacity, wear and what the firmware's rules cost (001, sections 3 and 5.4).

use wane_ftl::REMAP_ENTRY_BYTES;

use super::{
    Access, Claim, Class, Design, Finding, Life, Matter, Others, PAGES, Reading, Runs, SUPERBLOCK, Twist, claim,
    finding, lives, pair, percent, reading, rereads_per_gib,
};
use crate::{gain, scenario};
use wane_results::RunResult;
use wane_scenario::Scenario;

/// Weights of the victim score: invalid share, age, reads. The paper's own ones first.
const WEIGHTS: [(&str, [&str; 3]); 4] = [
    ("0.4/0.3/0.3", ["0.4", "0.3", "0.3"]),
    ("invalidity 0.6", ["0.6", "0.2", "0.2"]),
    ("reads 0.6", ["0.2", "0.2", "0.6"]),
    ("age 0.6", ["0.2", "0.6", "0.2"]),
];

/// Bytes of the log of remapped units of a drive of 1 TiB (001, section 3.1.3).
const LOG_BYTES: u64 = 1 << 20;

/// Bits that TrSS corrects in figure 18.
const STRENGTHS: [u32; 5] = [50, 60, 70, 80, 90];

/// CS4 and CS5.
pub(super) fn first() -> Vec<Claim> {
    vec![
        Claim::new(
            Class::Arithmetic,
            ["CS4", "001 §3.1.3", "1 MiB of NVRAM holds the new addresses of 512 MiB of remapped data", "exactly"],
            [
                "arithmetic: the log of a TiB of flash, 8 bytes an entry, one for each mapping unit of cvss-128g",
                "at most 8 bytes an entry",
                "exactly 8",
            ],
            Vec::new,
            |_| cs4(),
            Others::None("arithmetic"),
        ),
        Claim::new(
            Class::Order,
            [
                "CS5",
                "001 Fig. 8",
                "traditional collection and allocation: more than 60 % of the blocks at one wear state",
                "at least 40 % of the blocks in one twentieth of the rated cycles, and more than with wear focusing",
            ],
            [
                "stand-in dtrs on 256 GiB of the flash of 001 at 1/64, greedy collection, the youngest free block first, no wear leveling; the same \
                 with CVSS' rules but equal capacity; both to the end of their lives",
                "100 iterations of MS-DTRS on a 256 GiB SSD; it is not stated what one writes, nor what a wear state is",
                "the stand-in of the dissertation's DTRS; wear at the end of life, when capacity is lost; a wear state is a twentieth of the rated cycles",
            ],
            || Focus::ALL.map(Focus::scenario).into(),
            cs5,
            Others::None("the figure is a picture with no other number"),
        ),
    ]
}

/// CS17, CS18 and CS20.
pub(super) fn last() -> Vec<Claim> {
    vec![
        claim(
            Class::Mechanism,
            [
                "CS17",
                "001 Fig. 18",
                "re-reads a GiB read over the life, Zipf, 30 % mapped: TrSS with 50 bits 2.93 times CVSS with 50 bits, which is about TrSS with 90",
                "1.5 to 4 times",
            ],
            || lives(pair(Access::Zipf, 30)),
            cs17,
            Others::Run { scenarios: cs17_others, evaluate: cs17_readings },
        ),
        claim(
            Class::Mechanism,
            [
                "CS18",
                "001 Fig. 19",
                "weights of the score against 0.4/0.3/0.3: invalidity 0.6 lower WAF and +78 % re-reads; reads 0.6 higher WAF and fewer re-reads; age 0.6 much \
                 higher WAF",
                "all five signs",
            ],
            || lives(weighted()),
            cs18,
            Others::None("the paper gives these weights and no others"),
        ),
        Claim::new(
            Class::Mechanism,
            [
                "CS20",
                "001 Table 1",
                "128 GiB of flash, over-provisioning 7.37 %",
                "7.37 %; of TrSS' 512 superblocks as many go bad as the released code says",
            ],
            [
                "the presets' own capacity, and the number of superblocks out of service at the end of lives under Zipf at 1/64: TrSS with 30 % \
                 mapped, CVSS with 1 %",
                "119.2 GiB are logical; when a drive ends the paper does not say. Constants of the released code do: TrSS at 36 bad superblocks of 512, \
                 CVSS at 492",
                "an end is counted by the superblock whose retirement the drive does not survive; CVSS' is reported, not judged, since nothing can \
                 reach the code's number",
            ],
            || lives([Life::of(Design::Traditional), NEARLY_EMPTY]),
            cs20,
            Others::Run {
                scenarios: || lives([Life::of(Design::Traditional), NEARLY_EMPTY.with(Twist::Released)]),
                evaluate: |runs| vec![reading(Matter::Choice, CODE, counted(runs, NEARLY_EMPTY.with(Twist::Released)))],
            },
        ),
    ]
}

const CS5_NOTE: &str = "the blocks that take the writes come to the end of their cycles together, while those beneath data that is never written \
                        have hardly any erases: the median block has 298 erases when TrSS dies";

const CS17_NOTE: &str = "TrSS with 90 bits re-reads about as often as CVSS with 50, as in the paper, but TrSS with 50 re-reads less often than \
                         there. Zipf reads what it writes, and the host's data lie in the most worn blocks. Over its cycles a block needs 3.25 \
                         re-reads a page on average up to 267 erases, and 3.56 up to 300: where reads follow writes, gathering wear cannot gain \
                         more than 1.24 times at the paper's amplification (CS-B2). Where most of what is read is seldom written, it lies in young \
                         blocks, and TrSS re-reads 2.25 times as often";

const CS18_NOTE: &str = "the signs of invalidity and age are reproduced, with smaller changes. Those of reads are not: Zipf reads what it writes, \
                         so much of the data in a block that is read often is overwritten, and collecting it costs less. Where reads lie apart from \
                         writes (as in CS17's reading, at 1/256), reads 0.6 raises WAF as the paper says, from 1.58 to 2.66, but also re-reads a \
                         GiB, from 331,813 to 628,611";

const CS20_NOTE: &str = "the released code counts bad superblocks, 512 less the 20 that it keeps free, but 492 cannot be reached: at 491 one of the \
                         21 left is open, and 20 free ones are no more than the 20 that collection keeps. Here a drive ends when collection cannot \
                         keep its reserve of 21 free any longer: at 491 with one frontier, as in the code, and at 490 with two; with a reserve of \
                         16 it ends at 495 (1/256)";

fn cs4() -> Finding {
    let unit = Life::of(Design::Variant).scenario().device.unit.0;
    let mib = (LOG_BYTES / REMAP_ENTRY_BYTES * unit) >> 20;
    finding(format!("{mib} MiB"), mib == 512, String::new(), String::new())
}

/// Firmware of the drive of figure 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Focus {
    Traditional,
    Focusing,
}

impl Focus {
    const ALL: [Self; 2] = [Self::Traditional, Self::Focusing];

    fn scenario(self) -> Scenario {
        let (name, firmware) = match self {
            Self::Traditional => (
                "traditional",
                "gc = { policy = 'greedy', tie = 'least-worn' }\nallocation = 'least-worn'\nfrontiers = 'one'\n",
            ),
            Self::Focusing => ("wear focusing", ""),
        };
        let text = format!(
            "[drive]\npreset = 'cvss-128g'\npages-per-block = {PAGES}\nblocks-per-plane = 1024\n[ftl]\n{firmware}retire = 'at-endurance'\ncapacity = {{ policy = 'fixed' }}\n\
             mode = 'host-only'\n[workload]\nstandin = 'dtrs'\n[until]\nend-of-life = true\n"
        );
        scenario(&format!("256 GiB, dtrs, {name}, 1/64"), &text)
    }
}

/// The largest share of blocks whose wear lies in one twentieth of the rated cycles, and the erases at which that twentieth begins.
fn mode_of(result: &RunResult) -> (f64, u32) {
    const WIDTH: u32 = 300 / 20;
    let mut bins = std::collections::BTreeMap::<u32, u32>::new();
    for block in &result.blocks {
        *bins.entry(block.erase_count / WIDTH).or_default() += 1;
    }
    let (bin, count) = bins.into_iter().max_by_key(|(_, count)| *count).unwrap_or_default();
    (f64::from(count) / result.blocks.len() as f64, bin * WIDTH)
}

fn cs5(runs: &Runs) -> Finding {
    let [(traditional, from), (focusing, _)] = Focus::ALL.map(|focus| mode_of(runs.get(&focus.scenario())));
    let ours = format!(
        "{:.0} % at {from} to {} erases; wear focusing {:.0} %",
        100.0 * traditional,
        from + 14,
        100.0 * focusing
    );
    finding(ours, traditional >= 0.4 && traditional > focusing, CS5_NOTE.to_owned(), String::new())
}

/// TrSS with each correction.
pub(super) fn strengths() -> [Life; 5] {
    STRENGTHS.map(|strength| Life::of(Design::Traditional).with_strength(strength))
}

/// TrSS' re-reads over CVSS' and whether that agrees.
fn ratio(runs: &Runs, lives: [Life; 2]) -> (String, bool) {
    let [variant, traditional] = lives.map(|life| rereads_per_gib(runs.life(life)));
    let ratio = traditional / variant;
    (format!("{ratio:.2} times"), (1.5..=4.0).contains(&ratio))
}

fn cs17(runs: &Runs) -> Finding {
    let (ours, agrees) = ratio(runs, pair(Access::Zipf, 30));
    let table = if runs.is_first_seed() { figure18_table(runs) } else { String::new() };
    finding(ours, agrees, CS17_NOTE.to_owned(), table)
}

/// Figure 18 in numbers.
fn figure18_table(runs: &Runs) -> String {
    let mut table =
        "| drive | correctable bits | re-reads a GiB read | WAF | drive writes |\n|---|---:|---:|---:|---:|\n"
            .to_owned();
    for life in [Life::of(Design::Variant)].into_iter().chain(strengths()) {
        let result = runs.life(life);
        table += &format!(
            "| {} | {} | {:.0} | {:.3} | {:.1} |\n",
            life.design.name(),
            life.strength,
            rereads_per_gib(result),
            result.summary.write_amplification.total.unwrap_or(1.0),
            result.summary.end.at_drive_writes
        );
    }
    table
}

pub(super) fn cs17_cases() -> [(Matter, &'static str, [Life; 2]); 5] {
    let zipf = pair(Access::Zipf, 30);
    let [variant, traditional] = zipf;
    [
        (Matter::Choice, "one frontier, as in the released code", [variant.with(Twist::OneFrontier), traditional]),
        (Matter::Choice, "re-reads by the table of the released code", zipf.map(|life| life.with(Twist::Table))),
        (Matter::Choice, "random reads and writes", pair(Access::Uniform, 30)),
        (Matter::Choice, "writes by Zipf on a sixth of the data, reads uniform on all", pair(Access::Apart, 30)),
        (Matter::Scale, "1/16", zipf.map(Life::larger)),
    ]
}

fn cs17_others() -> Vec<Scenario> {
    lives(cs17_cases().into_iter().flat_map(|(_, _, lives)| lives).chain(strengths()))
}

fn cs17_readings(runs: &Runs) -> Vec<Reading> {
    let of = |(matter, what, lives): (Matter, &'static str, [Life; 2])| reading(matter, what, ratio(runs, lives));
    cs17_cases().into_iter().map(of).collect()
}

/// CVSS with each set of weights.
fn weighted() -> [Life; 4] {
    WEIGHTS.map(|(_, weights)| match weights {
        ["0.4", ..] => Life::of(Design::Variant),
        weights => Life::of(Design::Variant).with(Twist::Weights(weights)),
    })
}

/// Gains in amplification and re-reads over the paper's weights, and whether all signs are the paper's.
fn signs(runs: &Runs, lives: [Life; 4]) -> (String, bool) {
    let of = lives.map(|life| {
        let result = runs.life(life);
        (result.summary.write_amplification.total.unwrap_or(1.0), rereads_per_gib(result))
    });
    let [own, invalidity, reads, age] = of;
    let over = |one: (f64, f64)| (gain(one.0, own.0), gain(one.1, own.1));
    let (invalidity, reads, age) = (over(invalidity), over(reads), over(age));
    let told = [("invalidity", invalidity), ("reads", reads), ("age", age)]
        .map(|(name, (waf, rereads))| format!("{name} {} WAF, {} re-reads", percent(waf), percent(rereads)));
    let agrees = invalidity.0 < 0.0 && invalidity.1 > 0.0 && reads.0 > 0.0 && reads.1 < 0.0 && age.0 > 0.0;
    (told.join("; "), agrees)
}

fn cs18(runs: &Runs) -> Finding {
    let (ours, agrees) = signs(runs, weighted());
    let mut table = "| weights | WAF | re-reads a GiB read | drive writes |\n|---|---:|---:|---:|\n".to_owned();
    for ((name, _), life) in WEIGHTS.iter().zip(weighted()) {
        let result = runs.life(life);
        table += &format!(
            "| {name} | {:.3} | {:.0} | {:.1} |\n",
            result.summary.write_amplification.total.unwrap_or(1.0),
            rereads_per_gib(result),
            result.summary.end.at_drive_writes
        );
    }
    finding(ours, agrees, CS18_NOTE.to_owned(), table)
}

/// CVSS that holds hardly any data: it ends when it lacks the flash that it needs for itself.
const NEARLY_EMPTY: Life = Life::new(Design::Variant, Access::Zipf, 1);

const CODE: &str = "the code in place of the text: `cvss-128g-released`, whose host and collection fill one superblock";

fn cs20(runs: &Runs) -> Finding {
    let (ours, agrees) = counted(runs, NEARLY_EMPTY);
    finding(ours, agrees, CS20_NOTE.to_owned(), String::new())
}

/// The over-provisioning, the superblocks out of service when TrSS and the variant drive end, and whether the first two are as published.
fn counted(runs: &Runs, variant: Life) -> (String, bool) {
    let device = Life::of(Design::Variant).scenario().device;
    let pages = device.geometry.pages() as f64 * f64::from(device.units_per_page);
    let spare = pages / f64::from(device.logical_units) - 1.0;
    let retired = |life: Life| runs.life(life).summary.wear.blocks_retired as usize / SUPERBLOCK;
    let (traditional, variant) = (retired(Life::of(Design::Traditional)), retired(variant));
    let ours = format!("{:.2} %; TrSS ends at {traditional} bad superblocks, CVSS at {variant}", 100.0 * spare);
    let is_same = (spare * 1e4).round() == 737.0 && traditional == 36;
    (ours, is_same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict;

    #[test]
    fn a_mebibyte_of_log_holds_half_a_gibibyte_of_remapped_data() {
        let found = cs4();
        assert_eq!((found.ours.as_str(), found.verdict), ("512 MiB", Verdict::Agrees));
    }
}
