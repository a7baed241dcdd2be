//! The files of `deploy/`: against the schemas of what reads them, and against each other.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::{
    python, sh,
    steps::{Steps, Tally},
};

const DAEMON_SET: &str = "deploy/kubernetes/daemonset.yaml";
/// Kubernetes whose schemas the manifest must keep to: the oldest and the newest that are at hand.
const VERSIONS: [&str; 2] = ["1.31", "1.37"];
/// Files of CI systems, the schema of each, and what spoils it.
const JOBS: [(&str, &str, Mistake); 2] = [
    ("deploy/ci/github.yml", "vendor.github-workflows", ("runs-on: ubuntu-24.04", "runs-on: 5")),
    ("deploy/ci/gitlab.yml", "vendor.gitlab-ci", ("image: debian:bookworm", "image: 5")),
];
/// What is written, and what stands there instead.
type Mistake = (&'static str, &'static str);
/// Keys in which the configuration of a pod is another than that of a machine.
const DIFFERENT: [&str; 3] = ["metrics.enabled", "metrics.listen", "metrics.token_file"];
/// Documents of a YAML file as a JSON list.
const TO_JSON: &str = "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))";

/// Adds one step for each kind of file.
pub fn add(steps: &mut Steps) {
    steps.step("DaemonSet", daemon_set);
    steps.step("jobs for CI systems", jobs);
}

fn daemon_set() -> Result<Tally> {
    let Some(validate) = python::program("kubernetes-validate") else { return Ok(missing()) };
    let valid = |file: &Path, version: &str| {
        sh::output(Command::new(&validate).args(["--strict", "--no-warn", "-k", version]).arg(file))
    };
    let file = sh::root()?.join(DAEMON_SET);
    for version in VERSIONS {
        println!("{}", valid(&file, version)?);
    }
    refuses(&file, ("hostPID:", "hostPid:"), |file| valid(file, VERSIONS[0]))?;
    let text = sh::output(python::python()?.args(["-c", TO_JSON]).arg(&file))?;
    let documents: Vec<Value> = serde_json::from_str(&text).context("failed to read the manifest")?;
    same_capabilities(&documents)?;
    same_configuration(&documents)?;
    Ok(Tally::PASSED)
}

fn jobs() -> Result<Tally> {
    let Some(validate) = python::program("check-jsonschema") else { return Ok(missing()) };
    for (name, schema, mistake) in JOBS {
        let file = sh::root()?.join(name);
        let valid = |file: &Path| sh::output(Command::new(&validate).args(["--builtin-schema", schema]).arg(file));
        println!("{name}: {}", valid(&file)?);
        refuses(&file, mistake, valid)?;
    }
    Ok(Tally::PASSED)
}

fn missing() -> Tally {
    Tally::skipped("no Python environment with the schemas: run `cargo xtask setup --test`")
}

/// What says yes to everything proves nothing: a copy with a mistake must be refused.
fn refuses(file: &Path, (from, to): Mistake, valid: impl Fn(&Path) -> Result<String>) -> Result<()> {
    let text = fs::read_to_string(file).with_context(|| format!("failed to read `{}`", file.display()))?;
    ensure!(text.contains(from), "`{}` has no `{from}` to be spoilt", file.display());
    let bad = tempfile::Builder::new().suffix(".yaml").tempfile().context("failed to make a file")?;
    fs::write(bad.path(), text.replacen(from, to, 1)).context("failed to write a file")?;
    ensure!(valid(bad.path()).is_err(), "`{}` is taken for valid with `{to}`", file.display());
    Ok(())
}

fn of_kind<'a>(documents: &'a [Value], kind: &str) -> Result<&'a Value> {
    documents.iter().find(|one| one["kind"] == kind).with_context(|| format!("`{DAEMON_SET}` has no {kind}"))
}

/// A pod may do what the unit may, and what systemd does for the unit before it starts: lower its niceness.
fn same_capabilities(documents: &[Value]) -> Result<()> {
    let context = &of_kind(documents, "DaemonSet")?["spec"]["template"]["spec"]["containers"][0]["securityContext"];
    ensure!(context["capabilities"]["drop"] == serde_json::json!(["ALL"]), "the DaemonSet does not drop ALL");
    let added = context["capabilities"]["add"].as_array().context("the DaemonSet adds no capability")?;
    let added: BTreeSet<String> = added.iter().filter_map(Value::as_str).map(|name| format!("CAP_{name}")).collect();
    let unit = sh::root()?.join("deploy/systemd/fdtide-agent.service");
    let unit = fs::read_to_string(unit).context("failed to read the unit")?;
    let line = unit.lines().find_map(|line| line.strip_prefix("CapabilityBoundingSet="));
    let mut given: BTreeSet<String> =
        line.context("the unit has no `CapabilityBoundingSet`")?.split_whitespace().map(str::to_owned).collect();
    if unit.lines().any(|line| line.starts_with("Nice=-")) {
        given.insert("CAP_SYS_NICE".to_owned());
    }
    ensure!(added == given, "the DaemonSet has {added:?}, the unit {given:?}");
    Ok(())
}

/// The `ConfigMap` is `deploy/agent.toml`, but for [`DIFFERENT`].
fn same_configuration(documents: &[Value]) -> Result<()> {
    let text = of_kind(documents, "ConfigMap")?["data"]["agent.toml"].as_str().context("no `agent.toml`")?;
    let pod: toml::Table = toml::from_str(text).context("failed to parse the DaemonSet's `agent.toml`")?;
    let own = fs::read_to_string(sh::root()?.join("deploy/agent.toml")).context("failed to read `agent.toml`")?;
    let own: toml::Table = toml::from_str(&own).context("failed to parse `deploy/agent.toml`")?;
    let found = differences(&own, &pod);
    if found != DIFFERENT {
        bail!("the DaemonSet's `agent.toml` differs from `deploy/agent.toml` in {found:?}, and not in {DIFFERENT:?}");
    }
    Ok(())
}

/// `table.key` of every value that is not the same in both, sorted.
fn differences(one: &toml::Table, other: &toml::Table) -> Vec<String> {
    let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let mut found = Vec::new();
    for key in keys {
        match (one.get(key), other.get(key)) {
            (Some(toml::Value::Table(one)), Some(toml::Value::Table(other))) => {
                found.extend(differences(one, other).into_iter().map(|inner| format!("{key}.{inner}")));
            }
            (one, other) if one != other => found.push(key.clone()),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_named_with_its_table() {
        let table = |text: &str| toml::from_str::<toml::Table>(text).unwrap();
        let one = table("a = 1\n[m]\nx = 1\ny = 2");
        assert_eq!(differences(&one, &one), Vec::<String>::new());
        assert_eq!(differences(&one, &table("a = 1\n[m]\nx = 2\nz = 1")), ["m.x", "m.y", "m.z"]);
        assert_eq!(differences(&one, &table("a = 1")), ["m"]);
    }
}
