//! `docs/overhead.md`, and the same on the terminal.

use std::fmt::{self, Write};

use super::{Results, goals::Goal, rounds::Row, tool::Tool, work::OPS};
use crate::vm::cost::{Backend, Cost};

const HEAD: &str = "\
# What it costs

Written by `cargo xtask bench`; the ratios are what to look at, the nanoseconds belong to one machine. Every figure comes from
the same run: each configuration stands next to the same work without it, in every round, in a process that stays on one
processor. Added is the least time with the tool minus the least time without it in the same round: the median over all
rounds, and in brackets where the middle half of the rounds lies. Tools run wherever the kernel puts them, and write to
nowhere while they are timed.
";

/// Where the time goes, measured by hand with parts of the program left out.
const TRIED: &str = include_str!("tried.md");

/// The whole page.
pub fn page(results: &Results) -> Result<String, fmt::Error> {
    let mut out = HEAD.to_owned();
    let machine = &results.machine;
    writeln!(
        out,
        "\nMachine: Linux {}, {} processors, {}. {} rounds of {} batches of {} ms. Backend: {}.\n",
        machine.kernel,
        machine.processors,
        machine.model,
        results.rounds,
        results.batches,
        results.batch_ms,
        machine.backend
    )?;
    if machine.backend != "syscall" {
        writeln!(out, "The empty program sits at the exit of every syscall, which this backend does not use.\n")?;
    }
    goals(&mut out, &results.goals)?;
    added(&mut out, results)?;
    varied(&mut out, results)?;
    tools(&mut out, results)?;
    hooks(&mut out, results)?;
    bursts(&mut out, results)?;
    notes(&mut out, results)?;
    out.push_str(TRIED);
    Ok(out)
}

/// The goals as a table.
pub fn goals(out: &mut impl Write, goals: &[Goal]) -> fmt::Result {
    writeln!(out, "## Goals\n\n| what | goal | measured | |\n| --- | --- | --- | --- |")?;
    for goal in goals {
        let met = match goal.met {
            Some(true) => "met",
            Some(false) => "**not met**",
            None => "–",
        };
        writeln!(out, "| {} | {} | {} | {met} |", goal.what, goal.want, goal.got)?;
    }
    Ok(())
}

fn added(out: &mut impl Write, results: &Results) -> fmt::Result {
    writeln!(out, "\n## Added to one operation, ns\n\nTable of 1,024 numbers, one process.\n")?;
    write!(out, "| |")?;
    OPS.iter().try_for_each(|(_, name)| write!(out, " {name} |"))?;
    writeln!(out, "\n| --- |{}", " ---: |".repeat(OPS.len()))?;
    let cells = |out: &mut _, tool: Tool, cell: &dyn Fn(&Row) -> String| line(out, results, tool, cell);
    write!(out, "| without any tool: least, median |")?;
    cells(out, Tool::Empty, &|row| format!("{:.0}, {:.0}", row.without_min.min, row.without.median))?;
    for tool in Tool::ALL {
        if results.refused.iter().all(|(refused, _)| *refused != tool) {
            write!(out, "| {} |", tool.name())?;
            cells(out, tool, &cell)?;
        }
    }
    Ok(())
}

fn line(out: &mut impl Write, results: &Results, tool: Tool, cell: &dyn Fn(&Row) -> String) -> fmt::Result {
    for (op, _) in OPS {
        let mut rows = results.rows.iter().filter(|row| row.setting.tool == tool && row.op == op);
        let row = rows.find(|row| row.setting.processes == 1 && row.setting.numbers == super::goals::NUMBERS);
        write!(out, " {} |", row.map_or_else(|| "–".to_owned(), cell))?;
    }
    writeln!(out)
}

fn cell(row: &Row) -> String {
    format!("{:+.0} [{:+.0}, {:+.0}]", row.added.median, row.added.low, row.added.high)
}

fn varied(out: &mut impl Write, results: &Results) -> fmt::Result {
    writeln!(out, "\n## Added, by size of the table and of the tree, ns\n")?;
    write!(out, "| | numbers | processes |")?;
    OPS[..5].iter().try_for_each(|(_, name)| write!(out, " {name} |"))?;
    writeln!(out, "\n| --- | ---: | ---: |{}", " ---: |".repeat(5))?;
    let mut settings: Vec<_> = results.rows.iter().map(|row| row.setting).collect();
    settings.retain(|setting| matches!(setting.tool, Tool::Empty | Tool::Target));
    settings.sort_by_key(|setting| (setting.tool == Tool::Target, setting.processes, setting.numbers));
    settings.dedup();
    for setting in settings {
        write!(out, "| {} | {} | {} |", setting.tool.name(), setting.numbers, setting.processes)?;
        for (op, _) in &OPS[..5] {
            let row = results.rows.iter().find(|row| row.setting == setting && row.op == *op);
            write!(out, " {} |", row.map_or_else(|| "–".to_owned(), cell))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn tools(out: &mut impl Write, results: &Results) -> fmt::Result {
    writeln!(
        out,
        "\n## The tools themselves\n\n| | processes | to be at work, ms | processor, % | resident, MiB | at most |"
    )?;
    writeln!(out, "| --- | ---: | ---: | ---: | ---: | ---: |")?;
    for row in results.tools.iter().filter(|row| row.setting.numbers == super::goals::NUMBERS) {
        let (name, processes) = (row.setting.tool.name(), row.setting.processes);
        let (now, most) = (row.resident_kib.median / 1024.0, row.peak_kib.max / 1024.0);
        let (ms, cpu) = (row.attach_ms.median, row.cpu.median);
        writeln!(out, "| {name} | {processes} | {ms:.0} | {cpu:.1} | {now:.1} | {most:.1} |")?;
    }
    if let Some(memory) = results.memory {
        let kib = |bytes: f64| bytes / 1024.0;
        write!(
            out,
            "\nKernel memory, measured with {} tables: {:.2} KiB a table as the kernel accounts the map, {:.2} KiB a process in \
             all maps, {:.1} MiB before the first.",
            memory.tables,
            kib(memory.table),
            kib(memory.process),
            memory.empty as f64 / (1024.0 * 1024.0)
        )?;
        if let Some(slab) = memory.slab {
            write!(
                out,
                " The allocator gives memory in classes of 4 and 8 KiB; its 8 KiB class grew by {:.2} KiB a table.",
                kib(slab)
            )?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// What cannot be timed here can be counted elsewhere.
fn hooks(out: &mut impl Write, results: &Results) -> fmt::Result {
    let Some(costs) = &results.hooks else { return Ok(()) };
    writeln!(
        out,
        "\n## Each backend, in instructions\n\nNot every backend runs on every kernel, and emulation says nothing about time. So the hooks \
         are counted in a guest ({}) whose clock goes by a nanosecond with each instruction, with the kernel's own account of its programs \
         (`bpf_stats`): instructions that they run for one operation, and how often a program runs. What as many empty programs take \
         ({:.0} each, nearly all of it the account itself) is taken off. What lies around a program (a trampoline, an int3, the \
         tracepoint) is not in it.\n",
        costs.release, costs.empty
    )?;
    let operations = &OPS[..5];
    write!(out, "| |")?;
    operations.iter().try_for_each(|(_, name)| write!(out, " {name} |"))?;
    writeln!(out, "\n| --- |{}", " ---: |".repeat(operations.len()))?;
    for role in ["target", "bystander"] {
        for backend in Backend::ALL.map(|backend| backend.to_string()) {
            write!(out, "| {backend}, as {role}")?;
            for (operation, _) in operations {
                let is = |row: &&Cost| row.backend == backend && row.role == role && row.operation == *operation;
                match costs.rows.iter().find(is) {
                    Some(row) => write!(out, " | {:.0} in {:.1} runs", row.instructions, row.runs)?,
                    None => write!(out, " | ")?,
                }
            }
            writeln!(out, " |")?;
        }
    }
    Ok(())
}

fn bursts(out: &mut impl Write, results: &Results) -> fmt::Result {
    writeln!(
        out,
        "\n## Bursts\n\n{} descriptors, let go 2 ms after the first open or as soon as all are open, then a program is started.\n\n\
         | | bursts | at full height | worst error | mean error | length, ms | calls in its log, % |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        super::bursts::HEIGHT
    )?;
    for seen in &results.bursts {
        writeln!(
            out,
            "| {} | {} | {} | {} | {:.1} | {:.1} | {} |",
            seen.tool.name(),
            seen.bursts,
            seen.exact,
            seen.worst,
            seen.mean,
            seen.length_ms,
            seen.told.map_or_else(String::new, |told| format!("{told:.1}"))
        )?;
    }
    if let Some(storm) = &results.storm {
        writeln!(
            out,
            "\nFork storm: {} processes from {} forkers in {:.1} s: {} records, {} with the very count before and an end, {} lost, \
             {} missed, agent {:.1} MiB resident. Entries in maps: {:?} before, {:?} after the last had gone.",
            storm.processes,
            storm.forkers,
            storm.seconds,
            storm.records,
            storm.right,
            storm.lost,
            storm.missed,
            storm.resident_kib as f64 / 1024.0,
            storm.before,
            storm.after
        )?;
    }
    Ok(())
}

fn notes(out: &mut impl Write, results: &Results) -> fmt::Result {
    writeln!(out, "\n## Notes\n")?;
    for note in &results.notes {
        writeln!(out, "- {note}")?;
    }
    for (tool, why) in &results.refused {
        writeln!(out, "- {} could not run here: {why}.", tool.name())?;
    }
    writeln!(
        out,
        "- bpftrace's script counts calls and knows no levels: it has nothing to say about bursts.\n\
         - strace and perf trace stretch a burst (see its length) and are shown fewer of them; their crests are what \
         following the numbers in their logs gives; perf trace drops what its buffer has no room for.\n\
         - What fdtide adds to a syscall that has nothing to do with descriptors is the price of the tracepoint: every process \
         on the machine pays it while fdtide is attached, with the syscall backend."
    )
}
