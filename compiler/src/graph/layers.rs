//! Which layer a box of a picture stands in: below all that it waits for.

/// Edges between boxes, by index: from the one that is waited for to the one that waits.
pub(crate) type Links = [(usize, usize)];

/// The layer of each box, from 0: the longest way to it.
///
/// A box that nothing leads to stands right above the first that waits for it.
/// Edges of a circle are ignored where they would close it; a plan has none.
pub(crate) fn layers(count: usize, links: &Links) -> Vec<usize> {
    let after = Lists::of(count, links.iter().copied());
    let mut open = vec![0u32; count];
    for (_, to) in links {
        open[*to] += 1;
    }
    let rootless: Vec<bool> = open.iter().map(|count| *count == 0).collect();
    let mut layer = vec![0usize; count];
    let mut placed = vec![false; count];
    let mut ready: Vec<usize> = (0..count).rev().filter(|at| open[*at] == 0).collect();
    let mut next = 0;
    loop {
        while let Some(at) = ready.pop() {
            if std::mem::replace(&mut placed[at], true) {
                continue;
            }
            for to in after.of_box(at) {
                open[*to] = open[*to].saturating_sub(1);
                if placed[*to] {
                    continue;
                }
                layer[*to] = layer[*to].max(layer[at] + 1);
                if open[*to] == 0 {
                    ready.push(*to);
                }
            }
        }
        while next < count && placed[next] {
            next += 1;
        }
        if next == count {
            break;
        }
        ready.push(next);
    }
    for at in (0..count).filter(|at| rootless[*at]) {
        if let Some(nearest) = after.of_box(at).iter().map(|to| layer[*to]).min() {
            layer[at] = nearest.saturating_sub(1);
        }
    }
    layer
}

/// A list of boxes for each box, in one allocation.
pub(crate) struct Lists {
    starts: Vec<usize>,
    all: Vec<usize>,
}

impl Lists {
    /// Lists of what each first one leads to, in the order of the pairs.
    pub fn of(count: usize, pairs: impl Iterator<Item = (usize, usize)> + Clone) -> Lists {
        let mut starts = vec![0usize; count + 1];
        for (from, _) in pairs.clone() {
            starts[from + 1] += 1;
        }
        for at in 0..count {
            starts[at + 1] += starts[at];
        }
        let mut free = starts.clone();
        let mut all = vec![0; starts[count]];
        for (from, to) in pairs {
            all[free[from]] = to;
            free[from] += 1;
        }
        Lists { starts, all }
    }

    /// What a box leads to.
    pub fn of_box(&self, at: usize) -> &[usize] {
        &self.all[self.starts[at]..self.starts[at + 1]]
    }
}

/// The boxes of each layer, in the order of their indices.
pub(crate) fn rows(layer: &[usize]) -> Vec<Vec<usize>> {
    let count = layer.iter().max().map_or(0, |last| last + 1);
    let mut rows = vec![Vec::new(); count];
    for (at, layer) in layer.iter().enumerate() {
        rows[*layer].push(at);
    }
    rows
}
