//! The seam to another load generator, which issues the queries of a test while this crate records its samples.

use std::{
    error::Error,
    fmt::{self, Debug},
    path::PathBuf,
    sync::Arc,
};

use proctor_loadgen_settings::TestSettings;

/// Another load generator: the official one.
///
/// It decides what is issued when, and writes logs of its own. This crate stamps each sample as it passes by.
pub trait Engine: Debug + Send + Sync {
    /// Issues the queries of a test on the calling thread, and returns when it is over. Each call is made by that
    /// thread; the engine may keep `calls` a while longer. Tests follow each other, never two at a time.
    ///
    /// # Errors
    /// If the engine cannot be had, refuses the test, or fails in it.
    fn run(&self, test: &EngineTest, calls: Arc<dyn EngineCalls>) -> Result<(), EngineError>;

    /// Completes samples. [any thread, also within [`EngineCalls::issue`]]
    fn complete(&self, responses: &[EngineResponse<'_>]);

    /// Reports the first tokens of samples. [any thread, also within [`EngineCalls::issue`]]
    fn first_tokens(&self, responses: &[EngineResponse<'_>]);
}

/// One test for an engine.
#[derive(Debug, Clone)]
pub struct EngineTest {
    /// The request of the test, before an audit file.
    pub settings: TestSettings,
    /// Files in LoadGen's format that made the settings, in the order in which they apply: the engine reads them, too.
    pub user_configs: Vec<PathBuf>,
    /// Name of the model in these files.
    pub model: String,
    /// The audit file, if the test has one.
    pub audit_config: Option<PathBuf>,
    /// Build of the engine to use, a file or a folder; `None` for the installed one.
    pub module: Option<PathBuf>,
    /// Number of samples in the library.
    pub total_sample_count: u64,
    /// Number of samples that the library holds at a time.
    pub performance_sample_count: u64,
    /// Folder of the engine's logs, which exists.
    pub folder: PathBuf,
    /// True if the engine writes its trace.
    pub enable_trace: bool,
}

/// Calls of an engine during a test.
pub trait EngineCalls: Send + Sync {
    /// Loads samples, by their indices.
    fn load(&self, indices: &[u64]);

    /// Unloads samples.
    fn unload(&self, indices: &[u64]);

    /// Takes a query: the engine's ids and the indices of its samples, side by side.
    fn issue(&self, ids: &[u64], indices: &[u64]);

    /// Notes that no more queries are to come in this phase.
    fn flush(&self);
}

/// The response of one sample for an engine.
#[derive(Debug, Clone, Copy)]
pub struct EngineResponse<'a> {
    /// The engine's id of the sample.
    pub id: u64,
    /// The answer, empty if the sample failed.
    pub data: &'a [u8],
    /// Number of output tokens.
    pub token_count: u64,
}

/// Reason why an engine did not run a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineError(pub String);

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for EngineError {}
