//! Attacks of a library's constructor, which runs before the plugin has said anything.

use std::{fs, path::Path};

use proctor_tests::Run;

use super::{
    attempts::Attempts,
    world::{User, World, isolation},
};

/// Maximum memory of a host that refuses an answer, in KiB: little compared with the 200 MB that it is sent.
const PEAK_KIB_MAX: u64 = 150 << 10;

/// A world whose attacker does this in its constructor.
fn world(early: &str, further: impl Fn(&Path) -> Vec<String>) -> Option<World> {
    World::new(User::Own, |folder| {
        let mut defines = vec![format!("EARLY=\"{early}\"")];
        defines.extend(further(folder));
        defines
    })
}

/// Asserts that nothing is VALID and nothing steers the terminal.
fn assert_harmless(run: &Run) {
    for said in [&run.finished.stdout, &run.finished.stderr] {
        assert!(!said.contains('\x1b') && !said.contains('\u{202e}'), "{}", run.finished);
    }
    let is_forged = |line: &str| line.trim() == "verdict     VALID";
    assert!(!run.finished.stderr.lines().any(is_forged), "{}", run.finished);
}

/// Asserts that the plugin is refused, with its library named.
fn assert_not_taken(run: &Run) {
    assert_harmless(run);
    run.finished.assert_error(3, &["libattacker_sut.so"]);
    assert!(!run.finished.stdout.contains("verdict"), "{}", run.finished);
}

/// Whether anything of this name is in a folder or below.
fn has_below(folder: &Path, name: &str) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| {
        path.file_name().is_some_and(|last| last == name)
            || !path.is_symlink() && path.is_dir() && has_below(&path, name)
    })
}

#[test]
fn a_forged_name_makes_no_folder_and_is_refused() {
    let absolute = |world: &Path| format!("{}/home/taken", world.display());
    let names: [&dyn Fn(&Path) -> String; 6] = [
        &absolute,
        &|_| "../../home/taken".to_owned(),
        &|_| "../taken".to_owned(),
        &|_| "Taken".to_owned(),
        &|_| "so\\n  verdict     VALID\\x1b[2J".to_owned(),
        &|_| "so\\xe2\\x80\\xaeVILAD".to_owned(),
    ];
    for name in names {
        let forged = |folder: &Path| {
            let forged = name(folder);
            // Of as many bytes as the other.
            let escapes = forged.matches("\\x").count() * 3 + forged.matches("\\n").count();
            let own = "a".repeat(forged.len() - escapes);
            vec![format!("PLUGIN_NAME=\"{own}\""), format!("FORGED_NAME=\"{forged}\"")]
        };
        let Some(world) = world("forge-name", forged) else { return };
        let run = world.run_of("");
        assert_not_taken(&run);
        assert!(!has_below(&world.file(""), "taken"), "{}", run.finished);
    }
}

#[test]
fn forged_restrictions_are_not_believed() {
    let Some(world) = world("forge-restrictions", |_| Vec::new()) else { return };
    let run = world.run_of("");
    assert_harmless(&run);
    // The effect of the changed answer is open; the claim in it appears nowhere.
    let claimed = run.find_result().map(|result| result["plugin"]["isolation"]["landlock_abi"].clone());
    assert_ne!(claimed, Some(99.into()), "{}", run.finished);
    assert!(run.find_result().is_some() || run.finished.code() == 3, "{}", run.finished);
}

#[test]
fn answers_that_are_none_are_refused() {
    for early in ["garbage", "half"] {
        let Some(world) = world(early, |_| Vec::new()) else { return };
        assert_not_taken(&world.run_of("--set watchdog_ms=3000"));
    }
}

#[test]
fn an_enormous_answer_takes_no_memory() {
    let Some(world) = world("enormous", |_| Vec::new()) else { return };
    let run = world.run_of("");
    assert_not_taken(&run);
    let peak_kib = world.report().peak_kib;
    assert!(peak_kib < PEAK_KIB_MAX, "{peak_kib} KiB: {}", run.finished);
}

#[test]
fn forged_lines_of_the_log_are_lines_of_the_plugin() {
    let Some(world) = world("forge-lines", |_| Vec::new()) else { return };
    let run = world.run_of("");
    assert_harmless(&run);
    assert_eq!(run.finished.stdout.matches("verdict").count(), 1, "{}", run.finished);
    run.assert_valid();
}

#[test]
fn a_forged_report_of_a_crash_is_shown_as_text() {
    let Some(world) = world("nothing", |_| Vec::new()) else { return };
    let run = world.run("crash-report", "");
    assert_harmless(&run);
    assert_ne!(run.finished.code(), 0, "{}", run.finished);
    assert!(!run.finished.stdout.lines().any(|line| line.trim() == "verdict     VALID"), "{}", run.finished);
    assert_eq!(run.result()["verdict"]["valid"], false, "{}", run.finished);
}

#[test]
fn a_constructor_has_no_more_rights_than_the_plugin() {
    for user in User::all() {
        let Some(world) = World::new(user, |_| vec!["EARLY=\"attempts\"".to_owned()]) else { return };
        let run = world.run("nothing", "");
        if isolation(&run).is_none() {
            return;
        }
        Attempts::of(&run).assert_refused(user, 2, &run);
        assert_eq!(world.report().typed, 0, "{}", run.finished);
        run.assert_valid();
    }
}
