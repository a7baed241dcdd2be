//! Descriptor behaviour from public reports, case by case: the tool against programs that know the truth.
#![expect(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests panic and say why they skip")]

#[expect(clippy::allow_attributes, reason = "no target uses all of it")]
#[allow(dead_code, reason = "each target uses its part")]
#[path = "../support/mod.rs"]
mod support;

mod crests;
mod elsewhere;
mod limits;
mod lives;
mod names;
mod namespaces;
mod steps;

/// What a fixture says when this kernel, or this place in it, does not offer what its case is about.
const LACKS: [&str; 4] =
    ["no 32-bit calls", "`io_uring_setup` failed", "failed to make a PID namespace", "failed to choose a pid"];

/// Whether the case can be had here; if not, says why. Only the cases of [`LACKS`] are tried.
fn able(args: &[&str]) -> bool {
    if !["16", "20", "21", "23"].contains(&args[0]) {
        return true;
    }
    let probe = std::process::Command::new(support::fixture::bin("fd-case")).args(args).arg("--brief").output();
    let probe = probe.expect("it starts");
    let stderr = String::from_utf8_lossy(&probe.stderr);
    let lacks = !probe.status.success() && LACKS.iter().any(|text| stderr.contains(text));
    if lacks {
        support::skip(stderr.lines().next().unwrap_or_default());
    }
    !lacks
}
