//! What a drive is given: the host's pages, or what an array makes of them on each of its members.
//!
//! A member of a mirror is given what the host writes, one of a stripe a part of it. In stripes with parities each change also changes every parity of its
//! stripe, so that a parity is written as often as all data that it covers: of a RAID-5 of five drives a fifth of each drive has half of its writes. A
//! request of several pages changes a parity once for what it has of a stripe. What a journal writes goes to a small ring, in order.

use wane_blockdev::SectorRange;
use wane_raid::{Changed, Portion};
use wane_scenario::{ArrayRing, ArraySpec, Pattern, Precondition, Scenario, Workload};
use wane_theory::utilization::Class;
use wane_units::Sectors;

use super::{Popularity, PredictError, hottest_first, normalized, popularity, zipf};

/// Two numbers are alike if they differ by less.
const NOTHING: f64 = 1e-9;
const SECTORS_A_BYTE: f64 = 1.0 / 512.0;

/// Shares of the logical pages of a drive, before and in the steady state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Touched {
    /// Pages that the workload writes.
    pub(super) written: f64,
    /// Pages that preconditioning fills.
    pub(super) filled: f64,
    /// Pages that the host can reach, with what protects them.
    pub(super) reachable: f64,
    /// Drive writes of preconditioning, in order and at random.
    pub(super) before: (f64, f64),
}

/// What a drive is given.
pub(super) struct Load {
    pub(super) popularity: Popularity,
    pub(super) touched: Touched,
    /// Drive writes of the drive for a drive write of the host.
    pub(super) drive_writes: f64,
    /// Sectors that are written on it for a sector of the host.
    pub(super) share: f64,
    /// Whether what the workload writes in order comes to it so.
    pub(super) may_be_in_order: bool,
    /// What leaves pages empty.
    pub(super) empty_by: &'static str,
}

impl Load {
    /// Of a drive alone.
    pub(super) fn alone(scenario: &Scenario) -> Result<Self, PredictError> {
        let popularity = popularity(scenario, &scenario.phases[0].workload)?;
        let before = &scenario.precondition;
        let filled = if before.sequential_drive_writes > 0 { 1.0 } else { before.fill.get() };
        let touched = Touched {
            written: popularity.written,
            filled,
            reachable: 1.0,
            before: (f64::from(before.sequential_drive_writes), before.random_drive_writes),
        };
        let empty_by = "precondition.fill, workload.trim-share";
        Ok(Self { popularity, touched, drive_writes: 1.0, share: 1.0, may_be_in_order: true, empty_by })
    }
}

/// Pages of the host that follow each other and are alike.
struct Segment {
    /// Shares of the host's pages at which it begins and ends.
    from: f64,
    to: f64,
    /// Share of the writes.
    writes: f64,
    /// How these spread over its pages, in no order.
    classes: Vec<Class>,
}

/// The segments of a workload that writes the first `popularity.written` of the host's pages.
fn segments(workload: &Workload, popularity: &Popularity) -> Vec<Segment> {
    let alike = || vec![Class { pages: 1.0, writes: 1.0 }];
    let whole = || vec![(1.0, 1.0, popularity.classes.clone())];
    // Their shares of the pages and of the writes.
    let parts: Vec<(f64, f64, Vec<Class>)> = match workload {
        Workload::Pattern(spec) => match &spec.pattern {
            Pattern::HotCold { r, h } if popularity.classes.len() > 1 => {
                vec![(h.get(), r.get(), alike()), (1.0 - h.get(), 1.0 - r.get(), alike())]
            }
            Pattern::Jesd219 => vec![(0.05, 0.5, alike()), (0.15, 0.3, alike()), (0.8, 0.2, alike())],
            Pattern::Zipf { exponent, scramble: false } | Pattern::ZipfTable { exponent, scramble: false } => {
                let ranks = zipf(*exponent, f64::from(spec.footprint_units));
                ranks.iter().map(|class| (class.pages, class.writes, alike())).collect()
            }
            _ => whole(),
        },
        _ => whole(),
    };
    let mut from = 0.0;
    let segment = |(pages, writes, classes): (f64, f64, Vec<Class>)| {
        let to = from + pages * popularity.written;
        let segment = Segment { from, to, writes, classes };
        from = to;
        segment
    };
    parts.into_iter().map(segment).collect()
}

/// Pages that each stand for `count` pages drawn from these classes and are written whenever one of them is, as a parity is for its data. They are
/// divided by the hottest of what they stand for.
fn sums(classes: &[Class], count: f64) -> Vec<Class> {
    if classes.len() < 2 || count <= 1.0 + NOTHING {
        return classes.to_vec();
    }
    let hottest_first = hottest_first(classes.to_vec());
    // Of the classes from each one on: their pages, and how much all that stand for these alone are written.
    let mut left = (1.0f64, 1.0f64);
    let at_most = |less: Class| {
        let of = (libm::pow(left.0, count), left.1 * libm::pow(left.0, count - 1.0));
        left = ((left.0 - less.pages).max(0.0), (left.1 - less.writes).max(0.0));
        of
    };
    let nothing = Class { pages: 0.0, writes: 0.0 };
    let all: Vec<(f64, f64)> = hottest_first.into_iter().chain(Some(nothing)).map(at_most).collect();
    all.windows(2).map(|two| Class { pages: two[0].0 - two[1].0, writes: two[0].1 - two[1].1 }).collect()
}

/// Sectors of a part of the array on each of its members.
struct Laid {
    /// By member: data, and parities or further copies.
    on: Vec<(f64, f64)>,
    data: f64,
    parity: f64,
}

impl Laid {
    /// The part from one share of the array's addresses to another.
    fn of(array: &ArraySpec, from: f64, to: f64) -> Self {
        let all = array.device.logical_bytes() as f64 * SECTORS_A_BYTE;
        let mut laid = Self { on: vec![(0.0, 0.0); array.members.len()], data: 0.0, parity: 0.0 };
        for stretch in array.stretches() {
            let SectorRange { start, count } = stretch.range;
            let (start, end) = (start.0 as f64, (start.0 + count.0) as f64);
            let sectors = (end.min(to * all) - start.max(from * all)).max(0.0);
            for Portion { member, data, parity } in stretch.on {
                let (data, parity) = (sectors * data, sectors * parity);
                (laid.on[member].0, laid.on[member].1) = (laid.on[member].0 + data, laid.on[member].1 + parity);
                (laid.data, laid.parity) = (laid.data + data, laid.parity + parity);
            }
        }
        laid
    }

    /// Sectors on a member.
    fn sectors(&self, member: usize) -> f64 {
        self.on[member].0 + self.on[member].1
    }
}

/// Pages of a request of a workload, and of which multiple they begin; one where they have no one size.
fn request_of(workload: &Workload) -> (u64, u64) {
    let Workload::Pattern(spec) = workload else { return (1, 1) };
    let request = u64::from(spec.request_units);
    let is_by_rank = matches!(spec.pattern, Pattern::Zipf { .. } | Pattern::ZipfTable { .. });
    (request, if is_by_rank { 1 } else { request })
}

/// What an array's host writes, and how that comes to the members.
struct Given<'a> {
    array: &'a ArraySpec,
    popularity: Popularity,
    precondition: Precondition,
    segments: Vec<(Segment, Laid)>,
    /// All of the array, and what preconditioning fills.
    whole: Laid,
    filled: Laid,
    /// What requests of the workload change, those of one page, and those that fill it in order.
    changed: [Changed; 3],
    ring: Option<ArrayRing>,
}

impl<'a> Given<'a> {
    fn of(scenario: &Scenario, array: &'a ArraySpec) -> Result<Self, PredictError> {
        let workload = &scenario.phases[0].workload;
        let popularity = popularity(scenario, workload)?;
        let (precondition, whole) = (scenario.precondition, Laid::of(array, 0.0, 1.0));
        let filled = if precondition.sequential_drive_writes > 0 { 1.0 } else { precondition.fill.get() };
        let laid = |segment: Segment| {
            let laid = Laid::of(array, segment.from, segment.to);
            (segment, laid)
        };
        let unit = Sectors(array.device.unit.0 / Sectors::SIZE.0);
        let (request, step) = request_of(workload);
        // An array is filled in order, in requests of as many pages as a batch has.
        let in_order = crate::run::BATCH_PAGES as u64;
        let changed = [(request, step), (1, 1), (in_order, in_order)]
            .map(|(request, step)| array.changed_by(Sectors(request * unit.0), Sectors(step * unit.0)));
        Ok(Self {
            segments: segments(workload, &popularity).into_iter().map(laid).collect(),
            filled: Laid::of(array, 0.0, filled),
            ring: array.ring(changed[0].records),
            changed,
            array,
            popularity,
            precondition,
            whole,
        })
    }

    /// Pages of data and parities of a member that the workload writes, in sectors, and the sectors that are written on them for one of the host.
    fn classes(&self, place: usize) -> Vec<Class> {
        let mut classes = Vec::new();
        let mut add = |own: f64, of: f64, writes: f64, spread: &[Class]| {
            if own > 0.0 {
                let given =
                    |class: &Class| Class { pages: own * class.pages, writes: writes * own / of * class.writes };
                classes.extend(spread.iter().map(given));
            }
        };
        for (segment, laid) in &self.segments {
            let (data, parity) = laid.on[place];
            add(data, laid.data, segment.writes, &segment.classes);
            if parity > 0.0 {
                let parities = self.array.parities() as f64;
                let covers = parities * laid.data / laid.parity;
                let writes = segment.writes * parities * self.changed[0].parity;
                add(parity, laid.parity, writes, &sums(&segment.classes, covers));
            }
        }
        classes.retain(|class| class.pages > 0.0 && class.writes > 0.0);
        classes
    }

    /// Drive writes of a member for one of the host over all of the array, in requests that change this.
    fn count_pass(&self, place: usize, of_host: f64, changed: Changed) -> f64 {
        let (data, parity) = self.whole.on[place];
        let parities = self.array.parities() as f64 * changed.parity;
        let of_parity = if parity > 0.0 { parities * parity / self.whole.parity } else { 0.0 };
        let to_ring = self.array.ring(changed.records).map_or(0.0, |ring| ring.written[place]);
        (data / self.whole.data + of_parity + to_ring) * of_host
    }

    fn load(&self, place: usize) -> Load {
        let own = self.array.members[place].device.logical_bytes() as f64 * SECTORS_A_BYTE;
        let of_host = self.array.device.logical_bytes() as f64 * SECTORS_A_BYTE / own;
        let (ring, to_ring) =
            self.ring.as_ref().map_or((0.0, 0.0), |ring| (ring.sectors.0 as f64, ring.written[place]));
        let mut classes = self.classes(place);
        classes.extend((ring > 0.0).then_some(Class { pages: ring, writes: to_ring }));
        // A sum of nothing would be -0.
        let (sectors, share) =
            classes.iter().fold((0.0, 0.0), |sum, class| (sum.0 + class.pages, sum.1 + class.writes));
        let written = f64::min(sectors / own, 1.0);
        let [_, single, whole] = self.changed;
        Load {
            popularity: Popularity { written, classes: in_one(&classes), warnings: self.popularity.warnings.clone() },
            touched: Touched {
                written,
                filled: (self.filled.sectors(place) + ring) / own,
                reachable: (self.whole.sectors(place) + ring) / own,
                before: (
                    f64::from(self.precondition.sequential_drive_writes) * self.count_pass(place, of_host, whole),
                    self.precondition.random_drive_writes * self.count_pass(place, of_host, single),
                ),
            },
            drive_writes: share * of_host,
            share,
            // Parities are written between the pages of their stripe.
            may_be_in_order: self.array.parities() == 0 || self.array.copies_only(),
            empty_by: "what the array keeps for itself, precondition.fill, workload.trim-share",
        }
    }
}

/// The load of each member of an array.
///
/// # Errors
/// As of [`popularity`].
pub(super) fn of_members(scenario: &Scenario, array: &ArraySpec) -> Result<Vec<Load>, PredictError> {
    let given = Given::of(scenario, array)?;
    Ok((0..array.members.len()).map(|place| given.load(place)).collect())
}

/// Classes as shares, the hottest first, those of one rate together; none if nothing is written.
fn in_one(classes: &[Class]) -> Vec<Class> {
    if classes.is_empty() { Vec::new() } else { alike(hottest_first(normalized(classes.to_vec()))) }
}

/// Makes classes of one rate one class, so that the model of uniform writes answers where all pages are alike.
fn alike(classes: Vec<Class>) -> Vec<Class> {
    let rate = |class: &Class| class.writes / class.pages;
    let mut all: Vec<Class> = Vec::with_capacity(classes.len());
    for class in classes {
        match all.last_mut() {
            Some(last) if (rate(last) / rate(&class) - 1.0).abs() < NOTHING => {
                (last.pages, last.writes) = (last.pages + class.pages, last.writes + class.writes);
            }
            _ => all.push(class),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_as_hot_as_what_they_stand_for() {
        let classes = [Class { pages: 0.2, writes: 0.8 }, Class { pages: 0.8, writes: 0.2 }];
        let four = sums(&classes, 4.0);
        // Of the sums of four, 41 % have a cold page only.
        assert!((four[1].pages - 0.4096).abs() < 1e-9, "{four:?}");
        let total = four.iter().fold((0.0, 0.0), |sum, class| (sum.0 + class.pages, sum.1 + class.writes));
        assert!((total.0 - 1.0f64).abs() < 1e-9 && (total.1 - 1.0f64).abs() < 1e-9, "{four:?}");
        assert!((four[1].writes - 0.1024).abs() < 1e-9, "each a quarter as often as the mean: {four:?}");
        assert_eq!(sums(&classes, 1.0), classes);
    }
}
