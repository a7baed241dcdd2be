//! The rows of a list of failures, which several sections have.

/// Rows of `<prefix>failures[]`; the second argument replaces what is said of the error.
macro_rules! failures {
    ($at:literal) => {
        $crate::sink::fields::failures::failures!(
            $at,
            "Error that the syscall gave; `other` for failures beyond the kinds kept apart."
        )
    };
    ($at:literal, $errno:literal) => {
        &[
            $crate::sink::fields::field(
                concat!($at, "failures[].errno"),
                "text",
                $errno,
            ).titled("error", "error"),
            $crate::sink::fields::field(concat!($at, "failures[].syscall"), "text", "The syscall.").titled("syscall", "syscall"),
            $crate::sink::fields::field(concat!($at, "failures[].count"), "times", "How often, in this scope.").titled("failed", "failed"),
            $crate::sink::fields::field(
                concat!($at, "failures[].live"),
                "descriptors",
                "Live descriptors at the first; `null` if the first was not in this scope.",
            ).titled("live", "live"),
            $crate::sink::fields::field(concat!($at, "failures[].soft_limit"), "descriptors", "Soft limit at the first.").titled("soft limit", "limit"),
            $crate::sink::fields::field(concat!($at, "failures[].first_ns"), "ns", "When the first was.").titled("first", "first"),
            $crate::sink::fields::field(concat!($at, "failures[].last_ns"), "ns", "When the last was."),
            $crate::sink::fields::field(
                concat!($at, "failures[].per_second"),
                "per second",
                "Rate from the first to the last; `null` for fewer than ten, or if the first was not in this scope.",
            ),
            $crate::sink::fields::field(
                concat!($at, "failures[].lowest_free"),
                "number",
                "Lowest free number at the first; `null` if none of the first 1,024 was free.",
            ),
            $crate::sink::fields::field(
                concat!($at, "failures[].in_use"),
                "numbers",
                "Numbers in use at the first, those being reserved included, among the first 1,024.",
            ),
            $crate::sink::fields::field(
                concat!($at, "failures[].cause"),
                "text",
                "`table full`: no number below the limit was free; `another quota`: the table had room, another quota or a supervisor (seccomp) refused; `system-wide limit`; `beyond the limit`: dup2 or F_DUPFD asked for a number not below it; `unclear`.",
            ).titled("cause", "cause"),
            $crate::sink::fields::field(
                concat!($at, "failures[].hidden"),
                "bool",
                "The syscall returned success and delivered fewer descriptors than were sent (MSG_CTRUNC).",
            ),
        ]
    };
}

pub(super) use failures;
