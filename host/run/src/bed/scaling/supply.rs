//! Where instances come from while a system is scaled, and where they go.

use std::{
    collections::BTreeSet,
    sync::mpsc::{Receiver, Sender, channel},
};

use proctor_plugin_host::{self as plugin_host, PluginHostError};
use proctor_scheduler::{BatchError, Instance};
use proctor_vocabulary::{CompletionSink, QuerySample};

use crate::bed::plugin_instance::PluginInstance;

/// Makes the instance of a number.
pub(crate) type MakeInstance = Box<dyn Fn(u32) -> Result<PluginInstance, PluginHostError> + Send>;

/// Instances of the plugin, one for the scheduler at a time.
///
/// A plugin with live instances is asked for each when it is needed, and to destroy it when it is not. Of another
/// plugin all instances that there may be are made before the start; those that the scheduler does not have are parked.
pub(crate) struct Supply {
    /// Makes the instance of this number; `None` where all were made at the start.
    make: Option<MakeInstance>,
    parked: Vec<PluginInstance>,
    /// Numbers of instances that the scheduler has.
    out: BTreeSet<u32>,
    way_back: (Sender<PluginInstance>, Receiver<PluginInstance>),
}

impl Supply {
    /// A supply of these instances, and of those that `make` makes if there is such a way.
    pub(crate) fn new(instances: Vec<PluginInstance>, make: Option<MakeInstance>) -> Self {
        Self { make, parked: instances, out: BTreeSet::new(), way_back: channel() }
    }

    /// The instance of the lowest number that the scheduler does not have; `None` if it has all of them.
    ///
    /// # Errors
    /// Why the plugin cannot make it.
    pub(crate) fn take(&mut self) -> Result<Option<Box<dyn Instance>>, PluginHostError> {
        self.take_back()?;
        self.parked.sort_by_key(|parked| std::cmp::Reverse(parked.instance.index()));
        let instance = match (self.parked.pop(), &self.make) {
            (Some(parked), _) => parked,
            (None, Some(make)) => {
                make((0..).find(|number| !self.out.contains(number)).expect("numbers go on"))?
            }
            (None, None) => return Ok(None),
        };
        self.out.insert(instance.instance.index());
        let lent = Lent { instance: Some(instance), way_back: self.way_back.0.clone() };
        Ok(Some(Box::new(lent)))
    }

    /// Takes those back that the scheduler has retired: they are parked, or destroyed.
    ///
    /// # Errors
    /// Why the plugin cannot destroy one.
    pub(crate) fn take_back(&mut self) -> Result<(), PluginHostError> {
        for instance in self.way_back.1.try_iter() {
            self.out.remove(&instance.instance.index());
            match self.make {
                Some(_) => instance.instance.destroy()?,
                None => self.parked.push(instance),
            }
        }
        Ok(())
    }

    /// Ends the supply: no instance is destroyed from now on but by the end of the model.
    pub(crate) fn end(&mut self) -> Vec<plugin_host::Instance> {
        let rest = self.way_back.1.try_iter().chain(self.parked.drain(..));
        rest.map(|instance| instance.instance).collect()
    }
}

/// An instance that the scheduler has until it retires it.
struct Lent {
    instance: Option<PluginInstance>,
    way_back: Sender<PluginInstance>,
}

impl Lent {
    fn instance(&mut self) -> &mut PluginInstance {
        self.instance.as_mut().expect("it goes back when this is dropped")
    }
}

impl Instance for Lent {
    fn enter_thread(&mut self) {
        self.instance().enter_thread();
    }

    fn leave_thread(&mut self) {
        self.instance().leave_thread();
    }

    fn execute(&mut self, batch: &[QuerySample]) -> Result<(), BatchError> {
        self.instance().execute(batch)
    }

    fn execute_virtual(&mut self, batch: &[QuerySample], busy_instances: u32) -> Result<u64, BatchError> {
        self.instance().execute_virtual(batch, busy_instances)
    }

    fn complete(&mut self, batch: &[QuerySample], sink: &dyn CompletionSink) {
        self.instance().complete(batch, sink);
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(instance) = self.instance.take() {
            // Nobody takes it back any more at the end of a test. Then it is dropped here, which gives it back to the
            // model.
            let _ = self.way_back.send(instance);
        }
    }
}
