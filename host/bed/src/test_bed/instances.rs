//! Instances of the plugin for a test bed: made, fitted out, and warmed up.

use std::sync::Arc;

use proctor_config::RunSettings;
use proctor_loadgen::{LoadError, LoadGenError, QuerySampleLibrary, TestSettings};
use proctor_plugin_host::{self as plugin_host, PluginHostError};
use proctor_vocabulary::{SampleIndex, TestMode};
use proctor_words::{HostError, PluginError, ScalingError, enter};

use crate::{
    clock::HostClock,
    fault::{Fault, FirstError},
    plugin::{dispatch::Dispatch, intent::warm_up_sample_count},
    plugin_instance::{PluginInstance, create_instances},
    scaling::{
        settings::fixed_knobs,
        supply::{MakeInstance, Supply},
    },
    test::TestRequest,
    test_bed::{
        TestBed,
        length::{Pace, remark},
    },
};

impl TestBed<'_> {
    /// Prepares samples, starts the model and creates a supply of instances, then runs `act`. Not part of a
    /// test. Returns the plugin's faults meanwhile, and its changes to the host.
    ///
    /// # Errors
    /// Returns the error of `act`, why instances cannot be made, or why the plugin could not begin.
    pub fn with_supply<T>(
        &self,
        samples: &[SampleIndex],
        first_error: &FirstError,
        act: impl FnOnce(Supply) -> Result<T, HostError>,
    ) -> Result<(T, Vec<Fault>), HostError> {
        if self.plugin.dispatch == Dispatch::WholeQueries {
            return Err(ScalingError::WholeQueries(self.plugin.library.manifest().name.clone()).into());
        }
        let mut instances = self.scaled_instances(first_error)?;
        if let Some(fault) = self.warm_up(&mut instances)?.0.first() {
            return Err(HostError::plugin(fault.to_string()));
        }
        let supply = self.supply(instances, first_error);
        let (done, mut faults) = self.while_started(samples, || act(supply))?;
        faults.extend(self.change_of_host());
        Ok((done, faults))
    }

    /// Returns the instances for a test, of a plugin whose process lives, warmed up if the test wants that; with faults
    /// of the plugin meanwhile.
    pub(super) fn ready_instances(
        &self,
        request: &TestRequest<'_>,
        audited: &TestSettings,
        is_scaled: bool,
        first_error: &FirstError,
    ) -> Result<(Vec<PluginInstance>, Vec<Fault>), HostError> {
        self.plugin.refresh()?;
        self.mark_outputs(request.settings.mode == TestMode::AccuracyOnly)?;
        let mut instances = self.instances(is_scaled, first_error)?;
        let faults = match request.warms_up {
            true => self.warm_up_before(request, audited, &mut instances)?,
            false => Vec::new(),
        };
        if self.process_has_ended() {
            // Run the test in a fresh process anyway: an INVALID result says more than none.
            instances.clear();
            self.plugin.refresh()?;
            instances = self.instances(is_scaled, first_error)?;
        }
        Ok((instances, faults))
    }

    /// Returns the instances that a scaled system needs before it starts: one if the plugin makes further ones later,
    /// else all of them.
    ///
    /// # Errors
    /// If there is no instance, or it takes several batches at a time.
    fn scaled_instances(&self, first_error: &FirstError) -> Result<Vec<PluginInstance>, HostError> {
        let mut instances = self.first_instances(1, first_error)?;
        if let Some(made) = instances.iter().find(|made| made.instance.in_flight_max() > 0) {
            let plugin = self.plugin.library.manifest().name.clone();
            return Err(
                PluginError::SeveralBatches { plugin, in_flight: made.instance.in_flight_max() }.into()
            );
        }
        if self.plugin.library.has_live_instances() {
            return Ok(instances);
        }
        let equip = self.equip(first_error);
        for number in 1..self.most_instances() {
            match self.model.create_instance(number) {
                Ok(instance) => instances.push(equip(instance)),
                Err(error) => {
                    tracing::warn!(%error, "there are no more than {number} instances");
                    break;
                }
            }
        }
        Ok(instances)
    }

    /// Creates a supply from these instances and, if the plugin can create instances while others work, from new ones.
    pub(super) fn supply(&self, instances: Vec<PluginInstance>, first_error: &FirstError) -> Supply {
        let (equip, model) = (self.equip(first_error), self.model.clone());
        let make: MakeInstance = Box::new(move |number| Ok(equip(model.create_instance(number)?)));
        let comes_and_goes = self.plugin.library.has_live_instances();
        Supply::new(instances, comes_and_goes.then_some(make), self.most_instances())
    }

    fn most_instances(&self) -> u32 {
        u32::try_from(self.settings.run.instances).expect("settings allow 1024")
    }

    /// Creates the instances of a test; if they are scaled, the initial ones.
    ///
    /// # Errors
    /// If they cannot be made.
    pub(super) fn instances(
        &self,
        is_scaled: bool,
        first_error: &FirstError,
    ) -> Result<Vec<PluginInstance>, HostError> {
        let _span = enter!("create instances");
        if is_scaled {
            return self.scaled_instances(first_error);
        }
        let count = match self.plugin.dispatch {
            Dispatch::Batches => {
                u32::try_from(fixed_knobs(&self.settings.run)?.instances).expect("settings allow 1024")
            }
            Dispatch::WholeQueries => 0,
        };
        self.first_instances(count, first_error)
    }

    fn first_instances(
        &self,
        count: u32,
        first_error: &FirstError,
    ) -> Result<Vec<PluginInstance>, HostError> {
        let made = create_instances(&self.model, &self.plugin.devices, count)?;
        Ok(made.into_iter().map(self.equip(first_error)).collect())
    }

    /// Gives an instance the processors of its thread, and the parts that it shares with the others.
    fn equip(
        &self,
        first_error: &FirstError,
    ) -> impl Fn(plugin_host::Instance) -> PluginInstance + Send + use<> {
        // The thread of a plugin in a process of its own is there, and here one that waits for it.
        let placement = self.plugin.isolated.is_none().then(|| self.placement.clone());
        let (stages, first_error) = (self.stages.clone(), Arc::clone(first_error));
        move |instance| {
            let cpus =
                placement.as_ref().map(|placement| placement.of_instance(instance.index() as usize).to_vec());
            let (stages, first_error) = (stages.clone(), Arc::clone(&first_error));
            PluginInstance { instance, cpus: cpus.unwrap_or_default(), stages, batches: None, first_error }
        }
    }

    /// Warms up before a test, and warns the user if the test will be longer than the preset intends.
    pub(super) fn warm_up_before(
        &self,
        request: &TestRequest<'_>,
        test: &TestSettings,
        instances: &mut [PluginInstance],
    ) -> Result<Vec<Fault>, HostError> {
        let (faults, pace) = self.warm_up(instances)?;
        let is_told = request.folder.is_some() && matches!(self.clock, HostClock::Real(_));
        let remark = is_told.then(|| remark(self.settings, test, self.library.counts(), pace)).flatten();
        remark.iter().for_each(|text| self.interrupt.observer().message(text));
        Ok(faults)
    }

    /// Warms up: runs some batches on each instance, or some queries on the model. Returns the pace and the faults: the
    /// test runs in spite of faults, and says more. In virtual time there is nothing to warm up.
    fn warm_up(&self, instances: &mut [PluginInstance]) -> Result<(Vec<Fault>, Option<Pace>), HostError> {
        let RunSettings { warm_up_batches, batch_size, .. } = self.settings.run;
        let mut faults = Vec::new();
        let takes_queries = self.plugin.dispatch == Dispatch::WholeQueries;
        let is_needless = takes_queries && !self.model.has_warm_up();
        if warm_up_batches == 0 || is_needless || matches!(self.clock, HostClock::Virtual(_)) {
            return Ok((faults, None));
        }
        let _span = enter!("warm up", batches = warm_up_batches);
        let sample_count = match takes_queries {
            true => warm_up_sample_count(self.settings, self.library.counts()),
            false => batch_size,
        };
        let samples: Vec<_> =
            (0..self.library.performance_sample_count()).take(sample_count).map(SampleIndex).collect();
        let (now, mut shortest_ns) = (self.clock.reader(), u64::MAX);
        let mut repeat = |warm_up: &mut dyn FnMut() -> Result<(), PluginHostError>| {
            let timed = |_| {
                let begun_ns = now();
                let done = warm_up();
                if done.is_ok() {
                    shortest_ns = shortest_ns.min(now().saturating_sub(begun_ns));
                }
                done
            };
            (0..warm_up_batches).try_for_each(timed).err()
        };
        let prepared = self.library.with_prepared(&samples, || {
            let failed: Vec<PluginHostError> = match takes_queries {
                true => repeat(&mut || self.model.warm_up(&samples)).into_iter().collect(),
                false => instances
                    .iter_mut()
                    .filter_map(|instance| repeat(&mut || instance.instance.warm_up(&samples)))
                    .collect(),
            };
            faults.extend(failed.into_iter().map(|error| Fault::WarmUp(Arc::new(error))));
        });
        let library = self.library.name().to_owned();
        let sample_count = samples.len();
        prepared.map_err(|error| LoadGenError::Load(LoadError { library, sample_count, error }))?;
        let pace = Pace {
            sample_ns: shortest_ns as f64 / samples.len().max(1) as f64,
            // A plugin that takes whole queries may work on as many as it likes.
            parallel: instances.len().max(1),
        };
        Ok((faults, Some(pace).filter(|_| shortest_ns < u64::MAX)))
    }
}
