//! A plugin's description of itself, as both sides of the boundary handle it in Rust.

use proctor_vocabulary::Scenario;

use crate::options::OptionSpec;

/// Description of a plugin and its capabilities.
///
/// Made with [`Manifest::new`] and the functions that add to it; the export macro turns it into the ABI's
/// [`ProctorManifest`](crate::abi::ProctorManifest).
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Manifest {
    /// Short name, lower-case letters, digits and hyphens: `cpu-rnn`.
    pub name: String,
    /// Vendor of the plugin.
    pub vendor: String,
    /// Version of the plugin.
    pub version: String,
    /// Licence, as an SPDX expression or `proprietary`.
    pub license: String,
    /// Description in a sentence.
    pub description: String,
    /// Runs batches that the host forms.
    pub execute: bool,
    /// Takes whole queries ([`Model::issue`](crate::Model::issue)).
    pub issue: bool,
    /// Takes several whole queries at the same time, each from its own thread.
    pub concurrent_issue: bool,
    /// Runs in virtual time, too ([`Instance::execute_virtual`](crate::Instance::execute_virtual)).
    pub virtual_time: bool,
    /// True if instances may come and go between start and stop.
    pub live_instances: bool,
    /// Reaches its system by a network, which makes it one of MLPerf's network division.
    pub network: bool,
    /// Models that it can run; at least one row.
    pub models: Vec<ModelSupport>,
    /// The options that it takes.
    pub options: Vec<OptionSpec>,
}

/// One row of the list of a plugin's capabilities.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ModelSupport {
    /// Model id, or the beginning of one and `*`; `*` alone is every model that
    /// comes in this format.
    pub model: String,
    /// File format that the plugin reads, `none` if it needs no file, or `*` for any.
    pub format: String,
    /// Precision that it computes in: `f32`, `bf16`, `int8`, ...
    pub precision: String,
    /// Kind of device: `cpu`, `cuda`, `opencl`, ...
    pub device: String,
    /// Scenarios; at least one.
    pub scenarios: Vec<Scenario>,
    /// Maximum batch size in samples; 0 means no limit.
    pub batch_size_max: u32,
    /// Takes samples whose shapes differ from sample to sample.
    pub dynamic_shapes: bool,
    /// Device memory that one instance needs, in bytes; 0 means not known.
    pub memory_bytes: u64,
}

impl Manifest {
    /// Creates a manifest with a name, a version and a description.
    #[must_use]
    pub fn new(name: &str, version: &str, description: &str) -> Self {
        Self {
            name: name.into(),
            vendor: String::new(),
            version: version.into(),
            license: "proprietary".into(),
            description: description.into(),
            issue: false,
            concurrent_issue: false,
            virtual_time: false,
            execute: true,
            live_instances: false,
            network: false,
            models: Vec::new(),
            options: Vec::new(),
        }
    }

    /// Sets the vendor and the licence (an SPDX expression or `proprietary`).
    #[must_use]
    pub fn vendor(mut self, vendor: &str, license: &str) -> Self {
        self.vendor = vendor.into();
        self.license = license.into();
        self
    }

    /// Adds a row to its capabilities.
    #[must_use]
    pub fn model(mut self, model: ModelSupport) -> Self {
        self.models.push(model);
        self
    }

    /// Adds an option.
    #[must_use]
    pub fn option(mut self, option: OptionSpec) -> Self {
        self.options.push(option);
        self
    }

    /// Declares that [`Model::issue`](crate::Model::issue) is implemented.
    #[must_use]
    pub fn with_issue(mut self) -> Self {
        self.issue = true;
        self
    }

    /// Declares that [`Model::issue`](crate::Model::issue) is implemented, for several threads at once.
    #[must_use]
    pub fn with_concurrent_issue(mut self) -> Self {
        self.concurrent_issue = true;
        self.with_issue()
    }

    /// Declares that the system is reached by a network.
    #[must_use]
    pub fn with_network(mut self) -> Self {
        self.network = true;
        self
    }

    /// Declares that [`Instance::execute_virtual`](crate::Instance::execute_virtual) is implemented.
    #[must_use]
    pub fn with_virtual_time(mut self) -> Self {
        self.virtual_time = true;
        self
    }

    /// Declares that instances may be made and dropped between start and stop, on another thread and while
    /// others execute.
    #[must_use]
    pub fn with_live_instances(mut self) -> Self {
        self.live_instances = true;
        self
    }
}

impl ModelSupport {
    /// Creates a model (`*` for any) in a file format (`*` for any, `none` for no file), in f32 on the CPU, in all
    /// scenarios, with batches of any size. Change the fields that differ.
    #[must_use]
    pub fn new(model: &str, format: &str) -> Self {
        Self {
            model: model.into(),
            format: format.into(),
            precision: "f32".into(),
            device: "cpu".into(),
            scenarios: Scenario::ALL.to_vec(),
            batch_size_max: 0,
            dynamic_shapes: false,
            memory_bytes: 0,
        }
    }
}
