//! Fashion-MNIST: 70,000 small pictures of clothes, without their gzip, so that no reader needs one.

use super::{Client, Making, Member, Package, Placed, Thing};

static PACKAGE: Package = Package {
    client: Client::Apt,
    name: "dataset-fashion-mnist",
    version: "0.0~git20200523.55506a9-1",
    bytes: 30_900_652,
    licence: Some("usr/share/doc/dataset-fashion-mnist/copyright"),
};

/// Creates a file of the folder with the pictures. Compressing it anew makes another gzip file of the same
/// content, so the package's own has no SHA-256.
macro_rules! unzipped {
    ($name:literal, $bytes:literal, $sha256:literal) => {
        Placed {
            name: $name,
            bytes: $bytes,
            sha256: $sha256,
            making: Making::Unzipped(Member {
                package: &PACKAGE,
                path: &[concat!("usr/share/datasets/fashion-mnist/", $name, ".gz")],
                bytes: $bytes,
                sha256: None,
            }),
        }
    };
}

pub(super) static THING: Thing = Thing {
    name: "fashion-mnist",
    about: "data set: 10,000 pictures of clothes, and 60,000 to train with",
    licence: "MIT",
    packages: &[&PACKAGE],
    files: &[
        unzipped!(
            "t10k-images-idx3-ubyte",
            7_840_016,
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"
        ),
        unzipped!(
            "t10k-labels-idx1-ubyte",
            10_008,
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"
        ),
        unzipped!(
            "train-images-idx3-ubyte",
            47_040_016,
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"
        ),
        unzipped!(
            "train-labels-idx1-ubyte",
            60_008,
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"
        ),
    ],
    with: &[],
};
