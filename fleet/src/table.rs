//! Answers as rows of cells.

use datafusion::arrow::{
    array::{Array, AsArray as _, RecordBatch},
    datatypes::{DataType, Float64Type, Int64Type, TimeUnit, TimestampMicrosecondType},
    util::display::{ArrayFormatter, FormatOptions},
};
use fdtide::model::rfc3339;
use serde_json::Value;

use crate::Error;

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Not known.
    None,
    /// A whole number.
    Whole(i64),
    /// Another number.
    Part(f64),
    /// A text.
    Text(String),
    /// Yes or no.
    Bool(bool),
}

impl Cell {
    /// As JSON has it.
    pub fn json(&self) -> Value {
        match self {
            Cell::None => Value::Null,
            Cell::Whole(number) => (*number).into(),
            Cell::Part(number) => (*number).into(),
            Cell::Text(text) => text.as_str().into(),
            Cell::Bool(yes) => (*yes).into(),
        }
    }

    /// Whether it stands at the right of a column.
    pub fn is_number(&self) -> bool {
        matches!(self, Cell::Whole(_) | Cell::Part(_))
    }

    /// The whole number in it.
    pub fn whole(&self) -> Option<i64> {
        if let Cell::Whole(number) = self { Some(*number) } else { None }
    }

    /// The text in it.
    pub fn text(&self) -> Option<&str> {
        if let Cell::Text(text) = self { Some(text) } else { None }
    }
}

/// The rows of a batch.
///
/// # Errors
///
/// When a column is of a kind that can't be shown.
pub fn rows(batch: &RecordBatch) -> Result<Vec<Vec<Cell>>, Error> {
    let mut rows = vec![Vec::with_capacity(batch.num_columns()); batch.num_rows()];
    for column in batch.columns() {
        let cells = cells(column.as_ref())?;
        rows.iter_mut().zip(cells).for_each(|(row, cell)| row.push(cell));
    }
    Ok(rows)
}

fn cells(column: &dyn Array) -> Result<Vec<Cell>, Error> {
    let of = |at: usize| -> Cell {
        match column.data_type() {
            _ if column.is_null(at) => Cell::None,
            DataType::Int64 => Cell::Whole(column.as_primitive::<Int64Type>().value(at)),
            DataType::Float64 => Cell::Part(column.as_primitive::<Float64Type>().value(at)),
            DataType::Boolean => Cell::Bool(column.as_boolean().value(at)),
            DataType::Utf8View => Cell::Text(column.as_string_view().value(at).to_owned()),
            DataType::Utf8 => Cell::Text(column.as_string::<i32>().value(at).to_owned()),
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                let micros = column.as_primitive::<TimestampMicrosecondType>().value(at);
                Cell::Text(rfc3339(u64::try_from(micros).unwrap_or(0).saturating_mul(1000)))
            }
            _ => Cell::None,
        }
    };
    let known = matches!(
        column.data_type(),
        DataType::Int64
            | DataType::Float64
            | DataType::Boolean
            | DataType::Utf8View
            | DataType::Utf8
            | DataType::Timestamp(TimeUnit::Microsecond, _)
    );
    if known {
        return Ok((0..column.len()).map(of).collect());
    }
    // What only somebody's own SQL gives: as text.
    let options = FormatOptions::default();
    let failed = |error: datafusion::arrow::error::ArrowError| Error::Query(error.to_string());
    let format = ArrayFormatter::try_new(column, &options).map_err(failed)?;
    let text = |at: usize| if column.is_null(at) { Cell::None } else { number(format.value(at).to_string(), column) };
    Ok((0..column.len()).map(text).collect())
}

/// Numbers of other widths stay numbers.
fn number(text: String, column: &dyn Array) -> Cell {
    if !column.data_type().is_numeric() {
        return Cell::Text(text);
    }
    match (text.parse(), text.parse()) {
        (Ok(whole), _) => Cell::Whole(whole),
        (_, Ok(part)) => Cell::Part(part),
        _ => Cell::Text(text),
    }
}
