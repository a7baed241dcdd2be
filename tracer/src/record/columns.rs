//! The columns of a recording: one list makes the schema, the row and the builders.

use std::{borrow::Cow, sync::Arc};

use arrow_array::{
    ArrayRef, RecordBatch,
    builder::{BinaryBuilder, StringBuilder, StringDictionaryBuilder, TimestampNanosecondBuilder},
    builder::{UInt32Builder, UInt64Builder},
    types::Int32Type,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};

/// Column that says what a row is.
pub const TYPE: &str = "type";
/// Column with the kernel's own bytes.
pub const RAW: &str = "raw";
/// Column with what does not come from the kernel, as JSON.
pub const PAYLOAD: &str = "payload";
/// Key of a column's metadata that holds its meaning.
const HELP: &str = "help";

/// Text that repeats itself.
type Words = StringDictionaryBuilder<Int32Type>;

macro_rules! columns {
    ($($name:ident: $type:ident, $help:literal;)*) => {
        /// One row. What does not belong to its type is none.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub(super) struct Row<'a> {
            $(#[doc = $help] pub $name: Option<value!($type, 'a)>,)*
        }

        /// Rows on their way to a batch.
        pub(super) struct Columns {
            schema: SchemaRef,
            $($name: builder!($type),)*
        }

        impl Columns {
            /// No rows yet, for a stream with this metadata.
            pub(super) fn new(start: String) -> Columns {
                let fields = vec![$(field(stringify!($name).trim_start_matches("r#"), data!($type), $help),)*];
                let metadata = [(super::start::KEY.to_owned(), start)].into();
                Columns { schema: Arc::new(Schema::new_with_metadata(fields, metadata)), $($name: make!($type),)* }
            }

            /// The schema.
            pub(super) fn schema(&self) -> &SchemaRef {
                &self.schema
            }

            /// Adds a row.
            pub(super) fn push(&mut self, row: &Row<'_>) {
                $(self.$name.append_option(view!($type, row.$name));)*
            }

            /// The rows so far; none are left.
            pub(super) fn take(&mut self) -> Result<RecordBatch, ArrowError> {
                let columns: Vec<ArrayRef> = vec![$(Arc::new(self.$name.finish()),)*];
                RecordBatch::try_new(Arc::clone(&self.schema), columns)
            }
        }
    };
}

macro_rules! value {
    (time, $life:lifetime) => { i64 };
    (u32, $life:lifetime) => { u32 };
    (u64, $life:lifetime) => { u64 };
    (words, $life:lifetime) => { Cow<$life, str> };
    (text, $life:lifetime) => { Cow<$life, str> };
    (bytes, $life:lifetime) => { &$life [u8] };
}

macro_rules! builder {
    (time) => {
        TimestampNanosecondBuilder
    };
    (u32) => {
        UInt32Builder
    };
    (u64) => {
        UInt64Builder
    };
    (words) => {
        Words
    };
    (text) => {
        StringBuilder
    };
    (bytes) => {
        BinaryBuilder
    };
}

macro_rules! make {
    (time) => {
        TimestampNanosecondBuilder::new().with_timezone(UTC)
    };
    ($type:ident) => {
        <builder!($type)>::new()
    };
}

macro_rules! view {
    (words, $value:expr) => {
        $value.as_deref()
    };
    (text, $value:expr) => {
        $value.as_deref()
    };
    ($type:ident, $value:expr) => {
        $value
    };
}

macro_rules! data {
    (time) => {
        DataType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into()))
    };
    (u32) => {
        DataType::UInt32
    };
    (u64) => {
        DataType::UInt64
    };
    (words) => {
        DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
    };
    (text) => {
        DataType::Utf8
    };
    (bytes) => {
        DataType::Binary
    };
}

const UTC: &str = "UTC";

columns! {
    time: time, "When, wall clock.";
    boot_ns: u64, "The same moment, boot time, nanoseconds.";
    r#type: words, "What the row is: proc, exec, exit, table, move, census, descriptor, slot, removed, look, stack, place, check, counted, note, end.";
    reason: words, "Why a table or a census was reported; open or close of a slot.";
    pid: u32, "The process, in the initial namespace.";
    tid: u32, "The thread: that called exec, moved, opened or closed.";
    comm: words, "Name of the process, after an exec the new one.";
    spawner_pid: u32, "The process that forked it.";
    spawner: words, "Name of that process, at the fork.";
    program: words, "Base name of what was execed.";
    path: words, "Path handed to exec; name of a descriptor.";
    table: u64, "The descriptor table.";
    live: u32, "Live descriptors of that table, at that moment.";
    high_water: u32, "Greatest number of them since the table was first seen.";
    soft_limit: u32, "Soft limit on descriptors.";
    kinds: words, "What the live descriptors are, JSON: kind to count.";
    installs: u64, "Descriptors that appeared in the table since it was first seen.";
    closes: u64, "Descriptors that went.";
    failures: u64, "Descriptors that could not be made.";
    crests: u32, "Rises that have fallen by half again.";
    crest_high_water: u32, "Top of the present crest, or of the one that has just fallen.";
    crest_floor: u32, "What it rose from.";
    window_table: u64, "The spawner's table, at an exec.";
    window_high_water: u32, "Greatest number of live descriptors in the spawner's table since the last exec from it.";
    number: u32, "The descriptor of a slot or of a row of a census.";
    kind: words, "What it is.";
    exit: words, "How a process ended.";
    census: u32, "Which census, with the table.";
    raw: bytes, "The kernel's record, for replaying.";
    payload: text, "What does not come from the kernel, JSON.";
}

fn field(name: &str, data: DataType, help: &str) -> Field {
    Field::new(name, data, true).with_metadata([(HELP.to_owned(), help.to_owned())].into())
}
