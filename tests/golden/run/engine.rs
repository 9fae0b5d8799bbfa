//! A case on the real engine: the journal in memory, scripted actions, a virtual clock.
