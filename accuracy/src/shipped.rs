//! Reference outputs of the generated models: `datasets/recipes/reference`, computed in f64 from the same recipes by
//! the NumPy script in that folder. They are compiled into the program, so that no other data folder is used in their
//! place.

use include_dir::{Dir, include_dir};
use proctor_vocabulary::{ElementType, did_you_mean};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{answers::Answers, error::AccuracyError, response::ResponseForm};

static FOLDER: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../datasets/recipes/reference");

/// The part of a file that is read here.
#[derive(Deserialize)]
struct Reference {
    /// Values by output, for each sample.
    samples: Vec<Map<String, Value>>,
}

/// Returns the text of the file of a model.
pub(crate) fn find(model: &str) -> Result<&'static str, AccuracyError> {
    let file = FOLDER.get_file(format!("{model}.json")).and_then(include_dir::File::contents_utf8);
    file.ok_or_else(|| {
        let mut known: Vec<_> = FOLDER.files().filter_map(|file| file.path().file_stem()?.to_str()).collect();
        known.sort_unstable();
        AccuracyError::no_reference(model, &did_you_mean(model, known.iter().copied()), &known)
    })
}

/// Returns the outputs of the first samples, each sample's one after another: tokens if responses are integers, else
/// values.
pub(crate) fn read(model: &str, outputs: &[String], form: ResponseForm) -> Result<Answers, AccuracyError> {
    let malformed = |reason: String| {
        AccuracyError::Reference(format!(
            "the reference outputs of model \"{model}\" cannot be used: {reason}"
        ))
    };
    let reference: Reference =
        serde_json::from_str(find(model)?).map_err(|error| malformed(error.to_string()))?;
    let of_sample = |sample: &Map<String, Value>| -> Result<Vec<Value>, String> {
        let of_output = |name: &String| match sample.get(name) {
            Some(Value::Array(values)) => Ok(values.clone()),
            _ => Err(format!("a sample has no output \"{name}\"")),
        };
        outputs.iter().map(of_output).collect::<Result<Vec<_>, _>>().map(|parts| parts.concat())
    };
    let samples =
        reference.samples.iter().map(of_sample).collect::<Result<Vec<_>, _>>().map_err(malformed)?;
    let all = match form.element_type {
        ElementType::I32 => {
            numbers(&samples, |value| value.as_i64().and_then(|token| i32::try_from(token).ok()))
                .map(Answers::Tokens)
        }
        _ => numbers(&samples, Value::as_f64).map(Answers::Values),
    };
    all.ok_or_else(|| malformed("an output holds something else than numbers of its type".to_owned()))
}

fn numbers<T>(samples: &[Vec<Value>], number: impl Fn(&Value) -> Option<T>) -> Option<Vec<Vec<T>>> {
    samples.iter().map(|values| values.iter().map(&number).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_several_outputs_are_one_after_the_other() {
        let form = ResponseForm::exactly(ElementType::F32, 18);
        let answers = read("bidaf-tiny", &["start".into(), "end".into()], form).unwrap();
        let Answers::Values(values) = &answers else { panic!("{answers:?}") };
        assert!(answers.len() >= 8);
        for sample in values {
            assert_eq!(sample.len(), 18);
            // Both outputs are probabilities.
            for part in sample.chunks(9) {
                assert!((part.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{part:?}");
            }
        }
    }

    #[test]
    fn tokens_have_as_many_as_there_are() {
        let answers =
            read("gnmt-tiny", &["tokens".into()], ResponseForm::up_to(ElementType::I32, 16)).unwrap();
        let Answers::Tokens(tokens) = &answers else { panic!("{answers:?}") };
        assert!(tokens.iter().any(|sample| sample.len() != tokens[0].len()), "{tokens:?}");
        assert!(tokens.iter().all(|sample| sample.len() <= 16));
    }

    #[test]
    fn a_model_or_an_output_without_reference_is_named() {
        let error = find("gmnt-tiny").unwrap_err().to_string();
        assert!(error.contains("did you mean \"gnmt-tiny\"?"), "{error}");
        let form = ResponseForm::exactly(ElementType::F32, 1);
        let error = read("bidaf-tiny", &["middle".into()], form).unwrap_err().to_string();
        assert!(error.contains("no output \"middle\""), "{error}");
        assert!(read("gnmt-tiny", &["tokens".into()], ResponseForm::up_to(ElementType::I32, 1)).is_ok());
        assert!(read("bidaf-tiny", &["start".into()], ResponseForm::up_to(ElementType::I32, 9)).is_err());
    }
}
