//! Instances of the plugin: how they are made, and how the scheduler sees them.

pub(crate) mod batch_log;

use std::{sync::Arc, thread};

use parking_lot::Mutex;
use proctor_plugin_api::Stage;
use proctor_plugin_host::{self as plugin_host, Lane, Model, PluginHostError};
use proctor_scheduler::{BatchError, Instance};
use proctor_vocabulary::{CompletionSink, QuerySample};

use self::batch_log::InstanceBatches;
use crate::{
    fault::FirstError,
    placement::{self, devices::Devices},
};

/// An instance of the plugin, as the scheduler knows instances.
pub(crate) struct PluginInstance {
    pub(crate) instance: plugin_host::Instance,
    /// Processors that its thread keeps to; empty for any.
    pub(crate) cpus: Vec<u32>,
    /// Log of the plugin's reports of each batch, to show where a latency comes from.
    pub(crate) stages: Option<StageLog>,
    /// Log of the batches of a test that keeps some.
    pub(crate) batches: Option<InstanceBatches>,
    pub(crate) first_error: FirstError,
}

/// Keeps the first error of the test for the advice about it.
fn batch_error(first_error: &FirstError, error: PluginHostError) -> BatchError {
    let message = error.to_string();
    first_error.get_or_init(|| Arc::new(error));
    BatchError { message }
}

/// Time that a batch spent in the stages behind the figures, in ns; `None` if the plugin does not report the stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BatchStages {
    /// Time in the stages that move inputs to the device.
    pub copy_in_ns: Option<u64>,
    /// Time in the stages of the computation.
    pub compute_ns: Option<u64>,
}

impl BatchStages {
    /// Returns the times of a batch with these stages.
    fn of(stages: &[plugin_host::Stage]) -> Self {
        let time_ns = |name| {
            let named = stages.iter().filter(|stage| stage.name() == name);
            named.map(plugin_host::Stage::duration_ns).reduce(|one, other| one + other)
        };
        Self { copy_in_ns: time_ns(Stage::COPY_IN), compute_ns: time_ns(Stage::COMPUTE) }
    }
}

/// The stages of each batch, in the order of execution. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct StageLog(Arc<Mutex<Vec<BatchStages>>>);

impl StageLog {
    /// Returns the batches since the last call. Keeps room for `room` further ones, so that nothing grows between two
    /// of them.
    pub(crate) fn take(&self, room: usize) -> Vec<BatchStages> {
        std::mem::replace(&mut *self.0.lock(), Vec::with_capacity(room))
    }
}

impl Instance for PluginInstance {
    fn enter_thread(&mut self) {
        placement::hold(&self.cpus);
        self.instance.begin_thread();
    }

    fn leave_thread(&mut self) {
        self.instance.end_thread();
    }

    fn execute(&mut self, batch: &[QuerySample]) -> Result<(), BatchError> {
        self.batches.iter_mut().for_each(InstanceBatches::started);
        let done = self.instance.execute(batch);
        if let Some(log) = &self.stages {
            log.0.lock().push(BatchStages::of(self.instance.stages()));
        }
        done.map_err(|error| batch_error(&self.first_error, error))
    }

    fn execute_virtual(&mut self, batch: &[QuerySample], busy_instances: u32) -> Result<u64, BatchError> {
        self.batches.iter_mut().for_each(InstanceBatches::started);
        let time_ns = self.instance.execute_virtual(batch, busy_instances);
        time_ns.map_err(|error| batch_error(&self.first_error, error))
    }

    fn complete(&mut self, batch: &[QuerySample], sink: &dyn CompletionSink) {
        self.instance.complete(batch, sink);
        if let Some(batches) = &mut self.batches {
            batches.completed(batch, self.instance.stages());
        }
    }
}

/// One of the batches that an instance of the plugin may have in flight, which the scheduler takes for an instance.
struct PluginLane {
    lane: Lane,
    cpus: Vec<u32>,
    first_error: FirstError,
}

impl Instance for PluginLane {
    fn enter_thread(&mut self) {
        placement::hold(&self.cpus);
        self.lane.begin_thread();
    }

    fn leave_thread(&mut self) {
        self.lane.end_thread();
    }

    fn execute(&mut self, batch: &[QuerySample]) -> Result<(), BatchError> {
        self.lane.execute(batch).map_err(|error| batch_error(&self.first_error, error))
    }

    fn execute_virtual(&mut self, _: &[QuerySample], _: u32) -> Result<u64, BatchError> {
        Err(BatchError { message: "a batch in flight takes real time".to_owned() })
    }

    /// Runs a batch. The samples are complete when the plugin has done their batch.
    fn complete(&mut self, _: &[QuerySample], _: &dyn CompletionSink) {}
}

/// Instances as the scheduler sees them, and the number of the plugin's instance behind each.
pub(crate) type Scheduled = (Vec<Box<dyn Instance>>, Vec<usize>);

/// Returns the instances of the plugin as the scheduler sees them in real time: one for each batch that may be in
/// flight.
///
/// # Errors
/// If no machine has the memory for that many batches.
pub(crate) fn scheduled(instances: Vec<PluginInstance>) -> Result<Scheduled, PluginHostError> {
    let (mut scheduled, mut owners): Scheduled = (Vec::new(), Vec::new());
    for (number, instance) in instances.into_iter().enumerate() {
        if instance.instance.in_flight_max() == 0 {
            scheduled.push(Box::new(instance));
        } else {
            let PluginInstance { instance, cpus, first_error, .. } = instance;
            let boxed = |lane| {
                let (cpus, first_error) = (cpus.clone(), Arc::clone(&first_error));
                Box::new(PluginLane { lane, cpus, first_error }) as Box<dyn Instance>
            };
            scheduled.extend(instance.into_lanes()?.into_iter().map(boxed));
        }
        owners.resize(scheduled.len(), number);
    }
    Ok((scheduled, owners))
}

/// Creates this many instances; instances on different devices at the same time if the plugin allows it.
pub(super) fn create_instances(
    model: &Model,
    devices: &Devices,
    count: u32,
) -> Result<Vec<plugin_host::Instance>, PluginHostError> {
    if !devices.in_parallel() {
        return (0..count).map(|number| model.create_instance(number)).collect();
    }
    let create_at = |device: u32| {
        let numbers = (0..count).filter(move |number| devices.of_instance(*number) == device);
        numbers.map(|number| (number, model.create_instance(number))).collect::<Vec<_>>()
    };
    let create_at_each = || {
        thread::scope(|scope| {
            let threads: Vec<_> =
                devices.chosen().iter().map(|device| scope.spawn(|| create_at(*device))).collect();
            let join = |thread: thread::ScopedJoinHandle<'_, _>| match thread.join() {
                Ok(created) => created,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            threads.into_iter().flat_map(join).collect()
        })
    };
    let mut created: Vec<_> = model.create_at_the_same_time(create_at_each);
    created.sort_by_key(|(number, _)| *number);
    created.into_iter().map(|(_, instance)| instance).collect()
}
