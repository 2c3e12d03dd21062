//! Registries: built-ins that a scenario chooses by name, with their parameters, pages and lists.
//!
//! A built-in (a policy today; a chip, a pattern or a trace format may also be one) implements [`Builtin`]: its name and one
//! struct of parameters. Everything else is made from that struct. Its doc comment is the built-in's page, and its fields are
//! the parameters. [`schemars`] turns both into a JSON schema, which provides the checks, the messages, the page's table and
//! the completions of editors. A family of built-ins is a plain list of [`Entry`]s.
//!
//! A field of a parameter struct states its name and type, its default (by `Default`), its range (`range`, or
//! `extend("exclusiveMinimum" = 0)` for a value that must be above 0), its unit (`extend("x-unit" = "days")`) and its meaning
//! (its doc comment):
//!
//! ```
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//! use wane_registry::{Builtin, Entry};
//!
//! struct Refresh {
//!     days: f64,
//! }
//!
//! /// Relocates data that reach a given age.
//! ///
//! /// A longer text follows, and its source at the end.
//! ///
//! /// Source: none, this is an example.
//! #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
//! #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
//! pub struct RefreshParams {
//!     /// Age at which data are relocated.
//!     #[schemars(extend("exclusiveMinimum" = 0, "x-unit" = "days"))]
//!     pub days: f64,
//! }
//!
//! impl Default for RefreshParams {
//!     fn default() -> Self {
//!         Self { days: 30.0 }
//!     }
//! }
//!
//! impl Builtin for Refresh {
//!     const NAME: &'static str = "refresh";
//!     type Params = RefreshParams;
//!
//!     fn build(params: RefreshParams) -> Self {
//!         Self { days: params.days }
//!     }
//! }
//!
//! const FAMILY: &[Entry<Refresh>] = &[Entry::of::<Refresh>(Refresh::read)];
//! let refresh = wane_registry::find(FAMILY, "refresh").ok_or("no such name")?;
//! assert_eq!(refresh.parse("days = 7".parse()?)?.days, 7.0);
//! assert_eq!(refresh.example(), "{ policy = \"refresh\", days = 30 }");
//! let refused = refresh.parse("days = 0".parse()?).err().ok_or("it is refused")?;
//! assert_eq!(refused.to_string(), "policy \"refresh\": `days`: found 0, expected a number above 0, in days");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod entry;
mod page;
mod range;
mod share;

pub use entry::{Entry, find, names};
pub use share::ShareOrCount;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What a struct of parameters must implement: see the crate's page. Every type that derives all of it implements this trait.
pub trait Parameters: Clone + Default + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static {}

impl<P: Clone + Default + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static> Parameters for P {}

/// Something that is chosen by a name and made from parameters.
pub trait Builtin: Sized {
    /// Its kind: a word for messages, and the key that names it in a scenario's table.
    const KIND: &'static str = "policy";

    /// Its name in a scenario.
    const NAME: &'static str;

    /// Its parameters, whose doc comment is its page: one sentence, the text, and a last paragraph that begins with
    /// `Source:`.
    type Params: Parameters;

    /// Makes it from checked parameters; [`Builtin::new`] checks them.
    fn build(params: Self::Params) -> Self;

    /// Refuses parameters that are each in their range but contradict each other.
    ///
    /// # Errors
    /// One sentence that says why.
    fn check(_params: &Self::Params) -> Result<(), String> {
        Ok(())
    }

    /// Makes it from parameters.
    ///
    /// # Errors
    /// A parameter is out of its range, or parameters contradict each other.
    fn new(params: Self::Params) -> Result<Self, ParameterError> {
        let table = toml::Table::try_from(&params).map_err(|error| {
            // TOML has no whole numbers above 2^63 - 1.
            ParameterError::of::<Self>(None, error.to_string())
        })?;
        Self::check_ranges(&table)?;
        Self::check(&params).map_err(|reason| ParameterError::of::<Self>(None, reason))?;
        Ok(Self::build(params))
    }

    /// Reads the parameters from a table of TOML, without the key that names the built-in, and makes it from them.
    ///
    /// # Errors
    /// As [`Builtin::params`].
    fn read(table: toml::Table) -> Result<Self, ParameterError> {
        Self::params(table).map(Self::build)
    }

    /// Reads the parameters from a table of TOML, without the key that names the built-in.
    ///
    /// # Errors
    /// A parameter is unknown, of another kind, out of its range, or at odds with another.
    fn params(table: toml::Table) -> Result<Self::Params, ParameterError> {
        Self::check_ranges(&table)?;
        let params = table
            .try_into()
            .map_err(|error: toml::de::Error| ParameterError::of::<Self>(None, error.message().trim().to_owned()))?;
        Self::check(&params).map_err(|reason| ParameterError::of::<Self>(None, reason))?;
        Ok(params)
    }

    /// Checks a table against the ranges that the fields of the parameters state.
    ///
    /// # Errors
    /// A parameter is unknown, of another kind, or out of its range.
    fn check_ranges(table: &toml::Table) -> Result<(), ParameterError> {
        range::check(&schema_of::<Self::Params>(), Self::KIND, table)
            .map_err(|refused| ParameterError::of::<Self>(Some(refused.key), refused.reason))
    }
}

/// Why a built-in refuses parameters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} \"{name}\": {}{reason}", .key.as_ref().map_or_else(String::new, |key| format!("`{}`: ", wane_units::excerpt(key))))]
pub struct ParameterError {
    /// Kind of the built-in, such as a policy.
    pub kind: &'static str,
    /// Name of the built-in.
    pub name: &'static str,
    /// The parameter at fault; `None` if several contradict each other.
    pub key: Option<String>,
    /// What was found and what is allowed.
    pub reason: String,
}

impl ParameterError {
    fn of<B: Builtin>(key: Option<String>, reason: String) -> Self {
        Self { kind: B::KIND, name: B::NAME, key, reason }
    }
}

/// The JSON schema of a struct of parameters, or of any settings. Types that it uses are written inline.
///
/// In addition to the standard keywords a property may have `x-unit`, the unit of its values, and `x-scales`, the part of the drive in proportion
/// to which it is meant.
pub fn schema_of<P: JsonSchema>() -> Schema {
    let settings = SchemaSettings::default().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<P>()
}

#[cfg(test)]
mod tests;
