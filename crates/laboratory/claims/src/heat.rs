//! DC5, DC6 and DC10: what heat costs two models of drives, and how long a QLC drive serves compared with a hard disk (dissertation 002, chapters 5 and 6).
//!
//! Arithmetic on the paper's own tables, which are in `fleet`. Drives and logs are not public; nothing is simulated here.

use wane_fleet::Named;
use wane_fleet::economics::{Inputs, compare};
use wane_fleet::heat::{
    Benchmark, Load, Metric, Model, POINTS_MAX, REPLAY_CELSIUS, Recomputed, Spread, loss, recomputed, replayed, spread,
};

use super::{Claim, Class, Finding, Others, Verdict};

const OTHERS: Others = Others::None("arithmetic");

pub(super) fn claims() -> Vec<Claim> {
    let none = || Vec::new();
    vec![
        Claim::new(
            Class::Arithmetic,
            [
                "DC5",
                "002 Tables 6.4 to 6.7",
                "degradations from 25 to 35 and to 50 °C: 14.28, 48.72, 76.56, 177.20 % and 68 more",
                "each of the 72 within 0.02 points",
            ],
            [
                "the raw tables of throughput, IOPS and latency, two models under six jobs of fio",
                "means of three drives at 25, 35 and 50 °C, and the formulas of the degradations",
                "as printed, with the raw tables' two decimals",
            ],
            none,
            |_| degradations(),
            OTHERS,
        ),
        Claim::new(
            Class::Arithmetic,
            [
                "DC6",
                "002 §6.3, findings 3 and 4",
                "throughput lost from 25 to 50 °C: A 14 to 76 %, B 15 to 28 %; eight Hadoop loads are slowest at 50 °C, but Pagerank on B, and spread widest there",
                "ends as printed, cut to whole percent; every load but Pagerank on B slowest at 50 °C, and every load widest",
            ],
            [
                "tables 6.4, 6.5 and 6.12 to 6.17; each load in the direction in which it moves more data",
                "means and p-values of the loads; their spread is in box plots only",
                "the spread is what the paper's p-values leave for it: four deviations from six pooled t-tests of 100 replays",
            ],
            none,
            |_| throughput(),
            OTHERS,
        ),
        Claim::new(
            Class::Arithmetic,
            [
                "DC10",
                "002 §5.2.3",
                "a QLC drive of 450 TB of writes, 10 % of its bytes, serves 4.5 PB: 28.5 % more than a hard disk's 3.5 PB",
                "4.5 PB; 28.5 % within 0.1 points",
            ],
            [
                "the inputs of section 5.2.3 and table 5.3",
                "all of them, except the bays that hold the 184 TB",
                "as printed; the other figures of the section are reported, not judged",
            ],
            none,
            |_| interface(),
            OTHERS,
        ),
    ]
}

fn degradations() -> Finding {
    let all = recomputed();
    let off: Vec<&Recomputed> = all.iter().filter(|one| !one.agrees()).collect();
    let rounded = off.iter().filter(|one| one.is_rounding()).count();
    let mut table =
        "| model | job | metric | °C | ours, % | printed, % | rounding explains it |\n|---|---|---|---:|---:|---:|---|\n".to_owned();
    for one in &off {
        let explains = if one.is_rounding() { "yes" } else { "no" };
        table += &format!(
            "| {} | {} | {} | {} | {:.2} | {:.2} | {explains} |\n",
            letter(one.model),
            one.benchmark.name(),
            one.metric.name(),
            one.celsius,
            one.percent,
            one.printed
        );
    }
    let agreeing = all.len() - off.len();
    Finding {
        ours: format!("{agreeing} of {} within {POINTS_MAX} points", all.len()),
        verdict: Verdict::of(off.is_empty()),
        note: format!(
            "the paper's tables contradict each other in {} places, all of model A; {rounded} of them can come from averages with more digits than \
             are printed, the others are misprints. Our arithmetic gives the remaining {agreeing}, among them the 14.28, 48.72 and 76.56 % of its \
             text. The {} places:",
            off.len(),
            off.len()
        ),
        table,
    }
}

fn letter(model: Model) -> String {
    model.name().to_uppercase()
}

/// The least and the most throughput that a model loses from 25 to 50 °C, in percent.
fn ends(model: Model) -> (f64, f64) {
    let lost = Benchmark::ALL.iter().filter_map(|job| loss(model, *job, Metric::Throughput, 50.0).ok());
    lost.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), lost| (least.min(lost.value), most.max(lost.value)))
}

fn throughput() -> Finding {
    let mut table =
        "| model | load | MB/s at 25, 35, 45, 50 °C | slowest at | deviation, MB/s | widest at |\n|---|---|---|---|---|---|\n"
            .to_owned();
    let (mut told, mut agrees) = (Vec::new(), true);
    for (&model, printed) in Model::ALL.iter().zip([(14.0, 76.0), (15.0, 28.0)]) {
        let (least, most) = ends(model);
        let (mut slowest, mut widest) = (0, 0);
        for &load in Load::ALL {
            let (Some(means), Some(spread)) = (replayed(model, load, load.main()), spread(model, load, load.main()))
            else {
                continue;
            };
            let is_slowest = means[..3].iter().all(|cooler| *cooler > means[3]);
            slowest += usize::from(is_slowest);
            agrees &= is_slowest != ((model, load) == (Model::B, Load::Pagerank));
            widest += usize::from(spread.is_widest_when_hot());
            table += &row(model, load, means, &spread);
        }
        agrees &= (libm::floor(least), libm::floor(most)) == printed;
        agrees &= widest == Load::ALL.len();
        told.push(format!(
            "{} {least:.2} to {most:.2} %, {slowest} of 8 loads slowest, {widest} widest",
            letter(model)
        ));
    }
    Finding {
        ours: format!("{} at 50 °C", told.join("; ")),
        verdict: Verdict::of(agrees),
        note: "the 15 % of section 6.3.1.2 is not in table 6.7, whose least is 18.69, and section 6.3.1.1 says above 18. Throughput fluctuates most \
               at 50 °C (finding 4) on B, except for Pagerank; on A it does for three loads of eight, and Sort, Dfsioe-read and Bayes spread widest \
               at 25 °C: the paper's p-values fit nothing else. Model B has the size and firmware of a 3D XPoint drive:"
            .to_owned(),
        table,
    }
}

fn row(model: Model, load: Load, means: [f64; 4], spread: &Spread) -> String {
    let extreme = |values: [f64; 4], least: bool| {
        let sign = if least { -1.0 } else { 1.0 };
        let place = (0..4).fold(0, |best, place| if sign * values[place] > sign * values[best] { place } else { best });
        format!("{} °C", REPLAY_CELSIUS[place])
    };
    let deviations = spread.deviations.map(|deviation| deviation.unwrap_or(0.0));
    let figures = |values: [f64; 4]| values.map(|value| format!("{value:.1}")).join(", ");
    format!(
        "| {} | {} | {} | {} | {} | {} |\n",
        letter(model),
        load.name(),
        figures(means),
        extreme(means, true),
        figures(deviations),
        extreme(deviations, false)
    )
}

fn interface() -> Finding {
    let Ok(found) = compare(&Inputs::default()) else {
        unreachable!("the paper's inputs are within their ranges, which a test of `fleet` shows")
    };
    let gain = 100.0 * found.interface_gain_min;
    let agrees = (found.ssd_interface_pb - 4.5).abs() < 1e-9 && (gain - 28.5).abs() <= 0.1;
    let lines = [
        (
            "read IOPS a watt over a hard disk's",
            "38",
            format!("{:.1} to {:.1}", found.iops_per_watt_ratio_min, found.iops_per_watt_ratio_max),
        ),
        (
            "power of a hard disk over the drive's",
            "3",
            format!("{:.1} to {:.1}", found.power_ratio_min, found.power_ratio_max),
        ),
        (
            "hard disks of a RAID-5 that read as fast",
            "5",
            format!("{} (200 MB/s for 186)", found.raid5_drives_for_throughput),
        ),
        (
            "hard disks of a RAID-6 that read as fast",
            "7",
            format!("{} (200 MB/s for 186)", found.raid6_drives_for_throughput),
        ),
        ("hard disks for its read IOPS", "not printed", format!("{}", found.drives_for_read_iops)),
        (
            "price of such an array, $ a GB of one drive (drive: 0.12)",
            "similar",
            format!("{:.2} and {:.2}", found.raid5_dollars_per_drive_gb, found.raid6_dollars_per_drive_gb),
        ),
        (
            "2U of drives over 2U of hard disks",
            "10 % more",
            format!("{:.1} % more (24 x 7.6 TB)", 100.0 * found.density_gain),
        ),
    ];
    let mut table = "| figure | printed | ours |\n|---|---|---|\n".to_owned();
    for (what, printed, ours) in lines {
        table += &format!("| {what} | {printed} | {ours} |\n");
    }
    Finding {
        ours: format!("{:.1} PB, {gain:.2} % more", found.ssd_interface_pb),
        verdict: Verdict::of(agrees),
        note: "the print cuts 28.57 % to 28.5. Against the 2.5 PB that the section gives as a hard disk's least it is 80 % more. 38 times comes from \
               12.9 times the IOPS and a power ratio rounded to 3. The read IOPS of eQLC in table 5.3, 2,441, are those of brand C, consumer QLC, in \
               table 5.2; the eQLC drive has 3,338. The section's other figures:"
            .to_owned(),
        table,
    }
}
