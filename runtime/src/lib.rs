//! A plan to events: runs, their journals, and what performs their actions.
//!
//! - [`start`] runs a plan; [`resume`] takes a run that exists and shows what going on means before it does.
//! - [`list_runs`], [`open_run`], [`events`] and [`verify`] look at runs without owning them.
//! - [`supports`] and [`check_inputs`] say before a start what would stand in its way.
//!
//! Within, a run goes one way: [`run::Run::decide`] says which event comes next, [`run::Run::apply`] takes it into account,
//! and the driver makes it durable before it starts anything or tells anybody.

pub mod clock;
pub mod event;
pub mod fault;

pub mod decide;
pub mod queue;
pub mod run;
pub mod spending;
pub mod walk;

pub mod checkpoint;
pub mod journal;

pub mod answer;
pub mod driver;
pub mod executor;
pub mod process;
pub mod workspace;

pub mod agents;
pub mod classify;
pub mod harness;

pub mod public;
pub mod record;

pub mod resume;
pub mod runnable;
pub mod start;
pub mod view;

pub use driver::{Host, Observer};
pub use public::PublicEvent;
pub use record::{RunRecord, RunStatus};
pub use resume::{ResumeOptions, ResumePlan, Resumption, preview, resume};
pub use runnable::{InputFault, check_inputs, supports};
pub use start::{Refusal, RefusalReason, RunFault, StartOptions, start};
pub use view::{RunSummary, RunView, events, find_run, list_runs, open_run, verify};
