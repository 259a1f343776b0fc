//! Plugins that cannot be used: each with its own text and exit code 3, and never a crash.

use proctor_tests::{Bench, compile, compile_with_cpp, plugin};

const PLUGIN: i32 = 3;
const SETTINGS: i32 = 2;

#[test]
fn a_name_that_nobody_has_is_met_with_the_near_one() {
    let run = Bench::new().run("--plugin mocc");
    run.finished.assert_error(PLUGIN, &["found no plugin \"mocc\"", "did you mean \"mock\"?", "looked in"]);
}

#[test]
fn a_name_in_the_current_folder_is_met_with_its_path() {
    let bench = Bench::new();
    std::fs::copy(plugin("mock"), bench.file("libmy_chip_sut.so")).unwrap();
    let run = bench.run("--plugin my-chip");
    run.finished.assert_error(PLUGIN, &["found no plugin \"my-chip\"", "is ./libmy_chip_sut.so)"]);
}

#[test]
fn a_path_where_nothing_is() {
    let run = Bench::new().run("--plugin ./libnothing_sut.so");
    run.finished.assert_error(PLUGIN, &["cannot read the plugin", "libnothing_sut.so", "No such file"]);
}

#[test]
fn a_folder_is_no_plugin() {
    let bench = Bench::new();
    bench
        .run(&format!("--plugin {}/", bench.path().display()))
        .finished
        .assert_error(PLUGIN, &["cannot read the plugin"]);
}

#[test]
fn a_file_that_is_no_library() {
    let bench = Bench::new();
    let path = bench.write("libtext_sut.so", "this is no library\n");
    let run = bench.run(&format!("--plugin {}", path.display()));
    run.finished.assert_error(PLUGIN, &["libtext_sut.so is not a shared library that can be loaded here"]);
}

#[test]
fn a_library_that_is_cut_off() {
    let bench = Bench::new();
    let bytes = std::fs::read(plugin("faulty")).unwrap();
    let path = bench.write("libhalf_sut.so", &bytes[..1000]);
    let run = bench.run(&format!("--plugin {}", path.display()));
    run.finished.assert_error(PLUGIN, &["libhalf_sut.so is not a shared library that can be loaded here"]);
}

#[test]
fn a_library_that_is_no_plugin() {
    let bench = Bench::new();
    let other_name = ["proctor_plugin_entry=another_entry"];
    let Some(library) = compile("null_plugin.c", &other_name, bench.path(), "other") else { return };
    let run = bench.run(&format!("--plugin {}", library.display()));
    let says = ["libother_sut.so is a shared library, but no plugin", "proctor_plugin_entry"];
    run.finished.assert_error(PLUGIN, &says);
    assert!(!run.folder().exists(), "a run that could not begin left {}", run.folder().display());
}

#[test]
fn a_plugin_is_found_by_the_name_of_its_file_wherever_it_is() {
    let bench = Bench::new();
    std::fs::copy(plugin("faulty"), bench.file("libother_sut.so")).unwrap();
    let found = bench.host(&format!("describe {}", bench.file("libother_sut.so").display()));
    assert_eq!(found.code(), 0, "{found}");
    let mut command = bench.command("describe other");
    command.env("PROCTOR_PLUGIN_PATH", bench.path());
    let found = bench.start_command(command).finish();
    assert_eq!(found.code(), 0, "{found}");
    assert!(found.stdout.starts_with("faulty "), "{found}");
}

#[test]
fn a_model_that_the_plugin_does_not_declare() {
    let run = Bench::new().run("--plugin cpu-rnn --benchmark digits-cnn");
    run.finished.assert_error(PLUGIN, &["plugin cpu-rnn does not declare", "digits-cnn", "it declares"]);
}

#[test]
fn a_scenario_that_the_plugin_does_not_declare() {
    let bench = Bench::new();
    let (sources, folder) = (("wayward_plugin.c", "throw_number.cpp"), bench.path());
    let Some(library) = compile_with_cpp(sources.0, sources.1, &[], folder, "wayward") else { return };
    let arguments = format!("run --plugin {} --scenario Offline --output out", library.display());
    let mut command = bench.command(&arguments);
    // The bit of SingleStream.
    command.env("WAYWARD", "describe scenarios=1");
    let expected = ["plugin wayward does not declare", "Offline", "it declares SingleStream"];
    bench.start_command(command).finish().assert_error(PLUGIN, &expected);
}

#[test]
fn a_precision_and_a_device_that_the_plugin_does_not_declare() {
    let bench = Bench::new();
    let precision = bench.run("--plugin cpu-rnn --precision int4");
    precision
        .finished
        .assert_error(PLUGIN, &["does not declare precision int4; it declares bf16, f32, int8"]);
    let device = bench.run("--plugin cpu-rnn --set device=cuda");
    device.finished.assert_error(PLUGIN, &["does not declare device cuda; it declares cpu"]);
}

#[test]
fn a_batch_that_is_larger_than_the_plugin_declares() {
    let run = Bench::new().run("--plugin faulty --batch-size 65");
    run.finished.assert_error(PLUGIN, &["faulty", "batch", "65", "64"]);
}

#[test]
fn an_option_of_the_wrong_type_or_out_of_range() {
    let bench = Bench::new();
    for (option, expected) in [
        ("after=many", "option \"after\" cannot be \"many\": it takes an integer of at least 0"),
        ("after=-1", "option \"after\" cannot be \"-1\""),
        ("fault=explode", "option \"fault\" cannot be \"explode\": it takes one of none, "),
        ("aftr=1", "the plugin has no option \"aftr\", did you mean \"after\"?"),
    ] {
        let run = bench.run(&format!("--plugin faulty --set faulty.{option}"));
        run.finished.assert_error(SETTINGS, &[expected]);
        assert!(!run.folder().exists());
    }
}

#[test]
fn an_option_of_a_plugin_that_is_not_used() {
    let run = Bench::new().run("--plugin faulty --set falty.after=1");
    run.finished.assert_error(SETTINGS, &["falty.after", "did you mean \"faulty\"?"]);
}

#[test]
fn a_plugin_that_takes_no_whole_queries() {
    let run = Bench::new().run("--plugin cpu-rnn --set issue=true");
    run.finished.assert_error(PLUGIN, &["plugin cpu-rnn takes no whole queries"]);
}

#[test]
fn errors_at_open_and_load_are_passed_on() {
    let bench = Bench::new();
    for (fault, call) in [("open-error", "open failed"), ("load-error", "load_model failed")] {
        let run = bench.run(&format!("--plugin faulty --set faulty.fault={fault}"));
        run.finished.assert_error(PLUGIN, &["plugin faulty", call, "this was asked for by option fault"]);
        assert!(!run.folder().exists());
    }
}

#[test]
fn a_plugin_that_hangs_at_open() {
    let run = Bench::new().run("--plugin faulty --set faulty.fault=open-hang --set watchdog_ms=200");
    run.finished.assert_error(PLUGIN, &["plugin faulty hangs", "open", "watchdog_ms = 200"]);
    assert!(run.text("error.txt").contains("hangs"));
}
