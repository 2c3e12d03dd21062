//! The grid of `--sweep`: keys, their values, and the cells between them, made one at a time.

use wane_units::excerpt;

use crate::output::Failure;

/// Most cells of a grid: their results are held in memory until the report of all of them is made.
pub(crate) const CELLS_MAX: usize = 10_000;

/// One swept key.
pub(crate) struct Axis {
    key: String,
    values: Vec<String>,
}

/// Swept keys; without any, one cell that sets nothing.
pub(crate) struct Grid {
    pub(crate) axes: Vec<Axis>,
    /// From 1 to [`CELLS_MAX`].
    pub(crate) cells: usize,
}

impl Grid {
    /// The grid of `--sweep KEY=V1,V2,...`, given any number of times.
    pub(crate) fn parse(sweeps: &[String]) -> Result<Self, Failure> {
        let axis = |sweep: &String| {
            let parsed = sweep.split_once('=').map(|(key, values)| (key.trim(), split_values(values)));
            match parsed {
                Some((key, values)) if !key.is_empty() && values.iter().all(|value| !value.is_empty()) => {
                    Ok(Axis { key: key.to_owned(), values })
                }
                _ => Err(Failure::wrong(format!(
                    "--sweep {}: expected KEY=V1,V2,..., such as ftl.gc.d=1,2,4,8",
                    excerpt(sweep)
                ))),
            }
        };
        Self::of(sweeps.iter().map(axis).collect::<Result<Vec<Axis>, Failure>>()?)
    }

    /// Runs each cell with each of these seeds.
    pub(crate) fn add_seeds(&mut self, seeds: Vec<u64>) -> Result<(), Failure> {
        if self.axes.iter().any(|axis| axis.key == "seed") {
            return Err(Failure::wrong("--seeds stands beside --sweep seed=...; give one of them"));
        }
        let values = seeds.into_iter().map(|seed| seed.to_string()).collect();
        let mut axes = std::mem::take(&mut self.axes);
        axes.push(Axis { key: "seed".to_owned(), values });
        *self = Self::of(axes)?;
        Ok(())
    }

    fn of(axes: Vec<Axis>) -> Result<Self, Failure> {
        for (number, axis) in axes.iter().enumerate() {
            if axes[..number].iter().any(|earlier| earlier.key == axis.key) {
                return Err(Failure::wrong(format!(
                    "--sweep {}: the key is swept twice; give all its values at once",
                    excerpt(&axis.key)
                )));
            }
        }
        let cells = axes.iter().fold(1u128, |cells, axis| cells.saturating_mul(axis.values.len() as u128));
        match usize::try_from(cells).ok().filter(|cells| *cells <= CELLS_MAX) {
            Some(cells) => Ok(Self { axes, cells }),
            None => {
                let lengths: Vec<String> = axes.iter().map(|axis| axis.values.len().to_string()).collect();
                let product = lengths.join(" x ");
                Err(Failure::wrong(format!(
                    "--sweep: the grid has {} cells; {CELLS_MAX} are allowed, seeds included",
                    excerpt(&if lengths.len() > 1 { format!("{product} = {cells}") } else { product })
                )))
            }
        }
    }

    /// The swept keys, in order.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.axes.iter().map(|axis| axis.key.clone()).collect()
    }

    /// The values of each cell, the last key changing fastest.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Vec<String>> {
        (0..self.cells).map(|cell| self.row(cell))
    }

    /// The values of a cell.
    pub(crate) fn row(&self, cell: usize) -> Vec<String> {
        assert!(cell < self.cells, "cell {cell} of {}: it would be an earlier one again", self.cells);
        let mut rest = cell;
        let mut row = Vec::with_capacity(self.axes.len());
        for axis in self.axes.iter().rev() {
            row.push(axis.values[rest % axis.values.len()].clone());
            rest /= axis.values.len();
        }
        row.reverse();
        row
    }

    /// What sets a cell apart, as `--set` takes it.
    pub(crate) fn assignments(&self, row: &[String]) -> Vec<String> {
        self.axes.iter().zip(row).map(|(axis, value)| format!("{}={value}", axis.key)).collect()
    }
}

/// Splits at commas outside quotes, brackets and braces, so that a value may be a table.
fn split_values(text: &str) -> Vec<String> {
    let (mut values, mut value) = (Vec::new(), String::new());
    let (mut depth, mut quote) = (0i32, None);
    for letter in text.chars() {
        match letter {
            ',' if depth == 0 && quote.is_none() => {
                values.push(std::mem::take(&mut value).trim().to_owned());
                continue;
            }
            '"' | '\'' if quote == Some(letter) => quote = None,
            '"' | '\'' if quote.is_none() => quote = Some(letter),
            '[' | '{' if quote.is_none() => depth += 1,
            ']' | '}' if quote.is_none() => depth -= 1,
            _ => {}
        }
        value.push(letter);
    }
    values.push(value.trim().to_owned());
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(sweeps: &[&str]) -> Result<Grid, String> {
        let sweeps: Vec<String> = sweeps.iter().map(|sweep| (*sweep).to_owned()).collect();
        Grid::parse(&sweeps).map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn swept_values_may_be_tables() {
        assert_eq!(split_values("1, 2,4"), ["1", "2", "4"]);
        assert_eq!(split_values("{ a = 1, b = 2 },'x,y'"), ["{ a = 1, b = 2 }", "'x,y'"]);
    }

    #[test]
    fn the_last_key_changes_fastest() {
        let cells: Vec<Vec<String>> = grid(&["a=1,2", "b=x,y"]).unwrap().rows().collect();
        assert_eq!(cells, [["1", "x"], ["1", "y"], ["2", "x"], ["2", "y"]]);
        let none: Vec<Vec<String>> = grid(&[]).unwrap().rows().collect();
        assert_eq!(none, [Vec::<String>::new()]);
    }

    #[test]
    fn a_grid_is_refused_before_it_is_laid_out() {
        let hundred = vec!["1"; 100].join(",");
        let axis = |number: usize| format!("k{number}={hundred}");
        let axes: Vec<String> = (0..200).map(axis).collect();
        let axes: Vec<&str> = axes.iter().map(String::as_str).collect();
        assert_eq!(grid(&axes[..2]).unwrap().cells, CELLS_MAX);
        for (count, told) in [(3, "100 x 100 x 100 = 1000000 cells; 10000 are allowed"), (6, "= 1000000000000 cells")] {
            let refused = grid(&axes[..count]).map(|_| ()).unwrap_err();
            assert!(refused.contains(told), "{refused}");
        }
        assert!(grid(&axes).is_err(), "a product past 128 bits");
        let mut swept = grid(&axes[..2]).unwrap();
        assert!(swept.add_seeds(vec![1, 2]).is_err(), "seeds count as well");
    }
}
