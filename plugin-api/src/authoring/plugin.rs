//! The three traits of a plugin: the plugin opens, a model loads, an instance executes.

use proctor_vocabulary::InputForm;

use super::{
    batch::{Batch, submitted::SubmittedBatch},
    error::PluginError,
    host::Host,
    memory::PluginMemory,
    query::Query,
    request::{ModelRequest, Placement, PreparedSample},
};
use crate::{device::Device, manifest::Manifest, options::Options};

/// An opened plugin. Implement it, then name the type in [`export_plugin!`](crate::export_plugin).
pub trait Plugin: Sized + Send + Sync + 'static {
    /// The type of its models.
    type Model: Model;

    /// Returns the plugin's description and capabilities. Touches no device. Called whenever
    /// a host loads the plugin; with one answer, unless it stands for something that the program can exchange.
    fn manifest() -> Manifest;

    /// Opens the device or library below. `options` were checked against the manifest. [main thread]
    ///
    /// # Errors
    /// Returns a message for the user: what is missing and how to get it.
    fn open(host: Host, options: &Options) -> Result<Self, PluginError>;

    /// Returns whether instances at different devices may be created at the same time, on a thread for each device.
    const CREATES_IN_PARALLEL: bool = false;

    /// Returns the devices that a host may spread instances over, in an order that stays; none if there is nothing to
    /// choose: the extension `proctor.devices/1`. [main thread]
    ///
    /// # Errors
    /// If they cannot be listed.
    fn devices(&self) -> Result<Vec<Device>, PluginError> {
        Ok(Vec::new())
    }

    /// Chooses the form of the input with this position in the request, which has the inputs in the benchmark's form:
    /// the draft `proctor.input_form/0`. The request for the model then has them in the forms chosen, unless the host
    /// does not know this extension. [main thread]
    ///
    /// # Errors
    /// If none will do.
    fn input_form(&self, request: &ModelRequest, input: usize) -> Result<InputForm, PluginError> {
        Ok(InputForm::of(&request.inputs[input]))
    }

    /// Loads a model. The request was checked against the manifest. [main thread]
    ///
    /// # Errors
    /// [`PluginError::unsupported`] with the reason, or a fault in the files.
    fn load_model(&self, request: &ModelRequest) -> Result<Self::Model, PluginError>;
}

/// A loaded model.
pub trait Model: Send + Sync + 'static {
    /// The type of its instances.
    type Instance: Instance;

    /// Creates one co-located copy, with everything that `execute` needs allocated. [main thread]
    ///
    /// # Errors
    /// If something that it needs is not to be had, such as memory.
    fn create_instance(&self, placement: &Placement) -> Result<Self::Instance, PluginError>;

    /// Returns the energy that the devices have used so far, in joules since any instant, never decreasing; `None` if
    /// there is no such counter: the extension `proctor.energy/1`. Read right after the start and right before the
    /// stop. [main thread]
    ///
    /// # Errors
    /// If it cannot be read.
    fn energy_joules(&self) -> Result<Option<f64>, PluginError> {
        Ok(None)
    }

    /// Returns the memory of the plugin's own for samples; `None` leaves it to the host. Asked before samples are
    /// loaded. [main thread]
    fn memory(&self) -> Option<&dyn PluginMemory> {
        None
    }

    /// Announces the samples that will be used next, to be pinned or copied; their memory stays where it is until
    /// [`release_samples`](Model::release_samples). [main thread]
    ///
    /// # Errors
    /// If the samples cannot be used.
    fn prepare_samples(&self, _samples: &[PreparedSample]) -> Result<(), PluginError> {
        Ok(())
    }

    /// Ends the use of all prepared samples. [main thread]
    fn release_samples(&self) {}

    /// Computes the answers to a query of prepared samples, whose ids mean nothing, and discards them: completes none
    /// of them. Only called if the manifest says [`with_issue`](Manifest::with_issue). [main thread]
    ///
    /// # Errors
    /// If the model cannot run.
    fn warm_up(&self, _query: Query<'_>) -> Result<(), PluginError> {
        Ok(())
    }

    /// Begins the timed part. [main thread]
    ///
    /// # Errors
    /// If it cannot start.
    fn start(&self) -> Result<(), PluginError> {
        Ok(())
    }

    /// Takes a whole query and returns at once; each sample is completed by [`Host::complete`], in any order, from
    /// any thread. Only called if the manifest says [`with_issue`](Manifest::with_issue). [issuing thread; several at
    /// the same time if it says [`with_concurrent_issue`](Manifest::with_concurrent_issue)]
    ///
    /// # Errors
    /// Fails every sample of the query that was not yet completed. After [`PluginError::busy`] the query is issued
    /// again instead, so no sample of it may have been taken.
    fn issue(&self, _query: Query<'_>) -> Result<(), PluginError> {
        Err(PluginError::unsupported("this plugin takes no whole queries"))
    }

    /// Announces that no further query comes in this phase: complete the waiting ones. May return before or after that
    /// is done. [its own thread]
    fn flush(&self) {}

    /// Describes in words how this model will run: the choice, the alternatives, and the reason. `None` if
    /// there is nothing to say. Shown by `host describe PLUGIN --plan BENCHMARK`. [main thread]
    fn explain(&self) -> Option<String> {
        None
    }

    /// Ends the timed part. [main thread]
    ///
    /// # Errors
    /// If the timed part could not be ended cleanly.
    fn stop(&self) -> Result<(), PluginError> {
        Ok(())
    }
}

/// One co-located copy of a model. Lives on one thread.
pub trait Instance: Send + 'static {
    /// Runs a batch to its end: reads each sample's inputs, writes its outputs. Should not allocate.
    /// [instance thread]
    ///
    /// # Errors
    /// Fails every sample of the batch.
    fn execute(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError>;

    /// Runs a batch whose outputs are discarded, before the start. [main thread]
    ///
    /// # Errors
    /// If the instance cannot run.
    fn warm_up(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        self.execute(batch)
    }

    /// Returns the number of batches that it takes before it has done the first; 0 to be given batches by
    /// [`execute`](Self::execute) alone. [main thread]
    fn in_flight_max(&self) -> u32 {
        0
    }

    /// Takes a batch and returns without waiting for its end, which [`SubmittedBatch::finish`] reports from any thread.
    /// Only called if [`in_flight_max`](Self::in_flight_max) is not 0. [instance thread]
    ///
    /// # Errors
    /// Fails every sample of the batch, which may not be finished then.
    fn submit(&mut self, _batch: SubmittedBatch) -> Result<(), PluginError> {
        Err(PluginError::unsupported("this plugin takes one batch at a time"))
    }

    /// The calling thread will run batches of this instance: the place to make a context of the device current, or to
    /// set a NUMA policy or a priority. Once in the life of an instance in a run; not for [`warm_up`](Self::warm_up),
    /// and not in virtual time. [instance thread]
    ///
    /// # Errors
    /// If the thread cannot begin: then all batches fail.
    fn begin_thread(&mut self) -> Result<(), PluginError> {
        Ok(())
    }

    /// Ends the work of a thread, which will run no more batches. [instance thread]
    ///
    /// # Errors
    /// If something could not be ended cleanly.
    fn end_thread(&mut self) -> Result<(), PluginError> {
        Ok(())
    }

    /// Works as [`execute`](Instance::execute), but returns at once with the service time in ns. `busy_instances`
    /// counts the instances that are executing, including this one. Only called if the manifest says
    /// [`with_virtual_time`](Manifest::with_virtual_time). [issuing thread]
    ///
    /// # Errors
    /// Fails every sample of the batch.
    fn execute_virtual(&mut self, _batch: &mut Batch<'_>, _busy_instances: u32) -> Result<u64, PluginError> {
        Err(PluginError::unsupported("this plugin does not run in virtual time"))
    }
}
