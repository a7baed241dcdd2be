//! Sockets by state, as censuses have them.

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::run::Ran;

/// Sockets of one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sockets {
    /// Neither bound nor connected.
    pub unconnected: u64,
    /// With a peer.
    pub connected: u64,
    /// In any other state.
    pub other: u64,
}

/// TCP sockets in the fullest census of a table.
pub fn sockets(ran: &Ran, table: &Value) -> Result<Sockets> {
    let censuses = ran.report["censuses"].as_array().context("the report has no censuses")?;
    let of_table = censuses.iter().filter(|census| census["table"] == table["table"] && census["complete"] == true);
    let census = of_table.max_by_key(|census| census["live"].as_u64());
    let rows = census.context("no complete census of that table")?["descriptors"].as_array().context("no rows")?;
    let mut sockets = Sockets { unconnected: 0, connected: 0, other: 0 };
    for row in rows.iter().filter(|row| row["kind"] == "socket:tcp") {
        match row["socket"]["state"].as_str() {
            Some("unconnected") => sockets.unconnected += 1,
            Some("connected") => sockets.connected += 1,
            _ => sockets.other += 1,
        }
    }
    Ok(sockets)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_fullest_census_that_is_complete_counts() {
        let row = |state: &str| json!({ "kind": "socket:tcp", "socket": { "state": state } });
        let census = |live: u64, complete: bool, rows: Vec<Value>| json!({ "table": 7, "live": live, "complete": complete, "descriptors": rows });
        let rows =
            vec![row("unconnected"), row("unconnected"), row("connected"), row("listening"), json!({ "kind": "pipe" })];
        let censuses = [census(9, false, vec![]), census(5, true, rows), census(1, true, vec![row("connected")])];
        let ran = Ran { report: json!({ "censuses": censuses }), lines: Vec::new() };
        let found = sockets(&ran, &json!({ "table": 7 })).expect("a census");
        assert_eq!(found, Sockets { unconnected: 2, connected: 1, other: 1 });
        assert!(sockets(&ran, &json!({ "table": 8 })).is_err());
    }
}
