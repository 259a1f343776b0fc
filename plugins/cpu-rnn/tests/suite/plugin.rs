//! The plugin's declarations, models and refusals. (Batches through the table: `tests` of the workspace.)

use std::{collections::BTreeMap, path::Path};

use cpu_rnn_sut::CpuRnn;
use proctor_plugin_api::{
    Host, Model, ModelFile, ModelRequest, Options, Placement, Plugin, PluginError, abi, linked_plugins,
    vocabulary::{ElementType, Intent, Scenario, TensorSpec},
};

fn open(options: &[(&str, &str)]) -> Result<CpuRnn, String> {
    let given: BTreeMap<String, String> =
        options.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let options = Options::resolve(&CpuRnn::manifest().options, &given).map_err(|error| error.to_string())?;
    CpuRnn::open(Host::detached(), &options).map_err(|error| error.to_string())
}

fn tensor(name: &str, shape: &[usize]) -> TensorSpec {
    TensorSpec { name: name.into(), element_type: ElementType::F32, shape: shape.to_vec() }
}

/// The request of the digits benchmark.
fn digits() -> ModelRequest {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/digits/digits-lstm.safetensors");
    ModelRequest {
        model: "digits-lstm".into(),
        precision: "f32".into(),
        device: "cpu".into(),
        files: vec![ModelFile { format: "safetensors".into(), path }],
        inputs: vec![tensor("image", &[8, 8])],
        outputs: vec![tensor("logits", &[10])],
        scenario: Scenario::Offline,
        batch_size_max: 32,
        instance_count: 2,
        last_output_varies: false,
        inputs_vary: false,
        intent: Intent::default(),
        placements: Vec::new(),
    }
}

/// The same from an ONNX file.
fn onnx() -> ModelRequest {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../datasets/digits/digits-lstm.onnx");
    ModelRequest { files: vec![ModelFile { format: "onnx".into(), path }], ..digits() }
}

fn refusal(change: impl FnOnce(&mut ModelRequest)) -> PluginError {
    let mut request = digits();
    change(&mut request);
    let plugin = open(&[("calibration_s", "0")]).expect("the options are valid");
    plugin.load_model(&request).map(drop).expect_err("a request that does not fit")
}

#[test]
fn it_is_linked_in_under_its_name_and_declares_its_models() {
    let names: Vec<String> = linked_plugins().map(|plugin| (plugin.name)()).collect();
    assert_eq!(names, ["cpu-rnn"]);
    let manifest = CpuRnn::manifest();
    let model = &manifest.models[0];
    assert_eq!((model.model.as_str(), model.format.as_str()), ("digits-lstm", "safetensors"));
    assert_eq!((model.precision.as_str(), model.device.as_str()), ("f32", "cpu"));
    assert_eq!(model.scenarios, Scenario::ALL);
    assert_eq!(model.batch_size_max, 0);
    for id in
        ["rnn-*", "text-similarity", "text-similarity-33", "attention-sum-reader", "bidaf", "gnmt", "rnnt"]
    {
        for precision in ["f32", "bf16", "int8"] {
            let declared = manifest.models.iter().any(|row| row.model == id && row.precision == precision);
            assert!(declared, "{id} in {precision}");
        }
    }
}

#[test]
fn options_are_checked() {
    let all = [
        ("threads", "1"),
        ("gru_reset", "before"),
        ("optimise", "off"),
        ("calibration_s", "0.5"),
        ("pin", "off"),
    ];
    assert!(open(&all).is_ok());
    for (name, value) in [
        ("threads", "1024"),
        ("threads", "two"),
        ("gru_reset", "never"),
        ("thread", "1"),
        ("optimise", "on"),
        ("calibration_s", "-1"),
    ] {
        assert!(open(&[(name, value)]).expect_err("a bad option").contains(name));
    }
}

#[test]
fn the_digits_model_loads_and_makes_instances() {
    for threads in ["0", "1"] {
        let model =
            open(&[("threads", threads), ("calibration_s", "0")]).unwrap().load_model(&digits()).unwrap();
        for instance_index in 0..2 {
            let placement = Placement { instance_index, instance_count: 2, ..Placement::default() };
            assert!(model.create_instance(&placement).is_ok());
        }
    }
}

#[test]
fn a_model_explains_its_schedules() {
    let explain = |optimise| {
        let options = [("optimise", optimise), ("calibration_s", "0.05")];
        open(&options).unwrap().load_model(&digits()).unwrap().explain().unwrap()
    };
    assert!(explain("auto").contains("layer 0"), "{}", explain("auto"));
    assert!(explain("off").contains("Single"), "{}", explain("off"));
}

#[test]
fn an_onnx_file_of_the_same_model_loads() {
    let model = open(&[("calibration_s", "0")]).unwrap().load_model(&onnx()).unwrap();
    assert!(model.create_instance(&Placement::default()).is_ok());
    let request = ModelRequest { inputs: vec![tensor("image", &[7, 8])], ..onnx() };
    let error = open(&[]).unwrap().load_model(&request).map(drop).unwrap_err();
    assert_eq!(
        error.message,
        "the model takes image f32[batch, 8, 8], but the benchmark has image f32[7, 8]"
    );
    let request = ModelRequest { outputs: vec![tensor("logits", &[11])], ..onnx() };
    let error = open(&[]).unwrap().load_model(&request).map(drop).unwrap_err();
    assert_eq!(
        error.message,
        "the model gives logits f32[1, 10] for one sample, but the benchmark wants logits f32[11]"
    );
}

#[test]
fn both_kinds_of_file_refuse_a_batch_that_would_take_all_memory() {
    for request in [digits(), onnx()] {
        let request = ModelRequest { batch_size_max: u32::MAX, ..request };
        let model = open(&[("calibration_s", "0")]).unwrap().load_model(&request).unwrap();
        let error = model.create_instance(&Placement::default()).map(drop).unwrap_err();
        assert!(error.message.contains("lower the largest batch"), "{}", error.message);
    }
}

#[test]
fn a_request_without_a_file_or_with_other_tensors_says_what_is_wrong() {
    let error = refusal(|request| request.files.clear());
    assert_eq!(error.message, "model \"digits-lstm\" comes without a safetensors or onnx file");
    let error = refusal(|request| request.inputs = vec![tensor("image", &[64])]);
    assert_eq!(error.message, "the model takes one input f32[time, 8], but the benchmark has image f32[64]");
    let error = refusal(|request| request.outputs = vec![tensor("logits", &[11])]);
    assert_eq!(error.message, "the model gives one output f32[10], but the benchmark wants logits f32[11]");
    let error = refusal(|request| request.inputs[0].element_type = ElementType::U8);
    assert_eq!(error.status, abi::PROCTOR_STATUS_UNSUPPORTED);
}

#[test]
fn a_file_of_another_model_names_the_file() {
    let error = refusal(|request| {
        let path = &mut request.files[0].path;
        path.set_file_name("digits-cnn.safetensors");
    });
    assert!(error.message.contains("digits-cnn.safetensors holds no recurrent layer"), "{}", error.message);
    let error = refusal(|request| request.files[0].path = "/nowhere.safetensors".into());
    assert!(error.message.starts_with("cannot read weights /nowhere.safetensors"), "{}", error.message);
}
