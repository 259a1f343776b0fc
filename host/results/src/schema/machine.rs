//! The machine of a run.

use serde::{Deserialize, Serialize};

/// Machine, as its system describes it. Unknown values are `None`.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct MachinePart {
    /// Name of the processor.
    pub cpu_model: Option<String>,
    /// Number of processors that the host could use.
    pub cpu_count: Option<u64>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Name of the system.
    pub os: Option<String>,
    /// Version of the kernel.
    pub kernel: Option<String>,
    /// Instruction set, as Rust names it.
    pub architecture: Option<String>,
    /// Mean number of running threads over 1, 5 and 15 minutes. Not there in virtual time, which it does not touch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_average: Option<[f64; 3]>,
}

impl MachinePart {
    /// Returns the machine as the result of a run has it. In virtual time it has no load, which depends on the instant.
    #[must_use]
    pub fn in_result(self, is_virtual: bool) -> Self {
        Self { load_average: self.load_average.filter(|_| !is_virtual), ..self }
    }
}
