//! The attempts that a plugin makes while a test runs, group by group, as each user.

use std::{collections::BTreeSet, fs, thread, time::Duration};

use proctor_tests::Run;

use super::{
    attempts::Attempts,
    limits,
    world::{User, World, isolation},
};

/// Groups of attempts, with how many there are at least.
const GROUPS: [(&str, usize); 6] =
    [("files", 40), ("devices", 20), ("processes", 30), ("sockets", 15), ("system", 14), ("environment", 2)];

/// Runs a group of attempts as each user, asserts that they are refused, and has `look` look at what is left.
fn check(group: &str, look: impl Fn(&World, &Run)) {
    let count = GROUPS.iter().find(|(name, _)| *name == group).map(|(_, count)| *count);
    for user in User::all() {
        let Some(world) = World::new(user, |_| Vec::new()) else { return };
        let run = world.run(group, "");
        let Some(isolation) = isolation(&run) else { return };
        Attempts::of(&run).assert_refused(user, count.expect("it is a group"), &run);
        assert_eq!(isolation["data_readable"], false, "{}", run.finished);
        assert_eq!(isolation["host_memory"], "out of reach", "{}", run.finished);
        assert_eq!(isolation["network"], "denied", "{}", run.finished);
        assert_eq!(isolation["calls"], "filtered", "{}", run.finished);
        assert_eq!(isolation["capabilities"], "none", "{}", run.finished);
        let has_scope = isolation["landlock_abi"].as_u64().is_some_and(|abi| abi >= 6);
        let processes = if has_scope { "out of reach" } else { "open" };
        assert_eq!(isolation["other_processes"], processes, "{}", run.finished);
        look(&world, &run);
        run.assert_valid();
    }
}

#[test]
fn files_and_folders_of_others_are_out_of_reach() {
    check("files", |world, _| {
        let read = |name: &str| fs::read_to_string(world.file(name)).unwrap_or_default();
        assert_eq!(read("home/secret.txt"), "secret-of-the-home");
        for name in ["emptied", "removed", "renamed"] {
            assert_eq!(read(&format!("home/{name}.txt")), format!("{name}, it is not"));
        }
        assert!(!world.file("home/folder").exists());
    });
}

#[test]
fn terminals_and_devices_are_out_of_reach() {
    check("devices", |world, run| {
        let report = world.report();
        assert_eq!((report.typed, report.shown), (0, 0), "{}", run.finished);
        // It may have shared memory of its own.
        assert!(!world.left_in_shared_memory().exists(), "{}", run.finished);
    });
}

#[test]
fn other_processes_are_out_of_reach() {
    check("processes", |_, _| ());
}

#[test]
fn sockets_reach_nobody() {
    check("sockets", |world, _| assert!(!world.file("home/listener").exists()));
}

#[test]
fn rights_over_the_system_are_given_up() {
    check("system", |_, _| ());
}

#[test]
fn variables_of_the_user_are_not_passed_on() {
    check("environment", |_, _| ());
}

#[test]
fn what_stands_is_tried() {
    let Some(world) = World::new(User::Own, |_| Vec::new()) else { return };
    // No other group has any.
    let runs = ["files", "processes"].map(|group| world.run(group, ""));
    let attempts: Vec<_> = runs.iter().map(Attempts::of).collect();
    let names: BTreeSet<_> = attempts.iter().flat_map(Attempts::names).collect();
    let unknown: Vec<_> = limits::names().filter(|name| !names.contains(name)).collect();
    assert!(unknown.is_empty(), "{unknown:?} are no attempts: {names:?}");
}

#[test]
fn a_process_that_left_its_group_ends_with_the_run_or_is_named() {
    for user in User::all() {
        let Some(world) = World::new(user, |_| Vec::new()) else { return };
        let run = world.run("staying", "");
        run.assert_valid();
        if !Attempts::of(&run).has_succeeded("stay") || limits::stands("stay", user) {
            continue;
        }
        let signs = ["cache/proctor/plugins/attacker/alive"];
        let signs = signs.map(|sign| world.file(sign));
        signs.iter().for_each(|sign| _ = fs::remove_file(sign));
        thread::sleep(Duration::from_millis(500));
        assert!(!signs.iter().any(|sign| sign.exists()), "it lives: {}", run.finished);
    }
}
