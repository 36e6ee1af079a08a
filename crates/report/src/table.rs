//! Tables of any length, streamed to CSV or Parquet.

use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use crate::AtomicFile;
use crate::column_buffer::Buffer;
use crate::contents::{Contents, Need};

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
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// What a run must have for the column to have values.
    pub(crate) needs: Need,
}

impl Column {
    /// Makes it a column of runs that have something.
    pub(crate) const fn needing(self, needs: Need) -> Self {
        Self { needs, ..self }
    }
}

pub(crate) const fn int(name: &'static str) -> Column {
    Column { name, kind: Kind::Int, needs: Need::Always }
}

pub(crate) const fn optional(name: &'static str) -> Column {
    Column { name, kind: Kind::OptionalInt, needs: Need::Always }
}

pub(crate) const fn float(name: &'static str) -> Column {
    Column { name, kind: Kind::Float, needs: Need::Always }
}

pub(crate) const fn boolean(name: &'static str) -> Column {
    Column { name, kind: Kind::Bool, needs: Need::Always }
}

pub(crate) const fn text(name: &'static str) -> Column {
    Column { name, kind: Kind::Text, needs: Need::Always }
}

/// Type of a column. Integers are signed 64-bit in Parquet, which every reader supports and whose differences do not
/// wrap; larger values saturate.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Int,
    OptionalInt,
    Float,
    Bool,
    OptionalBool,
    /// Text that repeats: names. Parquet stores a dictionary of it.
    Text,
    /// A list of such texts, or null. Separated by spaces in CSV.
    TextList,
}

/// A value of the column's type.
#[derive(Clone, Copy)]
pub(crate) enum Cell<'a> {
    Int(u64),
    OptionalInt(Option<u64>),
    Float(f64),
    Bool(bool),
    OptionalBool(Option<bool>),
    Text(&'a str),
    TextList(Option<&'a [&'a str]>),
}

/// A row of a table.
pub(crate) trait Record {
    const COLUMNS: &'static [Column];

    /// Passes one cell per column to `put`, in order.
    fn cells(&self, put: impl FnMut(Cell<'_>));
}

/// Writes records one by one. Memory is bounded by one row group.
pub(crate) struct TableWriter {
    file: TableFile,
    /// By column of the record: whether the file has it.
    kept: Vec<bool>,
}

enum TableFile {
    Csv { file: BufWriter<AtomicFile>, line: String },
    Parquet(Box<ParquetTable>),
}

/// Rows per Parquet row group.
pub(crate) const ROWS_PER_GROUP: usize = 65_536;

impl TableWriter {
    /// Starts a file with the columns that `contents` have values for.
    pub(crate) fn create<R: Record>(path: &Path, format: Format, contents: Contents) -> io::Result<Self> {
        let file = AtomicFile::create(path)?;
        let kept: Vec<bool> = R::COLUMNS.iter().map(|column| contents.have(column.needs)).collect();
        let columns: Vec<&Column> =
            R::COLUMNS.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(column, _)| column).collect();
        let file = match format {
            Format::Csv => {
                let mut file = BufWriter::new(file);
                let names: Vec<_> = columns.iter().map(|column| column.name).collect();
                writeln!(file, "{}", names.join(","))?;
                TableFile::Csv { file, line: String::new() }
            }
            Format::Parquet => TableFile::Parquet(Box::new(ParquetTable::new(file, &columns)?)),
        };
        Ok(Self { file, kept })
    }

    pub(crate) fn push<R: Record>(&mut self, record: &R) -> io::Result<()> {
        let mut kept = self.kept.iter();
        let mut has_next = || *kept.next().expect("there is a column for each cell");
        match &mut self.file {
            TableFile::Csv { file, line } => {
                line.clear();
                record.cells(|cell| {
                    if has_next() {
                        append_csv(line, cell);
                    }
                });
                line.pop();
                line.push('\n');
                file.write_all(line.as_bytes())?;
            }
            TableFile::Parquet(table) => {
                let mut columns = table.columns.iter_mut();
                record.cells(|cell| {
                    if has_next() {
                        columns.next().expect("there is a column for each cell").push(cell);
                    }
                });
                table.end_row()?;
            }
        }
        assert!(kept.next().is_none(), "there is a cell for each column");
        Ok(())
    }

    /// Adds an entry to the metadata of the file. CSV has none.
    pub(crate) fn set_metadata(&mut self, key: &str, value: &str) {
        if let TableFile::Parquet(table) = &mut self.file {
            let entry = KeyValue::new(key.to_owned(), value.to_owned());
            table.writer.append_key_value_metadata(entry);
        }
    }

    pub(crate) fn finish(self) -> io::Result<()> {
        match self.file {
            TableFile::Csv { file, .. } => {
                file.into_inner().map_err(io::IntoInnerError::into_error)?.finish()
            }
            TableFile::Parquet(table) => table.finish(),
        }
    }
}

/// Appends a cell and a comma. Text is quoted if necessary (RFC 4180).
fn append_csv(line: &mut String, cell: Cell<'_>) {
    use std::fmt::Write as _;
    let done = match cell {
        Cell::Int(value) | Cell::OptionalInt(Some(value)) => write!(line, "{value},"),
        Cell::Float(value) => write!(line, "{value},"),
        Cell::Bool(value) | Cell::OptionalBool(Some(value)) => write!(line, "{value},"),
        Cell::OptionalInt(None) | Cell::OptionalBool(None) | Cell::TextList(None) => write!(line, ","),
        Cell::Text(text) if text.contains([',', '"', '\n', '\r']) => {
            write!(line, "\"{}\",", text.replace('"', "\"\""))
        }
        Cell::Text(text) => write!(line, "{text},"),
        Cell::TextList(Some(texts)) => return append_csv(line, Cell::Text(&texts.join(" "))),
    };
    done.expect("a string takes all text");
}

/// A Parquet file and the columns of the current row group.
pub(crate) struct ParquetTable {
    writer: SerializedFileWriter<AtomicFile>,
    columns: Vec<Buffer>,
    rows: usize,
}

impl ParquetTable {
    fn new(file: AtomicFile, columns: &[&Column]) -> io::Result<Self> {
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

    fn end_row(&mut self) -> io::Result<()> {
        self.rows += 1;
        if self.rows == ROWS_PER_GROUP { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> io::Result<()> {
        self.rows = 0;
        let written = self.write_columns();
        self.own_error(written)
    }

    fn write_columns(&mut self) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for buffer in &mut self.columns {
            let mut column = group.next_column()?.expect("the schema has this column");
            buffer.write(&mut column)?;
            column.close()?;
        }
        group.close().map(|_| ())
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

fn field(column: &Column) -> Result<Type, ParquetError> {
    let (physical, logical) = match column.kind {
        Kind::Int | Kind::OptionalInt => (Physical::INT64, None),
        Kind::Float => (Physical::DOUBLE, None),
        Kind::Bool | Kind::OptionalBool => (Physical::BOOLEAN, None),
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::TextList => return list_field(column.name),
    };
    let is_optional = matches!(column.kind, Kind::OptionalInt | Kind::OptionalBool);
    let repetition = if is_optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let builder = Type::primitive_type_builder(column.name, physical);
    builder.with_repetition(repetition).with_logical_type(logical).build()
}

/// The three levels of a list (Parquet `LogicalTypes.md`, Lists).
fn list_field(name: &str) -> Result<Type, ParquetError> {
    let element = Type::primitive_type_builder("element", Physical::BYTE_ARRAY)
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(Some(LogicalType::String))
        .build()?;
    let list = Type::group_type_builder("list")
        .with_repetition(Repetition::REPEATED)
        .with_fields(vec![Arc::new(element)])
        .build()?;
    Type::group_type_builder(name)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(Some(LogicalType::List))
        .with_fields(vec![Arc::new(list)])
        .build()
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
