//! The configuration, read again while the agent runs.

use super::{
    service::Service,
    setup::{keep, redactor},
};
use crate::{
    agent::{Config, confine::Scope},
    gate::Problem,
    target::Selector,
};

impl Service {
    /// After SIGHUP. A bad configuration changes nothing.
    pub(super) fn reload(&mut self) {
        self.notify.reloading();
        match super::read(&self.path) {
            Ok(config) => self.take_over(config),
            Err(error) => tracing::error!("the configuration stays as it was: {}", in_a_line(&error)),
        }
        self.notify.ready();
    }

    /// Names are redacted from now on, or are not any more.
    fn redact(&mut self, config: &Config) {
        let asked = |config: &Config| (config.redact_paths, config.redact_key_file.clone());
        if asked(config) == asked(&self.config) {
            return;
        }
        match redactor(config) {
            Ok(redactor) => {
                self.trace.pipeline().redact(redactor);
                let how = if config.redact_paths { "lose their names" } else { "keep their names" };
                tracing::warn!("files and addresses {how} from now on; what was recorded before stays as it is");
            }
            Err(error) => tracing::error!("names are treated as before: {error:#}"),
        }
    }

    /// Takes from a new configuration what can change while the trace runs.
    fn take_over(&mut self, mut config: Config) {
        self.logs.set(config.log.level);
        self.level = config.log.level;
        let before: Vec<Selector> = self.config.targets.follow.clone();
        for selector in before.iter().filter(|selector| !config.targets.follow.contains(selector)) {
            if let Err(error) = self.remove(selector) {
                tracing::warn!("{error:#}");
            }
        }
        let known = self.trace.selectors();
        for selector in config.targets.follow.clone() {
            if !known.contains(&selector.to_string())
                && let Err(error) = self.add(selector)
            {
                tracing::warn!("{error:#}");
            }
        }
        self.redact(&config);
        if self.confined == Some(Scope::Alone) && config.alerts.runs_commands() {
            tracing::warn!(
                "no command is run on an alert before a restart: there was none, so the agent gave up starting processes \
                 (`seccomp` under [service])"
            );
            (config.alerts.on_failure, config.alerts.on_headroom) = Default::default();
        }
        self.alerts.borrow_mut().reload(&config.alerts);
        if let Some(keeper) = &self.keeper {
            keeper.set(keep(&config.record));
        }
        for text in unchanged(&self.config, &config) {
            tracing::warn!("{text}");
        }
        for text in self.exporters.borrow_mut().iter_mut().flat_map(|exporter| exporter.reload(&config)) {
            tracing::warn!("{text}");
        }
        self.config = config;
        tracing::info!("read the configuration again");
    }
}

/// An error without the lines that show its place, and with what is allowed there.
fn in_a_line(error: &anyhow::Error) -> String {
    match error.downcast_ref::<Box<Problem>>() {
        Some(problem) => format!("{problem}; {}", problem.help),
        None => format!("{error:#}"),
    }
}

/// What a new configuration asks for and can't have before a restart.
fn unchanged(old: &Config, new: &Config) -> Vec<String> {
    let told = |what: &str| format!("{what} can't change while the agent runs: restart it");
    let mut all = Vec::new();
    if old.control != new.control {
        all.push(told("the control socket"));
    }
    if old.targets.follow_new != new.targets.follow_new {
        all.push(told("whether later processes are followed, `follow_new`,"));
    }
    if old.service != new.service {
        all.push(told("who the agent is and what it may do, [service],"));
    }
    if old.trace != new.trace {
        all.push(told("how it is traced, [trace],"));
    }
    if (&old.record.folder, old.record.depth) != (&new.record.folder, new.record.depth) {
        all.push(told("where and how much is recorded, `folder` and `depth`,"));
    }
    all
}
