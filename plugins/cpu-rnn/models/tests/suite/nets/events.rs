//! First tokens and stages that networks report while they run.

use proctor_rnn_layer::Precision;
use proctor_rnn_models::nets::networks;

use super::common::{batch, load, team};

/// The stages of each network, in order.
const STAGES: [(&str, &[&str]); 5] = [
    ("text-similarity-tiny", &["embedding", "rnn", "dense", "cosine"]),
    ("attention-sum-reader-tiny", &["question", "contexts", "attention"]),
    ("bidaf-tiny", &["embedding_highway", "phrase", "attention", "modeling", "output"]),
    ("gnmt-tiny", &["encoder", "decoder"]),
    ("rnnt-tiny", &["features", "encoder", "decoder"]),
];

#[test]
fn every_network_tells_its_stages_in_order() {
    let tiny = networks().into_iter().map(|network| network.id).filter(|id| id.ends_with("-tiny"));
    assert_eq!(tiny.collect::<Vec<_>>(), STAGES.map(|(id, _)| id));
    for (id, stages) in STAGES {
        let mut samples = batch(id, 0..2);
        load(id, Precision::F32, 2).instance(team()).unwrap().execute(&mut samples).unwrap();
        assert_eq!(samples.stages, stages, "{id}");
    }
}

#[test]
fn decoders_tell_the_first_token_of_each_answer_that_has_one() {
    let (mut answers, mut others) = (0, 0);
    for (id, _) in STAGES {
        let has_tokens = ["gnmt-tiny", "rnnt-tiny"].contains(&id);
        let mut instance = load(id, Precision::F32, 8).instance(team()).unwrap();
        for first in [0, 8, 16, 24] {
            let mut samples = batch(id, first..first + 8);
            instance.execute(&mut samples).unwrap();
            let mut told = samples.first_tokens.clone();
            told.sort_unstable();
            let with_tokens = |sample: &usize| has_tokens && !samples.output_bytes(*sample, 0).is_empty();
            let expected: Vec<usize> = (0..8).filter(with_tokens).collect();
            assert_eq!(told, expected, "{id}");
            let count = if has_tokens { &mut answers } else { &mut others };
            *count += told.len();
        }
    }
    assert!(answers > 50 && others == 0, "{answers} answers with tokens, {others} of networks without");
}
