//! The plan of an audit, as TOML: attempts, each a command with one number of threads or several.

use core::time::Duration;

use serde::Deserialize;
use toml::Spanned;

/// A plan, each attempt once for every number of threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Attempts in the order of the file.
    pub attempts: Vec<Attempt>,
    /// Attempts under way at a time.
    pub workers: usize,
    /// Whether an attempt in which calls were refused fails the audit.
    pub failures_fail: bool,
}

/// One run of one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// From 1.
    pub number: usize,
    /// Name of what it does.
    pub trigger: String,
    /// For the column of that name, and for `{threads}` in the command.
    pub threads: u64,
    /// What is run, `{threads}` replaced.
    pub command: Vec<String>,
    /// Soft limit on descriptors.
    pub nofile: Option<u64>,
    /// How long a level must be still to count as settled.
    pub settle: Duration,
    /// After this long it is killed.
    pub timeout: Duration,
    /// How long to wait for what it leaves behind.
    pub linger: Duration,
}

/// Where a plan is wrong, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct PlanError {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    workers: Option<Spanned<i64>>,
    failures: Option<Spanned<String>>,
    settle: Option<Spanned<String>>,
    timeout: Option<Spanned<String>>,
    linger: Option<Spanned<String>>,
    nofile: Option<Spanned<i64>>,
    attempt: Spanned<Vec<Entry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    trigger: Spanned<String>,
    command: Spanned<Vec<String>>,
    threads: Option<Spanned<Threads>>,
    settle: Option<Spanned<String>>,
    timeout: Option<Spanned<String>>,
    linger: Option<Spanned<String>>,
    nofile: Option<Spanned<i64>>,
}

#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum Threads {
    One(i64),
    Several(Vec<i64>),
}

impl Plan {
    /// Reads one.
    ///
    /// # Errors
    /// The place of the first thing that is wrong.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        let file: File = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            problem(text, at, error.message().trim_end().replace('\n', "; "))
        })?;
        let reader = Reader { text };
        let workers = file.workers.as_ref().map_or(Ok(1), |workers| reader.whole(workers, 1, 64))?;
        let failures_fail = match &file.failures {
            None => false,
            Some(word) => match word.as_ref().as_str() {
                "tell" => false,
                "fail" => true,
                other => {
                    let message = format!("`{other}` is neither `tell` nor `fail`");
                    return Err(reader.problem(word, message));
                }
            },
        };
        if file.attempt.as_ref().is_empty() {
            return Err(reader.problem(&file.attempt, "there is no attempt: write one under [[attempt]]".to_owned()));
        }
        let mut attempts = Vec::new();
        for entry in file.attempt.as_ref() {
            reader.attempts(entry, &file, &mut attempts)?;
        }
        Ok(Self { attempts, workers: workers as usize, failures_fail })
    }
}

fn problem(text: &str, at: usize, message: String) -> PlanError {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    PlanError { line, column, message }
}

struct Reader<'a> {
    text: &'a str,
}

impl Reader<'_> {
    fn problem<T>(&self, at: &Spanned<T>, message: String) -> PlanError {
        problem(self.text, at.span().start, message)
    }

    fn whole(&self, value: &Spanned<i64>, least: u64, most: u64) -> Result<u64, PlanError> {
        let found = u64::try_from(*value.as_ref()).ok().filter(|found| (least..=most).contains(found));
        found.ok_or_else(|| self.problem(value, format!("`{}` is not from {least} to {most}", value.as_ref())))
    }

    /// The entry's own value, the file's, or the one that it is by default.
    fn time(
        &self,
        own: &Option<Spanned<String>>,
        all: &Option<Spanned<String>>,
        default: Duration,
    ) -> Result<Duration, PlanError> {
        let Some(value) = own.as_ref().or(all.as_ref()) else { return Ok(default) };
        duration(value.as_ref()).map_err(|message| self.problem(value, message))
    }

    fn attempts(&self, entry: &Entry, file: &File, attempts: &mut Vec<Attempt>) -> Result<(), PlanError> {
        let command = entry.command.as_ref();
        if command.first().is_none_or(String::is_empty) {
            return Err(
                self.problem(&entry.command, "the command is empty: write [\"program\", \"argument\"]".to_owned())
            );
        }
        if entry.trigger.as_ref().trim().is_empty() {
            return Err(self.problem(&entry.trigger, "the trigger has no name".to_owned()));
        }
        let threads = match entry.threads.as_ref().map(|threads| (threads, threads.as_ref().clone())) {
            None => vec![1],
            Some((at, Threads::One(one))) => self.threads(at, &[one])?,
            Some((at, Threads::Several(several))) => self.threads(at, &several)?,
        };
        let nofile = entry.nofile.as_ref().or(file.nofile.as_ref());
        let nofile = nofile.map(|soft| self.whole(soft, 8, 1 << 30)).transpose()?;
        let settle = self.time(&entry.settle, &file.settle, Duration::from_millis(100))?;
        let timeout = self.time(&entry.timeout, &file.timeout, Duration::from_secs(60))?;
        let linger = self.time(&entry.linger, &file.linger, Duration::ZERO)?;
        for threads in threads {
            let command = command.iter().map(|word| word.replace("{threads}", &threads.to_string())).collect();
            let (number, trigger) = (attempts.len() + 1, entry.trigger.as_ref().clone());
            attempts.push(Attempt { number, trigger, threads, command, nofile, settle, timeout, linger });
        }
        Ok(())
    }

    fn threads(&self, at: &Spanned<Threads>, numbers: &[i64]) -> Result<Vec<u64>, PlanError> {
        let wrong = || self.problem(at, "threads are a whole number from 1 on, or a list of such".to_owned());
        if numbers.is_empty() {
            return Err(wrong());
        }
        numbers.iter().map(|number| u64::try_from(*number).ok().filter(|n| *n > 0).ok_or_else(wrong)).collect()
    }
}

/// A number and its unit.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no duration: write a number and ms, s or m");
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
    let (number, unit) = text.split_at(split);
    let scale = match unit.trim() {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        _ => return Err(wrong()),
    };
    let seconds = number.parse::<f64>().map_err(|_| wrong())? * scale;
    Duration::try_from_secs_f64(seconds).ok().filter(|time| time.as_secs() <= 86_400).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
timeout = "30s"
workers = 2
failures = "fail"

[[attempt]]
trigger = "exec burst"
threads = [10, 50]
command = ["./harness", "--threads={threads}"]

[[attempt]]
trigger = "idle"
command = ["true"]
timeout = "250ms"
nofile = 1024
"#;

    #[test]
    fn each_number_of_threads_is_an_attempt_and_defaults_hold_where_nothing_else_is_said() {
        let plan = Plan::parse(GOOD).unwrap();
        assert_eq!((plan.workers, plan.failures_fail, plan.attempts.len()), (2, true, 3));
        let [ten, fifty, idle] = &plan.attempts[..] else { panic!("three") };
        assert_eq!((ten.number, fifty.number, idle.number), (1, 2, 3));
        assert_eq!(ten.command, ["./harness", "--threads=10"]);
        assert_eq!((fifty.threads, fifty.timeout, fifty.nofile), (50, Duration::from_secs(30), None));
        assert_eq!((idle.threads, idle.timeout, idle.nofile), (1, Duration::from_millis(250), Some(1024)));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let attempt = "[[attempt]]\ntrigger = \"x\"\n";
        let cases = [
            ("workers = ", 1, ""),
            ("[[attempt]]\ntriger = \"x\"\ncommand = [\"true\"]\n", 2, "triger"),
            (&format!("{attempt}command = []\n"), 3, "empty"),
            (&format!("{attempt}command = [\"true\"]\nthreads = 0\n"), 4, "from 1 on"),
            (&format!("{attempt}command = [\"true\"]\ntimeout = \"5 parsecs\"\n"), 4, "parsecs"),
            (&format!("workers = 0\n{attempt}command = [\"true\"]\n"), 1, "from 1 to 64"),
            (&format!("failures = \"maybe\"\n{attempt}command = [\"true\"]\n"), 1, "`maybe`"),
            ("attempt = []\n", 1, "no attempt"),
            (&format!("timout = \"5s\"\n{attempt}command = [\"true\"]\n"), 1, "timout"),
        ];
        for (text, line, word) in cases {
            let error = Plan::parse(text).unwrap_err();
            assert!(error.line == line && error.message.contains(word), "{text:?}: {error}");
        }
        let error = Plan::parse(&format!("{attempt}command = [\"true\"]\nthreads = 0\n")).unwrap_err();
        assert_eq!(error.column, 11);
    }
}
