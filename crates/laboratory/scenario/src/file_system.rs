//! A log-structured file system between workload and drive, or array: `[file-system]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_fs::{FormatConfig, Way};
use wane_raid::Following;
use wane_units::{Bytes, Ratio};

use super::device::Device;
use super::resolver::Resolver;
use super::schema::in_field_order;
use super::settings::FtlSettings;
use super::{ArraySpec, ScenarioError};

/// A log-structured file system on the drive, or on the array, whose files the workload writes. A drive that shrinks (`ftl.capacity`) asks it for space,
/// and it gives space back while the workload goes on; an array asks for its members with `array.following = "members"`. Blocks are mapping units. Source: the capacity-variant storage system (001, sections 3.1 and 3.3).
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>)]
pub struct FileSystemSettings {
    /// How it gives space back. On an array that follows its members (`array.following`) it is `relocate`, since an array gives up addresses from its
    /// end on.
    #[schemars(with = "Ways")]
    pub way: Way,
    /// Share of its blocks for users that the workload addresses. What is more is room in which the file system can shrink before data are in its way.
    #[schemars(with = "Ratio")]
    pub utilization: Ratio,
    /// Files over which the addresses of the workload are spread, one after the other.
    #[schemars(range(min = 1, max = 1 << 16))]
    pub files: u32,
    /// A segment, which a log fills block by block and which is given back as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "x-least" = Bytes(64 << 10),
        "x-most" = Bytes(32 << 20),
        "x-default" = "a power of 2 near 1/1024 of the drive, from 16 blocks up to 2 MiB"
    ))]
    pub segment: Option<Bytes>,
    /// Share that no user gets, beside what cleaning needs in any case: more of it makes cleaning cheaper.
    #[schemars(with = "Ratio")]
    pub reserve: Ratio,
}

/// See [`Way`].
#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "its names are the schema of a type of another crate")]
enum Ways {
    /// Sections that are free, wherever they lie. Little moves.
    Surrender,
    /// The addresses from the new end on; what lies there is copied below it.
    Relocate,
    /// The same; the drive moves data by its map alone.
    Remap,
}

impl Default for FileSystemSettings {
    fn default() -> Self {
        Self {
            way: Way::Surrender,
            utilization: Ratio::new(0.8).unwrap_or_default(),
            files: 16,
            segment: None,
            reserve: Ratio::new(0.03).unwrap_or_default(),
        }
    }
}

/// A resolved file system.
#[derive(Clone, Debug, PartialEq)]
pub struct FileSystemSpec {
    /// Its settings, as written.
    pub settings: FileSystemSettings,
    /// Bytes of a segment.
    pub segment: Bytes,
    /// What the workload sees: the drive or the array, with the blocks that the workload addresses as its logical units.
    pub device: Device,
}

/// Most bytes of a segment by default.
const SEGMENT_MOST: u64 = 2 << 20;
/// Fewest blocks of a segment.
const SEGMENT_BLOCKS_LEAST: u64 = 16;
/// Segments of a drive by default, about.
const SEGMENTS: u64 = 1024;

impl FileSystemSettings {
    fn segment_of(&self, device: &Device) -> Bytes {
        self.segment.unwrap_or_else(|| {
            let share = (device.logical_bytes() / SEGMENTS).max(1);
            let power = 1 << share.ilog2();
            Bytes(power.min(SEGMENT_MOST).max(SEGMENT_BLOCKS_LEAST * device.unit.0))
        })
    }
}

impl FileSystemSpec {
    /// A file system on a device.
    ///
    /// # Errors
    /// A key and a sentence: it does not fit.
    pub(super) fn new(settings: FileSystemSettings, device: &Device) -> Result<Self, (&'static str, String)> {
        let segment = settings.segment_of(device);
        let blocks = u64::from(device.logical_units);
        let found = format(&settings, segment, device).data_blocks(blocks, settings.files);
        let units = settings.utilization.floor_of(found.map_err(|why| ("file-system", why.to_string()))?);
        if units < u64::from(settings.files) {
            let message = format!("found {} for {units} blocks; a file has one at least", settings.files);
            return Err(("file-system.files", message));
        }
        let device = Device { logical_units: u32::try_from(units).unwrap_or(u32::MAX), ..*device };
        Ok(Self { settings, segment, device })
    }

    /// How it is made. The identity of the file system is drawn from nothing: lives are compared byte by byte.
    pub fn format(&self) -> FormatConfig {
        format(&self.settings, self.segment, &self.device)
    }
}

fn format(settings: &FileSystemSettings, segment: Bytes, device: &Device) -> FormatConfig {
    FormatConfig {
        block_bytes: u32::try_from(device.unit.0).unwrap_or(u32::MAX),
        segment_bytes: u32::try_from(segment.0).unwrap_or(u32::MAX),
        reserve: settings.reserve.get(),
        ..FormatConfig::new([0; 16], [0, 0])
    }
}

/// Whether a drive gives up space without saying how much.
fn is_lazy(ftl: &FtlSettings) -> bool {
    let shrink = ftl.capacity.table().get("shrink").and_then(toml::Value::as_str);
    ftl.capacity.name() == "variant" && shrink != Some("graceful")
}

impl Resolver<'_> {
    /// Resolves the file system; `None` if the workload writes the drive.
    pub(super) fn file_system(
        &self,
        device: &Device,
        array: Option<&ArraySpec>,
        ftl: &FtlSettings,
    ) -> Result<Option<FileSystemSpec>, ScenarioError> {
        const KEY: &str = "file-system";
        let Some(table) = Self::section(self.merged, KEY) else { return Ok(None) };
        let mut settings: FileSystemSettings = self.settings(table, KEY)?;
        let follows = array.is_some_and(|array| array.settings.following == Following::Members);
        if follows && !table.contains_key("way") {
            settings.way = Way::Relocate;
        }
        let refuse = |key: &str, message: String| Err(self.error(key, message));
        match () {
            () if settings.way != Way::Relocate && follows => {
                let found = settings.way.name();
                let why = "array.following = \"members\" gives up the addresses from the array's end on";
                return refuse("file-system.way", format!("found \"{found}\", allowed is relocate: {why}"));
            }
            () if ftl.capacity.policy().relocation_bound().is_some() => {
                return refuse(
                    "ftl.capacity",
                    "bounds relocations, which [file-system] does not count; leave the bound out".to_owned(),
                );
            }
            () if is_lazy(ftl) => {
                let why = "gives up space lazily, which names no size that a file system could have; give { policy = \"variant\", shrink = \"graceful\" } \
                           or \"fixed\"";
                return refuse("ftl.capacity", why.to_owned());
            }
            () => {}
        }
        FileSystemSpec::new(settings, device).map(Some).map_err(|(key, message)| self.error(key, message))
    }
}
