//! A package made of what is built: it works in another folder, without the source tree and without a variable, and
//! plugins are built against it in every way that it offers.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use proctor_plugin_api::abi::{PROCTOR_ABI_MAJOR, PROCTOR_ABI_MINOR};
use proctor_test_needs::skip;
use proctor_tests::{Bench, Finished, Run, built, workspace};

/// A package with the plugin mock, that is not where it was made.
struct Package {
    bench: Bench,
    folder: PathBuf,
}

impl Package {
    fn new() -> Self {
        let bench = Bench::new();
        let made = make(&["--output", bench.file("made").to_str().unwrap()]);
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let folders: Vec<_> =
            fs::read_dir(bench.file("made")).unwrap().map(|it| it.unwrap().path()).collect();
        assert_eq!(folders.len(), 1, "{folders:?}");
        let folder = bench.file("moved");
        fs::rename(&folders[0], &folder).unwrap();
        fs::create_dir(bench.file("empty")).unwrap();
        Self { bench, folder }
    }

    fn file(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    /// Runs its program in an empty folder, without a single variable.
    fn host(&self, arguments: &[&str]) -> Finished {
        let mut command = Command::new(self.file("bin/host"));
        command.args(arguments).env_clear().current_dir(self.bench.file("empty"));
        self.bench.start_command(command).finish()
    }

    /// Runs a benchmark with its program.
    fn run(&self, flags: &[&str]) -> Run {
        let output = self.bench.file("empty/run");
        let finished = self.host(&[&["run", "--output", output.to_str().unwrap()], flags].concat());
        Run::new(finished, output)
    }

    /// Asserts that a plugin classifies digits.
    fn assert_classifies(&self, library: &Path, name: &str) {
        let library = library.to_str().unwrap();
        let run = self.run(&["--plugin", library, "--benchmark", "digits-mlp", "--duration", "100ms"]);
        let result = run.assert_valid().result();
        assert_eq!(result["plugin"]["name"], name);
        assert_eq!(result["accuracy"]["passed"], true);
    }
}

/// Runs `cargo xtask package` on what is built, with the plugin mock.
fn make(arguments: &[&str]) -> Output {
    let mut xtask = Command::new(built("xtask"));
    xtask
        .args(["package", "--no-archive", "--plugin", "mock", "--built"])
        .arg(built("host").parent().unwrap());
    xtask.args(arguments).output().unwrap()
}

/// Runs a command to its end, and returns its stdout; `None` where there is no such program, and the test is to skip
/// itself.
fn try_run(command: &mut Command) -> Option<String> {
    match command.output() {
        Err(_) => {
            skip(format!("no {}; `cargo xtask setup` installs it", command.get_program().display()));
            None
        }
        Ok(output) => {
            let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{command:?} ({})\n{stdout}{stderr}", output.status);
            Some(stdout)
        }
    }
}

#[test]
fn it_looks_after_data_sets_and_prepares_them_for_runs() {
    let package = Package::new();
    let made = package.host(&["data", "generate", "resnet50", "--out", "made", "--samples", "5"]);
    assert_eq!(made.code(), 0, "{made}");
    let whole = package.host(&["data", "verify", "imagenet", "--folder", "made"]);
    assert!(whole.stdout.contains("made: nothing is missing or damaged\n"), "{whole}");
    let cache = format!("cache_folder={}", package.bench.file("cache").display());
    let flags = ["--plugin", "mock", "--benchmark", "resnet50", "--dataset-folder", "made", "--set", &cache];
    let run = package.run(
        &[
            &flags[..],
            &["--mode", "performance", "--duration", "5ms", "--set", "single_stream_expected_latency_ns=200"],
        ]
        .concat(),
    );
    run.assert_valid();
    assert!(package.bench.file("cache/prepared").is_dir());
}

#[test]
fn it_runs_in_another_folder_with_what_it_brings() {
    let package = Package::new();
    let run = package.run(&[]);
    let result = run.assert_valid().result();
    assert_eq!(result["plugin"]["name"], "cpu-rnn");
    assert_eq!(result["accuracy"]["passed"], true);

    let library = package.file("lib/proctor/libmock_sut.so");
    let listed = package.host(&["list"]);
    assert!(listed.stdout.contains(library.to_str().unwrap()), "{listed}");
    fs::remove_dir_all(run.folder()).unwrap();
    for flags in [&[][..], &["--isolate"]] {
        let flags = [&["--plugin", "mock", "--mode", "performance", "--duration", "100ms"], flags].concat();
        let run = package.run(&flags);
        assert_eq!(run.assert_valid().result()["plugin"]["name"], "mock");
        fs::remove_dir_all(run.folder()).unwrap();
    }
}

#[test]
fn cmake_builds_its_examples_and_runs_them() {
    let package = Package::new();
    let build = package.bench.file("build");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(package.file("examples")).arg("-B").arg(&build);
    configure.arg(format!("-DCMAKE_PREFIX_PATH={}", package.folder.display()));
    if try_run(&mut configure).is_none() {
        return;
    }
    try_run(Command::new("cmake").arg("--build").arg(&build)).unwrap();
    let tested = try_run(Command::new("ctest").arg("--output-on-failure").current_dir(&build)).unwrap();
    assert!(tested.contains("100% tests passed"), "{tested}");
    package.assert_classifies(&build.join("libdigits_cpp_sut.so"), "digits-cpp");
}

/// The version of the plugin ABI; the package has the same.
fn abi_version() -> String {
    format!("{PROCTOR_ABI_MAJOR}.{PROCTOR_ABI_MINOR}")
}

#[test]
fn cmake_finds_no_package_of_a_version_that_it_is_not() {
    let package = Package::new();
    let this = abi_version();
    let exact = format!("{this} EXACT");
    for (version, is_found) in [
        ("", true),
        ("1.0", true),
        ("1", true),
        (exact.as_str(), true),
        ("1.0 EXACT", false),
        ("1.99", false),
        ("2", false),
    ] {
        let project = format!(
            "cmake_minimum_required(VERSION 3.12)\nproject(asks NONE)\nfind_package(Proctor {version} QUIET)\n\
             if(Proctor_FOUND)\n  message(STATUS \"found ${{Proctor_VERSION}}\")\nendif()\n"
        );
        let source = package.bench.write("asks/CMakeLists.txt", project);
        let mut configure = Command::new("cmake");
        configure.arg("-S").arg(source.parent().unwrap()).arg("-B").arg(package.bench.file("asks/build"));
        configure.arg(format!("-DCMAKE_PREFIX_PATH={}", package.folder.display()));
        // Results of an earlier search would be taken again.
        let _ = fs::remove_dir_all(package.bench.file("asks/build"));
        let Some(output) = try_run(&mut configure) else { return };
        assert_eq!(output.contains(&format!("found {this}")), is_found, "version {version:?}:\n{output}");
    }
}

#[test]
fn pkg_config_finds_the_headers() {
    let package = Package::new();
    let ask = |question: &str| {
        let mut command = Command::new("pkg-config");
        command.args([question, "proctor-plugin"]).env("PKG_CONFIG_PATH", package.file("lib/pkgconfig"));
        try_run(&mut command).map(|answer| answer.trim().to_owned())
    };
    let Some(flags) = ask("--cflags") else { return };
    assert_eq!(ask("--modversion").unwrap(), abi_version());
    let examples: [(&str, &[&str]); 2] = [
        ("c", &["cc", "-std=c99", "c/plugin.c", "c/network.c"]),
        ("cpp", &["c++", "-std=c++17", "cpp/plugin.cpp"]),
    ];
    for (lang, words) in examples {
        let library = package.bench.file(&format!("libdigits_{lang}_sut.so"));
        let mut compiler = Command::new(words[0]);
        compiler.args(["-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-shared", "-fPIC"]);
        compiler.args(flags.split_whitespace()).args(&words[1..]).arg("-o").arg(&library);
        if try_run(compiler.current_dir(package.file("examples"))).is_some() {
            package.assert_classifies(&library, &format!("digits-{lang}"));
            fs::remove_dir_all(package.bench.file("empty/run")).unwrap();
        }
    }
    let host = ask("--variable=host").unwrap();
    assert_eq!(fs::canonicalize(host).unwrap(), fs::canonicalize(package.file("bin/host")).unwrap());
}

#[test]
fn its_crates_build_without_the_workspace() {
    let package = Package::new();
    // Files that the program writes find the crates of the package, too.
    let made = package.host(&["new-plugin", "my-chip", "--lang", "rust"]);
    assert_eq!(made.code(), 0, "{made}");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("package");
    for (folder, name) in
        [(package.file("examples/rust"), "digits-rust"), (package.bench.file("empty/my-chip"), "my-chip")]
    {
        // The versions of the workspace, which are here already.
        fs::copy(workspace().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--offline", "--target-dir"]).arg(&target).current_dir(&folder);
        cargo
            .env("RUSTFLAGS", "-D warnings")
            .env("CARGO_PROFILE_DEV_DEBUG", "false")
            .env_remove("CARGO_TARGET_DIR");
        try_run(&mut cargo).unwrap();
        let library = format!("debug/lib{}_sut.so", name.replace('-', "_"));
        package.assert_classifies(&target.join(library), name);
        fs::remove_dir_all(package.bench.file("empty/run")).unwrap();
    }
}

#[test]
fn programs_that_need_a_newer_glibc_make_no_package() {
    let bench = Bench::new();
    let output = bench.file("made");
    // Older than anything that any program takes.
    let refused = make(&["--glibc", "2.0", "--output", output.to_str().unwrap()]);
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success(), "{stderr}");
    assert!(stderr.starts_with("error: bin/host needs GLIBC_2."), "{stderr}");
    assert!(stderr.contains("but nothing above GLIBC_2.0 is allowed"), "{stderr}");
    let left: Vec<_> = fs::read_dir(&output).unwrap().map(|it| it.unwrap().path()).collect();
    assert!(left.iter().all(|path| path.extension().is_some_and(|it| it == "partial")), "{left:?}");
}

#[test]
fn what_is_not_built_is_named() {
    let bench = Bench::new();
    let empty = bench.file("empty");
    fs::create_dir(&empty).unwrap();
    let mut refused = Command::new(built("xtask"));
    refused.args(["package", "--built"]).arg(&empty).arg("--output").arg(&empty);
    let refused = refused.output().unwrap();
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && stderr.contains("empty/host is not built"), "{stderr}");
}

#[test]
fn it_says_whose_work_is_in_it_and_what_it_needs() {
    let package = Package::new();
    let read = |path: &str| fs::read_to_string(package.file(path)).unwrap();
    let third_party = read("licenses/third-party.txt");
    assert!(third_party.lines().any(|line| line.starts_with("clap 4.")), "{third_party}");
    assert!(third_party.contains("Permission is hereby granted"));
    for path in ["LICENSE", "datasets/digits/LICENSE", "licenses/rust-standard-library.html"] {
        assert!(!read(path).is_empty(), "{path}");
    }
    let readme = read("README.md");
    assert!(readme.contains("with glibc 2."), "{readme}");
    // Every name between two of these marks is filled in.
    for path in
        ["README.md", "lib/pkgconfig/proctor-plugin.pc", "lib/cmake/Proctor/ProctorConfigVersion.cmake"]
    {
        assert!(!read(path).contains('@'), "{path}");
    }
}

#[test]
fn its_pages_link_to_what_it_has() {
    let package = Package::new();
    let mut folders = vec![package.folder.clone()];
    let mut link_count = 0;
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(&folder).unwrap().map(|it| it.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "md") {
                let page = fs::read_to_string(&path).unwrap();
                for link in page.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                    let file = link.split('#').next().unwrap_or_default();
                    let is_here = link.starts_with("http") || folder.join(file).exists();
                    assert!(is_here, "{} links to {link}", path.display());
                    link_count += 1;
                }
            }
        }
    }
    assert!(link_count > 0, "no page links to anything: this test looks in the wrong place");
}
