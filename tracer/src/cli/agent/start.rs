//! How the agent begins: everything that takes rights, in the order in which they are given up.

use std::{cell::RefCell, path::Path, rc::Rc};

use anyhow::Context as _;

use super::{
    fan::{Exporters, Fan},
    rights::{self, Ids},
    service::Service,
    setup::{common, recorder},
};
use crate::{
    agent::{
        Config, Exporter, SegmentWriter,
        alert::Alerts,
        confine::{Scope, confine},
        control::Server,
        logs::Logs,
        notify::Notify,
    },
    cli::{
        keeper::Keeper,
        signals::{self, Signals},
        trace::Trace,
    },
    record::Tap,
};

/// Signals that the agent hears.
const HEARD: &[i32] = &[libc::SIGINT, libc::SIGTERM, libc::SIGQUIT, libc::SIGHUP, libc::SIGUSR1];

/// Who is told what the agent sees, in this order. Each section of the configuration that names somebody has its line here.
fn exporters(config: &Config) -> anyhow::Result<Vec<Box<dyn Exporter>>> {
    let mut all: Vec<Box<dyn Exporter>> = Vec::new();
    // [metrics]: the Prometheus endpoint. [otlp]: pushes.
    if let Some(exporters) = crate::metrics::Exporters::new(&config.metrics, &config.otlp)? {
        all.push(Box::new(exporters));
    }
    // [segments]: rows for a fleet.
    if let Some(segments) = SegmentWriter::new(&config.segments) {
        all.push(Box::new(segments));
    }
    Ok(all)
}

/// Runs the agent to its end.
pub(super) fn serve(path: &Path, config: Config, logs: Logs) -> anyhow::Result<()> {
    let set = signals::block(HEARD).context("failed to block signals")?;
    let whom = rights::whom(&config.service)?;
    if let Some(ids) = whom {
        rights::make_folders(&config, ids)?;
    }
    let runtime = Trace::runtime()?;
    runtime.block_on(async {
        let server = match config.control.socket.as_os_str() {
            none if none.is_empty() => None,
            _ => Some(Server::bind(&config.control.socket)?),
        };
        if let (Some(server), Some(Ids { uid, gid })) = (&server, whom) {
            server.give(uid, gid)?;
        }
        rights::keep_to_itself();
        let mut service = Service::start(path, config, logs, whom)?;
        let signals = Signals::new(&set).context("failed to listen to signals")?;
        service.confine()?;
        service.follow(&signals, server).await?;
        service.finish()
    })
}

impl Service {
    fn start(path: &Path, config: Config, logs: Logs, whom: Option<Ids>) -> anyhow::Result<Service> {
        let common = common(&config)?;
        let exporters: Exporters = Rc::new(RefCell::new(exporters(&config)?));
        let mut keeper = None;
        let mut alerts = None;
        let mut trace = Trace::start_with(&common, Vec::new(), false, |start| {
            // Everything is hooked. Before any file is made, and before any other thread begins: each has rights of its own.
            rights::give_up(whom)?;
            keeper =
                config.record.folder.as_deref().map(|folder| recorder(folder, &config.record, start)).transpose()?;
            if let Err(error) = rights::try_report(&config) {
                keeper.iter().for_each(Keeper::discard);
                return Err(error);
            }
            let flight = keeper.as_ref().map(Keeper::shared);
            let made = Alerts::new(config.alerts.clone(), start.host.name.clone(), start.anchor);
            let alerts = Rc::clone(alerts.insert(Rc::new(RefCell::new(made))));
            Ok(Some(Box::new(Fan { flight, alerts, exporters: Rc::clone(&exporters) }) as Box<dyn Tap>))
        })?;
        trace.keep();
        let alerts = alerts.context("failed to begin the trace")?;
        if let Some(options) = exporters.borrow().iter().find_map(|exporter| exporter.meter()) {
            trace.pipeline().meter(options);
        }
        for exporter in exporters.borrow_mut().iter_mut() {
            exporter.begin(trace.pipeline().start()).map_err(anyhow::Error::from_boxed)?;
        }
        let mut service = Service {
            path: path.to_owned(),
            level: config.log.level,
            logs,
            trace,
            keeper,
            exporters,
            alerts,
            notify: Notify::from_env(),
            marks: 0,
            confined: None,
            failing: None,
            config,
        };
        service.trace.follow(service.config.targets.follow_new)?;
        for selector in service.config.targets.follow.clone() {
            // One that has gone is no reason not to trace the others.
            if let Err(error) = service.add(selector) {
                tracing::warn!("{error:#}");
            }
        }
        service.trace.give_back();
        Ok(service)
    }

    /// From here on nothing begins that is not begun again later: only that is left to it.
    fn confine(&mut self) -> anyhow::Result<()> {
        if !self.config.service.seccomp {
            tracing::warn!("every system call is left to the agent: `seccomp` under [service] is false");
            return Ok(());
        }
        let scope = if self.config.alerts.runs_commands() { Scope::WithCommands } else { Scope::Alone };
        confine(scope)?;
        self.confined = Some(scope);
        tracing::info!(
            "{}; other system calls fail with EPERM (seccomp)",
            match scope {
                Scope::Alone =>
                    "from now on the agent makes only the system calls that it needs, and starts no process",
                Scope::WithCommands =>
                    "from now on the agent and its alerts' commands make only the system calls that ordinary programs need",
            }
        );
        Ok(())
    }
}
