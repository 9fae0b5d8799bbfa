//! A set of task ids whose smallest member is found at once.

use outpost_compiler::program::TaskId;

/// A bitmap with summaries: insert, remove and first cost one step for each factor of 64.
#[derive(Debug, Default)]
pub struct TaskSet {
    /// `levels[0]` has a bit for each task; each further level one for each word of the level below that is not zero.
    levels: Vec<Vec<u64>>,
}

impl TaskSet {
    /// An empty set for ids below `count`.
    pub fn new(count: usize) -> TaskSet {
        let mut levels = Vec::new();
        let mut size = count.max(1);
        loop {
            size = size.div_ceil(64);
            levels.push(vec![0u64; size]);
            if size == 1 {
                return TaskSet { levels };
            }
        }
    }

    /// Adds an id.
    pub fn insert(&mut self, id: TaskId) {
        let mut at = id.index();
        for level in &mut self.levels {
            level[at / 64] |= 1 << (at % 64);
            at /= 64;
        }
    }

    /// Takes an id out, if it is in.
    pub fn remove(&mut self, id: TaskId) {
        let mut at = id.index();
        for level in &mut self.levels {
            level[at / 64] &= !(1 << (at % 64));
            if level[at / 64] != 0 {
                return;
            }
            at /= 64;
        }
    }

    /// The smallest id.
    pub fn first(&self) -> Option<TaskId> {
        let mut at = 0;
        for level in self.levels.iter().rev() {
            let word = level[at];
            if word == 0 {
                return None;
            }
            at = at * 64 + word.trailing_zeros() as usize;
        }
        Some(TaskId(at as u32))
    }

    /// Whether nothing is in.
    pub fn is_empty(&self) -> bool {
        self.first().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smallest_first_over_several_levels() {
        let mut set = TaskSet::new(300_000);
        for id in [299_999, 64, 4096, 70_000] {
            set.insert(TaskId(id));
        }
        let mut seen = Vec::new();
        while let Some(id) = set.first() {
            seen.push(id.0);
            set.remove(id);
        }
        assert_eq!(seen, [64, 4096, 70_000, 299_999]);
        set.remove(TaskId(5));
        assert!(set.is_empty());
    }
}
