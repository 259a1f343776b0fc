//! Fusion of products, section 5.2.1: "Two MMs can be fused into a single MM if they share a common input matrix."
//! Their weights are joined by columns.
//!
//! Products of the same weights at several steps of one phase are joined by rows, too (section 5.3, "fusing across time
//! steps"): the time-independent phase is one product of the whole sequence. Products of the two directions of a layer
//! are not joined, although both read the same input: each direction runs on its own cores.

use crate::{
    paper::dag::{MmDag, NodeSet, Operand, Product},
    paper::partition::{Extents, hidden_product, input_product},
    paper::phases::Pattern,
};
use proctor_rnn_layer::LayerShape;

/// Products that have become one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FusedProduct {
    /// The products of a step that are in it; gates in order.
    pub products: Vec<Product>,
    /// Whether it runs once, with the rows of all steps.
    pub spans_sequence: bool,
    /// Sizes: rows are sequences, times steps if it spans them; columns are units, times gates.
    pub extents: Extents,
}

/// Returns the fused products of each phase of a pattern, for one direction: first the products before the sequence,
/// then those of a step.
#[must_use]
pub fn fused(dag: &MmDag, shape: &LayerShape, pattern: &Pattern) -> Vec<Vec<FusedProduct>> {
    let before = pattern.before.iter().map(|phase| (phase, true));
    let each_step = pattern.each_step.iter().map(|phase| (phase, false));
    before.chain(each_step).map(|(phase, spans)| fused_phase(dag, shape, *phase, spans)).collect()
}

fn fused_phase(dag: &MmDag, shape: &LayerShape, phase: NodeSet, spans_sequence: bool) -> Vec<FusedProduct> {
    let products: Vec<Product> = phase.iter().map(|at| dag.products[at]).collect();
    let mut fused = Vec::new();
    for operand in [Operand::Input, Operand::Hidden, Operand::ResetHidden] {
        let sharing: Vec<Product> =
            products.iter().copied().filter(|product| product.operand == operand).collect();
        if sharing.is_empty() {
            continue;
        }
        let steps = if spans_sequence { shape.time } else { 1 };
        let whole =
            if operand == Operand::Input { input_product(shape, steps) } else { hidden_product(shape) };
        let extents = Extents { j: sharing.len() * shape.hidden, ..whole };
        fused.push(FusedProduct { products: sharing, spans_sequence, extents });
    }
    fused
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::pruning::pruned;
    use proctor_rnn_layer::{Cell, Directions, GruReset, Precision};

    fn shape(cell: Cell) -> LayerShape {
        LayerShape {
            cell,
            directions: Directions::Forward,
            input: 64,
            hidden: 256,
            batch: 10,
            time: 100,
            precision: Precision::F32,
        }
    }

    fn sizes(fused: &[Vec<FusedProduct>]) -> Vec<Vec<(usize, usize, usize)>> {
        let size = |product: &FusedProduct| (product.extents.i, product.extents.k, product.extents.j);
        fused.iter().map(|phase| phase.iter().map(size).collect()).collect()
    }

    #[test]
    fn schedule_2_of_an_lstm_is_two_products() {
        let dag = MmDag::of(Cell::Lstm);
        let fused = fused(&dag, &shape(Cell::Lstm), &Pattern::schedule_2(&dag));
        assert_eq!(sizes(&fused), [[(1000, 64, 1024)], [(10, 256, 1024)]]);
        assert_eq!(fused[1][0].products.len(), 4);
    }

    #[test]
    fn schedule_1_has_a_product_of_each_input_at_each_step() {
        let dag = MmDag::of(Cell::Lstm);
        let fused = fused(&dag, &shape(Cell::Lstm), &Pattern::schedule_1(&dag));
        assert_eq!(sizes(&fused), [[(10, 64, 1024), (10, 256, 1024)]]);
    }

    #[test]
    fn a_state_and_a_reset_state_are_two_inputs() {
        let cell = Cell::Gru(GruReset::BeforeProduct);
        let dag = MmDag::of(cell);
        let fused = fused(&dag, &shape(cell), &Pattern::schedule_2(&dag));
        assert_eq!(sizes(&fused), [vec![(1000, 64, 768)], vec![(10, 256, 512)], vec![(10, 256, 256)]]);
    }

    #[test]
    fn a_phase_has_few_products_and_no_product_is_lost() {
        for cell in [Cell::Lstm, Cell::Gru(GruReset::AfterProduct), Cell::Gru(GruReset::BeforeProduct)] {
            let dag = MmDag::of(cell);
            for pattern in pruned(&dag).kept {
                let fused = fused(&dag, &shape(cell), &pattern);
                let count: usize = fused.iter().flatten().map(|product| product.products.len()).sum();
                assert_eq!(count, dag.products.len());
                // "well-known RNN operators such as LSTMs/GRUs have at most two fused MMs per phase"; a GRU that resets
                // before its product has a third input.
                let most = 1 + dag.depth();
                let is_small = fused.iter().all(|phase| (1..=most).contains(&phase.len()));
                assert!(is_small, "{}", pattern.describe(&dag));
            }
        }
    }
}
