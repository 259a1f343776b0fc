//! `cargo xtask fuzz`: runs the fuzz targets of `tests/fuzz` for a while.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail};

use crate::command::{cargo, run as run_command, workspace_root};
use crate::setup;

pub(crate) const LONG_ABOUT: &str = "Fuzz the file readers, one target after the other.

Installs cargo-fuzz if it is missing, and builds with AddressSanitizer, which stable Rust allows with \
RUSTC_BOOTSTRAP=1. Findings go to target/fuzz/artifacts. The corpus starts from tests/fuzz/seeds, grows in \
target/fuzz/corpus, and is reused the next time.";

pub(crate) const EXAMPLES: &str = "Examples:
  cargo xtask fuzz                              each target for a minute
  cargo xtask fuzz --minutes 10                 each target for ten minutes
  cargo xtask fuzz --minutes 10 detail_log      the reader of the detail log for ten minutes";

/// The folder of the fuzz targets, in the workspace.
const FUZZ_DIR: &str = "tests/fuzz";

/// Build folder, in the workspace.
const TARGET_DIR: &str = "target/fuzz";

/// Longer files only slow the fuzzer down: every rule of the formats fits into a few lines.
const FILE_BYTES_MAX: u32 = 4096;

/// A file of that size is read in milliseconds.
const FILE_SECONDS_MAX: u32 = 10;

/// Fuzzes the target of this name, or all, each for `minutes`.
///
/// # Errors
/// If a name is unknown, cargo-fuzz cannot be installed, or a target finds something.
pub(crate) fn run(name: Option<&str>, minutes: u32) -> Result<()> {
    let known = targets()?;
    let chosen: Vec<_> = known.iter().filter(|target| name.is_none_or(|name| name == *target)).collect();
    if chosen.is_empty() {
        bail!("no fuzz target has the name \"{}\"; known are {}", name.unwrap_or(""), known.join(", "));
    }
    setup::set_up_fuzzer()?;
    for target in chosen {
        fuzz(target, 60 * minutes)?;
    }
    Ok(())
}

/// Returns the names of all targets, which are the names of the folders of seeds.
fn targets() -> Result<Vec<String>> {
    let seeds = workspace_root().join(FUZZ_DIR).join("seeds");
    let entries = fs::read_dir(&seeds).with_context(|| format!("cannot list {}", seeds.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

fn fuzz(target: &str, seconds: u32) -> Result<()> {
    let corpus = format!("{TARGET_DIR}/corpus/{target}");
    let artifacts = format!("{TARGET_DIR}/artifacts/{target}/");
    for folder in [&corpus, &artifacts] {
        make_folder(&workspace_root().join(folder))?;
    }
    let mut command = cargo(&format!(
        "fuzz run --fuzz-dir {FUZZ_DIR} --target-dir {TARGET_DIR} {target} {corpus} {FUZZ_DIR}/seeds/{target} -- \
         -dict={FUZZ_DIR}/dictionaries/{target}.dict -max_total_time={seconds} -max_len={FILE_BYTES_MAX} \
         -timeout={FILE_SECONDS_MAX} -artifact_prefix={artifacts} -print_final_stats=1"
    ));
    run_command(command.env("RUSTC_BOOTSTRAP", "1"))
}

fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).with_context(|| format!("cannot make {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::{FUZZ_DIR, run, targets, workspace_root};

    #[test]
    fn every_target_has_a_program_seeds_and_a_dictionary() {
        let folder = workspace_root().join(FUZZ_DIR);
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        for target in targets().unwrap() {
            let programs = ["targets", "targets/data_files", "targets/model_files"]
                .map(|room| format!("{room}/{target}.rs"));
            let program = programs.iter().find(|program| folder.join(program).is_file()).expect(&target);
            assert!(manifest.contains(&format!("path = \"{program}\"")), "{target}");
            assert!(folder.join(format!("dictionaries/{target}.dict")).is_file(), "{target}");
        }
        assert_eq!(manifest.matches("[[bin]]").count(), targets().unwrap().len());
    }

    #[test]
    fn an_unknown_target_is_refused_with_the_known_ones() {
        let error = run(Some("detail"), 1).unwrap_err().to_string();
        assert!(
            error.contains("\"detail\"; known are accuracy_log, arrivals_trace, audit_config"),
            "{error}"
        );
    }
}
