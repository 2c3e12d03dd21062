//! The registry: names in a scenario become policies, once, when a drive is built.

use serde::de::DeserializeOwned;

/// One built-in policy of a family whose built objects are `T`.
pub struct Entry<T> {
    /// Its name in a scenario.
    pub name: &'static str,
    /// One line of help.
    pub summary: &'static str,
    /// Its page in the book: the doc comment of its file, in Markdown, with its parameters and its source.
    pub page: &'static str,
    /// A table of TOML that chooses it with its defaults, such as `{ policy = "d-choices", d = 2 }`.
    pub example: &'static str,
    /// Reads the parameters (without the `policy` key) and gives a maker of the policy.
    pub parse: fn(toml::Table) -> Result<T, ParameterError>,
}

impl<T> Entry<T> {
    /// The entry of a policy that declares itself.
    pub const fn of<P: Builtin>(parse: fn(toml::Table) -> Result<T, ParameterError>) -> Self {
        Self { name: P::NAME, summary: P::SUMMARY, page: P::PAGE, example: P::EXAMPLE, parse }
    }
}

/// Parameters that a policy does not take.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ParameterError(pub String);

/// What a policy's file declares of itself.
pub trait Builtin {
    /// Its name in a scenario.
    const NAME: &'static str;
    /// One line of help.
    const SUMMARY: &'static str;
    /// Its page in the book.
    const PAGE: &'static str;
    /// A minimal table that chooses it.
    const EXAMPLE: &'static str;
    /// Its parameters: a serde struct with `deny_unknown_fields`, `default` and kebab-case keys.
    type Params: DeserializeOwned;

    /// Reads [`Builtin::Params`] from the policy's table.
    ///
    /// # Errors
    /// One sentence that names the key, what was found and what is allowed.
    fn params(table: toml::Table) -> Result<Self::Params, ParameterError> {
        let refuse = |error: serde_path_to_error::Error<toml::de::Error>| {
            let (key, reason) = (error.path().to_string(), plain(error.inner().message().trim()));
            // An unknown key is named already.
            let named =
                if key == "." || reason.contains(&format!("`{key}`")) { String::new() } else { format!("`{key}`: ") };
            ParameterError(format!("policy \"{}\": {named}{reason}", Self::NAME))
        };
        let params = serde_path_to_error::deserialize(toml::Value::Table(table)).map_err(refuse)?;
        Self::check(&params).map_err(|reason| ParameterError(format!("policy \"{}\": {reason}", Self::NAME)))?;
        Ok(params)
    }

    /// Refuses parameters that are well-formed but out of range or at odds, with one sentence.
    ///
    /// # Errors
    /// The sentence.
    fn check(_params: &Self::Params) -> Result<(), String> {
        Ok(())
    }
}

/// A sentence of serde's about a value without the words of the language; others as they are.
fn plain(sentence: &str) -> String {
    const FOUND: [(&str, &str); 6] = [
        ("floating point ", "the number "),
        ("integer ", "the number "),
        ("string ", ""),
        ("boolean ", ""),
        ("sequence", "a list"),
        ("map", "a table"),
    ];
    let value = sentence.strip_prefix("invalid type: ").or_else(|| sentence.strip_prefix("invalid value: "));
    let Some((found, expected)) = value.and_then(|value| value.rsplit_once(", expected ")) else {
        return sentence.to_owned();
    };
    let told = FOUND.iter().find_map(|(word, told)| found.strip_prefix(word).map(|rest| format!("{told}{rest}")));
    let expected = match expected {
        "f64" => "a number",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" => "a whole number from 0 on",
        "a boolean" => "true or false",
        other => other,
    };
    format!("found {}, expected {expected}", told.as_deref().unwrap_or(found))
}

/// The entry called `name`.
pub fn find<'a, T>(family: &'a [Entry<T>], name: &str) -> Option<&'a Entry<T>> {
    family.iter().find(|entry| entry.name == name)
}

/// Every name of a family, in its order.
pub fn names<T>(family: &[Entry<T>]) -> Vec<&'static str> {
    family.iter().map(|entry| entry.name).collect()
}
