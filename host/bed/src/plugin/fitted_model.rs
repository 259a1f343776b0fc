//! Fits the model of a benchmark to a plugin's request, and the samples that go with it.

use proctor_config::{Benchmark, ModelFile, QslCounts, Settings};
use proctor_datasets::{DataRoot, OwnMemory, SampleStore};
use proctor_plugin_api::{Manifest, ModelSupport, Placement};
use proctor_plugin_host::{Backend, FileOffer, ModelDemand, choose_row, is_declared};
use proctor_results::ModelFilePart;
use proctor_vocabulary::SampleIndex;
use proctor_words::{HostError, Observer, read_machine};

use crate::{
    files::model_files,
    plugin::{dispatch::Dispatch, intent::intent},
    sample_library::{Data, input_forms::InputForms},
};

/// The model of a benchmark, fitted to a plugin: in a precision that it declares, with the files that it reads, and
/// with the inputs in the forms that it wants.
#[derive(Debug)]
pub struct FittedModel {
    /// The demand to load it with.
    pub demand: ModelDemand,
    pub(crate) files: Vec<ModelFilePart>,
    pub(crate) forms: InputForms,
}

impl FittedModel {
    /// Asks an opened plugin for its forms, and verifies or makes the files, which are searched in `root`.
    /// `counts` are the sizes of the library.
    ///
    /// # Errors
    /// If the plugin does not declare the model, or a file is missing, damaged or cannot be made.
    pub fn new(
        settings: &Settings,
        counts: QslCounts,
        root: &DataRoot,
        plugin: (&Manifest, &Backend),
        dispatch: Dispatch,
        placements: Vec<Placement>,
        observer: &dyn Observer,
    ) -> Result<Self, HostError> {
        let (manifest, backend) = plugin;
        let wish = ModelDemand { placements, ..wish(settings, counts, dispatch) };
        // A file may be large, or may have to be generated first: touch only the files for the chosen
        // precision.
        let precision = choose_row(manifest, &wish, &offers(&settings.benchmark))?.precision.clone();
        let found = find_files(settings, root, manifest, &precision, observer)?;
        let objections = found.iter().filter_map(model_files::objection);
        objections.for_each(|fault| observer.message(&format!("warning: {fault}")));
        let files = found.iter().map(|file| (file.format.clone(), file.path.clone())).collect();
        let demand = ModelDemand { precision: Some(precision), files, ..wish };
        let forms = InputForms::choose(backend, &manifest.name, &demand)?;
        let demand = ModelDemand { inputs: forms.formed().to_vec(), ..demand };
        Ok(Self { demand, files: found, forms })
    }

    /// Reads samples of the benchmark, in the forms that the plugin wants, into memory of the program.
    ///
    /// # Errors
    /// If the data are missing or damaged, or there is no room for them.
    pub fn samples(&self, settings: &Settings, samples: &[SampleIndex]) -> Result<SampleStore, HostError> {
        let root = DataRoot::new(settings.run.data_root.as_deref());
        let data = Data::open(settings, &root, &read_machine(), None)?.in_forms(&self.forms)?;
        data.load(samples, Box::new(OwnMemory)).map_err(HostError::data)
    }
}

/// Returns the manifest row that matches the model of the settings' benchmark.
///
/// # Errors
/// Returns the first part of the demand that the manifest does not declare.
pub fn row_for<'a>(
    settings: &Settings,
    manifest: &'a Manifest,
    dispatch: Dispatch,
) -> Result<&'a ModelSupport, HostError> {
    let (wish, offers) = (wish(settings, settings.benchmark.qsl, dispatch), offers(&settings.benchmark));
    Ok(choose_row(manifest, &wish, &offers)?)
}

/// Returns the files of the model that a plugin will be asked to load, verified or made in `root`.
///
/// # Errors
/// If the plugin does not declare the model, or a file is missing, damaged or cannot be made.
pub(super) fn model_files_for(
    settings: &Settings,
    root: &DataRoot,
    manifest: &Manifest,
    dispatch: Dispatch,
    observer: &dyn Observer,
) -> Result<Vec<ModelFilePart>, HostError> {
    let row = row_for(settings, manifest, dispatch)?;
    find_files(settings, root, manifest, &row.precision, observer)
}

fn find_files(
    settings: &Settings,
    root: &DataRoot,
    manifest: &Manifest,
    precision: &str,
    observer: &dyn Observer,
) -> Result<Vec<ModelFilePart>, HostError> {
    let model = &settings.benchmark.model;
    // A plugin that accepts any file format can do without a file that the user has not given.
    let names = |format: &str| manifest.models.iter().any(|row| row.format == format);
    let is_read = |format: &str| {
        let is_lacking = || {
            let is_given = settings.run.model_file.is_some();
            !is_given && matches!(model.files_for(precision).get(format), Some(ModelFile::Supplied { .. }))
        };
        reads_format(manifest, &model.id, precision, format) && (names(format) || !is_lacking())
    };
    model_files::find(settings, root, precision, observer, is_read)
}

/// Returns the demand, without the parts that need the files and the plugin.
fn wish(settings: &Settings, counts: QslCounts, dispatch: Dispatch) -> ModelDemand {
    let benchmark = &settings.benchmark;
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    ModelDemand {
        model: benchmark.model.id.clone(),
        precision: settings.run.precision.clone(),
        device: settings.run.device.clone(),
        files: Vec::new(),
        inputs: benchmark.inputs.clone(),
        outputs: benchmark.outputs.clone(),
        last_output_varies: benchmark.last_output_varies,
        inputs_vary: benchmark.inputs_vary,
        scenario: settings.run.scenario.loadgen(),
        batch_size_max: number(settings.run.batch_size),
        instance_count: match dispatch {
            Dispatch::Batches => number(settings.run.instances),
            Dispatch::WholeQueries => 0,
        },
        intent: intent(settings, counts, dispatch),
        placements: Vec::new(),
    }
}

/// Returns the available files of a benchmark's model.
fn offers(benchmark: &Benchmark) -> Vec<FileOffer> {
    let offer = |(format, precision): (&str, Option<&str>)| FileOffer {
        format: format.to_owned(),
        precision: precision.map(str::to_owned),
    };
    benchmark.model.formats().map(offer).collect()
}

fn reads_format(manifest: &Manifest, model: &str, precision: &str, format: &str) -> bool {
    let reads = |row: &ModelSupport| {
        row.precision == precision && is_declared(&row.model, model) && is_declared(&row.format, format)
    };
    manifest.models.iter().any(reads)
}
