//! First tokens and stages that the plugin reports to the real plugin host.

use cpu_rnn_sut as _;
use proctor_plugin_api::vocabulary::SampleIndex;
use proctor_plugin_bed::{Bed, ModelDemand, Samples, demand, spec};
use proctor_recipes as recipes;
use proctor_rnn_models::nets::find;
use tempfile::TempDir;

/// A demand for a network with generated weights, in batches of up to 4, and the folder that they lie in.
fn generated(id: &str) -> (ModelDemand, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(format!("{id}.safetensors"));
    let recipe = recipes::recipe(id).expect("a recipe");
    recipes::write_safetensors(&recipe, &path, &mut |_| ()).expect("the folder can be written");
    let network = find(id).expect("a network");
    let last_output_varies = network.outputs[0].name == "tokens";
    let of_file = demand(&path, &network.inputs, &network.outputs);
    (ModelDemand { batch_size_max: 4, last_output_varies, instance_count: 2, ..of_file }, folder)
}

fn samples(id: &str, count: u64) -> Samples {
    let recipe = recipes::input_recipe(id).expect("a recipe");
    Samples::new(&(0..count).map(|index| recipe.sample(index)).collect::<Vec<_>>())
}

#[test]
fn every_answer_with_tokens_has_its_first_token_and_every_batch_its_stages() {
    for (id, stages) in [
        ("gnmt-tiny", &["encoder", "decoder"][..]),
        ("rnnt-tiny", &["features", "encoder", "decoder"]),
        ("bidaf-tiny", &["embedding_highway", "phrase", "attention", "modeling", "output"]),
    ] {
        let (demand, _folder) = generated(id);
        let options = [("calibration_s", "0"), ("threads", "1")];
        let mut bed = Bed::open("cpu-rnn", &options, &demand).unwrap_or_else(|error| panic!("{id}: {error}"));
        let run = bed.run(&samples(id, 16), &[4, 1, 3]).unwrap_or_else(|error| panic!("{id}: {error}"));
        let mut token_count = 0;
        for ran in &run.instances {
            let mut told = ran.first_tokens.clone();
            told.sort_unstable();
            let indexed = ran.answers.iter().zip((0..).map(SampleIndex));
            let with_tokens: Vec<_> =
                indexed.filter(|(answer, _)| answer.token_count > 0).map(|(_, index)| index).collect();
            assert_eq!(told, with_tokens, "{id}");
            token_count += told.len();
            for batch in &ran.stages {
                let names: Vec<&str> = batch.iter().map(|stage| stage.name()).collect();
                assert_eq!(names, stages, "{id}");
                assert!(batch.is_sorted_by(|a, b| a.end_ns == b.begin_ns), "{id}: {batch:?}");
                assert!(batch.iter().all(|stage| stage.begin_ns < stage.end_ns), "{id}: {batch:?}");
            }
        }
        assert_eq!(token_count > 20, id != "bidaf-tiny", "{id}: {token_count} answers with tokens");
    }
}

#[test]
fn a_single_layer_tells_no_stages() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rnn-lstm-8-16-20-8.safetensors");
    let recipe = recipes::recipe("rnn-lstm-8-16-20-8").expect("the name is one of a layer");
    recipes::write_safetensors(&recipe, &path, &mut |_| ()).expect("the folder can be written");
    let tensor = |name, shape: &[usize]| spec(name, proctor_plugin_api::vocabulary::ElementType::F32, shape);
    let demand = demand(&path, &[tensor("x", &[8, 8])], &[tensor("y", &[8, 16])]);
    let mut bed = Bed::open("cpu-rnn", &[("calibration_s", "0")], &demand).expect("the file fits");
    let run = bed.run(&Samples::of_f32(&[vec![0.5; 64]]), &[1]).expect("the sample fits");
    assert_eq!(run.instances[0].stages, [vec![]]);
    assert_eq!(run.instances[0].first_tokens, []);
}
