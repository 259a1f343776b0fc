//! Memory for samples: the plugin's, if it has some, and the program's own.

use std::{error::Error, fmt};

use proctor_datasets::{MemoryRange, OwnMemory, SampleMemory};
use proctor_plugin_host::{Model, PluginRange};

/// The memory that a plugin allocates for the samples of a model.
pub(crate) struct MemoryOfModel(pub(crate) Model);

impl fmt::Debug for MemoryOfModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryOfModel")
    }
}

impl SampleMemory for MemoryOfModel {
    fn allocate(&self, size_bytes: usize) -> Result<Box<dyn MemoryRange>, Box<dyn Error + Send + Sync>> {
        match self.0.allocate(size_bytes)? {
            Some(range) => Ok(Box::new(RangeOfPlugin(range))),
            None => OwnMemory.allocate(size_bytes),
        }
    }
}

struct RangeOfPlugin(PluginRange);

impl MemoryRange for RangeOfPlugin {
    fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.0.bytes_mut()
    }

    fn finish(&mut self) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(self.0.finish()?)
    }
}
