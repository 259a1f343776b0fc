//! Access that a plugin has by what it is, says or comes with, and not by the user's word.

use std::{fs, os::unix::fs::symlink, path::Path};

use super::{
    attempts::Attempts,
    world::{User, World, isolation},
};

/// The fewest attempts of the group `files`.
const COUNT: usize = 40;

#[test]
fn a_link_beside_the_library_opens_nothing() {
    let Some(world) = World::new(User::Own, |_| Vec::new()) else { return };
    let entries = fs::read_dir(world.file("datasets/digits")).expect("the digits are there").flatten();
    let mut labels = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("labels"));
    for (link, target) in [
        ("libcredentials.so.1", world.file("home/secret.txt")),
        ("libl.so.2", labels.next().expect("they have labels").path()),
        ("liball.so", world.file("datasets")),
    ] {
        symlink(target, world.file("plugin").join(link)).expect("a link can be made");
    }
    assert_nothing_is_open(&world);
}

/// Runs the attempts on files, and asserts that each is refused.
fn assert_nothing_is_open(world: &World) {
    let run = world.run("files", "");
    let Some(isolation) = isolation(&run) else { return };
    assert_eq!(isolation["data_readable"], false, "{}", run.finished);
    Attempts::of(&run).assert_refused(world.user(), COUNT, &run);
    run.assert_valid();
}

#[test]
fn the_default_of_an_option_opens_nothing() {
    let root = |_: &Path| vec!["PATH_DEFAULT=\"/\"".to_owned()];
    let home = |world: &Path| vec![format!("PATH_DEFAULT=\"{}/home\"", world.display())];
    let data = |world: &Path| vec![format!("PATH_DEFAULT=\"{}/datasets\"", world.display())];
    for default in [&root as &dyn Fn(&Path) -> Vec<String>, &home, &data] {
        let Some(world) = World::new(User::Own, default) else { return };
        assert_nothing_is_open(&world);
    }
}

#[test]
fn what_the_user_gives_is_open_and_no_valid_run_reads_the_answers() {
    let has_option = |_: &Path| vec!["PATH_DEFAULT=\"/nowhere\"".to_owned()];
    let Some(world) = World::new(User::Own, has_option) else { return };
    let data = world.file("datasets");
    for flags in
        [format!("--set attacker.data={}", data.display()), format!("--set isolate_read={}", data.display())]
    {
        let run = world.run("files", &flags);
        let Some(isolation) = isolation(&run) else { return };
        assert_eq!(isolation["data_readable"], true, "{}", run.finished);
        let attempts = Attempts::of(&run);
        assert!(attempts.has_succeeded("read-labels"), "{}", run.finished);
        assert!(!attempts.has_succeeded("read-secret"), "{}", run.finished);
        assert_ne!(run.finished.code(), 0, "{}", run.finished);
        run.assert_invalid(&["the answers"]);
    }
}

#[test]
fn a_network_that_a_plugin_declares_is_not_given() {
    let Some(world) = World::new(User::Own, |_| vec!["IS_NETWORK".to_owned()]) else { return };
    let run = world.run("sockets", "");
    let Some(isolation) = isolation(&run) else { return };
    assert_eq!(isolation["network"], "denied", "{}", run.finished);
    assert_eq!(run.result()["plugin"]["network"], true, "{}", run.finished);
    Attempts::of(&run).assert_refused(world.user(), 15, &run);
    // The user may give it.
    let run = world.run("sockets", "--set isolate_network=true");
    assert_eq!(run.result()["plugin"]["isolation"]["network"], "allowed", "{}", run.finished);
    assert!(Attempts::of(&run).has_succeeded("tcp"), "{}", run.finished);
}

#[test]
fn a_device_that_the_user_names_is_given() {
    let Some(world) = World::new(User::Own, |_| Vec::new()) else { return };
    let run = world.run_that_may_read("--set attacker.group=devices --set isolate_devices=/dev/shm");
    if isolation(&run).is_none() {
        return;
    }
    assert!(Attempts::of(&run).has_succeeded("own-shared-memory"), "{}", run.finished);
    assert!(world.left_in_shared_memory().exists(), "{}", run.finished);
}

#[test]
fn the_name_of_a_folder_of_the_host_is_a_name_like_any_other() {
    for name in ["prepared", "generated", "plugins"] {
        let define = |_: &Path| vec![format!("PLUGIN_NAME=\"{name}\"")];
        let Some(world) = World::new(User::Own, define) else { return };
        let run = world.run_named(name, "naming", "");
        assert!(Attempts::of(&run).has_succeeded("leave"), "{}", run.finished);
        for folder in ["prepared", "generated"] {
            let entries = fs::read_dir(world.file("cache/proctor").join(folder)).expect("it is there");
            let names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
            assert_eq!(names, ["precious"], "{name}: {}", run.finished);
        }
        run.assert_valid();
    }
}
