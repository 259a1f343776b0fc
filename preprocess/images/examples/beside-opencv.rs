//! Pictures a second of each pipeline, beside the reference's steps in Python with OpenCV and NumPy: two threads here,
//! two processes there, in turn in one run, on the same files.
//!
//! Run with `cargo run --release -p proctor-images --example beside-opencv -- [FILE...]`. Without files it draws some:
//! clouds and grain at 500 x 375 and 640 x 480, which code as photos do in ImageNet and COCO.

#![expect(clippy::unwrap_used, reason = "a measurement, not a part of the program")]

use std::{
    borrow::Cow,
    env, fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Instant,
};

use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use proctor_datasets::RawSample;
use proctor_images as _;
use proctor_preprocess::{Pipeline, build_pipeline};
use proctor_vocabulary::{ElementType, TensorSpec};

/// Threads, and processes of Python.
const WORKERS: usize = 2;

/// Times that each side prepares all files; the median of the ratios counts.
const ROUNDS: usize = 9;

/// Pictures that are drawn for each size.
const DRAWN: usize = 24;

const PIPELINES: [(&str, usize, usize); 9] = [
    ("imagenet-vgg", 224, 500),
    ("imagenet-mobilenet", 224, 500),
    ("imagenet-torchvision", 224, 500),
    ("imagenet-tflite", 224, 500),
    ("coco-ssd-mobilenet", 300, 640),
    ("coco-ssd-mobilenet-pytorch", 300, 640),
    ("coco-ssd-resnet34", 1200, 640),
    ("coco-ssd-resnet34-tf", 1200, 640),
    ("open-images-retinanet", 800, 640),
];

fn main() {
    let given: Vec<PathBuf> = env::args().skip(1).map(PathBuf::from).collect();
    let folder = tempfile::tempdir().unwrap();
    for (name, size, width) in PIPELINES {
        let files = if given.is_empty() { drawn(folder.path(), width) } else { given.clone() };
        let bytes: u64 = files.iter().map(|file| fs::metadata(file).unwrap().len()).sum();
        let element_type = if name == "coco-ssd-mobilenet" { ElementType::U8 } else { ElementType::F32 };
        let input = TensorSpec { name: "image".into(), element_type, shape: vec![3, size, size] };
        let pipeline = build_pipeline(name, &[input]).unwrap();
        let mut references: Vec<_> = (0..WORKERS).map(|worker| Reference::start(&files, worker)).collect();
        let mut rounds: Vec<[f64; 2]> = (0..=ROUNDS)
            .map(|_| {
                [prepare(&*pipeline, &files), prepare_in_python(&mut references, name, size, files.len())]
            })
            .collect();
        // The first round starts what starts once.
        rounds.remove(0);
        let median = |mut values: Vec<f64>| {
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        let [here, there] = [0, 1].map(|side| median(rounds.iter().map(|round| round[side]).collect()));
        let ratio = median(rounds.iter().map(|[here, there]| here / there).collect());
        println!(
            "{name:28} {here:7.0} images/s, OpenCV {there:7.0} images/s, median of ratios {ratio:5.2} ({} files of {} KB)",
            files.len(),
            bytes / 1000 / files.len() as u64
        );
    }
}

/// Files a second on all threads.
fn prepare(pipeline: &dyn Pipeline, files: &[PathBuf]) -> f64 {
    let next = AtomicUsize::new(0);
    let begin = Instant::now();
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                let mut tensor = vec![0; pipeline.outputs()[0].size_bytes()];
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let bytes = fs::read(file).unwrap();
                    let sample = RawSample {
                        element_type: ElementType::U8,
                        shape: Cow::Owned(vec![bytes.len()]),
                        bytes: Cow::Owned(bytes),
                    };
                    pipeline.run(&sample, &mut [&mut tensor]).unwrap();
                }
            });
        }
    });
    files.len() as f64 / begin.elapsed().as_secs_f64()
}

/// Files a second of all processes.
fn prepare_in_python(references: &mut [Reference], name: &str, size: usize, file_count: usize) -> f64 {
    let begin = Instant::now();
    for reference in references.iter_mut() {
        writeln!(reference.requests, "{name} {size} {size}").unwrap();
    }
    for reference in references {
        let mut line = String::new();
        reference.answers.read_line(&mut line).unwrap();
        assert_eq!(line, "done\n", "the worker in Python has ended");
    }
    file_count as f64 / begin.elapsed().as_secs_f64()
}

/// A process that prepares a share of the files.
struct Reference {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Reference {
    fn start(files: &[PathBuf], worker: usize) -> Self {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let tag = Command::new("python3")
            .args(["-c", "import sys; print(sys.implementation.cache_tag)"])
            .output()
            .unwrap();
        let tag = String::from_utf8(tag.stdout).unwrap();
        let packages = here.join("../../target/python-opencv-python-headless-4.14.0.94").join(tag.trim());
        assert!(packages.is_dir(), "{} is not there; `cargo xtask setup` makes it", packages.display());
        let mut process = Command::new("python3")
            .arg(here.join("examples/worker.py"))
            .arg(packages)
            .arg(here.join("tests/differential"))
            .args(files.iter().skip(worker).step_by(WORKERS))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let requests = process.stdin.take().unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap());
        Self { process, requests, answers }
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        // It only reads and writes pipes; nothing of it is lost.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Pictures of clouds and grain, with sides in the ratio of 4 to 3.
fn drawn(folder: &Path, width: usize) -> Vec<PathBuf> {
    let height = width * 3 / 4;
    let last = folder.join(format!("{width}-{}.jpg", DRAWN - 1));
    let is_there = last.is_file();
    (0..DRAWN)
        .map(|number| {
            let path = folder.join(format!("{width}-{number}.jpg"));
            if is_there {
                return path;
            }
            let mut state = number as u32 + 1;
            let mut random = move || {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                state % 256
            };
            // Octaves of noise, the coarse ones the stronger.
            let mut sums = vec![[0.0_f32; 3]; width * height];
            for (grain, strength) in
                [(128, 1.0), (64, 0.6), (32, 0.4), (16, 0.25), (8, 0.16), (4, 0.1), (2, 0.09), (1, 0.07)]
            {
                let columns = width / grain + 2;
                let points: Vec<[f32; 3]> = (0..columns * (height / grain + 2))
                    .map(|_| {
                        let grey = random() as f32;
                        [0; 3].map(|_| strength * (0.7 * grey + 0.3 * random() as f32 - 128.0))
                    })
                    .collect();
                for (place, sum) in sums.iter_mut().enumerate() {
                    let (x, y) = (place % width, place / width);
                    let (column, row) = (x / grain, y / grain);
                    let (right, down) =
                        ((x % grain) as f32 / grain as f32, (y % grain) as f32 / grain as f32);
                    let at = |column, row| points[row * columns + column];
                    for (channel, sum) in sum.iter_mut().enumerate() {
                        let [a, b] = [row, row + 1].map(|row| {
                            at(column, row)[channel] * (1.0 - right) + at(column + 1, row)[channel] * right
                        });
                        *sum += a * (1.0 - down) + b * down;
                    }
                }
            }
            let pixels: Vec<u8> =
                sums.as_flattened().iter().map(|sum| (sum * 0.6 + 128.0).clamp(0.0, 255.0) as u8).collect();
            let mut bytes = Vec::new();
            let mut encoder = Encoder::new(&mut bytes, 95);
            encoder.set_sampling_factor(SamplingFactor::F_2_2);
            encoder.encode(&pixels, width as u16, height as u16, ColorType::Rgb).unwrap();
            fs::write(&path, bytes).unwrap();
            path
        })
        .collect()
}
