//! The flags of `host describe`.

use clap::Args;

use super::{RunFlags, setting_flags::SettingFlags};

/// Flags of `host describe`.
#[derive(Debug, Args)]
pub(crate) struct DescribeFlags {
    /// Name of a plugin, or path of its library.
    pub(crate) plugin: String,
    /// Load the model of this benchmark, as a run would, and show how the plugin will run it
    #[arg(long, value_name = "BENCHMARK")]
    plan: Option<String>,
    /// With --plan: the scenario of the run [default: SingleStream]
    #[arg(long, requires = "plan")]
    scenario: Option<String>,
    /// With --plan: most samples in a batch [default: 1]
    #[arg(long, value_name = "SAMPLES", requires = "plan")]
    batch_size: Option<String>,
    /// With --plan: precision to compute in [default: the plugin's first for the model]
    #[arg(long, requires = "plan")]
    precision: Option<String>,
    /// With --plan: folder of the data sets and models
    #[arg(long, value_name = "FOLDER", requires = "plan")]
    data_root: Option<String>,
    /// With --plan: set any setting, or an option of the plugin as PLUGIN.OPTION; may be repeated
    #[arg(long, value_name = "KEY=VALUE", requires = "plan")]
    set: Vec<String>,
}

impl DescribeFlags {
    /// The flags of a run whose plan is asked for.
    pub(crate) fn run(&self) -> Option<RunFlags> {
        let settings = SettingFlags::default()
            .with("plugin", Some(&self.plugin))
            .with("benchmark", Some(self.plan.as_deref()?))
            .with("scenario", self.scenario.as_deref())
            .with("batch_size", self.batch_size.as_deref())
            .with("precision", self.precision.as_deref())
            .with("data_root", self.data_root.as_deref());
        Some(RunFlags { settings, set: self.set.clone(), ..RunFlags::default() })
    }
}

pub(super) const DESCRIBE_HELP: &str = "\
Examples:
  host describe cpu-rnn
  host describe cpu-rnn --plan digits-lstm --set cpu-rnn.threads=2
  host describe target/release/libmock_sut.so";
