//! What went wrong in the kernel, counted per CPU.

macro_rules! counters {
    ($($name:ident = $value:literal => $text:literal, $doc:literal;)*) => {
        /// A thing that is counted where it happens, because it costs part of the picture.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub enum Counter {
            $(#[doc = $doc] $name = $value,)*
        }

        impl Counter {
            /// Every counter, in the order of their numbers.
            pub const ALL: &'static [Counter] = &[$(Counter::$name,)*];

            /// The name used in every output.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Counter::$name => $text,)*
                }
            }

            /// What it means for the reader of a report.
            pub const fn help(self) -> &'static str {
                match self {
                    $(Counter::$name => $doc,)*
                }
            }
        }
    };
}

counters! {
    RingFull = 0 => "ring_full", "Records refused because the ring had no room.";
    TableFull = 1 => "table_map_full", "Descriptor tables that could not be followed because the map was full.";
    ProcFull = 2 => "process_map_full", "Processes that could not be followed because the map was full.";
    ChunkFull = 3 => "chunk_map_full", "Looks at numbers above 1,023 that found no room to keep them.";
    HeldFull = 4 => "thread_map_full", "Opens that could not be credited to their thread because the map was full.";
    ReadFailed = 5 => "read_failed", "Reads of kernel memory that failed.";
    BeyondRange = 6 => "number_beyond_range", "Looks at descriptor numbers above the greatest that is followed.";
    Stale = 7 => "stale_row", "Rows of ended processes found by a later process with the same id.";
    LockBusy = 8 => "lock_busy", "Looks at a table that did not wait for another one to end; its composition may be off by that one.";
    FailureKinds = 9 => "failure_kinds_full", "Failures counted under `other` because their table had too many kinds of failure.";
    PendingFull = 10 => "argument_map_full", "Calls whose arguments found no room between entry and return; the whole table was looked at instead.";
    StackLost = 11 => "stack_lost", "User stacks that could not be taken, or found no room.";
    EventsFull = 12 => "events_ring_full", "Single installs and closes that found no room in their ring; every count is right without them.";
}

/// Number of counter slots in the map.
pub const COUNTERS: usize = 16;

/// One CPU's counters, indexed by [`Counter`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Counters {
    /// Values, indexed by `Counter as usize`.
    pub values: [u64; COUNTERS],
}

const _: () = assert!(Counter::ALL.len() <= COUNTERS, "more counters than slots");
crate::assert_packed!(Counters, 8 * COUNTERS);
