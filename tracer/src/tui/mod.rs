//! The live view: what the model holds now, drawn on a terminal.
//!
//! Pure: it is given states, keys and the time, and draws on whatever backend it is handed. No probe, no clock, no terminal.

mod draw;
mod figures;
mod history;
mod input;
mod keys;
mod scene;
mod view;

#[cfg(test)]
mod tests;

pub use input::keys;
pub use keys::Answer;
pub use scene::Status;
pub use view::View;
