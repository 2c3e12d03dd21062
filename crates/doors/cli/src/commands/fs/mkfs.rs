//! `wane fs mkfs`: makes an empty file system.

use std::path::Path;

use serde_json::json;
use wane_blockdev::{BlockDevice, Blocking, ExtentState, SectorRange, all_extents};
use wane_fs::{DataChecksums, Direct, FormatConfig, FormatError, Mode, MountConfig, Trims, Volume, format};
use wane_fuse::now;
use wane_serve::backing::{Access, Backing, Closing, block_bytes_of, nonce, read_at};
use wane_units::{Bytes, Lba, Sectors, excerpt_path};

use super::look::uuid;
use super::opened;
use crate::DONE;
use crate::args::fs::MkfsArguments;
use crate::commands::drive::exact;
use crate::output::{Failure, print, print_json};

/// Bytes at the beginning that tell whether there is something.
const LOOKED_AT: u64 = 64 << 10;

pub(super) fn mkfs(arguments: &MkfsArguments) -> Result<i32, Failure> {
    let path = &arguments.what;
    let is_new = !path.exists();
    let wrong = |sentence: String| Failure::wrong(format!("{}: {sentence}", excerpt_path(path)));
    let backing = match (is_new, arguments.size) {
        (true, Some(size)) => Backing::create(path, size.0).inspect_err(|_| {
            // A file that could not become so large is not left.
            let _ = std::fs::remove_file(path);
        })?,
        (true, None) => return Err(wrong("is not there; --size makes a new file, such as --size '1 GiB'".to_owned())),
        (false, Some(_)) => return Err(wrong("is there, and --size is for a new file".to_owned())),
        (false, None) => opened(path, Access::Write)?,
    };
    let made = make(arguments, path, backing, is_new);
    if made.is_err() && is_new {
        // A file that was made for it is not left.
        let _ = std::fs::remove_file(path);
    }
    made
}

fn make(arguments: &MkfsArguments, path: &Path, backing: Backing, is_new: bool) -> Result<i32, Failure> {
    let wrong = |sentence: String| Failure::wrong(format!("{}: {sentence}", excerpt_path(path)));
    let mut device = Blocking::new(backing);
    if !arguments.force && !is_new {
        check_empty(&mut device).map_err(wrong)?;
    }
    let unit = device.device().features().atomic_unit.0 * Sectors::SIZE.0;
    let block = arguments.block_size.unwrap_or(Bytes(unit.max(4096))).0;
    if block < unit {
        return Err(wrong(format!(
            "--block-size {}: is less than the drive's mapping unit of {}",
            exact(block),
            exact(unit)
        )));
    }
    let blocks = device.device().capacity().0 * Sectors::SIZE.0 / block.max(1);
    let config = config(arguments, block, blocks)?;
    if config.block_bytes == 0 || !u64::from(config.block_bytes).is_multiple_of(4096) {
        let sentence = format!("--block-size {}: a power of 2 from 4 KiB to 64 KiB is allowed", exact(block));
        return Err(wrong(sentence));
    }
    let owner = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let port = Direct::new(device, config.block_bytes as usize);
    let port = format(port, &config, now(), owner).map_err(|error| wrong(error.to_string()))?;
    let mount = MountConfig { mode: Mode::ReadOnly, trims: Trims::Never, ..MountConfig::new(nonce()?) };
    let volume = Volume::mount(port, &mount).map_err(|error| wrong(error.to_string()))?;
    let space = volume.space();
    let bytes = space.blocks * u64::from(space.block_bytes);
    volume.into_port().into_inner().into_inner().close(Closing::Changed("a file system was made on it".to_owned()))?;
    if arguments.json {
        let facts = json!({
            "what": path.display().to_string(), "uuid": uuid(config.uuid), "block_bytes": config.block_bytes,
            "segment_bytes": config.segment_bytes, "section_segments": config.section_segments, "bytes": bytes,
            "data_checksums": arguments.data_checksums,
        });
        print_json(&facts)?;
    } else {
        print(&format!("{}: a file system with {} for files\n", excerpt_path(path), exact(bytes)))?;
    }
    Ok(DONE)
}

/// Bytes of a segment where nobody says so.
const SEGMENT: u64 = 2 << 20;
/// Fewest blocks of a segment.
const SEGMENT_BLOCKS: u64 = 16;

fn config(arguments: &MkfsArguments, block: u64, blocks: u64) -> Result<FormatConfig, Failure> {
    let random = |bytes: &mut [u8]| {
        getrandom::fill(bytes).map_err(|error| Failure::wrong(format!("the system gives no random numbers: {error}")))
    };
    let (mut id, mut keys) = ([0; 16], [0; 16]);
    random(&mut id)?;
    random(&mut keys)?;
    // Version 4 of an UUID: random.
    id[6] = id[6] & 0x0F | 0x40;
    id[8] = id[8] & 0x3F | 0x80;
    let whole = u128::from_le_bytes(keys);
    let of_u64 = |bytes: u64| u32::try_from(bytes).unwrap_or(0);
    let config = FormatConfig {
        block_bytes: of_u64(block),
        segment_bytes: of_u64(arguments.segment.map_or(SEGMENT.max(SEGMENT_BLOCKS * block), |segment| segment.0)),
        section_segments: arguments.section,
        reserve: arguments.reserve.get(),
        greatest_bytes: arguments.greatest.map(|size| size.0),
        data_checksums: if arguments.data_checksums { DataChecksums::Crc32c } else { DataChecksums::None },
        ..FormatConfig::new(id, [whole as u64, (whole >> 64) as u64])
    };
    let halves = |config: &FormatConfig| {
        let half = config.segment_bytes / 2;
        (u64::from(half) >= SEGMENT_BLOCKS * block).then(|| FormatConfig { segment_bytes: half, ..config.clone() })
    };
    let mut fitting = std::iter::successors(Some(config.clone()), halves).filter(|_| arguments.segment.is_none());
    // If none fits, the sentence is about the first.
    Ok(fitting.find(|config| config.data_blocks(blocks, 0).is_ok()).unwrap_or(config))
}

/// Refuses what holds something.
fn check_empty(device: &mut Blocking<Backing>) -> Result<(), String> {
    match block_bytes_of(device) {
        Ok(_) => return Err("has a file system of wane already; --force loses it".to_owned()),
        Err(FormatError::Other(Some(name))) => return Err(format!("holds {name}; --force loses it")),
        Err(_) => {}
    }
    let capacity = device.device().capacity().0 * Sectors::SIZE.0;
    let mut bytes = vec![0; LOOKED_AT.min(capacity) as usize];
    let holds = |device: &mut Blocking<Backing>, at: u64, bytes: &mut [u8]| {
        !bytes.is_empty() && read_at(device, at, bytes) && bytes.iter().any(|byte| *byte != 0)
    };
    if holds(device, 0, &mut bytes) || (device.device().is_file() && has_data(device, capacity, holds)) {
        return Err("holds data; --force loses them".to_owned());
    }
    Ok(())
}

/// Whether a file has anything but zeros, wherever the system says that it is not a hole.
fn has_data(
    device: &mut Blocking<Backing>,
    capacity: u64,
    holds: impl Fn(&mut Blocking<Backing>, u64, &mut [u8]) -> bool,
) -> bool {
    let mut told = Vec::new();
    all_extents(device.device(), SectorRange::new(Lba(0), Sectors(capacity / Sectors::SIZE.0)), &mut told);
    let mut bytes = vec![0; 1 << 20];
    told.iter().filter(|extent| extent.state != ExtentState::Hole).any(|extent| {
        let (first, length) = (extent.range.start.0 * Sectors::SIZE.0, extent.range.count.0 * Sectors::SIZE.0);
        (0..length).step_by(1 << 20).any(|at| {
            let part = (length - at).min(1 << 20) as usize;
            holds(device, first + at, &mut bytes[..part])
        })
    })
}
