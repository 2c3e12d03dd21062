//! Tables of named columns: as NumPy arrays, and as an Arrow stream, which any data frame library takes.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, RecordBatchIterator, StringArray, UInt32Array, UInt64Array};
use arrow_schema::Schema;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use wane_results::{Column, Values};

use crate::error;
use crate::result::array;

/// Named columns of one length.
#[pyclass(frozen, module = "wane._wane")]
pub(crate) struct Columns {
    columns: Vec<Column>,
}

impl Columns {
    /// Wraps columns.
    pub(crate) const fn new(columns: Vec<Column>) -> Self {
        Self { columns }
    }
}

#[pymethods]
impl Columns {
    /// Returns the names, each with an array or a list of texts. Arrays are copies that cannot be written.
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
        let hand_over = |Column { name, values }: &Column| {
            let values = match values {
                Values::U32(values) => array(py, values.clone())?,
                Values::U64(values) => array(py, values.clone())?,
                Values::F64(values) => array(py, values.clone())?,
                Values::Ratio(values) => array(py, values.iter().map(|value| value.unwrap_or(f64::NAN)).collect())?,
                Values::Text(texts) => PyList::new(py, texts)?.into_any(),
                Values::Own(texts) => PyList::new(py, texts)?.into_any(),
            };
            Ok((name.clone(), values))
        };
        error::guarded(|| self.columns.iter().map(hand_over).collect())
    }

    /// Returns the capsule of an Arrow C stream with one batch. The consumer that takes the stream out of it owns its memory.
    fn arrow_stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        error::guarded(|| {
            let columns = self.columns.iter().map(|column| {
                let is_nullable = matches!(column.values, Values::Ratio(_));
                (column.name.as_str(), arrow(&column.values), is_nullable)
            });
            let batch = if self.columns.is_empty() {
                Ok(RecordBatch::new_empty(Arc::new(Schema::empty())))
            } else {
                RecordBatch::try_from_iter_with_nullable(columns)
            };
            let batch = batch.map_err(|error| error::internal(format!("columns are no table: {error}")))?;
            let schema = batch.schema();
            let stream = FFI_ArrowArrayStream::new(Box::new(RecordBatchIterator::new([Ok(batch)], schema)));
            PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
        })
    }
}

fn arrow(values: &Values) -> ArrayRef {
    match values {
        Values::U32(values) => Arc::new(UInt32Array::from(values.clone())),
        Values::U64(values) => Arc::new(UInt64Array::from(values.clone())),
        Values::F64(values) => Arc::new(Float64Array::from(values.clone())),
        Values::Ratio(values) => Arc::new(Float64Array::from(values.clone())),
        Values::Text(texts) => Arc::new(StringArray::from_iter_values(texts)),
        Values::Own(texts) => Arc::new(StringArray::from_iter_values(texts)),
    }
}
