//! Runs that the official LoadGen cannot make, and a Python that lacks something: each names what to do.

use std::os::unix::fs::PermissionsExt;

use super::bench;
use crate::python::bench_with;

const SETTINGS: i32 = 2;

#[test]
fn what_the_package_cannot_do_is_refused() {
    for (flags, told) in [
        ("--scenario Server --set server_num_issue_query_threads=2", "server_num_issue_query_threads"),
        ("--virtual-time", "virtual"),
        ("--scenario Server --set arrivals=constant", "arrivals"),
        ("--set rules=v5.0", "--loadgen"),
        ("--set rules=v0.5", "fixed intervals"),
    ] {
        let Some(bench) = bench() else { return };
        let run = bench.run(&format!("--engine official --plugin mock {flags}"));
        run.finished.assert_error(SETTINGS, &[told, "official"]);
        assert!(!run.folder().exists(), "{}", run.finished);
    }
}

#[test]
fn a_python_without_the_packages_is_told_with_the_line_that_installs_them() {
    let Some(mut bench) = bench_with(&[]) else { return };
    bench.set_variable("PYTHONPATH", "");
    let run = bench.run("--engine official --plugin mock");
    let installs = "-m pip install mlcommons-loadgen";
    run.finished.assert_error(SETTINGS, &["mlperf_loadgen", installs]);

    let python = bench.write("python", "#!/bin/sh\necho proctor\n");
    std::fs::set_permissions(&python, std::fs::Permissions::from_mode(0o755)).unwrap();
    let run = bench.run(&format!("--engine official --plugin mock --python {}", python.display()));
    run.finished.assert_error(SETTINGS, &["-m pip install ./proctor-"]);
    let run = bench.run("--engine official --plugin mock --python ./none");
    run.finished.assert_error(SETTINGS, &["./none"]);
}

#[test]
fn a_build_of_another_kind_is_told_by_what_it_lacks() {
    for (text, told) in [
        ("class TestSettings:\n    pass\n", "has no attribute 'QuerySampleResponse'"),
        ("import no_such_part\n", "No module named 'no_such_part'"),
        ("raise SystemExit(9)\n", "SystemExit: 9"),
    ] {
        let Some(bench) = bench() else { return };
        bench.write("other/mlperf_loadgen.py", text);
        let flags = "--plugin mock --mode performance --scenario Offline --loadgen ./other";
        bench.run(&format!("--engine official {flags}")).finished.assert_error(SETTINGS, &[told]);
    }
}

#[test]
fn a_build_that_is_not_there_is_named() {
    let Some(bench) = bench() else { return };
    std::fs::create_dir(bench.file("empty")).unwrap();
    let run = bench.run("--engine official --plugin mock --loadgen ./empty");
    run.finished.assert_error(SETTINGS, &["empty"]);
}
