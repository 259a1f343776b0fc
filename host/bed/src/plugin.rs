//! The plugin of a run: found, loaded, opened with its options, and with the model loaded.

pub(crate) mod dispatch;
pub(crate) mod explain_model;
pub(crate) mod fitted_model;
pub(crate) mod intent;
pub(crate) mod isolated;

use std::{cell::OnceCell, collections::BTreeMap};

use proctor_config::{Origin, QslCounts, Settings};
use proctor_datasets::DataRoot;
use proctor_plugin_api::Options;
use proctor_plugin_host::{Backend, HostServices, LoadedPlugin, Model, Recorder, SearchPath};
use proctor_results::ModelFilePart;
use proctor_words::{CacheFolder, HostError, Observer, UsageError, enter};

use self::fitted_model::FittedModel;
use crate::{
    call_watchdog::Watchdog,
    clock::HostClock,
    files::recording,
    placement::{Placement, devices::Devices},
    plugin::{dispatch::Dispatch, isolated::Isolated},
    sample_library::input_forms::InputForms,
};

/// The plugin of a run, opened.
pub struct Plugin {
    /// Library of the plugin, or the linked-in plugin.
    pub library: LoadedPlugin,
    /// Recorder of the calls, if they are recorded.
    pub recorder: Option<Recorder>,
    /// The opened plugin.
    pub backend: Backend,
    /// The options that it was opened with.
    pub options: Options,
    /// Way in which it is given its work.
    pub dispatch: Dispatch,
    /// The devices that the run uses.
    pub devices: Devices,
    /// The files of the model that it was asked to load.
    pub model_files: OnceCell<Vec<ModelFilePart>>,
    /// Forms of the inputs that it wants, known once a model is requested.
    pub input_forms: OnceCell<InputForms>,
    /// The plugin's own process, if it has one.
    pub isolated: Option<Isolated>,
    /// Folder in which models are searched and made.
    root: DataRoot,
    /// Dropped after the backend, since the plugin may use it to the end.
    _cache: CacheFolder,
}

impl Plugin {
    /// Finds, loads and opens the plugin that the settings name. Its model is looked for in `root`, and made there.
    ///
    /// # Errors
    /// If there is no such plugin, if it cannot meet the settings, or if it does not open.
    pub(crate) fn open(
        settings: &Settings,
        root: &DataRoot,
        clock: &HostClock,
        cache: CacheFolder,
        watchdog: &Watchdog,
        observer: &dyn Observer,
    ) -> Result<Self, HostError> {
        let loading = enter!("load plugin");
        let location = SearchPath::standard(&settings.run.plugin_path).find(&settings.run.plugin)?;
        let recorder = recording::begin(settings)?;
        let isolated = settings.run.isolate.then(|| Isolated::start(settings, &location)).transpose()?;
        let library = match (&isolated, &recorder) {
            (Some(isolated), _) => {
                watchdog.may_end(isolated.clone());
                isolated.load(&location)?
            }
            (None, Some(recorder)) => LoadedPlugin::load_recorded(&location, recorder)?,
            (None, None) => LoadedPlugin::load(&location)?,
        };
        if let Some(recorder) = &recorder {
            recording::name_plugin(recorder, &library);
        }
        drop(loading);
        let _span = enter!("open plugin");
        let manifest = library.manifest();
        let dispatch = Dispatch::choose(settings, manifest)?;
        let given = options_of(settings, &manifest.name)?;
        let options = library.options(&given)?;
        let services = HostServices { now_ns: clock.reader(), cache_folder: cache.of(&manifest.name) };
        if let Some(isolated) = &isolated {
            let files = fitted_model::model_files_for(settings, root, manifest, dispatch, observer)?;
            // The plugin's own defaults give it nothing.
            let set = options.iter().filter(|(name, _)| given.contains_key(*name));
            let set = Options::from_values(set.map(|(name, value)| (name.to_owned(), value.clone())));
            let cache_folder = services.cache_folder.as_deref();
            isolated.restart_within(manifest, &files, &set, cache_folder)?;
            isolated.note_denied_network(manifest, observer);
        }
        let open = || library.open(&options, services);
        let backend = match &isolated {
            Some(isolated) => {
                isolated.open(open).inspect_err(|_| isolated.note_restricted_files(observer))?
            }
            None => open()?,
        };
        let devices = Devices::choose(settings, &manifest.name, &backend)?;
        Ok(Self {
            library,
            recorder,
            backend,
            options,
            dispatch,
            devices,
            model_files: OnceCell::new(),
            input_forms: OnceCell::new(),
            isolated,
            root: root.clone(),
            _cache: cache,
        })
    }

    /// Verifies or makes the files of the benchmark's model and loads it into the plugin with these placements.
    ///
    /// # Errors
    /// If a file is missing, damaged or cannot be made, or the plugin does not take the model.
    pub(crate) fn load_model(
        &self,
        settings: &Settings,
        counts: QslCounts,
        placement: &Placement,
        observer: &dyn Observer,
    ) -> Result<Model, HostError> {
        let _span = enter!("load model");
        let placements = placement.told(settings.run.instances, &self.devices);
        let plugin = (self.library.manifest(), &self.backend);
        let (root, dispatch) = (&self.root, self.dispatch);
        let fitted = FittedModel::new(settings, counts, root, plugin, dispatch, placements, observer)?;
        let FittedModel { demand, files, forms } = fitted;
        self.model_files.get_or_init(|| files);
        self.input_forms.get_or_init(|| forms);
        let loaded = self.backend.load_model(&demand);
        Ok(loaded.inspect_err(|_| {
            self.isolated.iter().for_each(|isolated| isolated.note_restricted_files(observer))
        })?)
    }

    /// Restarts a plugin whose process has ended.
    ///
    /// # Errors
    /// If the other process does not get as far.
    pub(crate) fn refresh(&self) -> Result<(), HostError> {
        let plugin = &self.library.manifest().name;
        self.isolated.as_ref().map_or(Ok(()), |isolated| isolated.refresh(plugin))
    }

    /// Returns the mean time of a bare round trip to the plugin's own process, over this many, in us.
    ///
    /// # Errors
    /// If the plugin has no process, or it has ended.
    pub(crate) fn round_trip_us(&self, count: u32) -> Result<f64, HostError> {
        let none = || UsageError::Stated("the plugin has no process of its own: add --isolate");
        self.isolated.as_ref().ok_or_else(none)?.round_trip_us(count)
    }

    /// Returns the name and version: the name of the system under test in logs. The rules want the words `Network SUT`
    /// in the name of a system that is reached over a network.
    pub(crate) fn title(&self) -> String {
        let manifest = self.library.manifest();
        let network = if manifest.network { " (Network SUT)" } else { "" };
        format!("{} {}{network}", manifest.name, manifest.version)
    }
}

/// Returns the options that are given for this plugin, by their own names.
///
/// A file may hold the options of several plugins. A flag that this plugin does not see is a mistake, and so is the
/// name of a plugin that is missing.
pub fn options_of(settings: &Settings, plugin: &str) -> Result<BTreeMap<String, String>, HostError> {
    let path = SearchPath::standard(&settings.run.plugin_path);
    let mut options = BTreeMap::new();
    for (key, value) in &settings.plugin_options {
        let (owner, option) = key.split_once('.').expect("what has no dot is no option");
        if owner == plugin {
            options.insert(option.to_owned(), value.clone());
            continue;
        }
        let origin = settings.origin(key).cloned().unwrap_or(Origin::Default);
        if !path.has(owner) || matches!(origin, Origin::Flag { .. }) {
            let (origin, key) = (Box::new(origin), key.clone());
            let (owner, plugin) = (owner.to_owned(), plugin.to_owned());
            return Err(UsageError::OptionOfOther { origin, key, owner, plugin }.into());
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use proctor_config::Loader;

    use super::*;

    fn settings(assignments: &[&str]) -> Settings {
        Loader::new().set_all(assignments).load().unwrap()
    }

    #[test]
    fn options_of_another_plugin_are_a_mistake_on_the_command_line() {
        let options = options_of(&settings(&["mock.sigma=2"]), "mock").unwrap();
        assert_eq!(options, BTreeMap::from([("sigma".to_owned(), "2".to_owned())]));
        let error = options_of(&settings(&["mok.sigma=2"]), "mock").unwrap_err().to_string();
        assert!(
            error.contains("flag --set mok.sigma") && error.ends_with("did you mean \"mock\"?"),
            "{error}"
        );
        assert!(options_of(&settings(&["null.threads=2"]), "mock").is_err());
        // A file may serve several plugins.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("proctor.toml");
        let of_file = |plugin: &str| {
            std::fs::write(&path, format!("[{plugin}]\nthreads = 2\n")).unwrap();
            options_of(&Loader::new().config_file(&path).load().unwrap(), "mock")
        };
        assert_eq!(of_file("null").unwrap(), BTreeMap::new());
        // A name with an underscore denotes a file, not a plugin.
        for wrong in ["nul", "host_probe"] {
            let error = of_file(wrong).unwrap_err().to_string();
            assert!(error.contains("proctor.toml") && error.contains(wrong), "{error}");
        }
    }
}
