//! Messages of the process of a plugin, and memory that it shares with the host, with something in them that its
//! program never writes, in the middle of a run: the run is INVALID, or it is as if nothing had been, and the host goes
//! on.

use super::world::{User, World};

#[test]
fn messages_that_are_none_make_the_run_invalid() {
    let Some(world) = World::new(User::Own, |_| Vec::new()) else { return };
    for (group, says) in [
        ("garbage-answer", "what it says is no message: a message cannot be read"),
        ("garbage-unasked", "what it says is no message: a message cannot be read"),
        ("enormous-answer", "what it says is no message: a message of 209715200 bytes"),
        ("enormous-unasked", "what it says is no message: a message of 209715200 bytes"),
    ] {
        let run = world.run(group, "--set watchdog_ms=10000");
        assert_eq!(run.finished.code(), 1, "{group}: {}", run.finished);
        assert_eq!(run.result()["verdict"]["valid"], false, "{group}: {}", run.finished);
        let reasons = run.reasons();
        assert!(reasons.contains("plugin attacker") && reasons.contains(says), "{group}: {reasons}");
    }
}

#[test]
fn random_words_in_shared_memory_do_no_harm_to_the_host() {
    let Some(world) = World::new(User::Own, |_| Vec::new()) else { return };
    for seed in [1, 20, 300] {
        let run = world.run(&format!("scribble-{seed}"), "--set watchdog_ms=1000");
        // Words that say nothing may be overwritten before anybody reads them.
        let is_valid = run.result()["verdict"]["valid"] == true;
        assert_eq!(run.finished.code(), i32::from(!is_valid), "{seed}: {}", run.finished);
        assert!(!run.finished.stderr.contains("panicked at"), "{seed}: {}", run.finished);
    }
}
