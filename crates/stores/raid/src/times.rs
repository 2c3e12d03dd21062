//! How long members take for what the host of an array asks.

use std::any::Any;

use wane_blockdev::{Completion, Kind, Living, RequestId};
use wane_units::Nanos;

use crate::layout::{Linear, Stripe};
use crate::mirror::Mirror;
use crate::raid::Raid;
use crate::spread::Spread;

/// A request to a member that is over. Requests of the array's own, which copy or compare, are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberTime {
    /// The number of the array's request of which it is a part.
    pub of: RequestId,
    /// The member.
    pub member: usize,
    /// Its number at the member.
    pub id: RequestId,
    /// What it was asked for.
    pub kind: Kind,
    /// From submission to completion.
    pub took: Nanos,
}

/// A list of them, if one is kept. It is not archived.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times(Option<Vec<MemberTime>>);

impl Times {
    pub(crate) fn keep(&mut self, keeps: bool) {
        self.0 = keeps.then(|| self.0.take().unwrap_or_default());
    }

    pub(crate) fn take(&mut self, out: &mut Vec<MemberTime>) {
        if let Some(list) = &mut self.0 {
            out.append(list);
        }
    }

    #[inline]
    pub(crate) fn note(&mut self, of: RequestId, member: usize, completion: &Completion) {
        if let Some(list) = &mut self.0 {
            let took = Nanos(completion.at.0 - completion.submitted_at.0);
            list.push(MemberTime { of, member, id: completion.id, kind: completion.kind, took });
        }
    }
}

/// An array of any layout.
pub trait Array: Living {
    /// Lets what is under way for itself come to its end, so that its members can come to rest. Its instant may be a later one afterwards.
    fn finish(&mut self) {}

    /// Keeps from now on how long members take for the host's requests, or no longer.
    fn keep_times(&mut self, keeps: bool);

    /// Appends what was kept since the last call, in the order in which the array heard of it.
    fn take_times(&mut self, out: &mut Vec<MemberTime>);
}

/// A device as an array, if it is one.
pub fn as_array(device: &mut dyn Living) -> Option<&mut dyn Array> {
    let device: &mut dyn Any = device;
    if device.is::<Mirror>() {
        return device.downcast_mut::<Mirror>().map(|array| array as _);
    }
    if device.is::<Raid>() {
        return device.downcast_mut::<Raid>().map(|array| array as _);
    }
    if device.is::<Spread<Stripe>>() {
        return device.downcast_mut::<Spread<Stripe>>().map(|array| array as _);
    }
    device.downcast_mut::<Spread<Linear>>().map(|array| array as _)
}
