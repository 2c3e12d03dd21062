//! `wane fleet`: hands over to the Python package, which does the work, but of the verb that is native.

use super::package::hand_over;
use super::simulate::simulate;
use crate::args::fleet::{FleetArguments, FleetVerb};
use crate::output::Failure;

pub(crate) fn fleet(arguments: &FleetArguments) -> Result<i32, Failure> {
    match &arguments.verb {
        FleetVerb::Simulate(arguments) => simulate(arguments),
        FleetVerb::Package(words) => hand_over("fleets need", words),
    }
}
