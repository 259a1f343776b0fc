//! The user's side of a run: what the run shows, and how it ends the program.

use std::{os::fd::OwnedFd, path::Path};

use proctor_loadgen::Progress;
use proctor_recipes::Progress as FileProgress;
use proctor_scaling::Knobs;
use proctor_vocabulary::Scenario;

use crate::error::HostError;

/// Takes what a run shows while it goes on. Every method but [`end`](Self::end) may do nothing. [any thread]
pub trait Observer: Send + Sync {
    /// Takes a piece of the answer, which a program prints to stdout.
    fn answer(&self, _text: &str) {}

    /// The file that answers go to, so that one can be given when the process crashes; none by default.
    fn answer_file(&self) -> Option<OwnedFd> {
        None
    }

    /// Takes a message, a line or more without the end of the last one: a warning, or what the program does next.
    fn message(&self, _text: &str) {}

    /// Takes the progress of a test that begins, to look at until [`test_ends`](Self::test_ends).
    fn test_begins(&self, _progress: &Progress, _scenario: Scenario) {}

    /// Hears to what a policy has turned the knobs of the test, and whether it means to stay there.
    fn knobs_turned(&self, _knobs: Knobs, _is_settled: bool) {}

    /// Hears that the test is over.
    fn test_ends(&self) {}

    /// Hears how much of a generated model file is written.
    fn writes_model(&self, _file: &Path, _written: FileProgress) {}

    /// Ends the program: the user wants no more, or the plugin hangs. Nothing may be waited for.
    fn end(&self, error: &HostError) -> !;
}
