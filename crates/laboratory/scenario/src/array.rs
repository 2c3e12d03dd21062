//! Several drives as one device: `[array]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};
use wane_blockdev::{Integrity, Living, SectorRange};
use wane_raid::code::Code;
use wane_raid::{
    Changed, Copies, Following, Journal, Layout, LayoutError, Linear, Placement, Portion, Raid, RaidConfig, ReadPolicy,
    Run, Stretch, Stripe, WritePath,
};
use wane_sim::Streams;
use wane_units::{Bytes, Lba, Nanos, Rate, Ratio, Sectors};

use super::device::Device;
use super::layer::merge;
use super::medium::FaultSpec;
use super::resolver::Resolver;
use super::schema::in_field_order;
use super::settings::{DriveSettings, FtlSettings, SECTOR, SEED_MAX};
use super::workload::Paths;
use super::written::{OrNone, Span, or_none, span_or_none, table_of};
use super::{Scenario, ScenarioError};

use raid::{codes, placements, write_paths};

mod raid;

/// How the data of an array lie on its members.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArrayLayout {
    /// Several copies, on members of any sizes.
    #[default]
    Mirror,
    /// Chunks on all members in turns.
    Stripe,
    /// One member after the other.
    Linear,
    /// Stripes of data and parities, or of copies, on members of any sizes.
    Raid,
}

impl ArrayLayout {
    /// The name in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mirror => "mirror",
            Self::Stripe => "stripe",
            Self::Linear => "linear",
            Self::Raid => "raid",
        }
    }

    /// Whether an array goes on without one of its members, which can be replaced.
    pub const fn is_redundant(self) -> bool {
        matches!(self, Self::Mirror | Self::Raid)
    }
}

/// What becomes of a drive that takes no more writes.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LastWord {
    /// It reads on.
    #[default]
    ReadOnly,
    /// Nothing of it can be reached any more.
    Gone,
}

/// Several drives as one device, which the workload writes. Members have the drive of `[drive]`, and what their own tables change. Everything of
/// `[ftl]` holds for all of them. Unless it follows its members (`following`), an array gives no space back, so that `ftl.capacity` decides what they do
/// without their host.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>)]
pub struct ArraySettings {
    /// How data lie on the members. A mirror lives on with its last copy, and `raid` as long as no more members are lost than its code tolerates;
    /// `stripe` and `linear` have one copy, and end with the first member.
    pub layout: ArrayLayout,
    /// Copies of all data in a mirror. Members may be more than copies, and differ in size: the capacity is the largest D for which the sum of
    /// min(size, D) is `copies` x D. Two copies on 1, 2 and 1 GiB hold 2 GiB, on 1 and 2 GiB 1 GiB.
    #[schemars(range(min = 2, max = COPIES_MAX))]
    pub copies: u32,
    /// What stripes of `raid` have besides data: one parity (`xor`, as RAID-5), two (`pq`, as RAID-6), three (`pqr`), or each chunk two or three
    /// times (`copies-2`, `copies-3`, as RAID-10). As many members as there are parities or further copies may be lost.
    #[schemars(extend("enum" = codes()))]
    pub code: String,
    /// Chunks of a stripe of `raid`, parities included, each on another member. With fewer than there are members, these may differ in size.
    #[schemars(with = "u32", range(min = 2, max = 64), extend("x-default" = "all members, or as many of them as the code allows"))]
    pub width: Option<u32>,
    /// Consecutive data on one member of a `stripe` or of `raid`. A multiple of the mapping unit.
    #[schemars(extend("x-least" = SECTOR, "x-most" = Bytes(1 << 30)))]
    pub chunk: Bytes,
    /// On which members stripes of `raid` lie: as many stripes as members of any sizes can have (`unequal`), equal parts of all members, of which
    /// the smallest decides (`equal`), or groups of equal members as an administrator would make them (`manual`).
    #[schemars(extend("enum" = placements()))]
    pub placement: String,
    /// Shares of the parities of `raid` that the members have, in their order, such as `[40, 15, 15, 15, 15]`. A member with more of them wears faster
    /// where parts of stripes are written, so that the members do not die together. Needs `code = "xor"` and stripes on all members. Source: Diff-RAID
    /// (EuroSys 2010).
    #[schemars(
        length(max = 64),
        inner(range(min = 0, max = 1000)),
        extend("x-default" = "equal ones", "x-allowed" = "a list with a share for each member")
    )]
    pub parity_shares: Vec<u32>,
    /// How `raid` changes a part of a stripe: reads what is less and waits only for that (`direct`); by the rules and in the time of Linux md
    /// (`md`), whose one thread works on all changes in turn; or as StRAID does (`straid`), with a thread for each change.
    #[schemars(extend("enum" = write_paths()))]
    pub write_path: String,
    /// What `raid` writes to a ring on its members before a change goes to its place: all that changes a stripe which holds something (`full`); of a
    /// change of one chunk, only the sum of the chunks that stay as they are (`ppl`, for the code `xor`); or nothing while all members are there
    /// (`none`). Without it, a power cut together with the loss of a member loses stripes that were just changed; with it, changes are written twice.
    #[schemars(with = "JournalWord")]
    pub journal: Journal,
    /// Bytes a second that `raid` or a mirror with a clock writes on members that miss something, and reads for a scrub, beside its host.
    #[schemars(extend("x-least" = Rate(1_000), "x-most" = Rate(1_000_000_000_000)))]
    pub rebuild_rate: Rate,
    /// Time from one scrub of `raid` or a mirror with a clock to the next; `"none"`: it scrubs only when asked.
    #[serde(with = "span_or_none")]
    #[schemars(with = "OrNone<Span>")]
    pub scrub_every: f64,
    /// Time after which `raid` no longer waits for a member that was asked to read, and makes what it has of the others; `"none"`: it waits. It
    /// takes a clock (`time.scheduler`).
    #[serde(with = "or_none")]
    #[schemars(with = "OrNone<Nanos>", extend("x-least" = Nanos(1_000), "x-most" = Nanos(100 * Nanos::SECOND.0)))]
    pub read_around: Option<Nanos>,
    /// Whether `raid` follows members that want space back, as drives with `ftl.capacity = "variant"` do: it asks its host for capacity and moves what
    /// lies there (`members`). The host of a run gives up what no phase of the workload writes. Or it does not, and a member that gets nothing goes on
    /// as `ftl.capacity` says (`never`).
    #[schemars(with = "FollowingWord")]
    pub following: Following,
    /// Whether each member keeps a checksum of each 4 KiB, as dm-integrity does below md. What a member returns wrong without saying so is then a read
    /// error of exactly these 4 KiB, which a mirror or `raid` corrects from the others. It takes 0.1 % of each member, and the array has sectors of
    /// 4 KiB.
    pub checksums: bool,
    /// Which copy a mirror reads.
    #[schemars(with = "Reads")]
    pub reads: ReadPolicy,
    /// What becomes of a member that takes no more writes.
    pub at_end_of_life: LastWord,
    /// Share of its rated erases at which a member of a mirror or of `raid` is replaced by a new drive, to which all data are copied; `"none"`:
    /// never. A drive ends when its spare blocks do, some percent before the mean block reaches its rating: a share above that never comes.
    #[serde(with = "or_none")]
    #[schemars(with = "OrNone<Ratio>")]
    pub replace_at: Option<Ratio>,
    /// Most new drives that `replace-at` puts in.
    #[schemars(range(min = 0, max = 1000))]
    pub replacements: u32,
    /// Most new drives that come at once in the place of members that are dead, as from a shelf of spares.
    #[schemars(range(min = 0, max = 1000))]
    pub spares: u32,
    /// The members, in order; two equal ones if there is no list.
    #[schemars(length(min = 1), extend("x-allowed" = "one or more `[[array.member]]` tables"))]
    pub member: Vec<MemberSettings>,
}

/// See [`ReadPolicy`].
#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "its names are the schema of a type of another crate")]
enum Reads {
    /// That of the member with the fewest requests under way. Equal ones take turns by address, each for 128 KiB.
    ShortestQueue,
    /// That of the member that has used least of its rated wear.
    Healthiest,
}

/// See [`Following`].
#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "its names are the schema of a type of another crate")]
enum FollowingWord {
    /// A member that wants space back gets none.
    Never,
    /// It gets what it wants, once the host has given up as much.
    Members,
}

/// See [`Journal`].
#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "its names are the schema of a type of another crate")]
enum JournalWord {
    /// All that changes a stripe which holds something.
    Full,
    /// The partial parity of a change of one chunk, and all of other changes.
    Ppl,
    /// Nothing, as long as no member is missing.
    None,
}

/// Members of an array that are alike.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>)]
pub struct MemberSettings {
    /// How many there are. Each draws its own random numbers: faults, errors and first erases differ, and what draws nothing is alike.
    #[schemars(range(min = 1, max = 64))]
    pub count: u32,
    /// Whether a copy is read from them only where the other members have none that is good, as md's `--write-mostly`: for a slow or distant one. Needs
    /// copies: `layout = "mirror"`, or `"raid"` with `code = "copies-2"` or `"copies-3"`.
    pub write_mostly: bool,
    /// What differs from `[drive]`.
    #[schemars(with = "DriveSettings")]
    pub drive: Table,
}

impl Default for ArraySettings {
    fn default() -> Self {
        Self {
            layout: ArrayLayout::default(),
            copies: 2,
            code: wane_raid::code::XOR.name().to_owned(),
            width: None,
            chunk: Bytes(64 << 10),
            placement: wane_raid::UNEQUAL.name().to_owned(),
            parity_shares: Vec::new(),
            write_path: wane_raid::DIRECT.name().to_owned(),
            journal: Journal::default(),
            rebuild_rate: Rate(200_000_000),
            scrub_every: 0.0,
            read_around: None,
            following: Following::default(),
            checksums: false,
            reads: ReadPolicy::default(),
            at_end_of_life: LastWord::default(),
            replace_at: None,
            replacements: 1,
            spares: 0,
            member: vec![MemberSettings { count: 2, ..MemberSettings::default() }],
        }
    }
}

impl Default for MemberSettings {
    fn default() -> Self {
        Self { count: 1, write_mostly: false, drive: Table::new() }
    }
}

/// A resolved array.
#[derive(Clone, Debug, PartialEq)]
pub struct ArraySpec {
    /// Its settings, as written.
    pub settings: ArraySettings,
    /// Its members, each as a scenario of its drive alone.
    pub members: Vec<Scenario>,
    /// What the workload sees: a drive whose logical units and whose mapping unit are the array's. The rest is the first member's.
    pub device: Device,
}

/// The ring of a journal, to which an array writes what it changes.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayRing {
    /// Sectors of it on each member.
    pub sectors: Sectors,
    /// By member: sectors that are written to it for a sector of the host.
    pub written: Vec<f64>,
}

/// Most members of an array.
pub(crate) const MEMBERS_MAX: usize = 64;
/// Most copies of a mirror.
pub(crate) const COPIES_MAX: u32 = 16;

/// The tables that say nothing of a member alone.
const OF_ARRAYS: [&str; 5] = ["array", "file-system", "probe", "fast-forward", "forecast"];
/// The tables of the workload, which may not fit a member.
const OF_WORKLOADS: [&str; 3] = ["phase", "workload", "until"];

/// Sectors that each member gives to the array.
///
/// # Errors
/// A key and a sentence: a member cannot have checksums.
fn sizes(settings: &ArraySettings, members: &[Scenario]) -> Result<Vec<Sectors>, Refused> {
    let size = |member: &Scenario| {
        let (all, unit) = (sectors(member.device.logical_bytes()), sectors(member.device.unit.0));
        match settings.checksums {
            false => Ok(all),
            true => {
                Integrity::<Box<dyn Living>>::capacity_of(all, unit).map_err(|why| ("array.checksums", why.to_string()))
            }
        }
    };
    members.iter().map(size).collect()
}

/// Bytes of the array that scaled members stand for; `None` if they stand for themselves.
fn scaled_from(settings: &ArraySettings, members: &[Scenario], unit: Sectors) -> Option<Bytes> {
    let larger = |member: &Scenario| {
        let logical_units = u32::try_from(member.device.scaled_from?.0 / member.device.unit.0).ok()?;
        Some(Scenario { device: Device { logical_units, ..member.device }, ..member.clone() })
    };
    let larger: Vec<Scenario> = members.iter().map(larger).collect::<Option<_>>()?;
    let capacity = sizes(settings, &larger).and_then(|sizes| capacity(settings, &sizes, unit)).ok()?;
    Some(Bytes(capacity.0 * SECTOR.0))
}

/// Gives each member a seed of its own, drawn from the scenario's. A member without others has the scenario's, so that it is the drive that it would be
/// alone.
fn give_seeds(members: &mut [Scenario], seed: u64) {
    if let [only] = members {
        only.seed = seed;
        return;
    }
    let streams = Streams::new(seed);
    for (number, member) in members.iter_mut().enumerate() {
        member.seed = streams.stream(&format!("array.member.{number}")).below(SEED_MAX);
    }
}

/// Sectors of a device.
fn sectors(bytes: u64) -> Sectors {
    Sectors(bytes / SECTOR.0)
}

/// Why members make no array: a key and a sentence.
type Refused = (&'static str, String);

/// The capacity of an array of these members.
fn capacity(settings: &ArraySettings, sizes: &[Sectors], unit: Sectors) -> Result<Sectors, Refused> {
    let capacity = match settings.layout {
        ArrayLayout::Mirror => Copies::new(settings.copies as usize).capacity(sizes, unit),
        ArrayLayout::Stripe => Stripe::new(sectors(settings.chunk.0)).capacity(sizes, unit),
        ArrayLayout::Linear => Linear::default().capacity(sizes, unit),
        // Its number does not change its size.
        ArrayLayout::Raid => Raid::capacity_of(&raid::config(settings, sizes, 0)?, sizes, unit),
    };
    capacity.map_err(|why| (raid::key_of(&why), why.to_string()))
}

impl ArraySettings {
    /// Time from one scrub to the next; `None`: only when asked.
    pub fn scrub_time(&self) -> Option<Nanos> {
        const SECONDS_A_DAY: u64 = Nanos::DAY.0 / Nanos::SECOND.0;
        let seconds = (self.scrub_every * SECONDS_A_DAY as f64).round() as u64;
        (seconds > 0).then(|| Nanos(seconds.saturating_mul(Nanos::SECOND.0)))
    }

    /// Members that are read only where the others have no copy.
    pub fn write_mostly(&self) -> Vec<usize> {
        let of = |member: &MemberSettings| std::iter::repeat_n(member.write_mostly, member.count as usize);
        let all = self.member.iter().flat_map(of).enumerate();
        all.filter_map(|(number, spared)| spared.then_some(number)).collect()
    }

    /// Why its members cannot be spared by reads: the key and a sentence.
    fn refused_write_mostly(&self) -> Option<(String, String)> {
        let number = self.member.iter().position(|member| member.write_mostly)?;
        let key = format!("array.member.{number}.write-mostly");
        let is_raid = self.layout == ArrayLayout::Raid;
        if self.layout != ArrayLayout::Mirror && !(is_raid && self.code.starts_with("copies")) {
            let found = if is_raid { &self.code } else { self.layout.name() };
            let why = "needs copies of all data, layout = \"mirror\" or a code \"copies-2\" or \"copies-3\"";
            return Some((key, format!("{why}, found \"{}\"", wane_units::excerpt(found))));
        }
        let all = self.member.iter().all(|member| member.write_mostly);
        all.then(|| (key, "is true for all members; leave one that is read".to_owned()))
    }

    /// A sentence for each key that is given and takes a clock, for an array that has none.
    pub(super) fn without_clock(&self) -> Vec<String> {
        let (own, default) = (table_of(self), table_of(&Self::default()));
        let of_layout = |key: &&str| OF_LAYOUTS.iter().all(|(of, layouts)| of != key || layouts.contains(&self.layout));
        let idle = OF_CLOCK.into_iter().filter(|key| own.get(*key) != default.get(*key)).filter(of_layout);
        idle.map(|key| format!("array.{key} has no effect: the run is untimed; give time.scheduler = \"event\""))
            .collect()
    }

    /// A sentence for each key that is given and belongs to other layouts.
    pub(super) fn without_effect(&self) -> Vec<String> {
        let (own, default) = (table_of(self), table_of(&Self::default()));
        let idle =
            OF_LAYOUTS.iter().filter(|(key, of)| !of.contains(&self.layout) && own.get(*key) != default.get(*key));
        let told = idle.map(|(key, of)| {
            let of: Vec<&str> = of.iter().map(|layout| layout.name()).collect();
            format!(
                "array.{key} has no effect: it belongs to layout {}, and this is {}",
                of.join(" or "),
                self.layout.name()
            )
        });
        told.collect()
    }
}

/// Keys that say what an array does in time.
const OF_CLOCK: [&str; 3] = ["rebuild-rate", "scrub-every", "read-around"];

/// Keys that belong to some layouts only.
const OF_LAYOUTS: [(&str, &[ArrayLayout]); 13] = [
    ("copies", &[ArrayLayout::Mirror]),
    ("reads", &[ArrayLayout::Mirror]),
    ("chunk", &[ArrayLayout::Stripe, ArrayLayout::Raid]),
    ("code", &[ArrayLayout::Raid]),
    ("width", &[ArrayLayout::Raid]),
    ("placement", &[ArrayLayout::Raid]),
    ("parity-shares", &[ArrayLayout::Raid]),
    ("write-path", &[ArrayLayout::Raid]),
    ("journal", &[ArrayLayout::Raid]),
    ("read-around", &[ArrayLayout::Raid]),
    ("following", &[ArrayLayout::Raid]),
    ("rebuild-rate", &[ArrayLayout::Mirror, ArrayLayout::Raid]),
    ("scrub-every", &[ArrayLayout::Mirror, ArrayLayout::Raid]),
];

impl ArraySpec {
    /// How an array of the layout `raid` works; `None` for any other.
    pub fn raid(&self, seed: u64) -> Option<RaidConfig> {
        let uuid = Streams::new(seed).stream("array.uuid").below(u64::MAX);
        let sizes = sizes(&self.settings, &self.members).ok()?;
        raid::config(&self.settings, &sizes, uuid).ok().filter(|_| self.settings.layout == ArrayLayout::Raid)
    }

    /// Where its data, and their copies or parities, lie on its members.
    ///
    /// # Panics
    /// Never: it was resolved.
    pub fn stretches(&self) -> Vec<Stretch> {
        const RESOLVED: &str = "a resolved array has a layout";
        let (settings, unit) = (&self.settings, sectors(self.device.unit.0));
        let sizes = sizes(settings, &self.members).expect(RESOLVED);
        let all = SectorRange::new(Lba(0), sectors(self.device.logical_bytes()));
        let portion = |member: usize, data: f64, parity: f64| Portion { member, data, parity };
        match settings.layout {
            ArrayLayout::Linear => {
                let mut start = Lba(0);
                let of = |(member, size): (usize, &Sectors)| {
                    let range = SectorRange::new(start, Sectors(size.0 - size.0 % unit.0));
                    start = Lba(start.0 + range.count.0);
                    Stretch { range, on: vec![portion(member, 1.0, 0.0)] }
                };
                sizes.iter().enumerate().map(of).collect()
            }
            ArrayLayout::Stripe => {
                let share = 1.0 / sizes.len() as f64;
                vec![Stretch { range: all, on: (0..sizes.len()).map(|member| portion(member, share, 0.0)).collect() }]
            }
            ArrayLayout::Mirror => {
                let mut copies = Copies::new(settings.copies as usize);
                copies.capacity(&sizes, unit).expect(RESOLVED);
                let of_run = |run: &Run| {
                    let places = run.places.iter().enumerate();
                    let on = places.map(|(copy, (member, _))| match copy {
                        0 => portion(*member, 1.0, 0.0),
                        _ => portion(*member, 0.0, 1.0),
                    });
                    Stretch { range: run.range, on: on.collect() }
                };
                copies.runs().iter().map(of_run).collect()
            }
            ArrayLayout::Raid => self.raid_stretches(&sizes).0,
        }
    }

    fn raid_stretches(&self, sizes: &[Sectors]) -> (Vec<Stretch>, Sectors) {
        let config = raid::config(&self.settings, sizes, 0).expect("a resolved array has its settings");
        Raid::stretches_of(&config, sizes, sectors(self.device.unit.0)).expect("a resolved array has stripes")
    }

    /// Parities or further copies that change with each sector that is written.
    pub fn parities(&self) -> usize {
        match self.settings.layout {
            ArrayLayout::Linear | ArrayLayout::Stripe => 0,
            ArrayLayout::Mirror => self.settings.copies as usize - 1,
            ArrayLayout::Raid => wane_raid::code::code(&self.settings.code).map_or(0, |code| code.tolerates()),
        }
    }

    /// Whether what it has besides data are copies of these.
    pub fn copies_only(&self) -> bool {
        self.settings.layout == ArrayLayout::Mirror || self.settings.code.starts_with("copies")
    }

    /// Whether drives without rated erases are enough for it to live on without the others.
    pub fn lives_on(&self) -> bool {
        let unrated = self.members.iter().filter(|member| member.device.endurance.is_none()).count();
        let mortal = self.members.len() - unrated;
        match self.settings.layout {
            ArrayLayout::Linear | ArrayLayout::Stripe => mortal == 0,
            ArrayLayout::Mirror => unrated > 0,
            ArrayLayout::Raid => mortal <= self.parities(),
        }
    }

    /// What requests of `request` sectors that begin at multiples of `step` change of each parity, or further copy.
    pub fn changed_by(&self, request: Sectors, step: Sectors) -> Changed {
        let config = sizes(&self.settings, &self.members).and_then(|sizes| raid::config(&self.settings, &sizes, 0));
        match config {
            Ok(config) if self.settings.layout == ArrayLayout::Raid => config.changed_by(request, step),
            _ => Changed { parity: 1.0, records: 0.0 },
        }
    }

    /// Sectors of each parity for a sector of the host if requests have whole stripes.
    pub fn parity_least(&self) -> f64 {
        let width = self.settings.width.map_or(self.members.len(), |width| width as usize);
        1.0 / (width - self.parities()) as f64
    }

    /// The ring of its journal, to which `records` bytes go for each byte of the host; `None` without one.
    pub fn ring(&self, records: f64) -> Option<ArrayRing> {
        if self.settings.layout != ArrayLayout::Raid || self.settings.journal == Journal::None {
            return None;
        }
        let (sizes, code) = (sizes(&self.settings, &self.members).ok()?, wane_raid::code::code(&self.settings.code)?);
        let in_sectors: Vec<u64> = sizes.iter().map(|size| size.0).collect();
        let written = Journal::ring_for_each(code, &in_sectors, records);
        Some(ArrayRing { sectors: self.raid_stretches(&sizes).1, written })
    }

    /// The same array in a scenario with this seed.
    pub(super) fn with_seed(mut self, seed: u64) -> Self {
        give_seeds(&mut self.members, seed);
        self
    }

    /// The same array of other members, in the same places.
    ///
    /// # Errors
    /// They make no such array.
    pub(super) fn replace_members(&self, members: Vec<Scenario>) -> Result<Self, String> {
        let unit = self.device.unit;
        let capacity =
            sizes(&self.settings, &members).and_then(|sizes| capacity(&self.settings, &sizes, sectors(unit.0)));
        let capacity = capacity.map_err(|(key, message)| format!("leaves too little: {key}: {message}"))?;
        let logical_units = u32::try_from(capacity.0 / sectors(unit.0).0).map_err(|error| error.to_string())?;
        let scaled_from = scaled_from(&self.settings, &members, sectors(unit.0));
        let device = Device { logical_units, unit, scaled_from, ..members[0].device };
        Ok(Self { settings: self.settings.clone(), members, device })
    }

    /// Its settings as TOML. Members whose drive is not that of the scenario have theirs, as a whole.
    pub(super) fn table(&self, paths: Paths) -> Table {
        let mut settings = self.settings.clone();
        let mut first = 0;
        for member in &mut settings.member {
            if !member.drive.is_empty() {
                member.drive = self.members[first].drive_table(paths);
            }
            first += member.count as usize;
        }
        table_of(&settings)
    }
}

impl Resolver<'_> {
    /// Resolves the array; `None` if the scenario has one drive.
    pub(super) fn array(&self, preset: &str, ftl: &FtlSettings) -> Result<Option<ArraySpec>, ScenarioError> {
        const KEY: &str = "array";
        let Some(table) = Self::section(self.merged, KEY) else { return Ok(None) };
        let mut settings: ArraySettings = self.settings(table, KEY)?;
        let refuse = |key: &str, message: String| Err(self.error(key, message));
        let count: usize = settings.member.iter().map(|member| member.count as usize).sum();
        if !(1..=MEMBERS_MAX).contains(&count) {
            return refuse("array.member", format!("found {count} members; 1 to {MEMBERS_MAX} are allowed"));
        }
        let replaces = [("replace-at", settings.replace_at.is_some()), ("spares", settings.spares > 0)];
        if let Some((key, _)) = replaces.iter().find(|(_, replaces)| *replaces && !settings.layout.is_redundant()) {
            let (key, layout) = (format!("array.{key}"), settings.layout.name());
            return refuse(&key, format!("needs layout = \"mirror\" or \"raid\": a {layout} has one copy of all data"));
        }
        if settings.layout == ArrayLayout::Raid {
            let width = raid::width(&settings, count).map_err(|(key, message)| self.error(key, message))?;
            settings.width = Some(width as u32);
        }
        if let Some((key, message)) = settings.refused_write_mostly() {
            return refuse(&key, message);
        }
        let mut members: Vec<Scenario> = Vec::new();
        for (number, member) in settings.member.iter().enumerate() {
            let scenario = self.member(preset, ftl, number, &member.drive)?;
            members.extend(std::iter::repeat_n(scenario, member.count as usize));
        }
        self.check_members(&members)?;
        let seed = members[0].seed;
        give_seeds(&mut members, seed);
        let unit = members.iter().map(|member| member.device.unit.0).max().unwrap_or(SECTOR.0);
        if let Some(odd) = members.iter().find(|member| !unit.is_multiple_of(member.device.unit.0)) {
            let why = LayoutError::Units(sectors(unit).0, sectors(odd.device.unit.0).0);
            return refuse("array.member", why.to_string());
        }
        if !settings.layout.is_redundant() && members.iter().any(|member| member.device.unit.0 != unit) {
            let message = "mapping units differ; members of a mirror or of raid may have several, those of a stripe or a linear array one";
            return refuse("array.member", message.to_owned());
        }
        let capacity = sizes(&settings, &members).and_then(|sizes| capacity(&settings, &sizes, sectors(unit)));
        let capacity = capacity.map_err(|(key, message)| self.error(key, message))?;
        let Ok(logical_units) = u32::try_from(capacity.0 / sectors(unit).0) else {
            return refuse(KEY, format!("has {} of {unit} bytes; at most {} are allowed", capacity.0, u32::MAX));
        };
        let scaled_from = scaled_from(&settings, &members, sectors(unit));
        let device = Device { logical_units, unit: Bytes(unit), scaled_from, ..members[0].device };
        Ok(Some(ArraySpec { settings, members, device }))
    }

    /// Refuses what a drive in an array would pass over in silence.
    fn check_members(&self, members: &[Scenario]) -> Result<(), ScenarioError> {
        let faults = |test: fn(&FaultSpec) -> bool| members.iter().any(|member| test(&member.medium.faults));
        let (key, why) = match () {
            () if faults(|faults| faults.lost_die.is_some()) => {
                ("drive.faults.lost-die", "dies of an array's drives are not lost so far; leave it out")
            }
            () if faults(|faults| faults.die_loss != FaultSpec::default().die_loss) => {
                ("drive.faults.die-loss", "dies of an array's drives are not lost so far; leave it out")
            }
            () => return Ok(()),
        };
        Err(self.error(key, why.to_owned()))
    }

    /// The scenario of a member's drive.
    fn member(&self, preset: &str, ftl: &FtlSettings, number: usize, drive: &Table) -> Result<Scenario, ScenarioError> {
        let place = format!("array.member.{number}");
        let mut table = self.set.clone();
        OF_ARRAYS.iter().for_each(|name| drop(table.remove(*name)));
        if let Some(time) = table.get_mut("time").and_then(Value::as_table_mut) {
            // The array counts the days.
            time.remove("drive-writes-per-day");
        }
        let over = Table::from_iter([("drive".to_owned(), Value::Table(drive.clone()))]);
        merge(&mut table, &over).map_err(|(key, message)| self.error(&format!("{place}.{key}"), message))?;
        // Another preset brings a drive, and not its firmware.
        let mut firmware = table_of(ftl);
        if ftl.placement == FtlSettings::default().placement {
            // The frontiers say it.
            firmware.remove("placement");
        }
        table.insert("ftl".to_owned(), Value::Table(firmware));
        table.insert("name".to_owned(), Value::from(place.as_str()));
        let own = drive.get("preset").and_then(Value::as_str).unwrap_or(preset);
        // It says what it served, if that is a workload for a drive of its size.
        if let Ok(whole) = Scenario::of_table(&place, table.clone(), Some(own), &[]) {
            return Ok(whole);
        }
        OF_WORKLOADS.iter().for_each(|name| drop(table.remove(*name)));
        let until = Table::from_iter([("drive-writes".to_owned(), Value::from(1))]);
        table.insert("until".to_owned(), Value::Table(until));
        Scenario::of_table(&place, table, Some(own), &[])
            .map_err(|error| self.error(&format!("{place}.{}", error.key), error.message))
    }
}
