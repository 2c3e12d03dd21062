//! What an operator could do otherwise: each alternative is another plan, whose arrays draw the same numbers.

use crate::{Plan, PlanError, Redundancy};

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
        /// Of each member, the share of stripes whose parity it has. Their sum is the number of parities.
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
/// `share`: stripes whose parity it has. A single chunk writes itself and all parities, (1 - share) / k of them on this member; a full stripe writes one
/// chunk on each member for k of data. Computed in ARRAYS 4.4: shares of 40/15/15/15/15 wear the first member 1.52 times as fast as the others, 1.31, 1.17 and
/// 1.07 times with 50, 75 and 90 % full stripes.
pub fn chunks_written(share: f64, members: usize, parities: u32, full_stripe_share: f64) -> f64 {
    let data = (members - parities as usize) as f64;
    (1.0 - full_stripe_share) * (share + (1.0 - share) / data) + full_stripe_share / data
}

/// Shares of parity that differ most between the first and the last member: from half to one and a half times the even share.
pub fn graded_shares(members: usize, parities: u32) -> Vec<f64> {
    let even = f64::from(parities) / members as f64;
    let steps = (members - 1).max(1) as f64;
    (0..members).map(|member| even * (0.5 + member as f64 / steps)).collect()
}

fn add_redundancy(plan: &mut Plan) -> Result<(), PlanError> {
    let refuse = |why: &str| Err(PlanError::Alternative("more-redundancy", why.to_owned()));
    let before = plan.members.len();
    let Some(last) = plan.members.last().cloned() else { return refuse("needs members") };
    match plan.redundancy {
        Redundancy::Copies(copies) => {
            // As many copies a member as before: each works as much as it did.
            let more = before.div_ceil(copies as usize);
            plan.members.extend(std::iter::repeat_n(last, more));
            plan.redundancy = Redundancy::Copies(copies + 1);
        }
        Redundancy::Parity(parities) if parities >= crate::PARITIES_MAX => {
            return refuse("is not there: an array has three parities at most");
        }
        Redundancy::Parity(parities) => {
            let written = |members: usize, parities: u32| {
                let share = f64::from(parities) / members as f64;
                chunks_written(share, members, parities, plan.full_stripe_share)
            };
            let factor = written(before + 1, parities + 1) / written(before, parities);
            plan.members.push(last);
            plan.members.iter_mut().for_each(|member| member.load = member.load.times(factor));
            plan.redundancy = Redundancy::Parity(parities + 1);
        }
    }
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
    let sum: f64 = shares.iter().sum();
    if (sum - f64::from(parities)).abs() > 1e-6 {
        return refuse(format!("has shares whose sum is {sum}, and must be {parities}"));
    }
    let written = |share: f64| chunks_written(share, members, parities, plan.full_stripe_share);
    let even = written(f64::from(parities) / members as f64);
    for (member, share) in plan.members.iter_mut().zip(shares) {
        member.load = member.load.times(written(*share) / even);
    }
    Ok(())
}
