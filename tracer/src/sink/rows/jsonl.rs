//! Rows as JSON, one object per line, without what is not there.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use serde_json::Value as Json;

use super::{
    Table,
    value::{self, Value},
};

/// Columns that hold JSON already.
const JSON: [&str; 2] = ["kinds", "payload"];

/// Writes JSON Lines.
pub struct Jsonl<W> {
    out: W,
}

impl<W: Write> Jsonl<W> {
    /// To here.
    pub fn new(out: W) -> Self {
        Self { out }
    }
}

impl<W: Write> Table for Jsonl<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let names = value::names(batch);
        let mut text = Vec::new();
        for row in 0..batch.num_rows() {
            // In the order of the columns, which a map would not keep.
            let mut separator = b'{';
            for (name, column) in names.iter().zip(batch.columns()) {
                let json: Json = match value::at(column, row) {
                    Value::None => continue,
                    Value::Number(number) => number.into(),
                    Value::Text(word) if JSON.contains(&name.as_str()) => {
                        serde_json::from_str(word).unwrap_or_else(|_| word.into())
                    }
                    Value::Text(word) => word.into(),
                    Value::Time(time) => time.into(),
                };
                text.push(std::mem::replace(&mut separator, b','));
                serde_json::to_writer(&mut text, name).map_err(std::io::Error::from)?;
                text.push(b':');
                serde_json::to_writer(&mut text, &json).map_err(std::io::Error::from)?;
            }
            text.extend_from_slice(b"}\n");
        }
        Ok(self.out.write_all(&text)?)
    }

    fn finish(&mut self) -> Result<(), ArrowError> {
        Ok(self.out.flush()?)
    }
}
