//! The computation as a graph of matrix products, the MM-DAG of section 5.1: a node is one product of one gate at one
//! step, an edge says that a product needs the result of another. Sums, functions and states lie on the edges.
//!
//! The graph of a sequence is periodic, so [`MmDag`] holds one step: its products, and dependences on the same step or
//! the step before. [`MmDag::unroll`] makes the whole graph of a few steps. A bidirectional layer is two such graphs
//! without an edge between them.

use std::fmt;

use proctor_rnn_layer::Cell;

/// The factor that is multiplied with the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operand {
    /// `x_t`.
    Input,
    /// `h_{t-1}`.
    Hidden,
    /// `r_t * h_{t-1}`, of a GRU that resets the state before the product.
    ResetHidden,
}

/// One product of a step, such as `W_i x_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Product {
    /// Name of the gate.
    pub gate: &'static str,
    /// The factor; its weights are W for the input, U for the rest.
    pub operand: Operand,
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weights = if self.operand == Operand::Input { "W" } else { "U" };
        write!(f, "{weights}_{} {}", self.gate, self.operand)
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Input => "x",
            Self::Hidden => "h",
            Self::ResetHidden => "(r*h)",
        })
    }
}

/// Need of one product for another, of the same step or of the step before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dependence {
    /// The product that is needed, a position in [`MmDag::products`].
    pub on: usize,
    /// The product that needs it.
    pub of: usize,
    /// Number of steps by which the needed product is earlier: 0 or 1.
    pub steps_back: usize,
}

/// The graph of one direction of a layer, one step of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MmDag {
    /// The products of a step: input products first, then hidden ones, each in the order of the gates.
    pub products: Vec<Product>,
    /// All edges that arrive at the products of a step.
    pub dependences: Vec<Dependence>,
}

/// Returns the names of the gates of a cell, in the order of its weights.
fn gate_names(cell: Cell) -> &'static [&'static str] {
    match cell {
        Cell::Lstm => &["i", "f", "g", "o"],
        Cell::Gru(_) => &["r", "z", "n"],
        Cell::Rnn(_) => &["h"],
    }
}

impl MmDag {
    /// Returns the graph of a cell.
    #[must_use]
    pub fn of(cell: Cell) -> Self {
        let gates = gate_names(cell);
        let resets_state = cell.resets_before_product();
        let of_input = gates.iter().map(|gate| Product { gate, operand: Operand::Input });
        let of_hidden = gates.iter().map(|gate| {
            let is_reset = resets_state && *gate == "n";
            Product { gate, operand: if is_reset { Operand::ResetHidden } else { Operand::Hidden } }
        });
        let products: Vec<_> = of_input.chain(of_hidden).collect();
        let mut dependences = Vec::new();
        for (of, product) in products.iter().enumerate() {
            // A state of the step before is made of every product of that step.
            if product.operand != Operand::Input {
                dependences.extend((0..products.len()).map(|on| Dependence { on, of, steps_back: 1 }));
            }
            // The reset gate of this step is made of the two products of that gate.
            if product.operand == Operand::ResetHidden {
                let of_reset = products.iter().enumerate().filter(|(_, other)| other.gate == "r");
                dependences.extend(of_reset.map(|(on, _)| Dependence { on, of, steps_back: 0 }));
            }
        }
        Self { products, dependences }
    }

    /// Returns whether a product depends on another step, directly or through products of its own step.
    #[must_use]
    pub fn is_time_dependent(&self, product: usize) -> bool {
        let arriving = self.dependences.iter().filter(|edge| edge.of == product);
        arriving.into_iter().any(|edge| edge.steps_back > 0 || self.is_time_dependent(edge.on))
    }

    /// Returns the number of products of the longest chain within a step, of those that depend on other steps: that
    /// many time-dependent phases does a step need.
    #[must_use]
    pub fn depth(&self) -> usize {
        (0..self.products.len()).map(|product| self.chain(product)).max().unwrap_or(0)
    }

    fn chain(&self, product: usize) -> usize {
        let within = self.dependences.iter().filter(|edge| edge.of == product && edge.steps_back == 0);
        let before = within.map(|edge| self.chain(edge.on)).max().unwrap_or(0);
        before + usize::from(self.is_time_dependent(product))
    }

    /// Returns the graph of `steps` steps.
    ///
    /// # Panics
    /// If it has more than 64 products.
    #[must_use]
    pub fn unroll(&self, steps: usize) -> UnrolledDag {
        let count = self.products.len();
        assert!(steps * count <= 64, "{steps} steps of {count} products are more than a set of 64 holds");
        let mut needs = vec![NodeSet::default(); steps * count];
        for step in 0..steps {
            for edge in &self.dependences {
                // The initial state is there from the start.
                if let Some(earlier) = step.checked_sub(edge.steps_back) {
                    needs[step * count + edge.of].insert(earlier * count + edge.on);
                }
            }
        }
        let dependent = (0..count).filter(|product| self.is_time_dependent(*product));
        let time_dependent =
            dependent.flat_map(|product| (0..steps).map(move |step| step * count + product)).collect();
        UnrolledDag { steps, products_per_step: count, needs, time_dependent }
    }
}

/// A set of at most 64 nodes of an unrolled graph, or of products of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct NodeSet(u64);

impl NodeSet {
    /// Adds a node; below 64.
    pub fn insert(&mut self, node: usize) {
        self.0 |= 1 << node;
    }

    /// Returns whether there is no node.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns whether a node is in it.
    #[must_use]
    pub fn contains(self, node: usize) -> bool {
        self.0 >> node & 1 == 1
    }

    /// Returns the nodes of either.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether there is a node in both.
    #[must_use]
    pub fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the nodes `by` places further; those beyond the 64th are lost.
    #[must_use]
    pub fn shifted(self, by: usize) -> Self {
        Self(u32::try_from(by).ok().and_then(|by| self.0.checked_shl(by)).unwrap_or(0))
    }

    /// Returns the nodes, ascending.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..64).filter(move |node| self.contains(*node))
    }
}

impl FromIterator<usize> for NodeSet {
    fn from_iter<I: IntoIterator<Item = usize>>(nodes: I) -> Self {
        let mut set = Self::default();
        nodes.into_iter().for_each(|node| set.insert(node));
        set
    }
}

/// The graph of some steps: node `step * products_per_step + product`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnrolledDag {
    /// Number of steps.
    pub steps: usize,
    /// Number of products of a step.
    pub products_per_step: usize,
    /// For each node, the nodes that it needs.
    pub needs: Vec<NodeSet>,
    /// The nodes whose products depend on other steps.
    pub time_dependent: NodeSet,
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use proctor_rnn_layer::{GruReset, RnnActivation};

    const CELLS: [Cell; 4] = [
        Cell::Lstm,
        Cell::Gru(GruReset::AfterProduct),
        Cell::Gru(GruReset::BeforeProduct),
        Cell::Rnn(RnnActivation::Tanh),
    ];

    /// Which weights a product multiplies.
    #[derive(Clone, Copy, PartialEq, Eq, Hash)]
    enum Side {
        Input,
        Hidden,
    }

    /// The graph from the equations of the cells alone: which products each value is made of, step by step.
    fn from_equations(cell: Cell, steps: usize) -> Vec<NodeSet> {
        let gates = gate_names(cell);
        let mut needs: HashMap<(usize, Side, &str), NodeSet> = HashMap::new();
        let node = |step: usize, side: Side, gate: &str| {
            let place = gates.iter().position(|name| *name == gate).unwrap();
            step * 2 * gates.len() + if side == Side::Input { place } else { gates.len() + place }
        };
        let mut state = NodeSet::default(); // What h_{t-1} is made of, products of its own step alone.
        for step in 0..steps {
            let own = |gate: &str| -> NodeSet {
                [node(step, Side::Input, gate), node(step, Side::Hidden, gate)].into_iter().collect()
            };
            for gate in gates {
                needs.insert((step, Side::Input, gate), NodeSet::default());
                // n of a GRU that resets before: U_n (r_t * h_{t-1}), else U_g h_{t-1}.
                let is_reset = cell == Cell::Gru(GruReset::BeforeProduct) && *gate == "n";
                let reset = if is_reset { own("r") } else { NodeSet::default() };
                needs.insert((step, Side::Hidden, gate), state.union(reset));
            }
            // h_t = f(all gates of the step, earlier states).
            state = gates.iter().map(|gate| own(gate)).fold(NodeSet::default(), NodeSet::union);
        }
        let mut all = vec![NodeSet::default(); steps * 2 * gates.len()];
        for ((step, side, gate), set) in needs {
            all[node(step, side, gate)] = set;
        }
        all
    }

    #[test]
    fn the_periodic_graph_unrolled_is_that_of_the_equations() {
        for cell in CELLS {
            for steps in [0, 1, 2, 5] {
                assert_eq!(
                    MmDag::of(cell).unroll(steps).needs,
                    from_equations(cell, steps),
                    "{cell:?} {steps}"
                );
            }
        }
    }

    #[test]
    fn products_of_the_hidden_state_depend_on_time_and_no_others() {
        for cell in CELLS {
            let dag = MmDag::of(cell);
            assert_eq!(dag.products.len(), 2 * cell.gate_count());
            for (at, product) in dag.products.iter().enumerate() {
                assert_eq!(dag.is_time_dependent(at), product.operand != Operand::Input, "{product}");
            }
            let unrolled = dag.unroll(3);
            assert_eq!(unrolled.time_dependent.iter().count(), 3 * cell.gate_count());
        }
    }

    #[test]
    fn only_a_gru_that_resets_before_its_product_has_two_in_a_row() {
        let depths = CELLS.map(|cell| MmDag::of(cell).depth());
        assert_eq!(depths, [1, 1, 2, 1]);
    }

    #[test]
    fn products_have_the_names_of_the_paper() {
        let names: Vec<_> = MmDag::of(Cell::Lstm).products.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["W_i x", "W_f x", "W_g x", "W_o x", "U_i h", "U_f h", "U_g h", "U_o h"]);
        let last = MmDag::of(Cell::Gru(GruReset::BeforeProduct)).products[5];
        assert_eq!(last.to_string(), "U_n (r*h)");
    }

    #[test]
    fn sets_hold_what_was_put_in() {
        let set: NodeSet = [0, 5, 63].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 5, 63]);
        assert_eq!(set.shifted(58).iter().collect::<Vec<_>>(), [58, 63]);
        assert!(set.shifted(64).is_empty() && set.meets(set) && !set.meets(set.shifted(1)));
    }
}
