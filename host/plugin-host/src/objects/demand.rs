//! Matches the model that the host wants loaded against the plugin's declarations.

use std::{collections::BTreeSet, path::PathBuf};

use proctor_plugin_api::{
    Manifest, ModelSupport, Placement,
    vocabulary::{Intent, Scenario, TensorSpec},
};

use crate::error::PluginHostError;

/// Model to load, and its intended use.
#[derive(Debug, Clone)]
pub struct ModelDemand {
    /// Model id, such as `digits-lstm`.
    pub model: String,
    /// Precision to compute in; `None` leaves it to the order of the plugin's list.
    pub precision: Option<String>,
    /// Kind of device; `None` leaves it to the order of the plugin's list.
    pub device: Option<String>,
    /// Format and path of each file of the model. Files that the plugin does not read are not passed on.
    pub files: Vec<(String, PathBuf)>,
    /// Tensors of one sample that go in.
    pub inputs: Vec<TensorSpec>,
    /// Output tensors of one sample.
    pub outputs: Vec<TensorSpec>,
    /// True if the last output may have fewer elements than its shape, such as the tokens of an answer.
    pub last_output_varies: bool,
    /// True if inputs of a sample may be smaller than their shapes.
    pub inputs_vary: bool,
    /// Arrival of queries.
    pub scenario: Scenario,
    /// Maximum batch size in samples; at least 1.
    pub batch_size_max: u32,
    /// Number of instances; 0 for a model that is given whole queries.
    pub instance_count: u32,
    /// The expected load of the run, as far as it is known.
    pub intent: Intent,
    /// Processors and device of each instance, or of each copy of a plugin that is given whole queries; an
    /// instance without processors may run anywhere.
    pub placements: Vec<Placement>,
}

/// The row of the manifest that meets a demand.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Match {
    pub(crate) precision: String,
    pub(crate) device: String,
    /// Format and path of the files that the plugin reads of this model, computed so.
    pub(crate) files: Vec<(String, PathBuf)>,
}

/// A file of a model in one format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileOffer {
    /// Format, such as `onnx`.
    pub format: String,
    /// The precision for which it is intended; `None` if it serves any.
    pub precision: Option<String>,
}

/// Returns the first row of the manifest that meets the demand with one of these files on offer, for its precision. The
/// files of the demand do not matter.
///
/// It lets a host find out which files are wanted before it fetches any. With them and the row's precision in the
/// demand, the row that is matched then is this one.
///
/// # Errors
/// Works as [`Backend::load_model`](crate::Backend::load_model), for everything that is known without the files.
pub fn choose_row<'a>(
    manifest: &'a Manifest,
    demand: &ModelDemand,
    offers: &[FileOffer],
) -> Result<&'a ModelSupport, PluginHostError> {
    check_sense(manifest, demand)?;
    first_row(manifest, demand, offers)
}

/// Returns the error of a plugin whose manifest has `declared` instead of the requested value.
pub(super) fn not_declared(plugin: &str, wanted: &str, declared: &str) -> PluginHostError {
    PluginHostError::Demand(format!("plugin {plugin} does not declare {wanted}; it declares {declared}"))
}

pub(super) fn bad_demand(plugin: &str, what: &str) -> PluginHostError {
    PluginHostError::Demand(format!("cannot ask plugin {plugin} for that: {what}"))
}

/// Finds the first row of the manifest that meets the demand.
///
/// # Errors
/// [`PluginHostError::Demand`] for the first of model, format, precision, device, scenario and batch size
/// that no row declares together with the previous ones, and for a demand without sense.
pub(crate) fn match_demand(manifest: &Manifest, demand: &ModelDemand) -> Result<Match, PluginHostError> {
    check_sense(manifest, demand)?;
    let offer = |(format, _): &(String, PathBuf)| FileOffer { format: format.clone(), precision: None };
    let offers: Vec<_> = demand.files.iter().map(offer).collect();
    let row = first_row(manifest, demand, &offers)?;
    // A model may need files of several formats, such as weights and a vocabulary.
    let is_alike = |other: &&ModelSupport| {
        is_declared(&other.model, &demand.model)
            && (&other.precision, &other.device) == (&row.precision, &row.device)
            && other.scenarios.contains(&demand.scenario)
            && takes(other, demand.batch_size_max)
            && (other.dynamic_shapes || !demand.inputs_vary)
    };
    let alike: Vec<_> = manifest.models.iter().filter(is_alike).collect();
    let is_read = |(format, _): &&(String, PathBuf)| alike.iter().any(|it| is_declared(&it.format, format));
    Ok(Match {
        precision: row.precision.clone(),
        device: row.device.clone(),
        files: demand.files.iter().filter(is_read).cloned().collect(),
    })
}

/// Returns the first row of the manifest that meets the demand with one of the files on offer.
fn first_row<'a>(
    manifest: &'a Manifest,
    demand: &ModelDemand,
    offers: &[FileOffer],
) -> Result<&'a ModelSupport, PluginHostError> {
    let mut rows: Vec<&ModelSupport> = manifest.models.iter().collect();
    let mut narrow = |what: &'static str,
                      wanted: String,
                      meets: &dyn Fn(&ModelSupport) -> bool,
                      say: &dyn Fn(&ModelSupport) -> Vec<String>| {
        let declared: BTreeSet<String> = rows.iter().flat_map(|row| say(row)).collect();
        rows.retain(|row| meets(row));
        if !rows.is_empty() {
            return Ok(());
        }
        let declared = declared.into_iter().collect::<Vec<_>>().join(", ");
        Err(not_declared(&manifest.name, &format!("{what} {wanted}"), &declared))
    };
    narrow("model", demand.model.clone(), &|row| is_declared(&row.model, &demand.model), &|row| {
        vec![row.model.clone()]
    })?;
    narrow("file format", formats_in_words(offers), &|row| reads(row, offers), &|row| {
        let is_offered = offers.iter().any(|offer| offer.format == row.format);
        let precision = if is_offered { format!(" for {}", row.precision) } else { String::new() };
        vec![format!("{}{precision}", row.format)]
    })?;
    if let Some(precision) = &demand.precision {
        narrow("precision", precision.clone(), &|row| row.precision == *precision, &|row| {
            vec![row.precision.clone()]
        })?;
    }
    if let Some(device) = &demand.device {
        narrow("device", device.clone(), &|row| row.device == *device, &|row| vec![row.device.clone()])?;
    }
    if demand.inputs_vary {
        narrow("samples of", "different shapes".to_owned(), &|row| row.dynamic_shapes, &|_| {
            vec!["samples of one shape".to_owned()]
        })?;
    }
    narrow(
        "scenario",
        demand.scenario.to_string(),
        &|row| row.scenarios.contains(&demand.scenario),
        &|row| row.scenarios.iter().map(Scenario::to_string).collect(),
    )?;
    narrow(
        "a batch size of",
        demand.batch_size_max.to_string(),
        &|row| takes(row, demand.batch_size_max),
        &|row| vec![format!("at most {0}: set batch_size to {0} or less", row.batch_size_max)],
    )?;
    Ok(rows.first().expect("the last narrowing left at least one row"))
}

fn takes(row: &ModelSupport, batch_size_max: u32) -> bool {
    row.batch_size_max == 0 || row.batch_size_max >= batch_size_max
}

/// Returns whether a declared id or format is the wanted one: the same, or its beginning with `*` for the rest.
#[must_use]
pub fn is_declared(declared: &str, wanted: &str) -> bool {
    declared == wanted || declared.strip_suffix('*').is_some_and(|beginning| wanted.starts_with(beginning))
}

/// Returns whether there is a file that the row reads in the precision that it computes in.
fn reads(row: &ModelSupport, offers: &[FileOffer]) -> bool {
    let is_for_it = |offer: &FileOffer| offer.precision.as_ref().is_none_or(|own| *own == row.precision);
    row.format == "none"
        || row.format == "*"
        || offers.iter().any(|offer| offer.format == row.format && is_for_it(offer))
}

/// Lists the formats on offer, with the precision of formats that are for one alone.
fn formats_in_words(offers: &[FileOffer]) -> String {
    let for_any = |format: &str| offers.iter().any(|it| it.format == format && it.precision.is_none());
    let words = offers.iter().filter_map(|FileOffer { format, precision }| match precision {
        None => Some(format.clone()),
        Some(precision) => (!for_any(format)).then(|| format!("{format} for {precision}")),
    });
    let words: Vec<_> = words.collect();
    if words.is_empty() { "none".to_owned() } else { words.join(" or ") }
}

fn check_sense(manifest: &Manifest, demand: &ModelDemand) -> Result<(), PluginHostError> {
    let what = if demand.batch_size_max == 0 {
        "the largest batch has no samples".to_owned()
    } else if demand.instance_count == 0 && !manifest.issue {
        "there is no instance".to_owned()
    } else if demand.outputs.is_empty() {
        "the model has no outputs".to_owned()
    } else if let Some((_, path)) = demand.files.iter().find(|(_, path)| path.to_str().is_none()) {
        format!("the path {} is not UTF-8", path.display())
    } else {
        return Ok(());
    };
    Err(bad_demand(&manifest.name, &what))
}

#[cfg(test)]
mod tests {
    use proctor_plugin_api::vocabulary::ElementType;

    use super::*;

    fn manifest() -> Manifest {
        let support = |model: &str, format: &str| ModelSupport::new(model, format);
        Manifest::new("p", "1", "")
            .model(ModelSupport {
                precision: "int8".into(),
                batch_size_max: 4,
                ..support("digits-cnn", "onnx")
            })
            .model(ModelSupport {
                scenarios: vec![Scenario::Offline],
                device: "cuda".into(),
                ..support("*", "safetensors")
            })
    }

    fn demand(model: &str, format: &str) -> ModelDemand {
        let output = TensorSpec { name: "logits".into(), element_type: ElementType::F32, shape: vec![10] };
        ModelDemand {
            model: model.into(),
            precision: None,
            device: None,
            files: vec![(format.into(), "/m".into()), ("other".into(), "/o".into())],
            inputs: vec![output.clone()],
            outputs: vec![output],
            last_output_varies: false,
            inputs_vary: false,
            scenario: Scenario::Offline,
            batch_size_max: 1,
            instance_count: 1,
            intent: Intent::default(),
            placements: Vec::new(),
        }
    }

    fn refusal(demand: &ModelDemand) -> String {
        match_demand(&manifest(), demand).unwrap_err().to_string()
    }

    #[test]
    fn the_first_row_that_fits_is_taken_with_the_files_that_it_reads() {
        let found = match_demand(&manifest(), &demand("digits-cnn", "onnx")).unwrap();
        let files = vec![("onnx".to_owned(), PathBuf::from("/m"))];
        assert_eq!(found, Match { precision: "int8".into(), device: "cpu".into(), files });
        let found = match_demand(&manifest(), &demand("digits-lstm", "safetensors")).unwrap();
        assert_eq!((found.precision.as_str(), found.device.as_str()), ("f32", "cuda"));
    }

    #[test]
    fn every_file_that_the_plugin_reads_of_a_model_is_passed_on() {
        let row = |model: &str, format: &str, precision: &str| ModelSupport {
            precision: precision.into(),
            ..ModelSupport::new(model, format)
        };
        let manifest =
            [("a", "safetensors", "f32"), ("a", "other", "f32"), ("b", "more", "f32"), ("a", "more", "f16")]
                .into_iter()
                .fold(Manifest::new("p", "1", ""), |it, (model, format, precision)| {
                    it.model(row(model, format, precision))
                });
        let mut demand = demand("a", "safetensors");
        let more = ("more".to_owned(), PathBuf::from("/n"));
        let given = demand.files.clone();
        demand.files.push(more);
        let found = match_demand(&manifest, &demand).unwrap();
        assert_eq!((found.precision.as_str(), found.files), ("f32", given));
    }

    #[test]
    fn a_star_stands_for_the_rest_of_an_id() {
        let family = Manifest::new("p", "1", "").model(ModelSupport::new("rnn-*", "safetensors"));
        let found = |model| match_demand(&family, &demand(model, "safetensors"));
        assert!(found("rnn-lstm-64-64-1-100").is_ok());
        assert_eq!(
            found("gnmt").unwrap_err().to_string(),
            "plugin p does not declare model gnmt; it declares rnn-*"
        );
    }

    fn offer(format: &str, precision: Option<&str>) -> FileOffer {
        FileOffer { format: format.into(), precision: precision.map(str::to_owned) }
    }

    /// A plugin that reads a file of its own for each precision.
    fn by_precision() -> Manifest {
        let row =
            |precision: &str| ModelSupport { precision: precision.into(), ..ModelSupport::new("*", "onnx") };
        ["f32", "f16", "int8"]
            .iter()
            .fold(Manifest::new("p", "1", ""), |it, precision| it.model(row(precision)))
    }

    #[test]
    fn a_file_for_a_precision_serves_the_rows_of_that_precision() {
        let chosen = |precision: Option<&str>, offers: &[FileOffer]| {
            let demand = ModelDemand {
                precision: precision.map(str::to_owned),
                files: Vec::new(),
                ..demand("digits-cnn", "onnx")
            };
            let manifest = by_precision();
            let row = choose_row(&manifest, &demand, offers).map_err(|error| error.to_string());
            row.map(|row| row.precision.clone())
        };
        let both = [offer("onnx", None), offer("onnx", Some("int8"))];
        assert_eq!(
            chosen(None, &both).as_deref(),
            Ok("f32"),
            "the plugin's order decides, as without such files"
        );
        assert_eq!(chosen(Some("int8"), &both).as_deref(), Ok("int8"));
        assert_eq!(
            chosen(Some("f16"), &both).as_deref(),
            Ok("f16"),
            "the file for any precision serves the rest"
        );
        let one = [offer("safetensors", None), offer("onnx", Some("int8"))];
        assert_eq!(chosen(None, &one).as_deref(), Ok("int8"), "there is no other file that the plugin reads");
        assert_eq!(
            chosen(Some("f32"), &one).unwrap_err(),
            "plugin p does not declare precision f32; it declares int8"
        );
        let other = [offer("safetensors", None), offer("onnx", Some("fp8"))];
        assert_eq!(
            chosen(None, &other).unwrap_err(),
            "plugin p does not declare file format safetensors or onnx for fp8; it declares onnx for f16, onnx for f32, \
             onnx for int8"
        );
        assert_eq!(
            chosen(None, &[]).unwrap_err(),
            "plugin p does not declare file format none; it declares onnx"
        );
    }

    #[test]
    fn each_refusal_names_what_is_declared() {
        let base = demand("digits-cnn", "onnx");
        assert_eq!(
            refusal(&demand("digits-lstm", "onnx")),
            "plugin p does not declare file format onnx or other; it declares safetensors"
        );
        assert_eq!(
            refusal(&ModelDemand { precision: Some("bf16".into()), ..base.clone() }),
            "plugin p does not declare precision bf16; it declares int8"
        );
        assert_eq!(
            refusal(&ModelDemand { device: Some("cuda".into()), ..base.clone() }),
            "plugin p does not declare device cuda; it declares cpu"
        );
        assert_eq!(
            refusal(&ModelDemand { batch_size_max: 5, ..base.clone() }),
            "plugin p does not declare a batch size of 5; it declares at most 4: set batch_size to 4 or less"
        );
        let server = ModelDemand { scenario: Scenario::Server, ..demand("x", "safetensors") };
        assert_eq!(refusal(&server), "plugin p does not declare scenario Server; it declares Offline");
        let narrow = Manifest { models: manifest().models[..1].to_vec(), ..manifest() };
        let error = match_demand(&narrow, &demand("x", "onnx")).unwrap_err();
        assert_eq!(error.to_string(), "plugin p does not declare model x; it declares digits-cnn");
        assert_eq!(
            refusal(&ModelDemand { inputs_vary: true, ..base.clone() }),
            "plugin p does not declare samples of different shapes; it declares samples of one shape"
        );
        assert_eq!(
            refusal(&ModelDemand { batch_size_max: 0, ..base }),
            "cannot ask plugin p for that: the largest batch has no samples"
        );
    }
}
