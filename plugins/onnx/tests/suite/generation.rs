//! Models in two files that answer with tokens, as a declaration says: a small one whose tokens follow from the tensors
//! that go from call to call.

use std::{fs, path::Path};

use proctor_onnx_file::{Dim, GraphBuilder};
use proctor_plugin_api::vocabulary::{
    Cache, Decoder, ElementType, Encoder, Generation, SampleIndex, TensorSpec,
};
use proctor_plugin_bed::{Bed, ModelDemand, Run, Samples, demand, f32_bytes, f32_spec, spec};
use tempfile::TempDir;

use crate::common::opened;

/// Number of tokens of the small model.
const TOKEN_COUNT: usize = 32;

/// The longest sample.
const VALUES_MAX: usize = 8;

/// An encoder whose states are the values.
fn encoder() -> Vec<u8> {
    let mut graph = GraphBuilder::new("encoder");
    let row = [Dim::Free("batch".into()), Dim::Free("values".into())];
    graph.input("values", ElementType::F32, &row);
    graph.input("mask", ElementType::I64, &row);
    graph.node("Cast", "ones", &["mask"], &[("to", 1.into())]);
    graph.node("Mul", "used", &["values", "ones"], &[]);
    let last = graph.ints(&[2]);
    graph.node("Unsqueeze", "states", &["used", &last], &[]);
    let [batch, values] = row;
    graph.output("states", ElementType::F32, &[batch, values, Dim::Fixed(1)]);
    graph.into_bytes()
}

/// A decoder whose next token is the sum of all tokens before and, from the second call on, of the states: they come
/// from the caches.
fn decoder() -> Vec<u8> {
    let mut graph = GraphBuilder::new("decoder");
    let free = |name: &str| [Dim::Free("batch".into()), Dim::Free(name.into()), Dim::Fixed(1)];
    graph.input("before", ElementType::I64, &[Dim::Free("batch".into()), Dim::Free("tokens".into())]);
    graph.input("encoded", ElementType::F32, &free("values"));
    graph.input("past.0.tokens", ElementType::F32, &free("past"));
    graph.input("past.0.states", ElementType::F32, &free("past_values"));
    graph.input("has_past", ElementType::Bool, &[Dim::Fixed(1)]);
    graph.node("Cast", "token", &["before"], &[("to", 1.into())]);
    let last = graph.ints(&[2]);
    graph.node("Unsqueeze", "tokens", &["token", &last], &[]);
    graph.node("Concat", "now.0.tokens", &["past.0.tokens", "tokens"], &[("axis", 1.into())]);
    graph.node("Identity", "now.0.states", &["encoded"], &[]);
    // An empty sum is avoided by a zero more.
    let zero = graph.constant("zero", &[1, 1, 1], &[0.0]);
    graph.node("Concat", "past_states", &["past.0.states", &zero], &[("axis", 1.into())]);
    let no_dims = [("keepdims", 0.into())];
    graph.node("ReduceSum", "of_tokens", &["now.0.tokens"], &no_dims);
    graph.node("ReduceSum", "of_states", &["past_states"], &[("keepdims", 0.into())]);
    graph.node("Cast", "has", &["has_past"], &[("to", 1.into())]);
    graph.node("Mul", "of_past", &["of_states", "has"], &[]);
    graph.node("Add", "next", &["of_tokens", "of_past"], &[]);
    let every: Vec<f32> = (0..TOKEN_COUNT).map(|token| token as f32).collect();
    let every = graph.constant("every", &[1, 1, TOKEN_COUNT], &every);
    graph.node("Sub", "distance", &["next", &every], &[]);
    graph.node("Abs", "far", &["distance"], &[]);
    graph.node("Neg", "logits", &["far"], &[]);
    graph.output("logits", ElementType::F32, &Dim::fixed(&[1, 1, TOKEN_COUNT]));
    graph.output("now.0.tokens", ElementType::F32, &free("present"));
    graph.output("now.0.states", ElementType::F32, &free("values"));
    graph.into_bytes()
}

fn cache(part: &str, once: bool) -> Cache {
    Cache { past: format!("past.*.{part}"), present: format!("now.*.{part}"), once }
}

/// The declaration of the small model: 2 tokens for each value, and 3 more.
fn generation() -> Generation {
    Generation {
        encoder: Encoder {
            file: "onnx-encoder".to_owned(),
            input: "values".to_owned(),
            mask: Some("mask".to_owned()),
            states: "states".to_owned(),
        },
        decoder: Decoder {
            file: "onnx-decoder".to_owned(),
            tokens: "before".to_owned(),
            states: "encoded".to_owned(),
            mask: None,
            use_cache: Some("has_past".to_owned()),
            logits: "logits".to_owned(),
            caches: vec![cache("tokens", false), cache("states", true)],
        },
        start_token: 1,
        end_token: 24,
        sample_rate: 1,
        tokens_per_second: 2.0,
        tokens_more: 3,
        pieces: Some("token-pieces".to_owned()),
    }
}

/// The files of the small model, with this declaration, and a demand for them.
fn wanted(generation: &Generation, output: TensorSpec) -> (TempDir, ModelDemand) {
    let folder = tempfile::tempdir().unwrap();
    let pieces: Vec<u8> = (0..TOKEN_COUNT).flat_map(|token| piece(&format!("\u{2581}t{token}"))).collect();
    let files: [(&str, Vec<u8>); 4] = [
        ("onnx-encoder", encoder()),
        ("onnx-decoder", decoder()),
        ("token-pieces", pieces),
        (Generation::FORMAT, serde_json::to_vec(generation).unwrap()),
    ];
    let write = |(format, bytes): (&str, Vec<u8>)| {
        let path = folder.path().join(if format.starts_with("onnx") {
            format!("{format}.onnx")
        } else {
            format.to_owned()
        });
        fs::write(&path, bytes).unwrap();
        (format.to_owned(), path)
    };
    let files = files.map(write).to_vec();
    let demand = demand_of(&folder.path().join("small.onnx"), files, VALUES_MAX, output);
    (folder, demand)
}

/// A demand for a model of these files, by format, on samples of up to so many values.
pub(crate) fn demand_of(
    name: &Path,
    files: Vec<(String, std::path::PathBuf)>,
    values_max: usize,
    output: TensorSpec,
) -> ModelDemand {
    let inputs = [f32_spec("waveform", &[values_max]), spec("length", ElementType::I64, &[1])];
    ModelDemand { files, last_output_varies: true, ..demand(name, &inputs, &[output]) }
}

fn piece(text: &str) -> Vec<u8> {
    [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat()
}

/// A sample of these values: padded, with a length.
pub(crate) fn sample(values: &[f32], values_max: usize, length: i64) -> Vec<Vec<u8>> {
    let padded: Vec<f32> = values.iter().copied().chain([9.0].into_iter().cycle()).take(values_max).collect();
    vec![f32_bytes(&padded), length.to_ne_bytes().to_vec()]
}

/// Runs samples in batches of a size; `None` where there is no runtime library.
fn run(demand: &ModelDemand, samples: &[Vec<Vec<u8>>], batch_size: usize) -> Option<Result<Run, String>> {
    let backend = opened(&[])?;
    let batch_size_max = u32::try_from(batch_size).unwrap();
    let bed = Bed::load(&backend, &ModelDemand { batch_size_max, ..demand.clone() });
    Some(bed.and_then(|mut bed| bed.run(&Samples::new(samples), &[batch_size])))
}

fn tokens(width: usize) -> TensorSpec {
    spec("tokens", ElementType::I32, &[width])
}

/// Samples of the sums 1, 3 and -1, of lengths 1, 3 and 2.
fn three() -> [Vec<Vec<u8>>; 3] {
    let of = |values: &[f32]| sample(values, VALUES_MAX, values.len() as i64);
    [of(&[1.0]), of(&[2.0, 0.0, 1.0]), of(&[-2.0, 1.0])]
}

#[test]
fn tokens_follow_from_what_goes_from_call_to_call() {
    let (_folder, demand) = wanted(&generation(), tokens(16));
    for batch_size in [1, 3] {
        let Some(run) = run(&demand, &three(), batch_size) else { return };
        let run = run.unwrap();
        let found: Vec<_> = run.answers().iter().map(|answer| answer.i32s(0)).collect();
        // The first ends by the number of tokens, 5; the second by the end token, which is one of the answer.
        assert_eq!(found[0], [1, 3, 6, 12, 24]);
        assert_eq!(found[1], [1, 5, 10, 20, 31, 31, 31, 31, 31]);
        assert_eq!(found[2], [1, 1, 2, 4, 8, 16, 31]);
        let counts: Vec<_> = run.answers().iter().map(|answer| answer.token_count).collect();
        assert_eq!(counts, [5, 9, 7]);
        assert_eq!(run.instances[0].first_tokens, [0, 1, 2].map(SampleIndex));
        assert!(run.stages().all(|stages| stages.len() == 1));
    }
}

#[test]
fn the_end_token_ends_an_answer_and_is_no_word_of_a_text() {
    let early = Generation { end_token: 12, ..generation() };
    let (_folder, demand) = wanted(&early, tokens(16));
    let Some(found) = run(&demand, &three()[..1], 1) else { return };
    assert_eq!(found.unwrap().answers()[0].i32s(0), [1, 3, 6, 12]);
    let (_folder, demand) = wanted(&early, spec("text", ElementType::U8, &[64]));
    let found = run(&demand, &three()[..1], 1).unwrap().unwrap();
    // Nor is the start token.
    assert_eq!(found.answers()[0].outputs[0], b"t3 t6");
    assert_eq!(found.answers()[0].token_count, 4);
    let (_folder, demand) = wanted(&early, spec("text", ElementType::U8, &[4]));
    let error = run(&demand, &three()[..1], 1).unwrap().unwrap_err();
    assert!(error.contains("has a text of 5 bytes, and the benchmark takes 4"), "{error}");
    let (_folder, demand) = wanted(&early, spec("tokens", ElementType::I64, &[2]));
    let found = run(&demand, &three()[..1], 1).unwrap().unwrap();
    assert_eq!(found.answers()[0].outputs[0], [1_i64, 3].map(i64::to_ne_bytes).as_flattened());
}

#[test]
fn a_length_beyond_the_sample_is_an_error_and_the_next_sample_is_answered() {
    let (_folder, demand) = wanted(&generation(), tokens(16));
    for length in [0, -1, 9] {
        let bad = [sample(&[1.0], VALUES_MAX, length)];
        let Some(found) = run(&demand, &bad, 1) else { return };
        let error = found.unwrap_err();
        assert!(
            error.contains(&format!("says that it has {length} values, and there is room for 1 to 8")),
            "{length}: {error}"
        );
    }
    let mut bed = Bed::load(&opened(&[]).unwrap(), &demand).unwrap();
    bed.run(&Samples::new(&[sample(&[1.0], VALUES_MAX, 0)]), &[1]).unwrap_err();
    let after = bed.run(&Samples::new(&three()[..1]), &[1]).unwrap();
    assert_eq!(after.answers()[0].i32s(0), [1, 3, 6, 12, 24]);
}

/// A change of a declaration.
type Change<'a> = &'a dyn Fn(&mut Generation);

#[test]
fn a_declaration_that_does_not_fit_the_files_is_refused_and_named() {
    if opened(&[]).is_none() {
        return;
    }
    let refused = |change: Change<'_>, output: TensorSpec| {
        let mut changed = generation();
        change(&mut changed);
        let (_folder, demand) = wanted(&changed, output);
        run(&demand, &three()[..1], 1).unwrap().unwrap_err()
    };
    let rows: [(Change<'_>, &str); 6] = [
        (
            &|it| it.encoder.states = "stats".to_owned(),
            "has no output \"stats\", which the declaration names; it has states",
        ),
        (&|it| it.encoder.mask = None, "has the input \"mask\", which the declaration does not name"),
        (
            &|it| it.decoder.caches.truncate(1),
            "has the input \"past.0.states\", which the declaration does not name",
        ),
        (&|it| it.decoder.caches[0].present = "new.*".to_owned(), "has no output \"new.0\""),
        (&|it| it.decoder.tokens = "encoded".to_owned(), "\"encoded\" of "),
        (
            &|it| it.decoder.file = "onnx".to_owned(),
            "the model has no file of format onnx, which its declaration names",
        ),
    ];
    for (change, words) in rows {
        let error = refused(change, tokens(16));
        assert!(error.contains(words), "{error}");
    }
    let error = refused(&|it| it.pieces = None, spec("text", ElementType::U8, &[64]));
    assert!(
        error.contains("the benchmark takes waveform f32[8], length i64[1], and gives text u8[64]"),
        "{error}"
    );
    let error = refused(&|_| (), f32_spec("scores", &[4]));
    assert!(error.contains("one output that varies"), "{error}");
}

#[test]
fn damaged_declarations_and_texts_of_tokens_are_named() {
    let (folder, demand) = wanted(&generation(), spec("text", ElementType::U8, &[64]));
    for (file, content, words) in [
        (Generation::FORMAT, &b"{}"[..], "is no declaration of how tokens are made: missing field"),
        (Generation::FORMAT, b"{\"more\": 1}", "unknown field `more`"),
        ("token-pieces", b"\x05ab", "token-pieces ends within a token; restore the file"),
        ("token-pieces", b"\x01a", "has a token beyond the 1 pieces of text"),
    ] {
        let path = folder.path().join(file);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, content).unwrap();
        let Some(found) = run(&demand, &three()[..1], 1) else { return };
        let error = found.unwrap_err();
        assert!(error.contains(words), "{error}");
        fs::write(&path, whole).unwrap();
    }
}
