//! The lives that are fast-forwarded: drives of the dissertation's Table 1 under stand-ins.

use wane_scenario::Scenario;
use wane_workload::standin::STANDINS;

use crate::scenario;

/// The stand-ins of the eleven traces.
pub(super) const TRACES: [&str; 11] = {
    let mut names = [""; 11];
    let mut place = 0;
    while place < names.len() {
        names[place] = STANDINS[place].name;
        place += 1;
    }
    names
};

/// Our stand-ins for OLTP: the name, and the share `r` of the requests that goes to the share `h` of the data.
pub(super) const OLTP: [(&str, &str); 2] = [("TPCC", "r = 0.84\nh = 0.2"), ("TPCE", "r = 0.6\nh = 0.4")];

const UNLEVELED: &str = "{ policy = 'none' }";

/// A model of fast-forward, as a scenario names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Model {
    /// Its name in tables and figures.
    pub(super) title: &'static str,
    kind: &'static str,
    /// Predictions between two fits of DEVS; `None`: the default.
    refit: Option<u32>,
}

/// The framework's model, and those that it is compared with.
pub(super) const FRAMEWORK: Model = Model { title: "FF", kind: "two-point", refit: None };
pub(super) const DEVS: Model = Model { title: "DEVS", kind: "devs", refit: None };
pub(super) const CML: Model = Model { title: "CML", kind: "cml", refit: None };

impl Model {
    /// DEVS, fitted again after this number of predictions; 0: never.
    pub(super) const fn refitted(self, refit: u32) -> Self {
        Self { refit: Some(refit), ..self }
    }

    /// Keys of `[fast-forward]`.
    fn keys(self) -> String {
        let refit = self.refit.map(|refit| format!("refit = {refit}\n")).unwrap_or_default();
        format!("model = '{}'\n{refit}", self.kind)
    }
}

/// A life, in full or fast-forwarded.
#[derive(Clone, Debug)]
pub(super) struct Life {
    /// Name in tables.
    pub(super) name: String,
    /// Its workload's name.
    pub(super) trace: &'static str,
    drive: String,
    /// The wear leveler's table.
    leveler: &'static str,
    retire: &'static str,
    workload: String,
    until: String,
    seed: u64,
}

impl Life {
    fn text(&self, seed: u64, forward: &str) -> String {
        format!(
            "seed = {seed}\n{}\nwear-leveling = {}\nretire = '{}'\n[precondition]\nsequential-drive-writes = 1\n\
             random-drive-writes = 2\n[workload]\n{}\n[until]\n{}\n{forward}",
            self.drive, self.leveler, self.retire, self.workload, self.until
        )
    }

    /// The life with all of it simulated.
    pub(super) fn full(&self) -> Scenario {
        scenario(&self.name, &self.text(self.seed, ""))
    }

    /// The full life with another seed.
    pub(super) fn another_seed(&self) -> Scenario {
        scenario(&format!("{}, second seed", self.name), &self.text(self.seed + 1000, ""))
    }

    /// The life predicted in part, by `model` at `factor`.
    pub(super) fn forwarded(&self, factor: &str, model: Model) -> Scenario {
        let forward = format!("[fast-forward]\nfactor = {factor}\n{}", model.keys());
        let refit = model.refit.map(|refit| format!(", refit {refit}")).unwrap_or_default();
        let name = format!("{}, {}{refit}, factor {factor}", self.name, model.kind);
        scenario(&name, &self.text(self.seed, &forward))
    }

    /// The same life up to N drive writes. A life that ends earlier ends there.
    pub(super) fn up_to(&self, drive_writes: f64) -> Self {
        let until = format!("end-of-life = true\ndrive-writes = {drive_writes}");
        Self { name: format!("{}, up to {drive_writes:.1} drive writes", self.name), until, ..self.clone() }
    }

    /// The life predicted in part, with the `[fast-forward]` table `forward`.
    pub(super) fn with(&self, what: &str, forward: &str) -> Scenario {
        scenario(&format!("{}, {what}", self.name), &self.text(self.seed, forward))
    }

    /// The same life, named by its trace and `what`.
    pub(super) fn named(self, what: &str) -> Self {
        Self { name: format!("{}, {what}", self.trace), ..self }
    }

    /// The same life with `what` added to its name.
    pub(super) fn also(self, what: &str) -> Self {
        Self { name: format!("{}, {what}", self.name), ..self }
    }

    /// The same life with another seed.
    pub(super) fn seeded(self, seed: u64) -> Self {
        Self { name: format!("{}, seed {seed}", self.name), seed, ..self }
    }

    /// The same without wear leveling.
    pub(super) fn unleveled(self) -> Self {
        Self { leveler: UNLEVELED, ..self }
    }

    /// The same on blocks that never leave service.
    pub(super) fn undying(self) -> Self {
        Self { retire: "never", ..self }
    }
}

/// FTLSim's drive at one part in `scale`, with PWL.
pub(super) fn ftlsim(trace: &'static str, scale: u32, until: &'static str) -> Life {
    Life {
        name: format!("{trace}, FTLSim, 1/{scale}"),
        trace,
        drive: format!(
            "[drive]\npreset = 'ftlsim-256g'\nlogical-capacity = '{} MiB'\n[ftl]\ngc = {{ policy = 'greedy' }}",
            256 * 1024 / scale
        ),
        leveler: "{ policy = 'pwl', threshold = '50 %' }",
        retire: "at-endurance",
        workload: format!("standin = '{trace}'"),
        until: until.to_owned(),
        seed: 1,
    }
}

/// Amber's drive at 512 MiB, over 600 drive writes.
pub(super) fn amber(trace: &'static str) -> Life {
    Life {
        name: format!("{trace}, Amber, 1/512"),
        trace,
        drive: "[drive]\nlogical-capacity = '512 MiB'\nspare-factor = '9.86 %'\npages-per-block = 512\nendurance = 100000\n[ftl]\ngc = { policy = 'greedy' }"
            .to_owned(),
        leveler: "{ policy = 'variance' }",
        retire: "at-endurance",
        workload: format!("standin = '{trace}'"),
        until: "drive-writes = 600".to_owned(),
        seed: 1,
    }
}

/// The FEMU drive over 50 drive writes of an OLTP workload.
pub(super) fn femu((trace, hotness): (&'static str, &str)) -> Life {
    Life {
        name: format!("{trace}, FEMU"),
        trace,
        drive: "[drive]\npreset = 'femu-16g'\n[ftl]\ngc = { policy = 'greedy' }".to_owned(),
        leveler: UNLEVELED,
        retire: "never",
        workload: format!("pattern = 'hot-cold'\n{hotness}\nrequest-size = '8 KiB'"),
        until: "drive-writes = 50".to_owned(),
        seed: 1,
    }
}
