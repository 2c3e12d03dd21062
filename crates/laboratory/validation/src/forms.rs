//! Write amplification and draws of victims, compared with closed forms and with the specification's reference values.

use wane_ftl::policies::victim::{ClosedBlock, DChoices, DChoicesParams, GcTable, VictimPolicy};
use wane_ftl::policies::{Builtin, Setting};
use wane_sim::{Stream, Streams};
use wane_testkit::plain::{Leveler, Tie, Victim};
use wane_units::SuperblockId;

use super::drives::{Spec, Traffic, UNIFORM, WARM, victim_name};
use super::{Extent, Job, Part, Row};

/// The part.
pub(crate) fn part() -> Part {
    Part {
        id: "forms",
        title: "Closed forms of garbage collection",
        compared: "write amplification of FIFO and random victims over 4 drive writes after 3 uniform ones, write amplification of \
                   greedy, and the valid pages of the emptiest of d drawn blocks",
        reference: "FIFO under uniform writes: alpha / (alpha + W0(-alpha e^-alpha)) with alpha = physical / logical blocks, \
                    without the reserve, and Lambert's W by bisection; random victims under any writes: alpha / (alpha - 1); \
                    greedy: four values of the algorithm specification, from a separate model; d drawn of half-full blocks of 64 \
                    pages: the sum of P(valid >= i)^d over i, mixed for a fractional d",
        seeds: "1 to 3; the standard error is the engine's, the forms have none",
        tolerance: "1.5 % for FIFO and random (the forms hold for infinitely large drives), 2 % for greedy's values, 0.5 % for drawn blocks",
        note: "three seeds leave the standard error itself uncertain, so that a difference of a tenth of a percent can be many standard errors. The tolerance decides",
        takes: "10 seconds",
        jobs,
    }
}

/// The x in [-1, 0] with x e^x = `value`, by bisection: slow, and unlike the iteration in `theory`.
fn lambert_w0(value: f64) -> f64 {
    let (mut low, mut high) = (-1.0, 0.0);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if middle * libm::exp(middle) < value { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// Mean of the least of `d` draws with replacement from the valid counts of half-full blocks of 64 pages.
fn least_of(d: f64) -> f64 {
    let mut shares = vec![libm::exp2(-64.0)];
    for valid in 0..64 {
        shares.push(shares[valid] * (64 - valid) as f64 / (valid + 1) as f64);
    }
    let of = |draws: f64| -> f64 {
        (1..=64).map(|least| libm::pow(shares[least..].iter().sum::<f64>(), draws)).sum::<f64>()
    };
    let whole = libm::floor(d);
    (whole + 1.0 - d) * of(whole) + (d - whole) * of(whole + 1.0)
}

fn jobs(extent: Extent) -> Vec<Job> {
    let mut jobs: Vec<Job> = Vec::new();
    let (blocks, spares): (usize, &[usize]) = match extent {
        Extent::Quick => (1024, &[20]),
        Extent::Full => (4096, &[7, 10, 20, 28]),
    };
    for spare in spares {
        let alpha = (blocks * 100 / (100 - spare)) as f64 / blocks as f64;
        let fifo = alpha / (alpha + lambert_w0(-alpha * libm::exp(-alpha)));
        let mut add = |victim, traffic: Traffic, form: f64| {
            let spec = Spec::new(blocks, 64, *spare, traffic).with(victim, Leveler::None);
            jobs.push(Box::new(move || vec![amplification(&spec, "closed form", form, 0.015)]));
        };
        add(Victim::Fifo, UNIFORM, fifo);
        add(Victim::Random, UNIFORM, alpha / (alpha - 1.0));
        add(Victim::Random, WARM, alpha / (alpha - 1.0));
    }
    let anchors: &[(usize, f64)] = match extent {
        Extent::Quick => &[(32, 4.53)],
        Extent::Full => &[(32, 4.53), (64, 4.85), (128, 5.03), (256, 5.11)],
    };
    for (pages, anchor) in anchors {
        let spec = Spec::new(1024, *pages, 10, UNIFORM).with(Victim::Greedy(Tie::Oldest), Leveler::None);
        jobs.push(Box::new(move || vec![amplification(&spec, "anchor", *anchor, 0.02)]));
    }
    for d in [1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0] {
        jobs.push(Box::new(move || vec![drawn(d, if extent == Extent::Quick { 20_000 } else { 200_000 })]));
    }
    jobs
}

fn amplification(spec: &Spec, against: &str, reference: f64, share: f64) -> Row {
    let of = |seed| {
        let run = spec.engine(seed, "drive-writes = 4");
        run.summary.write_amplification.gc.expect("the host wrote")
    };
    let found: Vec<f64> = (1..=3).map(of).collect();
    let cell =
        format!("{} against its {against}; {}; {}", victim_name(spec.setup.victim), spec.traffic.name(), spec.size());
    super::drives::sampled(cell, "write amplification", &found, &[reference, reference], (share, 0.0))
}

/// Blocks to draw from. With this many, drawing without putting back is nearly the same as with.
const BLOCKS: u32 = 65_536;

fn drawn(d: f64, draws: u32) -> Row {
    let mut stream: Stream = Streams::new(1).stream("half-full blocks");
    let closed: Vec<ClosedBlock> =
        (0..BLOCKS).map(|_| ClosedBlock { valid: stream.bits().count_ones(), ..ClosedBlock::default() }).collect();
    let mut policy = DChoices::new(DChoicesParams { d, ..DChoicesParams::default() }).expect("d is within its range");
    policy.begin(Setting {
        first: SuperblockId(0),
        blocks: BLOCKS,
        units_per_block: 64,
        endurance: None,
        rated_blocks: BLOCKS,
        stream: Streams::new(1).stream("gc"),
    });
    let table = GcTable::new(64, policy.index(), &closed).expect("memory for the index");
    let view = table.view(0);
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..draws {
        let block = policy.choose(&view).expect("a block is closed");
        let valid = f64::from(closed[block.index()].valid);
        (sum, squares) = (sum + valid, squares + valid * valid);
    }
    let count = f64::from(draws);
    let mean = sum / count;
    // The error of the draws, and of the blocks to draw from.
    let error = ((squares / count - mean * mean) / count + 16.0 / f64::from(BLOCKS)).sqrt();
    let reference = least_of(d);
    Row {
        cell: format!("emptiest of d = {d} drawn blocks"),
        figure: "valid pages of a victim",
        ours: mean,
        reference,
        error: Some(error),
        allowed: 0.005 * reference,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_come_to_the_values_of_the_specification() {
        for (alpha, want) in [(1.0 / 0.9, 5.179), (1.0 / 0.93, 7.318), (1.25, 2.693)] {
            let found = alpha / (alpha + lambert_w0(-alpha * libm::exp(-alpha)));
            assert!((found - want).abs() < 5e-4, "{alpha}: {found}");
        }
        for (d, want) in [(1.0, 32.0), (1.5, 30.874), (2.0, 29.748), (5.0, 27.359), (20.0, 24.563)] {
            assert!((least_of(d) - want).abs() < 1e-3, "{d}: {}", least_of(d));
        }
    }
}
