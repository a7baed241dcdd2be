//! Kernel side: hook shims poke handlers, handlers look at tables, tables are emitted.

mod call;
pub mod census;
pub mod emit;
pub mod failed;
mod follow;
pub mod handlers;
pub mod kind;
pub mod lock;
pub mod look;
pub mod maps;
pub mod mark;
pub mod origin;
pub mod probes;
pub mod read;
pub mod refusal;
pub mod request;
pub mod row;
pub mod scan;
mod slot;
pub mod table;
pub mod tree;
pub mod walk;
