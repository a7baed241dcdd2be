//! The configuration in the words of the parts that a trace is made of.

use std::path::Path;

use anyhow::Context as _;

use crate::{
    agent::{
        Config,
        config::{BackendName, RecordConfig},
    },
    cli::{
        args::{self, BackendChoice, CensusAt, Common, DepthChoice, Format},
        keeper::Keeper,
    },
    record::{Caps, Depth, Flight, Keep, Start},
    redact::Redactor,
};

/// A recorder in this folder.
pub(super) fn recorder(folder: &Path, config: &RecordConfig, start: &Start) -> anyhow::Result<Keeper> {
    let flight = Flight::create(folder, keep(config), start.clone()).with_context(|| {
        format!("failed to record below `{}`: name a folder that can be written under [record]", folder.display())
    })?;
    Ok(Keeper::new(flight))
}

pub(super) fn keep(config: &RecordConfig) -> Keep {
    Keep {
        keep_ns: config.keep.as_ns(),
        max_bytes: config.max_bytes.0,
        min_free: config.min_free.0,
        triggers: config.on.clone(),
        dumps: Some(Caps { count: config.dumps, bytes: config.dump_bytes.0, age_ns: config.dump_age.as_ns() }),
    }
}

/// What makes placeholders, if any are to be made.
pub(super) fn redactor(config: &Config) -> anyhow::Result<Option<Redactor>> {
    match (&config.redact_key_file, config.redact_paths) {
        (_, false) => Ok(None),
        (None, true) => args::redactor().map(Some),
        (Some(path), true) => {
            let secret = std::fs::read(path).with_context(|| {
                format!(
                    "failed to read the key `{}`: name a file that can be read under redact_key_file",
                    path.display()
                )
            })?;
            anyhow::ensure!(!secret.is_empty(), "the key `{}` is empty: put a secret into it", path.display());
            Ok(Some(Redactor::keyed(&secret)))
        }
    }
}

/// The configuration in the words of a trace. Execs are handed on, not kept.
pub(super) fn common(config: &Config) -> anyhow::Result<Common> {
    Ok(Common {
        format: Some(Format::Jsonl),
        settle: u64::try_from(config.trace.settle.0.as_millis()).unwrap_or(u64::MAX / 1_000_000).max(1),
        census: Some(CensusAt::Crest(config.trace.census_at)),
        ages: config.trace.ages,
        key: redactor(config)?,
        depth: match config.record.depth {
            Depth::Records => DepthChoice::Records,
            Depth::Events => DepthChoice::Events,
        },
        backend: match config.trace.backend {
            None => BackendChoice::Auto,
            Some(BackendName::Fentry) => BackendChoice::Fentry,
            Some(BackendName::Kprobe) => BackendChoice::Kprobe,
            Some(BackendName::Syscall) => BackendChoice::Syscall,
        },
        ..Common::unsaid()?
    })
}
