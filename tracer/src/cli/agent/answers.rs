//! What the agent answers on its control socket.

use super::service::Service;
use crate::{
    agent::control::{self, Answer, MARK_MAX, Request, Status},
    cli::keeper::Keeper,
    model::rfc3339,
    pipeline,
    probe::{Occasion, session::boot_ns},
    record::{Input, Note},
};

impl Service {
    /// Does what is asked.
    pub(super) fn answer(&mut self, request: Request) -> Answer {
        match self.act(request) {
            Ok(answer) => answer,
            Err(error) => Answer::refused(format!("{error:#}")),
        }
    }

    fn act(&mut self, request: Request) -> anyhow::Result<Answer> {
        Ok(match request {
            Request::Status => {
                let status = self.status()?;
                Answer { status: Some(Box::new(status)), ..Answer::done("") }
            }
            Request::Add { target } => Answer::done(self.add(target.parse()?)?),
            Request::Remove { target } => Answer::done(self.remove(&target.parse()?)?),
            Request::Census => {
                self.trace.census(Occasion::Asked)?;
                Answer::done("a census was taken")
            }
            Request::Dump => {
                let path = self.dump("asked")?.display().to_string();
                Answer { path: Some(path.clone()), ..Answer::done(format!("dumped to `{path}`")) }
            }
            Request::Mark { text } => self.mark(&text)?,
            Request::Log { level } => {
                self.logs.set(level);
                self.level = level;
                Answer::done("so much is logged from now on, until the next reload")
            }
        })
    }

    fn mark(&mut self, text: &str) -> anyhow::Result<Answer> {
        let Some(text) = control::mark(text) else {
            return Ok(Answer::refused(format!("a mark is one line of 1 to {MARK_MAX} bytes")));
        };
        // What waits came before it.
        self.trace.take()?;
        self.marks += 1;
        tracing::info!("mark: {text}");
        self.trace.pipeline().take(Input::Note(Note { at_ns: boot_ns(), text: text.to_owned() }));
        Ok(Answer::done(format!("marked `{text}`")))
    }

    /// What is wrong now, in sentences.
    fn trouble(&self) -> Vec<String> {
        let paused = self.keeper.as_ref().and_then(Keeper::paused);
        let paused = paused.map(|why| format!("nothing is recorded: {why}"));
        self.failing.iter().map(|(_, why)| why.clone()).chain(paused).collect()
    }

    fn status(&mut self) -> anyhow::Result<Status> {
        let (live, status) = self.trace.look()?;
        let start = self.trace.pipeline().start();
        let exporters = self.exporters.borrow();
        Ok(Status {
            version: start.version.clone(),
            pid: std::process::id(),
            since: rfc3339(start.anchor.wall_unix_ns),
            backend: status.backend,
            targets: self.trace.selectors(),
            processes: live.processes as u64,
            tables: live.tables.len() as u64,
            execs: live.execs_total,
            failures: live.tables.iter().map(|table| table.failures).sum(),
            lost: status.lost,
            missed: status.missed,
            skipped: status.skipped,
            agent: pipeline::own_use().ok(),
            marks: self.marks,
            level: self.level,
            recorder: self.keeper.as_ref().map(Keeper::state),
            alerts: self.alerts.borrow().counts(),
            trouble: self.trouble(),
            exporters: exporters.iter().map(|exporter| (exporter.name().to_owned(), exporter.status())).collect(),
        })
    }
}
