//! What a kernel must have besides the members of [`fdtide_abi::Offsets`].

use super::btf::Btf;

/// Something that the kernel program needs and that its BTF names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// Name of a function that BTF lists if the kernel has it.
    pub function: &'static str,
    /// What it is, for people.
    pub what: &'static str,
    /// The release that brought it.
    pub since: &'static str,
}

/// Everything that is needed, oldest first.
pub const NEEDS: &[Need] = &[
    Need { function: "bpf_ringbuf_reserve", what: "the BPF ring buffer", since: "5.8" },
    Need { function: "bpf_get_current_task_btf", what: "typed pointers to the current task", since: "5.11" },
    Need { function: "bpf_task_pt_regs", what: "the registers of a task", since: "5.15" },
    Need { function: "bpf_loop", what: "the helper `bpf_loop`", since: "5.17" },
];

/// Something is missing.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("this kernel is too old: it lacks {}; fdtide needs Linux 6.1 or later", list(.0))]
pub struct TooOld(pub Vec<Need>);

fn list(missing: &[Need]) -> String {
    missing.iter().map(|need| format!("{} (Linux {})", need.what, need.since)).collect::<Vec<_>>().join(", ")
}

/// Looks for every need.
///
/// # Errors
///
/// When one is missing.
pub fn check(btf: &Btf<'_>) -> Result<(), TooOld> {
    let missing: Vec<Need> = NEEDS.iter().copied().filter(|need| !btf.has_function(need.function)).collect();
    if missing.is_empty() { Ok(()) } else { Err(TooOld(missing)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_the_release_that_brought_it() {
        let error = TooOld(vec![NEEDS[2], NEEDS[3]]);
        assert_eq!(
            error.to_string(),
            "this kernel is too old: it lacks the registers of a task (Linux 5.15), the helper `bpf_loop` (Linux 5.17); \
             fdtide needs Linux 6.1 or later"
        );
    }
}
