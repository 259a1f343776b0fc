//! The test bed of a system that is scaled.

use proctor_vocabulary::SampleIndex;

use crate::{
    bed::{
        dispatch::Dispatch,
        fault::FirstError,
        plugin_instance::PluginInstance,
        scaling::supply::{MakeInstance, Supply},
        test_bed::TestBed,
    },
    error::HostError,
};

impl TestBed<'_> {
    /// Has samples prepared, the model started and a supply of instances made while `act` runs, outside of a test.
    ///
    /// # Errors
    /// The error of `act`, why instances cannot be made, or why the plugin could not begin or end.
    pub(crate) fn with_supply<T>(
        &self,
        samples: &[SampleIndex],
        first_error: &FirstError,
        act: impl FnOnce(Supply) -> Result<T, HostError>,
    ) -> Result<T, HostError> {
        let manifest = self.plugin.library.manifest();
        if self.plugin.dispatch == Dispatch::WholeQueries {
            let plugin = &manifest.name;
            let text = format!(
                "plugin {plugin} takes whole queries here, which the host cannot scale: set issue = false"
            );
            return Err(HostError::Usage(text));
        }
        let most = u32::try_from(self.settings().run.instances).expect("settings allow 1024");
        let comes_and_goes = self.plugin.library.has_live_instances();
        let mut instances = self.first_instances(1, first_error)?;
        if !comes_and_goes {
            instances.extend(self.further_instances(most, first_error));
        }
        if let Some(made) = instances.iter().find(|made| made.instance.in_flight_max() > 0) {
            let (plugin, in_flight) = (&manifest.name, made.instance.in_flight_max());
            return Err(HostError::PluginCannot(format!(
                "an instance of plugin {plugin} takes {in_flight} batches at a time, which the host does not scale"
            )));
        }
        if let Some(fault) = self.warm_up(&mut instances)?.first() {
            return Err(HostError::PluginCannot(fault.to_string()));
        }
        let equip = self.equip(first_error);
        let model = self.model().clone();
        let make: MakeInstance = Box::new(move |number| Ok(equip(model.create_instance(number)?)));
        let supply = Supply::new(instances, comes_and_goes.then_some(make));
        self.with_started(samples, || act(supply))
    }

    /// The instances after the first one, up to `most`; fewer if the plugin cannot make more of them.
    fn further_instances(&self, most: u32, first_error: &FirstError) -> Vec<PluginInstance> {
        let equip = self.equip(first_error);
        let mut instances = Vec::new();
        for number in 1..most {
            match self.model().create_instance(number) {
                Ok(instance) => instances.push(equip(instance)),
                Err(error) => {
                    tracing::warn!(%error, "there are no more than {number} instances");
                    break;
                }
            }
        }
        instances
    }
}
