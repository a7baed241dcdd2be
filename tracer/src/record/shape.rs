//! Whether a message has the shape of one of ours, before Arrow's reader takes it: that one trusts lengths and offsets, and
//! panics where they lie. A checksum keeps accidents out, not somebody who makes one.

use arrow_ipc::{DictionaryBatch, Field, Message, MessageHeader, RecordBatch, Schema, Type};

/// No column of a batch of ours is longer when unpacked, bytes.
const UNPACKED: u64 = 256 << 20;
/// No batch of ours has more rows.
const ROWS: i64 = 1 << 24;

/// Buffers of each column of a stream, in the order of the schema.
#[derive(Clone, Debug, Default)]
pub(super) struct Shape {
    buffers: Vec<usize>,
}

impl Shape {
    /// That of a stream with this schema; none if it has columns of a kind that no recording has.
    pub(super) fn of(message: &Message<'_>) -> Option<Shape> {
        let schema: Schema<'_> = message.header_as_schema()?;
        let little = schema.endianness() == arrow_ipc::Endianness::Little;
        let buffers = schema.fields()?.iter().map(|field| column(&field)).collect::<Option<Vec<_>>>()?;
        (little && message.bodyLength() == 0).then_some(Shape { buffers })
    }

    /// Whether a message is a batch or a dictionary of such a stream, and within its body.
    pub(super) fn fits(&self, message: &Message<'_>, body: &[u8]) -> bool {
        match message.header_type() {
            MessageHeader::RecordBatch => {
                message.header_as_record_batch().is_some_and(|batch| batch_fits(&batch, &self.buffers, body))
            }
            MessageHeader::DictionaryBatch => message
                .header_as_dictionary_batch()
                .filter(|dictionary: &DictionaryBatch<'_>| !dictionary.isDelta())
                .and_then(|dictionary| dictionary.data())
                .is_some_and(|batch| batch_fits(&batch, &[TEXT], body)),
            _ => false,
        }
    }
}

/// Buffers of text: validity, offsets, bytes.
const TEXT: usize = 3;
/// Buffers of numbers: validity, values.
const NUMBER: usize = 2;

fn column(field: &Field<'_>) -> Option<usize> {
    if field.name().is_none() || field.children().is_some_and(|children| !children.is_empty()) {
        return None;
    }
    let plain = match field.type_type() {
        Type::Utf8 | Type::Binary => Some(TEXT),
        Type::Int => field.type_as_int().filter(|int| matches!(int.bitWidth(), 32 | 64)).map(|_| NUMBER),
        Type::Timestamp => {
            let zone = field.type_as_timestamp()?;
            (zone.unit() == arrow_ipc::TimeUnit::NANOSECOND && zone.timezone().is_some()).then_some(NUMBER)
        }
        _ => None,
    };
    match field.dictionary() {
        None => plain,
        Some(dictionary) => {
            let index = dictionary.indexType()?;
            let words = field.type_type() == Type::Utf8 && !dictionary.isOrdered();
            (words && index.bitWidth() == 32 && index.is_signed()).then_some(NUMBER)
        }
    }
}

fn batch_fits(batch: &RecordBatch<'_>, columns: &[usize], body: &[u8]) -> bool {
    let (Some(nodes), Some(buffers)) = (batch.nodes(), batch.buffers()) else { return false };
    let rows = batch.length();
    let nodes_fit = nodes.len() == columns.len()
        && nodes.iter().all(|node| node.length() == rows && (0..=rows).contains(&node.null_count()));
    let packed = batch.compression().is_some();
    let within = |offset: i64, length: i64| {
        let from = usize::try_from(offset).ok()?;
        body.get(from..from.checked_add(usize::try_from(length).ok()?)?)
    };
    (0..=ROWS).contains(&rows)
        && nodes_fit
        && buffers.len() == columns.iter().sum::<usize>()
        && buffers.iter().all(|buffer| {
            within(buffer.offset(), buffer.length()).is_some_and(|bytes| !packed || bytes.is_empty() || unpacks(bytes))
        })
}

/// Whether a packed buffer says a length that may be: -1 for one that is not packed after all.
fn unpacks(bytes: &[u8]) -> bool {
    let length = bytes.first_chunk::<8>().map(|bytes| i64::from_le_bytes(*bytes));
    length.is_some_and(|length| length == -1 || u64::try_from(length).is_ok_and(|length| length <= UNPACKED))
}
