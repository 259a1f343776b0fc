//! The commands of a user, and the one of the host.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use proctor_config::{Benchmark, Loader};
use proctor_datasets::{DataRoot, DatasetEntry, DatasetError, Open, VerifiedFolder, dataset_entries};
use proctor_display::{CountLine, print};
use proctor_prepared::{Input, Order, RowAggregation};
use proctor_published::{Generate, Published};
use proctor_vocabulary::InputForm;
use proctor_words::{CommandError, Conclusion, HostError, UsageError, lasting_folder, text::counted};

use crate::{
    calibration::{Calibrated, CalibrationSource, calibrate},
    catalogue,
    prepare::prepare,
    verify::look,
};

/// Defects that are listed one by one.
const LISTED: usize = 20;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show which files a data set needs, where to get them, and what is present.
    #[command(after_help = INFO_HELP)]
    Info {
        /// Name of a benchmark or a data set [default: all data sets]
        name: Option<String>,
        #[command(flatten)]
        place: Place,
    },
    /// Check every file of a data set and list what is missing or damaged.
    #[command(after_help = VERIFY_HELP)]
    Verify {
        /// Name of a benchmark or a data set.
        name: String,
        #[command(flatten)]
        place: Place,
    },
    /// Generate a small data set in the published layout, to try a benchmark without the real one.
    #[command(after_help = GENERATE_HELP)]
    Generate {
        /// Name of a benchmark or a data set.
        name: String,
        /// Folder to create; it must be empty or not exist.
        #[arg(long, value_name = "FOLDER")]
        out: PathBuf,
        /// Number of samples.
        #[arg(long, value_name = "COUNT", default_value_t = 64)]
        samples: u64,
        /// Seed for the samples.
        #[arg(long, value_name = "NUMBER", default_value_t = 1)]
        seed: u64,
    },
    /// Prepare the samples of a benchmark ahead of the first run that needs them.
    #[command(after_help = PREPARE_HELP)]
    Prepare {
        /// Name of a benchmark, or path to its definition.
        benchmark: String,
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        which: Which,
    },
    /// Prepare the samples that the order on stdin lists, for a run.
    #[command(hide = true)]
    Order,
}

/// Samples to prepare; all by default.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// Prepare only this many samples, from the first.
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["performance", "calibration"])]
    samples: Option<u64>,
    /// Prepare only the samples of the performance set.
    #[arg(long, conflicts_with = "calibration")]
    performance: bool,
    /// Prepare the samples of this list, as arrays for quantising a model.
    #[arg(long, value_name = "LIST", requires = "out")]
    calibration: Option<PathBuf>,
    /// Folder of the files in the list, if they are not part of the data set.
    #[arg(long, value_name = "FOLDER", requires = "calibration")]
    files: Option<PathBuf>,
    /// Folder to create for the arrays; it must be empty or not exist.
    #[arg(long, value_name = "FOLDER", requires = "calibration")]
    out: Option<PathBuf>,
}

/// Place of a data set.
#[derive(Debug, Args)]
pub(crate) struct Place {
    /// Folder of the data set [default: the folder with its name in the data root]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Folder with the data sets and models.
    #[arg(long, value_name = "FOLDER", conflicts_with = "folder")]
    data_root: Option<PathBuf>,
}

impl Place {
    /// Returns whether the user names its location.
    fn is_named(&self) -> bool {
        self.folder.is_some() || self.data_root.is_some()
    }

    fn of(&self, published: &Published) -> Result<PathBuf, HostError> {
        self.below(published.name, published.name)
    }

    /// Returns the folder of a data set, which has this name below a data root.
    fn below(&self, dataset: &'static str, name: &str) -> Result<PathBuf, HostError> {
        let root = DataRoot::new(self.data_root.as_deref());
        catalogue::folder(dataset, self.folder.as_deref(), &root, name)
    }
}

impl Command {
    /// Runs the command.
    ///
    /// # Errors
    /// If the data set is not known, not there or damaged, or something cannot be written.
    pub(crate) fn run(&self) -> Result<Conclusion, HostError> {
        match self {
            Self::Info { name, place } => {
                let entries = match name {
                    Some(name) => vec![data_set(name)?],
                    None => dataset_entries(),
                };
                let texts = entries.into_iter().map(|entry| info(entry, place));
                print(texts.collect::<Result<Vec<_>, _>>()?.join("\n"));
            }
            Self::Verify { name, place } => return verify(data_set(name)?, place),
            Self::Generate { name, out, samples, seed } => {
                let published = catalogue::find(data_set(name)?.name)?;
                print(generate(published, out, &Generate { seed: *seed, sample_count: *samples })?);
            }
            Self::Prepare { benchmark, place, which } => {
                let benchmark = definition(benchmark)?;
                print(match &which.calibration {
                    Some(list) => prepare_calibration(&benchmark, place, which, list)?,
                    None => prepare_samples(&benchmark, place, which)?,
                });
            }
            Self::Order => print(execute_order()?),
        }
        Ok(Conclusion::Good)
    }
}

/// Returns the data set of this name, or of the benchmark of this name.
fn data_set(name: &str) -> Result<&'static DatasetEntry, HostError> {
    catalogue::entry(name).or_else(|unknown| match definition(name) {
        Ok(benchmark) => catalogue::entry(&benchmark.dataset),
        Err(_) => Err(unknown),
    })
}

/// Returns the definition of a benchmark, from its name or path.
fn definition(name: &str) -> Result<Benchmark, HostError> {
    Ok(Benchmark::find(name)?)
}

fn info(entry: &DatasetEntry, place: &Place) -> Result<String, HostError> {
    let (layout, there) = match entry.open {
        Open::Published => {
            let published = catalogue::find(entry.name)?;
            let lists = published.calibration.lists;
            let layout = (published.layout)().trim_end();
            let layout = format!("{layout}\n\nFor calibration MLPerf Inference lists {lists}.");
            (layout, Some(there(published, place)))
        }
        Open::Bundled { folder, layout, open } => {
            let there = place.below(entry.name, folder).and_then(|folder| {
                let count = open(&VerifiedFolder::open(&folder)?)?.sample_count();
                Ok(format!("{}: {count} samples", folder.display()))
            });
            (layout.trim_end().to_owned(), Some(there))
        }
        Open::Made { layout, .. } => (layout.trim_end().to_owned(), None),
    };
    let unusable = |error: HostError| format!("not usable: {}", error.messages().join(": "));
    let there = there.map(|there| format!("\n{}\n", there.unwrap_or_else(unusable))).unwrap_or_default();
    Ok(format!("{}\n{layout}\n{there}", entry.name))
}

/// Returns how many samples the folder of a published data set has.
fn there(published: &Published, place: &Place) -> Result<String, HostError> {
    let folder = place.of(published)?;
    let opened = catalogue::try_open(published, &folder, &RowAggregation::default())?;
    let (count, missing) = (opened.dataset.sample_count(), opened.missing_count);
    let note = (published.note)(&folder).map(|note| format!("\n{note}")).unwrap_or_default();
    Ok(format!("{}: {count} samples, {missing} more are listed and not there{note}", folder.display()))
}

fn verify(entry: &DatasetEntry, place: &Place) -> Result<Conclusion, HostError> {
    let mut line = CountLine::new("looking at", "files");
    let mut show = |done, total| line.show(done, total);
    let (folder, defects): (_, Vec<String>) = match entry.open {
        Open::Published => {
            let published = catalogue::find(entry.name)?;
            let folder = place.of(published)?;
            let defects = look(published, &folder, &mut show)?;
            (folder, defects.iter().map(ToString::to_string).collect())
        }
        Open::Bundled { folder, .. } => {
            let folder = place.below(entry.name, folder)?;
            let defects = damaged(&folder, &mut show);
            (folder, defects.into_iter().map(|error| HostError::from(error).messages().join(": ")).collect())
        }
        Open::Made { .. } => {
            let name = entry.name;
            print(format!("{name}: each run makes its samples, and there is no folder to verify\n"));
            return Ok(Conclusion::Good);
        }
    };
    Ok(print_defects(entry.name, &folder, &defects))
}

/// Reads every listed file of a folder, and returns what is wrong with each, or with the list.
fn damaged(folder: &Path, show: &mut dyn FnMut(u64, u64)) -> Vec<DatasetError> {
    let verified = match VerifiedFolder::open(folder) {
        Ok(verified) => verified,
        Err(error) => return vec![error],
    };
    let total = verified.files().len() as u64;
    let mut errors = Vec::new();
    for (done, file) in (1..).zip(verified.files()) {
        errors.extend(verified.read(file).err());
        show(done, total);
    }
    errors
}

/// Prints the first of these defects, a line for each, and their number.
fn print_defects(dataset: &str, folder: &Path, defects: &[String]) -> Conclusion {
    if defects.is_empty() {
        print(format!("{}: nothing is missing or damaged\n", folder.display()));
        return Conclusion::Good;
    }
    let listed = defects.iter().take(LISTED).map(|defect| format!("{defect}\n")).collect::<String>();
    let more = match defects.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!("and {more} more\n"),
    };
    print(format!(
        "{listed}{more}{}: {}\n`host data info {dataset}` says where the files come from\n",
        folder.display(),
        counted(defects.len() as u64, "defect"),
    ));
    Conclusion::Bad
}

fn generate(published: &Published, out: &Path, request: &Generate) -> Result<String, HostError> {
    check_free(out)?;
    (published.generate)(out, request)?;
    Ok(format!(
        "{}: {} samples of seed {} in the layout of {}\n",
        out.display(),
        request.sample_count,
        request.seed,
        published.name
    ))
}

/// Refuses a folder that is not empty.
fn check_free(out: &Path) -> Result<(), HostError> {
    let is_free = fs::read_dir(out)
        .map_or_else(|error| error.kind() == io::ErrorKind::NotFound, |mut it| it.next().is_none());
    if is_free {
        return Ok(());
    }
    Err(CommandError::OutTaken(out.to_owned()).into())
}

/// Prepares missing samples for runs.
fn prepare_samples(benchmark: &Benchmark, place: &Place, which: &Which) -> Result<String, HostError> {
    let published = catalogue::find(&benchmark.dataset)?;
    let folder = place.of(published)?;
    let settings = Loader::from_system().load()?;
    let count = catalogue::open(published, &folder, &settings.run.row_aggregation)?.dataset.sample_count();
    // LoadGen loads the first samples of the library for performance, in any order.
    let performance = which.performance.then_some(benchmark.qsl.performance_sample_count);
    let wanted = performance.or(which.samples).unwrap_or(count).min(count);
    let order = Order {
        dataset: benchmark.dataset.clone(),
        folder,
        preprocessing: benchmark.preprocessing.clone(),
        rows: settings.run.row_aggregation.clone(),
        inputs: benchmark.inputs.iter().map(|input| Input::new(input, &InputForm::of(input))).collect(),
        caches: lasting_folder(&settings),
        samples: (0..wanted).collect(),
    };
    let delivery = prepare(&order, &mut shown())?;
    let notes: String = delivery.notes.iter().map(|note| format!("{note}\n")).collect();
    Ok(format!(
        "{}: {} of {} samples\n{notes}",
        delivery.folder.display(),
        order.samples.len(),
        delivery.sample_count
    ))
}

/// Prepares the samples of a list as arrays, and says how many of them accuracy is measured on.
fn prepare_calibration(
    benchmark: &Benchmark,
    place: &Place,
    which: &Which,
    list: &Path,
) -> Result<String, HostError> {
    let published = catalogue::find(&benchmark.dataset)?;
    let out = which.out.as_deref().ok_or(UsageError::Stated("--calibration needs --out"))?;
    check_free(out)?;
    let data_set = place.of(published);
    let source = match &which.files {
        Some(_) if !published.calibration.is_of_files => {
            return Err(CommandError::NotOfFiles(published.name).into());
        }
        // A folder that the user names must exist, for any use.
        Some(files) if place.is_named() => CalibrationSource::Files { files, data_set: Some(data_set?) },
        Some(files) => CalibrationSource::Files { files, data_set: data_set.ok() },
        None => CalibrationSource::DataSet(data_set?),
    };
    let Calibrated { sample_count, shared_count } =
        calibrate(benchmark, published, &source, list, out, &mut shown())?;
    let shared = match shared_count {
        Some(0) => "none of them is a sample that accuracy is measured on".to_owned(),
        Some(count) => format!(
            "{count} of them are samples that accuracy is measured on: let them be those that the round's list has"
        ),
        None => format!(
            "the data set {} is not there, so that nothing is known of samples in both",
            published.name
        ),
    };
    Ok(format!("{}: {sample_count} samples for calibration; {shared}\n", out.display()))
}

/// Reads an order from stdin, executes it, and answers with a line.
fn execute_order() -> Result<String, HostError> {
    let mut text = String::new();
    let read = io::stdin().read_to_string(&mut text);
    read.map_err(CommandError::OrderUnread)?;
    let order = serde_json::from_str(&text);
    let order = order.map_err(CommandError::NoOrder)?;
    let delivery = prepare(&order, &mut shown())?;
    Ok(serde_json::to_string(&delivery).expect("all keys are text") + "\n")
}

/// Shows on stderr how many samples are prepared.
fn shown() -> impl FnMut(usize, usize) {
    let mut line = CountLine::new("preparing", "samples");
    move |done, total| line.show(done as u64, total as u64)
}

const INFO_HELP: &str = "\
Examples:
  host data info
  host data info digits
  host data info resnet50 --folder /data/imagenet";

const VERIFY_HELP: &str = "\
Examples:
  host data verify imagenet --folder /data/imagenet
  host data verify resnet50

Exit code 1 if something is missing or damaged.";

const GENERATE_HELP: &str = "\
Examples:
  host data generate imagenet --out /tmp/imagenet
  host data generate resnet50 --out /tmp/imagenet --samples 500 --seed 7

The same seed gives the same files. The labels match the generated content.";

const PREPARE_HELP: &str = "\
Examples:
  host data prepare resnet50 --folder /data/imagenet
  host data prepare resnet50 --folder /data/imagenet --performance
  host data prepare resnet50 --folder /data/imagenet \\
      --calibration cal_image_list_option_1.txt --out calibration
  host data prepare ssd-resnet34 --folder /data/coco --files /data/train2017 \\
      --calibration coco_cal_images_list.txt --out calibration

Samples go into prepared/ in cache_folder and stay until you delete it. For a plugin
that wants its inputs in a different layout than the benchmark's, the first run
prepares them again.

Calibration samples go into --out: INPUT.npy for each input with all samples in the
order of the list (INPUT-00000.npy and so on if their shapes differ), and an index,
calibration.json. `host data info` shows which calibration lists exist.";
