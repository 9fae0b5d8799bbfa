//! Dependency order and cycles of a graph of thousands to a million nodes, without recursion.

/// A graph: for each node, the nodes that it needs. An edge keeps its place in the list.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    starts: Vec<u32>,
    targets: Vec<u32>,
}

impl Graph {
    /// A graph from the needs of each node.
    pub(crate) fn new<I: IntoIterator<Item = u32>>(needs: impl IntoIterator<Item = I>) -> Graph {
        let mut graph = Graph {
            starts: vec![0],
            targets: Vec::new(),
        };
        for list in needs {
            graph.targets.extend(list);
            graph.starts.push(graph.targets.len() as u32);
        }
        graph
    }

    /// How many nodes there are.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// What a node needs.
    pub(crate) fn needs(&self, node: u32) -> &[u32] {
        let (start, end) = (self.starts[node as usize], self.starts[node as usize + 1]);
        &self.targets[start as usize..end as usize]
    }

    /// The strongly connected components, each after everything that it needs (Tarjan's algorithm with its own stack).
    pub(crate) fn components(&self) -> Vec<Vec<u32>> {
        const NEW: u32 = u32::MAX;
        let count = self.len();
        let mut index = vec![NEW; count];
        let mut low = vec![0u32; count];
        let mut open = vec![false; count];
        let mut stack: Vec<u32> = Vec::new();
        let mut frames: Vec<(u32, u32)> = Vec::new();
        let mut components = Vec::with_capacity(count);
        let mut next = 0u32;
        for root in 0..count as u32 {
            if index[root as usize] != NEW {
                continue;
            }
            frames.push((root, 0));
            while let Some((node, edge)) = frames.last_mut() {
                let node = *node;
                let at = node_index(node);
                if index[at] == NEW {
                    index[at] = next;
                    low[at] = next;
                    next += 1;
                    stack.push(node);
                    open[at] = true;
                }
                let needs = self.needs(node);
                if let Some(need) = needs.get(*edge as usize) {
                    *edge += 1;
                    let to = node_index(*need);
                    if index[to] == NEW {
                        frames.push((*need, 0));
                    } else if open[to] {
                        low[at] = low[at].min(index[to]);
                    }
                    continue;
                }
                frames.pop();
                if let Some((parent, _)) = frames.last() {
                    let parent = node_index(*parent);
                    low[parent] = low[parent].min(low[at]);
                }
                if low[at] == index[at] {
                    let mut component = Vec::new();
                    while let Some(member) = stack.pop() {
                        open[node_index(member)] = false;
                        component.push(member);
                        if member == node {
                            break;
                        }
                    }
                    component.reverse();
                    components.push(component);
                }
            }
        }
        components
    }

    /// Whether a component is a cycle: more than one node, or one that needs itself.
    pub(crate) fn is_cycle(&self, component: &[u32]) -> bool {
        component.len() > 1 || self.needs(component[0]).contains(&component[0])
    }

    /// The shortest way from a node to another inside a component, both included.
    pub(crate) fn path(&self, from: u32, to: u32, component: &[u32]) -> Vec<u32> {
        let inside: std::collections::HashSet<u32> = component.iter().copied().collect();
        let mut before: std::collections::HashMap<u32, u32> = std::collections::HashMap::new();
        let mut queue = std::collections::VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            if node == to {
                break;
            }
            for need in self.needs(node) {
                if inside.contains(need) && *need != from && !before.contains_key(need) {
                    before.insert(*need, node);
                    queue.push_back(*need);
                }
            }
        }
        let mut path = vec![to];
        let mut node = to;
        while node != from {
            match before.get(&node) {
                Some(previous) => node = *previous,
                None => break,
            }
            path.push(node);
        }
        path.reverse();
        path
    }
}

fn node_index(node: u32) -> usize {
    node as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(needs: &[&[u32]]) -> Graph {
        Graph::new(needs.iter().map(|list| list.iter().copied()))
    }

    #[test]
    fn needs_come_first_and_cycles_are_whole() {
        let graph = graph(&[&[1], &[2], &[0], &[0], &[]]);
        let components = graph.components();
        assert_eq!(components[0].len(), 3);
        assert_eq!(components[1], [3]);
        assert!(graph.is_cycle(&components[0]));
        assert!(!graph.is_cycle(&components[1]));
        assert_eq!(graph.path(1, 0, &components[0]), [1, 2, 0]);
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let count = 200_000u32;
        let graph = Graph::new((0..count).map(|node| (node + 1 < count).then_some(node + 1)));
        let components = graph.components();
        assert_eq!(components.len(), count as usize);
        assert_eq!(components[0], [count - 1]);
    }

    #[test]
    fn a_node_that_needs_itself_is_a_cycle() {
        let graph = graph(&[&[0], &[]]);
        assert!(graph.is_cycle(&[0]));
        assert!(!graph.is_cycle(&[1]));
    }
}
