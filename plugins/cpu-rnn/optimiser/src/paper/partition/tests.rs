use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

/// A private cache that holds `capacity` values of the weights and drops what was used longest ago.
struct Lru {
    capacity: usize,
    held: VecDeque<(usize, usize)>,
    missed: u64,
}

impl Lru {
    fn touch(&mut self, value: (usize, usize)) {
        match self.held.iter().position(|held| *held == value) {
            Some(place) => {
                self.held.remove(place);
            }
            None => self.missed += 1,
        }
        self.held.push_back(value);
        if self.held.len() > self.capacity {
            self.held.pop_front();
        }
    }
}

/// The sizes of `parts` nearly equal parts of `extent`, the largest first.
fn parts(extent: usize, parts: usize) -> Vec<usize> {
    (0..parts).map(|part| extent / parts + usize::from(part < extent % parts)).collect()
}

/// Counts what Listing 3 loads and stores on every core over the steps; A and C are new at each step.
fn counted(extents: &Extents, cut: &Partition, steps: usize, capacity: usize, sweep: Sweep) -> (u64, u64) {
    let (mut rest, mut weights) = (0, 0);
    for i_part in parts(extents.i, cut.x_i) {
        for j_part in parts(extents.j, cut.x_j) {
            for k_part in parts(extents.k, cut.x_k) {
                let mut cache = Lru { capacity, held: VecDeque::new(), missed: 0 };
                for step in 0..steps {
                    rest += (i_part * k_part) as u64; // Load A[*,*] in A_buf.
                    let backwards = sweep == Sweep::ZigZag && step % 2 == 1;
                    for at in 0..j_part * k_part {
                        let at = if backwards { j_part * k_part - 1 - at } else { at };
                        cache.touch((at / k_part, at % k_part)); // Load B[*,j] in B_buf.
                    }
                    rest += 2 * (i_part * j_part) as u64; // Load and store C[i,j].
                }
                weights += cache.missed;
            }
        }
    }
    (rest, weights)
}

fn extents(i: usize, j: usize, k: usize) -> Extents {
    Extents { i, j, k, value_bytes: 1, weight_bytes: 1 }
}

#[test]
fn all_partitions_and_no_others() {
    let of_four = partitions(&extents(8, 8, 8), 4);
    assert_eq!(of_four.len(), 6, "4*1*1 three ways, 2*2*1 three ways: {of_four:?}");
    assert!(of_four.iter().all(|part| part.degree() == 4));
    // One sequence cannot be cut into rows.
    assert!(partitions(&extents(1, 8, 8), 4).iter().all(|part| part.x_i == 1));
    assert_eq!(partitions(&extents(1, 1, 1), 2), []);
}

#[test]
fn columns_for_one_sequence_rows_for_many_with_small_weights() {
    let l2 = 2 << 20;
    let lstm = |batch, hidden: usize| Extents {
        i: batch,
        j: 4 * hidden,
        k: hidden,
        value_bytes: 4,
        weight_bytes: 4,
    };
    let best = |extents: Extents| ranked(&extents, 2, 100, l2)[0].0;
    assert_eq!(best(lstm(1, 1024)), Partition { x_i: 1, x_j: 2, x_k: 1 });
    assert_eq!(best(lstm(20, 1024)), Partition { x_i: 1, x_j: 2, x_k: 1 });
    // 64 units: the weights are read once each, and the input need not be copied at each step.
    assert_eq!(best(lstm(20, 64)), Partition { x_i: 2, x_j: 1, x_k: 1 });
}

#[test]
fn a_sum_is_cut_only_by_many_cores_or_for_narrow_cells() {
    let cut = |gates, batch, hidden, degree| {
        let extents = Extents { i: batch, j: gates * hidden, k: hidden, value_bytes: 4, weight_bytes: 4 };
        ranked(&extents, degree, 100, 2 << 20)[0].0.x_k
    };
    // 2 X_k |C| counts double, and C is as wide as all gates of A.
    for (gates, batch, hidden) in [(4, 1, 64), (3, 20, 1024), (4, 10, 256), (3, 1, 16)] {
        for degree in [2, 4, 8] {
            assert_eq!(cut(gates, batch, hidden, degree), 1);
        }
    }
    assert_eq!((cut(1, 1, 256, 8), cut(4, 1, 1024, 64)), (2, 2));
}

proptest! {
    #[test]
    fn the_formula_counts_what_listing_3_moves(
        (i, j, k) in (1_usize..5, 1_usize..7, 1_usize..6),
        degree in 1_usize..9,
        steps in 1_usize..5,
        capacity in 1_usize..32,
    ) {
        let extents = extents(i, j, k);
        for part in partitions(&extents, degree) {
            let predicted = movement(&extents, &part, steps, capacity, Sweep::Forward);
            let (rest, weights) = counted(&extents, &part, steps, capacity, Sweep::Forward);
            prop_assert_eq!(predicted.total_bytes - predicted.weight_bytes, rest);
            // Where parts are unequal a small one may fit although the largest does not: the formula is then above.
            let equal = j % part.x_j == 0 && k % part.x_k == 0;
            prop_assert!(weights <= predicted.weight_bytes);
            prop_assert!(!equal || weights == predicted.weight_bytes, "{weights} {predicted:?} {part:?}");
        }
    }

    #[test]
    fn alternating_sweeps_read_again_only_what_does_not_fit(
        (i, j, k) in (1_usize..4, 1_usize..7, 1_usize..6),
        degree in 1_usize..7,
        steps in 1_usize..6,
        capacity in 1_usize..32,
    ) {
        let extents = extents(i, j, k);
        let even = |part: &Partition| j.is_multiple_of(part.x_j) && k.is_multiple_of(part.x_k);
        for part in partitions(&extents, degree).into_iter().filter(even) {
            let predicted = movement(&extents, &part, steps, capacity, Sweep::ZigZag);
            let (_, weights) = counted(&extents, &part, steps, capacity, Sweep::ZigZag);
            prop_assert_eq!(predicted.weight_bytes, weights);
        }
    }

    #[test]
    fn the_first_of_the_ranked_moves_least(
        (i, j, k) in (1_usize..40, 1_usize..40, 1_usize..40),
        degree in 1_usize..17,
        steps in 1_usize..200,
        l2 in 1_usize..4000,
    ) {
        let extents = extents(i, j, k);
        let all = ranked(&extents, degree, steps, l2);
        let moved = |part| movement(&extents, part, steps, l2, Sweep::Forward);
        let least = partitions(&extents, degree).iter().map(moved).min();
        prop_assert_eq!(all.first().map(|(_, movement)| movement.total_bytes), least.map(|least| least.total_bytes));
    }
}
