//! Commands that are printed before they run.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Returns a `cargo` command in the workspace root, with the toolchain that runs this program; `args` are split at
/// spaces.
pub(crate) fn cargo(args: &str) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args.split_whitespace()).current_dir(workspace_root());
    command
}

/// Returns a `git` command in the workspace root; `args` are split at spaces.
pub(crate) fn git(args: &str) -> Command {
    let mut command = Command::new("git");
    command.args(args.split_whitespace()).current_dir(workspace_root());
    command
}

/// Returns the workspace root: this crate lies two folders below it.
pub(crate) fn workspace_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("this crate lies two folders below the root")
}

/// Returns the target folder: this program lies in one of its folders, wherever cargo's settings place it.
///
/// # Errors
/// If the path of this program is unknown.
pub(crate) fn target_folder() -> Result<PathBuf> {
    let program = env::current_exe().context("cannot tell where this program is")?;
    let target = program.ancestors().nth(2).map(Path::to_owned);
    target.with_context(|| format!("{} is in no target folder", program.display()))
}

/// Prints `command`, runs it with the terminal of this program, and waits for it.
///
/// # Errors
/// If it cannot be started, or ends with anything but success.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = status(command)?;
    if !status.success() {
        bail!("`{}` failed ({status})", display(command));
    }
    Ok(())
}

/// Prints `command`, runs it with the terminal of this program, and returns whether it ended with success.
///
/// # Errors
/// If it cannot be started.
pub(crate) fn succeeded(command: &mut Command) -> Result<bool> {
    Ok(status(command)?.success())
}

fn status(command: &mut Command) -> Result<ExitStatus> {
    let line = display(command);
    println!("$ {line}");
    command.status().with_context(|| format!("cannot start `{line}`"))
}

/// Returns what `cargo metadata` reports about the workspace and all packages that it uses.
///
/// # Errors
/// If cargo fails.
pub(crate) fn metadata() -> Result<Value> {
    let text = output(&mut cargo("metadata --locked --format-version 1"))?;
    serde_json::from_str(&text).context("cargo metadata prints no JSON")
}

/// Runs `command` without printing it, and returns its stdout.
///
/// # Errors
/// If it cannot be started, or ends with anything but success, with its stderr.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let line = display(command);
    let output = command.output().with_context(|| format!("cannot start `{line}`"))?;
    if !output.status.success() {
        bail!("`{line}` failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr).trim_end());
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{line}` prints no UTF-8"))
}

/// Returns whether `command` starts and ends with success; its output is dropped.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Returns `command` as one would type it: variables that it sets, the program without its folder, arguments.
fn display(command: &Command) -> String {
    let variables = command.get_envs().filter_map(|(key, value)| {
        Some(format!("{}={}", key.to_string_lossy(), quoted(&value?.to_string_lossy())))
    });
    let name = Path::new(command.get_program())
        .file_name()
        .unwrap_or(command.get_program())
        .to_string_lossy()
        .into_owned();
    let arguments = command.get_args().map(|argument| quoted(&argument.to_string_lossy()));
    variables.chain([name]).chain(arguments).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=./:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{display, output, run, succeeds};

    #[test]
    fn a_command_is_shown_as_one_would_type_it() {
        let mut command = Command::new("/usr/bin/cargo");
        command.env("RUSTFLAGS", "--cfg loom").env_remove("CARGO_TARGET_DIR").args(["test", "it's"]);
        assert_eq!(display(&command), r"RUSTFLAGS='--cfg loom' cargo test 'it'\''s'");
    }

    #[test]
    fn a_failure_names_the_command_and_its_status() {
        let error = run(Command::new("sh").args(["-c", "exit 3"])).unwrap_err();
        assert_eq!(error.to_string(), "`sh -c 'exit 3'` failed (exit status: 3)");
    }

    #[test]
    fn output_is_stdout_and_an_error_has_stderr() {
        assert_eq!(output(Command::new("echo").arg("words")).unwrap(), "words\n");
        let error = output(Command::new("sh").args(["-c", "echo reason >&2; exit 3"])).unwrap_err();
        assert!(error.to_string().ends_with("failed (exit status: 3): reason"), "{error}");
    }

    #[test]
    fn an_absent_program_does_not_succeed() {
        assert!(!succeeds(&mut Command::new("no-such-program-anywhere")));
        let error = run(&mut Command::new("no-such-program-anywhere")).unwrap_err();
        assert_eq!(error.to_string(), "cannot start `no-such-program-anywhere`");
    }
}
