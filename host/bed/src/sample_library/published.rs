//! Samples of data sets in the layouts that they are published in: the program `host-data` prepares them.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use proctor_accuracy::PublishedSamples;
use proctor_config::{QslCounts, Settings};
use proctor_datasets::{DataRoot, SampleStore, StoreError, is_published};
use proctor_prepared::{Delivery, Input, Order, Reader, Recipe, RowAggregation};
use proctor_vocabulary::{InputForm, SampleIndex, TensorSpec, program};
use proctor_words::{DataError, HostError, UsageError, lasting_folder, text::counted};

use crate::files::dataset_folder::dataset_folder;

/// Program that has the readers of published data sets.
pub(super) const PROGRAM: &str = "host-data";
/// Command that builds it.
pub(super) const BUILD: &str = "cargo build --release -p proctor-data";

/// The samples of a published data set, as they were prepared.
#[derive(Debug)]
pub struct Published {
    program: PathBuf,
    /// Order to the program, without its samples.
    order: Order,
    delivery: Delivery,
    reader: Reader,
}

impl Published {
    /// Opens the data set of a benchmark if it is a published one; otherwise `None`.
    ///
    /// # Errors
    /// If the data set or the program is not there, or does not fit the benchmark.
    pub fn open(settings: &Settings, root: &DataRoot) -> Result<Option<Self>, HostError> {
        let benchmark = &settings.benchmark;
        if !is_published(&benchmark.dataset) {
            let rows = &settings.run.row_aggregation;
            return if *rows == RowAggregation::default() {
                Ok(None)
            } else {
                let (rows, dataset) = (rows.clone(), benchmark.dataset.clone());
                Err(UsageError::NoRows { rows, of: "clicks", dataset }.into())
            };
        }
        let order = Order {
            dataset: benchmark.dataset.clone(),
            folder: dataset_folder(settings, root)?,
            preprocessing: benchmark.preprocessing.clone(),
            rows: settings.run.row_aggregation.clone(),
            inputs: benchmark.inputs.iter().map(|input| Input::new(input, &InputForm::of(input))).collect(),
            caches: lasting_folder(settings),
            samples: Vec::new(),
        };
        let own = program();
        let own = own.map_err(|error| DataError::NoProgram { program: PROGRAM, error })?;
        Self::ordered(own.with_file_name(PROGRAM), order).map(Some)
    }

    fn ordered(program: PathBuf, order: Order) -> Result<Self, HostError> {
        let delivery = place(&program, &order)?;
        let reader = Reader::open(&delivery.folder)?;
        Ok(Self { program, order, delivery, reader })
    }

    /// Returns the same samples in the forms that a plugin has chosen.
    ///
    /// # Errors
    /// If a form cannot be had.
    pub(crate) fn in_forms(self, inputs: &[TensorSpec], forms: &[InputForm]) -> Result<Self, HostError> {
        let inputs: Vec<_> = inputs.iter().zip(forms).map(|(input, form)| Input::new(input, form)).collect();
        if inputs == self.order.inputs {
            return Ok(self);
        }
        let Self { program, order, delivery, .. } = self;
        let order = Order { inputs, ..order };
        let recipe = Recipe { inputs: order.inputs.clone(), ..delivery.recipe.clone() };
        let folder = recipe.folder(&order.caches);
        match Reader::open(&folder) {
            // An earlier run has had them in these forms.
            Ok(reader) if reader.listing().is_ok() => {
                let delivery = Delivery { recipe, folder, ..delivery };
                Ok(Self { program, order, delivery, reader })
            }
            _ => Self::ordered(program, order),
        }
    }

    /// Returns the sizes of the benchmark's library over this data set, which may have fewer samples, such as a
    /// generated one. Adds a warning about that, and about samples that it lists and does not have.
    ///
    /// # Errors
    /// If it has no samples.
    pub fn counts(&self, settings: &mut Settings) -> Result<QslCounts, HostError> {
        let Delivery { sample_count, missing_count, .. } = self.delivery;
        settings.warnings.extend(self.delivery.notes.iter().cloned());
        if missing_count > 0 {
            let folder = self.order.folder.display();
            let text = format!(
                "{missing_count} samples that the lists in {folder} name are not there, and are left out"
            );
            settings.warnings.push(text);
        }
        counts_over(settings, &self.order.folder, sample_count)
    }

    /// Returns the name of the data set.
    pub(crate) fn name(&self) -> &str {
        &self.order.dataset
    }

    /// Returns the number of samples.
    pub fn sample_count(&self) -> u64 {
        self.delivery.sample_count
    }

    /// Returns the folder of the data set.
    pub fn folder(&self) -> &Path {
        &self.order.folder
    }

    /// Returns the number of samples, or of files of samples, that it lists but lacks.
    pub fn missing_count(&self) -> u64 {
        self.delivery.missing_count
    }

    /// Returns the first `sample_count` samples by name, for reading their labels.
    ///
    /// # Errors
    /// If the names cannot be read.
    pub fn named(&self, sample_count: usize) -> Result<PublishedSamples, HostError> {
        let mut names = self.reader.listing()?.names;
        names.truncate(sample_count);
        Ok(PublishedSamples { folder: self.order.folder.clone(), names })
    }

    /// Copies samples into a store, first preparing samples that are missing or damaged. `inputs_vary` says
    /// whether each sample has its own shapes.
    ///
    /// # Errors
    /// If one cannot be prepared, or there is no room for it.
    pub(crate) fn load(
        &self,
        samples: &[SampleIndex],
        inputs_vary: bool,
        store: &mut SampleStore,
    ) -> Result<(), StoreError> {
        let refused = |index| move |source: HostError| StoreError::Fill { index, source: source.into() };
        let mut absent = Vec::new();
        for index in samples {
            if !self.reader.has(*index).map_err(|error| refused(*index)(error.into()))? {
                absent.push(index.0);
            }
        }
        if !absent.is_empty() {
            self.prepare(absent)?;
        }
        let Err(error) = self.copy(samples, inputs_vary, store) else { return Ok(()) };
        // One that cannot be looked at has nothing to do with it, or is as it was the first time.
        let damaged = samples.iter().filter(|index| matches!(self.reader.is_whole(**index), Ok(false)));
        let damaged: Vec<_> = damaged.map(|index| index.0).collect();
        if damaged.is_empty() {
            return Err(error);
        }
        tracing::warn!("{error}; preparing {} again", counted(damaged.len() as u64, "sample"));
        self.prepare(damaged)?;
        self.copy(samples, inputs_vary, store)
    }

    /// Prepares samples that are missing or damaged, through the program `host-data`.
    fn prepare(&self, samples: Vec<u64>) -> Result<(), StoreError> {
        let order = Order { samples, ..self.order.clone() };
        place(&self.program, &order).map_err(|error| StoreError::Prepare(error.into()))?;
        Ok(())
    }

    /// Copies existing samples into a store.
    fn copy(
        &self,
        samples: &[SampleIndex],
        inputs_vary: bool,
        store: &mut SampleStore,
    ) -> Result<(), StoreError> {
        let read = |index, tensors: &mut [&mut [u8]]| self.reader.read(index, tensors);
        if inputs_vary {
            store.load_varying(samples, |index| self.reader.shapes(index), read)
        } else {
            store.load(samples, read)
        }
    }
}

/// Opens the data set of a benchmark if it is a published one. Returns it with the sizes of the library, and adds a
/// warning if they differ from the benchmark's.
///
/// # Errors
/// If the data set or the program is not there, or it has no samples.
pub fn open_counted(settings: &mut Settings) -> Result<(Option<Published>, QslCounts), HostError> {
    let root = DataRoot::new(settings.run.data_root.as_deref());
    let published = Published::open(settings, &root)?;
    let counts = match &published {
        Some(published) => published.counts(settings)?,
        None => settings.benchmark.qsl,
    };
    Ok((published, counts))
}

/// Returns the sizes of the benchmark's library over a folder with this many samples. Adds a warning if the benchmark
/// has another number.
///
/// # Errors
/// If the folder has no samples.
pub fn counts_over(
    settings: &mut Settings,
    folder: &Path,
    sample_count: u64,
) -> Result<QslCounts, HostError> {
    if sample_count == 0 {
        return Err(DataError::NoSamples(folder.to_owned()).into());
    }
    let folder = folder.display();
    let declared = settings.benchmark.qsl;
    let total_sample_count = declared.total_sample_count;
    if sample_count > total_sample_count {
        settings.warnings.push(format!(
            "{folder} has {sample_count} samples, and the benchmark {total_sample_count}: the first are used"
        ));
    }
    if sample_count < total_sample_count {
        settings.warnings.push(format!(
            "{folder} has {sample_count} of the benchmark's {total_sample_count} samples: for comparing runs of \
             your own only"
        ));
    }
    Ok(declared.within(sample_count))
}

/// Runs the program on an order. Its progress and messages go to stderr.
fn place(program: &Path, order: &Order) -> Result<Delivery, HostError> {
    let cannot_start = |error| {
        let (dataset, program) = (order.dataset.clone(), program.to_owned());
        DataError::NotStarted { dataset, program, build: BUILD, error }
    };
    let mut child = Command::new(program)
        .arg("order")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(cannot_start)?;
    let order_text = serde_json::to_string(order).expect("all keys are text");
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ended before it read the order has said why.
        let _ = stdin.write_all(order_text.as_bytes());
    }
    let output = child.wait_with_output().map_err(cannot_start)?;
    if !output.status.success() {
        let (dataset, ended) = (order.dataset.clone(), output.status);
        return Err(DataError::NotPrepared { dataset, program: PROGRAM, ended }.into());
    }
    let delivery = serde_json::from_slice(&output.stdout);
    delivery.map_err(|error| DataError::OtherVersion { program: program.to_owned(), error }.into())
}
