//! A call allocates nothing once the workspace has seen its size.

use proctor_rnn_engine::{LayerSpec, Team, Workspace};
use proctor_rnn_layer::{Cell, Chunk, Directions, GruReset, Mapping, Precision, Schedule, Sweep};

use crate::common::{Random, Tensors, Weights, layer};

#[test]
fn the_second_call_of_a_size_allocates_nothing() {
    let mut random = Random(9);
    for cell in [Cell::Lstm, Cell::Gru(GruReset::BeforeProduct)] {
        for precision in [Precision::F32, Precision::Int8] {
            let directions = Directions::Bidirectional;
            let spec = LayerSpec { cell, directions, input: 8, hidden: 40, clip: None, precision };
            let weights: Vec<_> = (0..2).map(|_| Weights::random(&spec, true, false, &mut random)).collect();
            let layer = layer(spec, &weights);
            let mut tensors = Tensors::random(&spec, 6, 5, true, &mut random);
            tensors.lengths = Some(vec![2, 6, 0, 6, 3]);
            for mapping in Mapping::ALL {
                let (chunk, sweep) = (Chunk::Steps(2), Sweep::ZigZag);
                let schedule = Schedule { threads: 2, mapping, chunk, sweep, primed: false };
                let (mut team, mut workspace) = (Team::new(2), Workspace::default());
                tensors.call(&spec, |call| {
                    let mut run = || layer.run(&schedule, &mut team, &mut workspace, call).unwrap();
                    run();
                    // Counts allocations of the caller's thread; the helpers run the same code.
                    let info = allocation_counter::measure(run);
                    assert_eq!(info.count_total, 0, "{cell:?} {precision:?} {mapping:?}");
                });
            }
        }
    }
}
