//! Tables of any length, streamed to CSV or Parquet.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use crate::AtomicFile;

/// File format of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Comma-separated, with a header line.
    Csv,
    /// Apache Parquet: typed columns, compressed.
    Parquet,
}

impl Format {
    /// File name extension.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Parquet => "parquet",
        }
    }
}

/// Name and type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
}

/// Type of a column. Integers are signed 64-bit in Parquet, which every reader supports; larger values
/// saturate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A whole number.
    Int,
    /// A whole number or nothing.
    OptionalInt,
    /// A number.
    Float,
    /// A text.
    Text,
}

/// A value of the column's type.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Cell<'a> {
    /// Of [`Kind::Int`].
    Int(u64),
    /// Of [`Kind::OptionalInt`].
    OptionalInt(Option<u64>),
    /// Of [`Kind::Float`].
    Float(f64),
    /// Of [`Kind::Text`].
    Text(&'a str),
}

/// A row of a table, for files and for other tables with the same columns.
pub trait Record {
    /// The columns in order.
    const COLUMNS: &'static [Column];

    /// Passes one cell per column to `put`, in order.
    fn cells(&self, put: impl FnMut(Cell<'_>));
}

/// Writes records one by one. Memory is bounded by one row group.
pub(crate) enum TableWriter {
    Csv { file: BufWriter<AtomicFile>, line: String },
    Parquet(Box<ParquetTable>),
}

/// Rows per Parquet row group.
pub(crate) const ROWS_PER_GROUP: usize = 65_536;

impl TableWriter {
    pub(crate) fn create<R: Record>(path: &Path, format: Format) -> io::Result<Self> {
        let file = AtomicFile::create(path)?;
        match format {
            Format::Csv => {
                let mut file = BufWriter::new(file);
                let names: Vec<_> = R::COLUMNS.iter().map(|column| column.name).collect();
                writeln!(file, "{}", names.join(","))?;
                Ok(Self::Csv { file, line: String::new() })
            }
            Format::Parquet => Ok(Self::Parquet(Box::new(ParquetTable::new(file, R::COLUMNS)?))),
        }
    }

    pub(crate) fn push<R: Record>(&mut self, record: &R) -> io::Result<()> {
        match self {
            Self::Csv { file, line } => {
                line.clear();
                record.cells(|cell| append_csv(line, cell));
                line.pop();
                line.push('\n');
                file.write_all(line.as_bytes())
            }
            Self::Parquet(table) => table.push(record),
        }
    }

    /// Adds an entry to the metadata of the file. CSV has none.
    pub(crate) fn set_metadata(&mut self, key: &str, value: &str) {
        if let Self::Parquet(table) = self {
            let entry = KeyValue::new(key.to_owned(), value.to_owned());
            table.writer.append_key_value_metadata(entry);
        }
    }

    pub(crate) fn finish(self) -> io::Result<()> {
        match self {
            Self::Csv { file, .. } => file.into_inner().map_err(io::IntoInnerError::into_error)?.finish(),
            Self::Parquet(table) => table.finish(),
        }
    }
}

/// Appends a cell and a comma. Text is quoted if necessary (RFC 4180).
fn append_csv(line: &mut String, cell: Cell<'_>) {
    use std::fmt::Write as _;
    let done = match cell {
        Cell::Int(value) | Cell::OptionalInt(Some(value)) => write!(line, "{value},"),
        Cell::OptionalInt(None) => write!(line, ","),
        Cell::Float(value) => write!(line, "{value},"),
        Cell::Text(text) if text.contains([',', '"', '\n', '\r']) => {
            write!(line, "\"{}\",", text.replace('"', "\"\""))
        }
        Cell::Text(text) => write!(line, "{text},"),
    };
    done.expect("a string takes all text");
}

/// A Parquet file and the columns of the current row group.
pub(crate) struct ParquetTable {
    writer: SerializedFileWriter<AtomicFile>,
    columns: Vec<Buffer>,
    rows: usize,
}

enum Buffer {
    Int(Vec<i64>),
    OptionalInt { present: Vec<i64>, levels: Vec<i16> },
    Float(Vec<f64>),
    Text(Vec<ByteArray>),
}

impl ParquetTable {
    fn new(file: AtomicFile, columns: &[Column]) -> io::Result<Self> {
        let fields =
            columns.iter().map(|column| Ok(Arc::new(field(column)?))).collect::<Result<_, ParquetError>>();
        let schema = fields.and_then(|fields| Type::group_type_builder("schema").with_fields(fields).build());
        let schema = Arc::new(schema.expect("the columns are well formed"));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("wiremend ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).map_err(foreign)?;
        let columns = columns.iter().map(|column| Buffer::new(column.kind)).collect();
        Ok(Self { writer, columns, rows: 0 })
    }

    fn push<R: Record>(&mut self, record: &R) -> io::Result<()> {
        let mut columns = self.columns.iter_mut();
        record.cells(|cell| columns.next().expect("there is a column for each cell").push(cell));
        assert!(columns.next().is_none(), "there is a cell for each column");
        self.rows += 1;
        if self.rows == ROWS_PER_GROUP { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> io::Result<()> {
        self.rows = 0;
        let written = write_columns(&mut self.writer, &mut self.columns);
        self.own_error(written)
    }

    fn finish(mut self) -> io::Result<()> {
        if self.rows > 0 {
            self.write_group()?;
        }
        let finished = self.writer.finish().map(|_| ());
        self.own_error(finished)?;
        self.writer.inner_mut().complete()
    }

    /// Returns the disk error that the file stored, because Parquet's errors may hide it.
    fn own_error(&mut self, result: Result<(), ParquetError>) -> io::Result<()> {
        result.map_err(|error| self.writer.inner_mut().take_failure().unwrap_or_else(|| foreign(error)))
    }
}

impl Buffer {
    const fn new(kind: Kind) -> Self {
        match kind {
            Kind::Int => Self::Int(Vec::new()),
            Kind::OptionalInt => Self::OptionalInt { present: Vec::new(), levels: Vec::new() },
            Kind::Float => Self::Float(Vec::new()),
            Kind::Text => Self::Text(Vec::new()),
        }
    }

    fn push(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            (Self::Int(values), Cell::Int(value)) => values.push(signed(value)),
            (Self::OptionalInt { present, levels }, Cell::OptionalInt(value)) => {
                levels.push(i16::from(value.is_some()));
                present.extend(value.map(signed));
            }
            (Self::Float(values), Cell::Float(value)) => values.push(value),
            (Self::Text(values), Cell::Text(text)) => {
                // Names repeat: equal text shares its bytes with the row above.
                let same = values.last().filter(|last| last.data() == text.as_bytes()).cloned();
                values.push(same.unwrap_or_else(|| ByteArray::from(text)));
            }
            _ => panic!("a cell is of its column's kind"),
        }
    }
}

fn write_columns(
    writer: &mut SerializedFileWriter<AtomicFile>,
    columns: &mut [Buffer],
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for buffer in columns {
        let mut column = group.next_column()?.expect("the schema has this column");
        match buffer {
            Buffer::Int(values) => {
                column.typed::<Int64Type>().write_batch(values, None, None)?;
                values.clear();
            }
            Buffer::OptionalInt { present, levels } => {
                column.typed::<Int64Type>().write_batch(present, Some(levels), None)?;
                present.clear();
                levels.clear();
            }
            Buffer::Float(values) => {
                column.typed::<DoubleType>().write_batch(values, None, None)?;
                values.clear();
            }
            Buffer::Text(values) => {
                column.typed::<ByteArrayType>().write_batch(values, None, None)?;
                values.clear();
            }
        }
        column.close()?;
    }
    group.close().map(|_| ())
}

fn field(column: &Column) -> Result<Type, ParquetError> {
    let (physical, logical) = match column.kind {
        Kind::Int | Kind::OptionalInt => (Physical::INT64, None),
        Kind::Float => (Physical::DOUBLE, None),
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let repetition =
        if matches!(column.kind, Kind::OptionalInt) { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let builder = Type::primitive_type_builder(column.name, physical);
    builder.with_repetition(repetition).with_logical_type(logical).build()
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn foreign(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}
