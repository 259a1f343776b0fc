//! `host data quantise`: a model in 8-bit integers, and the document on how its ranges were found.

mod document;
mod engine;
mod samples;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::Args;
use proctor_config::{Benchmark, Loader, ModelFile, Settings};
use proctor_datasets::{DataRoot, read_verified, sha256_hex};
use proctor_display::{FileLine, print};
use proctor_quantise::{Plan, Quantised, WeightSteps};
use proctor_recipes::{check_format, find_or_make_model};
use proctor_words::{CommandError, DataError, HostError, lasting_folder, text::counted, write_whole};

use self::{document::Document, engine::Observed, samples::CalibrationSamples};
use crate::place::Place;

/// Precision of the files that are made, as runs call it.
const PRECISION: &str = "int8";

/// The flags of `host data quantise`.
#[derive(Debug, Args)]
pub(crate) struct QuantiseFlags {
    /// ONNX file in f32, with --benchmark; or name of a benchmark, for its own file.
    model: String,
    /// Benchmark that the file is for: its data set and preprocessing make the samples.
    #[arg(long, value_name = "NAME")]
    benchmark: Option<String>,
    /// List of samples, or folder of files, to find the ranges with [default: the part of the data set for it]
    #[arg(long, value_name = "LIST|FOLDER")]
    calibration: Option<PathBuf>,
    /// Folder of the files in the list, if they are not part of the data set.
    #[arg(long, value_name = "FOLDER", requires = "calibration")]
    files: Option<PathBuf>,
    /// Use only this many samples, from the first.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    samples: Option<u64>,
    /// Round weights to 127 steps instead of 64, for processors and engines that add products of bytes in 32 bits.
    #[arg(long)]
    full_range: bool,
    /// File to write; it must not exist.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Set a setting, or an option of the plugin onnx, which runs the model.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    place: Place,
}

/// A model to quantise.
struct Model {
    benchmark: Benchmark,
    path: PathBuf,
    bytes: Vec<u8>,
}

impl QuantiseFlags {
    /// Does the work, and says what was done.
    ///
    /// # Errors
    /// If the model cannot be in integers, the samples are not there, the plugin does not run, or nothing can be
    /// written.
    pub(crate) fn run(&self) -> Result<(), HostError> {
        let document_path = self.out.with_extension("calibration.md");
        for path in [&self.out, &document_path] {
            if path.symlink_metadata().is_ok() {
                return Err(CommandError::FileTaken(path.clone()).into());
            }
        }
        let settings = Loader::from_system().set_all(&self.set).load()?;
        let root = self.place.root(settings.run.data_root.as_deref());
        let Model { benchmark, path, bytes } = self.model(&root, &settings)?;
        let model_sha256 = sha256_hex(&bytes);
        let plan = Plan::new(&path, bytes).map_err(HostError::data)?;
        let steps = if self.full_range { WeightSteps::All } else { WeightSteps::Safe };
        let samples = CalibrationSamples::open(self, &benchmark, &root)?;
        let Observed { ranges, engine } = engine::observe(&plan, &path, &benchmark, &settings, &samples)?;
        let quantised = plan.quantise(&ranges, steps).map_err(HostError::data)?;
        let document = Document {
            benchmark: &benchmark,
            model: &name_of(&path),
            model_sha256: &model_sha256,
            made: &name_of(&self.out),
            plan: &plan,
            quantised: &quantised,
            samples: &samples,
            engine: &engine,
            steps,
        };
        write(&self.out, &quantised.bytes)?;
        // Both or none.
        write(&document_path, document.text().as_bytes()).inspect_err(|_| _ = fs::remove_file(&self.out))?;
        print(self.told(&benchmark, &plan, &quantised, &samples, &document_path));
        Ok(())
    }

    /// Finds the model and its benchmark.
    fn model(&self, root: &DataRoot, settings: &Settings) -> Result<Model, HostError> {
        let path = Path::new(&self.model);
        let Some(name) = &self.benchmark else {
            if path.is_file() && !self.model.ends_with(".toml") {
                return Err(CommandError::ModelOfNoBenchmark(path.to_owned()).into());
            }
            return own_model(Benchmark::find(&self.model)?, root, settings);
        };
        let benchmark = Benchmark::find(name)?;
        let bytes = read(path)?;
        Ok(Model { benchmark, path: path.to_owned(), bytes })
    }

    fn told(
        &self,
        benchmark: &Benchmark,
        plan: &Plan,
        quantised: &Quantised,
        samples: &CalibrationSamples,
        document: &Path,
    ) -> String {
        let integers = plan.integers();
        let count = integers.values().sum::<usize>();
        let list: Vec<_> = integers.iter().map(|(operator, count)| format!("{count} {operator}")).collect();
        let mut text = format!(
            "{}: {} in integers ({}), {} bytes\n",
            self.out.display(),
            counted(count as u64, "operation"),
            list.join(", "),
            quantised.bytes.len(),
        );
        for kept in plan.kept() {
            text += &format!("stays float: {} {}, which {}\n", kept.count, kept.operator, kept.why);
        }
        text += &format!(
            "{}: ranges of {} on {}; {}\n",
            document.display(),
            counted(quantised.tensors.len() as u64, "tensor"),
            counted(samples.indices.len() as u64, "sample"),
            samples.shared_in_words(),
        );
        let id = &benchmark.id;
        let out = self.out.display();
        text + &format!(
            "to see what is left of its accuracy: host run --plugin onnx --benchmark {id} --mode accuracy \
                 --precision {PRECISION} --model-file {out}\n"
        )
    }
}

/// Finds the file that a benchmark itself names, or makes it by its recipe.
fn own_model(benchmark: Benchmark, root: &DataRoot, settings: &Settings) -> Result<Model, HostError> {
    let (path, bytes) = match benchmark.model.files.get("onnx") {
        Some(ModelFile::Published { path, sha256 }) => {
            let path = root.find(&path.to_string_lossy())?;
            let bytes = read_verified(&path, sha256, &benchmark.file.display().to_string())?;
            (path, bytes)
        }
        Some(ModelFile::Generated { recipe }) => {
            check_format(recipe, "onnx")?;
            let mut line = FileLine::default();
            let mut show = |path: &Path, done| line.show(path, done);
            let made = find_or_make_model(recipe, root, &lasting_folder(settings), &mut show)?;
            let path = made.file("onnx").expect("the format was checked").path.clone();
            let bytes = read(&path)?;
            (path, bytes)
        }
        _ => return Err(CommandError::NoOwnModel(benchmark.id).into()),
    };
    Ok(Model { benchmark, path, bytes })
}

fn read(path: &Path) -> Result<Vec<u8>, HostError> {
    fs::read(path).map_err(|error| DataError::CannotRead { path: path.to_owned(), error }.into())
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), HostError> {
    write_whole(path, |out| io::Write::write_all(out, bytes))
}

/// Returns the option of the plugin onnx of this name, from wherever it was set.
fn option_of_engine<'a>(settings: &'a Settings, name: &str) -> Option<&'a String> {
    settings.plugin_options.get(&format!("{}.{name}", engine::PLUGIN))
}

pub(crate) const QUANTISE_HELP: &str = "\
Examples:
  host data quantise digits-cnn --out digits-int8.onnx
  host data quantise mine.onnx --benchmark digits-cnn --out mine-int8.onnx
  host data quantise resnet50.onnx --benchmark resnet50 --folder /data/imagenet \\
      --calibration cal_image_list_option_1.txt --out resnet50-int8.onnx
  host data quantise ssd.onnx --benchmark ssd-resnet34 --folder /data/coco \\
      --files /data/train2017 --calibration coco_cal_images_list.txt --out ssd-int8.onnx

The ranges of the tensors are measured on the samples, by the plugin onnx. Weights are
rounded for each output channel. Operations that have no form in integers stay float,
and are listed. Beside FILE.onnx, FILE.calibration.md says how it was made, as a
submission has to. The same model and samples give the same bytes.";
