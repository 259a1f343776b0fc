//! Small cases in which every kernel runs, few of each family: a kernel that is wrong shows here first.
//!
//! Extents are not multiples of tiles and groups, so that the last of them is cut off; stacks have two levels; windows
//! have strides, gaps and pads that differ. Further shapes are in the lists that these cases are taken from.

use crate::{Case, named, operators, recurrent};

/// Name of a convolution with pools.
pub const WINDOWS: &str = "5 filters, strides [2, 3], dilations [1, 2], pads [2, 1, 0, 3]";

/// Returns products: of many rows by one matrix, of stacks in two levels, of a single row.
#[must_use]
pub fn products() -> Vec<Case> {
    let names = ["[2, 3, 5, 7] by [7, 40]", "[2, 2, 3, 5, 7] by [2, 1, 3, 7, 4]", "[1, 7] by [7, 65]"];
    named(&operators::products(), &names)
}

/// Returns convolutions with pools of the results, in groups, and of each channel.
#[must_use]
pub fn convolutions() -> Vec<Case> {
    let mut cases = named(&operators::windows(), &[WINDOWS]);
    cases.extend(named(&operators::convolutions_of_parts(), &["2 groups of batch 2"]));
    cases.extend(named(&operators::depthwise(), &["several results"]));
    cases
}

/// Returns products and convolutions of integers.
#[must_use]
pub fn integers() -> Vec<Case> {
    operators::integers()
}

/// Returns the elements and slices in any layout, and every function of an element.
#[must_use]
pub fn elements() -> Vec<Case> {
    [operators::elements(), operators::functions(), operators::gathers()].concat()
}

/// Sums, means, greatest elements and their places, softmax and normalisation.
#[must_use]
pub fn rows() -> Vec<Case> {
    operators::rows()
}

/// Returns attention with keys for more than one turn: with a mask for all rows, and with one for each.
#[must_use]
pub fn attention() -> Vec<Case> {
    let names = [
        "attention of [2, 3, 40, 64], [2, 3, 70, 64], [2, 3, 70, 64] and [2, 1, 1, 70]",
        "attention of [2, 33, 20], [2, 130, 20], [2, 130, 9] and [33, 130]",
    ];
    named(&operators::attention(), &names)
}

/// Returns a layer of each cell.
#[must_use]
pub fn recurrent() -> Vec<Case> {
    recurrent::of_each_cell()
}

/// Returns the cases for numbers that are rounded as they are stored: by products, where some are rounded in between
/// and the others not, and by a softmax.
#[must_use]
pub fn narrow() -> Vec<Case> {
    named(&operators::products(), &["[2, 3, 5, 7] by [7, 40]", "[5, 7] by its like, transposed"])
}

/// Returns all cases.
#[must_use]
pub fn all() -> Vec<Case> {
    [products(), convolutions(), integers(), elements(), rows(), attention(), recurrent()].concat()
}
