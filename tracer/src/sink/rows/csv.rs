//! Rows as CSV (RFC 4180), with a line of names.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema};

use super::{
    Table,
    value::{self, Value},
};

/// Writes CSV.
pub struct Csv<W> {
    out: W,
}

impl<W: Write> Csv<W> {
    /// Begins with the names of the columns.
    ///
    /// # Errors
    ///
    /// When they can't be written.
    pub fn new(mut out: W, schema: &Schema) -> Result<Self, ArrowError> {
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        writeln!(out, "{}", names.join(","))?;
        Ok(Self { out })
    }
}

impl<W: Write> Table for Csv<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            for (at, column) in batch.columns().iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                match value::at(column, row) {
                    Value::None => {}
                    Value::Number(number) => text.push_str(&number.to_string()),
                    Value::Text(word) => quoted(&mut text, word),
                    Value::Time(time) => text.push_str(&time),
                }
            }
            text.push('\n');
        }
        Ok(self.out.write_all(text.as_bytes())?)
    }

    fn finish(&mut self) -> Result<(), ArrowError> {
        Ok(self.out.flush()?)
    }
}

/// A text, in quotes where it needs them.
fn quoted(out: &mut String, text: &str) {
    if text.contains(['"', ',', '\n', '\r']) {
        out.push('"');
        out.push_str(&text.replace('"', "\"\""));
        out.push('"');
    } else {
        out.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_needs_quotes_has_them() {
        let mut out = String::new();
        for text in ["plain", "a,b", "say \"hi\"", "two\nlines"] {
            quoted(&mut out, text);
            out.push('|');
        }
        assert_eq!(out, "plain|\"a,b\"|\"say \"\"hi\"\"\"|\"two\nlines\"|");
    }
}
