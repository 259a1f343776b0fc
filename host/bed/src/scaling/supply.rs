//! Supplies instances while a system is scaled, and takes them back.

use std::{
    collections::BTreeSet,
    sync::mpsc::{Receiver, Sender, channel},
};

use proctor_plugin_host::{self as plugin_host, PluginHostError};
use proctor_scheduler::{BatchError, Instance};
use proctor_vocabulary::{CompletionSink, QuerySample};

use crate::plugin_instance::PluginInstance;

/// Creates the instance of a number.
pub(crate) type MakeInstance = Box<dyn Fn(u32) -> Result<PluginInstance, PluginHostError> + Send>;

/// Instances of the plugin, one for the scheduler at a time.
///
/// A plugin with live instances creates each one when it is needed and destroys it when it is not. For any other
/// plugin, all instances that may be needed are created before the start, and the ones that the scheduler does not
/// use are parked. An instance that has failed a batch is not given out again, nor is another one with its number.
pub struct Supply {
    /// Function that creates the instance of this number; `None` if all were created at the start.
    make: Option<MakeInstance>,
    /// Maximum number of instances announced to the plugin.
    most: u32,
    parked: Vec<PluginInstance>,
    /// Instances that have failed, of a plugin that destroys none before the end.
    broken: Vec<PluginInstance>,
    /// Numbers of the instances that the scheduler has or that have failed.
    taken: BTreeSet<u32>,
    /// Number of these that have failed and are back.
    failed: usize,
    way_back: (Sender<Returned>, Receiver<Returned>),
}

/// An instance that the scheduler has retired.
struct Returned {
    instance: PluginInstance,
    has_failed: bool,
}

impl Supply {
    /// Creates a supply from these instances and, if given, from `make`, up to `most` in total.
    pub(crate) fn new(instances: Vec<PluginInstance>, make: Option<MakeInstance>, most: u32) -> Self {
        Self {
            make,
            most,
            parked: instances,
            broken: Vec::new(),
            taken: BTreeSet::new(),
            failed: 0,
            way_back: channel(),
        }
    }

    /// Returns the instance of the lowest number that the scheduler does not have; `None` if it has all of them.
    ///
    /// # Errors
    /// If the plugin cannot make it.
    pub(crate) fn take(&mut self) -> Result<Option<Box<dyn Instance>>, PluginHostError> {
        self.parked.sort_by_key(|parked| std::cmp::Reverse(parked.instance.index()));
        let instance = match (self.parked.pop(), &self.make) {
            (Some(parked), _) => parked,
            (None, Some(make)) => match (0..self.most).find(|number| !self.taken.contains(number)) {
                Some(number) => make(number)?,
                None => return Ok(None),
            },
            (None, None) => return Ok(None),
        };
        self.taken.insert(instance.instance.index());
        let lent = Lent { instance: Some(instance), has_failed: false, way_back: self.way_back.0.clone() };
        Ok(Some(Box::new(lent)))
    }

    /// Takes those back that the scheduler has retired: they are parked, or destroyed. Returns why the plugin could not
    /// destroy some.
    pub(crate) fn take_back(&mut self) -> Vec<PluginHostError> {
        let mut errors = Vec::new();
        for Returned { instance, has_failed } in self.way_back.1.try_iter() {
            match has_failed {
                true => self.failed += 1,
                false => _ = self.taken.remove(&instance.instance.index()),
            }
            match (&self.make, has_failed) {
                (Some(_), _) => errors.extend(instance.instance.destroy().err()),
                (None, true) => self.broken.push(instance),
                (None, false) => self.parked.push(instance),
            }
        }
        errors
    }

    /// Returns whether instances are on their way back from the scheduler, which has this many unretired ones.
    pub(crate) fn is_owed(&self, staying: usize) -> bool {
        self.taken.len() - self.failed > staying
    }

    /// Ends the supply: no instance is destroyed from now on but by the end of the model.
    pub(crate) fn end(&mut self) -> Vec<plugin_host::Instance> {
        let returned = self.way_back.1.try_iter().map(|returned| returned.instance);
        let rest = returned.chain(self.parked.drain(..)).chain(self.broken.drain(..));
        rest.map(|instance| instance.instance).collect()
    }
}

/// An instance that the scheduler has until it retires it.
struct Lent {
    instance: Option<PluginInstance>,
    has_failed: bool,
    way_back: Sender<Returned>,
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
        self.instance().execute(batch).inspect_err(|_| self.has_failed = true)
    }

    fn execute_virtual(&mut self, batch: &[QuerySample], busy_instances: u32) -> Result<u64, BatchError> {
        self.instance().execute_virtual(batch, busy_instances).inspect_err(|_| self.has_failed = true)
    }

    fn complete(&mut self, batch: &[QuerySample], sink: &dyn CompletionSink) {
        self.instance().complete(batch, sink);
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(instance) = self.instance.take() {
            // At the end of a test, nothing takes it back. Dropping it here returns it to the model.
            let _ = self.way_back.send(Returned { instance, has_failed: self.has_failed });
        }
    }
}
