//! One co-located copy of a model.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use candle_core::{DType, Device, Tensor};
use proctor_plugin_api::{Batch, Host, Instance, PluginError, Stage, vocabulary::TensorSpec};
use rayon::ThreadPool;

use crate::{
    batch,
    network::{Network, NetworkCall},
};

/// The part of a model that all of its instances use.
#[derive(Debug)]
pub(crate) struct Shared {
    pub host: Host,
    pub network: Box<dyn Network>,
    pub inputs: Vec<TensorSpec>,
    pub outputs: Vec<TensorSpec>,
    pub dtype: DType,
    pub device: Device,
    /// Number of bytes of inputs copied since the start. Only added up, so no order with other memory is needed.
    pub input_bytes_copied: AtomicU64,
}

/// One co-located copy of a model: the shared weights, and threads of its own.
#[derive(Debug)]
pub struct LoadedInstance {
    shared: Arc<Shared>,
    pool: ThreadPool,
}

impl LoadedInstance {
    pub(crate) fn new(shared: Arc<Shared>, pool: ThreadPool) -> Self {
        Self { shared, pool }
    }

    fn run(&self, batch: &mut Batch<'_>) -> candle_core::Result<()> {
        let Shared { host, network, inputs, outputs, .. } = &*self.shared;
        let copy_in_ns = host.now_ns();
        let call = self.call(batch)?;
        let copied: usize = inputs.iter().map(|spec| spec.size_bytes()).sum::<usize>() * batch.sample_count();
        self.shared.input_bytes_copied.fetch_add(copied as u64, Ordering::Relaxed);

        let compute_ns = host.now_ns();
        let computed = self.pool.install(|| network.run(&call))?;

        let copy_out_ns = host.now_ns();
        if computed.len() != outputs.len() {
            candle_core::bail!("the model gave {} outputs instead of {}", computed.len(), outputs.len());
        }
        for (index, (spec, output)) in outputs.iter().zip(&computed).enumerate() {
            batch::scatter(batch, index, spec, output)?;
        }
        let end_ns = host.now_ns();
        batch.set_stages(&[
            Stage::new(Stage::COPY_IN, copy_in_ns, compute_ns),
            Stage::new(Stage::COMPUTE, compute_ns, copy_out_ns),
            Stage::new(Stage::COPY_OUT, copy_out_ns, end_ns),
        ]);
        Ok(())
    }

    fn call(&self, batch: &mut Batch<'_>) -> candle_core::Result<NetworkCall> {
        let &Shared { host, ref inputs, dtype, ref device, .. } = &*self.shared;
        let gather = |(index, spec)| batch::gather(batch, index, spec, device);
        let inputs: Vec<Tensor> = inputs.iter().enumerate().map(gather).collect::<Result<_, _>>()?;
        let samples = batch.samples().map(|sample| sample.id()).collect();
        let indices = batch.samples().map(|sample| sample.index()).collect();
        Ok(NetworkCall { inputs, samples, indices, dtype, device: device.clone(), host })
    }
}

impl Instance for LoadedInstance {
    fn execute(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        self.run(batch).map_err(failed)
    }
}

fn failed(error: candle_core::Error) -> PluginError {
    PluginError::failed(error.to_string())
}
