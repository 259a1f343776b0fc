//! Compares loading a performance set of ResNet-50 from the folder of prepared samples with reading the same
//! file into memory: with the file in the system's cache, and from the disk.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    time::Instant,
};

use proctor_datasets::SampleStore;
use proctor_prepared::{Input, Listing, Reader, Recipe, RowAggregation, Writer};
use proctor_vocabulary::{ElementType, InputForm, SampleIndex, TensorSpec, proc_value};
use proctor_words::{DataError, HostError};
use rand::{RngCore, SeedableRng, rngs::StdRng};
use rustix::fs::{Advice, fadvise};

use super::{
    bed::{Bench, folder},
    flags::Part,
    table::{Row, Side, Unit},
};

/// Samples of the performance set.
const SAMPLE_COUNT: u64 = 1024;
/// Enough to see that it works.
const SAMPLE_COUNT_QUICK: u64 = 8;
/// Share of the speed of a bare reading that loading has to reach.
const TARGET: f64 = 0.7;
/// Share of a file that must come from the disk to prove that the cache was dropped.
const FROM_DISK: f64 = 0.95;

/// Measures both ways.
///
/// # Errors
/// If the samples cannot be written.
pub(super) fn rows(bench: &Bench<'_>) -> Result<Vec<Row>, HostError> {
    let caches = folder(bench.flags.folder.as_ref())?;
    let count = if bench.flags.quick { SAMPLE_COUNT_QUICK } else { SAMPLE_COUNT };
    let image =
        TensorSpec { name: "image".to_owned(), element_type: ElementType::F32, shape: vec![3, 224, 224] };
    let folder = write(caches.path(), &image, count)?;
    let reader = Reader::open(&folder)?;
    let file = reader.file();
    let bytes = fs::metadata(file).map_err(HostError::data)?.len();
    let samples: Vec<_> = (0..count).map(SampleIndex).collect();
    let rate = |begin: Instant| bytes as f64 / 1e6 / begin.elapsed().as_secs_f64();
    let load = || {
        let begin = Instant::now();
        let mut store = SampleStore::new(vec![image.clone()], count, u64::MAX);
        let loaded = store.load(&samples, |index, tensors| reader.read(index, tensors));
        loaded.map_err(|error| error.to_string())?;
        Ok(rate(begin))
    };
    let read = || {
        let begin = Instant::now();
        let all = fs::read(file).map_err(|error| error.to_string())?;
        let rate = rate(begin);
        if all.len() as u64 == bytes { Ok(rate) } else { Err("the file has changed".to_owned()) }
    };
    let both = |ours: Side<'_>, theirs: Result<_, String>, how: &str| {
        let name = "read into memory".to_owned();
        let beside = Side { name, turn: theirs, check: None, target: Some(TARGET) };
        let what = format!("{count} samples of {} KB, {how}", image.size_bytes() / 1000);
        bench.row(Part::Cache, &what, Unit::MegabytesPerSecond, vec![ours, beside])
    };
    let warm = both(Side::ours(load), Ok(Box::new(read)), "in the system's cache");
    let is_dropped = can_drop(file, bytes);
    let cold = |work: &dyn Fn() -> Result<f64, String>| {
        drop_from_cache(file)?;
        work()
    };
    let ours = match &is_dropped {
        Ok(()) => Side::ours(|| cold(&load)),
        Err(why) => Side { turn: Err(why.clone()), ..Side::ours(load) },
    };
    let theirs = is_dropped.clone().map(|()| -> Box<dyn FnMut() -> _> { Box::new(|| cold(&read)) });
    Ok(vec![warm, both(ours, theirs, "from the disk")])
}

/// Writes the samples of noise, and returns their folder.
fn write(caches: &Path, image: &TensorSpec, count: u64) -> Result<PathBuf, HostError> {
    let recipe = Recipe {
        dataset: "noise".to_owned(),
        contents: String::new(),
        preprocessing: "none".into(),
        version: 1,
        inputs: vec![Input::new(image, &InputForm::of(image))],
        rows: RowAggregation::default(),
    };
    let folder = recipe.folder(caches);
    let listing = Listing { sample_count: count, missing_count: 0, names: Vec::new() };
    let mut writer = Writer::open(&folder, &recipe, &listing)?;
    let mut random = StdRng::seed_from_u64(1);
    let mut tensor = vec![0; image.size_bytes()];
    for index in (0..count).map(SampleIndex) {
        random.fill_bytes(&mut tensor);
        writer.append(index, &[&image.shape], &[&tensor])?;
    }
    let synced = File::open(Reader::open(&folder)?.file()).and_then(|file| file.sync_all());
    synced.map_err(|error| DataError::CannotWrite { path: folder.clone(), error })?;
    Ok(folder)
}

/// Drops the system's cache of a file that is already written to disk.
fn drop_from_cache(file: &Path) -> Result<(), String> {
    let open = File::open(file).map_err(|error| error.to_string())?;
    fadvise(&open, 0, None, Advice::DontNeed).map_err(|error| error.to_string())
}

/// Checks that the file is read from a disk after that: the system may ignore the advice.
fn can_drop(file: &Path, bytes: u64) -> Result<(), String> {
    drop_from_cache(file)?;
    let before = read_bytes()?;
    fs::read(file).map_err(|error| error.to_string())?;
    let share = (read_bytes()? - before) as f64 / bytes as f64;
    if share >= FROM_DISK {
        return Ok(());
    }
    Err(format!(
        "the system keeps what lies in {}: {:.0} % of it came from a disk; --folder names another place",
        file.display(),
        share * 100.0
    ))
}

/// Returns the bytes that the system has read from disks for this process.
fn read_bytes() -> Result<u64, String> {
    let text = fs::read_to_string("/proc/self/io").map_err(|error| format!("/proc/self/io: {error}"))?;
    let count = proc_value(&text, "read_bytes").and_then(|count| count.parse().ok());
    count.ok_or_else(|| "/proc/self/io has no read_bytes".to_owned())
}
