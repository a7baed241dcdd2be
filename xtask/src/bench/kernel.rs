//! What the kernel holds for fdtide: memory of its maps, and what is left in them.

use std::{collections::BTreeMap, fs, thread::sleep, time::Duration};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::{Bench, agent::Agent, tool::Tool, work::Work};
use crate::sh;

/// Memory for one more process with a table of its own.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Memory {
    pub tables: usize,
    /// Bytes per table, as the kernel accounts the map of tables.
    pub table: f64,
    /// Bytes per process in all maps.
    pub process: f64,
    /// Bytes of pages of the allocator's 8 KiB class that came with each table; what the machine really gives.
    pub slab: Option<f64>,
    /// All maps with no process but the target, bytes.
    pub empty: u64,
}

/// A map of a program.
pub struct Map {
    id: u32,
    memlock: u64,
}

/// Waits a while for programs of others to leave the syscall tracepoints, where they would slow down what is to be the measure of
/// all else. False if they stay.
pub fn alone() -> bool {
    #[derive(Deserialize)]
    struct Link {
        #[serde(default)]
        tp_name: String,
    }
    let free = || -> Result<bool> {
        let shown = sh::output(sh::command("bpftool")?.args(["-j", "link", "show"]))?;
        let links: Vec<Link> = serde_json::from_str(&shown).context("failed to parse bpftool's links")?;
        Ok(links.iter().all(|link| !link.tp_name.starts_with("sys_")))
    };
    for _ in 0..PATIENCE {
        if free().unwrap_or(true) {
            return true;
        }
        sleep(Duration::from_millis(100));
    }
    false
}

/// Tenths of a second.
const PATIENCE: u32 = 50;

/// Maps of a process by name.
pub fn maps(pid: u32) -> Result<BTreeMap<String, Map>> {
    #[derive(Deserialize)]
    struct Shown {
        #[serde(default)]
        name: String,
    }
    let mut maps = BTreeMap::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fdinfo")).context("failed to list the agent's descriptors")? {
        let Ok(text) = fs::read_to_string(entry.context("failed to list the agent's descriptors")?.path()) else {
            continue;
        };
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|value| value.trim().parse::<u64>().ok())
        };
        let (Some(id), Some(memlock)) = (field("map_id:"), field("memlock:")) else { continue };
        let mut show = sh::command("bpftool")?;
        let shown = sh::output(show.args(["-j", "map", "show", "id", &id.to_string()]))?;
        let Shown { name } = serde_json::from_str(&shown).context("failed to parse what bpftool shows")?;
        maps.insert(name, Map { id: u32::try_from(id)?, memlock });
    }
    Ok(maps)
}

/// Entries of a map.
pub fn entries(map: &Map) -> Result<usize> {
    let mut dump = sh::command("bpftool")?;
    let dumped = sh::output(dump.args(["-j", "map", "dump", "id", &map.id.to_string()]))?;
    let entries: Vec<serde_json::Value> = serde_json::from_str(&dumped).context("failed to parse bpftool's dump")?;
    Ok(entries.len())
}

/// Compares a target alone with one that has so many children.
pub fn memory(bench: &Bench, work: &mut Work, tables: usize) -> Result<Memory> {
    let look = |work: &Work| -> Result<(u64, u64, Option<u64>)> {
        let before = slab();
        let agent = Agent::start(Tool::Target, work, bench.other(), &bench.backend, bench.folder(), false)?;
        let maps = maps(agent.pid())?;
        let slab = slab().zip(before).map(|(now, before)| now.saturating_sub(before));
        agent.stop()?;
        let table = maps.get("TABLES").context("the agent has no map `TABLES`")?.memlock;
        Ok((table, maps.values().map(|map| map.memlock).sum(), slab))
    };
    let alone = look(work)?;
    work.herd(tables)?;
    let many = look(work)?;
    work.herd(0)?;
    let each = |many: u64, alone: u64| many.saturating_sub(alone) as f64 / tables as f64;
    Ok(Memory {
        tables,
        table: each(many.0, alone.0),
        process: each(many.1, alone.1),
        slab: many.2.zip(alone.2).map(|(many, alone)| each(many, alone)),
        empty: alone.1,
    })
}

/// Bytes in use of the allocator's class for pieces of 4 to 8 KiB.
fn slab() -> Option<u64> {
    let info = fs::read_to_string("/proc/slabinfo").ok()?;
    let rows = info.lines().filter(|line| line.starts_with("kmalloc-8k ") || line.starts_with("kmalloc-cg-8k "));
    Some(rows.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).sum::<u64>() * 8192)
}
