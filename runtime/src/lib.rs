//! A plan to events: runs, their journals, and what performs their actions.

pub mod clock;
pub mod decide;
pub mod driver;
pub mod event;
pub mod executor;
pub mod fault;
pub mod journal;
pub mod process;
pub mod public;
pub mod queue;
pub mod record;
pub mod run;
pub mod walk;
