//! Changes of the host in the middle of a measurement: refused, or the run is not VALID.

use proctor_tests::Run;

use super::{
    attempts::Attempts,
    world::{User, World},
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
