//! What an array is planned to be: its members and their curves, its redundancy, and how its operator looks after it.

use thiserror::Error;

use crate::{Chance, Curve, Endurance};

/// Bytes of a sector that is lost as one.
pub const SECTOR_BYTES: f64 = 4096.0;
/// Bytes of a TB.
pub(crate) const TB: f64 = 1e12;
/// Most members: those of an array of 64, and half as many more for a third copy.
pub const MEMBERS_MAX: usize = 96;
/// Most parities, of which P, Q and R are three.
pub const PARITIES_MAX: u32 = 3;

/// A value that no plan can have.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum PlanError {
    /// A value is outside of what is allowed.
    #[error("`{0}` is {1}, and must be {2}")]
    Value(&'static str, f64, &'static str),
    /// Points make no curve.
    #[error("a curve has {0} points; it needs at least one, finite numbers, and an x that rises")]
    Curve(usize),
    /// A curve falls that counts something.
    #[error("`{0}` falls somewhere, and must never fall")]
    Falls(&'static str),
    /// Members and redundancy do not fit together.
    #[error("{0} members cannot have {1}: it needs {2}")]
    Members(usize, String, String),
    /// An alternative that the plan cannot have.
    #[error("the alternative `{0}` {1}")]
    Alternative(&'static str, String),
}

/// What an array may lose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redundancy {
    /// That many copies of all data, on different members. All but one member of the copies may fail.
    Copies(u32),
    /// That many members may fail: 0 for a stripe without parity, 1 for P (RAID-5), 2 for P+Q (RAID-6), 3 for P+Q+R.
    Parity(u32),
}

impl Redundancy {
    /// Most failed members at which nothing is lost.
    pub const fn tolerance(self) -> u32 {
        match self {
            Self::Copies(copies) => copies.saturating_sub(1),
            Self::Parity(parities) => parities,
        }
    }

    /// In words.
    pub fn in_words(self) -> String {
        match self {
            Self::Copies(copies) => format!("{copies} copies"),
            Self::Parity(0) => "no redundancy".to_owned(),
            Self::Parity(1) => "one parity".to_owned(),
            Self::Parity(parities) => format!("{parities} parities"),
        }
    }
}

/// A kind of drive.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveKind {
    /// Bytes that a rebuild reads or writes of it.
    pub capacity_bytes: f64,
    /// Share of its rated erases that is used, against bytes written on it. Never falls.
    pub wear: Curve,
    /// Unreadable bit errors per bit read (UBER), as its logarithm to base 10, against wear.
    pub uber_log10: Curve,
    /// The wear at which it dies; `None`: it does not wear out.
    pub endurance: Option<Endurance>,
    /// Failures that wear does not explain.
    pub chance: Chance,
}

impl DriveKind {
    /// Chance that a bit is unreadable at a wear.
    pub fn uber(&self, wear: f64) -> f64 {
        libm::exp(self.uber_log10.at(wear) * std::f64::consts::LN_10).min(1.0)
    }
}

/// A member of an array.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// What it is.
    pub drive: DriveKind,
    /// Bytes written on the member, against bytes that the host wrote on the array. Never falls.
    pub load: Curve,
    /// Members of the same batch share how long they last.
    pub batch: u32,
    /// Bytes that were written on it before.
    pub bytes_before: f64,
    /// Days that it ran before.
    pub age_days: f64,
}

/// What becomes of a member that is worn out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WornOut {
    /// Nothing of it can be read: it is a lost member.
    #[default]
    Gone,
    /// It is read until its replacement has its data: nothing is lost by wear alone.
    ReadOnly,
}

/// How the operator looks after an array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Upkeep {
    /// Days until a failure is noticed.
    pub detection_days: f64,
    /// Days from the order of a drive to its arrival.
    pub arrival_days: f64,
    /// Drives on the shelf, each of which is ordered again when it is used.
    pub spares: u32,
    /// Bytes that a rebuild writes a day, under the array's load.
    pub rebuild_bytes_per_day: f64,
    /// Days between two scrubs, which read everything and repair; `None`: never.
    pub scrub_days: Option<f64>,
    /// Wear at which a member is replaced, its data copied from it; `None`: never.
    pub replace_at: Option<f64>,
    /// What a worn member still does.
    pub worn_out: WornOut,
}

/// Events that take several members at once: power, heat, firmware, a hand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shock {
    /// Events a year.
    pub per_year: f64,
    /// Chance of each member to be taken by one.
    pub takes: f64,
}

/// A planned array.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What it may lose.
    pub redundancy: Redundancy,
    /// Chunks of a stripe of [`Redundancy::Parity`], parities included, each on another member; `None`: as many as there are members.
    pub stripe_width: Option<u32>,
    /// Its members.
    pub members: Vec<Member>,
    /// What replaces members; `None`: a new one of the same kind.
    pub spare: Option<DriveKind>,
    /// Bytes that the host writes a day.
    pub host_bytes_per_day: f64,
    /// Bytes of data that the array holds.
    pub data_bytes: f64,
    /// Share of the host's data that is written by full stripes. It decides how wear follows parity.
    pub full_stripe_share: f64,
    /// Sectors of a TB that become unreadable at rest in a year, until a scrub repairs them.
    pub latent_per_tb_year: f64,
    /// How it is looked after.
    pub upkeep: Upkeep,
    /// What takes several members at once.
    pub shock: Shock,
}

impl Plan {
    /// Whether the plan can be followed.
    ///
    /// # Errors
    /// A value is outside of its range, or there are too few members for the redundancy.
    pub fn check(&self) -> Result<(), PlanError> {
        let members = self.members.len();
        let (least, needs) = match self.redundancy {
            Redundancy::Copies(copies) => (copies.max(2) as usize, format!("at least {}", copies.max(2))),
            Redundancy::Parity(0) => (1, "at least 1".to_owned()),
            Redundancy::Parity(parities) => (parities as usize + 2, format!("at least {}", parities + 2)),
        };
        if members < least || members > MEMBERS_MAX {
            let needs = if members < least { needs } else { format!("at most {MEMBERS_MAX}") };
            return Err(PlanError::Members(members, self.redundancy.in_words(), needs));
        }
        if self.redundancy.tolerance() > PARITIES_MAX && matches!(self.redundancy, Redundancy::Parity(_)) {
            return Err(PlanError::Value("parities", f64::from(self.redundancy.tolerance()), "0 to 3"));
        }
        if let (Redundancy::Parity(parities), Some(width)) = (self.redundancy, self.stripe_width)
            && !(parities + 1..=members as u32).contains(&width)
        {
            return Err(PlanError::Value(
                "stripe-width",
                f64::from(width),
                "more than the parities, and at most the members",
            ));
        }
        let upkeep = &self.upkeep;
        let share =
            |name, value: f64| if (0.0..=1.0).contains(&value) { Ok(()) } else { refuse(name, value, "0 to 1") };
        at_least_0("host-bytes-per-day", self.host_bytes_per_day)?;
        above_0("data-bytes", self.data_bytes)?;
        share("full-stripe-share", self.full_stripe_share)?;
        at_least_0("latent-per-tb-year", self.latent_per_tb_year)?;
        at_least_0("detection-days", upkeep.detection_days)?;
        at_least_0("arrival-days", upkeep.arrival_days)?;
        above_0("rebuild-bytes-per-day", upkeep.rebuild_bytes_per_day)?;
        upkeep.scrub_days.map_or(Ok(()), |days| above_0("scrub-days", days))?;
        upkeep.replace_at.map_or(Ok(()), |wear| above_0("replace-at", wear))?;
        at_least_0("shock.per-year", self.shock.per_year)?;
        share("shock.takes", self.shock.takes)?;
        let kinds = self.members.iter().map(|member| &member.drive).chain(&self.spare);
        for kind in kinds {
            above_0("capacity-bytes", kind.capacity_bytes)?;
            if !kind.wear.never_falls() {
                return Err(PlanError::Falls("wear"));
            }
            // A new drive would be due for replacement when it has just got its data, for ever.
            if let Some(wear) = upkeep.replace_at.filter(|wear| *wear <= kind.wear.at(kind.capacity_bytes)) {
                return refuse("replace-at", wear, "more than the wear of filling a drive once");
            }
        }
        for member in &self.members {
            at_least_0("bytes-before", member.bytes_before)?;
            at_least_0("age-days", member.age_days)?;
            if !member.load.never_falls() {
                return Err(PlanError::Falls("load"));
            }
        }
        Ok(())
    }

    /// The largest member, in bytes.
    pub(crate) fn member_bytes_max(&self) -> f64 {
        self.members.iter().map(|member| member.drive.capacity_bytes).fold(0.0, f64::max)
    }

    /// Members on which one piece of data and what protects it lie.
    pub fn width(&self) -> u32 {
        match self.redundancy {
            Redundancy::Copies(copies) => copies,
            Redundancy::Parity(_) => self.stripe_width.unwrap_or(self.members.len() as u32),
        }
    }

    /// Bytes of data that are lost with one member more than may fail: of the stripes and copies that lie on all of these.
    ///
    /// Stripes of w chunks lie on any w of n members alike. Of C(n, w) such choices, C(n - m, w - m) have m given members.
    pub fn bytes_lost_with_array(&self) -> f64 {
        let (members, width, lost) = (self.members.len() as u32, self.width(), self.redundancy.tolerance() + 1);
        if lost > width {
            return 0.0;
        }
        self.data_bytes * combinations(members - lost, width - lost) / combinations(members, width)
    }
}

/// Ways to choose `taken` of `from`.
pub(crate) fn combinations(from: u32, taken: u32) -> f64 {
    if taken > from {
        return 0.0;
    }
    (0..taken).fold(1.0, |ways, step| ways * f64::from(from - step) / f64::from(step + 1))
}

fn refuse(name: &'static str, value: f64, allowed: &'static str) -> Result<(), PlanError> {
    Err(PlanError::Value(name, value, allowed))
}

fn at_least_0(name: &'static str, value: f64) -> Result<(), PlanError> {
    if value >= 0.0 && value.is_finite() { Ok(()) } else { refuse(name, value, "at least 0") }
}

fn above_0(name: &'static str, value: f64) -> Result<(), PlanError> {
    if value > 0.0 && value.is_finite() { Ok(()) } else { refuse(name, value, "above 0") }
}
