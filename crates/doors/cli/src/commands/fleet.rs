//! `wane fleet`: the verb `simulate` is native; the Python package does all others.

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
