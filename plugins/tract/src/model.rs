//! A loaded model.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use proctor_onnx_file::Fit;
use proctor_plugin_api::{Host, Model, Placement, PluginError};

use crate::{
    executor::executor,
    instance::{Shared, TractInstance},
    plans::Plan,
};

/// A loaded model.
#[derive(Debug)]
pub struct TractModel {
    shared: Arc<Shared>,
    /// Threads of each instance.
    threads: usize,
}

impl TractModel {
    pub(crate) fn new(host: Host, fit: Fit, plans: Vec<Plan>, threads: usize) -> Self {
        let shared = Arc::new(Shared { host, fit, plans, input_bytes_copied: AtomicU64::new(0) });
        Self { shared, threads }
    }
}

impl Model for TractModel {
    type Instance = TractInstance;

    fn create_instance(&self, placement: &Placement) -> Result<TractInstance, PluginError> {
        let executor = executor(self.threads, placement.instance_index, &placement.cpus)?;
        TractInstance::new(Arc::clone(&self.shared), executor)
    }

    fn start(&self) -> Result<(), PluginError> {
        self.shared.input_bytes_copied.store(0, Ordering::Relaxed);
        Ok(())
    }

    fn stop(&self) -> Result<(), PluginError> {
        let copied = self.shared.input_bytes_copied.load(Ordering::Relaxed);
        #[expect(clippy::cast_precision_loss, reason = "a figure for people; exact up to 2^53 bytes")]
        self.shared.host.metric("input_bytes_copied", "B", copied as f64);
        Ok(())
    }

    fn explain(&self) -> Option<String> {
        let sizes: Vec<String> = self.shared.plans.iter().map(|plan| plan.batch_size.to_string()).collect();
        let threads =
            if self.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", self.threads) };
        Some(format!("compiled for batches of {}; {threads} for each instance\n", sizes.join(", ")))
    }
}
