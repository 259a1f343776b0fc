//! A plugin with a loaded model, and its runs.

use std::{collections::BTreeMap, fmt, sync::Arc, thread};

use proctor_plugin_api::vocabulary::SampleIndex;
use proctor_plugin_host::{
    Backend, HostServices, Instance, LoadedPlugin, Model, ModelDemand, PluginHostError, PluginLocation,
    PluginMetric,
};

use crate::{
    clock::now_ns,
    execute::{Batches, batches, execute},
    reported::{Ids, Reported},
    run::{Ran, Run},
    samples::Samples,
};

/// Opens a linked-in plugin with some options given; the others have their defaults. It gets no cache folder.
///
/// A test with a model in it opens a [`Bed`] instead; this is for what comes before, and for several models in turn.
///
/// # Errors
/// Returns a message for the user: the plugin is not linked in, an option is wrong, or the plugin does not open.
pub fn open(plugin: &'static str, options: &[(&str, &str)]) -> Result<Backend, String> {
    let library = LoadedPlugin::load(&PluginLocation::Linked(plugin)).map_err(text)?;
    let given: BTreeMap<String, String> =
        options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let options = library.options(&given).map_err(text)?;
    library.open(&options, HostServices { now_ns: Arc::new(now_ns), cache_folder: None }).map_err(text)
}

/// An opened plugin with a loaded model and as many instances as were demanded.
pub struct Bed {
    instances: Vec<Instance>,
    model: Model,
    backend: Backend,
    demand: ModelDemand,
}

impl Bed {
    /// Opens a linked-in plugin with some options given, and loads a model.
    ///
    /// # Errors
    /// As of [`open`] and [`load`](Self::load).
    pub fn open(
        plugin: &'static str,
        options: &[(&str, &str)],
        demand: &ModelDemand,
    ) -> Result<Self, String> {
        Self::load(&open(plugin, options)?, demand)
    }

    /// Loads a model and makes its instances. A plugin has one model at a time.
    ///
    /// # Errors
    /// Returns a message for the user: the plugin does not declare what is demanded, does not load it, or makes no
    /// instance.
    pub fn load(backend: &Backend, demand: &ModelDemand) -> Result<Self, String> {
        let model = backend.load_model(demand).map_err(text)?;
        let instances = (0..demand.instance_count).map(|index| model.create_instance(index));
        let instances = instances.collect::<Result<_, _>>().map_err(text)?;
        Ok(Self { instances, model, backend: backend.clone(), demand: demand.clone() })
    }

    /// Runs all samples in batches of these sizes, used in turn, on every instance; each has its own thread. The last
    /// batch has the remaining samples.
    ///
    /// A run is a whole phase of the model's life: the samples are prepared, each instance warms up with as many of
    /// them as a batch may have, the timed part starts, the batches run, the plugin flushes and stops, and the samples
    /// are released.
    ///
    /// # Errors
    /// Returns a message for the user: what the plugin refused, the first batch or sample that failed, and its
    /// misbehaviour (see the [crate](crate)). An instance ends with its first batch that fails; the phase is ended in
    /// any case, and the bed can run again.
    ///
    /// # Panics
    /// If there are no samples, no sizes, or a size is 0.
    pub fn run(&mut self, samples: &Samples, sizes: &[usize]) -> Result<Run, String> {
        self.run_each(samples, &vec![sizes; self.instances.len()])
    }

    /// Works as [`run`](Self::run), with its own sizes for each instance.
    ///
    /// # Errors
    /// As of [`run`](Self::run).
    ///
    /// # Panics
    /// As [`run`](Self::run), and if there are not as many lists of sizes as instances.
    pub fn run_each(&mut self, samples: &Samples, sizes: &[&[usize]]) -> Result<Run, String> {
        assert_eq!(sizes.len(), self.instances.len(), "each instance has a list of sizes");
        let indices = samples.indices();
        let ids = Ids::new(&indices);
        let batches: Vec<Batches> = (0..)
            .zip(sizes)
            .map(|(instance, sizes)| batches(&indices, sizes, |index| ids.of(instance, index)))
            .collect();
        let ran = self.phase(samples, &batches, ids);
        let faults = self.backend.host_side().take_faults();
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        let instances = both(ran, if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) })?;
        let latest = |(name, metric): (String, PluginMetric)| (name, metric.last);
        let metrics = self.backend.host_side().metrics().into_iter().map(latest).collect();
        Ok(Run { instances, metrics })
    }

    /// Returns the loaded model, to ask it how it will run, for example.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Returns the opened plugin.
    #[must_use]
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    /// Returns the demand that was loaded.
    #[must_use]
    pub fn demand(&self) -> &ModelDemand {
        &self.demand
    }
}

impl fmt::Debug for Bed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bed").field("demand", &self.demand).finish_non_exhaustive()
    }
}

/// A bed, from the announcement of the samples to their release.
impl Bed {
    fn phase(&mut self, samples: &Samples, batches: &[Batches], ids: Ids) -> Result<Vec<Ran>, String> {
        let indices = samples.indices();
        self.model.prepare(&indices, Arc::new(samples.clone())).map_err(text)?;
        let ran = self.warm_up(&indices).and_then(|()| self.timed(batches, ids));
        both(ran, self.model.release().map_err(text))
    }

    fn warm_up(&mut self, indices: &[SampleIndex]) -> Result<(), String> {
        let batch_size = usize::try_from(self.demand.batch_size_max).unwrap_or(usize::MAX);
        let batch = &indices[..indices.len().min(batch_size)];
        self.instances.iter_mut().try_for_each(|instance| instance.warm_up(batch).map_err(text))
    }

    fn timed(&mut self, batches: &[Batches], ids: Ids) -> Result<Vec<Ran>, String> {
        self.model.start().map_err(text)?;
        let reported = Arc::new(Reported::default());
        self.backend.set_sink(Some(reported.clone()));
        let ran = self.execute(batches);
        let ended = self.model.flush().and_then(|()| self.model.stop()).map_err(text);
        self.backend.set_sink(None);
        let mut ran = both(ran, ended)?;
        reported.hand_out(ids, &mut ran)?;
        Ok(ran)
    }

    fn execute(&mut self, batches: &[Batches]) -> Result<Vec<Ran>, String> {
        let outputs = &self.demand.outputs;
        thread::scope(|scope| {
            let mut running = Vec::new();
            for (instance, batches) in self.instances.iter_mut().zip(batches) {
                running.push(scope.spawn(move || execute(instance, batches, outputs)));
            }
            running
                .into_iter()
                .map(|thread| thread.join().expect("a plugin's panic is an error here"))
                .collect()
        })
    }
}

/// Returns the value, unless there was an error with it or after it.
fn both<T>(value: Result<T, String>, after: Result<(), String>) -> Result<T, String> {
    match (value, after) {
        (Ok(value), Ok(())) => Ok(value),
        (Err(first), Err(second)) => Err(format!("{first}; {second}")),
        (Err(error), Ok(())) | (Ok(_), Err(error)) => Err(error),
    }
}

fn text(error: PluginHostError) -> String {
    error.to_string()
}
