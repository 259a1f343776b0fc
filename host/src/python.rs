//! The Python interpreter that the program becomes where Python has to run: for the official LoadGen, which exports
//! nothing but its Python module, and for a plugin in Python.
//!
//! No library of Python is loaded here: the program replaces itself by `PYTHON -m proctor` with the same words, and
//! that runs the same commands with an engine in its process.

use std::{
    env,
    ffi::OsString,
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use proctor_bed::engine::installed;
use proctor_config::{EngineChoice, Loader};
use proctor_plugin_host::is_script;
use proctor_vocabulary::program;
use proctor_words::{CommandError, HostError};

/// The package that the program is in Python.
const PACKAGE: &str = "proctor";
/// The module of the official LoadGen.
const LOADGEN: &str = "mlperf_loadgen";
/// Name of the folder beside the program in which a build puts the package.
const BUILD: &str = "python";
/// Name of the interpreter.
const PYTHON: &str = "python3";
/// Prints the names of those modules that are not to be found.
const MISSING: &str = "import importlib.util as util, sys\n\
                       print(*(name for name in sys.argv[1:] if util.find_spec(name) is None))";

/// The interpreter for a command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Interpreter {
    python: PathBuf,
    /// Build of LoadGen's module in place of the installed one.
    loadgen: Option<PathBuf>,
    /// True if the official LoadGen is to run.
    is_official: bool,
}

impl Interpreter {
    /// Returns the interpreter that a command with these sources of settings has to run in. `None` if any process will
    /// do, or this one is an interpreter.
    pub(crate) fn of(loader: &Loader, makes_run: bool) -> Option<Self> {
        if installed().is_some() {
            return None;
        }
        let [engine, plugin, loadgen, python] = loader.glance(["engine", "plugin", "loadgen", "python"]);
        let engine: Option<EngineChoice> = engine.and_then(|name| name.to_ascii_lowercase().parse().ok());
        // Of both, each is a run in a process of its own.
        let is_official = makes_run && engine == Some(EngineChoice::Official);
        let is_in_python = plugin.is_some_and(|plugin| is_script(&plugin));
        (is_official || is_in_python).then(|| Self {
            python: python.map_or_else(usual_python, PathBuf::from),
            loadgen: loadgen.map(PathBuf::from).filter(|_| is_official),
            is_official,
        })
    }

    /// Replaces the program by the interpreter, which does what these words ask for, the first one being the name of
    /// the program. Returns only if that fails.
    pub(crate) fn start(&self, words: &[OsString]) -> HostError {
        if let Err(error) = self.check() {
            return error;
        }
        let error = self.command().args(["-m", PACKAGE]).args(words.iter().skip(1)).exec();
        CommandError::NoPython { python: self.python.clone(), error }.into()
    }

    /// # Errors
    /// If the interpreter does not run, or lacks a module.
    fn check(&self) -> Result<(), HostError> {
        let mut probe = self.command();
        probe.args(["-c", MISSING, PACKAGE]).args(self.is_official.then_some(LOADGEN)).stdin(Stdio::null());
        let python = self.python.clone();
        let failed = |error| HostError::from(CommandError::NoPython { python: python.clone(), error });
        let answer = probe.output().map_err(failed)?;
        if !answer.status.success() {
            let text = String::from_utf8_lossy(&answer.stderr);
            return Err(failed(io::Error::other(text.lines().last().unwrap_or_default().to_owned())));
        }
        // A start file of the interpreter may print lines of its own before.
        let text = String::from_utf8_lossy(&answer.stdout);
        match text.lines().next_back().and_then(|missing| missing.split_whitespace().next()) {
            None => Ok(()),
            Some(PACKAGE) => Err(CommandError::NoPackage { python }.into()),
            Some(_) => match &self.loadgen {
                Some(build) => Err(CommandError::NoBuild { build: build.clone() }.into()),
                None => Err(CommandError::NoLoadGen { python }.into()),
            },
        }
    }

    /// Returns the start of the interpreter, where it finds the package of a build and a build of LoadGen's module.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.python);
        // A file of the current folder, such as a keyword.py, would hide a module of Python's.
        command.env("PYTHONSAFEPATH", "1");
        let beside = program().ok().map(|program| program.with_file_name(BUILD)).filter(|it| it.is_dir());
        let build = self.loadgen.as_deref().map(folder_of);
        let given = env::var_os("PYTHONPATH");
        let given = given.iter().flat_map(|paths| env::split_paths(paths).collect::<Vec<_>>());
        let paths: Vec<_> = build.into_iter().chain(beside).chain(given).collect();
        // A path with a colon cannot be handed on, and the check says what is missing.
        if let Ok(paths) = env::join_paths(&paths)
            && !paths.is_empty()
        {
            command.env("PYTHONPATH", paths);
        }
        command
    }
}

/// Returns the folder that holds a build, which is given as its file or as that folder.
fn folder_of(build: &Path) -> PathBuf {
    let folder = if build.is_dir() { Some(build) } else { build.parent() };
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned())
}

/// Returns the Python of the environment that is active; else the one beside the program, in an environment that the
/// package is installed in; else the one that the search path leads to.
fn usual_python() -> PathBuf {
    let active = env::var_os("VIRTUAL_ENV").filter(|folder| !folder.is_empty());
    let active = active.map(|folder| Path::new(&folder).join("bin/python"));
    let beside = || program().ok().map(|program| program.with_file_name(PYTHON)).filter(|it| it.is_file());
    active.or_else(beside).unwrap_or_else(|| PathBuf::from(PYTHON))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(assignments: &[&str], makes_run: bool) -> Option<Interpreter> {
        let loader = assignments.iter().fold(Loader::new(), |loader, text| loader.set(text));
        Interpreter::of(&loader, makes_run)
    }

    #[test]
    fn python_is_for_the_official_engine_and_for_plugins_in_python() {
        assert_eq!(of(&[], true), None);
        assert_eq!(of(&["engine=both"], true), None);
        assert_eq!(of(&["engine=official"], false), None);
        assert_eq!(of(&["plugin=./libmine_sut.so"], true), None);
        let official = of(&["engine=Official", "python=py", "loadgen=build"], true).unwrap();
        let expected = Interpreter { python: "py".into(), loadgen: Some("build".into()), is_official: true };
        assert_eq!(official, expected);
        let backend = of(&["plugin=my_sut.py", "python=py", "loadgen=build"], false).unwrap();
        assert_eq!(backend, Interpreter { python: "py".into(), loadgen: None, is_official: false });
    }

    #[test]
    fn what_is_missing_comes_with_the_line_that_installs_it() {
        let folder = tempfile::tempdir().unwrap();
        let python = folder.path().join("python");
        let check = |script: &str, loadgen: Option<&str>| {
            std::fs::write(&python, format!("#!/bin/sh\n{script}\n")).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(&python, mode).unwrap();
            let loadgen = loadgen.map(PathBuf::from);
            let interpreter = Interpreter { python: python.clone(), loadgen, is_official: true };
            interpreter.check()
        };
        let said = |script: &str, loadgen: Option<&str>| check(script, loadgen).unwrap_err().to_string();
        let text = said("echo proctor mlperf_loadgen", None);
        assert!(
            text.ends_with("-m pip install ./proctor-*.whl`, or name another Python with --python"),
            "{text}"
        );
        let text = said("echo mlperf_loadgen", None);
        assert!(text.contains("-m pip install mlcommons-loadgen"), "{text}");
        assert!(check("echo welcome; echo", None).is_ok());
        let text = said("echo welcome; echo mlperf_loadgen", Some("there"));
        assert!(text.starts_with("setting loadgen = there: "), "{text}");
        let text = said("echo ModuleNotFoundError: no such >&2; exit 1", None);
        assert!(text.contains("ModuleNotFoundError: no such"), "{text}");
        let absent = Interpreter { python: "/absent/python".into(), loadgen: None, is_official: false };
        assert!(absent.check().unwrap_err().to_string().starts_with("cannot start /absent/python"));
    }
}
