//! The built-in benchmark definitions, and bad ones.

use std::{collections::BTreeMap, fs, path::Path};

use proctor_config::{Benchmark, Loader, ModelFile, benchmarks};
use proctor_vocabulary::Scenario;

const DIGITS_MLP: &str = include_str!("../../benchmarks/digits-mlp.toml");

const MOONSHINE: &str = include_str!("../../benchmarks/moonshine-tiny.toml");

/// The problems of the digits MLP with one piece of text replaced.
fn problems(from: &str, to: &str) -> Vec<String> {
    problems_of(DIGITS_MLP, from, to)
}

/// The problems of a definition with one piece of text replaced.
fn problems_of(definition: &str, from: &str, to: &str) -> Vec<String> {
    assert!(definition.contains(from), "{from}");
    let errors = Benchmark::parse(&definition.replacen(from, to, 1), Path::new("b.toml"));
    let errors = errors.expect_err("the replacement makes it wrong");
    errors.to_string().lines().map(ToOwned::to_owned).collect()
}

#[test]
fn every_built_in_file_is_a_valid_definition_named_after_its_id() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("benchmarks");
    let mut ids = Vec::new();
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let benchmark = Benchmark::parse(&fs::read_to_string(&path).unwrap(), &path).unwrap();
        assert_eq!(path.file_stem().unwrap().to_str(), Some(benchmark.id.as_str()));
        ids.push(benchmark.id);
    }
    ids.sort();
    assert_eq!(benchmarks().map(|benchmark| benchmark.id.clone()).collect::<Vec<_>>(), ids);
}

#[test]
fn the_digits_benchmarks_are_whole() {
    let shapes: BTreeMap<&str, Vec<usize>> =
        [("digits-cnn", vec![1, 8, 8]), ("digits-lstm", vec![8, 8]), ("digits-mlp", vec![64])].into();
    for benchmark in benchmarks().filter(|benchmark| benchmark.dataset == "digits") {
        assert_eq!(benchmark.inputs[0].shape, shapes[benchmark.id.as_str()]);
        assert_eq!(benchmark.outputs[0].size_bytes(), 40);
        assert_eq!(benchmark.scenarios.len(), Scenario::ALL.len());
        // Bounds in the definition of the task, before the one percent that f32 arithmetic may lose.
        assert!(benchmark.quality.reference >= 0.95);
        assert!(benchmark.quality.target() < benchmark.quality.reference);
    }
}

#[test]
fn text_similarity_of_33_documents_has_the_bound_of_its_service() {
    let find = |id: &str| Benchmark::find(id).unwrap();
    let (ten, all) = (find("text-similarity"), find("text-similarity-33"));
    assert_eq!(all.inputs[2].shape, [33, 20]);
    assert_eq!((&all.inputs[3].shape, &all.outputs[0].shape), (&vec![33], &vec![33]));
    assert_eq!(all.model.files, ten.model.files);
    let server = &all.scenarios[&Scenario::Server.into()];
    assert_eq!(server["server_target_latency_ns"].to_string(), "6000000");
}

#[test]
fn the_checksums_and_accuracies_are_those_of_the_data() {
    for (dataset, folder, top1) in
        [("digits", "digits", "validation_top1"), ("fashion-mnist", "fashion-mnist-cnn", "test_top1")]
    {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets").join(folder);
        let sums = fs::read_to_string(data.join("checksums.sha256")).unwrap();
        let sums: BTreeMap<_, _> =
            sums.lines().filter_map(|line| line.split_once("  ")).map(|(s, f)| (f, s)).collect();
        let reference = fs::read_to_string(data.join("reference.json")).unwrap();
        let reference: serde_json::Value = serde_json::from_str(&reference).unwrap();
        for benchmark in benchmarks().filter(|benchmark| benchmark.dataset == dataset) {
            let own = benchmark.model.precisions.values();
            for file in own.chain([&benchmark.model.files]).flat_map(BTreeMap::values) {
                let ModelFile::Published { path, sha256 } = file else { panic!("{file:?}") };
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap();
                assert_eq!(sums[name], *sha256, "{name}");
            }
            let model = &reference["models"][&benchmark.model.id];
            assert_eq!(model[top1], benchmark.quality.reference, "{}", benchmark.id);
            assert_eq!(model["sample_count"], benchmark.qsl.total_sample_count, "{}", benchmark.id);
        }
    }
}

#[test]
fn fashion_mnist_is_whole() {
    let benchmark = Benchmark::find("fashion-mnist").unwrap();
    assert_eq!((benchmark.inputs[0].size_bytes(), benchmark.outputs[0].size_bytes()), (3136, 40));
    assert_eq!(benchmark.scenarios.len(), Scenario::ALL.len());
    assert_eq!(benchmark.qsl.performance_sample_count, 10_000);
    // The goal of the definition, and one percent that other arithmetic may lose.
    assert!(benchmark.quality.reference >= 0.91 && benchmark.quality.target() < benchmark.quality.reference);
}

#[test]
fn the_way_to_tokens_is_held_against_the_files() {
    let generation = Benchmark::find("moonshine-tiny").unwrap().model.generation.unwrap();
    assert_eq!(generation.formats().collect::<Vec<_>>(), ["onnx-encoder", "onnx-decoder", "token-pieces"]);
    assert_eq!([0, 16_000, 53_000].map(|count| generation.tokens_max(count)), [2, 8, 23]);
    assert_eq!(generation.decoder.caches.iter().filter(|cache| cache.once).count(), 2);
    for (from, to, expected) in [
        (
            "file = \"onnx-decoder\"",
            "file = \"onnx-decode\"",
            "model.generation.decoder.file: \"onnx-decode\": the model has no such file, did you mean \"onnx-decoder\"?",
        ),
        (
            "pieces = \"token-pieces\"",
            "pieces = \"words\"",
            "model.generation.pieces: \"words\": the model has no such file",
        ),
        ("sample_rate = 16_000", "sample_rate = 0", "model.generation.sample_rate: 0: give a number from 1"),
        (
            "tokens_per_second = 6.5",
            "tokens_per_second = -1.0",
            "model.generation.tokens_per_second: -1: give a number from 0",
        ),
        (
            "present = \"present.*.decoder.key\"",
            "present = \"present.0.decoder.key\"",
            "model.generation.decoder.caches.0.present: \"present.0.decoder.key\": give a name with one * for the \
             number of the layer",
        ),
    ] {
        assert_eq!(problems_of(MOONSHINE, from, to), [format!("b.toml: {expected}")]);
    }
    let unknown = &problems_of(MOONSHINE, "start_token = 1", "start = 1")[0];
    assert!(unknown.starts_with("b.toml: model.generation.start: unknown key"), "{unknown}");
}

#[test]
fn a_model_has_a_file_in_some_precision() {
    assert!(Benchmark::find("moonshine-tiny").unwrap().model.files.is_empty());
    let (before, rest) = DIGITS_MLP.split_once("[model.files.safetensors]\n").unwrap();
    let (_, after) = rest.split_once("[[inputs]]").unwrap();
    let parse = |tables: &str| {
        let parsed = Benchmark::parse(&format!("{before}{tables}\n[[inputs]]{after}"), Path::new("b.toml"));
        parsed.map(drop).map_err(|errors| errors.to_string())
    };
    assert_eq!(parse("").unwrap_err(), "b.toml: model.files: empty: give at least one file");
    let empty = parse("[model.precisions.int8.files]").unwrap_err();
    assert_eq!(empty, "b.toml: model.precisions.int8.files: empty: give at least one file");
    assert_eq!(parse("[model.precisions.int8.files.onnx]\ngenerated = \"x\""), Ok(()));
}

#[test]
fn every_benchmark_loads_in_every_scenario_and_preset() {
    for benchmark in benchmarks() {
        for scenario in benchmark.scenarios.keys() {
            for preset in ["quick", "official"] {
                let loader = Loader::new().benchmark(&benchmark.id).flag("", "preset", preset);
                let settings = loader.flag("", "scenario", scenario.name()).load().unwrap();
                assert_eq!((settings.run.scenario, settings.test.scenario), (*scenario, scenario.loadgen()));
            }
        }
    }
}

#[test]
fn unknown_missing_and_mistyped_keys_name_the_file_and_the_key() {
    assert_eq!(
        problems("dataset =", "datasett ="),
        ["b.toml: datasett: unknown key, did you mean \"dataset\"?"]
    );
    assert_eq!(
        problems("target_ratio", "target_ration"),
        ["b.toml: quality.target_ration: unknown key, did you mean \"target_ratio\"?"]
    );
    assert_eq!(problems("dataset = \"digits\"", ""), ["b.toml: dataset: missing key"]);
    assert_eq!(problems("metric = \"top1\"", ""), ["b.toml: quality.metric: missing key"]);
    let problem = &problems("reference = ", "reference = \"high\" # ")[0];
    assert!(problem.starts_with("b.toml: quality.reference: invalid type"), "{problem}");
    let problem = &problems("shape = [64]", "shape = ")[0];
    assert!(problem.starts_with("b.toml:") && !problem.starts_with("b.toml: "), "{problem}");
}

#[test]
fn values_that_make_no_sense_name_the_file_and_the_key() {
    let cases = [
        ("schema_version = 1", "schema_version = 2", "b.toml: schema_version: 2: give 1"),
        (
            "id = \"digits-mlp\"",
            "id = \"Digits MLP\"",
            "b.toml: id: \"Digits MLP\" is no name: use lower-case letters, digits, `-`, `_` and `.`",
        ),
        (
            "shape = [64]",
            "shape = [0]",
            "b.toml: inputs.0.shape: [0]: give extents from 1, together at most 2147483648 bytes",
        ),
        (
            "shape = [64]",
            "shape = [4294967296, 4294967296]",
            "b.toml: inputs.0.shape: [4294967296, 4294967296]: give extents from 1, together at most 2147483648 bytes",
        ),
        (
            "element_type = \"f32\"\nshape = [64]",
            "element_type = \"u4\"\nshape = [8, 9]",
            "b.toml: inputs.0.shape: [8, 9]: two u4 share a byte; give an even last extent",
        ),
        (
            "element_type = \"f32\"",
            "element_type = \"f23\"",
            "b.toml: inputs.0.element_type: \"f23\": give one of f32, f64, f16, bf16, i8, u8, i16, i32, i64, bool, \
             u16, u32, u64, f8e4m3, f8e5m2, i4, u4, did you mean \"f32\"?",
        ),
        (
            "path = \"digits/",
            "path = \"../digits/",
            "b.toml: model.files.safetensors.path: \"../digits/digits-mlp.safetensors\": give a path below the data root",
        ),
        (
            "target_ratio = 0.99",
            "target_ratio = 99.0",
            "b.toml: quality.target_ratio: 99: give a number above 0, at most 1",
        ),
        (
            "performance_sample_count = 600",
            "performance_sample_count = 601",
            "b.toml: qsl.performance_sample_count: 601: give a whole number from 1 to 600",
        ),
        (
            "[scenarios.Server]",
            "[scenarios.Sever]",
            "b.toml: scenarios.Sever: unknown scenario, did you mean \"Server\"?",
        ),
        (
            "server_target_qps =",
            "server_target_qqs =",
            "b.toml: scenarios.Server.server_target_qqs: unknown setting, did you mean \"server_target_qps\"?",
        ),
        (
            "server_target_qps = 1_000",
            "server_target_qps = 0",
            "benchmark digits-mlp (b.toml): scenarios.Server.server_target_qps = 0 is out of range: give a number from \
             0.000001 to 1000000000 (1/s)",
        ),
    ];
    for (from, to, expected) in cases {
        assert_eq!(problems(from, to), [expected]);
    }
    assert!(problems("sha256 = \"", "sha256 = \"x")[0].contains("give 64 hexadecimal digits"));
}

#[test]
fn generated_files_answers_and_refusals_are_checked() {
    let sha256 = DIGITS_MLP.lines().find(|line| line.starts_with("sha256")).unwrap();
    let generated = "generated = \"text-similarity\"";
    let both = "b.toml: model.files.safetensors: give path and sha256, or generated, or supplied with or without \
                generated, or dataset_file";
    for other in ["", generated, "supplied = \"yours\"", "dataset_file = \"tokens.txt\""] {
        assert_eq!(problems(sha256, other), [both]);
    }
    for (from, to, expected) in [
        (
            "metric = \"top1\"",
            "metric = \"top1\"\nanswers = \"shiped\"",
            "b.toml: quality.answers: \"shiped\": give one of labels, shipped, computed, did you mean \"shipped\"?",
        ),
        (
            "metric = \"top1\"",
            "metric = \"close\"\ntolerance = { f32 = 0.0 }",
            "b.toml: quality.tolerance.f32: 0: give a number above 0",
        ),
        (
            "[[outputs]]",
            "[[outputs]]\nname = \"first\"\nelement_type = \"f32\"\nshape = [1]\nvaries = true\n\n[[outputs]]",
            "b.toml: outputs.0.varies: true: of the outputs only the last may vary",
        ),
        (
            "[scenarios.Server]",
            "[refused]\nServer = \"slow\"\n[scenarios.Server]",
            "b.toml: refused.Server: the benchmark has this scenario",
        ),
        (
            "[scenarios.Server]",
            "[refused]\nOfline = \"slow\"\n[scenarios.Server]",
            "b.toml: refused.Ofline: unknown scenario, did you mean \"Offline\"?",
        ),
        (
            "[scenarios.Server]",
            "[scenarios.Server]\nbatch_size = 0",
            "benchmark digits-mlp (b.toml): scenarios.Server.batch_size = 0 is out of range: give a whole number from 1 \
             to 1048576",
        ),
        (
            "[scenarios.Server]",
            "[scenarios.Server]\ninstances = 2",
            "b.toml: scenarios.Server.instances: unknown setting",
        ),
    ] {
        assert_eq!(problems(from, to), [expected]);
    }
    let text = DIGITS_MLP.replacen("shape = [10]", "shape = [10]\nvaries = true", 1);
    assert!(Benchmark::parse(&text, Path::new("b.toml")).unwrap().last_output_varies);
    let text = DIGITS_MLP.replacen("shape = [64]", "shape = [64]\nvaries = true", 1);
    let benchmark = Benchmark::parse(&text, Path::new("b.toml")).unwrap();
    assert_eq!((benchmark.inputs_vary, benchmark.last_output_varies), (true, false));
}

#[test]
fn a_file_may_be_the_users_or_of_the_data_set() {
    let parsed = |of: &str| {
        let (before, rest) = DIGITS_MLP.split_once("[model.files.safetensors]\n").unwrap();
        let (_, after) = rest.split_once("\n\n").unwrap();
        let text = format!("{before}[model.files.safetensors]\n{of}\n\n{after}");
        let parsed = Benchmark::parse(&text, Path::new("b.toml")).map_err(|error| error.to_string());
        parsed.map(|benchmark| benchmark.model.files["safetensors"].clone())
    };
    let supplied = |stand_in: Option<&str>| ModelFile::Supplied {
        about: "yours".to_owned(),
        stand_in: stand_in.map(str::to_owned),
    };
    assert_eq!(parsed("supplied = \"yours\"").unwrap(), supplied(None));
    assert_eq!(parsed("supplied = \"yours\"\ngenerated = \"gnmt\"").unwrap(), supplied(Some("gnmt")));
    let tokens = ModelFile::OfDataset { path: "lists/tokens.txt".into() };
    assert_eq!(parsed("dataset_file = \"lists/tokens.txt\"").unwrap(), tokens);
    for outside in ["", "/tokens.txt", "../tokens.txt"] {
        let error = parsed(&format!("dataset_file = \"{outside}\"")).unwrap_err();
        let key = "b.toml: model.files.safetensors.dataset_file";
        assert_eq!(error, format!("{key}: \"{outside}\": give a path below the data set's folder"));
    }
    assert!(parsed("supplied = \" \"").unwrap_err().contains("give path and sha256"));
}

/// The digits MLP with a file of its own for a precision.
fn with_precision(table: &str) -> String {
    DIGITS_MLP.replacen("# Tensors of one sample.", &format!("{table}\n# Tensors of one sample."), 1)
}

#[test]
fn a_precision_may_have_files_of_its_own() {
    let sum = "0".repeat(64);
    let table = format!("[model.precisions.int8.files.onnx]\npath = \"mine/int8.onnx\"\nsha256 = \"{sum}\"");
    let benchmark = Benchmark::parse(&with_precision(&table), Path::new("b.toml")).unwrap();
    let model = &benchmark.model;
    let own = ModelFile::Published { path: "mine/int8.onnx".into(), sha256: sum };
    let for_int8 = model.files_for("int8");
    assert_eq!(for_int8.keys().copied().collect::<Vec<_>>(), ["onnx", "safetensors"]);
    assert_eq!(for_int8["onnx"], &own);
    assert_eq!(for_int8["safetensors"], &model.files["safetensors"]);
    assert_eq!(model.files_for("f32")["onnx"], &model.files["onnx"]);
    let formats: Vec<_> = model.formats().collect();
    assert_eq!(formats, [("onnx", None), ("safetensors", None), ("onnx", Some("int8"))]);
}

#[test]
fn files_for_a_precision_are_checked_as_the_others_are() {
    let problems = |table: &str| {
        let errors = Benchmark::parse(&with_precision(table), Path::new("b.toml")).unwrap_err();
        errors.to_string().lines().map(ToOwned::to_owned).collect::<Vec<_>>()
    };
    let same = DIGITS_MLP.split_once("[model.files.onnx]\n").unwrap().1;
    let same = same.split_once("\n\n").unwrap().0;
    for (table, expected) in [
        (
            "[model.precisions.int8.files]",
            "b.toml: model.precisions.int8.files: empty: give at least one file",
        ),
        ("[model.precisions.int8]", "b.toml: model.precisions.int8.files: missing key"),
        (
            "[model.precisions.int8.file.onnx]\ngenerated = \"x\"",
            "b.toml: model.precisions.int8.file: unknown key, did you mean \"files\"?",
        ),
        (
            "[model.precisions.int8.files.onnx]\npath = \"x.onnx\"",
            "b.toml: model.precisions.int8.files.onnx: give path and sha256, or generated, or supplied with or without \
             generated, or dataset_file",
        ),
        (
            "[model.precisions.int8.files.onnx]\npath = \"../x.onnx\"\nsha256 = \"x\"",
            "b.toml: model.precisions.int8.files.onnx.path: \"../x.onnx\": give a path below the data root",
        ),
        (
            "[model.precisions.INT8.files.onnx]\ngenerated = \"x\"",
            "b.toml: model.precisions.INT8: \"INT8\" is no name: use lower-case letters, digits, `-`, `_` and `.`",
        ),
        (
            &format!("[model.precisions.int8.files.onnx]\n{same}"),
            "b.toml: model.precisions.int8.files.onnx: the file of model.files.onnx, which is for any precision: leave it \
             out",
        ),
    ] {
        assert_eq!(problems(table)[0], expected);
    }
}

#[test]
fn several_problems_are_reported_at_once() {
    let text = DIGITS_MLP.replace("reference = 0", "reference = -0").replace("shape = [10]", "shape = [-10]");
    assert_eq!(Benchmark::parse(&text, Path::new("b.toml")).unwrap_err().to_string().lines().count(), 2);
}

/// The definition of a network for pictures with steps of its own.
const OWN_STEPS: &str = "preprocessing = \"image\"\n\n[image]\nresize = \"pillow-bicubic\"\nshort_side = 256\n\
                         mean = [127, 127, 127.0]\ndeviation = [128, 128, 128]\n\n[model]";

/// The mistakes of that definition with one piece of text replaced; none if it is right.
fn mistakes(from: &str, to: &str) -> Vec<String> {
    let resnet = include_str!("../../benchmarks/resnet50.toml").replace("suite = \"resnet50\"\n", "");
    let named = "preprocessing = \"imagenet-vgg\"";
    let text = resnet.replacen(named, "", 1).replacen("[model]", OWN_STEPS, 1);
    assert!(resnet.contains(named) && text.contains(from), "{from}");
    match Benchmark::parse(&text.replacen(from, to, 1), Path::new("b.toml")) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.to_string().lines().map(ToOwned::to_owned).collect(),
    }
}

#[test]
fn a_definition_may_have_steps_of_its_own() {
    assert_eq!(mistakes("", ""), [""; 0]);
    assert_eq!(mistakes("short_side = 256", "channels = \"bgr\""), [""; 0]);
    let resize = "b.toml: image.resize: \"cubic\": give one of opencv-area, opencv-linear, opencv-linear-f32, \
                  pillow-bilinear, pillow-bicubic";
    for (from, to, mistake) in [
        ("resize = \"pillow-bicubic\"\n", "", "b.toml: image.resize: missing key"),
        ("\"pillow-bicubic\"", "\"cubic\"", resize),
        ("short_side", "shortside", "b.toml: image.shortside: unknown key, did you mean \"short_side\"?"),
        (
            "= 256",
            "= 200",
            "b.toml: image.short_side: 200: a crop of 224 x 224, as the input has it, takes a short side from 224 to 65536",
        ),
        (
            "[128, 128, 128]",
            "[128, 0, 128]",
            "b.toml: image.deviation: [128.0, 0.0, 128.0]: give three numbers above 0",
        ),
        (
            "element_type = \"f32\"",
            "element_type = \"u8\"",
            "b.toml: image.mean: the input takes bytes as they are: leave it out, or declare the input as f32",
        ),
        (
            "shape = [3, 224, 224]",
            "shape = [1, 28, 28]",
            "b.toml: inputs: image f32[1, 28, 28]: [image] makes one f32 or u8 tensor of shape [3, height, width] or \
             [height, width, 3]",
        ),
        (
            "preprocessing = \"image\"",
            "preprocessing = \"imagenet-vgg\"",
            "b.toml: image: preprocessing is \"imagenet-vgg\": leave the table out, or give preprocessing = \"image\"",
        ),
    ] {
        assert_eq!(mistakes(from, to), [mistake], "{to}");
    }
    let without = &OWN_STEPS[OWN_STEPS.find("[image]").unwrap()..];
    assert_eq!(
        mistakes(without, "[model]"),
        ["b.toml: image: missing table: preprocessing = \"image\" takes its steps from it"]
    );
}
