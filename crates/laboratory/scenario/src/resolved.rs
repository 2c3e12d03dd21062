//! A resolved scenario as text: TOML that resolves to itself, and the hash of everything that decides its results.

use toml::{Table, Value};
use wane_units::{Bytes, Fnv, Ratio};
use wane_workload::Arrival;

use super::schema::Node;
use super::settings::{DriveSettings, PreconditionSettings};
use super::workload::{Paths, Space};
use super::written::table_of;
use super::{Family, Medium, Phase, Scenario, Time, presets, time};

/// Makes a table of named values.
fn named<const N: usize>(entries: [(&str, Value); N]) -> Table {
    entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Removes keys with `x-unwritten` that have their default, unless the preset writes them. A scenario that does not use such a key keeps the
/// text and the hash that it had before the key was added.
fn leave_out_defaults(node: Node, table: &mut Table, below: &Table) {
    let is_left_out = |key: &str, value: &Value| {
        node.key(key).is_some_and(|key| key.is_unwritten_default(value)) && !below.contains_key(key)
    };
    table.retain(|key, value| !is_left_out(key, value));
    for (key, value) in table.iter_mut() {
        let Some(inner) = node.key(key) else { continue };
        match value {
            Value::Table(value) => {
                let empty = Table::new();
                leave_out_defaults(inner, value, below.get(key).and_then(Value::as_table).unwrap_or(&empty));
            }
            Value::Array(list) => {
                let items = list
                    .iter_mut()
                    .enumerate()
                    .filter_map(|(number, item)| inner.item(number).zip(item.as_table_mut()));
                items.for_each(|(inner, item)| leave_out_defaults(inner, item, &Table::new()));
            }
            _ => {}
        }
    }
}

impl Scenario {
    /// The resolved scenario as TOML, which resolves to itself.
    ///
    /// Every key of the tables of an untimed scenario is written. Arrivals, `[time]`, `chip`, `cell` and the tables
    /// inside `[drive]` are written, each whole, only if they differ from the preset or, in timed runs,
    /// from the defaults. Policies have all their parameters; `defaults` names
    /// those that the scenario left to their defaults, which stay out of the hash. A comment at the top gives the spare space as
    /// over-provisioning and as spare factor.
    pub fn to_toml(&self) -> String {
        let mut top = self.table(Paths::Resolved);
        top.insert("name".to_owned(), Value::from(self.name.as_str()));
        let text = toml::to_string(&top).expect("a table of plain values is TOML");
        format!("# {}\n{text}", self.device.spare_in_words())
    }

    /// A hash of everything that decides the results, as 16 hexadecimal digits. Names are left out, and traces enter with
    /// their paths as written, so that the hash is the same on every machine. Untimed runs leave out the keys that only a scheduler
    /// uses.
    pub fn hash(&self) -> String {
        let mut top = self.table(Paths::AsWritten);
        if let Some(Value::Table(drive)) = top.get_mut("drive") {
            drive.remove("preset");
        }
        let text = toml::to_string(&top).expect("a table of plain values is TOML");
        Fnv::of(text.as_bytes()).hex()
    }

    fn space(&self) -> Space {
        let device = self.workload_device();
        Space { logical_units: device.logical_units, unit: device.unit }
    }

    fn table(&self, paths: Paths) -> Table {
        let mut top = Table::new();
        let mut put = |name: &str, value: Value| drop(top.insert(name.to_owned(), value));
        put("seed", Value::from(self.seed as i64));
        put("drive", Value::Table(self.drive_table(paths)));
        put("ftl", Value::Table(self.ftl_table(paths)));
        let precondition = PreconditionSettings {
            fill: Some(self.precondition.fill),
            sequential_drive_writes: Some(self.precondition.sequential_drive_writes),
            random_drive_writes: self.precondition.random_drive_writes,
        };
        put("precondition", Value::Table(table_of(&precondition)));
        let tables = |phase: &Phase| {
            let mut workload = phase.workload.to_table(self.space(), paths);
            if self.writes_arrival(phase.arrival, paths) {
                workload.insert("arrival".to_owned(), time::arrival_value(phase.arrival));
            }
            named([("workload", Value::Table(workload)), ("until", Value::Table(table_of(&phase.until)))])
        };
        if let Some(array) = &self.array {
            put("array", Value::Table(array.table(paths)));
        }
        if let Some(files) = &self.file_system {
            put("file-system", Value::Table(table_of(&files.settings)));
        }
        if let Some(forecast) = &self.forecast {
            put("forecast", Value::Table(table_of(forecast)));
        }
        if let Some(probe) = &self.probe {
            put("probe", Value::Table(table_of(&probe.settings(self.space(), paths))));
        }
        if let Some(forward) = &self.fast_forward {
            let mut forward_table = table_of(forward);
            if !forward.adaptive {
                forward_table.remove("factor-most");
            }
            if !forward.model.has_window() {
                forward_table.remove("window");
            }
            if !forward.model.has_refit() {
                forward_table.remove("refit");
            }
            put("fast-forward", Value::Table(forward_table));
        }
        if let Some(time) = self.time_table(paths) {
            put("time", Value::Table(time));
        }
        if let [phase] = &self.phases[..] {
            top.extend(tables(phase));
        } else {
            let phases = self.phases.iter().map(|phase| Value::Table(tables(phase)));
            top.insert("phase".to_owned(), Value::Array(phases.collect()));
        }
        let below = presets::find(&self.preset).and_then(|preset| preset.text.parse::<Table>().ok());
        leave_out_defaults(Node::root(), &mut top, &below.unwrap_or_default());
        top
    }

    fn writes_arrival(&self, arrival: Arrival, paths: Paths) -> bool {
        match paths {
            Paths::AsWritten => self.time.is_timed(),
            Paths::Resolved => self.time.is_timed() || arrival != Arrival::default(),
        }
    }

    /// The entries of the medium that are written, as [`Self::to_toml`] and [`Self::hash`] say.
    fn medium_entries(&self, paths: Paths) -> Vec<(String, Value)> {
        let timed = self.time.is_timed();
        let (preset, default) = (presets::medium(&self.preset), Medium::default());
        let entries = self.medium.entries().into_iter().zip(preset.entries()).zip(default.entries());
        let written = entries.filter(|(((name, own), (_, below)), (_, default))| {
            // With a cell, times that equal the defaults must be written, since the cell would replace them.
            let of_cell = |below: Option<wane_nand::CellKind>| *name == "timing" && self.medium.cell != below;
            match paths {
                Paths::AsWritten => {
                    (own != default || of_cell(None)) && (timed || !["timing", "thermal"].contains(name))
                }
                Paths::Resolved => own != below || of_cell(preset.cell) || (own != default && timed),
            }
        });
        written.map(|((entry, _), _)| (entry.0.to_owned(), entry.1)).collect()
    }

    fn time_table(&self, paths: Paths) -> Option<Table> {
        let timed = self.time.is_timed();
        let (own, below) = (table_of(&self.time), table_of(&presets::time(&self.preset)));
        let differs = self.time != Time::default();
        match paths {
            Paths::AsWritten if timed => Some(own),
            // The only key of `[time]` that an untimed run uses.
            Paths::AsWritten => {
                let calendar = own.into_iter().filter(|(key, _)| key == "drive-writes-per-day");
                Some(calendar.collect()).filter(|_| self.time.drive_writes_per_day.is_some())
            }
            Paths::Resolved => {
                // An untimed scenario may have arrivals only if it writes `scheduler = "none"`.
                let arrivals = self.phases.iter().any(|phase| phase.arrival != Arrival::default());
                (own != below || (differs && timed) || (arrivals && !timed)).then_some(own)
            }
        }
    }

    pub(super) fn drive_table(&self, paths: Paths) -> Table {
        let (device, shape) = (&self.device, &self.device.geometry);
        let settings = DriveSettings {
            preset: Some(self.preset.clone()),
            logical_capacity: Some(Bytes(device.logical_bytes())),
            spare_factor: Some(Ratio::new(device.spare_factor).expect("a drive exports a part of its flash")),
            channels: shape.channels(),
            dies_per_channel: shape.dies_per_channel(),
            planes_per_die: shape.planes_per_die(),
            blocks_per_plane: Some(shape.blocks_per_plane()),
            blocks: None,
            pages_per_block: shape.pages_per_block(),
            page_size: shape.page_size(),
            mapping_unit: Some(device.unit),
            endurance: device.endurance,
            scaled_from: device.scaled_from,
            power_loss_protection: device.power_loss_protection,
            wordline_pages: device.wordline_pages,
            ..DriveSettings::default()
        };
        let mut table = table_of(&settings);
        for (name, _) in Medium::default().entries() {
            table.remove(name);
        }
        table.extend(self.medium_entries(paths));
        table
    }

    fn ftl_table(&self, paths: Paths) -> Table {
        let mut table = table_of(&self.ftl);
        for family in Family::all().filter(|_| matches!(paths, Paths::Resolved)) {
            if let Some(Value::Table(policy)) = table.get_mut(family.key()) {
                family.complete(policy);
            }
        }
        if let Some(retire) = table.get_mut("retire") {
            shorten(retire);
        }
        table
    }
}

/// Makes a policy without parameters its name alone.
fn shorten(policy: &mut Value) {
    let is_bare = policy.as_table().is_some_and(|policy| policy.len() == 1);
    if let Some(name) = policy.get("policy").filter(|_| is_bare) {
        *policy = name.clone();
    }
}
