//! Quantities in parameters: how a ratio or a size is written, read and described.
//!
//! Fields name one of these modules, `#[serde(with = "wane_registry::quantity::ratio")]`, and its schema,
//! `#[schemars(schema_with = "wane_registry::quantity::ratio::schema")]`.

/// A ratio: a number from 0 to 1, or a text such as `"50 %"`. It is written as a number.
pub mod ratio {
    use schemars::{Schema, SchemaGenerator, json_schema};
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use wane_units::Ratio;

    /// The schema's `format` of a ratio.
    pub(crate) const FORMAT: &str = "ratio";

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(f64),
        Text(String),
    }

    /// Writes the number.
    ///
    /// # Errors
    /// The format's own.
    pub fn serialize<S: Serializer>(ratio: &Ratio, serializer: S) -> Result<S::Ok, S::Error> {
        ratio.get().serialize(serializer)
    }

    /// Reads a number or a text.
    ///
    /// # Errors
    /// It is neither, or no ratio.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Ratio, D::Error> {
        let wanted = "expected a ratio between 0 and 1, such as 0.5 or \"50 %\"";
        match Written::deserialize(deserializer).map_err(|_| D::Error::custom(wanted))? {
            Written::Number(number) => Ratio::new(number).ok_or_else(|| D::Error::custom(wanted)),
            Written::Text(text) => text.parse().map_err(D::Error::custom),
        }
    }

    /// What it may be.
    pub fn schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["number", "string"], "format": FORMAT, "minimum": 0, "maximum": 1 })
    }
}

/// A size that may be absent, as a text such as `"4 KiB"`.
pub mod size_option {
    use schemars::{Schema, SchemaGenerator, json_schema};
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};
    use wane_units::Bytes;

    /// The schema's `format` of a size.
    pub(crate) const FORMAT: &str = "size";

    /// Writes the exact number of bytes in the largest unit that is whole; absent ones are to be skipped.
    ///
    /// # Errors
    /// The format's own.
    pub fn serialize<S: Serializer>(size: &Option<Bytes>, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(size) = size else { return serializer.serialize_none() };
        let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0)];
        let whole = |shift: u32| size.0 >= 1 << shift && size.0.is_multiple_of(1 << shift);
        let (unit, shift) = units.into_iter().find(|(_, shift)| whole(*shift)).unwrap_or(("B", 0));
        serializer.serialize_str(&format!("{} {unit}", size.0 >> shift))
    }

    /// Reads a text.
    ///
    /// # Errors
    /// It is no size.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Bytes>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| text.parse().map_err(D::Error::custom)).transpose()
    }

    /// What it may be.
    pub fn schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "null"], "format": FORMAT })
    }
}
