//! The benchmark moonshine-tiny: its files as they are published, on its recordings, against another program.

use std::{collections::BTreeMap, fs, path::Path};

use proctor_plugin_api::vocabulary::{ElementType, Generation, TensorSpec};
use proctor_plugin_bed::{Bed, ModelDemand, Samples, spec};
use proctor_sound_file::{Format, decode};
use serde::Deserialize;

use crate::{
    common::{opened, packages},
    generation::{demand_of, sample},
};

/// The definition, whose declaration is used here.
const DEFINITION: &str = include_str!("../../../../host/config/benchmarks/moonshine-tiny.toml");

/// Answers of `make_reference.py` beside it, by recording.
const REFERENCE: &str = include_str!("moonshine/reference.json");

/// The longest sample of the definition.
const VALUES_MAX: usize = 240_000;

#[derive(Deserialize)]
struct Reference {
    samples: usize,
    tokens: Vec<i32>,
    text: String,
}

/// A demand for the files below a data root, with the declaration of the definition in a file at this path.
fn wanted(root: &Path, declaration: &Path, output: TensorSpec) -> ModelDemand {
    let definition: toml::Table = DEFINITION.parse().unwrap();
    let generation: Generation = definition["model"]["generation"].clone().try_into().unwrap();
    fs::write(declaration, serde_json::to_vec(&generation).unwrap()).unwrap();
    let files = definition["model"]["precisions"]["int8"]["files"].as_table().unwrap();
    let files =
        files.iter().map(|(format, file)| (format.clone(), root.join(file["path"].as_str().unwrap())));
    let declared = (Generation::FORMAT.to_owned(), declaration.to_owned());
    let files = files.chain([declared]).collect();
    ModelDemand {
        precision: Some("int8".to_owned()),
        ..demand_of(&root.join("moonshine-tiny.ort"), files, VALUES_MAX, output)
    }
}

#[test]
fn tokens_and_texts_of_the_recordings_are_those_of_another_program() {
    let Some(root) = packages(&["moonshine-tiny", "librivox"]) else { return };
    let Some(backend) = opened(&[("threads", "1")]) else { return };
    let reference: BTreeMap<String, Reference> = serde_json::from_str(REFERENCE).unwrap();
    let waveform = |(name, reference): (&String, &Reference)| {
        let file = fs::read(root.join("librivox").join(format!("{name}.wav"))).unwrap();
        let values = decode(&file, Format::SPEECH).unwrap();
        assert_eq!(values.len(), reference.samples, "{name}");
        let values: Vec<f32> = values.into_iter().map(|value| f32::from(value) / 32_768.0).collect();
        sample(&values, VALUES_MAX, values.len() as i64)
    };
    let samples = Samples::new(&reference.iter().map(waveform).collect::<Vec<_>>());
    let folder = tempfile::tempdir().unwrap();
    let declaration = folder.path().join("generation.json");
    let answers = |output: TensorSpec, batch_size: usize| {
        let batch_size_max = u32::try_from(batch_size).unwrap();
        let demand = ModelDemand { batch_size_max, ..wanted(&root, &declaration, output) };
        let run = Bed::load(&backend, &demand).unwrap().run(&samples, &[batch_size]).unwrap();
        assert_eq!(run.instances[0].first_tokens.len(), reference.len());
        run.answers().to_vec()
    };
    let tokens = answers(spec("tokens", ElementType::I32, &[128]), 1);
    let texts = answers(spec("transcript", ElementType::U8, &[2048]), 2);
    for ((name, right), (tokens, text)) in reference.iter().zip(tokens.iter().zip(&texts)) {
        assert_eq!(tokens.i32s(0), right.tokens, "{name}");
        assert_eq!(tokens.token_count as usize, right.tokens.len(), "{name}");
        assert_eq!(String::from_utf8_lossy(&text.outputs[0]), right.text, "{name}");
        assert_eq!(text.token_count, tokens.token_count, "{name}");
    }
}
