//! What is lost between a first failure and the moment at which the array is whole again: an estimate for one such time, without waiting for luck.
//!
//! As long as one member more may fail, the next failure is forced to come before the next replacement, and what follows counts with the
//! chance that it does (failure forcing, a kind of importance sampling: P. Heidelberger, "Fast simulation of rare events in queueing and reliability
//! models", 1995). Where nothing more may fail, the chance of the next failure is not drawn but computed, from the hazards of all members that
//! are left: the last step is integrated. After that the array goes back to whole with chances as they are.
//!
//! Only what is known at the start counts: which members work, how worn they are, and their batches. So the mean of estimates is
//! the chance itself, whatever lives the array's own simulation drew.

use wane_sim::Stream;

use crate::array::{Array, Cause, Hazard};
use crate::plan::{SECTOR_BYTES, combinations};

/// Most steps of one way back to whole. Each needs a failure more within the time of a replacement.
const STEPS_MAX: u32 = 10_000;
/// A way whose weight is below this adds nothing.
const WEIGHT_MIN: f64 = 1e-300;

/// What is expected to be lost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Losses {
    /// Chance that any sector is lost, the array's own loss among them.
    pub(crate) any: f64,
    /// Chance that the array is lost.
    pub(crate) array: f64,
    /// Bytes.
    pub(crate) bytes: f64,
    /// Chances of `any` by the cause of the last step.
    pub(crate) causes: [f64; Cause::ALL.len()],
}

impl Losses {
    /// Adds the loss of the array, with a weight; nothing was lost before with the chance `clean`.
    pub(crate) fn lose_array(&mut self, array: &Array<'_>, chance: f64, clean: f64, cause: Cause) {
        self.any += chance * clean;
        self.array += chance;
        self.bytes += chance * array.plan.bytes_lost_with_array();
        self.causes[cause as usize] += chance * clean;
    }

    /// Adds sectors that cannot be read; `latent` is the part of them that was so at rest.
    pub(crate) fn lose_sectors(&mut self, (expected, latent): (f64, f64), weight: f64, clean: f64) {
        let any = -libm::expm1(-expected) * weight * clean;
        self.any += any;
        self.bytes += expected * weight * SECTOR_BYTES;
        self.causes[Cause::Latent as usize] += any * latent;
        self.causes[Cause::Unreadable as usize] += any * (1.0 - latent);
    }

    /// Adds what another way came to, in which nothing was lost before with the chance `clean`.
    pub(crate) fn add(&mut self, other: &Self, clean: f64) {
        self.any += other.any * clean;
        self.array += other.array;
        self.bytes += other.bytes;
        self.causes.iter_mut().zip(other.causes).for_each(|(sum, one)| *sum += one * clean);
    }
}

/// A way that an array may take.
struct Way<'a> {
    array: Array<'a>,
    day: f64,
    weight: f64,
    /// Chance that no sector was lost on this way so far.
    clean: f64,
}

/// Chances of what may happen before the next replacement.
struct Ahead {
    place: usize,
    whole: f64,
    /// Cumulative hazards of the members that work, until then.
    members: Vec<(usize, Hazard)>,
    /// Cumulative hazard of all that may happen.
    sum: f64,
    /// Its part that is a shock which takes at least one member.
    shock: f64,
}

/// What may come next.
#[derive(Clone, Copy)]
enum Event {
    Fails(usize),
    Shock,
}

/// What is lost until the array is whole again. It has just lost as many members as stand failed in it.
pub(crate) fn losses(array: &Array<'_>, day: f64, stream: &mut Stream) -> Losses {
    let mut losses = Losses::default();
    let mut way = Way { array: array.clone(), day, weight: 1.0, clean: 1.0 };
    while way.array.margin() > 0 {
        let Some(ahead) = way.ahead() else { return losses };
        let chance = -libm::expm1(-ahead.sum);
        // Nothing happens before the next replacement.
        let mut calm = Way { array: way.array.clone(), weight: way.weight * (1.0 - chance), ..way };
        calm.make_whole(&ahead, stream, &mut losses);
        calm.descend(stream, &mut losses);
        // Or something does.
        way.weight *= chance;
        if way.weight < WEIGHT_MIN {
            return losses;
        }
        way.happen(&ahead, stream, &mut losses);
    }
    way.descend(stream, &mut losses);
    losses
}

impl Way<'_> {
    /// What may happen until the next replacement; `None` if the array is whole.
    fn ahead(&self) -> Option<Ahead> {
        let (place, whole) = self.array.next_whole()?;
        let working = self.array.working().count() as i32;
        let shock = &self.array.plan.shock;
        let taken = 1.0 - libm::pow(1.0 - shock.takes, f64::from(working));
        let shock = shock.per_year * taken * (whole - self.day) / wane_units::DAYS_PER_YEAR;
        let of = |place| (place, self.array.hazard(place, self.day, whole));
        let members: Vec<(usize, Hazard)> = self.array.working().map(of).collect();
        let sum = members.iter().map(|(_, hazard)| hazard.sum()).sum::<f64>() + shock;
        Some(Ahead { place, whole, members, sum, shock })
    }

    /// The rebuild ends: what it could not read is lost, and a new drive stands in the place.
    fn make_whole(&mut self, ahead: &Ahead, stream: &mut Stream, losses: &mut Losses) {
        let unreadable = self.array.unreadable(ahead.whole);
        losses.lose_sectors(unreadable, self.weight, self.clean);
        self.clean *= libm::exp(-unreadable.0);
        let endurance = self.array.slots[ahead.place].drive.endurance;
        let batch = endurance.map_or(1.0, |endurance| endurance.draw_batch(stream));
        self.array.replace(ahead.place, ahead.whole, batch);
        self.day = ahead.whole;
    }

    /// Goes on until the array is whole, by chances as they are.
    fn descend(&mut self, stream: &mut Stream, losses: &mut Losses) {
        for _ in 0..STEPS_MAX {
            let Some(ahead) = self.ahead() else { return };
            if self.weight < WEIGHT_MIN {
                return;
            }
            if self.array.margin() == 0 {
                self.last_step(&ahead, losses);
                self.make_whole(&ahead, stream, losses);
            } else if stream.unit() < -libm::expm1(-ahead.sum) {
                self.happen(&ahead, stream, losses);
            } else {
                self.make_whole(&ahead, stream, losses);
            }
        }
    }

    /// The chance that the next failure, which the array does not survive, comes before the next replacement.
    fn last_step(&mut self, ahead: &Ahead, losses: &mut Losses) {
        let chance = -libm::expm1(-ahead.sum);
        if chance == 0.0 {
            return;
        }
        let mut parts = [(Cause::WearOut, 0.0), (Cause::Chance, 0.0), (Cause::Shock, ahead.shock)];
        for (_, hazard) in &ahead.members {
            parts[0].1 += hazard.wear;
            parts[1].1 += hazard.chance;
        }
        for (cause, part) in parts {
            // A certain death leaves nothing to others.
            let share = if part.is_infinite() { 1.0 } else { part / ahead.sum };
            losses.lose_array(&self.array, self.weight * chance * share, self.clean, cause);
        }
        self.weight *= 1.0 - chance;
    }

    /// Something happens before the next replacement: draws what and when, and lets it happen.
    fn happen(&mut self, ahead: &Ahead, stream: &mut Stream, losses: &mut Losses) {
        let (event, day) = self.draw(ahead, stream);
        self.day = day;
        match event {
            Event::Fails(place) => self.array.fail(place, day),
            Event::Shock => self.shock(stream, losses),
        }
    }

    /// The first event before the next replacement, given that there is one.
    ///
    /// The first of the list that happens has the chance q / (1 - exp(-R)), where R is the hazard from there on. Those behind it happen or not by
    /// their own chances. Of those that happen the earliest counts; nothing is remembered of the others, which are alive until then.
    fn draw(&self, ahead: &Ahead, stream: &mut Stream) -> (Event, f64) {
        let mut rest = ahead.sum;
        let mut first: Option<(Event, f64)> = None;
        let members = ahead.members.iter().map(|(place, hazard)| (Event::Fails(*place), hazard.sum()));
        let mut last = (Event::Shock, 0.0);
        for (event, hazard) in members.chain([(Event::Shock, ahead.shock)]) {
            if hazard > 0.0 {
                last = (event, hazard);
            }
            let happens = -libm::expm1(-hazard);
            let given = if first.is_none() { happens / -libm::expm1(-rest) } else { happens };
            rest = if hazard.is_infinite() { rest } else { (rest - hazard).max(0.0) };
            if hazard > 0.0 && stream.unit() < given {
                let day = self.day_of(event, ahead, -libm::log1p(-stream.unit() * happens));
                if first.is_none_or(|(_, earliest)| day < earliest) {
                    first = Some((event, day));
                }
            }
        }
        // Rounding may let the last one pass, whose chance was 1.
        first.unwrap_or((last.0, self.day_of(last.0, ahead, last.1 * 0.5)))
    }

    /// The cumulative hazard of an event until a day.
    fn hazard_until(&self, event: Event, ahead: &Ahead, day: f64) -> f64 {
        match event {
            Event::Fails(place) => self.array.hazard(place, self.day, day).sum(),
            Event::Shock if ahead.whole > self.day => ahead.shock * (day - self.day) / (ahead.whole - self.day),
            Event::Shock => 0.0,
        }
    }

    /// The day at which the cumulative hazard of an event reaches a value, to a millionth of the time until the next replacement.
    ///
    /// Hazards are nearly straight over so short a time: the false position with Illinois' rule takes some steps where halving takes twenty.
    fn day_of(&self, event: Event, ahead: &Ahead, hazard: f64) -> f64 {
        let over = |day: f64| self.hazard_until(event, ahead, day) - hazard;
        let (mut low, mut high) = (self.day, ahead.whole);
        let (mut below, mut above) = (-hazard, over(high));
        let close = (high - low) * 1e-6;
        let mut was_below = false;
        for _ in 0..60 {
            if high - low <= close {
                break;
            }
            let middle = match low + (high - low) * (-below / (above - below)) {
                day if day > low && day < high && above.is_finite() => day,
                _ => f64::midpoint(low, high),
            };
            let found = over(middle);
            if found.abs() <= hazard * 1e-7 {
                return middle;
            }
            // An end that stays twice loses half of its weight, so that it moves too.
            if found < 0.0 {
                above = if was_below { above / 2.0 } else { above };
                (low, below, was_below) = (middle, found, true);
            } else {
                below = if was_below { below } else { below / 2.0 };
                (high, above, was_below) = (middle, found, false);
            }
        }
        high
    }

    /// A shock takes at least one member: the chance that it takes too many is integrated, and otherwise it takes as many as the array survives.
    fn shock(&mut self, stream: &mut Stream, losses: &mut Losses) {
        let working: Vec<usize> = self.array.working().collect();
        let (least, most) = (1, self.array.margin());
        let chances = taken(working.len() as u32, self.array.plan.shock.takes);
        let (some, survived): (f64, f64) =
            (chances[least as usize..].iter().sum(), chances[least as usize..=most as usize].iter().sum());
        let lost = if some > 0.0 { 1.0 - survived / some } else { 0.0 };
        losses.lose_array(&self.array, self.weight * lost, self.clean, Cause::Shock);
        self.weight *= 1.0 - lost;
        let mut drawn = stream.unit() * survived;
        let mut count = least;
        while count < most && drawn >= chances[count as usize] {
            drawn -= chances[count as usize];
            count += 1;
        }
        for place in choose(working, count, stream) {
            self.array.fail(place, self.day);
        }
    }
}

/// Chances that a shock takes 0, 1, 2, ... of N members.
pub(crate) fn taken(members: u32, takes: f64) -> Vec<f64> {
    let chance = |count: u32| {
        combinations(members, count)
            * libm::pow(takes, f64::from(count))
            * libm::pow(1.0 - takes, f64::from(members - count))
    };
    (0..=members).map(chance).collect()
}

/// `count` of these, each as likely as another.
fn choose(mut of: Vec<usize>, count: u32, stream: &mut Stream) -> Vec<usize> {
    for place in 0..(count as usize).min(of.len()) {
        let other = place + stream.below((of.len() - place) as u64) as usize;
        of.swap(place, other);
    }
    of.truncate(count as usize);
    of
}

#[cfg(test)]
mod tests {
    use wane_sim::Streams;

    use super::*;
    use crate::{Chance, Curve, DriveKind, Member, Plan, Redundancy, Shock, Upkeep, WornOut};

    /// Eight drives, 1 % of which fail in a year, 12 hours to rebuild.
    fn plan(parities: u32) -> Plan {
        let drive = DriveKind {
            capacity_bytes: 1e12,
            wear: Curve::constant(0.0),
            uber_log10: Curve::constant(-300.0),
            endurance: None,
            chance: Chance::rate(0.01).unwrap(),
        };
        Plan {
            redundancy: Redundancy::Parity(parities),
            stripe_width: None,
            members: vec![Member { drive, load: Curve::slope(1.0), batch: 0, bytes_before: 0.0, age_days: 0.0 }; 8],
            spare: None,
            host_bytes_per_day: 1e12,
            data_bytes: 1e12,
            full_stripe_share: 0.0,
            latent_per_tb_year: 0.0,
            upkeep: Upkeep {
                detection_days: 0.0,
                arrival_days: 0.0,
                spares: 0,
                rebuild_bytes_per_day: 2e12,
                scrub_days: None,
                replace_at: None,
                worn_out: WornOut::Gone,
            },
            shock: Shock { per_year: 0.0, takes: 0.0 },
        }
    }

    #[test]
    fn an_array_loses_the_stripes_that_lie_on_all_lost_members() {
        let share = |redundancy, stripe_width| {
            let plan = Plan { redundancy, stripe_width, ..plan(1) };
            plan.bytes_lost_with_array() / plan.data_bytes
        };
        assert_eq!(share(Redundancy::Parity(1), None), 1.0);
        // Of the C(8, 4) choices of members for a stripe, C(6, 2) have two given ones.
        assert!((share(Redundancy::Parity(1), Some(4)) - 15.0 / 70.0).abs() < 1e-15);
        assert!((share(Redundancy::Copies(2), None) - 1.0 / 28.0).abs() < 1e-15);
        assert_eq!(share(Redundancy::Parity(0), None), 1.0);
    }

    /// The mean of some values, and how many of them it takes until its standard error is 5 %.
    fn cycles(values: impl Iterator<Item = f64>) -> (f64, f64) {
        let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for value in values {
            count += 1.0;
            sum += value;
            squares += value * value;
        }
        let mean: f64 = sum / count;
        (mean, (squares / count / (mean * mean) - 1.0) / (0.05 * 0.05))
    }

    #[test]
    fn estimates_of_rare_losses_need_few_cycles() {
        let mut stream = Streams::new(1).stream("cycles");
        let mut conditional = |parities: u32| {
            let plan = plan(parities);
            let mut array = Array::new(&plan, &[1.0; 8]);
            array.fail(0, 10.0);
            cycles((0..20_000).map(|_| losses(&array, 10.0, &mut stream).array))
        };
        let (five, few) = conditional(1);
        let hazard: f64 = 0.07 * 0.5 / wane_units::DAYS_PER_YEAR;
        assert!((five / -libm::expm1(-hazard) - 1.0).abs() < 1e-9, "{five}");
        assert!(few.abs() < 1e-6, "one cycle is exact, {few}");
        // Luck alone: a chance p has the relative variance 1 / p.
        let naive = (1.0 / five - 1.0) / 0.0025;
        assert!((3.5e6..4.5e6).contains(&naive), "{naive}");
        let (six, few) = conditional(2);
        assert!((110.0..150.0).contains(&few), "{few}");
        assert!(1.0 / six > 2e6, "luck finds none in 2e6 cycles");
        // Hazards raised so that half of the windows lose, each weighted back: what is gained without the last step.
        let mut stream = Streams::new(2).stream("cycles");
        let raised = std::f64::consts::LN_2;
        let biased = |drawn: f64| match drawn / raised {
            part if part < 1.0 => hazard * libm::exp(-hazard * part) / (raised * libm::exp(-raised * part)),
            _ => 0.0,
        };
        let (mean, few) = cycles((0..40_000).map(|_| biased(stream.exponential())));
        assert!((mean / five - 1.0).abs() < 0.03 && (400.0..460.0).contains(&few), "{mean} {few}");
        // With two parities both steps are raised so that half of the rest of the window fails. With a window of length 1, hazard a and raise r = ln 2 the
        // second moment over the squared mean is 4 (e^r - 1) / r^4 times the integral of e^(r t) (1 - t)^2: 4.81, which is 1,522 cycles. Two windows
        // of their own would take 2.081^2 - 1 in units of 0.05^2 = 1,332; the second step has only what is left of one.
        let six_by_steps = |stream: &mut wane_sim::Stream| {
            let first = stream.exponential() / raised;
            if first >= 1.0 {
                return 0.0;
            }
            let weight = hazard / (raised * libm::exp(-raised * first));
            let (rest, second) = (1.0 - first, stream.exponential() / raised);
            let of_second = hazard * 6.0 / 7.0 * rest / (raised * libm::exp(-raised * second));
            if second < 1.0 { weight * of_second } else { 0.0 }
        };
        let (mean, few) = cycles((0..400_000).map(|_| six_by_steps(&mut stream)));
        println!("two parities, both steps raised: {few:.0} cycles");
        assert!((mean / six - 1.0).abs() < 0.03 && (1470.0..1570.0).contains(&few), "{mean} {six} {few}");
        // Each failure with a window of its own.
        let moment = 1.0 / (raised * raised);
        assert!((((moment * moment - 1.0) / 0.0025) - 1332.0).abs() < 1.0, "{moment}");
    }
}
