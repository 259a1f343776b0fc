//! Running a batch allocates nothing once its size has been seen.

use std::path::{Path, PathBuf};

use proctor_plugin_bed::{digits, f32_spec};
use proctor_recipes as recipes;
use proctor_rnn_engine::Team;
use proctor_rnn_layer::{GruReset, Mapping, Precision, Schedule};
use proctor_rnn_models::{LayerCalls, LoadRequest, Scheduler, load};

use crate::owned_batch::OwnedBatch;

/// Every layer by one schedule.
struct Fixed(Schedule);

impl Scheduler for Fixed {
    fn plan(&self, calls: &[LayerCalls<'_>]) -> Vec<Schedule> {
        vec![self.0; calls.len()]
    }
}

/// The most allocations of the second batch of a size, on the thread that calls.
fn allocations(file: &Path, [input, output]: [&[usize]; 2], schedule: Schedule, precision: Precision) -> u64 {
    let is_onnx = file.extension().is_some_and(|extension| extension == "onnx");
    let model = load(&LoadRequest {
        model: "in a file",
        safetensors: (!is_onnx).then_some(file),
        onnx: is_onnx.then_some(file),
        vocabulary: None,
        inputs: &[f32_spec("image", input)],
        outputs: &[f32_spec("logits", output)],
        batch_size_max: 20,
        precision,
        reset: GruReset::BeforeProduct,
        scheduler: &Fixed(schedule),
    });
    let model = model.unwrap_or_else(|error| panic!("{error}"));
    let mut instance = model.instance(Team::new(schedule.threads)).expect("it fits into memory");
    let values = vec![0.25; input.iter().product()];
    let mut most = 0;
    for batch_size in [1, 7, 20] {
        let mut batch = OwnedBatch::default();
        (0..batch_size).for_each(|_| batch.push_f32(&[&values], &[output.iter().product()]));
        let mut run = || instance.execute(&mut batch).expect("the batch fits");
        run();
        most = most.max(allocation_counter::measure(run).count_total);
    }
    most
}

fn generated(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(format!("{name}.safetensors"));
    let recipe = recipes::recipe(name).expect("the name is one of a layer");
    recipes::write_safetensors(&recipe, &path, &mut |_| {}).expect("the folder can be written");
    path
}

#[test]
fn nothing_is_allocated_after_the_first_batch_of_a_size() {
    let folder = tempfile::tempdir().expect("a folder");
    let columns = Schedule { threads: 2, mapping: Mapping::Columns, ..Schedule::SINGLE };
    for schedule in [Schedule::SINGLE, columns] {
        for (name, width) in
            [("rnn-lstm-8-64-20-8-bi", 128), ("rnn-gru-8-33-20-8", 33), ("rnn-rnn-8-16-20-8", 16)]
        {
            let file = generated(folder.path(), name);
            for precision in [Precision::F32, Precision::Bf16, Precision::Int8] {
                let count = allocations(&file, [&[8, 8], &[8, width]], schedule, precision);
                assert_eq!(count, 0, "{name}, {precision:?}, {schedule:?}");
            }
        }
        for file in ["digits-lstm.safetensors", "digits-lstm.onnx"] {
            let file = digits::file(file);
            let count = allocations(&file, [&[8, 8], &[10]], schedule, Precision::F32);
            assert_eq!(count, 0, "{}, {schedule:?}", file.display());
        }
    }
}
