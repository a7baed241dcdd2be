//! Which processes are meant.

use clap::Args;

use crate::target::Selector;

/// What `--help` says of them.
const HEADING: &str = "Targets (what any of them fits is traced, with all its descendants)";

/// Ways to name processes; each may be given more than once.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = HEADING)]
pub(in crate::cli) struct TargetArgs {
    /// The process with this id; one inside a container is found by its id there too, where only one has it
    #[arg(short, long, group = "target", value_name = "PID", value_parser = |text: &str| Selector::of("pid", text))]
    pub pid: Vec<Selector>,
    /// Processes of this name. The kernel keeps 15 bytes: a longer name is looked for in the program's file, `argv[0]` and
    /// scripts
    #[arg(short, long, group = "target", value_name = "COMM", value_parser = |text: &str| Selector::of("name", text))]
    pub name: Vec<Selector>,
    /// Processes whose program's file is like this: a whole path, or without a slash its last part; `**` crosses folders
    #[arg(long, group = "target", value_name = "GLOB", value_parser = |text: &str| Selector::of("exe", text))]
    pub exe: Vec<Selector>,
    /// Processes in this cgroup and below
    #[arg(long, group = "target", value_name = "PATH", value_parser = |text: &str| Selector::of("cgroup", text))]
    pub cgroup: Vec<Selector>,
    /// Processes in a container whose id or name begins like this (docker, containerd, CRI-O, podman, LXC, systemd-nspawn)
    #[arg(long, group = "target", value_name = "ID|NAME", value_parser = |text: &str| Selector::of("container", text))]
    pub container: Vec<Selector>,
    /// Processes of this systemd unit
    #[arg(long, group = "target", value_name = "UNIT", value_parser = |text: &str| Selector::of("unit", text))]
    pub systemd_unit: Vec<Selector>,
    /// Processes of this real user, by name or number
    #[arg(short, long, group = "target", value_name = "USER", value_parser = |text: &str| Selector::of("uid", text))]
    pub uid: Vec<Selector>,
    /// Later ones too, each from its exec on, until Ctrl-C
    #[arg(long, requires = "target")]
    pub follow_new: bool,
    /// If there is none, wait for the first
    #[arg(long, requires = "target")]
    pub wait: bool,
}

impl TargetArgs {
    /// What was named.
    pub fn selectors(&self) -> Vec<Selector> {
        let Self { pid, name, exe, cgroup, container, systemd_unit, uid, .. } = self;
        [pid, name, exe, cgroup, container, systemd_unit, uid].into_iter().flatten().cloned().collect()
    }
}
