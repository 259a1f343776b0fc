//! Private-cache-aware partitioning (PCP), section 5.2.3: how a product is cut over cores so that the least data moves
//! between the shared and the private caches.
//!
//! A product `C[i, j] = sum_k A[i, k] B[k, j]` is cut into `X_i * X_j * X_k = P` parts. A is the input (a row for each
//! sequence of the batch), B the weights, C the result. Theorem 5.2: `X_j |A| + X_i |B| + 2 X_k |C|` moves in one
//! phase. Over the steps of a sequence the weights stay in the private cache if a part of them fits, and are read once.

use proctor_rnn_layer::{LayerShape, Sweep};

/// Extents of a product in numbers of values, and the size of a value of each matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extents {
    /// Number of rows of A and C.
    pub i: usize,
    /// Number of columns of B and C.
    pub j: usize,
    /// Number of columns of A and rows of B: the extent of the sums.
    pub k: usize,
    /// Number of bytes of a value of A and of C.
    pub value_bytes: usize,
    /// Number of bytes of a value of B.
    pub weight_bytes: usize,
}

impl Extents {
    /// Returns `|A|` in bytes.
    #[must_use]
    pub fn a_bytes(&self) -> usize {
        self.i * self.k * self.value_bytes
    }

    /// Returns `|B|` in bytes.
    #[must_use]
    pub fn b_bytes(&self) -> usize {
        self.k * self.j * self.weight_bytes
    }

    /// Returns `|C|` in bytes.
    #[must_use]
    pub fn c_bytes(&self) -> usize {
        self.i * self.j * self.value_bytes
    }
}

/// Returns the hidden product of one direction, all gates fused: `[batch, hidden] x [hidden, gates * hidden]`.
#[must_use]
pub fn hidden_product(shape: &LayerShape) -> Extents {
    Extents {
        i: shape.batch,
        j: shape.cell.gate_count() * shape.hidden,
        k: shape.hidden,
        value_bytes: size_of::<f32>(),
        weight_bytes: shape.precision.weight_bytes(),
    }
}

/// Returns the input product of one direction over `steps` steps, all gates fused.
#[must_use]
pub fn input_product(shape: &LayerShape, steps: usize) -> Extents {
    Extents { i: shape.batch * steps, k: shape.input, ..hidden_product(shape) }
}

/// Numbers of parts into which the extents are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Partition {
    /// `X_i`: parts of the rows, the sequences of a batch. Each core of such a part reads all its weights.
    pub x_i: usize,
    /// `X_j`: parts of the columns, the units. Each core of such a part reads all of the input.
    pub x_j: usize,
    /// `X_k`: number of parts of the sum. Their partial sums must be added up.
    pub x_k: usize,
}

impl Partition {
    /// Returns the number of parts, `P`.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.x_i * self.x_j * self.x_k
    }

    /// Returns the number of bytes of the largest part of the weights, `|B| / (X_j X_k)`.
    #[must_use]
    pub fn block_bytes(&self, extents: &Extents) -> usize {
        extents.j.div_ceil(self.x_j) * extents.k.div_ceil(self.x_k) * extents.weight_bytes
    }
}

/// Returns all partitions of a product into `degree` parts, all of them non-empty.
#[must_use]
pub fn partitions(extents: &Extents, degree: usize) -> Vec<Partition> {
    let divisors = |of: usize| (1..=of).filter(move |divisor| of.is_multiple_of(*divisor));
    let cut =
        |x_i: usize| divisors(degree / x_i).map(move |x_j| Partition { x_i, x_j, x_k: degree / x_i / x_j });
    let fits = |part: &Partition| part.x_i <= extents.i && part.x_j <= extents.j && part.x_k <= extents.k;
    divisors(degree).flat_map(cut).filter(fits).collect()
}

/// Bytes between the shared and the private caches that the phases of `steps` steps move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Movement {
    /// Sum of all bytes.
    pub total_bytes: u64,
    /// The share of the weights.
    pub weight_bytes: u64,
}

/// Returns the piecewise formula of section 5.2.3: `steps (X_j |A| + 2 X_k |C|) + X_i |B|` if a block of the weights
/// fits into `l2_bytes`, else `steps (X_j |A| + X_i |B| + 2 X_k |C|)`, minus the savings of alternating sweeps.
///
/// "In practice, it is not necessary for a block of the weight matrices to fit entirely": a step that begins where the
/// step before ended still finds `l2_bytes` of its block, and reads the rest only. A forward sweep of a cache that
/// drops what was used longest ago finds nothing.
#[must_use]
pub fn movement(
    extents: &Extents,
    partition: &Partition,
    steps: usize,
    l2_bytes: usize,
    sweep: Sweep,
) -> Movement {
    let block = partition.block_bytes(extents);
    let whole = partition.x_i * extents.b_bytes();
    let again = match sweep {
        _ if block <= l2_bytes => 0,
        Sweep::Forward => whole,
        Sweep::ZigZag => whole.min(partition.degree() * (block - l2_bytes)),
    };
    let weight_bytes = whole as u64 + steps.saturating_sub(1) as u64 * again as u64;
    let each_step = partition.x_j * extents.a_bytes() + 2 * partition.x_k * extents.c_bytes();
    Movement { total_bytes: steps as u64 * each_step as u64 + weight_bytes, weight_bytes }
}

/// Returns every partition into `degree` parts with its data movement by forward sweeps, the least first; ties in
/// favour of fewer parts of the sum, then of the columns, which keep more of the weights.
#[must_use]
pub fn ranked(extents: &Extents, degree: usize, steps: usize, l2_bytes: usize) -> Vec<(Partition, Movement)> {
    let with_movement = |part: Partition| (part, movement(extents, &part, steps, l2_bytes, Sweep::Forward));
    let mut all: Vec<_> = partitions(extents, degree).into_iter().map(with_movement).collect();
    all.sort_by_key(|(part, movement)| (movement.total_bytes, part.x_k, part.x_i));
    all
}

#[cfg(test)]
mod tests;
