//! Changes of the host in the middle of a measurement: refused, or the run is not VALID.

use std::thread::available_parallelism;

use proctor_test_needs::skip_without_hardware;
use proctor_tests::Run;

use super::{
    attempts::Attempts,
    world::{User, World, isolation},
};

/// Runs a group of attempts that would change what is measured, as each user.
fn check(group: &str, look: impl Fn(&Run)) {
    for user in User::all() {
        let Some(world) = World::new(user, |_| Vec::new()) else { return };
        let run = world.run(group, "");
        let attempts = Attempts::of(&run);
        let names = attempts.names();
        assert!(!names.is_empty(), "{}", run.finished);
        if names.iter().any(|name| attempts.has_succeeded(name)) {
            run.assert_invalid(&["plugin attacker"]);
        } else {
            run.assert_valid();
        }
        look(&run);
    }
}

#[test]
fn a_plugin_does_not_slow_the_host_down() {
    check("slowing", |_| ());
}

#[test]
fn a_plugin_does_not_take_the_room_of_the_result() {
    check("starving", |run| assert!(run.find_text("mlperf_log_summary.txt").is_some(), "{}", run.finished));
}

/// Part of the host's process that an attempt would change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Limits,
    Scheduling,
}

impl Change {
    /// The host's words for it.
    fn words(self) -> &'static str {
        match self {
            Self::Limits => "the limits",
            Self::Scheduling => "the priority, scheduler or processors",
        }
    }
}

/// Makes the attempts of a group where the host is not asked, and so cannot refuse them. `None` to skip the test.
fn run_compared(user: User, group: &str, flags: &str) -> Option<Run> {
    let world = World::new(user, |_| Vec::new()).and_then(World::in_sandbox)?;
    let run = world.run(group, flags);
    let isolation = isolation(&run)?;
    assert_eq!(isolation["host_limits"], "compared", "{}", run.finished);
    // The filter of the sandbox is not the one of the plugin's process, which has its own.
    assert_eq!(isolation["calls"], "filtered", "{}", run.finished);
    assert_eq!(isolation["network"], "denied", "{}", run.finished);
    Some(run)
}

/// Makes the attempts of a group as each user, and asserts that the run is INVALID for what they have changed.
fn check_compared(group: &str, flags: &str, change: Change) {
    for user in User::all() {
        let Some(run) = run_compared(user, group, flags) else { return };
        let attempts = Attempts::of(&run);
        let names = attempts.names();
        assert!(!names.is_empty(), "{}", run.finished);
        if names.iter().any(|name| attempts.has_succeeded(name)) {
            let words = change.words();
            run.assert_invalid(&[&format!(
                "{words} of the host's process changed while plugin attacker had a process"
            )]);
            continue;
        }
        // Of a process with capabilities the system lets one without change the limits alone.
        assert!(change == Change::Scheduling && user.is_root(), "{user:?}: {}", run.finished);
        run.assert_valid();
    }
}

#[test]
fn a_host_that_cannot_be_asked_compares_and_a_plugin_that_changes_nothing_is_valid() {
    for user in User::all() {
        let Some(run) = run_compared(user, "nothing", "") else { return };
        run.assert_valid();
    }
}

#[test]
fn a_host_that_cannot_be_asked_notices_a_changed_priority() {
    check_compared("change-priority", "", Change::Scheduling);
}

#[test]
fn a_host_that_cannot_be_asked_notices_a_changed_limit() {
    check_compared("change-limit", "", Change::Limits);
}

#[test]
fn a_host_that_cannot_be_asked_notices_other_processors() {
    if available_parallelism().map_or(1, usize::from) < 2 {
        skip_without_hardware("a second processor, to which the host could be moved");
        return;
    }
    // Where the issuing thread is held while a test runs, and where it is not.
    for flags in ["", "--set placement=off"] {
        check_compared("change-processors", flags, Change::Scheduling);
    }
}
