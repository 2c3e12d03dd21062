//! How safe the data of a held array are, in one line with what to do.

use wane_raid::{Condition, MemberState, Safety, redundant_of};
use wane_units::{Bytes, Sectors};

use super::{Held, MemberFacts};

/// How safe the data of an array are, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its condition.
    pub condition: Condition,
    /// Drives that may be lost in addition, whichever these are, without loss of data.
    pub spare: usize,
    /// Bytes that cannot be made of the drives that are there.
    pub lost_bytes: u64,
    /// The same for people, with what to do.
    pub told: String,
}

impl Standing {
    /// The exit code of a program that tests it: that of `mdadm --detail --test`.
    pub const fn code(&self) -> i32 {
        match self.condition {
            Condition::Whole => 0,
            Condition::Degraded => 1,
            Condition::Failed => 2,
        }
    }
}

impl Held {
    /// How safe the data of an array are; `None` for one drive, and without power. Of an array with one copy only its drives are looked at.
    pub fn standing(&self) -> Option<Standing> {
        if !self.is_array() || self.device().is_off() {
            return None;
        }
        let (members, capacity) = (self.members(), self.device().capacity());
        let is_online = |member: &MemberFacts| member.state == MemberState::Online && member.stale_bytes == 0;
        let Some(known) = redundant_of(self.device()) else {
            let out = members.iter().filter(|member| member.state == MemberState::Absent).count();
            let condition = match out {
                0 if members.iter().all(is_online) => Condition::Whole,
                0 => Condition::Degraded,
                _ => Condition::Failed,
            };
            let told = of_one_copy(condition, &members);
            return Some(Standing { condition, spare: 0, lost_bytes: 0, told });
        };
        let Safety { spare, lost } = known.safety();
        let all_out = members.iter().all(|member| member.state == MemberState::Absent);
        let lost = if all_out { capacity } else { lost };
        let is_equal = known.to_copy() == Sectors::ZERO;
        let condition = match () {
            () if lost > Sectors::ZERO => Condition::Failed,
            () if members.iter().all(is_online) && is_equal && known.is_settled() => Condition::Whole,
            () => Condition::Degraded,
        };
        let lost_bytes = lost.0 * Sectors::SIZE.0;
        let told = match condition {
            Condition::Whole => format!("whole: every drive has all that it should, {}", any(spare, "may be lost")),
            Condition::Degraded => {
                // Until a drive is replaced, some writes fail.
                let is_dead = self.device().end_of_life().is_some();
                let writes = if is_dead { "the array takes no writes any more; " } else { "" };
                format!("degraded: {}; {writes}{}", troubles(&members, is_equal), any(spare, "more may be lost"))
            }
            Condition::Failed if members.iter().all(is_online) => format!(
                "failed: {} cannot be read, which drives lost and no other has; write them again, from a copy if there is one",
                Bytes(lost_bytes)
            ),
            Condition::Failed => {
                let out = named(members.iter().filter(|member| member.state == MemberState::Absent));
                let what = if out.is_empty() {
                    troubles(&members, is_equal)
                } else {
                    format!("too many drives are out ({out})")
                };
                format!(
                    "failed: {} cannot be read, {what}; put back what still works before anything else",
                    Bytes(lost_bytes)
                )
            }
        };
        Some(Standing { condition, spare, lost_bytes, told })
    }
}

/// How many drives may go.
fn any(spare: usize, may: &str) -> String {
    match spare {
        0 => format!("and no drive {may}"),
        1 => format!("any one drive {may}"),
        more => format!("any {more} drives {may}"),
    }
}

fn named<'a>(members: impl Iterator<Item = &'a MemberFacts>) -> String {
    members.map(|member| member.place.to_string()).collect::<Vec<_>>().join(", ")
}

/// What is wrong with drives, and what to do about each. `is_equal`: parities fit their data, or copies are equal.
fn troubles(members: &[MemberFacts], is_equal: bool) -> String {
    let of = |member: &MemberFacts| {
        let (place, lacks) = (member.place, Bytes(member.stale_bytes));
        match member.state {
            MemberState::Absent => Some(format!("drive {place} is out (put-back {place}, or replace {place})")),
            MemberState::ReadOnly => Some(format!("drive {place} takes no writes any more (replace {place})")),
            MemberState::Online if member.stale_bytes > 0 => Some(format!(
                "drive {place} lacks {lacks}, which it is given while the array is served, or by put-back {place}"
            )),
            MemberState::Online => None,
        }
    };
    let told: Vec<String> = members.iter().filter_map(of).collect();
    match told[..] {
        // Only a power cut, or the return of a drive, leaves drives whole and their array not.
        [] if is_equal => {
            "what drives came back with, or were given, is not known durably yet (a flush does that)".to_owned()
        }
        [] => "parities or copies are made equal after a power cut, while the array is served or by scrub".to_owned(),
        _ => told.join(", "),
    }
}

fn of_one_copy(condition: Condition, members: &[MemberFacts]) -> String {
    let bad = named(members.iter().filter(|member| member.state != MemberState::Online));
    match condition {
        Condition::Whole => "whole: each byte lies on one drive, and no drive may be lost".to_owned(),
        Condition::Degraded => {
            format!("degraded: drive {bad} takes no writes any more; copy what the array holds to another one")
        }
        Condition::Failed => format!("failed: drive {bad} is out, and with it what lay there"),
    }
}
