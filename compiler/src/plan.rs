//! The plan: what will happen when a workflow runs. Immutable, acyclic, complete.
