//! A loaded model, which its instances share.

use std::{
    fmt::Write as _,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use candle_core::utils::get_num_threads;
use proctor_plugin_api::{Host, Model, ModelRequest, Placement, PluginError};

use crate::{
    instance::{LoadedInstance, Shared},
    network::Network,
    threads,
    weights::Weights,
};

/// A loaded model and how its instances will be made.
#[derive(Debug)]
pub struct LoadedModel {
    shared: Arc<Shared>,
    /// Number of threads of each instance.
    threads: usize,
    /// Origin and kind of the weights, for people.
    origin: String,
}

impl LoadedModel {
    pub(crate) fn new(
        host: Host,
        network: Box<dyn Network>,
        weights: &Weights,
        request: &ModelRequest,
        threads: usize,
    ) -> Self {
        let origin = format!("{}, {} tensors", weights.path().display(), weights.count());
        let shared = Shared {
            host,
            network,
            inputs: request.inputs.clone(),
            outputs: request.outputs.clone(),
            dtype: weights.dtype(),
            device: weights.device().clone(),
            input_bytes_copied: AtomicU64::new(0),
        };
        Self { shared: Arc::new(shared), threads, origin }
    }
}

impl Model for LoadedModel {
    type Instance = LoadedInstance;

    fn create_instance(&self, placement: &Placement) -> Result<LoadedInstance, PluginError> {
        let pool = threads::pool(self.threads, placement.instance_index, &placement.cpus)?;
        Ok(LoadedInstance::new(Arc::clone(&self.shared), pool))
    }

    fn explain(&self) -> Option<String> {
        let Shared { network, dtype, .. } = &*self.shared;
        let mut text = String::new();
        let written = writeln!(text, "network   {}", network.summary())
            .and_then(|()| writeln!(text, "weights   {}, kept as {}", self.origin, dtype.as_str()))
            .and_then(|()| writeln!(text, "threads   {} for each instance", self.threads))
            .and_then(|()| {
                writeln!(text, "engine    {} threads for large element-wise operations", get_num_threads())
            });
        written.ok().map(|()| text)
    }

    fn start(&self) -> Result<(), PluginError> {
        self.shared.input_bytes_copied.store(0, Ordering::Relaxed);
        Ok(())
    }

    fn stop(&self) -> Result<(), PluginError> {
        let copied = self.shared.input_bytes_copied.load(Ordering::Relaxed);
        // A double counts bytes exactly up to 8 PiB.
        self.shared.host.metric("input_bytes_copied", "B", copied as f64);
        Ok(())
    }
}
