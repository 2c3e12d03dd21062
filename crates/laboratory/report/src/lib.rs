//! Results as a page to look at and as a table for the terminal.
//!
//! The page is one file that needs nothing else: styles and pictures are inline, colors are CSS variables with a light
//! and a dark set. Every picture is drawn for a wide and for a narrow screen and has its numbers in a table behind it.
//! Reading and writing results is left to `results`.

mod ages;
mod along;
mod array;
mod axis;
mod bars;
#[cfg(test)]
mod boxes;
mod breakdown;
mod cells;
mod chart;
mod compare;
mod data;
mod differences;
mod distribution;
mod errors;
mod estimates;
mod facets;
mod figures;
mod film;
mod flat;
#[cfg(test)]
mod flow;
mod forecast;
mod grouped;
mod groups;
mod heat;
mod html;
mod labels;
mod latency;
mod map;
mod marks;
mod metrics;
mod numbers;
mod page;
mod palette;
mod panels;
mod paper;
mod picture;
pub mod published;
pub mod rber;
mod series;
mod settled;
mod smooth;
mod text;
mod thermal;
mod throughput;
mod timed;
pub mod tradeoff;
pub mod validated;
mod words;

pub use ages::{ages_note, part_of_run};
pub use array::array_in_words;
pub use cells::{Cell, Shown, check_table, sweep_table, warned};
pub use differences::differences;
pub use estimates::{share, size, size_of, time};
pub use film::{FilmFrame, FilmPage, film};
pub use forecast::forecast_in_words;
pub use groups::repeated;
pub use html::document;
pub use numbers::{counted, counted_of, duration, lifetime, plain, traffic};
pub use page::{figure_files, render};
pub use paper::{FigureFile, Format};
pub use words::{forward_in_words, worn_out_in_part, written_in_words};

#[cfg(test)]
mod tests;
