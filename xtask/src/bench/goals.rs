//! What the figures are to come to.

use serde::Serialize;

use super::{Results, rounds::Row, tool::Tool};

/// One goal and what came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Goal {
    pub what: String,
    pub want: String,
    pub got: String,
    /// None: not measured.
    pub met: Option<bool>,
}

/// Number of the table that the goals are about.
pub const NUMBERS: u64 = 1024;
const MIB: f64 = 1024.0;

impl Results {
    /// Nanoseconds that a tool adds to an operation of the main table.
    pub fn added(&self, tool: Tool, processes: usize, op: &str) -> Option<f64> {
        let wanted = |row: &&Row| {
            row.setting.tool == tool && row.setting.processes == processes && row.setting.numbers == NUMBERS
        };
        self.rows.iter().filter(wanted).find(|row| row.op == op).map(|row| row.added.median)
    }

    /// All goals.
    pub fn goals(&self) -> Vec<Goal> {
        let pair = |tool| self.added(tool, 1, "open");
        let mut goals = vec![
            ratio(
                "targeted open + close, against the empty program",
                pair(Tool::Target),
                pair(Tool::Empty),
                2.5,
                false,
            ),
            ratio(
                "bystander's open + close, against the empty program",
                pair(Tool::Bystander),
                pair(Tool::Empty),
                1.25,
                false,
            ),
            ratio(
                "bystander's getppid, against the empty program",
                self.added(Tool::Bystander, 1, "getppid"),
                self.added(Tool::Empty, 1, "getppid"),
                1.25,
                false,
            ),
            self.herd(),
            ratio("strace, against fdtide", pair(Tool::Strace), pair(Tool::Target), 200.0, true),
            ratio("perf trace, against fdtide", pair(Tool::Perf), pair(Tool::Target), 60.0, true),
            ratio(
                "a bpftrace script that counts calls, against fdtide",
                pair(Tool::Bpftrace),
                pair(Tool::Target),
                2.0,
                true,
            ),
        ];
        goals.extend(self.bursts.iter().filter(|caught| caught.tool == Tool::Target).map(|caught| Goal {
            what: "bursts seen at their full height".to_owned(),
            want: format!("{} of {}", caught.bursts, caught.bursts),
            got: format!("{}, worst error {}", caught.exact, caught.worst),
            met: Some(caught.exact == caught.bursts),
        }));
        goals.push(self.memory.map_or_else(
            || unmeasured("kernel memory per table", "≤ 6 KiB"),
            |memory| Goal {
                what: "kernel memory per table of up to 1,024 numbers, as the kernel accounts it".to_owned(),
                want: "≤ 6 KiB".to_owned(),
                got: format!("{:.2} KiB", memory.table / 1024.0),
                met: Some(memory.table <= 6.0 * 1024.0),
            },
        ));
        goals.push(self.resident());
        goals.push(self.start());
        goals.extend(self.storm.as_ref().map(|storm| Goal {
            what: format!("fork storm of {} processes from {} forkers", storm.processes, storm.forkers),
            want: "every image record, 0 lost, maps as before".to_owned(),
            got: format!(
                "{} records, {} right, {} lost, {} missed",
                storm.records, storm.right, storm.lost, storm.missed
            ),
            met: Some(storm.holds()),
        }));
        goals
    }

    fn herd(&self) -> Goal {
        let many = self.most_processes();
        let what = format!("targeted open + close with {many} traced processes, against 1");
        let (one, all) = (self.added(Tool::Target, 1, "open"), self.added(Tool::Target, many, "open"));
        let Some((one, all)) = one.zip(all) else { return unmeasured(&what, "within 10 %") };
        let share = (all / one - 1.0) * 100.0;
        Goal {
            what,
            want: "within 10 %".to_owned(),
            got: format!("{share:+.1} % ({one:.0} → {all:.0} ns)"),
            met: Some(share <= 10.0),
        }
    }

    /// Greatest number of processes that was measured.
    pub fn most_processes(&self) -> usize {
        self.tools.iter().map(|row| row.setting.processes).max().unwrap_or(1)
    }

    fn resident(&self) -> Goal {
        let many = self.most_processes();
        let what = format!("resident memory of the agent with {many} processes");
        let row = self.tools.iter().find(|row| row.setting.processes == many && row.setting.tool == Tool::Target);
        let Some(row) = row else { return unmeasured(&what, "≤ 25 MB") };
        let mib = row.resident_kib.max / MIB;
        Goal { what, want: "≤ 25 MB".to_owned(), got: format!("{mib:.1} MiB"), met: Some(mib * 1.048_576 <= 25.0) }
    }

    fn start(&self) -> Goal {
        let what = "from start to attached, one process";
        let row = self.tools.iter().find(|row| {
            row.setting.processes == 1 && row.setting.tool == Tool::Target && row.setting.numbers == NUMBERS
        });
        let Some(row) = row else { return unmeasured(what, "≤ 300 ms") };
        let ms = row.attach_ms.median;
        Goal {
            what: what.to_owned(), want: "≤ 300 ms".to_owned(), got: format!("{ms:.0} ms"), met: Some(ms <= 300.0)
        }
    }
}

fn unmeasured(what: &str, want: &str) -> Goal {
    Goal { what: what.to_owned(), want: want.to_owned(), got: "not measured".to_owned(), met: None }
}

/// `one` over `other`, which is to be at most, or at least, `limit`.
fn ratio(what: &str, one: Option<f64>, other: Option<f64>, limit: f64, at_least: bool) -> Goal {
    let want = format!("{} {limit} ×", if at_least { "≥" } else { "≤" });
    let Some((one, other)) = one.zip(other) else { return unmeasured(what, &want) };
    let ratio = one / other;
    Goal {
        what: what.to_owned(),
        want,
        got: format!("{ratio:.2} × ({one:+.0} to {other:+.0} ns)"),
        met: Some(if at_least { ratio >= limit } else { ratio <= limit }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_without_figures_is_neither_met_nor_missed() {
        assert_eq!(ratio("x", None, Some(1.0), 2.0, false).met, None);
        assert_eq!(ratio("x", Some(300.0), Some(200.0), 1.25, false).met, Some(false));
        assert_eq!(ratio("x", Some(300.0), Some(2.0), 100.0, true).met, Some(true));
    }
}
