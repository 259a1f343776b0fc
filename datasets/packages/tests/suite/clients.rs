//! Clients that fetch packages, and two processes at a time.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use proctor_packages::{Client, PackageError};
use proctor_test_needs::name_of;

use crate::{
    bed::{Bed, User, copying, deb, names_in, script, tgz, wheel, with_own_programs},
    things::{CONVERTED, OF_DEB, OF_WHEEL},
};

#[test]
fn pip_fetches_a_wheel_by_the_first_way_that_runs() {
    let Some(programs) = with_own_programs(name_of(pip_fetches_a_wheel_by_the_first_way_that_runs)) else {
        return;
    };
    let bed = Bed::new();
    let file = bed.write("registry/test_things-1.0-py3-none-any.whl", wheel("abc"));
    // A Python without pip.
    script(&programs, "python3", "echo \"$0: No module named pip\" >&2; exit 1");
    script(&programs, "pip3", &copying(&file, &bed.path("calls"), Some("--dest")));
    let user = User::default();
    let got = bed.get(&OF_WHEEL, None, &user).unwrap();
    assert_eq!(got.placed, ["a.txt", "b.txt", "c"]);
    let calls = fs::read_to_string(bed.path("calls")).unwrap();
    for words in ["download ", " --no-deps --only-binary :all: ", " test-things==1.0\n"] {
        assert!(calls.contains(words), "{calls}");
    }
    // Everything is there now, and nothing is fetched again.
    assert_eq!(bed.get(&OF_WHEEL, None, &user).unwrap().placed, Vec::<&str>::new());
    assert_eq!(fs::read_to_string(bed.path("calls")).unwrap(), calls);
    assert_eq!(names_in(&bed.root()), ["of-wheel"]);
}

#[test]
fn npm_fetches_without_scripts() {
    let Some(programs) = with_own_programs(name_of(npm_fetches_without_scripts)) else { return };
    let bed = Bed::new();
    let file = bed.write("registry/test-things-1.0.0.tgz", tgz("def"));
    script(&programs, "npm", &copying(&file, &bed.path("calls"), Some("--pack-destination")));
    bed.get(&CONVERTED, None, &User::default()).unwrap();
    assert_eq!(bed.read("converted/whole.txt"), "abcdef");
    let calls = fs::read_to_string(bed.path("calls")).unwrap();
    assert!(
        calls.starts_with("pack --ignore-scripts ") && calls.ends_with(" test-things@1.0.0\n"),
        "{calls}"
    );
}

#[test]
fn apt_fetches_its_lists_where_the_system_has_none() {
    let Some(programs) = with_own_programs(name_of(apt_fetches_its_lists_where_the_system_has_none)) else {
        return;
    };
    let bed = Bed::new();
    let Some(file) = deb(&bed) else { return };
    let calls = bed.path("calls");
    let unlisted =
        "case \"$*\" in *Dir::State::Lists=*) ;; *) echo 'E: Unable to locate package' >&2; exit 100;; esac";
    let copying = copying(&file, &calls, None);
    script(&programs, "apt-get", &format!("{unlisted}\ncase \"$*\" in *update) exit 0;; esac\n{copying}"));
    script(&programs, "dpkg-deb", "exec dpkg-deb \"$@\"");
    let user = User::default();
    bed.get(&OF_DEB, None, &user).unwrap();
    assert_eq!(bed.read("of-deb/a.txt"), "abc");
    assert!(user.shown().contains("FetchingLists"), "{}", user.shown());
    assert!(fs::read_to_string(calls).unwrap().ends_with(" download test-things\n"));

    fs::remove_file(programs.join("dpkg-deb")).unwrap();
    let other = Bed::new();
    let error = other.get(&OF_DEB, None, &user).unwrap_err();
    assert!(matches!(error, PackageError::NoDpkgDeb { .. }), "{error}");
    other.assert_nothing_left();
}

#[test]
fn a_client_that_is_not_there_is_named_with_a_way_to_install_it() {
    let test = name_of(a_client_that_is_not_there_is_named_with_a_way_to_install_it);
    let Some(_) = with_own_programs(test) else { return };
    for (thing, client, package) in [
        (&OF_WHEEL, Client::Pip, "python3-pip"),
        (&CONVERTED, Client::Npm, "apt-get install npm"),
        (&OF_DEB, Client::Apt, "Debian and Ubuntu"),
    ] {
        let bed = Bed::new();
        let error = bed.get(thing, None, &User::default()).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, PackageError::NoClient { client: found, .. } if found == client), "{text}");
        assert!(text.contains(package) && text.contains(" --from FOLDER"), "{text}");
        bed.assert_nothing_left();
    }
}

#[test]
fn the_words_of_a_client_that_fails_are_told() {
    let Some(programs) = with_own_programs(name_of(the_words_of_a_client_that_fails_are_told)) else {
        return;
    };
    script(
        &programs,
        "python3",
        "echo 'WARNING: retrying'; echo 'ERROR: no route to the registry' >&2; exit 1",
    );
    let bed = Bed::new();
    let text = bed.get(&OF_WHEEL, None, &User::default()).unwrap_err().to_string();
    assert!(text.starts_with("pip could not fetch test-things: ERROR: no route to the registry; "), "{text}");
    assert!(text.contains("`pip download --no-deps --only-binary :all: test-things==1.0`"), "{text}");
    bed.assert_nothing_left();
    script(&programs, "python3", "exit 0");
    let text = bed.get(&OF_WHEEL, None, &User::default()).unwrap_err().to_string();
    assert!(text.contains("test-things: it left no package; "), "{text}");
    bed.assert_nothing_left();
}

#[test]
fn a_wrong_package_is_refused_and_nothing_is_kept() {
    let Some(programs) = with_own_programs(name_of(a_wrong_package_is_refused_and_nothing_is_kept)) else {
        return;
    };
    let bed = Bed::new();
    let file = bed.write("registry/test_things-1.0-py3-none-any.whl", wheel("abX"));
    script(&programs, "python3", &copying(&file, &bed.path("calls"), Some("--dest")));
    let error = bed.get(&OF_WHEEL, None, &User::default()).unwrap_err();
    assert!(matches!(error, PackageError::Checksum { .. }), "{error}");
    bed.assert_nothing_left();
}

#[test]
fn an_end_by_the_user_leaves_nothing_and_no_client() {
    let Some(programs) = with_own_programs(name_of(an_end_by_the_user_leaves_nothing_and_no_client)) else {
        return;
    };
    let bed = Bed::new();
    let id = bed.path("id");
    script(&programs, "python3", &format!("echo $$ > {}; touch half.whl; sleep 600 & wait", id.display()));
    let user = User { ends_at: Some("Fetching"), ..User::default() };
    let begin = Instant::now();
    let error = bed.get(&OF_WHEEL, None, &user).unwrap_err();
    assert!(matches!(error, PackageError::Interrupted), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(300), "the client was waited for");
    bed.assert_nothing_left();
    // It may not have come as far as writing it.
    if let Some(id) = fs::read_to_string(id).ok().filter(|id| !id.is_empty()) {
        assert!(!fs::exists(format!("/proc/{}", id.trim())).unwrap(), "the client goes on");
    }
}

#[test]
fn a_second_process_waits_and_fetches_nothing() {
    let Some(programs) = with_own_programs(name_of(a_second_process_waits_and_fetches_nothing)) else {
        return;
    };
    let bed = Bed::new();
    let file = bed.write("registry/test_things-1.0-py3-none-any.whl", wheel("abc"));
    let (calls, go) = (bed.path("calls"), bed.path("go"));
    let waiting = format!("while [ ! -e {} ]; do sleep 0.05; done", go.display());
    script(&programs, "python3", &format!("{}\n{waiting}", copying(&file, &calls, Some("--dest"))));
    let users = [User::default(), User::default()];
    thread::scope(|scope| {
        let works = users.each_ref().map(|user| scope.spawn(|| bed.get(&OF_WHEEL, None, user).unwrap()));
        while !users.iter().any(|user| user.shown().contains("Waiting")) {
            assert!(works.iter().all(|work| !work.is_finished()), "both were done without a wait");
            thread::sleep(Duration::from_millis(10));
        }
        fs::write(&go, "").unwrap();
        let mut placed = works.map(|work| work.join().unwrap().placed.len());
        placed.sort_unstable();
        assert_eq!(placed, [0, 3]);
    });
    assert_eq!(fs::read_to_string(calls).unwrap().lines().count(), 1);
    assert_eq!(names_in(&bed.root()), ["of-wheel"]);
}

#[test]
fn leftovers_of_a_process_that_was_killed_go_at_the_next_time() {
    let bed = Bed::new();
    bed.write("data/.get-of-wheel/out/a.txt", "ab");
    bed.write("data/.get-of-wheel/words", "");
    let file = bed.write("user/test_things-1.0-py3-none-any.whl", wheel("abc"));
    bed.get(&OF_WHEEL, Some(&file), &User::default()).unwrap();
    assert_eq!(names_in(&bed.root()), ["of-wheel"]);
    assert_eq!(bed.read("of-wheel/a.txt"), "abc");
}
