//! Compares a pipeline's pictures per second with the reference's steps in Python with OpenCV, Pillow and NumPy.
//!
//! Both begin with a file and end with a tensor in memory. The reference prepares one picture after the other, in one
//! process; OpenCV has its own threads. Its fastest use is a process for each processor.

use std::{
    borrow::Cow,
    cell::Cell,
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Instant,
};

use proctor_datasets::RawSample;
// Pipelines register themselves; the linker keeps their crate only if it is referenced.
use proctor_images as _;
use proctor_preprocess::{Pipeline, build_pipeline};
use proctor_vocabulary::{ElementType, TensorSpec};
use proctor_words::HostError;
use serde_json::{Value, json};

use super::{
    bed::{Bench, folder},
    drawing::draw,
    flags::Part,
    table::{Check, Row, Side, Unit},
};
use crate::{
    answers::{distance, floats},
    worker::{Worker, read},
};

/// The reference's steps, which the tests of preprocessing hold ours against.
const STEPS: &str = include_str!("../../../../preprocess/images/tests/suite/differential/references.py");
/// Script that prepares files. It is passed to Python after the common part and the steps.
const SCRIPT: &str = include_str!("pictures.py");
/// File to which Python writes a tensor.
const TENSOR: &str = "tensor.bin";

/// Maximum allowed difference of a number if OpenCV resizes with Intel's library, in units of a byte.
const BYTES_OFF_MAX: f64 = 0.02;
/// Required speed relative to the reference preprocessing.
const TARGET: f64 = 3.0;

/// A pipeline, with its tensor and its pictures.
pub(super) struct Kind {
    pipeline: &'static str,
    /// Number of rows and columns of the tensor.
    size: usize,
    /// Number of columns of a usual picture of the data set.
    width: u16,
    /// Effect of one byte step, or `None` if every bit has to match the reference.
    step: Option<f64>,
}

/// Pipelines that are measured, one for each kind of work.
pub(super) const KINDS: &[Kind] = &[
    Kind { pipeline: "imagenet-vgg", size: 224, width: 500, step: None },
    Kind { pipeline: "imagenet-mobilenet", size: 224, width: 500, step: None },
    Kind { pipeline: "imagenet-torchvision", size: 224, width: 500, step: None },
    Kind { pipeline: "coco-ssd-resnet34", size: 1200, width: 640, step: Some(1.0 / (0.224 * 255.0)) },
    Kind { pipeline: "open-images-retinanet", size: 800, width: 1024, step: Some(1.0 / 255.0) },
];

/// Measures a pipeline.
///
/// # Errors
/// If the pictures cannot be drawn, read or prepared.
pub(super) fn row(bench: &Bench<'_>, kind: &Kind) -> Result<Row, HostError> {
    let folder = folder(None)?;
    let files = match &bench.flags.pictures[..] {
        [] => draw(folder.path(), kind.width, if bench.flags.quick { 2 } else { 24 })?,
        given => given.to_vec(),
    };
    let input = TensorSpec {
        name: "image".to_owned(),
        element_type: ElementType::F32,
        shape: vec![3, kind.size, kind.size],
    };
    let pipeline = build_pipeline(kind.pipeline, &[input])?;
    let cpus = bench.flags.cpus(&bench.cpus);
    let tensor = prepare(&*pipeline, &files[0]).map_err(HostError::data)?;
    let difference = Cell::new(0.0_f64);
    let check = Check { difference: &difference, most: kind.step.map_or(0.0, |_| BYTES_OFF_MAX) };
    let start = |process_count: usize| -> Result<Vec<Worker>, String> {
        let mut workers = Vec::new();
        for number in 0..process_count {
            let share: Vec<_> = files.iter().skip(number).step_by(process_count).collect();
            let threads = cpus.len() / process_count;
            let spec =
                json!({ "pipeline": kind.pipeline, "size": kind.size, "threads": threads, "files": share });
            let mut worker = bench.python(&format!("{STEPS}\n{SCRIPT}"), &spec, &cpus, folder.path())?;
            if number == 0 {
                worker.ask::<Value>(&json!({ "do": "check" }))?;
                let theirs = read(&folder.path().join(TENSOR))?;
                let apart = distance(&floats(&tensor), &floats(&theirs)) / kind.step.unwrap_or(1.0);
                difference.set(difference.get().max(apart));
            }
            workers.push(worker);
        }
        Ok(workers)
    };
    let mut sides = vec![Side::ours(|| prepare_all(&*pipeline, &files, cpus.len()))];
    let mut beside = |name: String, process_count, target| {
        let workers = start(process_count);
        let turn = workers.map(|mut workers| -> Box<dyn FnMut() -> _> {
            let file_count = files.len();
            Box::new(move || have_prepared(&mut workers, file_count))
        });
        sides.push(Side { name, turn, check: Some(check), target });
    };
    beside(format!("OpenCV, one process of {} threads", cpus.len()), 1, Some(TARGET));
    if cpus.len() > 1 {
        beside(format!("OpenCV, {} processes", cpus.len()), cpus.len(), None);
    }
    let what = format!("{}, {}", kind.pipeline, described(&files)?);
    Ok(bench.row(Part::Pictures, &what, Unit::ImagesPerSecond, sides))
}

/// Returns a short description of the pictures.
fn described(files: &[PathBuf]) -> Result<String, HostError> {
    let size = |file: &PathBuf| fs::metadata(file).map_err(|error| unread(file, &error));
    let bytes: u64 = files
        .iter()
        .map(|file| size(file).map(|data| data.len()))
        .sum::<Result<_, String>>()
        .map_err(HostError::data)?;
    Ok(format!("{} files of {} KB", files.len(), bytes / 1000 / files.len() as u64))
}

fn unread(file: &Path, error: &std::io::Error) -> String {
    format!("cannot read {}: {error}", file.display())
}

/// Returns the tensor of a file.
fn prepare(pipeline: &dyn Pipeline, file: &Path) -> Result<Vec<u8>, String> {
    let bytes = fs::read(file).map_err(|error| unread(file, &error))?;
    let (element_type, shape) = (ElementType::U8, Cow::Owned(vec![bytes.len()]));
    let sample = RawSample { element_type, shape, bytes: Cow::Owned(bytes) };
    let mut tensor = vec![0; pipeline.outputs()[0].size_bytes()];
    let made = pipeline.run(&sample, &mut [&mut tensor]);
    made.map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(tensor)
}

/// Returns the files a second on this many threads.
fn prepare_all(pipeline: &dyn Pipeline, files: &[PathBuf], thread_count: usize) -> Result<f64, String> {
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            prepare(pipeline, file)?;
        }
        Ok(())
    };
    let begin = Instant::now();
    let done: Result<(), String> = thread::scope(|scope| {
        let threads: Vec<_> = (0..thread_count).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("the pipelines do not panic"))
    });
    done?;
    Ok(files.len() as f64 / begin.elapsed().as_secs_f64())
}

/// Returns the files per second of all processes, each of which prepares its share.
fn have_prepared(workers: &mut [Worker], file_count: usize) -> Result<f64, String> {
    let begin = Instant::now();
    thread::scope(|scope| {
        let ask = |worker: &mut Worker| worker.ask::<Value>(&json!({ "do": "prepare" }));
        let waiting: Vec<_> = workers.iter_mut().map(|worker| scope.spawn(move || ask(worker))).collect();
        waiting.into_iter().try_for_each(|thread| {
            thread.join().expect("what is asked is answered, or an error").map(|_: Value| ())
        })
    })?;
    Ok(file_count as f64 / begin.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pipeline_prepares_a_drawn_picture_and_a_file_that_is_none_is_named() {
        let folder = folder(None).unwrap();
        let files = draw(folder.path(), 64, 3).unwrap();
        for kind in KINDS {
            let shape = vec![3, kind.size, kind.size];
            let input = TensorSpec { name: "image".to_owned(), element_type: ElementType::F32, shape };
            let pipeline = build_pipeline(kind.pipeline, &[input]).unwrap();
            assert!(prepare_all(&*pipeline, &files, 2).unwrap() > 0.0);
            let mut more = files.clone();
            more.push(PathBuf::from("no-such.jpg"));
            assert!(prepare_all(&*pipeline, &more, 2).unwrap_err().contains("cannot read no-such.jpg"));
        }
    }
}
