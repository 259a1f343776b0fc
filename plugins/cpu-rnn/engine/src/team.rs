//! The threads that a layer runs on.

/// Threads for layers to run on: the caller and its helpers.
#[derive(Debug)]
pub struct Team {
    threads: usize,
}

impl Team {
    /// Makes a team of this many threads, the caller counted.
    #[must_use]
    pub fn new(threads: usize) -> Self {
        Self { threads }
    }

    /// Number of threads, the caller counted.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads
    }
}
