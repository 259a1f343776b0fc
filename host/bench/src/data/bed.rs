//! Surroundings of all parts: turns, Python, and folders.

use std::path::{Path, PathBuf};

use proctor_bed::Interrupt;
use proctor_display::Steps;
use proctor_words::HostError;
use serde_json::Value;
use tempfile::TempDir;

use super::{
    flags::{DataFlags, Part},
    table::{Entry, Row, Side, Unit},
};
use crate::{
    comparison,
    worker::{Worker, in_first_python},
};

/// Packages that the scripts need.
const PACKAGES: &str = "opencv-python-headless pillow pycocotools librosa";

/// Surroundings of all parts.
pub(super) struct Bench<'a> {
    pub(super) flags: &'a DataFlags,
    pub(super) interrupt: &'a Interrupt,
    pub(super) display: &'a Steps,
    /// All processors that this program may use.
    pub(super) cpus: Vec<usize>,
}

impl Bench<'_> {
    /// Gives each side its turn in every round; ours comes first.
    pub(super) fn row(&self, part: Part, what: &str, unit: Unit, mut sides: Vec<Side<'_>>) -> Row {
        let mut entries: Vec<_> = sides.iter().map(Entry::of).collect();
        for entry in &entries {
            if let Some(why) = &entry.skipped {
                self.display.note(&format!("skipped: {}: {why}", entry.side));
            }
        }
        // One round more than counts starts what starts once, such as the threads of a library.
        let first = u32::from(self.flags.quick);
        for round in first..=self.flags.round_count() {
            // The first in one round is the last in the next.
            let mut turns: Vec<_> = (0..sides.len()).collect();
            if round % 2 == 1 {
                turns.reverse();
            }
            for at in turns {
                let (side, entry) = (&mut sides[at], &mut entries[at]);
                let Ok(turn) = &mut side.turn else { continue };
                if self.interrupt.has_come() || entry.failed.is_some() {
                    continue;
                }
                self.display.next(&format!("{what}: round {round}: {}", side.name));
                match turn() {
                    Ok(value) if round > 0 => entry.values.push(value),
                    Ok(_) => {}
                    Err(why) => {
                        self.display.note(&format!("{what}: {}: {why}", side.name));
                        entry.failed = Some(why);
                    }
                }
            }
        }
        for (entry, side) in entries.iter_mut().zip(&sides) {
            let check = side.check.filter(|_| !entry.values.is_empty());
            entry.difference = check.map(|check| [check.difference.get(), check.most]);
        }
        let mut row = Row { part, what: what.to_owned(), unit, entries };
        row.conclude();
        row
    }

    /// Starts a script in the first Python that has the required packages, on these processors.
    ///
    /// # Errors
    /// If none has them, with advice.
    pub(super) fn python(
        &self,
        script: &str,
        spec: &Value,
        cpus: &[usize],
        folder: &Path,
    ) -> Result<Worker, String> {
        let mut spec = spec.clone();
        spec["cpus"] = cpus.into();
        spec["folder"] = folder.display().to_string().into();
        in_first_python(&self.flags.python, PACKAGES, |python| {
            Worker::start_python(python, script, &spec, cpus.len(), cpus, folder)
        })
    }
}

/// Returns a folder of this comparison, below `parent` or where temporary files are.
pub(super) fn folder(parent: Option<&PathBuf>) -> Result<TempDir, HostError> {
    comparison::folder("proctor-data-", parent.map(PathBuf::as_path))
}
