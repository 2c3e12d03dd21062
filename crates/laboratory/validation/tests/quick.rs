//! The quick cells of every part, which `make test` checks.

use wane_validation::{Extent, Row, parts, run, table};

#[test]
fn the_engine_is_within_the_tolerance_of_every_part() {
    for part in parts() {
        let rows = run(&part, Extent::Quick);
        assert!(!rows.is_empty(), "{} has cells", part.id);
        let differing: Vec<Row> = rows.into_iter().filter(|row| !row.agrees()).collect();
        assert!(
            differing.is_empty(),
            "{} ({}); again by `cargo run -p wane-validation -- --quick {}`\n{}",
            part.title,
            part.tolerance,
            part.id,
            table(&differing)
        );
    }
}
