//! Entries: the elements of a family's list, one for each built-in.

use schemars::Schema;
use toml::Table;

use crate::{Builtin, ParameterError, page, schema_of};

/// One built-in of a family whose built objects are `T`.
pub struct Entry<T> {
    name: &'static str,
    kind: &'static str,
    parse: fn(Table) -> Result<T, ParameterError>,
    defaults: fn() -> Table,
    schema: fn() -> Schema,
}

impl<T> Entry<T> {
    /// The entry of a built-in. `parse` reads its parameters and makes the object that the family holds, such as a box.
    pub const fn of<B: Builtin>(parse: fn(Table) -> Result<T, ParameterError>) -> Self {
        Self { name: B::NAME, kind: B::KIND, parse, defaults: defaults_of::<B>, schema: schema_of::<B::Params> }
    }

    /// Its name in a scenario.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Every parameter with its default. Parameters that are absent by default are left out.
    pub fn defaults(&self) -> Table {
        (self.defaults)()
    }

    /// The JSON schema of its parameters, without the key that names the built-in: see [`schema_of`].
    pub fn schema(&self) -> Schema {
        (self.schema)()
    }

    /// Makes the built-in from a table of parameters, without the key that names it.
    ///
    /// # Errors
    /// A parameter is unknown, of another kind, out of its range, or at odds with another.
    pub fn parse(&self, table: Table) -> Result<T, ParameterError> {
        (self.parse)(table)
    }

    /// One line of help: the first sentence of its page, which begins with a small letter and ends without a period.
    pub fn summary(&self) -> String {
        page::summary(&self.schema())
    }

    /// Its page in the book, in Markdown: what it does, its parameters as a table, its source.
    pub fn page(&self) -> String {
        page::page(&self.schema())
    }

    /// A table of TOML that chooses it with its defaults, such as `{ policy = "d-choices", d = 2 }`.
    pub fn example(&self) -> String {
        page::example(self.kind, self.name, &self.defaults())
    }
}

fn defaults_of<B: Builtin>() -> Table {
    let defaults = Table::try_from(B::Params::default()).expect("defaults are values that TOML can write");
    debug_assert!(
        B::check_ranges(&defaults).is_ok(),
        "{} \"{}\": a default lies outside its range, so that a scenario which shows it is refused",
        B::KIND,
        B::NAME
    );
    defaults
}

/// The entry called `name`.
pub fn find<'a, T>(family: &'a [Entry<T>], name: &str) -> Option<&'a Entry<T>> {
    family.iter().find(|entry| entry.name == name)
}

/// Every name of a family, in its order.
pub fn names<T>(family: &[Entry<T>]) -> Vec<&'static str> {
    let names: Vec<&'static str> = family.iter().map(|entry| entry.name).collect();
    debug_assert!(
        names.iter().enumerate().all(|(place, name)| !names[..place].contains(name)),
        "two of {names:?} have one name: the second could not be chosen"
    );
    names
}
