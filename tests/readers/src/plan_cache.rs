//! Cached plans of cpu-rnn.

use proctor_rnn_layer::{Cell, Directions, LayerShape, Precision};
use proctor_rnn_optimiser::{
    PlanKey, PlannedLayer,
    cache::{CacheError, PlanCache},
};

use crate::{file::with_folder, memory::bounded};

/// A measured schedule of fifty bytes is a structure of a hundred, twice while the list grows; and the texts of JSON.
const MEMORY_FACTOR: u64 = 64;

/// Checks the reader of cached plans: it skips a file that was changed, with a reason, or returns a plan for this key
/// that is stored again as it was loaded.
///
/// # Panics
/// If an invariant does not hold.
pub fn check_plan_cache(data: &[u8]) {
    with_folder(|folder| {
        let (cache, key) = (PlanCache::new(folder), key());
        std::fs::write(cache.path(&key), data).expect("a file can be written");
        match bounded(data.len(), MEMORY_FACTOR, || cache.load(&key)) {
            Err(CacheError::Absent | CacheError::Unreadable(..) | CacheError::Unwritable(..)) => {
                panic!("the file is there and can be read");
            }
            Err(error) => assert!(error.to_string().ends_with("; calibrating again"), "{error}"),
            Ok((layers, taken)) => {
                assert_eq!(layers.len(), key.layers.len());
                assert!(layers.iter().all(|layer| (1..=key.threads_max).contains(&layer.schedule.threads)));
                cache.store(&key, &layers, taken).expect("a plan can be written");
                assert_eq!(cache.load(&key).expect("what was written can be read"), (layers, taken));
            }
        }
    });
}

/// Returns the key of the seeds.
fn key() -> PlanKey {
    let shape = LayerShape {
        cell: Cell::Lstm,
        directions: Directions::Bidirectional,
        input: 64,
        hidden: 256,
        batch: 4,
        time: 100,
        precision: Precision::F32,
    };
    PlanKey {
        model: "a model".to_owned(),
        layers: vec![PlannedLayer { name: "first".to_owned(), shape }],
        threads_max: 2,
        machine: "a machine".to_owned(),
        engine: "engine 1".to_owned(),
    }
}
