//! Values of JSON objects, of fixtures and of the tool alike.

use serde_json::Value;

/// A number that must be there.
pub fn number(value: &Value, path: &str) -> u64 {
    let found = at(value, path);
    found.as_u64().unwrap_or_else(|| panic!("`{path}` is {found}, not a number: {value}"))
}

/// What is at a path of keys with dots; null if there is nothing.
pub fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(value, |value, key| &value[key])
}

/// The list at a path.
pub fn list<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    let found = at(value, path);
    found.as_array().unwrap_or_else(|| panic!("`{path}` is {found}, not a list"))
}

/// Failures as a fixture and as the tool tells them, cut down to what both say.
pub fn failures(value: &Value) -> Vec<(String, String, u64, u64)> {
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let rows = value.as_array().expect("failures").iter();
    let rows = rows.map(|row| (text(row, "syscall"), text(row, "errno"), number(row, "count"), number(row, "live")));
    // Only what the table, its limit or the system refuses is a failure of interest to the tool.
    let limits = ["EMFILE", "ENFILE"];
    let past = [("dup2", "EBADF"), ("dup3", "EBADF"), ("fcntl", "EINVAL")];
    rows.filter(|(call, errno, ..)| limits.contains(&&**errno) || past.contains(&(call, errno))).collect()
}

/// Collects what is not as it should be, so that one run shows everything.
#[derive(Debug, Default)]
pub struct Differences(Vec<String>);

impl Differences {
    /// Notes a difference between `got` and `want`.
    pub fn check<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, got: T, want: T) {
        if got != want {
            self.0.push(format!("{what}: the tool says {got:?}, the truth is {want:?}"));
        }
    }

    /// How many there are.
    pub fn number(&self) -> usize {
        self.0.len()
    }

    /// Says what may explain those before it.
    pub fn note(&mut self, text: String) {
        self.0.push(text);
    }

    /// Fails if there was one.
    pub fn none(self, about: &str) {
        // In one line, for summaries that show no more.
        assert!(self.0.is_empty(), "{about}: {} differences: {}", self.0.len(), self.0.join("; "));
    }
}
