//! The Python package as a wheel: pip installs it into a fresh environment, and its programs and its module run there,
//! in another folder, without the source tree and without a variable.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use proctor_test_needs::{python_packages, skip};
use proctor_tests::{Bench, Finished, Run, built, workspace};

/// The folder of the list of Python's stable ABI.
const STABLE_ABI: &str = "target/python-abi3info-2026.9.25";

/// An environment of Python with the wheel, made of what is built, with the plugin mock.
struct Environment {
    bench: Bench,
}

impl Environment {
    /// Returns the environment; `None` where none can be made, and the test is to skip itself.
    fn new() -> Option<Self> {
        let bench = Bench::new();
        let environment = bench.file("venv");
        let made = Command::new("python3").args(["-m", "venv"]).arg(&environment).output();
        if !made.is_ok_and(|made| made.status.success()) {
            skip("no python3 that makes environments (Debian: python3-venv)");
            return None;
        }
        let wheel = make(&bench, &[]);
        fs::create_dir(bench.file("empty")).unwrap();
        let it = Self { bench };
        let installed = it.start("pip", &["install", "--no-index", wheel.to_str().unwrap()]);
        assert_eq!(installed.code(), 0, "{installed}");
        Some(it)
    }

    /// Runs a program of the environment in an empty folder, without a single variable.
    fn start(&self, program: &str, arguments: &[&str]) -> Finished {
        let mut command = Command::new(self.bench.file("venv/bin").join(program));
        command.args(arguments).env_clear().current_dir(self.bench.file("empty"));
        self.bench.start_command(command).finish()
    }

    /// Runs a benchmark with a program of the environment, and asserts that the result is VALID and of this plugin.
    fn assert_runs(&self, program: &str, words: &[&str], plugin: &str) {
        let output = self.bench.file("empty/run");
        let run = ["run", "--duration", "100ms", "--output", output.to_str().unwrap()];
        let plugin_flags = ["--plugin", plugin];
        // The mock answers nothing right by itself.
        let mode: &[&str] = if plugin == "mock" { &["--mode", "performance"] } else { &[] };
        let finished = self.start(program, &[words, &run, &plugin_flags, mode].concat());
        let run = Run::new(finished, output);
        assert_eq!(run.assert_valid().result()["plugin"]["name"], plugin);
        fs::remove_dir_all(run.folder()).unwrap();
    }
}

/// Runs `cargo xtask wheel` on what is built, with the plugin mock.
fn try_make(arguments: &[&str]) -> Output {
    let mut xtask = Command::new(built("xtask"));
    xtask.args(["wheel", "--plugin", "mock", "--built"]).arg(built("host").parent().unwrap());
    xtask.args(arguments).output().unwrap()
}

/// Makes the wheel in the folder of a test, and returns it.
fn make(bench: &Bench, arguments: &[&str]) -> PathBuf {
    let folder = bench.file("made");
    let made = try_make(&[&["--output", folder.to_str().unwrap()], arguments].concat());
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().path()).collect();
    let [wheel] = &files[..] else { panic!("{files:?}") };
    wheel.clone()
}

#[test]
fn what_pip_installs_runs() {
    let Some(environment) = Environment::new() else { return };
    let version = format!("host {}\n", env!("CARGO_PKG_VERSION"));
    for program in ["host", "proctor"] {
        assert_eq!(environment.start(program, &["--version"]).stdout, version);
    }
    // A launcher is often a link in another folder.
    let link = environment.bench.file("venv/linked");
    std::os::unix::fs::symlink(environment.bench.file("venv/bin/proctor"), &link).unwrap();
    assert_eq!(environment.start("../linked", &["--version"]).stdout, version);
    environment.assert_runs("proctor", &[], "cpu-rnn");
    environment.assert_runs("python", &["-m", "proctor"], "cpu-rnn");
    environment.assert_runs("python", &["-m", "proctor"], "mock");
    environment.assert_runs("host", &[], "mock");
    let isolated = ["run", "--isolate", "--plugin", "mock", "--mode", "performance", "--duration", "100ms"];
    assert_eq!(environment.start("host", &isolated).code(), 0);
    let listed = environment.start("host", &["list"]);
    let library = environment.bench.file("venv/lib/proctor/libmock_sut.so");
    assert!(listed.stdout.contains(library.to_str().unwrap()), "{listed}");
    let data = environment.start("host", &["data", "--help"]);
    assert!(data.stdout.contains("host data"), "{data}");
}

#[test]
fn what_is_installed_is_described() {
    let Some(environment) = Environment::new() else { return };
    let script = "from importlib.metadata import distribution\nit = distribution('proctor')\n\
                  print(it.version, it.metadata['Requires-Python'], *it.metadata.get_all('Provides-Extra'))\n\
                  print(*(file for file in it.files if not file.locate().is_file()))\n\
                  print(*sorted(file.name for file in it.files if 'licenses' in file.parts))\n\
                  print(*sorted(file.name for file in it.files if file.parts[0] == 'proctor'))";
    let told = environment.start("python", &["-B", "-c", script]);
    let [about, missing, licenses, module] = told.stdout.lines().collect::<Vec<_>>()[..] else {
        panic!("{told}")
    };
    assert_eq!(about, format!("{} >=3.10 mlperf numpy", env!("CARGO_PKG_VERSION")));
    assert_eq!(missing, "");
    assert_eq!(licenses, "LICENSE rust-standard-library.html third-party.txt");
    for name in ["__init__.py", "__main__.py", "_native.abi3.so", "py.typed"] {
        assert!(module.split(' ').any(|file| file == name), "{name}: {module}");
    }
    let removed = environment.start("pip", &["uninstall", "--yes", "proctor"]);
    assert_eq!(removed.code(), 0, "{removed}");
    assert!(!environment.bench.file("venv/lib/proctor/datasets/digits/LICENSE").exists());
}

#[test]
fn the_module_needs_nothing_but_the_stable_abi() {
    let packages = match python_packages(STABLE_ABI) {
        Ok(packages) => packages,
        Err(missing) => return skip(missing),
    };
    let mut objdump = Command::new("objdump");
    let objdump = objdump.args(["-T", "--wide"]).arg(built("libproctor_native.so")).output();
    let Ok(objdump) = objdump else { return skip("no objdump; `cargo xtask setup` installs one") };
    let symbols = String::from_utf8(objdump.stdout).unwrap();
    let undefined = symbols.lines().filter(|line| line.contains("*UND*"));
    let names = undefined.filter_map(|line| line.split_whitespace().next_back());
    let of_python: Vec<_> = names.filter(|name| name.trim_start_matches('_').starts_with("Py")).collect();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/wheel/stable_abi.py");
    let mut python = Command::new("python3");
    python.arg("-B").arg(script).env("PYTHONPATH", packages).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut python = python.spawn().unwrap();
    python.stdin.take().unwrap().write_all(of_python.join("\n").as_bytes()).unwrap();
    let told = String::from_utf8(python.wait_with_output().unwrap().stdout).unwrap();
    let looked_at: usize =
        told.trim().strip_prefix("looked at ").unwrap_or_else(|| panic!("{told}")).parse().unwrap();
    assert!(looked_at > 50, "{looked_at} symbols: this test looks in the wrong place");
}

#[test]
fn the_tag_says_which_systems_it_is_for() {
    let bench = Bench::new();
    let wheel = make(&bench, &["--glibc", "9.9"]);
    let name = format!("proctor-{}-cp310-abi3-manylinux_9_9_x86_64.whl", env!("CARGO_PKG_VERSION"));
    assert_eq!(wheel.file_name().unwrap().to_str().unwrap(), name);
    let refused = try_make(&["--glibc", "2.0", "--output", bench.file("none").to_str().unwrap()]);
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && stderr.contains("but nothing above GLIBC_2.0 is allowed"),
        "{stderr}"
    );
}

#[test]
fn the_crates_of_a_vendor_could_be_published() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["publish", "--dry-run", "--allow-dirty", "--package", "proctor-vocabulary"]);
    cargo.args(["--package", "proctor-plugin-api", "--target-dir"]);
    cargo.arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("published")).current_dir(workspace());
    let tried = cargo.env_remove("CARGO_TARGET_DIR").output().unwrap();
    let stderr = String::from_utf8_lossy(&tried.stderr);
    if !tried.status.success() && lacks_registry(&stderr) {
        return skip("no registry of crates can be reached");
    }
    assert!(tried.status.success(), "{stderr}");
}

/// Returns whether cargo failed because it reaches no registry. It asks for that file first, and warns of each try that
/// fails, also if a later one succeeds.
fn lacks_registry(stderr: &str) -> bool {
    let is_so = |line: &str| line.trim_start_matches("error: ").trim() == "download of config.json failed";
    stderr.lines().any(is_so)
}

#[test]
fn other_errors_of_cargo_are_not_taken_for_a_lack_of_the_registry() {
    let tries = "    Updating crates.io index\n\
                 warning: spurious network error (1 try remaining): [7] Could not connect to server\n";
    assert!(lacks_registry(&format!("{tries}error: download of config.json failed\n\nCaused by:\n  [7]\n")));
    assert!(lacks_registry("error: failed to publish\n\nCaused by:\n  download of config.json failed\n"));
    assert!(!lacks_registry(&format!("{tries}error: failed to verify package tarball\n")));
    assert!(!lacks_registry("error[E0433]: cannot find `network` in this scope\n"));
}
