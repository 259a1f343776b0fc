//! Graph models of TensorFlow.js, read.

use proctor_model_files::{Attribute, Constant, Graph, Values};
use serde_json::json;

use crate::models::{Model, list};

fn constant(graph: &Graph, name: &str) -> Constant {
    match &graph.nodes()[graph.place(name).unwrap()].attributes["value"] {
        Attribute::Constant(constant) => constant.clone(),
        other => panic!("{other:?}"),
    }
}

fn message(model: &Model, shards: &[Vec<u8>]) -> String {
    Graph::of_graph_model(&model.json(), shards).unwrap_err().to_string()
}

#[test]
fn parameters_are_read_as_protobuf_writes_them() {
    let mut model = Model::default();
    model.node("Placeholder", "x", &[], json!({"dtype": {"type": 1}, "shape": {"shape": {"dim": []}}}));
    let attributes = json!({
        "strides": list(&[1, 2, 2, 1]),
        "padding": {"s": [83, 65, 77, 69]},
        "data_format": {"s": "TkhXQw=="},
        "axis": {"i": "-1"},
        "N": {"i": 3},
        "epsilon": {"f": 0.5},
        "is_training": {"b": false},
        "T": {"type": "DT_FLOAT"},
    });
    model.node("Conv2D", "y", &["x:1", "^x"], attributes);
    let graph = model.graph();
    let node = &graph.nodes()[1];
    assert_eq!(
        (node.operator.as_str(), &node.inputs[..]),
        ("Conv2D", &["x:1".to_owned(), "^x".to_owned()][..])
    );
    let wanted = [
        ("N", Attribute::Int(3)),
        ("T", Attribute::Other),
        ("axis", Attribute::Int(-1)),
        ("data_format", Attribute::Text("NHWC".to_owned())),
        ("epsilon", Attribute::Float(0.5)),
        ("is_training", Attribute::Flag(false)),
        ("padding", Attribute::Text("SAME".to_owned())),
        ("strides", Attribute::Ints(vec![1, 2, 2, 1])),
    ];
    assert_eq!(node.attributes, wanted.map(|(key, value)| (key.to_owned(), value)).into());
}

#[test]
fn weights_lie_behind_each_other_in_any_number_of_shards() {
    let mut model = Model::default();
    model.reals("a", &[2, 1], &[1.5, -2.0]);
    model.ints("b", &[], &[-7]);
    model.constant(json!({"name": "c", "shape": [2], "dtype": "bool"}), &[0, 1]);
    let one = model.graph();
    let described = json!([
        {"paths": ["1", "2", "3"], "weights": model.weights[..2]},
        {"paths": ["4"], "weights": model.weights[2..]},
    ]);
    let text = json!({"modelTopology": {"node": model.nodes}, "weightsManifest": described});
    let parts = [&model.bytes[..3], &[], &model.bytes[3..12], &model.bytes[12..]].map(<[u8]>::to_vec);
    let several = Graph::of_graph_model(&serde_json::to_vec(&text).unwrap(), &parts).unwrap();
    assert_eq!(one, several);
    assert_eq!(constant(&one, "a"), Constant { dims: vec![2, 1], values: Values::Reals(vec![1.5, -2.0]) });
    assert_eq!(constant(&one, "b"), Constant { dims: vec![], values: Values::Ints(vec![-7]) });
    assert_eq!(constant(&one, "c"), Constant { dims: vec![2], values: Values::Ints(vec![0, 1]) });
}

#[test]
fn smaller_weights_become_what_they_stand_for() {
    let mut model = Model::default();
    let small = |name: &str, dtype: &str, quantization| json!({"name": name, "shape": [2], "dtype": dtype, "quantization": quantization});
    let scaled = |kind: &str| json!({"dtype": kind, "scale": 0.5, "min": -1.0, "original_dtype": "float32"});
    model.constant(small("u8", "float32", scaled("uint8")), &[0, 255]);
    model.constant(small("u16", "float32", scaled("uint16")), &[2, 0, 255, 255]);
    model.constant(small("f16", "float32", json!({"dtype": "float16"})), &[0x00, 0x3c, 0x00, 0xc0]);
    model.constant(small("ints", "int32", scaled("uint8")), &[1, 7]);
    let graph = model.graph();
    let values = |name: &str| constant(&graph, name).values;
    assert_eq!(values("u8"), Values::Reals(vec![-1.0, 126.5]));
    assert_eq!(values("u16"), Values::Reals(vec![0.0, 32766.5]));
    assert_eq!(values("f16"), Values::Reals(vec![1.0, -2.0]));
    // Halves are rounded up, as by JavaScript's Math.round.
    assert_eq!(values("ints"), Values::Ints(vec![0, 3]));
}

#[test]
fn shards_that_do_not_fit_the_manifest_are_refused() {
    let mut model = Model::default();
    model.reals("a", &[2], &[1.0, 2.0]);
    assert_eq!(
        message(&model, &[]),
        "the model's manifest names 1 shards of weights, and 0 are given; give each, in its order"
    );
    assert!(
        message(&model, &[vec![0; 7]])
            .starts_with("weights \"a\" of the model's manifest reach beyond the shards")
    );
    assert_eq!(
        message(&model, &[vec![0; 9]]),
        "the shards group1-shard1of1 have 9 bytes, and the manifest describes 8; fetch them again"
    );
    model.constant(json!({"name": "big", "shape": [u64::MAX, 2], "dtype": "float32"}), &[]);
    assert_eq!(
        message(&model, &[vec![0; 8]]),
        "weights \"big\" of the model's manifest are larger than any memory"
    );
}

#[test]
fn weights_of_other_forms_are_refused_by_name() {
    for (described, text) in [
        (json!({"name": "a", "shape": [], "dtype": "string"}), "are string, which is not supported"),
        (
            json!({"name": "a", "shape": [], "dtype": "float32", "quantization": {"dtype": "int4"}}),
            "are float32 kept as int4, which is not supported",
        ),
        (
            json!({"name": "a", "shape": [], "dtype": "float32", "quantization": {"dtype": "uint8"}}),
            "are float32 kept as uint8, which is not supported",
        ),
    ] {
        let mut model = Model::default();
        model.constant(described, &[]);
        assert_eq!(message(&model, &[vec![]]), format!("weights \"a\" of the model's manifest {text}"));
    }
}

#[test]
fn models_that_are_none_are_refused() {
    let mut model = Model::default();
    assert_eq!(message(&model, &[vec![]]), "it holds no graph: it has no nodes");
    model.node("Const", "a", &[], json!({}));
    assert_eq!(message(&model, &[vec![]]), "constant \"a\" is not in the model's manifest");
    let mut model = Model::default();
    model.node("Placeholder", "x", &[], json!({}));
    model.node("Relu", "x", &[], json!({}));
    assert_eq!(message(&model, &[vec![]]), "two nodes of the graph are called \"x\"");
    // A model of layers has its networks under another key.
    let layers = br#"{"modelTopology": {"model_config": {}}, "weightsManifest": []}"#;
    let error = Graph::of_graph_model(layers, &[]).unwrap_err().to_string();
    assert!(error.starts_with("it is not a graph model of TensorFlow.js: missing field `node`"), "{error}");
}
