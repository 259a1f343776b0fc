//! Plans on disk: one JSON file for each key, so that a model is calibrated once for a machine.
//!
//! ```json
//! {"format": 2, "key": {"model": ..., "layers": [...], "threads_max": 2, "machine": ..., "engine": ...},
//!  "calibration_ns": 2103442911,
//!  "layers": [{"schedule": {...}, "measured": [...], "unmeasured": [...], "sure": 0.92, "tries": 1}]}
//! ```
//!
//! The name of a file is `plan-HASH.json`, a hash of the key; what counts is the key within. A file is written under a
//! temporary name and renamed, so that half of one is never read. Whatever else is wrong with a file, it is skipped
//! with a reason, and the next calibration replaces it.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{
    plan::{LayerPlan, ModelPlan, PlanKey},
    search,
};

/// Version of the files. One of another version is not read: a plan is cheap to make again.
const FORMAT: u32 = 2;

/// More than any plan has, and little enough to read.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// A folder of plans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanCache {
    folder: PathBuf,
}

/// Reason why a cached plan is not taken.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says what its values are")]
pub enum CacheError {
    #[error("no plan is cached for this model, machine and engine")]
    Absent,
    #[error("cannot read the cached plan {0}: {1}; calibrating again")]
    Unreadable(PathBuf, #[source] io::Error),
    /// The file is not a plan, or a plan that no engine can run; with the fault in it.
    #[error("the cached plan {0} is damaged: {1}; calibrating again")]
    Damaged(PathBuf, String),
    #[error("the cached plan {0} has format {1}, not {FORMAT}; calibrating again")]
    OtherFormat(PathBuf, u64),
    #[error("the cached plan {0} was made for another {1}; calibrating again")]
    OtherKey(PathBuf, &'static str),
    #[error("cannot write the plan to {0}: {1}; the next start calibrates again")]
    Unwritable(PathBuf, #[source] io::Error),
}

/// Content of a file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    format: u32,
    key: PlanKey,
    calibration_ns: u64,
    layers: Vec<LayerPlan>,
}

/// The one field that every format has.
#[derive(Deserialize)]
struct AnyFormat {
    format: u64,
}

impl PlanCache {
    /// Returns the cache in a folder. It is made when the first plan is written.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Returns the file of a key.
    #[must_use]
    pub fn path(&self, key: &PlanKey) -> PathBuf {
        let text = serde_json::to_vec(key).expect("a key has nothing that JSON lacks");
        self.folder.join(format!("plan-{:016x}.json", fnv1a(&text)))
    }

    /// Reads the plan of a key, and how long its calibration took.
    ///
    /// # Errors
    /// Returns the reason why there is none to be had; never [`CacheError::Unwritable`].
    pub fn load(&self, key: &PlanKey) -> Result<(Vec<LayerPlan>, Duration), CacheError> {
        let path = self.path(key);
        let text = match read_bounded(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(CacheError::Absent),
            Err(source) => return Err(CacheError::Unreadable(path, source)),
        };
        let damaged = |reason: String| CacheError::Damaged(path.clone(), reason);
        let AnyFormat { format } =
            serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        if format != u64::from(FORMAT) {
            return Err(CacheError::OtherFormat(path, format));
        }
        let stored: Stored = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        if let Some(what) = difference(&stored.key, key) {
            return Err(CacheError::OtherKey(path, what));
        }
        check(&stored).map_err(damaged)?;
        Ok((stored.layers, Duration::from_nanos(stored.calibration_ns)))
    }

    /// Writes the plan of a key, and returns the file. Readers see the old plan or the new one, never a part.
    ///
    /// # Errors
    /// [`CacheError::Unwritable`].
    pub fn store(
        &self,
        key: &PlanKey,
        layers: &[LayerPlan],
        calibration: Duration,
    ) -> Result<PathBuf, CacheError> {
        let path = self.path(key);
        let stored = Stored {
            format: FORMAT,
            key: key.clone(),
            calibration_ns: u64::try_from(calibration.as_nanos()).unwrap_or(u64::MAX),
            layers: layers.to_vec(),
        };
        match self.write(&path, &stored) {
            Ok(()) => Ok(path),
            Err(source) => Err(CacheError::Unwritable(self.folder.clone(), source)),
        }
    }

    /// Marks layers of a plan, by their positions, for another calibration when it is loaded next. A layer whose plan
    /// in the cache has changed meanwhile is left alone.
    ///
    /// # Errors
    /// As for [`Self::load`] and [`Self::store`].
    pub fn reopen(&self, plan: &ModelPlan, layers: &[usize]) -> Result<(), CacheError> {
        let (mut stored, calibration) = self.load(&plan.key)?;
        for &at in layers {
            if stored[at] == plan.layers[at] {
                stored[at].sure = 0.0;
            }
        }
        self.store(&plan.key, &stored, calibration).map(drop)
    }

    fn write(&self, path: &Path, stored: &Stored) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let mut file = tempfile::Builder::new().prefix(".plan-").tempfile_in(&self.folder)?;
        serde_json::to_writer_pretty(&mut file, stored)?;
        file.write_all(b"\n")?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }
}

fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let size = fs::metadata(path)?.len();
    if size > FILE_BYTES_MAX {
        return Err(io::Error::other(format!("it has {size} bytes, more than any plan")));
    }
    fs::read(path)
}

/// Returns the first part in which two keys differ.
fn difference(a: &PlanKey, b: &PlanKey) -> Option<&'static str> {
    let parts = [
        (a.model == b.model, "model"),
        (a.layers == b.layers, "list of layers"),
        (a.threads_max == b.threads_max, "number of threads"),
        (a.machine == b.machine, "machine"),
        (a.engine == b.engine, "engine"),
    ];
    parts.into_iter().find(|(same, _)| !same).map(|(_, what)| what)
}

/// Checks the content as if it came from anywhere, since a file may be changed by hand.
fn check(stored: &Stored) -> Result<(), String> {
    let (got, expected) = (stored.layers.len(), stored.key.layers.len());
    if got != expected {
        return Err(format!("it has {got} schedules for {expected} layers"));
    }
    for (layer, plan) in stored.key.layers.iter().zip(&stored.layers) {
        search::check(&layer.shape, &plan.schedule, stored.key.threads_max)
            .map_err(|reason| format!("layer {}: {reason}", layer.name))?;
        if !(0.0..=1.0).contains(&plan.sure) {
            return Err(format!("layer {}: it is sure in {} of its blocks", layer.name, plan.sure));
        }
    }
    Ok(())
}

/// Computes FNV-1a in 64 bits, for short names of files, which may collide.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests;
