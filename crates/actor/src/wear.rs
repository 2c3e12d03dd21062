//! What coding costs drives in life: objects are put again and again on simulated drives, at full speed and without bytes.
//!
//! The same users' data lie on the same drives under each code, and are overwritten at random, object by object. A code writes (N + K) / N bytes for one, and
//! leaves the drives fuller, so that collecting garbage costs more of each. Places are the ring's, so that some drives wear before others.

use wane_lab::build::PolicyOverrides;
use wane_lab::held::Held;
use wane_scenario::Scenario;
use wane_sim::Streams;
use wane_units::Bytes;

use crate::simulated::{Files, Wear, trim, write};
use crate::{ActorError, Code, Layout, Members, Ring, RingId, Standing};

/// Drives and objects of a study, at most.
const DRIVES_MAX: u16 = 1000;
const OBJECTS_MAX: u64 = 1_000_000;

/// What is put on which drives.
#[derive(Clone, Copy, Debug)]
pub struct WearOptions {
    /// Drives, at least as many as a code has shares.
    pub drives: u16,
    /// Bytes of each object.
    pub object: u64,
    /// Bytes of a cell.
    pub cell: u32,
    /// Users' data over what all drives export, above 0 and below 1.
    pub filled: f64,
    /// Users' bytes that are written, data at first with them, over what all drives export.
    pub writes: f64,
    /// Root of the random streams.
    pub seed: u64,
}

/// What a code cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WearOfCode {
    /// The code.
    pub code: Code,
    /// Bytes that users wrote.
    pub user_bytes: u64,
    /// Bytes that were written to drives.
    pub host_bytes: u64,
    /// Bytes that drives programmed.
    pub programmed_bytes: u64,
    /// Erases of a block, mean of all drives.
    pub erases_mean: f64,
    /// Erases of a block, mean of the drive that has the most.
    pub erases_most: f64,
}

impl WearOfCode {
    /// Bytes to the drives for each byte of users.
    pub fn expansion(&self) -> f64 {
        self.host_bytes as f64 / self.user_bytes as f64
    }

    /// Bytes programmed for each byte to the drives.
    pub fn write_amplification(&self) -> f64 {
        self.programmed_bytes as f64 / self.host_bytes as f64
    }
}

/// Drives with what lies on them.
struct Shelf {
    drives: Vec<(Held, Files)>,
    ring: Ring,
    ids: Vec<RingId>,
}

impl Shelf {
    fn new(scenario: &Scenario, options: &WearOptions) -> Result<Self, ActorError> {
        let mut members = Members::new(RingId::of("wear", &[]), crate::POINTS_DEFAULT)?;
        let (mut drives, mut ids) = (Vec::new(), Vec::new());
        for number in 0..options.drives {
            let id = RingId::of("wear", &[&number.to_le_bytes()]);
            members.set(id, Standing::In, &format!("127.0.0.1:{}", 1 + number))?;
            let held = Held::new(scenario, PolicyOverrides::default())
                .map_err(|error| ActorError::Invalid(error.to_string()))?;
            let files = Files::new(held.pages());
            drives.push((held, files));
            ids.push(id);
        }
        Ok(Self { drives, ring: Ring::new(&members), ids })
    }

    /// Puts an object in place of what it was: the new shares are there before the old ones go.
    fn put(&mut self, object: u64, generation: u64, layout: &Layout) -> Result<(), ActorError> {
        let placed = self.ring.place(RingId::of("object", &[&object.to_le_bytes()]), layout.code.shares())?;
        for drive in placed {
            let number = self.ids.iter().position(|id| *id == drive).expect("the ring has these drives alone");
            let (held, files) = &mut self.drives[number];
            let told =
                |error: ActorError| ActorError::Full(format!("with the code {}, drive {number}: {error}", layout.code));
            write(held, files, &format!("{object}.{generation}"), layout.file_bytes()).map_err(told)?;
            if generation > 0 {
                trim(held, files, &format!("{object}.{}", generation - 1));
            }
        }
        Ok(())
    }
}

/// Puts objects on drives of a scenario, fills them as far as wanted, and overwrites objects at random.
///
/// # Errors
/// [`ActorError::Invalid`] if the options make no sense or the scenario no drive; [`ActorError::Full`] if a drive has no room, or wears out before the end.
pub fn wear(scenario: &Scenario, code: Code, options: &WearOptions) -> Result<WearOfCode, ActorError> {
    let layout = Layout { code, cell: options.cell, size: options.object }.checked()?;
    let out_of = |what: &str, found: String, allowed: &str| {
        Err(ActorError::Invalid(format!("{what}: found {found}, allowed is {allowed}")))
    };
    if !(1..=DRIVES_MAX).contains(&options.drives) {
        return out_of("drives", options.drives.to_string(), "1 to 1000");
    }
    if !(options.filled > 0.0 && options.filled < 1.0) {
        return out_of(
            "users' data over what drives export",
            options.filled.to_string(),
            "a number above 0 and below 1",
        );
    }
    if !(options.writes >= options.filled && options.writes <= 1e6) {
        return out_of(
            "users' bytes over what drives export",
            options.writes.to_string(),
            "a number from the data's on, to 1,000,000",
        );
    }
    let mut shelf = Shelf::new(scenario, options)?;
    let (one, _) = &shelf.drives[0];
    let exported = f64::from(options.drives) * f64::from(one.pages()) * f64::from(one.drive().unit_bytes());
    let count = |share: f64| (share * exported / options.object.max(1) as f64).round() as u64;
    let (objects, puts) = (count(options.filled), count(options.writes));
    if objects == 0 || objects > OBJECTS_MAX {
        let found = format!("{objects} objects of {}", Bytes(options.object));
        return out_of("users' data", found, "1 to 1,000,000 objects");
    }
    let mut stream = Streams::new(options.seed).stream("actor.objects");
    let mut generations = vec![0u64; objects as usize];
    for number in 0..puts.max(objects) {
        // Each object once, then at random.
        let object = if number < objects { number } else { stream.below(objects) };
        let generation = &mut generations[object as usize];
        shelf.put(object, *generation, &layout)?;
        *generation += 1;
    }
    let wear: Vec<Wear> = shelf.drives.iter().map(|(held, _)| Wear::of(held)).collect();
    Ok(WearOfCode {
        code,
        user_bytes: puts.max(objects) * options.object,
        host_bytes: wear.iter().map(|one| one.bytes_written).sum(),
        programmed_bytes: wear.iter().map(|one| one.bytes_programmed).sum(),
        erases_mean: wear.iter().map(|one| one.erases_mean).sum::<f64>() / wear.len() as f64,
        erases_most: wear.iter().map(|one| one.erases_mean).fold(0.0, f64::max),
    })
}

#[cfg(test)]
mod tests {
    use wane_scenario::Sources;

    use super::*;

    fn tiny() -> Scenario {
        let text = "[drive]\npreset = \"tiny\"\nendurance = \"none\"\n[until]\ndrive-writes = 1\n";
        Scenario::resolve(&Sources { file: Some(("tiny", text)), ..Sources::default() }).unwrap()
    }

    const OPTIONS: WearOptions =
        WearOptions { drives: 4, object: 64 << 10, cell: 1 << 20, filled: 0.35, writes: 4.0, seed: 1 };

    #[test]
    fn a_code_costs_its_bytes_and_what_fuller_drives_collect() {
        let study = |code: &str| wear(&tiny(), code.parse().unwrap(), &OPTIONS).unwrap();
        let (plain, twice, coded) = (study("1+0"), study("1+1"), study("2+1"));
        for found in [plain, twice, coded] {
            // Each share takes whole pages of 4 KiB, its description with it.
            let layout = Layout { code: found.code, cell: OPTIONS.cell, size: OPTIONS.object };
            let share = layout.file_bytes().next_multiple_of(4096) * u64::from(found.code.shares());
            assert!((found.expansion() / (share as f64 / OPTIONS.object as f64) - 1.0).abs() < 1e-9, "{found:?}");
            assert!(found.erases_most >= found.erases_mean && found.write_amplification() >= 1.0);
        }
        assert!(twice.write_amplification() > plain.write_amplification(), "{twice:?} {plain:?}");
        assert!(twice.erases_mean > 2.0 * plain.erases_mean, "{twice:?} {plain:?}");
        assert_eq!(study("2+1"), coded, "the same seed, the same wear");
    }

    #[test]
    fn what_cannot_be_studied_is_told() {
        let told =
            |code: &str, options: WearOptions| wear(&tiny(), code.parse().unwrap(), &options).unwrap_err().to_string();
        assert!(told("4+2", OPTIONS).contains("6 shares need as many drives"));
        assert!(told("1+1", WearOptions { filled: 0.6, ..OPTIONS }).contains("pages free"));
        assert!(told("1+1", WearOptions { filled: f64::NAN, ..OPTIONS }).contains("above 0 and below 1"));
        assert!(told("1+1", WearOptions { writes: 0.1, ..OPTIONS }).contains("from the data's on"));
        assert!(told("1+1", WearOptions { drives: 0, ..OPTIONS }).contains("1 to 1000"));
        assert!(told("1+1", WearOptions { object: 1 << 40, ..OPTIONS }).contains("1 to 1,000,000 objects"));
    }
}
