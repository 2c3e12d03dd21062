//! A file system that is mounted, asked through its mount. The crate `fuse` says what its attributes are.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::{XattrFlags, getxattr, setxattr};
use rustix::io::Errno;
use serde_json::{Value, json};
use wane_fs::Plan;
use wane_serve::backing::is_mount;
use wane_units::{Bytes, excerpt_path};

use super::resize::{show, way};
use crate::args::fs::{LookArguments, PlanArguments, ResizeArguments};
use crate::commands::drive::exact;
use crate::output::{Failure, line, print, print_json, tell};
use crate::progress::{Progress, stop_flag};
use crate::{DONE, INTERRUPTED};

/// Most bytes of an answer.
const ANSWER_MAX: usize = 64 << 10;
/// Time between two looks at how far it is.
const LOOK: Duration = Duration::from_millis(100);
/// So often in a row it moves nothing until that is told.
const STUCK: u32 = 100;

/// The directory on which a file system is mounted.
pub(super) struct Online<'a>(&'a Path);

impl<'a> Online<'a> {
    /// The mount that a path is, if it is one.
    pub(super) fn at(path: &'a Path) -> Option<Self> {
        is_mount(path).then_some(Self(path))
    }

    fn wrong(&self, sentence: impl std::fmt::Display) -> Failure {
        Failure::wrong(format!("{}: {sentence}", excerpt_path(self.0)))
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, Errno> {
        let mut bytes = vec![0; ANSWER_MAX];
        let length = getxattr(self.0, name, &mut bytes[..])?;
        bytes.truncate(length);
        Ok(bytes)
    }

    fn json(&self, name: &str) -> Result<Value, Failure> {
        let told = self.read(name).map_err(|error| self.wrong(format!("the mount does not answer: {error}")))?;
        serde_json::from_slice(&told).map_err(|error| self.wrong(format!("the mount answers nonsense: {error}")))
    }

    fn order(&self, name: &str, value: &str) -> Result<(), Failure> {
        setxattr(self.0, name, value.as_bytes(), XattrFlags::empty()).map_err(|error| match error {
            Errno::PERM | Errno::ACCESS => self.wrong("only root and the user who mounted it may resize it"),
            Errno::ROFS => self.wrong("is read-only, and stays as it is"),
            Errno::NOSPC => self.wrong("what is there does not fit in that size"),
            error => self.wrong(format!("the mount refuses: {error}")),
        })
    }

    /// How it gives space back if nobody says.
    fn way(&self, asked: Option<crate::args::fs::Way>) -> Result<wane_fs::Way, Failure> {
        if let Some(asked) = asked {
            return Ok(way(asked));
        }
        let told = self.json("wane.space")?;
        let named = |way: &&wane_fs::Way| told["default_way"].as_str() == Some(way.name());
        Ok(wane_fs::Way::ALL.iter().find(named).copied().unwrap_or(wane_fs::Way::Relocate))
    }

    /// What it would take, or why it cannot be.
    fn planned(&self, size: Option<Bytes>, way: wane_fs::Way) -> Result<Plan, Failure> {
        let size = size.map_or_else(|| "minimum".to_owned(), |size| size.0.to_string());
        let told = self.json(&format!("wane.plan.{size}.{}", way.name()))?;
        if let Some(refused) = told["refused"].as_str() {
            return Err(self.wrong(refused));
        }
        let number = |key: &str| told[key].as_u64().unwrap_or(0);
        Ok(Plan {
            bytes: number("bytes"),
            bytes_now: number("bytes_now"),
            moved: number("moved_bytes"),
            room: number("room_bytes"),
            least: number("least_bytes"),
        })
    }
}

pub(super) fn plan(online: &Online<'_>, arguments: &PlanArguments) -> Result<i32, Failure> {
    let way = online.way(arguments.way)?;
    let plan = online.planned(arguments.size, way)?;
    show(&arguments.what, arguments.json, way, &plan, None, "plan")
}

pub(super) fn df(online: &Online<'_>, arguments: &LookArguments) -> Result<i32, Failure> {
    let mut told = online.json("wane.space")?;
    if arguments.json {
        told["what"] = json!(arguments.what.display().to_string());
        print_json(&told)?;
        return Ok(DONE);
    }
    let number = |key: &str| told[key].as_u64().unwrap_or(0);
    let (size, used) = (number("bytes"), number("used_bytes"));
    let share = if size == 0 { 0.0 } else { 100.0 * used as f64 / size as f64 };
    let mut text = format!("{}: mounted\n", excerpt_path(&arguments.what));
    line(&mut text, "size", &exact(size));
    line(&mut text, "used", &format!("{} ({share:.1} %)", exact(used)));
    line(&mut text, "free", &exact(number("free_bytes")));
    line(&mut text, "nodes", &format!("{} of {}", number("files") - number("free_files"), number("files")));
    line(&mut text, "on the device", &exact(number("size_bytes")));
    line(&mut text, "least size", &exact(number("least_bytes")));
    if let Some(bytes) = told["target"]["bytes"].as_u64() {
        let way = told["target"]["way"].as_str().unwrap_or_default();
        line(&mut text, "target", &format!("{}, by the way \"{way}\", {}", exact(bytes), stands(&told)));
    }
    if let Some(wanted) = told["evacuation"]["wanted_bytes"].as_u64() {
        line(&mut text, "wanted", &format!("{} by the drive, which is less than the least size", exact(wanted)));
    }
    print(&text)?;
    Ok(DONE)
}

/// How a target stands, in words.
fn stands(told: &Value) -> String {
    let evacuation = &told["evacuation"];
    let left = evacuation["sections_left"].as_u64().unwrap_or(0);
    let state = evacuation["state"].as_str().unwrap_or_default();
    format!("{state}: {left} section{} to go", if left == 1 { "" } else { "s" })
}

pub(super) fn resize(online: &Online<'_>, arguments: &ResizeArguments) -> Result<i32, Failure> {
    if let Some(rate) = arguments.evacuate_rate {
        online.order("wane.evacuation", &format!("rate {}", rate.0))?;
    }
    if let Some(share) = arguments.evacuate_share {
        online.order("wane.evacuation", &format!("share {}", share.get()))?;
    }
    if arguments.pause || arguments.resume {
        online.order("wane.evacuation", if arguments.pause { "pause" } else { "resume" })?;
    }
    if arguments.cancel {
        online.order("wane.target", "cancel")?;
    }
    if arguments.size.is_none() && !arguments.minimum {
        let looked = LookArguments { what: arguments.what.clone(), json: arguments.json };
        return df(online, &looked);
    }
    let stop = stop_flag();
    let way = online.way(arguments.way)?;
    let before = online.json("wane.space")?;
    let planned = online.planned(arguments.size, way)?;
    online.order("wane.target", &format!("{} {}", planned.bytes, way.name()))?;
    if arguments.background {
        let done = if planned.bytes < planned.bytes_now { "its mount makes it smaller" } else { "resized" };
        return show(&arguments.what, arguments.json, way, &planned, None, done);
    }
    let waited = wait(online, &stop)?;
    let told = online.json("wane.space")?;
    let moved = |told: &Value| {
        let counters = &told["counters"];
        counters["moved_bytes"].as_u64().unwrap_or(0) + counters["remapped_bytes"].as_u64().unwrap_or(0)
    };
    let done = Plan {
        bytes: told["size_bytes"].as_u64().unwrap_or(0),
        moved: moved(&told).saturating_sub(moved(&before)),
        room: told["free_bytes"].as_u64().unwrap_or(0),
        least: told["least_bytes"].as_u64().unwrap_or(0),
        ..planned
    };
    match waited {
        Waited::Done => show(&arguments.what, arguments.json, way, &done, None, "resized"),
        Waited::Stopped => {
            tell(&format!(
                "wane: {}: the target stands, and the mount goes on with it; --cancel takes it back",
                excerpt_path(online.0)
            ));
            Ok(INTERRUPTED)
        }
        Waited::Stuck => Err(online.wrong(format!(
            "{}, and nothing of that can be moved; the target stands, and `wane fs fsck` tells more once it is unmounted",
            stands(&told)
        ))),
    }
}

/// How waiting for a target ended.
enum Waited {
    Done,
    Stopped,
    Stuck,
}

/// Waits until a target is reached.
fn wait(online: &Online<'_>, stop: &AtomicBool) -> Result<Waited, Failure> {
    let mut bar = Progress::new("resize", false);
    let waited = watch(online, stop, &mut bar);
    bar.finish();
    waited
}

fn watch(online: &Online<'_>, stop: &AtomicBool, bar: &mut Progress) -> Result<Waited, Failure> {
    let (mut stuck, mut paused) = (0, 0);
    loop {
        let told = online.json("wane.space")?;
        let evacuation = &told["evacuation"];
        if told["target"].is_null() {
            return Ok(Waited::Done);
        }
        if told["mode"] != "read-write" {
            return Err(online.wrong("the device failed: nothing is changed any more"));
        }
        let left = evacuation["sections_left"].as_f64().unwrap_or(0.0);
        let most = evacuation["sections_at_first"].as_f64().unwrap_or(left).max(1.0);
        if bar.is_due() {
            bar.under_way(&stands(&told), (1.0 - left / most).clamp(0.0, 1.0));
        }
        match evacuation["state"].as_str() {
            Some("stuck" | "failed") => stuck += 1,
            Some("paused") => {
                if paused == 0 {
                    tell(&format!("wane: {}: is paused; --resume of another command goes on", excerpt_path(online.0)));
                }
                paused += 1;
            }
            _ => stuck = 0,
        }
        if stuck > STUCK {
            return Ok(Waited::Stuck);
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(Waited::Stopped);
        }
        std::thread::sleep(LOOK);
    }
}
