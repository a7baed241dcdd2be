//! How a process ended.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::SerializeMap};

/// How a process ended, as wait(2) tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It returned this status.
    Code(u8),
    /// A signal ended it.
    Signal {
        /// Which.
        signal: u8,
        /// A core was dumped.
        core: bool,
    },
}

const SIGNALS: [&str; 32] = [
    "",
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGKILL",
    "SIGUSR1",
    "SIGSEGV",
    "SIGUSR2",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGSTKFLT",
    "SIGCHLD",
    "SIGCONT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGVTALRM",
    "SIGPROF",
    "SIGWINCH",
    "SIGIO",
    "SIGPWR",
    "SIGSYS",
];

impl Exit {
    /// From a wait(2) status, or the kernel's exit code.
    pub const fn from_wait(status: u32) -> Exit {
        let signal = (status & 0x7f) as u8;
        if signal == 0 {
            Exit::Code((status >> 8 & 0xff) as u8)
        } else {
            Exit::Signal { signal, core: status & 0x80 != 0 }
        }
    }

    /// Name of the signal, empty for an exit status and for real-time signals.
    pub fn signal_name(&self) -> &'static str {
        match self {
            Exit::Signal { signal, .. } => SIGNALS.get(usize::from(*signal)).copied().unwrap_or(""),
            Exit::Code(_) => "",
        }
    }
}

/// `exit 1`, `SIGKILL`, `signal 40`.
impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.signal_name()) {
            (Exit::Code(code), _) => write!(f, "exit {code}"),
            (Exit::Signal { signal, .. }, "") => write!(f, "signal {signal}"),
            (Exit::Signal { .. }, name) => f.write_str(name),
        }
    }
}

/// `{"code": N}` or `{"signal": N, "name": "SIG…", "core": bool}`.
impl Serialize for Exit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Exit::Code(code) => map.serialize_entry("code", code)?,
            Exit::Signal { signal, core } => {
                map.serialize_entry("signal", signal)?;
                map.serialize_entry("name", &self.to_string())?;
                map.serialize_entry("core", core)?;
            }
        }
        map.end()
    }
}

/// What [`Exit`] is written as.
#[derive(Deserialize)]
struct Written {
    code: Option<u8>,
    signal: Option<u8>,
    #[serde(default)]
    core: bool,
}

impl<'de> Deserialize<'de> for Exit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Written::deserialize(deserializer)? {
            Written { code: Some(code), signal: None, .. } => Ok(Exit::Code(code)),
            Written { code: None, signal: Some(signal), core } => Ok(Exit::Signal { signal, core }),
            _ => Err(D::Error::custom("neither an exit status nor a signal")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_statuses_are_told_apart() {
        assert_eq!(Exit::from_wait(0), Exit::Code(0));
        assert_eq!(Exit::from_wait(3 << 8), Exit::Code(3));
        assert_eq!(Exit::from_wait(9), Exit::Signal { signal: 9, core: false });
        assert_eq!(Exit::from_wait(11 | 0x80), Exit::Signal { signal: 11, core: true });
        assert_eq!(Exit::from_wait(9).to_string(), "SIGKILL");
        assert_eq!(Exit::from_wait(40).to_string(), "signal 40");
    }

    #[test]
    fn json_has_a_code_or_a_signal() {
        assert_eq!(serde_json::to_string(&Exit::Code(1)).unwrap(), r#"{"code":1}"#);
        let killed = serde_json::to_string(&Exit::from_wait(9)).unwrap();
        assert_eq!(killed, r#"{"signal":9,"name":"SIGKILL","core":false}"#);
        assert_eq!(serde_json::from_str::<Exit>(&killed).unwrap(), Exit::from_wait(9));
        assert!(serde_json::from_str::<Exit>("{}").is_err());
        for status in [0, 3 << 8, 9, 11 | 0x80, 40] {
            let exit = Exit::from_wait(status);
            let text = serde_json::to_string(&exit).unwrap();
            assert_eq!(serde_json::from_str::<Exit>(&text).unwrap(), exit);
        }
        assert!(serde_json::from_str::<Exit>("{}").is_err());
    }
}
