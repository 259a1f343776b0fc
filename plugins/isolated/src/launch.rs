//! Settings of a process to start, and the hooks that learn of its life.

use std::{ffi::OsString, path::PathBuf, sync::OnceLock, time::Duration};

use parking_lot::Mutex;

use crate::protocol::Code;

/// The process of a plugin before it is started.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The program of the process.
    pub program: PathBuf,
    /// Code of the plugin.
    pub code: Code,
    /// Environment, to which the folder of the plugin is added as its home, where it has one.
    pub environment: Vec<(OsString, OsString)>,
    /// Time that threads of both processes spin for each other before they sleep.
    pub spin: Duration,
    /// Maximum number of bytes of memory that the process may map; `None` for no limit.
    pub memory_max_bytes: Option<u64>,
}

/// Receives a report.
pub(crate) type Hook<T> = Box<dyn Fn(&T) + Send + Sync>;

/// Hooks of the side that started the process.
#[derive(Default)]
pub(crate) struct Hooks {
    /// Gets notes about the plugin.
    pub(crate) notes: OnceLock<Hook<[u8]>>,
    /// Notes that came before they were read.
    pub(crate) early: Mutex<Vec<Vec<u8>>>,
    /// Hook for the reason when a process ends unexpectedly, before its end is visible.
    pub(crate) end: OnceLock<Hook<str>>,
    /// Called once its end is visible.
    pub(crate) over: OnceLock<Box<dyn Fn() + Send + Sync>>,
}
