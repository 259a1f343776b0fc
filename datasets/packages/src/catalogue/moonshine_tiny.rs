//! Moonshine tiny, English speech to text.

use super::{Client, Package, Placed, Thing};

static PACKAGE: Package = Package {
    client: Client::Pip,
    name: "moonshine-voice",
    version: "0.0.48",
    bytes: 84_884_507,
    licence: Some("moonshine_voice-0.0.48.dist-info/licenses/LICENSE"),
};

pub(super) static THING: Thing = Thing {
    name: "moonshine-tiny",
    about: "model: English speech to text, 27 M parameters, int8",
    licence: "MIT",
    packages: &[&PACKAGE],
    files: &[
        Placed::taken(
            &PACKAGE,
            &["moonshine_voice/assets/tiny-en/encoder_model.ort"],
            "encoder_model.ort",
            13_281_600,
            "94e90a4654fc45cdfedb77c4c08e1739f48862998e58fada384b25118134f221",
        ),
        Placed::taken(
            &PACKAGE,
            &["moonshine_voice/assets/tiny-en/decoder_model_merged.ort"],
            "decoder_model_merged.ort",
            30_412_256,
            "cf524c4862d36e9e5ab032eddc73637efd822d70e868ac575cf1a46e1e4708a0",
        ),
        Placed::taken(
            &PACKAGE,
            &["moonshine_voice/assets/tiny-en/tokenizer.bin"],
            "tokenizer.bin",
            249_974,
            "6884b35fd6377d4c4d32336a0bc152f36b64d1e45b6503683cdc238250a8472d",
        ),
    ],
    with: &["librivox"],
};
