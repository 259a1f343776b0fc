//! Plugins and programs in C and C++, compiled when a test needs them.

use std::{
    io,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use proctor_test_needs::skip;

use crate::place::workspace;

/// Options of the compiler for a library.
const OF_LIBRARY: [&str; 2] = ["-shared", "-fPIC"];

/// Compiles a file of `tests/fixtures/c` to `folder/lib<name>_sut.so`, against the header alone, as C99, with all
/// warnings as errors. `defines` are macros such as `CASE=3`.
///
/// Without a C compiler it says that the test is skipped, and returns `None`.
///
/// # Panics
/// If the file does not compile.
#[must_use]
pub fn compile(source: &str, defines: &[&str], folder: &Path, name: &str) -> Option<PathBuf> {
    compile_against(&header(), source, defines, folder, name)
}

/// Works as [`compile`], against the header in another folder.
///
/// # Panics
/// If the file does not compile.
#[must_use]
pub fn compile_against(
    include: &Path,
    source: &str,
    defines: &[&str],
    folder: &Path,
    name: &str,
) -> Option<PathBuf> {
    let mut command = Command::new("cc");
    command.args(["-std=c99", "-Wall", "-Wextra", "-Werror"]);
    command.args(defines.iter().map(|define| format!("-D{define}")));
    build(command, include, &[source], folder, name)
}

/// Works as [`compile`], with a second file that is in C++.
///
/// # Panics
/// If a file does not compile.
#[must_use]
pub fn compile_with_cpp(
    source: &str,
    cpp: &str,
    defines: &[&str],
    folder: &Path,
    name: &str,
) -> Option<PathBuf> {
    let mut command = Command::new("c++");
    command.args(["-Wall", "-Wextra", "-Werror"]);
    command.args(defines.iter().map(|define| format!("-D{define}")));
    // The language of each file goes by its ending, but c++ takes all for C++.
    build(command, &header(), &["-xc", source, "-xc++", cpp], folder, name)
}

/// Compiles a file of `tests/fixtures/c`, or a path, to `folder/lib<name>_sut.so`, against the headers alone, as C++17,
/// with all warnings as errors.
///
/// Without a C++ compiler it says that the test is skipped, and returns `None`.
///
/// # Panics
/// If the file does not compile.
#[must_use]
pub fn compile_cpp(source: &str, folder: &Path, name: &str) -> Option<PathBuf> {
    build(cpp_compiler(), &header(), &[source], folder, name)
}

/// Compiles a file of `tests/fixtures/c` to the program `folder/<name>`, as C99, with all warnings as errors.
///
/// Without a C compiler it says that the test is skipped, and returns `None`.
///
/// # Panics
/// If the file does not compile.
#[must_use]
pub fn compile_program(source: &str, folder: &Path, name: &str) -> Option<PathBuf> {
    let mut command = Command::new("cc");
    command.args(["-std=c99", "-Wall", "-Wextra", "-Werror"]);
    compiled(command, &header(), &[source], folder.join(name))
}

/// Returns the messages of the compiler about a file that [`compile_cpp`] would not compile.
///
/// Without a C++ compiler it says that the test is skipped, and returns `None`.
///
/// # Panics
/// If the file compiles.
#[must_use]
pub fn complaints_about_cpp(source: &str, folder: &Path) -> Option<String> {
    let library = folder.join("wrong.so");
    let mut command = cpp_compiler();
    command.args(OF_LIBRARY);
    let (command, output) = run_compiler(command, &header(), &[source], &library)?;
    assert!(!output.status.success(), "{command:?} compiles");
    Some(String::from_utf8_lossy(&output.stderr).into_owned())
}

fn cpp_compiler() -> Command {
    let mut command = Command::new("c++");
    command.args(["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fvisibility=hidden"]);
    command
}

/// Returns the folder of the headers.
fn header() -> PathBuf {
    workspace().join("plugin-api/include")
}

/// Builds a library of files and of options that stand among them.
fn build(
    mut command: Command,
    include: &Path,
    sources: &[&str],
    folder: &Path,
    name: &str,
) -> Option<PathBuf> {
    command.args(OF_LIBRARY);
    compiled(command, include, sources, folder.join(format!("lib{name}_sut.so")))
}

/// Builds a file, and returns its path.
fn compiled(command: Command, include: &Path, sources: &[&str], path: PathBuf) -> Option<PathBuf> {
    let (command, output) = run_compiler(command, include, sources, &path)?;
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}:\n{messages}");
    Some(path)
}

/// Runs a compiler to its end; `None` if it is missing.
fn run_compiler(
    mut command: Command,
    include: &Path,
    sources: &[&str],
    path: &Path,
) -> Option<(Command, Output)> {
    let fixtures = workspace().join("tests/fixtures/c");
    command.arg("-I").arg(include).arg("-o").arg(path).args(sources).current_dir(fixtures);
    match command.output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            skip(format!("no {}; `cargo xtask setup` installs one", command.get_program().display()));
            None
        }
        Err(error) => panic!("{command:?}: {error}"),
        Ok(output) => Some((command, output)),
    }
}
