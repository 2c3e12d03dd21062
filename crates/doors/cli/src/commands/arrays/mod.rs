//! `wane array`: arrays of drives that differ.

mod layers;
mod members;
mod plan;
mod words;

use crate::args::array::{ArrayArguments, ArrayCommand};
use crate::output::Failure;

pub(crate) fn array(arguments: &ArrayArguments) -> Result<i32, Failure> {
    match &arguments.command {
        ArrayCommand::Plan(arguments) => plan::plan(arguments),
    }
}
