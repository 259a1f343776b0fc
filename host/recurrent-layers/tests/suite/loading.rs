//! The family behind the real loader.

use proctor_config::{AnswerKind, Loader, benchmark_families};
use proctor_recurrent_layers::TABLE_1;

#[test]
fn the_family_is_listed_with_the_rows_of_the_paper() {
    let [family] = benchmark_families()[..] else { panic!("one family is linked") };
    assert_eq!((family.members)().len(), 2 * TABLE_1.len());
    for (name, _) in (family.members)() {
        let loader = Loader::new().benchmark(&name).flag("--scenario", "scenario", "Offline");
        assert_eq!(loader.load().unwrap().benchmark.id, name);
    }
}

#[test]
fn a_refused_scenario_is_met_with_the_reason() {
    let loader =
        Loader::new().benchmark("rnn-lstm-64-64-10-100").flag("--scenario", "scenario", "SingleStream");
    let error = loader.load().unwrap_err().to_string();
    let expected = "flag --scenario: benchmark rnn-lstm-64-64-10-100 has no scenario SingleStream, because its queries \
                    have one sample, so that no batch of 10 forms (take rnn-lstm-64-64-1-100, or another scenario); it \
                    has MultiStream, Server, Offline";
    assert_eq!(error, expected);
}

#[test]
fn a_member_of_the_rnn_family_brings_its_batch() {
    let loader = Loader::new().benchmark("rnn-gru-64-64-10-100").flag("", "scenario", "MultiStream");
    let settings = loader.load().unwrap();
    assert_eq!((settings.run.batch_size, settings.test.multi_stream_samples_per_query), (10, 10));
    assert!(settings.origin("batch_size").unwrap().to_string().starts_with("benchmark rnn-gru-64-64-10-100"));
    assert_eq!(settings.benchmark.quality.answers, AnswerKind::Computed);
    let error = Loader::new().benchmark("rnn-gur-64-64-10-100").load().unwrap_err().to_string();
    assert!(error.contains("did you mean \"gru\"?"), "{error}");
}
