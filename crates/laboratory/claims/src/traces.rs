//! The published traces in place of their stand-ins, for those who have the files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use wane_scenario::{Scenario, StandinSpec, TraceSpec, Workload};
use wane_units::{Bytes, excerpt_path};
use wane_workload::standin::STANDINS;

/// Traces of a folder, by the names of their stand-ins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traces(BTreeMap<&'static str, PathBuf>);

/// Bytes of the drives onto which the dissertation (000, Table 2) and 004 (Table 3) fold the traces.
const WHOLE: u64 = 256 << 30;
const WHOLE_OF_TRAFFIC: u64 = 200 << 30;

impl Traces {
    /// Finds the traces of a folder: files whose names up to the first dot are those of stand-ins, such as `dap-ds.csv.gz`.
    ///
    /// # Errors
    /// The folder cannot be read, holds no such file, or two for one stand-in. The message is a sentence.
    pub fn find(folder: &Path) -> Result<Self, String> {
        let unreadable = |error: std::io::Error| format!("'{}' cannot be read: {error}", excerpt_path(folder));
        let mut found: BTreeMap<&'static str, PathBuf> = BTreeMap::new();
        let entries = std::fs::read_dir(folder).map_err(unreadable)?;
        let mut paths =
            entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
        paths.sort();
        for path in paths.into_iter().filter(|path| path.is_file()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
            let stem = name.split('.').next().unwrap_or_default();
            let Some(standin) = STANDINS.iter().find(|standin| standin.name == stem) else { continue };
            if let Some(other) = found.insert(standin.name, path.clone()) {
                let [one, two] = [&other, &path].map(|path| excerpt_path(path));
                return Err(format!("'{one}' and '{two}' are both named as {}; one file is allowed", standin.name));
            }
        }
        if found.is_empty() {
            let names = STANDINS.map(|standin| standin.name).join(", ");
            return Err(format!(
                "'{}' holds no file that is named as a stand-in, such as dap-ds.csv.gz; the names are {names}",
                excerpt_path(folder)
            ));
        }
        Ok(Self(found))
    }

    /// Names of the stand-ins that have a trace.
    pub fn names(&self) -> Vec<&'static str> {
        self.0.keys().copied().collect()
    }

    /// The scenario on the trace in place of its stand-in; `None` if it has no stand-in, or the trace is not there.
    ///
    /// A drive that stands for a larger one gets the requests to as large a share of the trace's addresses, which are folded onto the drive. The
    /// trace begins anew at its end. Arrivals stay the scenario's.
    pub(crate) fn swapped(&self, scenario: &Scenario) -> Option<Scenario> {
        let mut swapped = scenario.clone();
        let mut is_swapped = false;
        for phase in &mut swapped.phases {
            let Workload::Standin(standin) = &phase.workload else { continue };
            if let Some(trace) = self.spec(standin, scenario.device.logical_bytes()) {
                phase.workload = Workload::Trace(trace);
                is_swapped = true;
            }
        }
        is_swapped.then_some(swapped)
    }

    fn spec(&self, standin: &StandinSpec, logical_bytes: u64) -> Option<TraceSpec> {
        let whole = if standin.name.ends_with("-traffic") { WHOLE_OF_TRAFFIC } else { WHOLE };
        let name = base(&standin.name);
        let path = self.0.get(name)?;
        Some(TraceSpec {
            path: path.clone(),
            written: name.to_owned(),
            format: None,
            assume_read: false,
            assume_block: Bytes(512),
            assume_one_reads: None,
            skip_bad_lines: false,
            compact: false,
            looped: true,
            sample: (whole as f64 / logical_bytes as f64).round().max(1.0) as u32,
        })
    }

    /// Which of the traces these scenarios have stand-ins for, and how many of their stand-ins have no trace, in words; `None` if they have
    /// none of the traces.
    pub(crate) fn describe(&self, scenarios: &[Scenario]) -> Option<String> {
        let mut names: Vec<&str> = scenarios.iter().flat_map(|scenario| &scenario.phases).filter_map(standin).collect();
        names.sort_unstable();
        names.dedup();
        let (there, absent): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|name| self.0.contains_key(name));
        let rest = if absent.is_empty() { String::new() } else { format!("; stand-ins for {}", absent.join(", ")) };
        (!there.is_empty()).then(|| format!("traces of {}{rest}", there.join(", ")))
    }
}

/// The trace that a phase's stand-in is for.
fn standin(phase: &wane_scenario::Phase) -> Option<&str> {
    match &phase.workload {
        Workload::Standin(standin) => Some(base(&standin.name)),
        Workload::Pattern(_) | Workload::Trace(_) | Workload::Lsm(_) | Workload::Mix(_) => None,
    }
}

/// The trace that a stand-in is for: some traces have several.
fn base(name: &str) -> &str {
    ["-traffic", "-mixture"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    fn folder(names: &[&str]) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("wane-traces-{}-{}", std::process::id(), names.join("-")));
        std::fs::create_dir_all(&folder).unwrap();
        names.iter().for_each(|name| std::fs::write(folder.join(name), "").unwrap());
        folder
    }

    #[test]
    fn a_folder_has_a_trace_for_a_standin_or_is_refused() {
        for (names, want) in [
            (&["readme.txt"][..], "holds no file that is named as a stand-in, such as dap-ds.csv.gz"),
            (&["dap-ds.csv", "DAP-DS.gz"], "both named as dap-ds; one file is allowed"),
            (&["dtrs.trace.gz", "notes"], ""),
        ] {
            let folder = folder(names);
            let found = Traces::find(&folder);
            std::fs::remove_dir_all(&folder).unwrap();
            assert!(found.as_ref().map_or_else(|why| why.contains(want), |_| want.is_empty()), "{found:?}");
        }
        assert!(Traces::find(Path::new("/nowhere/at all")).unwrap_err().contains("cannot be read"));
    }

    #[test]
    fn a_smaller_drive_gets_its_share_of_the_trace() {
        let traces = Traces(BTreeMap::from([("rad-be", PathBuf::from("/t/rad-be.csv"))]));
        let of = |standin: &str, capacity: &str| {
            let text = format!(
                "drive = {{ preset = 'ftlsim-256g', logical-capacity = '{capacity}' }}\nworkload.standin = '{standin}'\nuntil.drive-writes = 1"
            );
            traces.swapped(&scenario("a life", &text)).map(|swapped| match &swapped.phases[0].workload {
                Workload::Trace(trace) => (trace.sample, trace.looped),
                other => panic!("{other:?}"),
            })
        };
        assert_eq!(of("rad-be", "4 GiB"), Some((64, true)));
        assert_eq!(of("rad-be-traffic", "6400 MiB"), Some((32, true)));
        assert_eq!(of("rad-as", "4 GiB"), None);
        let lives = ["rad-be", "dap-ps-mixture"].map(|name| {
            let drive = "drive = { preset = 'ftlsim-256g', logical-capacity = '1 GiB' }";
            scenario(name, &format!("{drive}\nworkload.standin = '{name}'\nuntil.drive-writes = 1"))
        });
        assert_eq!(traces.describe(&lives).as_deref(), Some("traces of rad-be; stand-ins for dap-ps"));
        assert_eq!(traces.describe(&lives[1..]), None);
    }
}
