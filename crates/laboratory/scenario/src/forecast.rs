//! What is asked about the lives of many arrays like this one: `[forecast]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_nand::{Draws, Sensing};
use wane_raid::code::{Coder, code};
use wane_reliability::{Endurance, PARITIES_MAX, Redundancy, Spread};
use wane_units::{Bytes, Rate, Ratio};

use super::array::{ArrayLayout, ArraySettings, ArraySpec, COPIES_MAX, MEMBERS_MAX};
use super::resolver::Resolver;
use super::schema::in_field_order;
use super::written::{OrNone, Span, or_none, span_or_none};
use super::{Scenario, ScenarioError, Time};

/// Most copies that `layout = "raid"` has: all parities of a single chunk.
const COPIES_OF_CODES: u32 = PARITIES_MAX + 1;

/// Many arrays like the one of `[array]`: when the first member dies, what is lost after some years, and what another plan would have gained. The run
/// simulates one array in detail; its members' wear against what is written on them carries all others. Needs `time.drive-writes-per-day`.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>)]
pub struct ForecastSettings {
    /// Arrays, of the plan and of each alternative. Intervals are narrower by the square root of it.
    #[schemars(range(min = 100, max = 10_000_000))]
    pub arrays: u32,
    /// Years after which the arrays are looked at, such as `[1, 3, 5, 7]`; an editor does not see a wrong order.
    #[schemars(length(min = 1, max = 20), inner(range(min = 0.1, max = 30.0)))]
    #[schemars(extend("x-order" = "ascending", "x-allowed" = "a list of 1 to 20 ascending numbers from 0.1 to 30"))]
    pub years: Vec<f64>,
    /// Bytes of the largest member as it is bought; the others follow in proportion. Simulated drives may be small: wear depends on how often a drive is
    /// written, and what a rebuild reads on how large it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-least" = Bytes(1 << 20), "x-most" = Bytes(1 << 50), "x-default" = "that of the simulated drive"))]
    pub drive_capacity: Option<Bytes>,
    /// Parities that the members of a stripe have in the forecast: 1 is RAID-5, 2 RAID-6. Needs `array.layout = "stripe"`. The simulated array has none:
    /// its members' wear is scaled to what parity writes on them. The parities of `array.layout = "raid"` are those of `array.code`, and simulated.
    #[schemars(range(min = 0, max = PARITIES_MAX))]
    pub parities: u32,
    /// Share of the host's data that is written by full stripes, which write parity once for all their chunks. The rest is written chunk by chunk. With
    /// `array.layout = "raid"` it scales only the alternatives `more-redundancy` and `uneven-parity`.
    #[schemars(with = "Ratio")]
    pub full_stripe_share: Ratio,
    /// Share of its rated erases at which a drive dies on average.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 100, "x-default" = "that at which the simulated drives died; 1 if none did"))]
    pub endurance: Option<f64>,
    /// How drives of one batch differ in their endurance.
    #[schemars(with = "Spreads")]
    pub spread: Spread,
    /// Coefficient of variation (standard deviation over mean) of the endurance of drives of one batch. A normal spread has at most 0.25.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub cv: f64,
    /// Coefficient of variation of the mean endurance of batches.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub batch_cv: f64,
    /// Batches that the members come from, in turns. A replacement comes from a batch of its own.
    #[schemars(range(min = 1, max = 64))]
    pub batches: u32,
    /// Chance that a new drive fails in its first year for another reason than wear (annualized failure rate).
    #[schemars(with = "Ratio")]
    pub afr: Ratio,
    /// Weibull shape of these failures: 1 is a constant rate, below 1 young drives fail more often, above 1 old ones.
    #[schemars(range(min = 0.1, max = 10.0))]
    pub afr_shape: f64,
    /// Events a year that take several members at once: power, heat, firmware. Of failures in a data center, 12.9 % came within 30 minutes of another on
    /// the same node (Alibaba, FAST 2021).
    #[schemars(range(min = 0.0, max = 100.0))]
    pub shocks_per_year: f64,
    /// Chance that such an event takes a member.
    #[schemars(with = "Ratio")]
    pub shock_takes: Ratio,
    /// Where the unreadable bits per bit read (UBER) come from.
    pub uber: UberSource,
    /// UBER of a new drive.
    #[schemars(range(min = 0.0, max = 1e-6))]
    pub uber_new: f64,
    /// UBER of a drive whose rated erases are used. Between the two its logarithm grows with wear. JEDEC's JESD218 allows 1e-15 (client) and 1e-16
    /// (enterprise).
    #[schemars(range(min = 0.0, max = 1e-6))]
    pub uber_worn: f64,
    /// Time since data were programmed when a rebuild reads them, at the temperature of `drive.retention`. It matters to `uber = "chip"`. The default is the
    /// time that JESD218 requires of enterprise drives without power.
    #[serde(with = "span_or_none")]
    #[schemars(with = "OrNone<Span>")]
    pub uber_retention: f64,
    /// Reads of a block since its erase when a rebuild reads it. It matters to `uber = "chip"`.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub uber_reads: u32,
    /// Sectors of 4 KiB that become unreadable at rest, a TB and a year, until a scrub finds and repairs them.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub latent_per_tb_year: f64,
    /// Time between two scrubs; `"none"`: there are none, and latent errors stay.
    #[serde(with = "span_or_none")]
    #[schemars(with = "OrNone<Span>")]
    pub scrub: f64,
    /// Time until a failure is noticed.
    #[serde(with = "span_or_none")]
    #[schemars(with = "OrNone<Span>")]
    pub detection: f64,
    /// Time until an ordered drive arrives.
    #[serde(with = "span_or_none")]
    #[schemars(with = "OrNone<Span>")]
    pub spare_arrival: f64,
    /// Drives on the shelf, each of which is ordered again when it is used.
    #[schemars(range(min = 0, max = 64))]
    pub spares: u32,
    /// How fast a rebuild writes the new drive under the array's load.
    #[schemars(extend("x-least" = Rate(1_000), "x-most" = Rate(1_000_000_000_000)))]
    pub rebuild_rate: Rate,
    /// The alternatives that stand beside the plan, with the same random numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 6), extend("x-default" = "all that the array can have", "x-allowed" = "a list of names"))]
    pub alternatives: Option<Vec<AlternativeName>>,
    /// Share of the rated erases between two members of `staggered-ages`.
    #[schemars(range(min = 0.001, max = 0.9))]
    pub stagger: f64,
    /// Share of the rated erases at which the alternative `early-replacement` replaces a member, its data copied from it.
    #[schemars(range(min = 0.01, max = 100.0))]
    pub early_replacement: f64,
    /// How many times as long drives of `capacity-variance` live, which shrink instead of dying; `"none"`: unknown, and the alternative is left out. A
    /// run of one drive with `ftl.capacity` measures it.
    #[serde(with = "or_none")]
    #[schemars(with = "OrNone<f64>", extend("minimum" = 1, "maximum" = 1000))]
    pub capacity_variance: Option<f64>,
}

/// Where the UBER of the members comes from.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum UberSource {
    /// From `uber-new` and `uber-worn`.
    #[default]
    Stated,
    /// From `drive.chip` and `drive.ecc`: the chance that a codeword is not corrected after the last re-read, over its bits.
    Chip,
}

/// See [`Spread`].
#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "its names are the schema of a type of another crate")]
enum Spreads {
    /// The logarithm is normal.
    Lognormal,
    /// The weakest of many parts decides.
    Weibull,
    /// Normal.
    Normal,
}

/// What could be done otherwise.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlternativeName {
    /// One drive more on the shelf.
    Spare,
    /// One parity or copy more, and the drives that it takes.
    MoreRedundancy,
    /// Members that begin with different wear.
    StaggeredAges,
    /// Parity in unequal shares, from half to one and a half times the even one (Differential RAID, EuroSys 2010).
    UnevenParity,
    /// Drives that shrink instead of dying.
    CapacityVariance,
    /// Members replaced before they are worn out.
    EarlyReplacement,
}

impl AlternativeName {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Spare,
        Self::MoreRedundancy,
        Self::StaggeredAges,
        Self::UnevenParity,
        Self::CapacityVariance,
        Self::EarlyReplacement,
    ];

    /// The name in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spare => "spare",
            Self::MoreRedundancy => "more-redundancy",
            Self::StaggeredAges => "staggered-ages",
            Self::UnevenParity => "uneven-parity",
            Self::CapacityVariance => "capacity-variance",
            Self::EarlyReplacement => "early-replacement",
        }
    }
}

impl Default for ForecastSettings {
    fn default() -> Self {
        Self {
            arrays: 100_000,
            years: vec![1.0, 3.0, 5.0, 7.0],
            drive_capacity: None,
            parities: 0,
            full_stripe_share: Ratio::default(),
            endurance: None,
            spread: Spread::default(),
            cv: 0.1,
            batch_cv: 0.1,
            batches: 1,
            afr: Ratio::new(0.01).unwrap_or_default(),
            afr_shape: 1.0,
            shocks_per_year: 0.0,
            shock_takes: Ratio::new(0.3).unwrap_or_default(),
            uber: UberSource::default(),
            uber_new: 1e-17,
            uber_worn: 1e-15,
            uber_retention: 90.0,
            uber_reads: 0,
            latent_per_tb_year: 0.0,
            scrub: 30.0,
            detection: 1.0 / 24.0,
            spare_arrival: 3.0,
            spares: 0,
            rebuild_rate: Rate(100_000_000),
            alternatives: None,
            stagger: 0.1,
            early_replacement: 0.8,
            capacity_variance: None,
        }
    }
}

impl ForecastSettings {
    /// What an array has besides data: its own copies or parities, and for a stripe those of the forecast.
    pub fn redundancy(&self, array: &ArraySettings) -> Redundancy {
        match array.layout {
            ArrayLayout::Mirror => Redundancy::Copies(array.copies),
            ArrayLayout::Stripe | ArrayLayout::Linear => Redundancy::Parity(self.parities),
            ArrayLayout::Raid => {
                let Some(code) = code(&array.code) else { return Redundancy::Parity(0) };
                let tolerates = code.tolerates() as u32;
                // A parity of one chunk is a copy of it.
                let coder = array.width.and_then(|width| Coder::new(code, width as usize));
                if coder.is_some_and(|coder| coder.has_copies()) {
                    Redundancy::Copies(tolerates + 1)
                } else {
                    Redundancy::Parity(tolerates)
                }
            }
        }
    }

    /// Why an array cannot have an alternative; `None` if it can.
    fn without(&self, name: AlternativeName, array: &ArraySpec) -> Option<String> {
        let why = match name {
            AlternativeName::UnevenParity => return self.without_uneven_parity(array),
            AlternativeName::MoreRedundancy => return self.without_more(array),
            AlternativeName::StaggeredAges => return self.without_stagger(array),
            AlternativeName::CapacityVariance if self.capacity_variance.is_none() => {
                "how much longer drives live is unknown; give forecast.capacity-variance"
            }
            AlternativeName::EarlyReplacement | AlternativeName::Spare
                if self.redundancy(&array.settings).tolerance() == 0 =>
            {
                "a new drive gets its data from redundancy, and the array has none"
            }
            AlternativeName::EarlyReplacement
                if array.settings.replace_at.is_some_and(|share| share.get() <= self.early_replacement) =>
            {
                "array.replace-at replaces members no later; give a lower forecast.early-replacement"
            }
            AlternativeName::EarlyReplacement if self.endurance.is_some_and(|end| end <= self.early_replacement) => {
                "members die before that, by forecast.endurance; give a lower forecast.early-replacement"
            }
            _ => return None,
        };
        Some(why.to_owned())
    }

    /// Why an array cannot have parities in unequal shares, as `array.parity-shares` gives them to one; `None` if it can.
    fn without_uneven_parity(&self, array: &ArraySpec) -> Option<String> {
        let (settings, members) = (&array.settings, array.members.len());
        let Redundancy::Parity(parities @ 1..) = self.redundancy(settings) else {
            return Some("the array has no parity".to_owned());
        };
        let width =
            settings.width.filter(|_| settings.layout == ArrayLayout::Raid).map_or(members, |width| width as usize);
        if width != members {
            return Some(format!("shares need stripes on all {members} members, and array.width is {width}"));
        }
        if !settings.parity_shares.is_empty() {
            return Some("array.parity-shares gives the array shares of its own".to_owned());
        }
        (parities > 1).then(|| format!("shares are of one parity, and the array has {parities}"))
    }

    /// Why an array cannot have one parity or copy more; `None` if it can.
    fn without_more(&self, array: &ArraySpec) -> Option<String> {
        let (settings, members) = (&array.settings, array.members.len());
        let (redundancy, is_raid) = (self.redundancy(settings), settings.layout == ArrayLayout::Raid);
        let width = match redundancy {
            Redundancy::Copies(copies) => copies as usize,
            Redundancy::Parity(_) => settings.width.filter(|_| is_raid).map_or(members, |width| width as usize),
        };
        let count = members + members.div_ceil(width.max(1));
        match redundancy {
            _ if settings.layout == ArrayLayout::Linear => Some("a linear array has no redundancy".to_owned()),
            Redundancy::Parity(PARITIES_MAX..) => Some("three parities are the most".to_owned()),
            Redundancy::Copies(COPIES_OF_CODES..) if is_raid => Some(format!("{COPIES_OF_CODES} copies are the most")),
            Redundancy::Copies(COPIES_MAX..) => Some(format!("{COPIES_MAX} copies are the most")),
            _ if count > MEMBERS_MAX => {
                Some(format!("it takes {count} members, and an array has {MEMBERS_MAX} at most"))
            }
            _ => None,
        }
    }

    /// Why members cannot begin with different wear; `None` if they can.
    fn without_stagger(&self, array: &ArraySpec) -> Option<String> {
        let last = self.stagger * (array.members.len() - 1) as f64;
        let end = self.endurance.unwrap_or(1.0);
        (last >= end).then(|| {
            format!(
                "with {} of the rated erases between members the last of {} would begin worn out; give a lower forecast.stagger",
                Ratio::new(self.stagger).unwrap_or_default(),
                array.members.len()
            )
        })
    }

    /// The alternatives that stand beside the plan of an array.
    pub fn chosen(&self, array: &ArraySpec) -> Vec<AlternativeName> {
        let can_be = |name: &AlternativeName| self.without(*name, array).is_none();
        self.alternatives.clone().unwrap_or_else(|| AlternativeName::ALL.into_iter().filter(can_be).collect())
    }
}

impl ForecastSettings {
    /// A sentence for each key that is given and not used.
    pub(super) fn without_effect(&self) -> Vec<String> {
        let default = Self::default();
        let is_stated = self.uber == UberSource::Stated;
        let keys = [
            ("uber-new", self.uber_new != default.uber_new, !is_stated),
            ("uber-worn", self.uber_worn != default.uber_worn, !is_stated),
            ("uber-retention", self.uber_retention != default.uber_retention, is_stated),
            ("uber-reads", self.uber_reads != default.uber_reads, is_stated),
        ];
        let source = if is_stated { "stated" } else { "chip" };
        let idle = keys.into_iter().filter(|(_, is_given, is_idle)| *is_given && *is_idle);
        idle.map(|(key, ..)| format!("forecast.{key} has no effect: forecast.uber is \"{source}\"")).collect()
    }
}

/// Why a member's chip and its correction give no UBER; `None` if they do.
fn no_uber(member: &Scenario) -> Option<&'static str> {
    let ecc = &member.medium.ecc;
    let is_endless = ecc.rereads_max.is_none() && (ecc.sensing == Sensing::Hard || ecc.draws == Draws::Table);
    match () {
        () if member.medium.chip.is_none() => Some("there is no drive.chip"),
        () if ecc.strength.is_none() => {
            Some("drive.ecc.strength is \"none\", and every error is corrected; give the bits that are")
        }
        () if is_endless => {
            Some("drive.ecc.rereads-max is \"none\", and some re-read corrects every page; give how many there are")
        }
        () => None,
    }
}

impl Resolver<'_> {
    /// Resolves the forecast; `None` if there is none.
    pub(super) fn forecast(
        &self,
        array: Option<&ArraySpec>,
        time: &Time,
    ) -> Result<Option<ForecastSettings>, ScenarioError> {
        const KEY: &str = "forecast";
        let Some(table) = Self::section(self.merged, KEY) else { return Ok(None) };
        let settings: ForecastSettings = self.settings(table, KEY)?;
        let refuse = |key: &str, message: String| Err(self.error(key, message));
        let Some(array) = array else {
            return refuse(KEY, "is of an array; give [array], or ask `wane predict` about one drive".to_owned());
        };
        let (layout, members) = (array.settings.layout, array.members.len());
        if time.drive_writes_per_day.is_none() {
            return refuse(KEY, "counts in years and needs a calendar; give time.drive-writes-per-day".to_owned());
        }
        if settings.parities > 0 && layout != ArrayLayout::Stripe {
            let found = format!("found {} with layout = \"{}\"", settings.parities, layout.name());
            let why = match layout {
                ArrayLayout::Raid => {
                    format!(
                        "{found}, whose parities are those of array.code = \"{}\"; leave it out",
                        array.settings.code
                    )
                }
                _ => format!("{found}; parities need array.layout = \"stripe\" or \"raid\""),
            };
            return refuse("forecast.parities", why);
        }
        let least = settings.parities as usize + 2;
        if settings.parities > 0 && members < least {
            let found = settings.parities;
            let why = format!("found {found} with {members} members; {found} parities need {least} members at least");
            return refuse("forecast.parities", why);
        }
        if Endurance::new(1.0, settings.spread, settings.cv, settings.batch_cv).is_err() {
            return refuse("forecast.cv", format!("found {}; a normal spread has at most 0.25", settings.cv));
        }
        if settings.uber == UberSource::Chip
            && let Some(why) = array.members.iter().find_map(no_uber)
        {
            return refuse("forecast.uber", format!("found \"chip\": {why}"));
        }
        for (place, name) in settings.chosen(array).into_iter().enumerate() {
            if let Some(why) = settings.without(name, array) {
                return refuse(&format!("forecast.alternatives.{place}"), format!("found \"{}\": {why}", name.name()));
            }
        }
        Ok(Some(settings))
    }
}
