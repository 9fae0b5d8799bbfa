//! From declared names to a program: types, functions, agents, sandboxes, steps, workflows, tests, in the order in which they need one another.

pub(crate) mod agents;
pub(crate) mod body;
pub(crate) mod constants;
pub(crate) mod entities;
pub(crate) mod entries;
pub(crate) mod functions;
pub(crate) mod harnesses;
pub(crate) mod sandboxes;
pub(crate) mod shell;
pub(crate) mod task;
pub(crate) mod templates;
pub(crate) mod tests;
pub(crate) mod workflow;

use crate::context::Context;
use crate::rules;

impl<'t> Context<'t> {
    /// Everything that the files declare.
    pub(crate) fn lower_program(&mut self) {
        self.declare();
        self.lower_types();
        self.declare_functions();
        self.lower_harnesses();
        self.lower_sandboxes();
        self.lower_agents();
        self.lower_functions();
        self.lower_steps();
        self.check_templates();
        self.lower_workflows();
        self.lower_tests();
        rules::programs::check(self);
        rules::unused::check(self);
    }
}
