//! Rows as CSV (RFC 4180), with a line of names.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use super::{
    Table,
    value::{self, Value},
};

/// Writes CSV.
pub struct Csv<W> {
    out: W,
    titled: bool,
}

impl<W: Write> Csv<W> {
    /// To here.
    pub fn new(out: W) -> Self {
        Self { out, titled: false }
    }
}

impl<W: Write> Table for Csv<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let mut text = String::new();
        if !std::mem::replace(&mut self.titled, true) {
            text.push_str(&value::names(batch).join(","));
            text.push('\n');
        }
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
