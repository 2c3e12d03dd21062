//! What coding costs in drive life, measured on simulated drives: objects are put repeatedly, at full speed and without bytes.
//!
//! Each code is given the same users' data on the same drives, overwritten at random, object by object. A code writes (N + K) / N bytes for each user
//! byte. It also fills the drives more, so that garbage collection costs more for each write. The ring places shares, so that some drives wear before
//! others.
//!
//! A new drive erases nothing until its blocks have been filled once, and a code that writes less fills them later. So counting begins in a steady
//! state, when every drive has been written over [`WARM_UP`] times. Without write amplification, erases are then proportional to bytes.

use wane_lab::build::PolicyOverrides;
use wane_lab::held::Held;
use wane_scenario::Scenario;
use wane_sim::Streams;
use wane_units::Bytes;

use crate::simulated::{Files, Wear, trim, write};
use crate::{ActorError, Code, Layout, Members, Ring, RingId, Standing};

/// How many times each drive is written over before counting begins.
pub const WARM_UP: f64 = 2.0;

/// Puts between two checks of the drives meanwhile, and the most that is written, in multiples of what the warm-up takes on average.
const LOOK_PUTS: u64 = 64;
const WARM_UP_MOST: u64 = 10;

/// Most drives and objects of a study.
const DRIVES_MAX: u16 = 1000;
const OBJECTS_MAX: u64 = 1_000_000;

/// Options of a study: the drives, and what is put on them.
#[derive(Clone, Copy, Debug)]
pub struct WearOptions {
    /// Drives, at least as many as a code has shares.
    pub drives: u16,
    /// Bytes of each object.
    pub object: u64,
    /// Bytes of a cell.
    pub cell: u32,
    /// Users' data as a share of the capacity that all drives export, above 0 and below 1.
    pub filled: f64,
    /// Users' bytes to write and count, in multiples of the capacity that all drives export.
    pub writes: f64,
    /// Root of the random streams.
    pub seed: u64,
}

/// Costs of a code, counted in a steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WearOfCode {
    /// The code.
    pub code: Code,
    /// Bytes that users wrote before counting began, with their first data.
    pub warm_up_bytes: u64,
    /// Drives that had not been written over [`WARM_UP`] times when counting began, because few or no objects reach them.
    pub cold_drives: u16,
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
    /// Bytes written to the drives for each user byte.
    pub fn expansion(&self) -> f64 {
        self.host_bytes as f64 / self.user_bytes as f64
    }

    /// Erases of a block for each user byte.
    fn erases_per_byte(&self) -> f64 {
        self.erases_mean / self.user_bytes as f64
    }

    /// Bytes that users can write until blocks have a given number of erases, relative to those under code `other`; `None` if either erased nothing.
    pub fn life_beside(&self, other: &Self) -> Option<f64> {
        let is_told = self.erases_mean > 0.0 && other.erases_mean > 0.0;
        is_told.then(|| other.erases_per_byte() / self.erases_per_byte())
    }

    /// Whether too little was written to estimate life: less than one erase of each block.
    pub fn is_short(&self) -> bool {
        self.erases_mean < 1.0
    }

    /// Bytes programmed for each byte written to the drives.
    pub fn write_amplification(&self) -> f64 {
        self.programmed_bytes as f64 / self.host_bytes as f64
    }
}

/// Drives and the files on them.
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
        let ring = Ring::new(&members);
        assert_eq!(ring.drives(), drives.len(), "every drive of a study is on the ring");
        Ok(Self { drives, ring, ids })
    }

    fn wear(&self) -> Vec<Wear> {
        self.drives.iter().map(|(held, _)| Wear::of(held)).collect()
    }

    /// Number of drives that have not been written over [`WARM_UP`] times yet.
    fn cold(&self, drive_bytes: f64) -> usize {
        let is_cold = |held: &Held| (Wear::of(held).bytes_written as f64) < WARM_UP * drive_bytes;
        self.drives.iter().filter(|(held, _)| is_cold(held)).count()
    }

    /// Puts a new version of an object: its new shares are written before the old ones are removed.
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

/// Fills a scenario's drives with objects as far as `options` say, and overwrites objects at random.
///
/// # Errors
/// [`ActorError::Invalid`] if the options make no sense or the scenario makes no drive; [`ActorError::Full`] if a drive has no room or wears out
/// early.
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
    if !(options.writes > 0.0 && options.writes <= 1e6) {
        return out_of(
            "users' bytes over what drives export",
            options.writes.to_string(),
            "a number above 0, to 1,000,000",
        );
    }
    let mut shelf = Shelf::new(scenario, options)?;
    let (one, _) = &shelf.drives[0];
    let drive_bytes = f64::from(one.pages()) * f64::from(one.unit_bytes());
    let count =
        |share: f64| (share * f64::from(options.drives) * drive_bytes / options.object.max(1) as f64).round() as u64;
    let (objects, puts) = (count(options.filled), count(options.writes));
    if objects == 0 || objects > OBJECTS_MAX {
        let found = format!("{objects} objects of {}", Bytes(options.object));
        return out_of("users' data", found, "1 to 1,000,000 objects");
    }
    if puts == 0 {
        return out_of("users' bytes", format!("less than an object of {}", Bytes(options.object)), "one or more");
    }
    let mut stream = Streams::new(options.seed).stream("actor.objects");
    let mut generations = vec![0u64; objects as usize];
    let mut put = |shelf: &mut Shelf, object: u64| -> Result<(), ActorError> {
        let generation = &mut generations[object as usize];
        shelf.put(object, *generation, &layout)?;
        *generation += 1;
        Ok(())
    };
    // Each object once, then at random.
    let mut warm_up = objects;
    (0..objects).try_for_each(|object| put(&mut shelf, object))?;
    // With few objects, a drive may get none: waiting for it would not end, so it is reported as cold.
    let most = objects.saturating_add(WARM_UP_MOST.saturating_mul(count(WARM_UP)));
    while warm_up < most && !(warm_up.is_multiple_of(LOOK_PUTS) && shelf.cold(drive_bytes) == 0) {
        put(&mut shelf, stream.below(objects))?;
        warm_up += 1;
    }
    let (before, cold) = (shelf.wear(), shelf.cold(drive_bytes));
    for _ in 0..puts {
        put(&mut shelf, stream.below(objects))?;
    }
    let counted: Vec<Wear> = shelf.wear().iter().zip(&before).map(|(after, before)| after.since(before)).collect();
    Ok(WearOfCode {
        code,
        warm_up_bytes: warm_up * options.object,
        cold_drives: cold.try_into().unwrap_or(options.drives),
        user_bytes: puts * options.object,
        host_bytes: counted.iter().map(|one| one.bytes_written).sum(),
        programmed_bytes: counted.iter().map(|one| one.bytes_programmed).sum(),
        erases_mean: counted.iter().map(|one| one.erases_mean).sum::<f64>() / counted.len() as f64,
        erases_most: counted.iter().map(|one| one.erases_mean).fold(0.0, f64::max),
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

    /// Where nothing is amplified, a byte costs the same erases under each code, however little is counted.
    #[test]
    fn without_amplification_life_is_as_bytes_are() {
        let options = WearOptions { drives: 12, object: 1 << 20, filled: 0.25, ..OPTIONS };
        for writes in [2.0, 8.0] {
            let study = |code: &str| wear(&tiny(), code.parse().unwrap(), &WearOptions { writes, ..options }).unwrap();
            let plain = study("1+0");
            for code in ["1+1", "4+2", "8+2"] {
                let found = study(code);
                let amplified = found.write_amplification() / plain.write_amplification();
                let want = plain.expansion() / (found.expansion() * amplified);
                let life = found.life_beside(&plain).unwrap();
                assert!(
                    !found.is_short() && (life / want - 1.0).abs() < 0.03,
                    "{code}, {writes}: {life}, by bytes {want}"
                );
            }
        }
        let study = |options: &WearOptions| wear(&tiny(), "1+0".parse().unwrap(), options).unwrap();
        let short = study(&WearOptions { writes: 0.1, ..options });
        assert!(short.is_short() && short.cold_drives == 0, "{short:?}");
        // Of a single small object: nothing is erased, and there is no life to tell.
        let none = study(&WearOptions { object: 64 << 10, writes: 6e-5, ..options });
        assert_eq!((none.erases_mean, none.life_beside(&none), none.is_short()), (0.0, None, true), "{none:?}");
    }

    #[test]
    fn drives_that_no_object_reaches_are_told() {
        let options = WearOptions { drives: 12, object: 8 << 20, filled: 0.02, writes: 1.0, ..OPTIONS };
        let found = wear(&tiny(), "1+0".parse().unwrap(), &options).unwrap();
        assert!((1..12).contains(&found.cold_drives), "{found:?}");
    }

    #[test]
    fn what_cannot_be_studied_is_told() {
        let told =
            |code: &str, options: WearOptions| wear(&tiny(), code.parse().unwrap(), &options).unwrap_err().to_string();
        assert!(told("4+2", OPTIONS).contains("6 shares need as many drives"));
        assert!(told("1+1", WearOptions { filled: 0.6, ..OPTIONS }).contains("pages free"));
        assert!(told("1+1", WearOptions { filled: f64::NAN, ..OPTIONS }).contains("above 0 and below 1"));
        assert!(told("1+1", WearOptions { writes: 0.0, ..OPTIONS }).contains("a number above 0"));
        assert!(told("1+1", WearOptions { writes: 1e-9, ..OPTIONS }).contains("less than an object"));
        assert!(told("1+1", WearOptions { drives: 0, ..OPTIONS }).contains("1 to 1000"));
        assert!(told("1+1", WearOptions { object: 1 << 40, ..OPTIONS }).contains("1 to 1,000,000 objects"));
    }
}
