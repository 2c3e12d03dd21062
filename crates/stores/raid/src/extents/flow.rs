//! Minimum-cost flow, by successive shortest paths.
//!
//! Networks here have some dozen nodes, and begin with nearly all of their flow. So a path is found by Bellman and Ford's relaxation, and nothing is kept
//! between two paths.

use std::collections::VecDeque;

/// A network of arcs with capacities and costs, and a flow through it.
#[derive(Debug)]
pub(super) struct Network {
    /// Arc 2i leads somewhere, arc 2i + 1 back.
    arcs: Vec<Arc>,
    /// Arcs that leave each node.
    from: Vec<Vec<usize>>,
}

#[derive(Debug)]
struct Arc {
    to: usize,
    room: u64,
    cost: i64,
}

impl Network {
    pub(super) fn new(nodes: usize) -> Self {
        Self { arcs: Vec::new(), from: vec![Vec::new(); nodes] }
    }

    /// Adds an arc that has a flow. Returns its number.
    ///
    /// Costs are not negative, and an arc with a cost has no flow at first: then no other flow of as many units is cheaper than the first one.
    pub(super) fn arc(&mut self, [from, to]: [usize; 2], capacity: u64, cost: i64, flow: u64) -> usize {
        assert!(cost >= 0, "no arc pays");
        assert!(flow <= capacity, "a flow keeps to the capacity");
        assert!(flow == 0 || cost == 0, "the first flow costs nothing");
        let number = self.arcs.len();
        self.arcs.push(Arc { to, room: capacity - flow, cost });
        self.arcs.push(Arc { to: from, room: flow, cost: -cost });
        self.from[from].push(number);
        self.from[to].push(number + 1);
        number
    }

    /// The flow of an arc.
    pub(super) fn flow(&self, arc: usize) -> u64 {
        self.arcs[arc + 1].room
    }

    /// Makes the flow as large as it can be, at the least cost.
    pub(super) fn fill(&mut self, source: usize, sink: usize) {
        while let Some(path) = self.path(source, sink) {
            let units = path.iter().map(|arc| self.arcs[*arc].room).min().expect("a path has an arc");
            for arc in path {
                self.arcs[arc].room -= units;
                self.arcs[arc ^ 1].room += units;
            }
        }
    }

    /// Arcs of the cheapest path that has room.
    fn path(&self, source: usize, sink: usize) -> Option<Vec<usize>> {
        let mut best: Vec<Option<(i64, usize)>> = vec![None; self.from.len()];
        let mut waits = vec![false; self.from.len()];
        let mut queue = VecDeque::from([source]);
        best[source] = Some((0, usize::MAX));
        while let Some(node) = queue.pop_front() {
            waits[node] = false;
            let (cost, _) = best[node].expect("what waits was reached");
            for number in self.from[node].iter().copied() {
                let arc = &self.arcs[number];
                if arc.room > 0 && best[arc.to].is_none_or(|(best, _)| cost + arc.cost < best) {
                    best[arc.to] = Some((cost + arc.cost, number));
                    if !waits[arc.to] {
                        waits[arc.to] = true;
                        queue.push_back(arc.to);
                    }
                }
            }
        }
        let (mut path, mut node) = (Vec::new(), sink);
        while node != source {
            let (_, arc) = best[node]?;
            path.push(arc);
            node = self.arcs[arc ^ 1].to;
        }
        Some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::placement::peel::tests::random;
    use super::*;

    /// The least cost of giving each of the rows its units, by trying everything.
    fn exact(costs: &[Vec<i64>], needs: &[u64], room: &mut [u64]) -> Option<i64> {
        let Some(row) = needs.iter().position(|need| *need > 0) else { return Some(0) };
        let mut needs = needs.to_vec();
        needs[row] -= 1;
        let mut best = None;
        for column in 0..room.len() {
            if room[column] > 0 {
                room[column] -= 1;
                let rest = exact(costs, &needs, room).map(|rest| rest + costs[row][column]);
                best = [best, rest].into_iter().flatten().min();
                room[column] += 1;
            }
        }
        best
    }

    #[test]
    fn no_flow_of_as_many_units_is_cheaper() {
        let mut next = random(41);
        for _ in 0..300 {
            let needs = [next(4), next(4)];
            let mut room = [next(4), next(4), next(4)];
            let costs: Vec<Vec<i64>> = needs.iter().map(|_| room.iter().map(|_| next(9) as i64).collect()).collect();
            let mut network = Network::new(7);
            needs.iter().enumerate().for_each(|(row, need)| _ = network.arc([0, 2 + row], *need, 0, 0));
            room.iter().enumerate().for_each(|(column, room)| _ = network.arc([4 + column, 1], *room, 0, 0));
            let mut arcs = Vec::new();
            for (row, costs) in costs.iter().enumerate() {
                for (column, cost) in costs.iter().enumerate() {
                    arcs.push((network.arc([2 + row, 4 + column], 9, *cost, 0), *cost));
                }
            }
            network.fill(0, 1);
            let flow: u64 = arcs.iter().map(|(arc, _)| network.flow(*arc)).sum();
            assert_eq!(flow, needs.iter().sum::<u64>().min(room.iter().sum()));
            if let Some(cost) = exact(&costs, &needs, &mut room) {
                assert_eq!(arcs.iter().map(|(arc, cost)| network.flow(*arc) as i64 * cost).sum::<i64>(), cost);
            }
        }
    }
}
