//! The life of one array, event by event: what fails, when it is whole again, and what is expected to be lost on the way.

use std::fmt::Write;

use wane_sim::{Stream, Streams};
use wane_units::DAYS_PER_YEAR;

use crate::array::{Array, Cause};
use crate::episode::{Losses, losses, taken};
use crate::{Plan, WornOut};

/// Most events of a life. A member that lasts an hour in an array of 65 makes four million in seven years.
const EVENTS_MAX: u64 = 10_000_000;
/// Draws until a used drive is one that has survived so far.
const DRAWS_MAX: u32 = 10_000;
/// Longest time over which wear counts as constant for unreadable sectors, in days.
const STEP_MAX: f64 = DAYS_PER_YEAR / 2.0;

/// Figures of an array at one of the years asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Account {
    pub(crate) losses: Losses,
    /// Days with a member fewer than planned.
    pub(crate) degraded_days: f64,
    /// 1 once a member has failed, by the cause of the first failure.
    pub(crate) first: [f64; 3],
    /// Drives that were put in.
    pub(crate) drives: f64,
}

/// What became of an array.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Life {
    /// At each of the years.
    pub(crate) accounts: Vec<Account>,
    /// The day of the first failure of a member: infinite if it comes after the last year.
    pub(crate) first_failure: f64,
}

/// The random numbers of an array, which its alternatives share.
pub(crate) struct Luck {
    streams: Streams,
    number: u64,
    name: String,
}

impl Luck {
    /// Those of the array with this number.
    pub(crate) const fn new(streams: Streams, number: u64) -> Self {
        Self { streams, number, name: String::new() }
    }

    fn stream(&mut self, of: &str, number: usize) -> Stream {
        self.name.clear();
        write!(self.name, "array/{}/{of}/{number}", self.number).expect("a string can be written");
        self.streams.stream(&self.name)
    }
}

/// When and of what the drive of a place will fail.
#[derive(Clone, Copy, Debug)]
struct Fate {
    day: f64,
    cause: Cause,
    /// The day from which on it takes no more writes, and is read on, or is to be replaced as planned.
    retires: f64,
    is_worn: bool,
    /// The day at which its replacement is whole, once it has retired.
    replaced: f64,
}

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Next {
    Fails(usize),
    Retires(usize),
    Replaced(usize),
    Whole(usize),
    Shock,
    Year,
}

/// An array that lives.
struct Living<'a, 'l> {
    array: Array<'a>,
    fates: Vec<Fate>,
    draws: Vec<Stream>,
    luck: &'l mut Luck,
    shocks: Stream,
    shock_count: usize,
    next_shock: f64,
    aside: Stream,
    day: f64,
    account: Account,
    /// Chance that nothing was lost so far.
    clean: f64,
    is_lost: bool,
    first_failure: f64,
    /// Chance that a shock takes more members of a whole array than may fail.
    shock_kills: f64,
    scrubs: bool,
}

/// Lets an array live until the last of the years, which rise.
pub(crate) fn live(plan: &Plan, years: &[f64], luck: &mut Luck) -> Life {
    let mut living = Living::new(plan, luck);
    let mut accounts: Vec<Account> = Vec::with_capacity(years.len());
    for _ in 0..EVENTS_MAX {
        let Some(year) = years.get(accounts.len()) else { break };
        let (next, day) = living.next(year * DAYS_PER_YEAR);
        living.pass(day);
        match next {
            Next::Year => accounts.push(living.account),
            Next::Fails(place) => living.fails(place),
            Next::Retires(place) => living.retires(place),
            Next::Replaced(place) => living.put_in(place),
            Next::Whole(place) => living.whole(place),
            Next::Shock => living.shock(),
        }
        if living.is_lost {
            break;
        }
    }
    // An array that is lost loses nothing more.
    accounts.resize(years.len(), living.account);
    Life { accounts, first_failure: living.first_failure }
}

impl<'a, 'l> Living<'a, 'l> {
    fn new(plan: &'a Plan, luck: &'l mut Luck) -> Self {
        let mut draws: Vec<Stream> = (0..plan.members.len()).map(|place| luck.stream("place", place)).collect();
        let batches: Vec<f64> = plan
            .members
            .iter()
            .map(|member| {
                let endurance = member.drive.endurance;
                endurance
                    .map_or(1.0, |endurance| endurance.draw_batch(&mut luck.stream("batch", member.batch as usize)))
            })
            .collect();
        let mut array = Array::new(plan, &batches);
        let fates = (0..plan.members.len()).map(|place| fate(&mut array, place, 0.0, &mut draws[place])).collect();
        let shock_kills = taken(plan.members.len() as u32, plan.shock.takes)
            .iter()
            .skip(plan.redundancy.tolerance() as usize + 1)
            .sum();
        let mut living = Self {
            array,
            fates,
            draws,
            shocks: luck.stream("shocks", 0),
            shock_count: 0,
            next_shock: 0.0,
            aside: luck.stream("aside", 0),
            luck,
            day: 0.0,
            account: Account::default(),
            clean: 1.0,
            is_lost: false,
            first_failure: f64::INFINITY,
            shock_kills,
            scrubs: plan.upkeep.scrub_days.is_some(),
        };
        living.draw_shock();
        living
    }

    fn plan(&self) -> &'a Plan {
        self.array.plan
    }

    fn draw_shock(&mut self) {
        let rate = self.plan().shock.per_year * f64::from(u8::from(self.plan().shock.takes > 0.0));
        let years = self.shocks.exponential() / rate;
        self.next_shock = self.day + years * DAYS_PER_YEAR;
    }

    /// What comes next, at the latest on the day given.
    fn next(&self, latest: f64) -> (Next, f64) {
        let mut next = (Next::Year, latest);
        let mut earlier = |event: Next, day: f64| {
            if day < next.1 {
                next = (event, day);
            }
        };
        for (place, (slot, fate)) in self.array.slots.iter().zip(&self.fates).enumerate() {
            match slot.failed_until {
                Some(day) => earlier(Next::Whole(place), day),
                None => {
                    earlier(Next::Fails(place), fate.day);
                    earlier(Next::Retires(place), fate.retires);
                    earlier(Next::Replaced(place), fate.replaced);
                }
            }
        }
        earlier(Next::Shock, self.next_shock);
        next
    }

    /// Time passes until a day, on which something happens.
    fn pass(&mut self, until: f64) {
        let retired = self.fates.iter().any(|fate| fate.is_worn && fate.replaced.is_finite());
        let failed = self.array.failed();
        if failed > 0 || retired {
            self.account.degraded_days += until - self.day;
        }
        if failed == 0 {
            while self.scrubs && until - self.day > STEP_MAX {
                let step = self.day + STEP_MAX;
                self.pass_whole(step);
                self.day = step;
            }
            self.pass_whole(until);
        }
        self.day = until;
    }

    /// Time passes for a whole array: what shocks that take too much, and sectors lost to several members between two scrubs, come to.
    fn pass_whole(&mut self, until: f64) {
        let days = until - self.day;
        let chance = self.plan().shock.per_year * self.shock_kills * days / DAYS_PER_YEAR;
        if chance > 0.0 {
            self.account.losses.lose_array(&self.array, chance, self.clean, Cause::Shock);
        }
        if let Some(interval) = self.plan().upkeep.scrub_days {
            let (expected, latent) = self.array.unreadable(f64::midpoint(self.day, until));
            let expected = expected * days / interval;
            self.account.losses.lose_sectors((expected, latent), 1.0, self.clean);
            self.clean *= libm::exp(-expected);
        }
    }

    fn note_first(&mut self, cause: Cause) {
        if self.first_failure.is_infinite() {
            self.first_failure = self.day;
            self.account.first[cause as usize] = 1.0;
        }
    }

    /// The drive of a place fails, and its data are lost with it.
    fn fails(&mut self, place: usize) {
        let cause = self.fates[place].cause;
        self.note_first(cause);
        self.lose(&[place], cause);
    }

    /// These drives fail now.
    fn lose(&mut self, places: &[usize], cause: Cause) {
        let was_whole = self.array.failed() == 0;
        let dies = places.len() as u32 > self.array.margin();
        if dies {
            // What several members lose together was counted before, as a chance.
            if was_whole && places.len() == 1 {
                self.account.losses.lose_array(&self.array, 1.0, self.clean, cause);
            }
            self.is_lost = true;
            return;
        }
        for place in places {
            self.array.fail(*place, self.day);
        }
        if was_whole {
            let losses = losses(&self.array, self.day, &mut self.aside);
            self.account.losses.add(&losses, self.clean);
        }
    }

    /// The drive of a place is worn out and reads on, or is replaced as planned.
    fn retires(&mut self, place: usize) {
        self.fates[place].retires = f64::INFINITY;
        if !self.fates[place].is_worn {
            self.put_in(place);
            return;
        }
        self.note_first(Cause::WearOut);
        self.fates[place].replaced = self.array.order(self.day, place);
    }

    /// A rebuild ends.
    fn whole(&mut self, place: usize) {
        // What it could not read was counted when the first member failed.
        self.clean *= libm::exp(-self.array.unreadable(self.day).0);
        self.put_in(place);
    }

    /// A new drive has the place.
    fn put_in(&mut self, place: usize) {
        let kind = self.plan().spare.as_ref().unwrap_or(&self.plan().members[place].drive);
        let batch = kind.endurance.map_or(1.0, |endurance| endurance.draw_batch(&mut self.draws[place]));
        self.array.replace(place, self.day, batch);
        self.account.drives += 1.0;
        self.fates[place] = fate(&mut self.array, place, self.day, &mut self.draws[place]);
    }

    /// Something takes several members at once.
    fn shock(&mut self) {
        self.draw_shock();
        self.shock_count += 1;
        let mut draws = self.luck.stream("shock", self.shock_count);
        let takes = self.plan().shock.takes;
        // One draw a place, so that alternatives lose the same members.
        let drawn: Vec<bool> = self.array.slots.iter().map(|_| draws.chance(takes)).collect();
        let places: Vec<usize> = self.array.working().filter(|place| drawn[*place]).collect();
        if places.is_empty() {
            return;
        }
        self.note_first(Cause::Shock);
        // Of an array without redundancy, one member is too many.
        let counted = self.array.failed() == 0 && places.len() as u32 > self.array.margin();
        if counted {
            self.is_lost = true;
        } else {
            self.lose(&places, Cause::Shock);
        }
    }
}

/// Draws when and of what a new drive of a place fails, which works on this day.
fn fate(array: &mut Array<'_>, place: usize, day: f64, stream: &mut Stream) -> Fate {
    let upkeep = &array.plan.upkeep;
    let (batch, endurance) = (array.slots[place].batch, array.slots[place].drive.endurance);
    let worn = endurance.map_or(f64::INFINITY, |endurance| {
        let mean = endurance.mean() * batch;
        let used = array.wear(place, day);
        let mut limit = mean * endurance.draw(stream);
        for _ in 0..DRAWS_MAX {
            if limit > used {
                break;
            }
            limit = mean * endurance.draw(stream);
        }
        array.day_of_wear(place, limit)
    });
    let chance = array.day_of_chance(place, day, stream.exponential());
    let planned = upkeep.replace_at.map_or(f64::INFINITY, |wear| array.day_of_wear(place, wear));
    // A spare that begins beyond the share at which drives are replaced is kept: it could be replaced for ever.
    let planned = if planned <= day && day > 0.0 { f64::INFINITY } else { planned };
    let (wears_out, retires, is_worn) = match upkeep.worn_out {
        WornOut::Gone => (worn, planned, false),
        WornOut::ReadOnly => (f64::INFINITY, planned.min(worn), worn < planned),
    };
    let (day, cause) = if wears_out <= chance { (wears_out, Cause::WearOut) } else { (chance, Cause::Chance) };
    Fate { day, cause, retires, is_worn, replaced: f64::INFINITY }
}
