//! A stream of batches back to inputs.

use std::{
    fs::File,
    io::{BufReader, Read},
    path::Path,
};

use arrow_array::{Array, BinaryArray, DictionaryArray, RecordBatch, StringArray, cast::AsArray, types::Int32Type};
use arrow_buffer::Buffer;
use arrow_ipc::{convert::fb_to_schema, reader::StreamDecoder, root_as_message};
use arrow_schema::{DataType, Schema};
use serde::Deserialize;

use super::{
    Input, Start,
    columns::{PAYLOAD, RAW, TYPE},
    compat,
    error::ReadError,
    frame::{self, Stop},
    row::Placed,
    shape::Shape,
    start::KEY,
};
use crate::event::{Frame, Name, Stack};

/// How a recording's rows came to their end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// In order.
    Whole,
    /// They break off: the agent was killed, or the file was cut.
    Cut,
    /// What follows is not what was written.
    Damaged,
    /// The rest can't be read, and why.
    Unreadable(String),
}

/// An opened recording.
pub struct Reader<R> {
    from: R,
    decoder: StreamDecoder,
    start: Start,
    schema: Schema,
    shape: Shape,
    /// Bytes of the schema.
    begins_at: u64,
    end: Option<End>,
}

impl Reader<BufReader<File>> {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// When nothing of it can be read.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Reader::open_with(path, |file| file)
    }
}

impl<R: Read> Reader<BufReader<R>> {
    /// Opens a file that is read through what `through` makes of it.
    ///
    /// # Errors
    ///
    /// When nothing of it can be read.
    pub fn open_with(path: &Path, through: impl FnOnce(File) -> R) -> Result<Self, ReadError> {
        let failed = |source| ReadError::Open { path: path.to_owned(), source };
        let file = File::open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.is_dir() {
            return Err(failed(std::io::ErrorKind::IsADirectory.into()));
        }
        Reader::new(BufReader::with_capacity(1 << 18, through(file)))
    }
}

impl<R: Read> Reader<R> {
    /// Reads the start.
    ///
    /// # Errors
    ///
    /// When nothing of it can be read.
    pub fn new(mut from: R) -> Result<Self, ReadError> {
        let bytes = frame::read(&mut from).map_err(|stop| match stop {
            Stop::Cut | Stop::Over => ReadError::NoStart("breaks off".to_owned()),
            Stop::Damaged => ReadError::Foreign("it does not begin like one, or is damaged there".to_owned()),
            Stop::Unsealed => ReadError::Foreign("it is an Arrow stream of something else".to_owned()),
            Stop::Io(error) => ReadError::Read(error),
        })?;
        let begins_at = bytes.len() as u64;
        let message = root_as_message(bytes.get(8..).unwrap_or_default()).ok();
        let foreign = || ReadError::Foreign("its columns are none of a recording".to_owned());
        let shape = message.and_then(|message| Shape::of(&message)).ok_or_else(foreign)?;
        let schema = message.and_then(|message| message.header_as_schema()).map(fb_to_schema).ok_or_else(foreign)?;
        // The decoder takes in a message without a body when the next one comes.
        let mut decoder = StreamDecoder::new();
        decode(&mut decoder, bytes).map_err(ReadError::Foreign)?;
        let text = schema.metadata().get(KEY);
        let text = text.ok_or_else(|| ReadError::Foreign("it is an Arrow stream of something else".to_owned()))?;
        let start: Start = serde_json::from_str(text).map_err(|error| ReadError::Foreign(error.to_string()))?;
        compat::check(&start)?;
        let words = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        for (name, data) in [(TYPE, words), (RAW, DataType::Binary), (PAYLOAD, DataType::Utf8)] {
            if schema.field_with_name(name).is_ok_and(|field| *field.data_type() == data) {
                continue;
            }
            return Err(ReadError::Foreign(format!("it has no column `{name}`")));
        }
        Ok(Reader { from, decoder, start, schema, shape, begins_at, end: None })
    }

    /// Where, when and how it was made.
    #[must_use]
    pub fn start(&self) -> &Start {
        &self.start
    }

    /// Where its first row begins, bytes from the start.
    #[must_use]
    pub fn begins_at(&self) -> u64 {
        self.begins_at
    }

    /// What its rows are made of.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The next batch; none at the end, which [`Self::end`] then tells.
    pub fn next_batch(&mut self) -> Option<RecordBatch> {
        while self.end.is_none() {
            let read = match frame::read(&mut self.from) {
                Ok(bytes) if self.fits(&bytes) => decode(&mut self.decoder, bytes).map_err(|_| End::Damaged),
                Ok(_) => Err(End::Damaged),
                Err(Stop::Over) => Err(End::Whole),
                Err(Stop::Cut) => Err(End::Cut),
                Err(Stop::Damaged | Stop::Unsealed) => Err(End::Damaged),
                Err(Stop::Io(error)) => Err(End::Unreadable(error.to_string())),
            };
            match read {
                Ok(Some(batch)) => return Some(batch),
                Ok(None) => {}
                Err(end) => self.end = Some(end),
            }
        }
        None
    }

    /// Whether a message is one that Arrow's reader may have.
    fn fits(&self, bytes: &[u8]) -> bool {
        let Some((metadata, body)) = frame::parts(bytes) else { return false };
        root_as_message(metadata).is_ok_and(|message| self.shape.fits(&message, body))
    }

    /// How it ended; none while there may be more.
    #[must_use]
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Hands over every input that can be read, and tells how they ended.
    pub fn inputs(&mut self, mut sink: impl FnMut(Input<'_>)) -> End {
        while let Some(batch) = self.next_batch() {
            inputs(&batch, &mut sink);
        }
        self.end.clone().unwrap_or(End::Cut)
    }
}

/// Hands over the inputs of one batch. A row that can't be read is a record that can't be.
pub(super) fn inputs(batch: &RecordBatch, mut sink: impl FnMut(Input<'_>)) {
    let Some(rows) = Rows::of(batch) else { return };
    for at in 0..batch.num_rows() {
        sink(rows.input(at).unwrap_or(Input::Record(&[])));
    }
}

struct Rows<'a> {
    types: &'a DictionaryArray<Int32Type>,
    words: &'a StringArray,
    raw: &'a BinaryArray,
    payload: &'a StringArray,
}

impl<'a> Rows<'a> {
    fn of(batch: &'a RecordBatch) -> Option<Self> {
        let types = batch.column_by_name(TYPE)?.as_dictionary_opt::<Int32Type>()?;
        Some(Rows {
            types,
            words: types.values().as_string_opt::<i32>()?,
            raw: batch.column_by_name(RAW)?.as_binary_opt::<i32>()?,
            payload: batch.column_by_name(PAYLOAD)?.as_string_opt::<i32>()?,
        })
    }

    fn input(&self, at: usize) -> Option<Input<'a>> {
        let name = self.types.key(at).filter(|key| *key < self.words.len()).map(|key| self.words.value(key))?;
        let raw = self.raw.is_valid(at).then(|| self.raw.value(at));
        let payload = self.payload.is_valid(at).then(|| self.payload.value(at));
        match (name, raw, payload) {
            ("look", Some(raw), _) => Some(Input::Look(raw)),
            (_, Some(raw), _) => Some(Input::Record(raw)),
            ("stack", _, Some(text)) => serde_json::from_str::<Frames>(text).ok().map(Frames::input),
            ("place", _, Some(text)) => serde_json::from_str::<Placed<'_>>(text).ok().map(Placed::input),
            ("check", _, Some(text)) => serde_json::from_str(text).ok().map(Input::Checked),
            ("counted", _, Some(text)) => serde_json::from_str(text).ok().map(Input::Counted),
            ("pause", _, Some(text)) => serde_json::from_str(text).ok().map(Input::Paused),
            ("note", _, Some(text)) => serde_json::from_str(text).ok().map(Input::Note),
            ("end", _, Some(text)) => serde_json::from_str(text).ok().map(Box::new).map(Input::End),
            _ => None,
        }
    }
}

#[derive(Deserialize)]
struct Frames {
    at_ns: u64,
    id: u32,
    frames: Vec<FrameText>,
}

#[derive(Deserialize)]
struct FrameText {
    module: String,
    build_id: String,
    offset: u64,
    symbol: Option<String>,
    source: Option<String>,
}

impl Frames {
    fn input(self) -> Input<'static> {
        let frame = |frame: FrameText| Frame {
            module: Name::from_text(&frame.module),
            build_id: frame.build_id,
            offset: frame.offset,
            symbol: frame.symbol,
            source: frame.source,
        };
        let frames = self.frames.into_iter().map(frame).collect();
        Input::Stack(Box::new(Stack { at_ns: self.at_ns, id: self.id, frames }))
    }
}

/// One whole message into the decoder; a batch if it was one.
fn decode(decoder: &mut StreamDecoder, bytes: Vec<u8>) -> Result<Option<RecordBatch>, String> {
    let mut buffer = Buffer::from_vec(bytes);
    let batch = decoder.decode(&mut buffer).map_err(|error| error.to_string())?;
    if buffer.is_empty() { Ok(batch) } else { Err("more in a message than belongs to it".to_owned()) }
}
