//! Single values of a batch, for formats that go row by row.

use arrow_array::{
    Array, ArrayRef, RecordBatch, StringArray,
    cast::AsArray,
    types::{Int32Type, TimestampNanosecondType, UInt32Type, UInt64Type},
};
use arrow_schema::DataType;

use crate::model::rfc3339_ns;

/// What a cell holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    None,
    Number(u64),
    Text(&'a str),
    Time(String),
}

/// One cell; none for a column that no recording has.
pub(super) fn at(column: &ArrayRef, row: usize) -> Value<'_> {
    if column.is_null(row) {
        return Value::None;
    }
    match column.data_type() {
        DataType::UInt32 => Value::Number(column.as_primitive::<UInt32Type>().value(row).into()),
        DataType::UInt64 => Value::Number(column.as_primitive::<UInt64Type>().value(row)),
        DataType::Utf8 => Value::Text(column.as_string::<i32>().value(row)),
        DataType::Timestamp(..) => {
            let nanos = column.as_primitive_opt::<TimestampNanosecondType>().map_or(0, |times| times.value(row));
            Value::Time(rfc3339_ns(u64::try_from(nanos).unwrap_or(0)))
        }
        DataType::Dictionary(..) => word(column, row),
        _ => Value::None,
    }
}

fn word(column: &ArrayRef, row: usize) -> Value<'_> {
    let words = column.as_dictionary_opt::<Int32Type>();
    let word = words.and_then(|words| {
        let texts: &StringArray = words.values().as_string_opt::<i32>()?;
        words.key(row).filter(|key| *key < texts.len()).map(|key| texts.value(key))
    });
    word.map_or(Value::None, Value::Text)
}

/// Names of the columns.
pub(super) fn names(batch: &RecordBatch) -> Vec<String> {
    batch.schema().fields().iter().map(|field| field.name().clone()).collect()
}
