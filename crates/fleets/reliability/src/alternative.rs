//! What an operator could do otherwise: each alternative is another plan, whose arrays draw the same numbers.

use crate::{Member, Plan, PlanError, Redundancy};

/// One change of a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Alternative {
    /// A drive lies on the shelf, and is ordered again when it is used.
    Spare,
    /// One parity or copy more, with as many drives more as it takes to hold the same data.
    MoreRedundancy,
    /// Members begin with different wear: member i has used i times `step` of its rated erases.
    StaggeredAges {
        /// Share of the rated erases between two members.
        step: f64,
    },
    /// Parity lies on members in unequal shares (Balakrishnan et al., "Differential RAID", EuroSys 2010), so that they wear out one after the
    /// other.
    UnevenParity {
        /// Of each member, the share of its stripes whose parity it has. Over all stripes their sum is the number of parities.
        shares: Vec<f64>,
    },
    /// Drives that shrink instead of dying (001, ch. 4), and live that much longer.
    CapacityVariance {
        /// Mean wear at death over that of the plan.
        factor: f64,
    },
    /// A member is replaced before it is worn out, its data copied from it.
    ReplaceAt {
        /// Share of its rated erases.
        wear: f64,
    },
}

impl Alternative {
    /// Its name in results.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Spare => "spare",
            Self::MoreRedundancy => "more-redundancy",
            Self::StaggeredAges { .. } => "staggered-ages",
            Self::UnevenParity { .. } => "uneven-parity",
            Self::CapacityVariance { .. } => "capacity-variance",
            Self::ReplaceAt { .. } => "replace-at",
        }
    }

    /// The plan with this change.
    ///
    /// # Errors
    /// The plan has no parity to move or to add, or a value is outside of its range.
    pub fn of(&self, plan: &Plan) -> Result<Plan, PlanError> {
        let mut changed = plan.clone();
        match self {
            Self::Spare => changed.upkeep.spares += 1,
            Self::MoreRedundancy => add_redundancy(&mut changed)?,
            Self::StaggeredAges { step } => {
                if !(*step > 0.0 && *step < 1.0) {
                    return Err(PlanError::Value("staggered-ages", *step, "above 0 and below 1"));
                }
                for (number, member) in changed.members.iter_mut().enumerate() {
                    let used = member.drive.wear.at(member.bytes_before) + step * number as f64;
                    let bytes = member.drive.wear.first_at(used);
                    member.bytes_before = if bytes.is_finite() { bytes } else { member.bytes_before };
                }
            }
            Self::UnevenParity { shares } => shift_parity(&mut changed, shares)?,
            Self::CapacityVariance { factor } => {
                if !(*factor >= 1.0 && factor.is_finite()) {
                    return Err(PlanError::Value("capacity-variance", *factor, "at least 1"));
                }
                for kind in changed.members.iter_mut().map(|member| &mut member.drive).chain(&mut changed.spare) {
                    kind.endurance = kind.endurance.map(|endurance| endurance.times(*factor)).transpose()?;
                }
            }
            Self::ReplaceAt { wear } => changed.upkeep.replace_at = Some(*wear),
        }
        changed.check()?;
        Ok(changed)
    }
}

/// Chunks that are written on a member for each chunk of data that the host writes.
///
/// `share`: stripes whose parity it has, of stripes on `members` members. A single chunk writes itself and all parities, (1 - share) / k of them on this member; a full stripe writes one
/// chunk on each member for k of data. So shares of 40/15/15/15/15 wear the first member 1.52 times as fast as the others, 1.31, 1.17 and
/// 1.07 times with 50, 75 and 90 % full stripes.
pub fn chunks_written(share: f64, members: usize, parities: u32, full_stripe_share: f64) -> f64 {
    let data = (members - parities as usize) as f64;
    (1.0 - full_stripe_share) * (share + (1.0 - share) / data) + full_stripe_share / data
}

/// Parities of a stripe over its chunks: the share of its stripes whose parity a member has if all have as much.
fn even_share(plan: &Plan) -> f64 {
    f64::from(plan.redundancy.tolerance()) / f64::from(plan.width())
}

/// How much of all stripes each member has: the part of the load that is its own. Members of one size have equal parts.
fn parts(plan: &Plan) -> Vec<f64> {
    let written = |member: &Member| member.load.at(plan.data_bytes) - member.load.at(0.0);
    let sum: f64 = plan.members.iter().map(written).sum();
    let even = 1.0 / plan.members.len() as f64;
    plan.members.iter().map(|member| if sum > 0.0 { written(member) / sum } else { even }).collect()
}

/// Of each member, the share of its stripes whose parity it has: rising from half to one and a half times the even share, less steeply where a share
/// would exceed 1. Members that have more stripes count for more, so that the number of parities stays. 0 for a plan without parity.
pub fn graded_shares(plan: &Plan) -> Vec<f64> {
    let steps = (plan.members.len().max(2) - 1) as f64;
    let place = |member: usize| member as f64 / steps;
    let middle: f64 = parts(plan).iter().enumerate().map(|(member, part)| place(member) * part).sum();
    let Redundancy::Parity(1..) = plan.redundancy else { return vec![0.0; plan.members.len()] };
    let even = even_share(plan);
    let most = 1.0 - middle;
    let slope = if even * (1.0 + most) > 1.0 { (1.0 / even - 1.0) / most } else { 1.0 };
    (0..plan.members.len()).map(|member| even * (1.0 + slope * (place(member) - middle))).collect()
}

fn add_redundancy(plan: &mut Plan) -> Result<(), PlanError> {
    let refuse = |why: &str| Err(PlanError::Alternative("more-redundancy", why.to_owned()));
    let before = plan.members.len();
    let by_size = |one: &&Member, other: &&Member| one.drive.capacity_bytes.total_cmp(&other.drive.capacity_bytes);
    let Some(mut largest) = plan.members.iter().max_by(by_size).cloned() else { return refuse("needs members") };
    // A stripe has a chunk more, or a piece of data a copy: the same data fill as many members more.
    let width = plan.width() as usize;
    let more = before.div_ceil(width.max(1));
    match plan.redundancy {
        Redundancy::Copies(copies) => {
            // As many copies a member as before: each works as much as it did.
            plan.redundancy = Redundancy::Copies(copies + 1);
        }
        Redundancy::Parity(parities) if parities >= crate::PARITIES_MAX => {
            return refuse("is not there: an array has three parities at most");
        }
        Redundancy::Parity(parities) => {
            // Chunks on all members for each chunk of data.
            let written = |width: usize, parities: u32| {
                let share = f64::from(parities) / width as f64;
                chunks_written(share, width, parities, plan.full_stripe_share) * width as f64
            };
            let grown = before as f64 / (before + more) as f64;
            let factor = written(width + 1, parities + 1) / written(width, parities) * grown;
            let members = plan.members.iter_mut().chain([&mut largest]);
            members.for_each(|member| member.load = member.load.times(factor));
            plan.redundancy = Redundancy::Parity(parities + 1);
            plan.stripe_width = plan.stripe_width.map(|width| width + 1);
        }
    }
    plan.members.extend(std::iter::repeat_n(largest, more));
    Ok(())
}

fn shift_parity(plan: &mut Plan, shares: &[f64]) -> Result<(), PlanError> {
    let refuse = |why: String| Err(PlanError::Alternative("uneven-parity", why));
    let members = plan.members.len();
    let parities = match plan.redundancy {
        Redundancy::Parity(parities) if parities > 0 => parities,
        _ => return refuse("needs an array with parity".to_owned()),
    };
    if shares.len() != members || shares.iter().any(|share| !(0.0..=1.0).contains(share)) {
        return refuse(format!("has {} shares; it needs {members}, each 0 to 1", shares.len()));
    }
    let (width, even) = (plan.width() as usize, even_share(plan));
    let sum = parts(plan).iter().zip(shares).map(|(part, share)| part * share).sum::<f64>() * width as f64;
    if (sum - f64::from(parities)).abs() > 1e-6 {
        return refuse(format!("has shares whose sum is {sum}, and must be {parities}"));
    }
    let written = |share: f64| chunks_written(share, width, parities, plan.full_stripe_share);
    for (member, share) in plan.members.iter_mut().zip(shares) {
        member.load = member.load.times(written(*share) / written(even));
    }
    Ok(())
}
