//! Layers that no system was tuned for: drawn from a seed.

use super::{Case, Group, Kind, LayerCase};
use crate::rnn::numbers::Numbers;

/// Maximum sizes to draw.
const INPUT_MAX: usize = 1536;
const HIDDEN_MAX: usize = 1536;
const BATCH_MAX: usize = 64;
const TIME_MAX: usize = 300;
/// Operations of the largest call; above it, a layer is drawn again.
const FLOPS_MAX: f64 = 4e9;

/// Draws layers: cells and directions are equally likely, sizes are log-uniform, as layers in use go from
/// tens to thousands. The first ones of a seed are the same for every count.
pub(in crate::rnn) fn random_cases(count: usize, seed: u64) -> Vec<Case> {
    let mut numbers = Numbers::seeded("random layers", seed);
    let layers = std::iter::repeat_with(|| LayerCase {
        kind: numbers.one_of(&[Kind::Lstm, Kind::Gru, Kind::Gru0]),
        bidirectional: numbers.one_of(&[false, true]),
        input: numbers.size(INPUT_MAX),
        hidden: numbers.size(HIDDEN_MAX),
        batch: numbers.size(BATCH_MAX),
        time: numbers.size(TIME_MAX),
    });
    let layers = layers.filter(|layer| layer.flops() <= FLOPS_MAX);
    layers.take(count).map(|layer| Case { group: Group::Random, role: "", layer }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_stands_for_its_layers() {
        let names = |count, seed| random_cases(count, seed).iter().map(Case::to_string).collect::<Vec<_>>();
        assert_eq!(names(20, 100), names(20, 100));
        assert_eq!(names(20, 100)[..5], names(5, 100));
        assert_ne!(names(20, 100), names(20, 101));
        // Keeps the figures of one release comparable with another's.
        assert_eq!(names(3, 100), ["gru 27,502,3,4", "lstm bi 1509,35,2,4", "lstm bi 5,8,1,9"]);
    }

    #[test]
    fn layers_are_of_every_kind_and_within_bounds() {
        let layers: Vec<_> = random_cases(1000, 100).into_iter().map(|case| case.layer).collect();
        for layer in &layers {
            assert!((1..=INPUT_MAX).contains(&layer.input) && (1..=HIDDEN_MAX).contains(&layer.hidden));
            assert!((1..=BATCH_MAX).contains(&layer.batch) && (1..=TIME_MAX).contains(&layer.time));
            assert!(layer.flops() <= FLOPS_MAX, "{layer:?}");
        }
        let share = |is: fn(&LayerCase) -> bool| {
            layers.iter().filter(|layer| is(layer)).count() as f64 / layers.len() as f64
        };
        for kind in [Kind::Lstm, Kind::Gru, Kind::Gru0] {
            let share = layers.iter().filter(|layer| layer.kind == kind).count();
            assert!((250..420).contains(&share), "{kind:?}: {share}");
        }
        assert!((0.4..0.6).contains(&share(|layer| layer.bidirectional)));
        // Large ones are there, but the largest of all are above the bound.
        assert!((0.1..0.5).contains(&share(|layer| layer.hidden > 100)));
        assert!((0.02..0.3).contains(&share(|layer| layer.flops() > 1e9)));
    }
}
