//! Logs for a journal or for a person, with a level that can change.

use std::{
    fmt, io,
    os::unix::fs::MetadataExt as _,
    time::{SystemTime, UNIX_EPOCH},
};

use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
    level_filters::LevelFilter,
};
use tracing_subscriber::{
    Registry,
    filter::Targets,
    fmt as lines,
    fmt::{FmtContext, FormatEvent, FormatFields, format::Writer},
    layer::SubscriberExt as _,
    registry::LookupSpan,
    reload,
    util::SubscriberInitExt as _,
};

use super::config::Level;
use crate::{event::visible, model::rfc3339};

/// Running logs.
#[derive(Clone)]
pub struct Logs {
    filter: reload::Handle<Targets, Registry>,
}

impl Logs {
    /// From now on everything is logged to stderr; what comes through the `log` crate too.
    #[must_use]
    pub fn start(level: Level) -> Logs {
        let (layer, filter) = reload::Layer::new(only(level.into()));
        let style = if is_journal() { Style::Journal } else { Style::Plain };
        let written = lines::layer().with_writer(io::stderr).event_format(Lines(style));
        let logs = Logs { filter };
        // Who has begun to log before, as another agent in the same test, goes on.
        let _ = tracing_subscriber::registry().with(layer).with(written).try_init();
        logs.set(level);
        logs
    }

    /// Another level, from now on.
    pub fn set(&self, level: Level) {
        let level = LevelFilter::from(level);
        // It fails only where nobody logs any more.
        let _ = self.filter.reload(only(level));
        log::set_max_level(match level.into_level() {
            Some(tracing::Level::ERROR) => log::LevelFilter::Error,
            Some(tracing::Level::WARN) => log::LevelFilter::Warn,
            Some(tracing::Level::INFO) => log::LevelFilter::Info,
            Some(tracing::Level::DEBUG) => log::LevelFilter::Debug,
            Some(tracing::Level::TRACE) => log::LevelFilter::Trace,
            None => log::LevelFilter::Off,
        });
    }
}

/// This and what is worse; of the loader, whose steps fill pages, only what is wrong.
fn only(level: LevelFilter) -> Targets {
    let targets = Targets::new().with_default(level);
    ["aya", "aya_obj"]
        .into_iter()
        .fold(targets, |targets, name| targets.with_target(name, level.min(LevelFilter::WARN)))
}

impl From<Level> for LevelFilter {
    fn from(level: Level) -> LevelFilter {
        match level {
            Level::Error => LevelFilter::ERROR,
            Level::Warn => LevelFilter::WARN,
            Level::Info => LevelFilter::INFO,
            Level::Debug => LevelFilter::DEBUG,
            Level::Trace => LevelFilter::TRACE,
        }
    }
}

/// Whether stderr goes to the journal: systemd says which file that is.
fn is_journal() -> bool {
    let told = std::env::var("JOURNAL_STREAM").unwrap_or_default();
    let stderr = std::fs::metadata("/proc/self/fd/2");
    stderr.is_ok_and(|found| told == format!("{}:{}", found.dev(), found.ino()))
}

#[derive(Clone, Copy)]
enum Style {
    /// `<4>text`: the journal knows the time, and takes the number for its priority.
    Journal,
    /// `2026-11-29T22:05:10.123Z warn: text`
    Plain,
}

/// Writes one line an event.
struct Lines(Style);

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut out: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let level = *event.metadata().level();
        let mut message = Message(String::new());
        event.record(&mut message);
        // A name with a line end in it must not become a line of its own.
        let text = visible(&message.0);
        match self.0 {
            Style::Journal => writeln!(out, "<{}>{text}", priority(level)),
            Style::Plain => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64);
                writeln!(out, "{} {}: {text}", rfc3339(now), level.as_str().to_lowercase())
            }
        }
    }
}

/// As syslog numbers them.
fn priority(level: tracing::Level) -> u8 {
    match level {
        tracing::Level::ERROR => 3,
        tracing::Level::WARN => 4,
        tracing::Level::INFO => 6,
        _ => 7,
    }
}

/// What an event says, and its fields behind it.
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.0.insert_str(0, &format!("{value:?}")),
            // Where a record of the `log` crate came from.
            name if name.starts_with("log.") => {}
            name => self.0.push_str(&format!(" {name}={value:?}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(style: Style, act: impl FnOnce(&reload::Handle<Targets, Registry>)) -> String {
        let kept = Kept::default();
        let writer = kept.clone();
        let (filter, handle) = reload::Layer::new(only(LevelFilter::INFO));
        let layer = lines::layer().with_writer(move || writer.clone()).event_format(Lines(style));
        let subscriber = tracing_subscriber::registry().with(filter).with(layer);
        tracing::subscriber::with_default(subscriber, || act(&handle));
        let bytes = kept.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn the_journal_gets_priorities_and_one_line_an_event() {
        let text = logged(Style::Journal, |_| {
            tracing::warn!("a\nb\u{1b}[2J");
            tracing::info!(count = 3, "seen");
            tracing::debug!("not asked for");
        });
        assert_eq!(text, "<4>a\\x0ab\\x1b[2J\n<6>seen count=3\n");
    }

    #[test]
    fn a_person_gets_the_time_and_the_level_can_change() {
        let text = logged(Style::Plain, |handle| {
            tracing::debug!("one");
            handle.reload(only(LevelFilter::DEBUG)).unwrap();
            tracing::debug!(target: "aya_obj::relocation", "a step of the loader");
            tracing::debug!("two");
        });
        assert!(text.ends_with("Z debug: two\n") && text.starts_with("20") && text.lines().count() == 1, "{text}");
    }
}
