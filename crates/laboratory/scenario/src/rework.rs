//! The same drive under another workload. Kept drives are aged and probed by such scenarios.

use toml::{Table, Value};
use wane_units::Bytes;

use super::device::Device;
use super::workload::{self, Paths, Space, Workload};
use super::{Scenario, ScenarioError, Sources};

/// First parts of the keys that assignments may change.
const HEADS: [&str; 2] = ["workload", "time"];

impl Scenario {
    /// Returns the same drive under `workload`, or its own workload if that is `None`, for `requests` requests. Assignments come on top; probes
    /// are left out. With `timed` requests take time, by the event scheduler if the scenario has none.
    ///
    /// # Errors
    /// The workload is wrong, or an assignment would change another key.
    pub fn reworked(
        &self,
        workload: Option<Table>,
        requests: u64,
        set: &[String],
        timed: bool,
    ) -> Result<Self, ScenarioError> {
        for assignment in set {
            let key = assignment.split('=').next().unwrap_or_default().trim();
            let head = key.split(['.', ' ']).next().unwrap_or_default();
            if !HEADS.contains(&head) {
                let message = "a drive that exists is not changed by keys; workload.* and time.* may be set";
                return Err(ScenarioError::elsewhere("--set", format!("{}: {message}", wane_units::excerpt(key))));
            }
        }
        let mut table: Table = self.to_toml().parse().expect("a resolved scenario is TOML");
        if let Some(phases) = table.remove("phase").as_ref().and_then(Value::as_array)
            && let Some(first) = phases.first().and_then(Value::as_table)
        {
            // Without a new workload the first phase's is used; a new one replaces all phases.
            table.extend(first.clone());
        }
        table.remove("probe");
        if let Some(workload) = workload {
            table.insert("workload".to_owned(), Value::Table(workload));
        }
        table.insert(
            "until".to_owned(),
            Value::Table(Table::from_iter([("requests".to_owned(), Value::from(requests as i64))])),
        );
        if timed {
            let time = table.entry("time").or_insert_with(|| Value::Table(Table::new()));
            if let Some(time) = time.as_table_mut() {
                // Its clock counts the days.
                time.remove("drive-writes-per-day");
                let scheduler = time.entry("scheduler").or_insert_with(|| Value::from("none"));
                if scheduler.as_str() == Some("none") {
                    *scheduler = Value::from("event");
                }
            }
        }
        let text = toml::to_string(&table).expect("a table of plain values is TOML");
        let mut scenario = Self::resolve(&Sources { preset: None, file: Some((&self.name, &text)), set })?;
        self.name.clone_into(&mut scenario.name);
        Ok(scenario)
    }
}

impl Workload {
    /// The same workload on what is left of its device: `units` logical units. What was a share of the device is a share of them.
    ///
    /// # Errors
    /// It does not fit there.
    pub fn on_the_rest(&self, device: &Device, units: u32) -> Result<Self, ScenarioError> {
        if units == device.logical_units {
            return Ok(self.clone());
        }
        let space = |logical_units: u32| Space { logical_units, unit: device.unit };
        let table = self.to_table(space(device.logical_units), Paths::Resolved);
        workload::workload(&table, space(units)).map_err(|(key, message)| {
            let left = Bytes(u64::from(units) * device.unit.0);
            ScenarioError::elsewhere(
                &format!("workload.{key}"),
                format!("{message}; {left} of the device are left for it, so give another workload"),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pattern;

    fn scenario(text: &str) -> Scenario {
        Scenario::resolve(&Sources { file: Some(("a.toml", text)), ..Sources::default() }).unwrap()
    }

    #[test]
    fn the_drive_stays_and_the_workload_changes() {
        let before = scenario(
            "seed = 4\n[drive]\npreset = \"tiny\"\n[workload]\npattern = \"uniform\"\n[until]\ndrive-writes = 3\n",
        );
        let workload: Table = "pattern = \"zipf\"\nexponent = 0.7".parse().unwrap();
        let set = ["workload.read-share=0.5".to_owned()];
        let after = before.reworked(Some(workload), 9, &set, true).unwrap();
        assert_eq!((after.device, after.seed, after.name.as_str()), (before.device, 4, "a"));
        let Workload::Pattern(pattern) = &after.phases[0].workload else { panic!("a pattern") };
        assert_eq!((pattern.pattern, pattern.read_share.get()), (Pattern::Zipf { exponent: 0.7, scramble: true }, 0.5));
        assert_eq!((after.phases[0].until.requests, after.time.is_timed()), (Some(9), true));
        assert_eq!(before.reworked(None, 1, &[], false).unwrap().phases[0].workload, before.phases[0].workload);
        let refused = before.reworked(None, 1, &["drive.endurance=9".to_owned()], false).unwrap_err();
        assert!(refused.to_string().contains("drive.endurance"), "{refused}");
    }

    #[test]
    fn a_share_of_a_device_is_a_share_of_what_is_left_of_it() {
        let text =
            |workload: &str| format!("[drive]\npreset = \"tiny\"\n[workload]\n{workload}\n[until]\ndrive-writes = 1\n");
        let of = |workload: &str| scenario(&text(workload));
        let half = of("pattern = \"hot-cold\"\nfootprint = 0.5\nrequest-size = \"8 MiB\"");
        let Workload::Pattern(before) = half.phases[0].workload.clone() else { panic!("a pattern") };
        let units = half.device.logical_units;
        let on = |units| half.phases[0].workload.on_the_rest(&half.device, units);
        let Ok(Workload::Pattern(after)) = on(units / 2 + 3) else { panic!("a pattern") };
        assert_eq!((after.footprint_units, after.request_units), ((units / 2 + 3) / 2, before.request_units));
        assert_eq!((after.pattern, on(units).unwrap()), (before.pattern, half.phases[0].workload.clone()));
        let refused = on(units / 8).unwrap_err().to_string();
        assert_eq!(
            refused,
            "workload.request-size: found 8 MiB; a multiple of the mapping unit, 4 KiB, up to the footprint is allowed; \
             8 MiB of the device are left for it, so give another workload"
        );
        for workload in [
            "mix = [{ share = 1, pattern = \"uniform\" }]",
            "lsm = \"ycsb-a\"\ndata = 0.2\nmemtable = \"64 KiB\"\n\
             table-size = \"64 KiB\"\nlevel-base = \"256 KiB\"",
            "standin = \"rad-be\"",
        ] {
            let whole = of(workload);
            let rest = whole.phases[0].workload.on_the_rest(&whole.device, units / 2).unwrap();
            assert_eq!(rest.footprint(), whole.phases[0].workload.footprint().map(|units| units / 2), "{workload}");
        }
    }

    #[test]
    fn several_phases_give_way_to_one_workload() {
        let text = "[drive]\npreset = \"tiny\"\n[[phase]]\nworkload = { pattern = \"sequential\" }\nuntil = { drive-writes = 1 }\n\
                    [[phase]]\nworkload = { pattern = \"zipf\" }\nuntil = { drive-writes = 1 }\n";
        let workload: Table = "pattern = \"jesd219\"".parse().unwrap();
        let after = scenario(text).reworked(Some(workload), 1, &[], false).unwrap();
        assert_eq!(after.phases.len(), 1);
    }
}
