//! Rows of a recording as a table for other tools: what the recording's columns say, and for an exec what its report says.

mod csv;
mod jsonl;
mod parquet;
mod value;

use std::{collections::HashMap, sync::Arc};

use arrow_array::{
    Array, ArrayRef, RecordBatch, StringArray, UInt32Array, UInt64Array,
    builder::{StringDictionaryBuilder, UInt32Builder, UInt64Builder},
    cast::AsArray,
    types::{Int32Type, UInt32Type, UInt64Type},
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

use crate::model::{ExecRecord, Report};

pub use csv::Csv;
pub use jsonl::Jsonl;
pub use parquet::Parquet;

/// Columns that only replaying needs.
const LEFT_OUT: [&str; 1] = ["raw"];
/// Columns whose figures at an exec are the report's.
const FROM_REPORT: [&str; 3] = ["program", "window_table", "window_high_water"];
/// Columns that only a report can tell, of an exec.
const ADDED: [(&str, &str); 4] = [
    ("seq", "Number of the exec, from 1; 0 is the run command's own."),
    ("before_exec_high_water", "Greatest number of live descriptors of the child between fork and exec."),
    ("image_high_water", "Greatest number of live descriptors of the image."),
    ("image_settled", "Level that the image came to rest at."),
];

/// Puts rows and report together, batch by batch.
pub struct Rows {
    host: String,
    execs: HashMap<(u32, u64), ExecRecord>,
}

/// Where rows go.
pub trait Table {
    /// Takes the next rows; all batches have the same schema.
    ///
    /// # Errors
    ///
    /// When they can't be written.
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError>;

    /// Nothing more comes.
    ///
    /// # Errors
    ///
    /// When what is left can't be written.
    fn finish(&mut self) -> Result<(), ArrowError>;
}

impl Rows {
    /// For the recording that has this report.
    #[must_use]
    pub fn new(host: &str, report: Report) -> Rows {
        let execs = report.execs.into_iter().map(|record| ((record.pid, record.at_ns), record)).collect();
        Rows { host: host.to_owned(), execs }
    }

    /// The schema of the rows, from that of a recording.
    #[must_use]
    pub fn schema(schema: &Schema) -> SchemaRef {
        let help = |text: &str| [("help".to_owned(), text.to_owned())].into();
        let words = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let host = Field::new("host", words, false).with_metadata(help("The machine."));
        let kept = schema.fields().iter().filter(|field| !LEFT_OUT.contains(&field.name().as_str()));
        let mut fields = vec![Arc::new(host)];
        fields.extend(kept.cloned());
        fields.extend(ADDED.map(|(name, text)| {
            let data = if name == "seq" { DataType::UInt64 } else { DataType::UInt32 };
            Arc::new(Field::new(name, data, true).with_metadata(help(text)))
        }));
        Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
    }

    /// The rows of a batch of the recording.
    ///
    /// # Errors
    ///
    /// When the batch has not the columns of a recording.
    pub fn of(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let execs = self.execs(batch)?;
        let mut columns: Vec<ArrayRef> = Vec::new();
        let mut host = StringDictionaryBuilder::<Int32Type>::new();
        for _ in 0..batch.num_rows() {
            host.append(&self.host)?;
        }
        columns.push(Arc::new(host.finish()));
        for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
            let name = field.name().as_str();
            if FROM_REPORT.contains(&name) {
                columns.push(from_report(name, column, &execs)?);
            } else if !LEFT_OUT.contains(&name) {
                columns.push(Arc::clone(column));
            }
        }
        let figure = |of: fn(&ExecRecord) -> Option<u32>| -> ArrayRef {
            Arc::new(execs.iter().map(|exec| exec.and_then(of)).collect::<UInt32Array>())
        };
        columns.push(Arc::new(execs.iter().map(|exec| exec.map(|record| record.seq)).collect::<UInt64Array>()));
        columns.push(figure(|record| record.before_exec.high_water));
        columns.push(figure(|record| record.image.high_water));
        columns.push(figure(|record| record.image.settled));
        RecordBatch::try_new(Rows::schema(&batch.schema()), columns)
    }

    /// For each row the exec that it tells of.
    fn execs(&self, batch: &RecordBatch) -> Result<Vec<Option<&ExecRecord>>, ArrowError> {
        let missing = || ArrowError::SchemaError("not the columns of a recording".to_owned());
        let column = |name| batch.column_by_name(name).ok_or_else(missing);
        let types = column("type")?.as_dictionary_opt::<Int32Type>().ok_or_else(missing)?;
        let types = types.downcast_dict::<StringArray>().ok_or_else(missing)?;
        let pids = column("pid")?.as_primitive_opt::<UInt32Type>().ok_or_else(missing)?;
        let times = column("boot_ns")?.as_primitive_opt::<UInt64Type>().ok_or_else(missing)?;
        let of = |(at, name): (usize, Option<&str>)| {
            let exec = name == Some("exec") && pids.is_valid(at) && times.is_valid(at);
            exec.then(|| self.execs.get(&(pids.value(at), times.value(at)))).flatten()
        };
        Ok(types.into_iter().enumerate().map(of).collect())
    }
}

/// A column of a recording, with the report's word where a row is of an exec.
fn from_report(name: &str, column: &ArrayRef, execs: &[Option<&ExecRecord>]) -> Result<ArrayRef, ArrowError> {
    let missing = || ArrowError::SchemaError(format!("`{name}` is not what it is in a recording"));
    Ok(match name {
        "program" => {
            let mut out = StringDictionaryBuilder::<Int32Type>::new();
            execs.iter().for_each(|exec| out.append_option(exec.map(|record| record.program.text())));
            Arc::new(out.finish())
        }
        "window_table" => {
            let old = column.as_primitive_opt::<UInt64Type>().ok_or_else(missing)?;
            let mut out = UInt64Builder::with_capacity(old.len());
            execs.iter().for_each(|exec| out.append_option(exec.and_then(|record| record.spawn_window.table)));
            Arc::new(out.finish())
        }
        _ => {
            let old = column.as_primitive_opt::<UInt32Type>().ok_or_else(missing)?;
            let mut out = UInt32Builder::with_capacity(old.len());
            execs.iter().for_each(|exec| out.append_option(exec.and_then(|record| record.spawn_window.high_water)));
            Arc::new(out.finish())
        }
    })
}
