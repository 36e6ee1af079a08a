//! Tables whose columns are known only at run time: `cells.parquet`.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use crate::atomic_file::{AtomicFile, named, write_atomic};

/// A table in memory. All columns have the same length, and every cell may be empty.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TidyTable {
    columns: Vec<(String, TidyColumn)>,
}

/// The cells of a column.
#[derive(Clone, PartialEq, Debug)]
pub enum TidyColumn {
    /// Integers.
    Int(Vec<Option<i64>>),
    /// Numbers.
    Float(Vec<Option<f64>>),
    /// Texts.
    Text(Vec<Option<String>>),
}

impl TidyColumn {
    /// Number of cells.
    pub fn len(&self) -> usize {
        match self {
            Self::Int(cells) => cells.len(),
            Self::Float(cells) => cells.len(),
            Self::Text(cells) => cells.len(),
        }
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl TidyTable {
    /// Adds a column at the right.
    ///
    /// # Panics
    /// If its length differs from the others, or the name is taken.
    pub fn push(&mut self, name: impl Into<String>, column: TidyColumn) {
        let name = name.into();
        if let Some((other, first)) = self.columns.first() {
            assert_eq!(first.len(), column.len(), "`{name}` is as long as `{other}`");
        }
        assert!(self.columns.iter().all(|(other, _)| *other != name), "`{name}` is new");
        self.columns.push((name, column));
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// Writes a Parquet file with entries of metadata. Equal tables give equal bytes.
    pub fn write_parquet(&self, path: &Path, metadata: &[(&str, &str)]) -> io::Result<()> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("wiremend ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let bytes =
            self.encode(properties, metadata).map_err(|error| named(path, &io::Error::other(error)))?;
        let mut file = AtomicFile::create(path)?;
        file.write_all(&bytes)?;
        file.finish()
    }

    fn encode(
        &self,
        properties: WriterProperties,
        metadata: &[(&str, &str)],
    ) -> Result<Vec<u8>, ParquetError> {
        let fields: Vec<_> = self.columns.iter().map(|(name, column)| field(name, column)).collect();
        let fields = fields.into_iter().collect::<Result<_, ParquetError>>()?;
        let schema = Type::group_type_builder("schema").with_fields(fields).build()?;
        let mut bytes = Vec::new();
        let mut writer = SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::new(properties))?;
        for (key, value) in metadata {
            writer.append_key_value_metadata(KeyValue::new((*key).to_owned(), (*value).to_owned()));
        }
        if self.rows() > 0 {
            let mut group = writer.next_row_group()?;
            for (_, cells) in &self.columns {
                let mut column = group.next_column()?.expect("the schema has this column");
                match cells {
                    TidyColumn::Int(cells) => {
                        let (values, levels) = present(cells, |value| *value);
                        column.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
                    }
                    TidyColumn::Float(cells) => {
                        let (values, levels) = present(cells, |value| *value);
                        column.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?;
                    }
                    TidyColumn::Text(cells) => {
                        let (values, levels) = present(cells, |text| ByteArray::from(text.as_str()));
                        column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
                    }
                }
                column.close()?;
            }
            group.close()?;
        }
        writer.close()?;
        Ok(bytes)
    }

    /// Writes comma-separated text with a header line (RFC 4180).
    pub fn write_csv(&self, path: &Path) -> io::Result<()> {
        let mut text = String::new();
        let line = |text: &mut String, cells: Vec<String>| {
            let _ = writeln!(text, "{}", cells.join(","));
        };
        line(&mut text, self.columns.iter().map(|(name, _)| quoted(name)).collect());
        for row in 0..self.rows() {
            let cell = |(_, column): &(String, TidyColumn)| match column {
                TidyColumn::Int(cells) => cells[row].map_or(String::new(), |value| value.to_string()),
                TidyColumn::Float(cells) => cells[row].map_or(String::new(), |value| value.to_string()),
                TidyColumn::Text(cells) => cells[row].as_deref().map_or(String::new(), quoted),
            };
            line(&mut text, self.columns.iter().map(cell).collect());
        }
        write_atomic(path, &text)
    }
}

fn field(name: &str, column: &TidyColumn) -> Result<Arc<Type>, ParquetError> {
    let (physical, logical) = match column {
        TidyColumn::Int(_) => (Physical::INT64, None),
        TidyColumn::Float(_) => (Physical::DOUBLE, None),
        TidyColumn::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let builder = Type::primitive_type_builder(name, physical).with_logical_type(logical);
    builder.with_repetition(Repetition::OPTIONAL).build().map(Arc::new)
}

/// The values of cells that are not empty, and for each cell whether it has one.
fn present<T, V>(cells: &[Option<T>], value: impl Fn(&T) -> V) -> (Vec<V>, Vec<i16>) {
    (
        cells.iter().flatten().map(value).collect(),
        cells.iter().map(|cell| i16::from(cell.is_some())).collect(),
    )
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;

    fn table() -> TidyTable {
        let mut table = TidyTable::default();
        table.push("seed", TidyColumn::Int(vec![Some(1), None]));
        table.push("p99, ns", TidyColumn::Float(vec![None, Some(0.5)]));
        table.push("scheme", TidyColumn::Text(vec![Some("a \"b\"".to_owned()), None]));
        table
    }

    #[test]
    fn empty_cells_are_null() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.parquet");
        table().write_parquet(&path, &[("wiremend", "{}")]).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
        let metadata = reader.metadata().file_metadata();
        assert_eq!(metadata.key_value_metadata().unwrap()[0].value.as_deref(), Some("{}"));
        let rows: Vec<String> =
            reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        assert_eq!(
            rows,
            ["{seed: 1, p99, ns: null, scheme: \"a \"b\"\"}", "{seed: null, p99, ns: 0.5, scheme: null}"]
        );
        let csv = directory.path().join("t.csv");
        table().write_csv(&csv).unwrap();
        assert_eq!(
            std::fs::read_to_string(csv).unwrap(),
            "seed,\"p99, ns\",scheme\n1,,\"a \"\"b\"\"\"\n,0.5,\n"
        );
    }

    #[test]
    fn equal_tables_give_equal_bytes() {
        let directory = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| directory.path().join(name));
        table().write_parquet(&a, &[]).unwrap();
        table().write_parquet(&b, &[]).unwrap();
        assert_eq!(std::fs::read(a).unwrap(), std::fs::read(b).unwrap());
    }
}
