//! Groups the rows whose ratios are summed up, with their targets.

use super::{CALL_FLOOR, Case, Group, Kind, LayerCase};

/// Rows that are summed up by the geometric mean of their ratios to the best peer.
pub(in crate::rnn) struct Set {
    pub(in crate::rnn) name: &'static str,
    /// Minimum mean of the ratio of medians and of the ratio of 99th percentiles; `None` if no target was set.
    pub(in crate::rnn) targets: [Option<f64>; 2],
    has: fn(&Case) -> bool,
}

impl Set {
    /// All sets, subsets before their supersets. The targets are 1.2 times the floor of each row at batch 1 and 1.15
    /// times at more, against the best peer of the machine on which they were laid down; those of both cells of table 1
    /// and of the random layers stand for themselves.
    pub(in crate::rnn) const ALL: [Self; 11] = [
        Self::new("table 1, LSTM, batch 1", 1.87, |case| {
            is_table_1(case, Kind::Lstm) && case.layer.batch == 1
        }),
        Self::new("table 1, LSTM, batch 10 and 20", 1.24, |case| {
            is_table_1(case, Kind::Lstm) && case.layer.batch > 1
        }),
        Self::new("table 1, GRU, batch 1", 2.25, |case| is_table_1(case, Kind::Gru) && case.layer.batch == 1),
        Self::new("table 1, GRU, batch 10 and 20", 1.47, |case| {
            is_table_1(case, Kind::Gru) && case.layer.batch > 1
        }),
        Self::new("table 1, LSTM and GRU", 1.80, |case| case.group == Group::Table1),
        Self::new("table 1, both directions", 2.02, |case| case.group == Group::Table1Bidir),
        Self::new("table 1, GRU with the reset gate before", 2.09, |case| case.group == Group::Table1Lbr0),
        Self::new("layers of the models", 2.19, |case| case.group == Group::Models),
        Self::new("single steps and the small layer", 2.63, |case| {
            case.group == Group::Extra && case.role != CALL_FLOOR
        }),
        Self {
            name: "random layers",
            targets: [Some(1.6), Some(1.3)],
            has: |case| case.group == Group::Random,
        },
        Self {
            name: "random layers from 10 MFLOP a call on",
            targets: [None; 2],
            has: |case| case.group == Group::Random && case.layer.flops() >= 1e7,
        },
    ];

    const fn new(name: &'static str, target: f64, has: fn(&Case) -> bool) -> Self {
        Self { name, targets: [Some(target), None], has }
    }

    pub(in crate::rnn) fn has(&self, case: &Case) -> bool {
        (self.has)(case)
    }
}

/// Returns the minimum ratio of medians of a single row, independent of the mean: no row may be slower than the best
/// peer, and table 1 is ahead by more, especially with a batch that leaves the choice of the blocking.
pub(in crate::rnn) fn row_target(case: &Case) -> f64 {
    let LayerCase { input, hidden, batch, .. } = case.layer;
    match case.group {
        Group::Table1 if batch > 1 && input == 256 && hidden == 256 => 1.35,
        Group::Table1 if batch > 1 && input == 1024 && hidden == 1024 => 1.25,
        Group::Table1 | Group::Table1Lbr0 | Group::Table1Bidir => 1.10,
        Group::Models
        | Group::Extra
        | Group::SweepDimension
        | Group::SweepTime
        | Group::SweepBatch
        | Group::Random => 1.0,
    }
}

fn is_table_1(case: &Case, kind: Kind) -> bool {
    case.group == Group::Table1 && case.layer.kind == kind
}

/// Returns the geometric mean; `None` without values.
pub(in crate::rnn) fn geometric_mean(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| (sum / values.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;
    use crate::rnn::cases::{cases, random::random_cases};

    #[test]
    fn sets_have_their_rows() {
        let listed = Group::value_variants().iter().flat_map(|group| cases(*group));
        let all: Vec<_> = listed.chain(random_cases(50, 100)).collect();
        let counts = Set::ALL.map(|set| all.iter().filter(|case| set.has(case)).count());
        assert_eq!(counts, [9, 6, 9, 6, 30, 30, 15, 9, 7, 50, 23]);
    }

    #[test]
    fn a_row_may_not_be_lost_and_table_1_is_ahead() {
        let of = |group| cases(group).iter().map(row_target).collect::<Vec<_>>();
        let count = |targets: &[f64], target| targets.iter().filter(|row| **row == target).count();
        let table_1 = of(Group::Table1);
        assert_eq!([1.35, 1.25, 1.10].map(|median| count(&table_1, median)), [4, 4, 22]);
        assert_eq!(count(&of(Group::Table1Bidir), 1.10), 30);
        assert_eq!(count(&of(Group::Extra), 1.0), 8);
    }

    #[test]
    fn the_mean_of_a_number_and_its_inverse_is_one() {
        assert!((geometric_mean(&[4.0, 0.25]).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(geometric_mean(&[]), None);
    }
}
