//! The values of one Parquet column of the current row group.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedColumnWriter;

use crate::table::{Cell, Kind};

pub(crate) enum Buffer {
    Int(Vec<i64>),
    OptionalInt { present: Vec<i64>, levels: Vec<i16> },
    Float(Vec<f64>),
    Bool(Vec<bool>),
    OptionalBool { present: Vec<bool>, levels: Vec<i16> },
    Text(Names),
    TextList { names: Names, levels: Vec<i16>, repeats: Vec<i16> },
}

/// Definition levels of a list: null, and an element.
const NULL: i16 = 0;
const ELEMENT: i16 = 2;

/// Texts that repeat: each is stored once.
#[derive(Default)]
pub(crate) struct Names {
    /// A path has a dozen of them in each row. The map is never iterated.
    known: HashMap<Box<str>, u32, BuildHasherDefault<DefaultHasher>>,
    texts: Vec<ByteArray>,
    values: Vec<u32>,
}

/// Values that are handed to the Parquet writer at once.
const BATCH: usize = 4_096;

impl Names {
    fn push(&mut self, text: &str) {
        let is_text = |number: &u32| self.texts[*number as usize].data() == text.as_bytes();
        let number = self.values.last().copied().filter(is_text).or_else(|| self.known.get(text).copied());
        self.values.push(number.unwrap_or_else(|| {
            let number = self.texts.len() as u32;
            self.texts.push(ByteArray::from(text));
            self.known.insert(text.into(), number);
            number
        }));
    }

    fn clear(&mut self) {
        self.known.clear();
        self.texts.clear();
        self.values.clear();
    }

    fn batch(&self, values: &[u32]) -> Vec<ByteArray> {
        values.iter().map(|number| self.texts[*number as usize].clone()).collect()
    }
}

impl Buffer {
    pub(crate) fn new(kind: Kind) -> Self {
        match kind {
            Kind::Int => Self::Int(Vec::new()),
            Kind::OptionalInt => Self::OptionalInt { present: Vec::new(), levels: Vec::new() },
            Kind::Float => Self::Float(Vec::new()),
            Kind::Bool => Self::Bool(Vec::new()),
            Kind::OptionalBool => Self::OptionalBool { present: Vec::new(), levels: Vec::new() },
            Kind::Text => Self::Text(Names::default()),
            Kind::TextList => {
                Self::TextList { names: Names::default(), levels: Vec::new(), repeats: Vec::new() }
            }
        }
    }

    pub(crate) fn push(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            (Self::Int(values), Cell::Int(value)) => values.push(signed(value)),
            (Self::OptionalInt { present, levels }, Cell::OptionalInt(value)) => {
                levels.push(i16::from(value.is_some()));
                present.extend(value.map(signed));
            }
            (Self::Float(values), Cell::Float(value)) => values.push(value),
            (Self::Bool(values), Cell::Bool(value)) => values.push(value),
            (Self::OptionalBool { present, levels }, Cell::OptionalBool(value)) => {
                levels.push(i16::from(value.is_some()));
                present.extend(value);
            }
            (Self::Text(names), Cell::Text(text)) => names.push(text),
            (Self::TextList { names, levels, repeats }, Cell::TextList(Some(texts))) => {
                assert!(!texts.is_empty(), "a list without elements is null");
                for (place, text) in texts.iter().enumerate() {
                    names.push(text);
                    levels.push(ELEMENT);
                    repeats.push(i16::from(place > 0));
                }
            }
            (Self::TextList { levels, repeats, .. }, Cell::TextList(None)) => {
                levels.push(NULL);
                repeats.push(0);
            }
            _ => panic!("a cell is of its column's kind"),
        }
    }

    /// Writes the values and forgets them.
    pub(crate) fn write(&mut self, column: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        match self {
            Self::Int(values) => {
                column.typed::<Int64Type>().write_batch(values, None, None)?;
                values.clear();
            }
            Self::OptionalInt { present, levels } => {
                column.typed::<Int64Type>().write_batch(present, Some(levels), None)?;
                present.clear();
                levels.clear();
            }
            Self::Float(values) => {
                column.typed::<DoubleType>().write_batch(values, None, None)?;
                values.clear();
            }
            Self::Bool(values) => {
                column.typed::<BoolType>().write_batch(values, None, None)?;
                values.clear();
            }
            Self::OptionalBool { present, levels } => {
                column.typed::<BoolType>().write_batch(present, Some(levels), None)?;
                present.clear();
                levels.clear();
            }
            Self::Text(names) => {
                for values in names.values.chunks(BATCH) {
                    column.typed::<ByteArrayType>().write_batch(&names.batch(values), None, None)?;
                }
                names.clear();
            }
            Self::TextList { names, levels, repeats } => {
                let mut values = &names.values[..];
                // A batch ends where a list ends.
                for (levels, repeats) in whole_lists(levels, repeats) {
                    let (batch, rest) =
                        values.split_at(levels.iter().filter(|level| **level == ELEMENT).count());
                    values = rest;
                    let batch = names.batch(batch);
                    column.typed::<ByteArrayType>().write_batch(&batch, Some(levels), Some(repeats))?;
                }
                names.clear();
                levels.clear();
                repeats.clear();
            }
        }
        Ok(())
    }
}

/// Splits the levels of lists into batches of whole lists.
fn whole_lists<'a>(
    mut levels: &'a [i16],
    mut repeats: &'a [i16],
) -> impl Iterator<Item = (&'a [i16], &'a [i16])> {
    std::iter::from_fn(move || {
        let end = repeats.iter().skip(BATCH).position(|repeat| *repeat == 0);
        let end = end.map_or(levels.len(), |after| BATCH + after);
        let batch = (&levels[..end], &repeats[..end]);
        (levels, repeats) = (&levels[end..], &repeats[end..]);
        (end > 0).then_some(batch)
    })
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
