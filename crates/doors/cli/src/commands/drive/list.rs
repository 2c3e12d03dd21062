//! `wane drive list`: the drives in a folder.

use std::path::PathBuf;

use serde_json::json;
use wane_units::{Bytes, excerpt_path};

use super::{Kept, show};
use crate::DONE;
use crate::args::drive::ListArguments;
use crate::output::{Failure, columns, print, print_json};

/// The file by which a drive's folder is known.
const MANIFEST: &str = "drive.json";

pub(super) fn list(arguments: &ListArguments) -> Result<i32, Failure> {
    let drives = found(arguments)?;
    let opened = drives.iter().map(|path| (path, Kept::open_late(path)));
    if arguments.json {
        let told = opened.map(|(path, kept)| match kept {
            Ok(kept) => json!(show::facts(&kept, path)),
            Err(error) => json!({ "drive": path.display().to_string(), "error": error.to_string() }),
        });
        print_json(&told.collect::<Vec<_>>())?;
        return Ok(DONE);
    }
    let heads = ["drive", "of", "capacity", "day", "drive writes", "wear", "last"];
    let mut lines = vec![heads.map(str::to_owned).to_vec()];
    let mut unopened = Vec::new();
    for (path, kept) in opened {
        let name = path
            .file_name()
            .map_or_else(|| excerpt_path(path).to_string(), |name| excerpt_path(name.as_ref()).to_string());
        let kept = match kept {
            Ok(kept) => kept,
            Err(error) => {
                unopened.push(error.to_string());
                continue;
            }
        };
        let wear = match (kept.cause(), kept.life_used()) {
            (Some(cause), _) => format!("dead ({})", cause.name()),
            (None, Some(used)) => format!("{:.1} %", 100.0 * used),
            (None, None) => "-".to_owned(),
        };
        lines.push(vec![
            name,
            match &kept.scenario().array {
                Some(array) => format!("{} of {}", array.settings.layout.name(), array.members.len()),
                None => kept.scenario().preset.clone(),
            },
            Bytes(kept.device().capacity().0 * 512).to_string(),
            format!("{:.1}", kept.day()),
            format!("{:.2}", kept.drive_writes()),
            wear,
            kept.history().last().cloned().unwrap_or_default(),
        ]);
    }
    let mut text = String::new();
    if lines.len() > 1 {
        text += &columns(&lines);
    }
    if drives.is_empty() {
        text = format!("{}: no drive is in it; `wane drive create` makes one\n", excerpt_path(&arguments.folder));
    }
    unopened.iter().for_each(|sentence| text += &format!("{sentence}\n"));
    print(&text)?;
    Ok(DONE)
}

/// The folders of drives in a folder, by name.
fn found(arguments: &ListArguments) -> Result<Vec<PathBuf>, Failure> {
    let folder = &arguments.folder;
    let unread = |error: std::io::Error| Failure::wrong(format!("{}: {error}", excerpt_path(folder)));
    let mut drives = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unread)? {
        let path = entry.map_err(unread)?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if !is_hidden && path.join(MANIFEST).is_file() {
            drives.push(path);
        }
    }
    drives.sort();
    Ok(drives)
}
