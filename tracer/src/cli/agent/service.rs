//! The agent's loop: records, signals, requests and the clock, one after the other on one thread.

use std::{
    cell::RefCell,
    path::PathBuf,
    rc::Rc,
    time::{Duration, Instant},
};

use anyhow::Context as _;

use super::fan::Exporters;
use crate::{
    agent::{
        Config, Now,
        alert::Alerts,
        config::{ReportConfig, ReportFormat},
        confine::Scope,
        control::{Asked, Server},
        logs::Logs,
        notify::Notify,
    },
    cli::{args::Format, keeper::Keeper, results, signals::Signals, sink_file::Output, trace::Trace},
    model::Report,
    pipeline,
    probe::Occasion,
    sink::{self, text::words::count},
    target::{Added, Selector},
};

/// What fails is tried again after this long,
const PAUSE: Duration = Duration::from_millis(250);
/// and for so long.
const PATIENCE: Duration = Duration::from_secs(60);
/// After it was asked to end everybody who hands on what it saw has so long, all together: it is gone within five seconds.
const LAST: Duration = Duration::from_secs(3);
/// They have at least so long, where the last recording and the report took most of that.
const LEAST: Duration = Duration::from_millis(500);

/// A running agent.
pub(super) struct Service {
    pub path: PathBuf,
    pub config: Config,
    pub logs: Logs,
    pub trace: Trace,
    pub keeper: Option<Keeper>,
    pub exporters: Exporters,
    pub alerts: Rc<RefCell<Alerts>>,
    pub notify: Notify,
    pub marks: u64,
    /// Present level of logs.
    pub level: crate::agent::config::Level,
    /// Under which rules of system calls it runs, if under any.
    pub confined: Option<Scope>,
    /// Since when a part of it fails, and why.
    pub failing: Option<(Instant, String)>,
}

impl Service {
    /// Everything that happens, until a signal ends it.
    pub(super) async fn follow(&mut self, signals: &Signals, mut server: Option<Server>) -> anyhow::Result<()> {
        let mut clock = tokio::time::interval(self.notify.period());
        clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        self.notify.ready();
        tracing::info!("tracing with the {} backend", self.trace.pipeline().start().plan.backend);
        loop {
            let turned = tokio::select! {
                records = self.trace.records() => records,
                signal = signals.next() => match signal.context("failed to read signals")?.number {
                    libc::SIGHUP => {
                        self.reload();
                        Ok(())
                    }
                    libc::SIGUSR1 => self.trace.census(Occasion::Asked),
                    _ => return Ok(()),
                },
                asked = request(&mut server) => {
                    let Asked { request, answer } = asked;
                    // Who has gone meanwhile needs none.
                    let _ = answer.send(self.answer(request));
                    Ok(())
                }
                _ = clock.tick() => self.tick(),
            };
            match turned.and_then(|()| self.hand_on()) {
                Ok(()) => self.failing = None,
                Err(error) => {
                    self.suffer(error)?;
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// What fails for a moment, as for want of a descriptor, does not end a trace of a day; what fails for long does.
    fn suffer(&mut self, error: anyhow::Error) -> anyhow::Result<()> {
        match &self.failing {
            Some((since, _)) if since.elapsed() >= PATIENCE => Err(error),
            Some((_, known)) if *known == format!("{error:#}") => Ok(()),
            known => {
                let since = known.as_ref().map_or_else(Instant::now, |(since, _)| *since);
                tracing::error!("{error:#}; it is tried again");
                self.failing = Some((since, format!("{error:#}")));
                Ok(())
            }
        }
    }

    /// Gives completed execs on, and tends the recorder.
    fn hand_on(&mut self) -> anyhow::Result<()> {
        if self.alerts.borrow_mut().is_urgent() {
            self.trace.hasten();
        }
        for record in self.trace.completed() {
            self.exporters.borrow_mut().iter_mut().for_each(|exporter| exporter.exec(&record));
        }
        let (failed, unheard) = self.trace.pipeline().drain_failed();
        for exporter in self.exporters.borrow_mut().iter_mut() {
            failed.iter().for_each(|failed| exporter.failed(failed));
            exporter.failed_unheard(unheard);
        }
        let due = match &self.keeper {
            Some(keeper) => keeper.tend(&mut self.trace)?,
            None => None,
        };
        if let Some(why) = due
            && let Err(error) = self.dump(why)
        {
            tracing::warn!("{error:#}; the recorder goes on");
        }
        Ok(())
    }

    /// Writes the recorder's stretch to a file; if it can't be, the recorder goes on.
    pub(super) fn dump(&mut self, why: &str) -> anyhow::Result<PathBuf> {
        let keeper = self.keeper.as_ref();
        let keeper = keeper.context("there is no recorder: name a folder under [record] and start again")?;
        let path = keeper.dump(&mut self.trace, why)?.context("failed to dump the recording")?;
        tracing::info!("dumped to `{}`", path.display());
        Ok(path)
    }

    fn tick(&mut self) -> anyhow::Result<()> {
        if !self.exporters.borrow().is_empty() {
            let (live, status, reading) = self.trace.look_with(true)?;
            let counted = pipeline::counted(&self.trace.session().coverage()?);
            let agent = pipeline::own_use().ok();
            let (at_ns, skipped) = (status.now_ns, status.skipped);
            let now = Now { at_ns, live: &live, reading: reading.as_ref(), counted: &counted, skipped, agent };
            self.exporters.borrow_mut().iter_mut().for_each(|exporter| exporter.tick(&now));
        }
        let (targets, alive) = (self.trace.selectors().len() as u64, self.trace.alive() as u64);
        self.notify.tick(format!("{}, {} alive", count(targets, "target"), count(alive, "process")));
        Ok(())
    }

    /// Follows this from now on.
    pub(super) fn add(&mut self, selector: Selector) -> anyhow::Result<String> {
        let name = selector.to_string();
        let Added { processes, already, doubts } = self.trace.add(selector)?;
        let now = count(processes as u64, "process");
        let mut told = if already {
            format!("`{name}` is followed already: {now} now")
        } else {
            format!("following `{name}`: {now} now")
        };
        tracing::info!("{told}");
        for doubt in doubts {
            tracing::warn!("{doubt}");
            // Who asked may not see the log.
            told.push_str(&format!("; {doubt}"));
        }
        Ok(told)
    }

    /// Follows it no longer.
    pub(super) fn remove(&mut self, selector: &Selector) -> anyhow::Result<String> {
        let removed = self.trace.remove(selector)?;
        let told = format!("`{selector}` is followed no longer: {} let go", count(removed, "process"));
        tracing::info!("{told}");
        Ok(told)
    }

    /// Detaches, and says what it came to: in its file before anybody else is told, as that is what nobody can be late for.
    pub(super) fn finish(mut self) -> anyhow::Result<()> {
        let until = Instant::now() + LAST;
        self.notify.stopping();
        // So that what was handed on last is what the report tells. It has everything else where that fails.
        if let Err(error) = self.tick().and_then(|()| self.hand_on()) {
            tracing::error!("{error:#}; the report is made all the same");
        }
        let Service { trace, exporters, alerts, config, keeper, .. } = self;
        let (mut report, rest) = trace.report()?;
        let written = write_report(&mut report, &config.report);
        if let Some(path) = keeper.and_then(|keeper| keeper.dumps().pop()) {
            tracing::info!("the last of the recording is in `{}`", path.display());
        }
        tell(&report);
        let mut exporters = exporters.borrow_mut();
        for record in &rest {
            exporters.iter_mut().for_each(|exporter| exporter.exec(record));
        }
        // All of them are told first, and then waited for: what one needs is no time of another's.
        let until = until.max(Instant::now() + LEAST);
        exporters.iter_mut().for_each(|exporter| exporter.finish(&report, until));
        // The trace had the other half, and has ended.
        if let Ok(alerts) = Rc::try_unwrap(alerts) {
            alerts.into_inner().finish(until);
        }
        exporters.iter_mut().for_each(|exporter| exporter.wait());
        written
    }
}

/// Puts it into its file, if it is to have one.
fn write_report(report: &mut Report, config: &ReportConfig) -> anyhow::Result<()> {
    let Some(file) = &config.file else { return Ok(()) };
    let format = match config.format {
        ReportFormat::Json => Format::Json,
        ReportFormat::Text => Format::Text,
        ReportFormat::Html => Format::Html,
    };
    results::write(report, Vec::new(), format, Output::open(file, false)?, false)
}

/// Tells it in the log.
fn tell(report: &Report) {
    let mut text = Vec::new();
    // Memory can always be written.
    let _ = sink::text::write(report, &mut text);
    let text = String::from_utf8_lossy(&text);
    text.lines().filter(|line| !line.is_empty()).for_each(|line| tracing::info!("{line}"));
}

async fn request(server: &mut Option<Server>) -> Asked {
    if let Some(server) = server
        && let Some(asked) = server.next().await
    {
        return asked;
    }
    std::future::pending().await
}
