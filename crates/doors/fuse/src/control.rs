//! Questions and orders to a mount, as virtual extended attributes of its root directory. CephFS is asked so too (its `ceph.` attributes): it works in
//! containers and through bind mounts, and needs no socket.
//!
//! | attribute | read | written |
//! |---|---|---|
//! | `wane.space` | JSON: size, target, progress, counters | |
//! | `wane.plan.SIZE.WAY` | JSON: what it would take to have that size; `minimum` is a size | |
//! | `wane.target` | `SIZE WAY`, or `none` | `SIZE WAY`, or `cancel` |
//! | `wane.evacuation` | what it does | `pause`, `resume`, `rate BYTES`, `share NUMBER` |
//!
//! Sizes are bytes, or have a unit, such as `128 MiB`. `listxattr` does not name these attributes, so that nothing copies them. A user
//! who may look at the root directory may read them; root and the user who mounted it may write them.

use serde_json::{Value, json};
use wane_fs::{Answer, FsError, Mode, Port, Refusal, Volume, Way};
use wane_units::Bytes;

use crate::evacuate::State;
use crate::shared::Shared;

/// What the names begin with.
const OURS: &[u8] = b"wane.";
/// An answer is filled up with spaces, so that a second one is rarely longer than the first.
const FILLED_TO: usize = 256;

/// The part of a name behind what all of them begin with.
pub(crate) fn ours(name: &[u8]) -> Option<&str> {
    name.strip_prefix(OURS).and_then(|name| std::str::from_utf8(name).ok())
}

/// A way by its name.
pub(crate) fn way(name: &str) -> Answer<Way> {
    Way::ALL.into_iter().find(|way| way.name() == name).ok_or(FsError::Invalid)
}

/// A size: bytes, or a number with a unit; `None` for the least one.
fn size(text: &str) -> Answer<Option<u64>> {
    match text.trim() {
        "minimum" => Ok(None),
        text => text
            .parse::<u64>()
            .or_else(|_| text.parse::<Bytes>().map(|bytes| bytes.0))
            .map(Some)
            .map_err(|_| FsError::Invalid),
    }
}

/// A size and a way, which is the last word.
fn target(text: &str, between: char) -> Answer<(Option<u64>, Way)> {
    let (bytes, named) = text.trim().rsplit_once(between).ok_or(FsError::Invalid)?;
    Ok((size(bytes)?, way(named.trim())?))
}

fn refused(why: Refusal) -> FsError {
    match why {
        Refusal::TooSmall { .. } => FsError::NoSpace,
        Refusal::TooLarge { .. } => FsError::TooLarge,
        Refusal::Volume(error) => error,
        _ => FsError::Invalid,
    }
}

impl<P: Port> Shared<P> {
    /// What a question is answered.
    pub(crate) fn told(&self, name: &str) -> Answer<Vec<u8>> {
        let state = self.evacuation.state();
        let text = match name {
            "space" => self.ask(|volume| Ok(filled(&space(volume, &state))))?,
            "target" => self.ask(|volume| {
                let target = volume.target();
                Ok(target.map_or_else(|| "none".to_owned(), |(bytes, way)| format!("{bytes} {}", way.name())))
            })?,
            "evacuation" => if state.is_paused { "paused" } else { state.doing.name() }.to_owned(),
            other => {
                let asked = other.strip_prefix("plan.").ok_or(FsError::NoAttribute)?;
                let (bytes, way) = target(asked, '.')?;
                self.ask(|volume| Ok(filled(&plan(volume, bytes, way))))?
            }
        };
        Ok(text.into_bytes())
    }

    /// Carries out an order.
    pub(crate) fn ordered(&self, name: &str, value: &[u8]) -> Answer<()> {
        let text = std::str::from_utf8(value).map_err(|_| FsError::Invalid)?.trim_matches(['\0', '\n', ' ']);
        match name {
            "target" if text == "cancel" => self.ask(Volume::cancel_target)?,
            "target" => {
                let (bytes, way) = target(text, ' ')?;
                self.ask(|volume| {
                    let bytes = bytes.unwrap_or_else(|| volume.least());
                    volume.set_target(bytes, way).map_err(refused)
                })?;
            }
            "evacuation" => {
                let (word, value) = text.split_once(' ').unwrap_or((text, ""));
                let mut pace = self.evacuation.state().pace;
                match word {
                    "pause" | "resume" => self.evacuation.change(|state| state.is_paused = word == "pause"),
                    "rate" => pace.bytes_per_second = size(value)?.filter(|rate| *rate > 0).ok_or(FsError::Invalid)?,
                    "share" => {
                        let share = value.trim().parse().map_err(|_| FsError::Invalid)?;
                        pace.share =
                            Some(share).filter(|share| *share > 0.0 && *share <= 1.0).ok_or(FsError::Invalid)?;
                    }
                    _ => return Err(FsError::Invalid),
                }
                self.evacuation.change(|state| state.pace = pace);
            }
            "space" => return Err(FsError::NotPermitted),
            _ => return Err(FsError::NotSupported),
        }
        self.evacuation.wake();
        Ok(())
    }
}

fn filled(told: &Value) -> String {
    let mut text = told.to_string();
    let length = (text.len() + 16).next_multiple_of(FILLED_TO);
    text.extend(std::iter::repeat_n(' ', length - text.len()));
    text
}

fn plan<P: Port>(volume: &Volume<P>, bytes: Option<u64>, way: Way) -> Value {
    let asked = bytes.unwrap_or_else(|| volume.least());
    let has = volume.port().blocks() * u64::from(volume.space().block_bytes);
    if asked > has {
        let why = format!("what it lies on has {has} bytes, and does not become larger while it is mounted");
        return json!({ "way": way.name(), "bytes_now": volume.size(), "refused": why, "least_bytes": volume.least() });
    }
    match volume.plan(asked, way) {
        Ok(plan) => json!({
            "way": way.name(), "bytes_now": plan.bytes_now, "bytes": plan.bytes, "moved_bytes": plan.moved,
            "room_bytes": plan.room, "least_bytes": plan.least,
        }),
        Err(why) => json!({
            "way": way.name(), "bytes_now": volume.size(), "refused": why.to_string(), "least_bytes": volume.least(),
        }),
    }
}

fn space<P: Port>(volume: &Volume<P>, state: &State) -> Value {
    let space = volume.space();
    let block = u64::from(space.block_bytes);
    let counted = volume.counted();
    let target = volume.target();
    let left = volume.in_the_way_now();
    let at_first = state.began.filter(|(of, _)| target.is_some_and(|(bytes, _)| bytes == *of)).map(|(_, most)| most);
    let mode = match volume.mode() {
        Mode::ReadWrite => "read-write",
        Mode::ReadOnly => "read-only",
        Mode::Failed => "failed",
    };
    let doing = match (target, state.is_paused) {
        (None, _) => "none",
        (_, true) => "paused",
        (Some(_), false) if state.doing.name() == "none" => "running",
        (Some(_), false) => state.doing.name(),
    };
    json!({
        "version": 1, "mode": mode, "block_bytes": block, "size_bytes": volume.size(), "least_bytes": volume.least(),
        "bytes": space.blocks * block, "used_bytes": (space.blocks - space.free) * block, "free_bytes": space.free * block,
        "default_way": volume.default_way().name(), "files": space.files, "free_files": space.files_free,
        "target": target.map(|(bytes, way)| json!({ "bytes": bytes, "way": way.name() })),
        "evacuation": {
            "state": doing, "sections_left": left, "sections_at_first": at_first.map(|most| most.max(left)),
            "bytes_per_second": state.pace.bytes_per_second, "share": state.pace.share,
            "answer": state.answer.map_or("no", Way::name),
            "wanted_bytes": state.degraded.map(|(wanted, _)| wanted),
        },
        "counters": {
            "moved_bytes": counted.moved * block, "remapped_bytes": counted.remapped * block,
            "cleaned_sections": counted.cleaned, "checkpoints": counted.checkpoints, "steps": state.steps,
            "stepping_s": state.stepping.as_secs_f64(), "longest_step_s": state.longest.as_secs_f64(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_ways_are_read_as_they_are_written() {
        assert_eq!(target("134217728 relocate", ' '), Ok((Some(128 << 20), Way::Relocate)));
        assert_eq!(target(" 128 MiB surrender ", ' '), Ok((Some(128 << 20), Way::Surrender)));
        assert_eq!(target("minimum.remap", '.'), Ok((None, Way::Remap)));
        for wrong in ["", "128 MiB", "relocate", "128 relocated", "much relocate", "-1 relocate"] {
            assert_eq!(target(wrong, ' '), Err(FsError::Invalid), "{wrong}");
        }
        assert_eq!((ours(b"wane.space"), ours(b"user.space")), (Some("space"), None));
    }
}
