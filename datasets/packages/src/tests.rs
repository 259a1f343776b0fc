//! A user for the unit tests, and the tests of the table.

use std::collections::BTreeSet;

use crate::{
    catalogue::{Client, Making, THINGS, thing},
    watch::{Step, Watch},
};

/// A user who sees nothing and ends nothing.
pub(crate) struct Silent;

impl Watch for Silent {
    fn is_interrupted(&self) -> bool {
        false
    }

    fn show(&self, _: &Step<'_>) {}
}

#[test]
fn every_row_of_the_table_is_sound() {
    let names: BTreeSet<_> = THINGS.iter().map(|thing| thing.name).collect();
    assert_eq!(names.len(), THINGS.len(), "a name is there twice");
    for thing in THINGS {
        let files: BTreeSet<_> = thing.files.iter().map(|file| file.name).collect();
        assert_eq!(files.len(), thing.files.len(), "{}: a file is there twice", thing.name);
        assert!(thing.with.iter().all(|name| names.contains(name) && *name != thing.name), "{}", thing.name);
        let is_plain = |name: &str| !name.contains('/') && !name.starts_with('.');
        assert!(is_plain(thing.name) && files.iter().all(|name| is_plain(name)), "{}", thing.name);
        for file in thing.files {
            let is_sum =
                |text: &str| text.len() == 64 && text.bytes().all(|it| b"0123456789abcdef".contains(&it));
            assert!(is_sum(file.sha256) && file.bytes > 0, "{}", file.name);
            for member in file.members() {
                assert!(thing.packages.contains(&member.package), "{}", file.name);
                let is_gzip = matches!(file.making, Making::Unzipped(_));
                assert!(member.sha256.map_or(is_gzip, is_sum), "{}", file.name);
                assert!(member.path.len() == 1 || member.package.client == Client::Pip, "{}", file.name);
            }
        }
        for package in thing.packages {
            let is_used =
                thing.files.iter().any(|file| file.members().iter().any(|it| it.package == *package));
            assert!(is_used, "{}: no file needs {}", thing.name, package.name);
        }
    }
}

#[test]
fn a_package_is_known_by_the_name_of_its_file() {
    for (name, file) in [
        ("moonshine-tiny", "moonshine_voice-0.0.48-py3-none-manylinux_2_34_x86_64.whl"),
        ("fashion-mnist", "dataset-fashion-mnist_0.0~git20200523.55506a9-1_all.deb"),
    ] {
        let package = thing(name).unwrap().packages[0];
        assert!(package.is_named(file), "{file}");
        for other in [format!("x{file}"), format!("{file}.part"), file.replace("-0", "-extra-0")] {
            assert!(!package.is_named(&other) || package.client == Client::Apt, "{other}");
        }
    }
}

#[test]
fn an_unknown_name_is_answered_with_the_near_one() {
    let error = thing("librivoks").unwrap_err().to_string();
    assert!(
        error.starts_with("unknown model or data set \"librivoks\", did you mean \"librivox\"?"),
        "{error}"
    );
}
