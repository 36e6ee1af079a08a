//! Tables that data frame libraries take without a copy.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, ListBuilder, StringBuilder};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use wiremend_report::{Cell, Column, Contents, Kind, Record, TidyColumn, TidyTable};

use crate::errors;

/// A table. `polars.DataFrame(table)`, `pyarrow.table(table)`, `pandas.DataFrame.from_arrow(table)` and everything else
/// that knows the Arrow PyCapsule interface take its numbers without a copy.
#[pyclass(frozen, module = "wiremend")]
pub(crate) struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

#[pymethods]
impl Table {
    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<&str> {
        self.schema.fields().iter().map(|field| field.name().as_str()).collect()
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn __repr__(&self) -> String {
        format!("<wiremend.Table: {} rows of {}>", self.__len__(), self.column_names().join(", "))
    }

    /// The batches. A table has one schema, so `requested_schema` is ignored, as the interface allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        // Batches share their columns.
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&*self.schema)
            .map_err(|error| errors::Error::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
}

impl From<&TidyTable> for Table {
    fn from(table: &TidyTable) -> Self {
        let column = |(name, column): (&str, &TidyColumn)| {
            let (kind, cells): (_, ArrayRef) = match column {
                TidyColumn::Int(cells) => (DataType::Int64, Arc::new(Int64Array::from(cells.clone()))),
                TidyColumn::Float(cells) => (DataType::Float64, Arc::new(Float64Array::from(cells.clone()))),
                TidyColumn::Text(cells) => {
                    (DataType::Utf8, Arc::new(cells.iter().map(Option::as_deref).collect::<StringArray>()))
                }
            };
            (Field::new(name, kind, true), cells)
        };
        let (fields, cells): (Vec<_>, Vec<_>) = table.columns().map(column).unzip();
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(Arc::clone(&schema), cells).expect("columns have one length");
        Self { schema, batches: vec![batch] }
    }
}

/// Collects records.
pub(crate) struct TableBuilder {
    schema: SchemaRef,
    /// By column of the record; `None` if the table does not have it.
    columns: Vec<Option<ColumnBuilder>>,
    rows: usize,
    batches: Vec<RecordBatch>,
}

enum ColumnBuilder {
    Int(Int64Builder),
    Float(Float64Builder),
    Bool(BooleanBuilder),
    Text(StringBuilder),
    TextList(ListBuilder<StringBuilder>),
}

/// Rows of a batch: so few that the texts of a column stay below 2 GiB, and that nothing large is moved when it grows.
const BATCH_ROWS: usize = 1 << 17;

impl TableBuilder {
    /// Starts a table of these records, with the columns that `contents` have values for.
    pub(crate) fn new<R: Record>(contents: Contents) -> Self {
        let is_kept = |column: &&Column| contents.have(column.needs);
        let fields: Vec<_> = R::COLUMNS.iter().filter(is_kept).map(field).collect();
        let builder = |column: &Column| is_kept(&column).then(|| ColumnBuilder::new(column.kind));
        let columns = R::COLUMNS.iter().map(builder).collect();
        Self { schema: Arc::new(Schema::new(fields)), columns, rows: 0, batches: Vec::new() }
    }

    /// Appends a record of the type with which the table was started.
    pub(crate) fn push(&mut self, record: &impl Record) {
        let mut columns = self.columns.iter_mut();
        record.cells(|cell| {
            if let Some(column) = columns.next().expect("a cell has a column") {
                column.push(cell);
            }
        });
        self.rows += 1;
        if self.rows == BATCH_ROWS {
            self.end_batch();
        }
    }

    /// Ends the table.
    pub(crate) fn finish(mut self) -> Table {
        if self.rows > 0 {
            self.end_batch();
        }
        Table { schema: self.schema, batches: self.batches }
    }

    fn end_batch(&mut self) {
        self.rows = 0;
        let columns = self.columns.iter_mut().flatten().map(ColumnBuilder::finish).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns);
        self.batches.push(batch.expect("every record has a cell for each column"));
    }
}

fn field(column: &Column) -> Field {
    let kind = match column.kind {
        Kind::Int | Kind::OptionalInt => DataType::Int64,
        Kind::Float => DataType::Float64,
        Kind::Bool | Kind::OptionalBool => DataType::Boolean,
        Kind::Text => DataType::Utf8,
        Kind::TextList => DataType::List(element()),
    };
    let is_optional = matches!(column.kind, Kind::OptionalInt | Kind::OptionalBool | Kind::TextList);
    Field::new(column.name, kind, is_optional)
}

/// The elements of a list.
fn element() -> FieldRef {
    Arc::new(Field::new("element", DataType::Utf8, false))
}

impl ColumnBuilder {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Int | Kind::OptionalInt => Self::Int(Int64Builder::new()),
            Kind::Float => Self::Float(Float64Builder::new()),
            Kind::Bool | Kind::OptionalBool => Self::Bool(BooleanBuilder::new()),
            Kind::Text => Self::Text(StringBuilder::new()),
            Kind::TextList => Self::TextList(ListBuilder::new(StringBuilder::new()).with_field(element())),
        }
    }

    fn push(&mut self, cell: Cell<'_>) {
        // Larger values saturate, as in Parquet files.
        let int = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        match (self, cell) {
            (Self::Int(column), Cell::Int(value)) => column.append_value(int(value)),
            (Self::Int(column), Cell::OptionalInt(value)) => column.append_option(value.map(int)),
            (Self::Float(column), Cell::Float(value)) => column.append_value(value),
            (Self::Bool(column), Cell::Bool(value)) => column.append_value(value),
            (Self::Bool(column), Cell::OptionalBool(value)) => column.append_option(value),
            (Self::Text(column), Cell::Text(text)) => column.append_value(text),
            (Self::TextList(column), Cell::TextList(texts)) => {
                for text in texts.unwrap_or_default() {
                    column.values().append_value(text);
                }
                column.append(texts.is_some());
            }
            (_, cell) => panic!("{cell:?} is in a column of another type"),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Int(column) => Arc::new(column.finish()),
            Self::Float(column) => Arc::new(column.finish()),
            Self::Bool(column) => Arc::new(column.finish()),
            Self::Text(column) => Arc::new(column.finish()),
            Self::TextList(column) => Arc::new(column.finish()),
        }
    }
}
