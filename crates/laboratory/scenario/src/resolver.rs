//! Makes a scenario of its layers: missing keys get their defaults, and contradictions are refused.

use serde::de::DeserializeOwned;
use toml::{Table, Value};
use wane_aging::ModelKind;
use wane_ftl::{EraseGroup, Frontiers, Pooling, RECOVERY_RESERVE};
use wane_nand::Relocations;
use wane_units::Ratio;
use wane_workload::Arrival;

use super::chosen::Chosen;
use super::device::{self, Grouping};
use super::error::Refusal;
use super::forward::FastForward;
use super::layer::Layer;
use super::medium::{self, FaultSpec, Medium};
use super::policies::{self, DEFAULTS, Family};
use super::presets;
use super::settings::{DriveSettings, FtlSettings, PreconditionSettings, Settings};
use super::time::{self, ProbeSettings};
use super::workload::{self, Space};
use super::written;
use super::{
    Ages, ArraySpec, Collection, Device, PaceWord, Phase, Precondition, Probe, Scenario, ScenarioError, Scheduler,
    Time, Until, Workload, WritesPerDay,
};

/// Whether blocks may leave service.
fn retires(device: &Device, ftl: &FtlSettings) -> bool {
    ftl.read_recovery.is_some() || ftl.retire.policy().retires(device.endurance)
}

/// Makes an error at a key, in the topmost layer that has the key or the nearest table around it.
pub(super) fn at(layers: &[Layer], key: &str, message: String) -> ScenarioError {
    let mut place = key;
    loop {
        if let Some(layer) = layers.iter().rev().find(|layer| layer.holds(place)) {
            return layer.error(key, message);
        }
        match place.rsplit_once('.') {
            Some((parent, _)) => place = parent,
            None => break,
        }
    }
    match layers.first() {
        Some(layer) => layer.error(key, message),
        None => ScenarioError { key: key.to_owned(), ..ScenarioError::elsewhere("the scenario", message) },
    }
}

/// The layers of a scenario, checked one by one and merged.
pub(super) struct Resolver<'a> {
    pub(super) layers: &'a [Layer],
    pub(super) set: &'a Table,
    pub(super) inherited: &'a Table,
    pub(super) merged: &'a Table,
}

impl Resolver<'_> {
    pub(super) fn error(&self, key: &str, message: String) -> ScenarioError {
        at(self.layers, key, message)
    }

    pub(super) fn section<'t>(table: &'t Table, name: &str) -> Option<&'t Table> {
        table.get(name).and_then(Value::as_table)
    }

    /// Reads a table as a struct of settings.
    pub(super) fn settings<T: DeserializeOwned>(&self, table: &Table, name: &str) -> Result<T, ScenarioError> {
        written::read(table).map_err(|message| self.error(name, message))
    }

    pub(super) fn resolve(&self, preset: String) -> Result<Scenario, ScenarioError> {
        let empty = Table::new();
        let mut ftl = self.ftl(Self::section(self.merged, "ftl").unwrap_or(&empty))?;
        let set = Self::section(self.set, "drive").unwrap_or(&empty);
        let inherited = Self::section(self.inherited, "drive").unwrap_or(&empty);
        let mut drive = Self::section(self.merged, "drive").cloned().unwrap_or_default();
        medium::fill_in_cell_times(&mut drive);
        let drive: DriveSettings = self.settings(&drive, "drive")?;
        self.use_all_dies(&mut ftl, &drive);
        let grouping = Grouping {
            erase_group: ftl.erase_group,
            domain: ftl.domain,
            streams: ftl.streams(),
            stripes: ftl.stripes(),
            gc_reserve: ftl.gc_reserve,
            rated: ftl.rated_blocks,
            summaries: Some(ftl.recovery.policy()).filter(|policy| policy.acts()).map(|policy| policy.summaries()),
            power_loss_protection: drive.power_loss_protection,
            wordline_pages: drive.wordline_pages,
        };
        let written = device::Written { settings: &drive, set, inherited };
        let device = device::device(&written, grouping).map_err(|(key, message)| self.error(key, message))?;
        self.check_reserve(&device, &ftl)?;
        let array = self.array(&preset, &ftl)?;
        let refuse = |(key, message): Refusal| self.error(&key, message);
        let medium = Medium::of(&drive).map_err(refuse)?;
        medium.check(set, device.unit).map_err(refuse)?;
        let mut time: Time = self.settings(Self::section(self.merged, "time").unwrap_or(&empty), "time")?;
        self.use_all_planes(&mut time, &ftl, &drive);
        time.check(Self::section(self.set, "time").unwrap_or(&empty)).map_err(refuse)?;
        medium.thermal.check(&time).map_err(refuse)?;
        let below = array.as_ref().map_or(&device, |array| &array.device);
        let file_system = self.file_system(below, array.as_ref(), &ftl)?;
        let forecast = self.forecast(array.as_ref(), &time)?;
        let seen = file_system.as_ref().map_or(below, |files| &files.device);
        let space = Space { logical_units: seen.logical_units, unit: seen.unit };
        self.check_needs(&device, &ftl, &medium, &time)?;
        let phases = self.phases(space, &device, &ftl, time.is_timed())?;
        let probe = self.probe(space, &time, &phases)?;
        self.check_wear_of_probes(probe.as_ref(), &device, &ftl)?;
        self.calendar(&mut time, &phases, probe.as_ref())?;
        let fast_forward = self.fast_forward((&ftl, &medium), array.as_ref(), &time, &phases, probe.as_ref())?;
        let top = self.merged.iter().filter(|(_, value)| !value.is_table() && !value.is_array());
        let top: Settings = self.settings(&top.map(|(key, value)| (key.clone(), value.clone())).collect(), "")?;
        Ok(Scenario {
            seed: top.seed,
            name: top.name.unwrap_or_default(),
            preset,
            device,
            precondition: self.precondition()?,
            phases,
            ftl,
            medium,
            time,
            probe,
            fast_forward,
            array,
            file_system,
            forecast,
        })
    }

    /// Whether a layer writes a key of a table.
    fn writes(&self, table: &str, key: &str) -> bool {
        Self::section(self.merged, table).is_some_and(|table| table.contains_key(key))
    }

    /// What no layer says of how blocks are grouped makes use of all dies, and of all planes of each. The drives of an array have one firmware, in
    /// which a drive of a single die or plane is served as well.
    fn use_all_dies(&self, ftl: &mut FtlSettings, drive: &DriveSettings) {
        let own = [drive.channels, drive.dies_per_channel, drive.planes_per_die].map(u64::from);
        let shapes = || self.shapes_of_members(own).chain([own]);
        let has_dies = shapes().any(|[channels, dies, _]| channels * dies > 1);
        if has_dies && !self.writes("ftl", "domain") {
            ftl.domain = Pooling::Die;
        }
        // A superblock of all dies would be a decision of another kind.
        let is_die = !has_dies || ftl.domain == Pooling::Die;
        if is_die && shapes().any(|[_, _, planes]| planes > 1) && !self.writes("ftl", "unit") {
            ftl.erase_group = EraseGroup::Superblock;
        }
    }

    /// Channels, dies of a channel and planes of a die of the members of an array whose drives are not `own`.
    fn shapes_of_members(&self, own: [u64; 3]) -> impl Iterator<Item = [u64; 3]> {
        const KEYS: [&str; 3] = ["channels", "dies-per-channel", "planes-per-die"];
        let members =
            Self::section(self.merged, "array").and_then(|array| array.get("member")).and_then(Value::as_array);
        let drives = members.into_iter().flatten().filter_map(|member| member.get("drive")?.as_table());
        drives.map(move |drive| {
            let preset = drive.get("preset").and_then(Value::as_str);
            let number = |value: &Value| value.as_integer().and_then(|number| u64::try_from(number).ok());
            let inherited = |key: &str, own: u64| match preset {
                Some(preset) => presets::written(preset, "drive", key).as_ref().and_then(number).unwrap_or(1),
                None => own,
            };
            let mut own = own.into_iter();
            KEYS.map(|key| {
                let own = own.next().unwrap_or(1);
                drive.get(key).and_then(number).unwrap_or_else(|| inherited(key, own))
            })
        })
    }

    /// The same for planes in time.
    fn use_all_planes(&self, time: &mut Time, ftl: &FtlSettings, drive: &DriveSettings) {
        let can = time.scheduler == Scheduler::Event && ftl.erase_group == EraseGroup::Superblock;
        if can && drive.planes_per_die > 1 && !self.writes("time", "multi-plane") {
            time.multi_plane = true;
        }
    }

    fn ftl(&self, table: &Table) -> Result<FtlSettings, ScenarioError> {
        let mut plain = table.clone();
        plain.retain(|key, value| Family::of_key(key).is_none() || !value.is_table());
        let mut ftl: FtlSettings = self.settings(&plain, "ftl")?;
        for family in Family::all() {
            if let Some(policy) = Self::section(table, family.key()) {
                self.choose(&mut ftl, family, policy.clone())?;
            }
        }
        self.agree_on_streams(&mut ftl)?;
        Ok(ftl)
    }

    /// Reconciles `placement` and `frontiers`, which choose the same thing: the one that is written decides. `one` and `separate` are kept in
    /// `frontiers`, so that both spellings have one hash. With any other placement `frontiers` has its default, which a resolved scenario writes.
    fn agree_on_streams(&self, ftl: &mut FtlSettings) -> Result<(), ScenarioError> {
        let (name, plain) = (ftl.placement.name(), FtlSettings::default());
        let said = [Frontiers::One, Frontiers::Separate].into_iter().find(|frontiers| frontiers.name() == name);
        let chosen = said.unwrap_or(plain.frontiers);
        // The key of the upper layer displaces the other key, as everywhere.
        let layer = |key: &str| self.layers.iter().rposition(|layer| layer.holds(key));
        match (layer("ftl.placement"), layer("ftl.frontiers")) {
            (Some(placement), Some(frontiers)) if placement == frontiers && chosen != ftl.frontiers => {
                let message =
                    format!("found \"{name}\", but ftl.frontiers is \"{}\"; give one of the two", ftl.frontiers.name());
                return Err(self.error("ftl.placement", message));
            }
            (Some(placement), frontiers) if frontiers.is_none_or(|frontiers| placement >= frontiers) => {
                ftl.frontiers = chosen;
                if said.is_none() {
                    return Ok(());
                }
            }
            _ => {}
        }
        ftl.placement = Chosen::new(plain.placement.table().clone(), ftl.frontiers.placement());
        Ok(())
    }

    /// Chooses a family's policy by the table that is written, without the parameters in it that are marked as defaults. A table that names no
    /// policy is of the default one, which the settings still have.
    fn choose(&self, ftl: &mut FtlSettings, family: Family, mut table: Table) -> Result<(), ScenarioError> {
        let path = format!("ftl.{}", family.key());
        for (name, value) in ftl.table(family) {
            table.entry(name).or_insert_with(|| value.clone());
        }
        let refuse = |message: String| self.error(&format!("{path}.{DEFAULTS}"), message);
        family.forget_defaults(&mut table).map_err(refuse)?;
        family.choose(ftl, table).map_err(|refused| {
            let place = refused.key.as_ref().map_or(path.clone(), |name| format!("{path}.{name}"));
            self.error(&place, refused.message)
        })
    }

    fn check_reserve(&self, device: &Device, ftl: &FtlSettings) -> Result<(), ScenarioError> {
        let needs: Vec<_> = ftl.needs().collect();
        if let Some((_, name, _)) = needs.iter().find(|(_, _, needs)| needs.endurance && device.endurance.is_none()) {
            let message = format!("is \"none\", but {name} follows the rated endurance");
            return Err(self.error("drive.endurance", message));
        }
        let retires = retires(device, ftl);
        let swaps = needs.iter().any(|(_, _, needs)| needs.free_blocks > 1);
        if device.gc_reserve < 2 && (retires || swaps || ftl.streams() > 1) {
            let message =
                "found 1; at least 2 are needed where blocks can retire or swap their data, and with separate \
                           frontiers"
                    .to_owned();
            return Err(self.error("ftl.gc-reserve", message));
        }
        if ftl.recovery.policy().acts() && device.gc_reserve < RECOVERY_RESERVE {
            let found = device.gc_reserve;
            let message = format!("found {found}; at least {RECOVERY_RESERVE} are needed with ftl.recovery");
            return Err(self.error("ftl.gc-reserve", message));
        }
        Ok(())
    }

    /// Whether the mean block would retire at its first erase.
    fn starts_worn_out(&self, device: &Device, ftl: &FtlSettings, medium: &Medium) -> bool {
        let retires_at = ftl.retire.policy().retires_at(device.endurance);
        retires_at.is_some_and(|at| medium.initial.erase_count.is_some_and(|count| count >= at))
    }

    /// Refuses policies that would never act for lack of errors or time, and a drive that would be worn out from the start.
    fn check_needs(
        &self,
        device: &Device,
        ftl: &FtlSettings,
        medium: &Medium,
        time: &Time,
    ) -> Result<(), ScenarioError> {
        for (family, name, needs) in ftl.needs() {
            if let Some(lacking) = policies::lacking(needs, device, ftl, medium, time) {
                return Err(self.error(&format!("ftl.{}", family.key()), format!("{name} goes by {lacking}")));
            }
        }
        let (key, message) = match () {
            () if medium.faults.lost_die.is_some_and(|die| die >= device.geometry.dies()) => {
                let found = medium.faults.lost_die.unwrap_or_default();
                let dies = device.geometry.dies();
                let (allowed, noun) =
                    if dies == 1 { ("0".to_owned(), "die") } else { (format!("0 to {}", dies - 1), "dies") };
                (
                    "drive.faults.lost-die",
                    format!("found {found}; the drive has {dies} {noun}, so that {allowed} is allowed"),
                )
            }
            () if time.gc == Collection::Rotating && ftl.redundancy.policy().group_dies().is_none() => (
                "time.gc",
                "\"rotating\" needs ftl.redundancy = \"rain\", whose groups of dies collect in turn".to_owned(),
            ),
            () if time.gc == Collection::Free && ftl.recovery.policy().acts() => (
                "time.gc",
                "\"free\" does not go with ftl.recovery: a power cut must know when each program ends".to_owned(),
            ),
            () if self.starts_worn_out(device, ftl, medium) => {
                let advice = "raise drive.endurance, or set it to \"none\"";
                let found = medium.initial.erase_count.unwrap_or_default();
                let rated = device.endurance.unwrap_or_default();
                (
                    "drive.initial.erase-count",
                    format!("found {found}, but blocks retire at {rated} P/E cycles; {advice}"),
                )
            }
            () => return Ok(()),
        };
        Err(self.error(key, message))
    }

    fn precondition(&self) -> Result<Precondition, ScenarioError> {
        let empty = Table::new();
        let name = "precondition";
        let set = Self::section(self.set, name).unwrap_or(&empty);
        let mut settings: PreconditionSettings = self.settings(set, name)?;
        // A drive that is not filled does not get the drive writes of a preset either.
        if settings.fill.is_none_or(|fill| fill == Ratio::ONE) {
            settings = self.settings(Self::section(self.merged, name).unwrap_or(&empty), name)?;
        }
        let fills = settings.fill.is_none_or(|fill| fill == Ratio::ONE);
        let sequential = settings.sequential_drive_writes.unwrap_or(u32::from(fills));
        let fill = settings.fill.unwrap_or(if sequential == 0 { Ratio::ZERO } else { Ratio::ONE });
        if fill != Ratio::ONE && sequential > 0 {
            let message =
                format!("found {sequential}, which fill the drive, but fill is {fill}; leave one of them out");
            return Err(self.error("precondition.sequential-drive-writes", message));
        }
        let random_drive_writes = settings.random_drive_writes;
        Ok(Precondition { fill, sequential_drive_writes: sequential, random_drive_writes })
    }

    fn phases(
        &self,
        space: Space,
        device: &Device,
        ftl: &FtlSettings,
        is_timed: bool,
    ) -> Result<Vec<Phase>, ScenarioError> {
        // With probes the clock runs only in these, otherwise in the phases.
        let by_clock = is_timed && !self.merged.contains_key("probe");
        let listed = self.merged.get("phase").and_then(Value::as_array);
        let tables: Vec<(String, &Table)> = match listed {
            Some(phases) => {
                (0..).zip(phases).filter_map(|(n, phase)| Some((format!("phase.{n}."), phase.as_table()?))).collect()
            }
            None => vec![(String::new(), self.merged)],
        };
        let empty = Table::new();
        let mut phases = Vec::new();
        for (prefix, table) in tables {
            let part = |name: &str| Self::section(table, name).unwrap_or(&empty);
            let (workload, arrival) = self.workload(part("workload"), space, &format!("{prefix}workload"))?;
            let until: Until = self.settings(part("until"), &format!("{prefix}until"))?;
            let dies = until.end_of_life && retires(device, ftl);
            if !(by_clock && until.days.is_some()) {
                self.check_end(&workload, until, dies, &format!("{prefix}until"))?;
            }
            phases.push(Phase { workload, arrival, until });
        }
        Ok(phases)
    }

    /// Resolves the workload and its arrivals of a table at `path`.
    fn workload(&self, table: &Table, space: Space, path: &str) -> Result<(Workload, Arrival), ScenarioError> {
        let refuse = |(key, message): Refusal| self.error(&format!("{path}.{key}"), message);
        let workload = workload::workload(table, space).map_err(refuse)?;
        let arrival =
            workload::arrival_of(table).and_then(|setting| time::arrival(setting, &workload)).map_err(refuse)?;
        let untimed = Self::section(self.merged, "time").is_none_or(|time| !time.contains_key("scheduler"));
        if table.contains_key("arrival") && untimed {
            let message = "has no effect on an untimed run; give time.scheduler = \"event\" or \"timeline\"";
            return Err(self.error(&format!("{path}.arrival"), message.to_owned()));
        }
        Ok((workload, arrival))
    }

    fn probe(&self, space: Space, time: &Time, phases: &[Phase]) -> Result<Option<Probe>, ScenarioError> {
        let Some(table) = Self::section(self.merged, "probe") else { return Ok(None) };
        if !time.is_timed() {
            let message = "needs a clock; give time.scheduler = \"event\" or \"timeline\"";
            return Err(self.error("probe", message.to_owned()));
        }
        let settings: ProbeSettings = self.settings(table, "probe")?;
        let last = phases.last().expect("a scenario has a phase");
        let written = settings.workload.as_ref();
        let keeps = written.is_none_or(|table| table.keys().all(|key| key == "arrival"));
        let path = "probe.workload";
        let (workload, arrival) = match written {
            None => (last.workload.clone(), last.arrival),
            Some(own) if keeps => {
                let arrival = workload::arrival_of(own).and_then(|setting| time::arrival(setting, &last.workload));
                let arrival = arrival.map_err(|(key, message)| self.error(&format!("{path}.{key}"), message))?;
                (last.workload.clone(), if own.is_empty() { last.arrival } else { arrival })
            }
            Some(own) => self.workload(own, space, path)?,
        };
        let probe = Probe::of(&settings, workload, arrival).map_err(|(key, message)| self.error(&key, message))?;
        Ok(Some(probe))
    }

    /// Refuses probes that wait for a wear that no drive of this kind has, or for an end that never comes.
    fn check_wear_of_probes(
        &self,
        probe: Option<&Probe>,
        device: &Device,
        ftl: &FtlSettings,
    ) -> Result<(), ScenarioError> {
        let Some(probe) = probe else { return Ok(()) };
        let is_rated = ftl.retire.policy().retires_at(device.endurance).is_some();
        if matches!(probe.ages, Ages::Wear(_)) && !is_rated {
            let message = "needs a rated number of erases after which blocks retire; give drive.endurance, and an ftl.retire that goes by erases";
            return Err(self.error("probe.at-wear", message.to_owned()));
        }
        if probe.at_end_of_life && !retires(device, ftl) {
            let message = "never comes: no block retires (see drive.endurance and ftl.retire)";
            return Err(self.error("probe.at-end-of-life", message.to_owned()));
        }
        Ok(())
    }

    /// Resolves which part of the life is predicted. Refuses lives in which more than erase counts would have to be predicted. Time and errors of
    /// probes do not belong to the life.
    fn fast_forward(
        &self,
        of_drive: (&FtlSettings, &Medium),
        array: Option<&ArraySpec>,
        time: &Time,
        phases: &[Phase],
        probe: Option<&Probe>,
    ) -> Result<Option<FastForward>, ScenarioError> {
        const KEY: &str = "fast-forward";
        let Some(table) = Self::section(self.merged, KEY) else { return Ok(None) };
        let forward: FastForward = self.settings(table, KEY)?;
        let refuse = |key: &str, message: String| Err(self.error(&format!("{KEY}{key}"), message));
        if !forward.adaptive && table.contains_key("factor-most") {
            return refuse(".factor-most", "needs adaptive = true; factor is what counts without".to_owned());
        }
        if forward.adaptive && forward.factor_most < forward.factor {
            let (most, factor) = (forward.factor_most, forward.factor);
            return refuse(".factor-most", format!("found {most}; at least factor, {factor}, is allowed"));
        }
        if !forward.model.has_window() && table.contains_key("window") {
            let with: Vec<&str> =
                ModelKind::ALL.iter().filter(|kind| kind.has_window()).map(|kind| kind.name()).collect();
            let (model, with) = (forward.model.name(), with.join(", "));
            return refuse(".window", format!("model = \"{model}\" looks back on no window; those that do are {with}"));
        }
        if !forward.model.has_refit() && table.contains_key("refit") {
            let model = forward.model.name();
            return refuse(".refit", format!("model = \"{model}\" is fitted before each prediction; devs is not"));
        }
        let unending = |phase: &Phase| phase.until.requests.is_some() || phase.workload.ends();
        let why = |(ftl, medium): (&FtlSettings, &Medium)| {
            let needs = |test: fn(&wane_ftl::policies::Needs) -> bool| ftl.needs().any(|(_, _, needs)| test(&needs));
            Some(match () {
                () if time.is_timed() && probe.is_none() => {
                    "a clock (time.scheduler), and predicted requests take no time; with [probe] its probes alone are timed"
                }
                () if medium.faults != FaultSpec::default() => "faults (drive.faults), which nothing predicts",
                () if medium.chip.is_some() && probe.is_none() => {
                    "errors (drive.chip), which nothing predicts; with [probe] its probes alone may err"
                }
                () if medium.chip.is_some() && medium.ecc.relocations == Relocations::Checked => {
                    "relocations that are checked (drive.ecc.relocations), whose errors nothing predicts"
                }
                () if medium.initial.retention_days.is_some() || medium.initial.reads > 0 => {
                    "data with a past (drive.initial.retention and reads), which nothing predicts; probe.retention is how long they lie before a probe"
                }
                () if ftl.scrub.policy().acts() => "scrubbing (ftl.scrub), which nothing predicts",
                () if needs(|needs| needs.errors) => "a policy that goes by errors, which nothing predicts",
                () if ftl.read_recovery.is_some() => {
                    "retirement by re-reads (ftl.read-recovery), which nothing predicts"
                }
                () if needs(|needs| needs.requests) => {
                    "a policy that goes by requests (ftl.placement), which are left out"
                }
                () if ftl.recovery.policy().acts() => {
                    "a state that survives power cuts (ftl.recovery) and keeps erase counts"
                }
                () if phases.iter().any(unending) => {
                    "a phase that ends by requests or with its trace, which are left out of what is predicted; give until.drive-writes, and loop"
                }
                () => return None,
            })
        };
        let why = match array {
            None => why(of_drive),
            Some(array) => array.members.iter().find_map(|member| why((&member.ftl, &member.medium))),
        };
        match why {
            None => Ok(Some(forward)),
            Some(why) => refuse("", format!("predicts erase counts alone, and the scenario has {why}")),
        }
    }

    /// Finds the calendar that days are counted by: the rate that is written, otherwise the pace of the workload's trace.
    fn calendar(&self, time: &mut Time, phases: &[Phase], probe: Option<&Probe>) -> Result<(), ScenarioError> {
        let place = |number: usize| match self.merged.get("phase") {
            Some(_) => format!("phase.{number}.until.days"),
            None => "until.days".to_owned(),
        };
        // A timed run has a clock to count its days by.
        let ages = !time.is_timed() || probe.is_some();
        let by_phase = || phases.iter().position(|phase| phase.until.days.is_some() && ages).map(place);
        let by_probe = probe.filter(|probe| matches!(probe.ages, Ages::Days(_))).map(|_| "probe.at-days".to_owned());
        let pace = || {
            let first = &phases.first().expect("a scenario has a phase").workload;
            let alike = phases.iter().all(|phase| phase.workload == *first);
            time::untimed(first).or_else(|| (!alike).then(|| "the phases have different workloads".to_owned()))
        };
        match (time.drive_writes_per_day, by_probe.or_else(by_phase)) {
            (Some(WritesPerDay::Rate(_)), _) | (None, None) => Ok(()),
            (Some(WritesPerDay::Word(PaceWord::Trace)), _) => pace().map_or(Ok(()), |why| {
                let message = format!("\"trace\" needs the times of a trace, but {why}; give a number");
                Err(self.error("time.drive-writes-per-day", message))
            }),
            (None, Some(key)) => match pace() {
                None => {
                    time.drive_writes_per_day = Some(WritesPerDay::TRACE);
                    Ok(())
                }
                Some(why) => {
                    let message = format!("needs a calendar, and {why}; give time.drive-writes-per-day");
                    Err(self.error(&key, message))
                }
            },
        }
    }

    /// Refuses a phase that would never end.
    fn check_end(&self, workload: &Workload, until: Until, dies: bool, path: &str) -> Result<(), ScenarioError> {
        if workload.ends() || until.requests.is_some() {
            return Ok(());
        }
        let is_bounded = until.drive_writes.is_some() || until.days.is_some();
        let message = match (is_bounded, until.end_of_life) {
            (false, false) => "the run would never end; give drive-writes, days, requests or end-of-life = true",
            (false, true) if !dies => {
                "end-of-life alone never comes: no block retires (see drive.endurance and ftl.retire)"
            }
            _ if !workload.writes() => "the run would never end, because its workload writes nothing; give requests",
            _ => return Ok(()),
        };
        Err(self.error(path, message.to_owned()))
    }
}
