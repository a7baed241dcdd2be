//! What every verb that traces a tree takes.

use std::{path::PathBuf, str::FromStr};

use anyhow::Context as _;
use clap::{Args, Parser, ValueEnum};

use crate::redact::Redactor;

#[derive(Debug, Args)]
pub(in crate::cli) struct Common {
    /// What to write [default: text; for `attach` on a terminal: the view of `fdtide top`]
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Where to write it; `-` is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
    /// A level counts as settled once it has been still for this long, milliseconds
    #[arg(long, value_name = "MS", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    pub settle: u64,
    /// List every descriptor at a crest of at least so many, at the first failure of each kind and, if this is given, at the
    /// end [default: at 256 and at failures]; `off` for never
    #[arg(long, value_name = "COUNT|off")]
    pub census: Option<CensusAt>,
    /// Note when each descriptor was opened, for the ages in a census: about 30 ns on each open of a traced process
    #[arg(long)]
    pub ages: bool,
    /// Take the user stack of each open, and name in a census who opened what: about 0.3 µs on each open of a traced process
    #[arg(long)]
    pub stacks: bool,
    /// Put placeholders for the names of files, folders, addresses and arguments, in all that is written
    #[arg(long)]
    pub redact_paths: bool,
    /// What makes them, where they are to be the same as elsewhere.
    #[arg(skip)]
    pub key: Option<Redactor>,
    /// Keep everything in a recording too, for `fdtide report` and `fdtide export`
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// How much a recording holds
    #[arg(long, value_enum, default_value_t = DepthChoice::Records, requires = "record")]
    pub depth: DepthChoice,
    /// How to look into the kernel
    #[arg(long, value_enum, default_value_t = BackendChoice::Auto)]
    pub backend: BackendChoice,
}

impl Common {
    /// What makes placeholders, if any are to be made.
    pub(in crate::cli) fn redactor(&self) -> anyhow::Result<Option<Redactor>> {
        match self.key {
            None if self.redact_paths => redactor().map(Some),
            key => Ok(key),
        }
    }

    /// What to write.
    pub(in crate::cli) fn format(&self) -> Format {
        self.format.unwrap_or(Format::Text)
    }

    /// What nobody has said anything about.
    pub(in crate::cli) fn unsaid() -> Result<Self, clap::Error> {
        #[derive(Parser)]
        struct Only {
            #[command(flatten)]
            common: Common,
        }
        Only::try_parse_from(["fdtide"]).map(|only| only.common)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Format {
    /// For people: at most a screen
    Text,
    /// Everything, at the end
    Json,
    /// One exec record per line, as each is complete
    Jsonl,
    /// A page for a browser, at the end; needs `-o`
    Html,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum DepthChoice {
    /// Execs, crests, failures, the lives of processes
    Records,
    /// Every install and close too
    Events,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum BackendChoice {
    /// The first that proves itself, cheapest for others first
    Auto,
    /// Trampolines at the functions that change a table
    Fentry,
    /// Probes at the same functions
    Kprobe,
    /// The exit of every syscall
    Syscall,
}

/// With a key that nobody knows.
pub(in crate::cli) fn redactor() -> anyhow::Result<Redactor> {
    Redactor::random().context("failed to make a key for placeholders")
}

/// When every descriptor is listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::cli) enum CensusAt {
    /// At a high crest, and at failures.
    #[default]
    Usual,
    /// At a crest of so many, at failures, and at the end.
    Crest(u32),
    /// Never.
    Never,
}

impl CensusAt {
    /// The least crest.
    pub fn at(self) -> Option<u32> {
        match self {
            Self::Usual => Some(256),
            Self::Crest(live) => Some(live),
            Self::Never => None,
        }
    }
}

impl FromStr for CensusAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(live @ 1..) => Ok(Self::Crest(live)),
            _ if text == "off" => Ok(Self::Never),
            _ => Err("neither a number of descriptors from 1 up nor `off`".to_owned()),
        }
    }
}
