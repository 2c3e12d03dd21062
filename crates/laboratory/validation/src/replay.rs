//! The same addresses written to the engine and to the plain drive: every count must be equal, block by block, until death.

use wane_testkit::plain::{Dice, Drive, Leveler, Setup, Tie, Victim};
use wane_units::{Lpn, SuperblockId};

use super::drives::{HOT, SMALL_HOT, Spec, Traffic, UNIFORM, WARM, leveler_name, victim_name};
use super::{Extent, Job, Part, Row};

/// The part.
pub(crate) fn part() -> Part {
    Part {
        id: "replay",
        title: "The same addresses",
        compared: "drives of random size, age and traffic that get the same addresses: pages written, collected and leveled, \
                   erases of each block, valid pages of each block, and the write at which each dies; policies without random choices",
        reference: "the plain drive of `testkit`: equal in every count, or the drive does not count as identical",
        seeds: "drives 1 to 12 of each combination, in the quick part 1 to 4; both get their addresses from the plain drive's random numbers",
        tolerance: "none",
        note: "",
        takes: "10 seconds",
        jobs,
    }
}

fn jobs(extent: Extent) -> Vec<Job> {
    let drives = if extent == Extent::Quick { 4 } else { 12 };
    let greedy = Victim::Greedy(Tie::Oldest);
    let victims = [
        greedy,
        Victim::Greedy(Tie::Newest),
        Victim::Greedy(Tie::LeastWorn),
        Victim::Greedy(Tie::MostWorn),
        Victim::Fifo,
        Victim::Windowed(20),
        Victim::Lfs,
        Victim::Kawaguchi,
    ];
    let levelers = [
        Leveler::Obp { threshold: 2, protection: 8 },
        Leveler::Obp { threshold: 4, protection: 64 },
        Leveler::Progressive { percent: 10 },
        Leveler::Progressive { percent: 50 },
        Leveler::Swap(4),
        Leveler::Variance(0.9),
    ];
    let combinations =
        victims.map(|victim| (victim, Leveler::None)).into_iter().chain(levelers.map(|one| (greedy, one)));
    let job = |(victim, leveler)| -> Job {
        Box::new(move || {
            let same = (1..=drives).filter(|number| is_identical(victim, leveler, *number)).count();
            let cell = format!("{}; {}", victim_name(victim), leveler_name(leveler));
            vec![Row::exact(cell, "identical drives", same as f64, drives as f64, 0.0)]
        })
    };
    combinations.map(job).collect()
}

/// The compared counts of a drive.
#[derive(Debug, PartialEq)]
struct Life {
    host: u64,
    collected: u64,
    leveled: u64,
    erases_leveling: u64,
    dead: bool,
    erases: Vec<u32>,
    valid: Vec<usize>,
}

/// A drive of random size, drawn from the dice.
fn spec(victim: Victim, leveler: Leveler, dice: &mut Dice) -> Spec {
    let traffics: [Traffic; 4] = [UNIFORM, WARM, HOT, SMALL_HOT];
    let traffic = traffics[dice.below(4) as usize];
    let (blocks, pages) = (32 + dice.below(200) as usize, 4 + dice.below(40) as usize);
    let spare = 8 + dice.below(30) as usize;
    let mut spec = Spec::new(blocks, pages, spare, traffic).with(victim, leveler);
    (spec.setup.endurance, spec.setup.retires) = (20 + dice.below(60) as u32, dice.below(4) > 0);
    spec
}

fn is_identical(victim: Victim, leveler: Leveler, number: u64) -> bool {
    let mut dice = Dice::new(number);
    let spec = spec(victim, leveler, &mut dice);
    let pages = spec.setup.logical_pages() as u64;
    let fill: Vec<usize> = (0..pages as usize).collect();
    let random: Vec<usize> = (0..pages).map(|_| dice.below(pages) as usize).collect();
    let traffic = spec.traffic.of(&spec.setup);
    let hot: Vec<usize> = (0..60 * pages).map(|_| traffic.draw(&mut dice)).collect();
    plain(&spec.setup, [&fill, &random, &hot]) == engine(&spec, [&fill, &random, &hot])
}

/// Writes everything, with wear leveling during the last part.
fn plain(setup: &Setup, [fill, random, hot]: [&[usize]; 3]) -> Life {
    let mut drive = Drive::new(setup.clone());
    let lives = fill.iter().chain(random).all(|page| drive.write(*page).is_ok());
    drive.start_counting();
    let lives = lives && hot.iter().all(|page| drive.write(*page).is_ok());
    let counts = drive.counts();
    Life {
        host: counts.host,
        collected: counts.collected,
        leveled: counts.leveled,
        erases_leveling: counts.erases_leveling,
        dead: !lives,
        erases: drive.erases(),
        valid: drive.valid(),
    }
}

fn engine(spec: &Spec, [fill, random, hot]: [&[usize]; 3]) -> Life {
    let plan = wane_lab::build::plan(&spec.scenario(1, "drive-writes = 1"))
        .unwrap_or_else(|error| unreachable!("a small drive is built: {error}"));
    let mut drive = plan.device.into_drive();
    let units = |pages: &[usize]| pages.iter().map(|page| Lpn(*page as u32)).collect::<Vec<Lpn>>();
    drive.set_leveling(false);
    let lives = drive.age(&units(fill)).and_then(|()| drive.age(&units(random))).is_ok();
    let before = *drive.counters();
    drive.set_leveling(true);
    let lives = lives && drive.age(&units(hot)).is_ok();
    let counted = *drive.counters() - before;
    Life {
        host: counted.host_units_written,
        collected: counted.programmed_gc,
        leveled: counted.programmed_wear_leveling,
        erases_leveling: counted.erases_wear_leveling,
        dead: !lives,
        erases: drive.erase_counts().to_vec(),
        valid: (0..drive.erase_counts().len() as u32).map(|id| drive.valid(SuperblockId(id)) as usize).collect(),
    }
}
