//! Read latency of a die that also programs and collects: the mean and percentiles.
//!
//! Reads arrive as a Poisson process. One of every `turns` pages that the drive programs is on this die, so that its programs
//! come more regularly than reads; with `turns = 1` they are Poisson, too. V, the work that reads and programs leave waiting, has
//! no closed form. Its distribution is stepped through time on a grid until it repeats itself.
//!
//! A victim that is collected as a whole is a batch of work, followed at once by the page whose program it made room for. The
//! next batch comes when the freed room is written full: the fuller a victim, the longer it takes and the sooner another follows.
//! Between batches the die works off the rest with the time that other work leaves. As in Pollaczek and Khinchine's formula for
//! two kinds of work (R. W. Wolff, "Stochastic Modeling and the Theory of Queues", 1989, chapters 8 and 10), a read finds V, or,
//! with the chance that a batch is not worked off, V + V' + R, where R is what is left of batches.
//!
//! If collection can be interrupted between operations, a read waits only for the operation that runs (A. Cobham, "Priority
//! assignment in waiting line problems", 1954).

use crate::error::{TheoryError, within};

/// Highest load of a die for which reads are predicted.
pub const LOAD_MAX: f64 = 0.7;

/// The order of operations on a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precedence {
    /// First come, first served; a victim is collected as a whole.
    FirstCome,
    /// Host reads before host programs before each operation of a collection.
    Reads,
}

/// What a die does. Times are in any one unit, rates in its inverse.
#[derive(Clone, Debug, PartialEq)]
pub struct Die {
    /// Rate of host reads.
    pub reads: f64,
    /// Time that a read holds the die, including its transfer.
    pub read: f64,
    /// Rate of host programs.
    pub programs: f64,
    /// Time that a program holds the die.
    pub program: f64,
    /// Host writes for each program of this die: requests that fill a page, times the dies that take turns; 1 or more.
    pub turns: u32,
    /// Garbage collection, if there is any.
    pub collection: Option<Collection>,
    /// The order of operations.
    pub precedence: Precedence,
}

/// Garbage collection of a die, with as many victims as make room for its programs. Times are as in [`Die`].
#[derive(Clone, Debug, PartialEq)]
pub struct Collection {
    /// Chances that a victim has 0 to k mapping units to relocate.
    pub valid: Vec<f64>,
    /// Mapping units of a page.
    pub units_per_page: u32,
    /// Time to sense a page.
    pub sense: f64,
    /// Time to move a unit that was read.
    pub transfer: f64,
    /// Time to program a page, including its transfer.
    pub program: f64,
    /// Time to erase the victim.
    pub erase: f64,
}

/// Latency of reads, from their arrival until they have left the die.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadTimes {
    /// Share of the time that the die is busy.
    pub load: f64,
    /// Mean latency.
    pub mean: f64,
    /// The waits that a read may find, each with its chance.
    waits: Vec<Wait>,
    /// Time that every read takes in addition.
    service: f64,
}

/// A wait of grid steps, and perhaps the rest of some work begun.
#[derive(Clone, Debug, PartialEq)]
struct Wait {
    chance: f64,
    grid: Grid,
    rest: Option<Rest>,
}

/// Chances of 0, 1, ... steps of work.
#[derive(Clone, Debug, PartialEq)]
struct Grid {
    step: f64,
    chances: Vec<f64>,
}

/// The rest of work in progress, seen at a random time: chances that more than 0, 1, ... steps of time are left.
#[derive(Clone, Debug, PartialEq)]
struct Rest {
    step: f64,
    above: Vec<f64>,
}

impl Collection {
    /// Pages that are read and pages that are programmed for `valid` mapping units, which lie anywhere in the victim.
    fn pages(&self, valid: f64) -> (f64, f64) {
        let (units, of_block) = (f64::from(self.units_per_page), (self.valid.len() - 1).max(1) as f64);
        let touched = of_block / units * (1.0 - libm::pow(1.0 - valid / of_block, units));
        (touched, valid / units)
    }

    fn work(&self, valid: f64) -> f64 {
        let (reads, programs) = self.pages(valid);
        reads * self.sense + valid * self.transfer + programs * self.program + self.erase
    }

    fn mean(&self, of: impl Fn(f64) -> f64) -> f64 {
        self.valid.iter().enumerate().map(|(valid, chance)| chance * of(valid as f64)).sum()
    }

    /// Victims a unit of time that make room for `programs` programs a unit of time.
    fn victims(&self, programs: f64) -> f64 {
        let gained = self.valid.len() as f64 - 1.0 - self.mean(|valid| valid);
        debug_assert!(gained > 0.0, "a victim makes room");
        programs * f64::from(self.units_per_page) / gained
    }

    fn load(&self, programs: f64) -> f64 {
        self.victims(programs) * self.mean(|valid| self.work(valid))
    }

    /// Operations with their rates.
    fn operations(&self, programs: f64) -> Vec<(f64, f64)> {
        let victims = self.victims(programs);
        let reads = victims * self.mean(|valid| self.pages(valid).0);
        let programs = victims * self.mean(|valid| self.pages(valid).1);
        let units = programs * f64::from(self.units_per_page);
        let read = if reads > 0.0 { self.sense + self.transfer * units / reads } else { 0.0 };
        vec![(read, reads), (self.program, programs), (self.erase, victims)]
    }

    /// The chance that a batch is left to work off, and how much: victims, each with its program. `free` is the share of its time
    /// that other work leaves the die.
    fn backlog(&self, die: &Die, free: f64) -> (f64, Rest) {
        let of_block = self.valid.len() as f64 - 1.0;
        let room = |valid: f64| (of_block - valid) / f64::from(self.units_per_page) / die.programs;
        // Chance, work, and time until the next victim, for each kind. Neighboring kinds are put together if there are many.
        let together = self.valid.len().div_ceil(KINDS_MAX);
        let of_kind = |(number, chances): (usize, &[f64])| {
            let chance: f64 = chances.iter().sum();
            let valid = (number * together) as f64
                + chances.iter().zip(0..).map(|(part, at)| part * f64::from(at)).sum::<f64>() / chance;
            (chance > 1e-9).then(|| (chance, self.work(valid) + die.program, room(valid) * free))
        };
        let kinds: Vec<(f64, f64, f64)> = self.valid.chunks(together).enumerate().filter_map(of_kind).collect();
        let longest = kinds.iter().map(|kind| kind.1).fold(0.0, f64::max);
        let step = longest / BATCH_STEPS;
        // The work that is left when the next batch comes.
        let mut left = vec![0.0; (BATCHES_DEEP * BATCH_STEPS) as usize];
        left[0] = 1.0;
        for _ in 0..ROUNDS_MAX {
            let mut next = vec![0.0; left.len()];
            for (place, at) in left.iter().enumerate().filter(|(_, at)| **at > 1e-12) {
                for (chance, work, done) in &kinds {
                    put(&mut next, (place as f64 + (work - done) / step).max(0.0), at * chance);
                }
            }
            let change: f64 = next.iter().zip(&left).map(|(next, left)| (next - left).abs()).sum();
            left = next;
            if change < 1e-9 {
                break;
            }
        }
        let cycle: f64 = kinds.iter().map(|(chance, _, done)| chance * done).sum();
        // From the level at which a batch begins, the work falls evenly until the next batch comes or nothing is left.
        let mut above = vec![0.0; left.len() + BATCH_STEPS as usize + 1];
        for (place, at) in left.iter().enumerate().filter(|(_, at)| **at > 1e-12) {
            for (chance, work, done) in &kinds {
                let (high, low) = (place as f64 + work / step, (place as f64 + (work - done) / step).max(0.0));
                for (level, above) in above.iter_mut().enumerate().take_while(|(level, _)| (*level as f64) < high) {
                    *above += at * chance * (high - low.max(level as f64)) * step / cycle;
                }
            }
        }
        let chance = above[0];
        above.iter_mut().for_each(|above| *above /= chance);
        (chance.min(1.0), Rest { step, above })
    }
}

/// Steps of the longest batch, and the most batches that may wait.
const BATCH_STEPS: f64 = 128.0;
const BATCHES_DEEP: f64 = 12.0;
/// Most kinds of victims that are distinguished.
const KINDS_MAX: usize = 257;

/// Adds a chance at a fractional place, divided between its two neighbors.
fn put(places: &mut [f64], at: f64, chance: f64) {
    let last = places.len() - 1;
    let (whole, part) = (at as usize, at - libm::floor(at));
    places[whole.min(last)] += chance * (1.0 - part);
    places[(whole + 1).min(last)] += chance * part;
}

impl Rest {
    /// The rest of the running operation, for operations with their rates.
    fn of(works: &[(f64, f64)]) -> Self {
        let longest = works.iter().map(|(work, _)| *work).fold(0.0, f64::max);
        let load: f64 = works.iter().map(|(work, rate)| work * rate).sum();
        debug_assert!(load > 0.0, "something is left of operations that run");
        let step = longest / 1024.0;
        let above = |level: u32| {
            let left = |(work, rate): &(f64, f64)| rate * (work - f64::from(level) * step).max(0.0);
            works.iter().map(left).sum::<f64>() / load
        };
        Self { step, above: (0..=1024).map(above).collect() }
    }

    fn mean(&self) -> f64 {
        self.step * (self.above.iter().sum::<f64>() - self.above[0] / 2.0)
    }

    /// Chance that more than `time` is left.
    fn above(&self, time: f64) -> f64 {
        let at = time.max(0.0) / self.step;
        let (whole, part) = (at as usize, at - libm::floor(at));
        let of = |place: usize| self.above.get(place).copied().unwrap_or(0.0);
        of(whole) * (1.0 - part) + of(whole + 1) * part
    }
}

/// Predicts the reads of a die.
///
/// # Errors
/// A time, a rate or a chance is out of range, or the die is busier than [`LOAD_MAX`].
pub fn reads(die: &Die) -> Result<ReadTimes, TheoryError> {
    let positive = |what, value: f64| within(what, value, f64::MIN_POSITIVE, f64::MAX);
    positive("reads", die.reads)?;
    positive("the time of a read", die.read)?;
    within("programs", die.programs, 0.0, f64::MAX)?;
    positive("the time of a program", die.program)?;
    within("turns", f64::from(die.turns), 1.0, f64::MAX)?;
    if let Some(collection) = &die.collection {
        within("the time of an erase", collection.erase, 0.0, f64::MAX)?;
        within("mapping units of a page", f64::from(collection.units_per_page), 1.0, f64::MAX)?;
        let units = collection.valid.len() as f64 - 1.0;
        within("mapping units of a block", units, 1.0, f64::MAX)?;
        within("valid units of a victim", collection.mean(|valid| valid), 0.0, units * (1.0 - 1e-6))?;
    }
    let collection = die.collection.as_ref().filter(|_| die.programs > 0.0);
    let (own, others) = (die.reads * die.read, die.programs * die.program);
    let load = own + others + collection.map_or(0.0, |collection| collection.load(die.programs));
    if load.is_nan() || load > LOAD_MAX {
        return Err(TheoryError::Overload { what: "die", found: load, allowed: LOAD_MAX });
    }
    let (programs, rest) = match (die.precedence, collection) {
        (Precedence::FirstCome, Some(collection)) => {
            // One program follows each victim, and is counted with it.
            let programs = (die.programs - collection.victims(die.programs)).max(0.0);
            let free = 1.0 - own - programs * die.program;
            (programs, Some(collection.backlog(die, free)))
        }
        (Precedence::FirstCome, None) => (die.programs, None),
        (Precedence::Reads, collection) => {
            let mut below = collection.map_or_else(Vec::new, |collection| collection.operations(die.programs));
            below.push((die.program, die.programs));
            let load: f64 = below.iter().map(|(work, rate)| work * rate).sum();
            (0.0, (load > 0.0).then(|| (load / (1.0 - own), Rest::of(&below))))
        }
    };
    let grid = waiting(die, programs);
    let waits = match rest {
        None => vec![Wait { chance: 1.0, grid, rest: None }],
        Some((chance, rest)) => {
            let both = if die.precedence == Precedence::FirstCome { grid.twice() } else { grid.clone() };
            vec![Wait { chance: 1.0 - chance, grid, rest: None }, Wait { chance, grid: both, rest: Some(rest) }]
        }
    };
    let mean = |wait: &Wait| wait.chance * (wait.grid.mean() + wait.rest.as_ref().map_or(0.0, Rest::mean));
    Ok(ReadTimes { load, mean: die.read + waits.iter().map(mean).sum::<f64>(), waits, service: die.read })
}

impl ReadTimes {
    /// The time within which `share` of the reads, above 0 and below 1, are done.
    pub fn quantile(&self, share: f64) -> f64 {
        debug_assert!(0.0 < share && share < 1.0, "a share of {share} has no last one");
        let (mut low, mut high) = (0.0, self.service.max(self.mean));
        while self.above(high) > 1.0 - share {
            high *= 2.0;
        }
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if self.above(middle) > 1.0 - share { low = middle } else { high = middle }
        }
        self.service + high
    }

    /// Chance to wait more than `time`.
    fn above(&self, time: f64) -> f64 {
        let of = |wait: &Wait| {
            let past = |(steps, chance): (usize, &f64)| {
                let left = time - steps as f64 * wait.grid.step;
                let of_rest = wait.rest.as_ref().map_or(0.0, |rest| rest.above(left));
                chance * if left < 0.0 { 1.0 } else { of_rest }
            };
            let chances = wait.grid.chances.iter().enumerate();
            wait.chance * chances.filter(|(_, chance)| **chance > 1e-12).map(past).sum::<f64>()
        };
        self.waits.iter().map(of).sum()
    }
}

impl Grid {
    fn mean(&self) -> f64 {
        self.step * self.chances.iter().enumerate().map(|(steps, chance)| steps as f64 * chance).sum::<f64>()
    }

    /// The sum of two independent waits with these chances.
    fn twice(&self) -> Self {
        let mut chances = vec![0.0; 2 * self.chances.len() - 1];
        for (first, chance) in self.chances.iter().enumerate().filter(|(_, chance)| **chance > 1e-12) {
            for (second, other) in self.chances.iter().enumerate() {
                chances[first + second] += chance * other;
            }
        }
        Self { step: self.step, chances }
    }
}

/// Steps of the grid in the shorter of a read and a program, and the most in the longer one.
const STEPS: f64 = 16.0;
const STEPS_MAX: f64 = 1024.0;
/// The longest wait that is considered, in programs or reads, whichever are longer.
const DEEPEST: f64 = 24.0;
/// From this many turns on programs come as regularly as by a clock.
const TURNS_MAX: u32 = 8;
/// Largest change of the mean in the last round.
const AT_REST: f64 = 1e-4;
const ROUNDS_MAX: u32 = 10_000;
/// Time after which nothing is left of a program, in programs or reads.
const WHILE: f64 = 32.0;

/// The work that reads and `programs` programs a unit of time leave waiting, in the order in which they come.
fn waiting(die: &Die, programs: f64) -> Grid {
    let (shorter, longer) =
        if programs > 0.0 { (die.read.min(die.program), die.read.max(die.program)) } else { (die.read, die.read) };
    let step = (shorter / STEPS).max(longer / STEPS_MAX);
    let size = (DEEPEST * longer / step) as usize;
    let of_read = Added::new(die.read / step);
    let of_program = Added::new(die.program / step);
    let poisson = |rate: f64| {
        let mean = rate * step;
        let none = libm::exp(-mean);
        [none, none * mean, 1.0 - none - none * mean]
    };
    let by_clock = die.turns >= TURNS_MAX && programs > 0.0;
    let phases = if by_clock || programs == 0.0 { 1 } else { die.turns as usize };
    // After a while nothing is left of a program: from then on, the time until the next one looks like the last step.
    let between = if programs > 0.0 { 1.0 / (programs * step) } else { f64::INFINITY };
    let round = between.round().clamp(1.0, WHILE * longer / step) as usize;
    let rest = if by_clock { (between - round as f64).max(0.0) } else { 0.0 };
    let mut states = vec![vec![0.0]; phases];
    states[0][0] = 1.0;
    let mut before = f64::NAN;
    let reads = poisson(die.reads);
    let mut grid = Grid { step, chances: Vec::new() };
    for _ in 0..ROUNDS_MAX {
        let mut sum = vec![0.0; size];
        for at in 0..round {
            if by_clock && at == 0 {
                states[0] = of_program.to(&states[0], &[0.0, 1.0, 0.0], size);
            } else if !by_clock && programs > 0.0 {
                advance(&mut states, &of_program, (phases as f64 * programs * step).min(1.0), size);
            }
            let weight = if at + 1 == round { 1.0 + rest } else { 1.0 };
            for state in &mut states {
                *state = of_read.to(state, &reads, size);
                state.iter().zip(&mut sum).for_each(|(chance, sum)| *sum += weight * chance);
                // A step of time works off a step of work.
                let done = state.remove(0);
                match state.first_mut() {
                    Some(idle) => *idle += done,
                    None => state.push(done),
                }
            }
        }
        grid.chances = sum.iter().map(|chance| chance / (round as f64 + rest)).collect();
        let mean = grid.mean();
        if (mean - before).abs() <= AT_REST * mean.max(step) {
            break;
        }
        before = mean;
    }
    grid.at_mid_step()
}

impl Grid {
    /// An operation that comes within a step finds on average half of the step worked off.
    fn at_mid_step(mut self) -> Self {
        let size = self.chances.len();
        for steps in 1..size {
            let half = self.chances[steps] / 2.0;
            self.chances[steps] -= half;
            self.chances[steps - 1] += half;
        }
        self
    }
}

/// Moves each of the `states.len()` phases to the next one with this chance; leaving the last phase brings a program.
fn advance(states: &mut [Vec<f64>], of_program: &Added, chance: f64, size: usize) {
    debug_assert!((0.0..=1.0).contains(&chance), "a phase ends with a chance, found {chance}");
    let last = states.len() - 1;
    let leaving: Vec<f64> = states[last].iter().map(|state| state * chance).collect();
    for phase in (0..=last).rev() {
        let gone: Vec<f64> = states[phase].iter().map(|state| state * chance).collect();
        states[phase].iter_mut().zip(&gone).for_each(|(state, gone)| *state -= gone);
        if phase < last {
            join(&mut states[phase + 1], &gone);
        }
    }
    join(&mut states[0], &of_program.to(&leaving, &[0.0, 1.0, 0.0], size));
}

/// Adds chances, place by place.
fn join(state: &mut Vec<f64>, more: &[f64]) {
    state.resize(state.len().max(more.len()), 0.0);
    state.iter_mut().zip(more).for_each(|(state, more)| *state += more);
}

/// Work that adds a whole number of steps and a fraction.
struct Added {
    whole: usize,
    part: f64,
}

impl Added {
    fn new(steps: f64) -> Self {
        Self { whole: steps as usize, part: steps - libm::floor(steps) }
    }

    /// The state after none, one or two of this work came with these chances. Work beyond `size` places stays at the last place.
    fn to(&self, state: &[f64], chances: &[f64; 3], size: usize) -> Vec<f64> {
        let mut after: Vec<f64> = state.iter().map(|chance| chance * chances[0]).collect();
        after.resize((state.len() + 2 * self.whole + 4).min(size), 0.0);
        let last = after.len() - 1;
        for (count, chance) in [(1.0, chances[1]), (2.0, chances[2])].into_iter().filter(|(_, chance)| *chance > 0.0) {
            let steps = count * (self.whole as f64 + self.part);
            let (whole, part) = (steps as usize, steps - libm::floor(steps));
            for (place, state) in state.iter().enumerate() {
                after[(place + whole).min(last)] += state * chance * (1.0 - part);
                after[(place + whole + 1).min(last)] += state * chance * part;
            }
        }
        while after.len() > 1 && after.last().is_some_and(|chance| *chance < 1e-15) {
            after.pop();
        }
        after
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queueing::{Class, cobham_waits, md1_wait};

    fn die(reads: f64, programs: f64, turns: u32) -> Die {
        let precedence = Precedence::FirstCome;
        Die { reads, read: 1.0, programs, program: 8.0, turns, collection: None, precedence }
    }

    fn wait(die: &Die) -> f64 {
        reads(die).unwrap().mean - die.read
    }

    #[test]
    fn reads_alone_wait_as_in_md1() {
        for load in [0.1, 0.4, 0.7] {
            let (found, want) = (wait(&die(load, 0.0, 1)), md1_wait(load, 1.0));
            assert!((found / want - 1.0).abs() < 0.03, "{load}: {found} for {want}");
        }
    }

    #[test]
    fn programs_that_come_by_chance_make_it_mg1() {
        for (own, others) in [(0.2, 0.2), (0.1, 0.5), (0.35, 0.35)] {
            let found = wait(&die(own, others / 8.0, 1));
            let squared = (own + others * 8.0) / (own + others / 8.0);
            let class = Class {
                rate: own + others / 8.0,
                service: (own + others) / (own + others / 8.0),
                service_squared: squared,
            };
            let want = cobham_waits(&[class])[0];
            assert!((found / want - 1.0).abs() < 0.02, "{own} {others}: {found} for {want}");
        }
    }

    #[test]
    fn programs_by_the_clock_make_reads_wait_less() {
        let by = |turns| wait(&die(0.2, 0.4 / 8.0, turns));
        let (chance, few, clock) = (by(1), by(4), by(8));
        assert!(chance > few && few > clock, "{chance} {few} {clock}");
        // With only reads beside it, a program that comes by a clock finds little more than their residual.
        assert!(clock > 0.4 * 8.0 / 2.0);
    }

    #[test]
    fn reads_that_go_first_wait_as_cobham_says() {
        let valid = vec![0.0, 0.5, 0.5, 0.0, 0.0];
        let collection =
            Collection { valid, units_per_page: 1, sense: 0.75, transfer: 0.25, program: 8.0, erase: 30.0 };
        let die = Die { collection: Some(collection), precedence: Precedence::Reads, ..die(0.2, 0.01, 8) };
        // Two and a half programs need a victim, which has one and a half pages to move.
        let victims = 0.01 / 2.5;
        let classes = [
            Class::fixed(0.2, 1.0),
            Class::fixed(0.01 + 1.5 * victims, 8.0),
            Class::fixed(1.5 * victims, 1.0),
            Class::fixed(victims, 30.0),
        ];
        let (found, want) = (wait(&die), cobham_waits(&classes)[0]);
        assert!((found / want - 1.0).abs() < 0.02, "{found} for {want}");
    }

    /// Empty victims of ten pages, each of which takes 1,000; programs take almost no time.
    fn collecting(programs: f64) -> Die {
        let valid = [1.0].into_iter().chain([0.0; 10]).collect();
        let collection =
            Collection { valid, units_per_page: 1, sense: 0.75, transfer: 0.25, program: 1.0, erase: 1000.0 };
        Die { collection: Some(collection), program: 1.0, ..die(0.001, programs, 1) }
    }

    #[test]
    fn one_in_so_many_reads_finds_a_collection() {
        // A batch every 10,000 keeps the die busy for a tenth of the time; there is hardly any other work.
        let times = reads(&collecting(0.001)).unwrap();
        assert!((times.mean - 1.0 - 50.0).abs() < 1.0, "{}", times.mean);
        // One read of ten waits, evenly from 0 to 1,000: nine of ten of these wait less than 900.
        assert!((times.quantile(0.99) - 901.0).abs() < 5.0, "{}", times.quantile(0.99));
        assert!(times.quantile(0.5) < 1.2);
    }

    #[test]
    fn victims_that_follow_each_other_are_waited_for_together() {
        // Half of the victims are full, so that another follows at once: the longest wait is that of two or three victims in
        // turn.
        let mut twice = collecting(0.0005);
        if let Some(collection) = &mut twice.collection {
            collection.valid[0] = 0.5;
            collection.valid[10] = 0.5;
        }
        let (once, twice) = (reads(&collecting(0.001)).unwrap(), reads(&twice).unwrap());
        // The same number of victims, but in runs with a chance of 1/2 for each further one: their mean square is 3 times as
        // large.
        assert!((once.load - twice.load).abs() < 1e-3);
        assert!(((twice.mean - 1.0) / (once.mean - 1.0) / 3.0 - 1.0).abs() < 0.03, "{} {}", twice.mean, once.mean);
    }

    #[test]
    fn rare_programs_and_large_blocks_take_no_longer() {
        // One program in 10^9 times of a read, and blocks of 65,536 units.
        let rare = Die { turns: 64, ..die(0.4, 1e-9, 64) };
        assert!((wait(&rare) / md1_wait(0.4, 1.0) - 1.0).abs() < 0.03);
        let mut valid = vec![0.0; 65_537];
        valid[30_000..31_000].fill(1e-3);
        let collection =
            Collection { valid, units_per_page: 1, sense: 0.75, transfer: 0.25, program: 8.0, erase: 30.0 };
        let large = Die { collection: Some(collection), ..die(0.2, 0.02, 64) };
        assert!(reads(&large).unwrap().quantile(0.999) > 100_000.0);
    }

    #[test]
    fn a_busy_die_and_odd_numbers_are_refused() {
        let error = reads(&die(0.5, 0.3 / 8.0, 1)).unwrap_err().to_string();
        assert_eq!(error, "the die is busy 0.800 of the time, allowed is up to 0.7: beyond, waits are not predicted");
        assert!(reads(&die(0.0, 0.1, 1)).is_err() && reads(&die(0.1, f64::NAN, 1)).is_err());
    }
}
