//! Running a batch allocates nothing once its size has been seen.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    path::{Path, PathBuf},
};

use proctor_datasets::recipes;
use proctor_plugin_api::vocabulary::{ElementType, TensorSpec};
use proctor_rnn_engine::Team;
use proctor_rnn_models::{LayerCalls, LoadRequest, OwnedBatch, Scheduler, load};
use proctor_rnn_optimiser::{GruReset, Mapping, Precision, Schedule};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting per thread.
struct Counting;

// SAFETY: every call goes to the system's allocator unchanged; counting touches no memory that it manages.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block came from `alloc` above with this layout, so from the system's allocator.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Every layer by one schedule.
struct Fixed(Schedule);

impl Scheduler for Fixed {
    fn plan(&self, calls: &[LayerCalls<'_>]) -> Vec<Schedule> {
        vec![self.0; calls.len()]
    }
}

/// Allocations of the second batch of a size.
fn allocations(file: &Path, [input, output]: [&[usize]; 2], schedule: Schedule, precision: Precision) -> u64 {
    let spec = |name: &str, shape: &[usize]| TensorSpec {
        name: name.into(),
        element_type: ElementType::F32,
        shape: shape.to_vec(),
    };
    let is_onnx = file.extension().is_some_and(|extension| extension == "onnx");
    let model = load(&LoadRequest {
        model: "in a file",
        safetensors: (!is_onnx).then_some(file),
        onnx: is_onnx.then_some(file),
        inputs: &[spec("image", input)],
        outputs: &[spec("logits", output)],
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
        let before = ALLOCATIONS.get();
        run();
        most = most.max(ALLOCATIONS.get() - before);
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
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/digits").join(file);
            let count = allocations(&file, [&[8, 8], &[10]], schedule, Precision::F32);
            assert_eq!(count, 0, "{}, {schedule:?}", file.display());
        }
    }
}
