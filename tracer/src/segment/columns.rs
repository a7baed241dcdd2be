//! The columns of a segment: one list makes the row, the schema, the builders and the documentation.
//!
//! Numbers are signed and times are microseconds, because Spark reads neither unsigned 64-bit numbers nor nanoseconds from
//! Parquet. A column that an export of rows has too has its name and its meaning here.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, RecordBatch,
    builder::{BooleanBuilder, Int64Builder, StringBuilder, TimestampMicrosecondBuilder},
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use serde::{Deserialize, Serialize};

/// Version of the columns. A reader takes this one and all before; columns may be added without a new one.
pub const VERSION: u32 = 1;
/// Key of the file's metadata that holds [`Head`](super::Head) as JSON.
pub const KEY: &str = "fdtide";

/// One column, for documentation.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// `number`, `text`, `bool` or `time`.
    pub kind: &'static str,
    /// Types of rows that have it.
    pub rows: &'static str,
    /// What it says.
    pub help: &'static str,
}

macro_rules! columns {
    ($($name:ident: $type:ident, $rows:literal, $help:literal;)*) => {
        /// Every column, in order.
        pub const COLUMNS: &[Column] = &[$(Column {
            name: name(stringify!($name)), kind: stringify!($type), rows: $rows, help: $help,
        },)*];

        /// One row. What does not belong to its type, or is not known, is none.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Row {
            $(#[doc = $help] #[serde(skip_serializing_if = "Option::is_none")] pub $name: Option<value!($type)>,)*
        }

        /// The schema. What columns mean is in [`COLUMNS`]: in every one of many small files it would take most of the room.
        #[must_use]
        pub fn schema() -> Schema {
            Schema::new(vec![$(Field::new(name(stringify!($name)), data!($type), true),)*])
        }

        /// Rows on their way to a batch.
        #[derive(Debug)]
        pub struct Batch {
            schema: SchemaRef,
            rows: usize,
            $($name: builder!($type),)*
        }

        impl Batch {
            /// No rows yet, for files with this schema.
            #[must_use]
            pub fn new(schema: SchemaRef) -> Batch {
                Batch { schema, rows: 0, $($name: make!($type),)* }
            }

            /// Adds a row.
            pub fn push(&mut self, row: &Row) {
                self.rows += 1;
                $(self.$name.append_option(view!($type, row.$name));)*
            }

            /// The rows so far; none are left.
            ///
            /// # Errors
            ///
            /// When the schema is not [`schema`].
            pub fn take(&mut self) -> Result<RecordBatch, ArrowError> {
                self.rows = 0;
                let columns: Vec<ArrayRef> = vec![$(Arc::new(self.$name.finish()),)*];
                RecordBatch::try_new(Arc::clone(&self.schema), columns)
            }
        }
    };
}

macro_rules! value {
    (number) => {
        i64
    };
    (time) => {
        i64
    };
    (bool) => {
        bool
    };
    (text) => {
        String
    };
}

macro_rules! builder {
    (number) => {
        Int64Builder
    };
    (time) => {
        TimestampMicrosecondBuilder
    };
    (bool) => {
        BooleanBuilder
    };
    (text) => {
        StringBuilder
    };
}

macro_rules! make {
    (time) => {
        TimestampMicrosecondBuilder::new().with_timezone(UTC)
    };
    ($type:ident) => {
        <builder!($type)>::new()
    };
}

macro_rules! view {
    (text, $value:expr) => {
        $value.as_deref()
    };
    ($type:ident, $value:expr) => {
        $value
    };
}

macro_rules! data {
    (number) => {
        DataType::Int64
    };
    (time) => {
        DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into()))
    };
    (bool) => {
        DataType::Boolean
    };
    (text) => {
        DataType::Utf8
    };
}

const UTC: &str = "UTC";

columns! {
    r#type: text, "all", "What the row is: `exec`, `failure`, `table`, `mark` or `coverage`.";
    host: text, "all", "The machine.";
    boot_id: text, "all", "Its boot: numbers of processes and boot times mean something within one boot only.";
    trace: number, "all", "The agent's run within the boot: the boot time at which it began. `seq` and `table_id` count within it.";
    time: time, "all", "When, wall clock: of the exec, the first failure, the look at the table, the mark, the end of the stretch.";
    boot_ns: number, "all", "The same moment, boot time, nanoseconds.";
    done: time, "exec, failure", "When the row was complete: the end of the image.";
    container: text, "exec, failure, table", "Container of the process, as its runtime names it.";
    seq: number, "exec, failure", "Number of the exec in the trace, from 1; 0 is the run command's own.";
    pid: number, "exec, failure, table", "The process, in the initial PID namespace.";
    ns_pid: number, "exec", "The same in its own PID namespace.";
    comm: text, "exec, table", "Name of the process.";
    program: text, "exec, failure, table", "Base name of what was execed; of a table the name of its process.";
    path: text, "exec", "Path handed to exec.";
    spawner_pid: number, "exec, failure", "The process that forked it; 0 if not known.";
    spawner: text, "exec, failure", "Name of that process, at the fork.";
    again: bool, "exec", "It has execed before, or was there at attach.";
    window_table: number, "exec", "The spawner's table.";
    window_high_water: number, "exec", "Greatest number of live descriptors in the spawner's table, in the spawn window.";
    window_settled: number, "exec", "Level that the spawner's table came to rest at.";
    window_soft_limit: number, "exec", "Soft limit at that high-water mark; 4294967295 is none.";
    window_headroom: number, "exec", "Soft limit minus high-water mark, not below 0.";
    window_overlapping: number, "exec", "Other execs from that table between fork and exec: what a window tells is then shared.";
    before_exec_high_water: number, "exec", "Greatest number of live descriptors of the child between fork and exec.";
    before_exec_soft_limit: number, "exec", "Soft limit at that mark.";
    before_exec_headroom: number, "exec", "Soft limit minus that mark, not below 0.";
    inherited: number, "exec", "Live descriptors that the image started with.";
    image_high_water: number, "exec", "Greatest number of live descriptors of the image.";
    image_settled: number, "exec", "Level that the image came to rest at.";
    image_soft_limit: number, "exec", "Soft limit at that high-water mark.";
    image_headroom: number, "exec", "Soft limit minus that mark, not below 0.";
    image_at_exit: number, "exec", "Live descriptors when the process ended.";
    ended_by: text, "exec", "`exec`, `exit`, `running` at the end of the trace, or `unseen`.";
    exit_code: number, "exec", "Exit status, if it exited.";
    exit_signal: number, "exec", "Signal, if one ended it.";
    failures: number, "exec, failure, table", "Descriptors that could not be made: in the three lives of the exec, of this kind, in this table so far.";
    kinds: text, "exec, table", "What the high-water mark was made of, JSON: kind to count; of an exec that of the spawn window.";
    life: text, "failure", "Where it failed: `window`, `before_exec` or `image`.";
    errno: text, "failure", "Error that the syscall gave.";
    syscall: text, "failure", "The syscall.";
    cause: text, "failure", "`table full`, `another quota`, `system-wide limit`, `beyond the limit` or `unclear`.";
    hidden: bool, "failure", "The syscall returned success with fewer descriptors than were sent.";
    table_id: number, "exec, table", "The descriptor table, that the image started with.";
    live: number, "failure, table", "Live descriptors at the first failure, or at the look.";
    high_water: number, "table", "Greatest number of live descriptors so far.";
    settled: number, "table", "Level that the table last came to rest at.";
    soft_limit: number, "failure, table", "Soft limit at that moment.";
    headroom: number, "table", "Soft limit minus high-water mark, not below 0.";
    mark: text, "mark", "What was said.";
    lost: number, "coverage", "Records that found no room in the ring, since the row before.";
    missed: number, "coverage", "Runs of hooks that did not happen, since the row before.";
    skipped: number, "coverage", "Records that this version could not read, since the row before.";
    dropped: number, "coverage", "Rows that never came into a segment, since the row before.";
}

/// The name of a column that is a keyword of Rust.
const fn name(text: &'static str) -> &'static str {
    match text.as_bytes() {
        b"r#type" => "type",
        _ => text,
    }
}

impl Batch {
    /// Rows since the last [`Batch::take`].
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }
}
