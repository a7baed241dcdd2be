//! What is asked and answered. Keys may be added, none changes its meaning.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::config::Level;

/// Longest request, bytes, with its line end.
pub const REQUEST_MAX: usize = 16 << 10;
/// Longest answer, bytes.
pub const ANSWER_MAX: usize = 4 << 20;
/// Longest mark, bytes.
pub const MARK_MAX: usize = 1024;

/// The text of a mark as it is noted, if it can be one: a line of 1 to [`MARK_MAX`] bytes, without control characters.
#[must_use]
pub fn mark(text: &str) -> Option<&str> {
    let text = text.trim();
    let sound = !text.is_empty() && text.len() <= MARK_MAX && !text.contains(char::is_control);
    sound.then_some(text)
}

/// What can be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
pub enum Request {
    /// How things are.
    Status,
    /// Trace this too.
    Add {
        /// Whom, as in the configuration.
        target: String,
    },
    /// Trace it no longer.
    Remove {
        /// Whom, as it was added.
        target: String,
    },
    /// List every descriptor of every traced process.
    Census,
    /// Write the flight recorder's stretch to a file.
    Dump,
    /// Note something at this moment.
    Mark {
        /// What.
        text: String,
    },
    /// Log so much from now on.
    Log {
        /// How much.
        level: Level,
    },
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// It was done.
    pub ok: bool,
    /// What was done, or why it was not and what to do.
    pub text: String,
    /// How things are, where that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Box<Status>>,
    /// File that was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

impl Answer {
    /// It was done.
    #[must_use]
    pub fn done(text: impl Into<String>) -> Answer {
        Answer { ok: true, text: text.into(), status: None, path: None }
    }

    /// It was not.
    #[must_use]
    pub fn refused(text: impl Into<String>) -> Answer {
        Answer { ok: false, ..Answer::done(text) }
    }
}

/// How things are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// Version of fdtide.
    pub version: String,
    /// Process of the agent.
    pub pid: u32,
    /// Start of the trace, RFC 3339 in UTC.
    pub since: String,
    /// Way of hooking.
    pub backend: String,
    /// What is followed, as it was named.
    pub targets: Vec<String>,
    /// Traced processes that have not ended.
    pub processes: u64,
    /// Their tables.
    pub tables: u64,
    /// Execs so far.
    pub execs: u64,
    /// Failures of the tables in use so far.
    pub failures: u64,
    /// Records that found no room in the ring.
    pub lost: u64,
    /// Runs of a hook that did not happen.
    pub missed: u64,
    /// Records that could not be read.
    pub skipped: u64,
    /// What the agent itself uses.
    pub agent: Option<crate::model::Agent>,
    /// The flight recorder.
    pub recorder: Option<Recorder>,
    /// Alerts that were sent.
    pub alerts: Alerts,
    /// Marks so far.
    pub marks: u64,
    /// Present level of logs.
    pub level: Level,
    /// What is wrong now, in sentences.
    pub trouble: Vec<String>,
    /// What exporters tell of themselves, by name.
    pub exporters: serde_json::Map<String, Value>,
}

/// The flight recorder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Recorder {
    /// It records.
    pub recording: bool,
    /// Bytes of its segments.
    pub bytes: u64,
    /// Dumps of this run.
    pub dumps: u64,
    /// How often it had to pause.
    pub pauses: u64,
}

/// Alerts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Alerts {
    /// Commands and posts that went well.
    pub sent: u64,
    /// Those that failed or took too long.
    pub failed: u64,
    /// Alerts that came too soon after one of the same cause.
    pub suppressed: u64,
    /// Alerts for which too many were under way.
    pub dropped: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_single_lines_with_what_they_need() {
        let read = |text: &str| serde_json::from_str::<Request>(text);
        assert_eq!(read(r#"{"do":"status"}"#).unwrap(), Request::Status);
        assert_eq!(
            read(r#"{"do":"mark","text":"deploy 1.4.2"}"#).unwrap(),
            Request::Mark { text: "deploy 1.4.2".to_owned() }
        );
        assert_eq!(read(r#"{"do":"log","level":"debug"}"#).unwrap(), Request::Log { level: Level::Debug });
        for bad in ["", "{}", r#"{"do":"format"}"#, r#"{"do":"add"}"#, "[1]"] {
            assert!(read(bad).is_err(), "{bad}");
        }
        let line = serde_json::to_string(&Request::Mark { text: "a\nb".to_owned() }).unwrap();
        assert!(!line.contains('\n'));
    }
}
