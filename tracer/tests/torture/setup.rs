//! What a run is made of, from the environment and back to a command.

use std::{env, ops::Range, time::Duration};

/// Operations of a thread between two checkpoints.
const CHECKPOINT_EVERY: u64 = 50;

/// One run.
#[derive(Clone, Debug)]
pub struct Setup {
    pub seed: u64,
    pub threads: usize,
    pub processes: usize,
    pub chaos: bool,
    /// Every operation is told on stderr.
    pub verbose: bool,
    /// Operations of each thread.
    pub ops: u64,
    pub checkpoint_every: u64,
    /// Operations left out.
    pub skip: Vec<String>,
    /// The checkpoint at which the tool attaches; None before anything is done, which is not checkpoint 0.
    pub attach_at: u64,
    /// Seeds where the environment does not say.
    pub default_seeds: u64,
}

/// [`Setup::attach_at`] for a tool that is there from the start.
pub const BEFORE: u64 = u64::MAX;

impl Default for Setup {
    fn default() -> Self {
        Self {
            seed: 1,
            threads: 1,
            processes: 1,
            chaos: false,
            verbose: false,
            ops: 1000,
            checkpoint_every: CHECKPOINT_EVERY,
            skip: Vec::new(),
            attach_at: BEFORE,
            default_seeds: 1,
        }
    }
}

impl Setup {
    /// The arguments of `fd-torture`.
    pub fn arguments(&self) -> Vec<String> {
        let mut words = Vec::new();
        let numbers = [
            ("--seed", self.seed),
            ("--threads", self.threads as u64),
            ("--processes", self.processes as u64),
            ("--ops", self.ops),
            ("--checkpoint-every", self.checkpoint_every),
        ];
        for (name, value) in numbers {
            words.extend([name.to_owned(), value.to_string()]);
        }
        if self.chaos {
            words.push("--chaos".to_owned());
        }
        if self.verbose {
            words.push("--verbose".to_owned());
        }
        if !self.skip.is_empty() {
            words.extend(["--skip".to_owned(), self.skip.join(",")]);
        }
        words
    }

    /// The arguments, and where the tool attaches.
    pub fn words(&self) -> Vec<String> {
        let mut words = self.arguments();
        if self.attach_at != BEFORE {
            words.extend(["--attach-at".to_owned(), self.attach_at.to_string()]);
        }
        words
    }

    /// A command that does this run again.
    pub fn command(&self) -> String {
        let backend = env::var("FDTIDE_BACKEND").ok();
        if let (Ok(guest), Some(backend)) = (env::var("FDTIDE_GUEST"), &backend) {
            let words = self.words().join(" ");
            return format!("cargo xtask vm {guest} --backend {backend} --target torture --replay '{words}'");
        }
        let backend = backend.map(|name| format!("FDTIDE_BACKEND={name} ")).unwrap_or_default();
        format!(
            "{backend}FDTIDE_TORTURE_REPLAY='{}' cargo test -p fdtide --test torture -- --ignored --nocapture replay",
            self.words().join(" ")
        )
    }

    /// The run that the environment asks for.
    pub fn replay() -> Self {
        let text = env::var("FDTIDE_TORTURE_REPLAY").expect("FDTIDE_TORTURE_REPLAY, as a failure prints it");
        let mut setup = Self::default();
        let mut words = text.split_whitespace();
        while let Some(word) = words.next() {
            match word {
                "--chaos" => setup.chaos = true,
                "--verbose" => setup.verbose = true,
                _ => setup.value(word, words.next().unwrap_or_else(|| panic!("`{word}` wants a value"))),
            }
        }
        setup
    }

    fn value(&mut self, word: &str, value: &str) {
        if word == "--skip" {
            self.skip = value.split(',').map(str::to_owned).collect();
            return;
        }
        let number = value.parse::<u64>().unwrap_or_else(|_| panic!("`{word}` wants a number"));
        let size = usize::try_from(number).expect("a small number");
        match word {
            "--seed" => self.seed = number,
            "--threads" => self.threads = size,
            "--processes" => self.processes = size,
            "--ops" => self.ops = number,
            "--checkpoint-every" => self.checkpoint_every = number,
            "--attach-at" => self.attach_at = number,
            _ => panic!("`{word}` is not part of a run"),
        }
    }
}

/// Seeds to go through.
pub fn seeds(default: u64) -> Range<u64> {
    let Ok(text) = env::var("FDTIDE_TORTURE_SEEDS") else { return 1..1 + default };
    let number = |text: &str| text.parse::<u64>().unwrap_or_else(|_| panic!("FDTIDE_TORTURE_SEEDS: `{text}`"));
    match text.split_once("..") {
        Some((first, end)) => number(first)..number(end),
        None => 1..1 + number(&text),
    }
}

/// Operations of each thread.
pub fn ops(default: u64) -> u64 {
    let Ok(text) = env::var("FDTIDE_TORTURE_OPS") else { return default };
    text.parse().unwrap_or_else(|_| panic!("FDTIDE_TORTURE_OPS: `{text}`"))
}

/// How long a failing run may be made smaller: `FDTIDE_TORTURE_PATIENCE`, seconds.
pub fn patience() -> Duration {
    let text = env::var("FDTIDE_TORTURE_PATIENCE").unwrap_or_else(|_| "60".to_owned());
    Duration::from_secs(text.parse().unwrap_or_else(|_| panic!("FDTIDE_TORTURE_PATIENCE: `{text}`")))
}
