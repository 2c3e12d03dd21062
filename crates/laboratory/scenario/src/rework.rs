//! The same drive under another workload. Kept drives are aged and probed by such scenarios.

use toml::{Table, Value};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Pattern, Workload};

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
    fn several_phases_give_way_to_one_workload() {
        let text = "[drive]\npreset = \"tiny\"\n[[phase]]\nworkload = { pattern = \"sequential\" }\nuntil = { drive-writes = 1 }\n\
                    [[phase]]\nworkload = { pattern = \"zipf\" }\nuntil = { drive-writes = 1 }\n";
        let workload: Table = "pattern = \"jesd219\"".parse().unwrap();
        let after = scenario(text).reworked(Some(workload), 1, &[], false).unwrap();
        assert_eq!(after.phases.len(), 1);
    }
}
