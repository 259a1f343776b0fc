//! The small decoder writes the texts of its reference, and says when the first word of each has come.

use proctor_plugin_api::vocabulary::{ElementType, SampleIndex};
use proctor_plugin_bed::{ModelDemand, Samples, spec};

use crate::{
    bed,
    generated::{Generated, numbers, reference},
};

/// The longest text in words.
const TOKENS_MAX: usize = 12;

#[test]
fn texts_have_their_lengths_and_every_sample_its_first_token() {
    let id = "llama-tiny-generate";
    let generated = Generated::new(id, "llama-tiny", &[spec("tokens", ElementType::I32, &[TOKENS_MAX])]);
    let demand = ModelDemand { last_output_varies: true, instance_count: 2, ..generated.in_precision("f32") };
    let reference = reference(id);
    let samples = Samples::new(&generated.samples(reference.len()));
    let run = bed(&demand).run_each(&samples, &[&[8], &[1, 3]]).unwrap();
    for mut ran in run.instances {
        assert_eq!(ran.answers.len(), reference.len());
        for (index, (answer, expected)) in ran.answers.iter().zip(&reference).enumerate() {
            let text: Vec<f64> = answer.i32s(0).into_iter().map(f64::from).collect();
            assert_eq!(text, numbers(&expected["tokens"]), "sample {index}");
            assert_eq!(answer.token_count as usize, text.len(), "sample {index}");
        }
        ran.first_tokens.sort_unstable();
        let all: Vec<SampleIndex> = samples.indices();
        assert_eq!(ran.first_tokens, all);
    }
}
