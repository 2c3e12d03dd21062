//! Results as a page to look at and as a table for the terminal.
//!
//! The page is one file that needs nothing else: styles and pictures are inline, colors are CSS variables with a light
//! and a dark set. Every picture is drawn for a wide and for a narrow screen and has its numbers in a table behind it.
//! Reading and writing results is left to `results`.

mod ages;
mod along;
mod axis;
mod breakdown;
mod chart;
mod differences;
mod distribution;
mod errors;
mod figures;
mod groups;
mod html;
mod latency;
mod map;
mod numbers;
mod page;
pub mod published;
pub mod rber;
mod timed;
pub mod validated;
mod words;

pub use ages::ages_note;
pub use differences::differences;
pub use numbers::{duration, plain, traffic};
pub use page::render;

#[cfg(test)]
mod tests;
