//! Plugins that cannot be used: each with its own text and exit code 3, and never a crash.

use proctor_tests::{Bench, compile, plugin};

const PLUGIN: i32 = 3;
const SETTINGS: i32 = 2;

/// Runs a plugin of `bad_plugin.c`, by its number there, and asserts what the error says.
fn bad(case: u32, texts: &[&str]) {
    let bench = Bench::new();
    let Some(library) = compile("bad_plugin.c", &[&format!("CASE={case}")], bench.path(), "bad") else {
        return;
    };
    let run = bench.run(&format!("--plugin {}", library.display()));
    run.finished.assert_error(PLUGIN, texts);
    assert!(run.finished.stderr.contains("libbad_sut.so") || run.finished.stderr.contains("plugin bad"));
    assert!(!run.folder().exists(), "a run that could not begin left {}", run.folder().display());
}

#[test]
fn a_name_that_nobody_has_is_met_with_the_near_one() {
    let run = Bench::new().run("--plugin mocc");
    run.finished.assert_error(PLUGIN, &["found no plugin \"mocc\"", "did you mean \"mock\"?", "looked in"]);
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
    bad(1, &["is a shared library, but no plugin", "proctor_plugin_entry"]);
}

#[test]
fn a_plugin_that_refuses() {
    bad(2, &["refuses this host: this plugin wants a full moon"]);
}

#[test]
fn a_plugin_without_table_and_reason() {
    bad(3, &["returned no table and gave no reason"]);
}

#[test]
fn another_major_version() {
    bad(4, &["follows ABI 99.", "this host speaks 1.x only"]);
}

#[test]
fn a_table_that_is_too_short() {
    bad(5, &["ProctorPlugin has 24 bytes"]);
}

#[test]
fn a_required_function_that_is_null() {
    bad(6, &["the required function", "execute is null"]);
}

#[test]
fn a_manifest_that_is_null() {
    bad(7, &["ProctorManifest is null"]);
}

#[test]
fn a_plugin_without_a_name() {
    bad(8, &["name", "empty"]);
}

#[test]
fn a_plugin_that_runs_nothing() {
    bad(9, &["manifest", "models"]);
}

#[test]
fn a_text_that_is_not_utf8() {
    bad(10, &["vendor", "UTF-8"]);
}

#[test]
fn a_table_of_absurd_size() {
    bad(11, &["ProctorPlugin has 1099511627776 bytes"]);
}

#[test]
fn a_model_without_scenarios() {
    bad(12, &["manifest", "scenario"]);
}

#[test]
fn an_extension_that_is_promised_and_not_there() {
    bad(13, &["the manifest promises \"proctor.issue/1\""]);
}

#[test]
fn a_null_handle_in_spite_of_success() {
    bad(14, &["open returned OK and a null handle"]);
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
    // All that is wrong with this one comes later.
    let Some(library) = compile("bad_plugin.c", &["CASE=0"], bench.path(), "bad") else { return };
    let run = bench.run(&format!("--plugin {} --scenario Offline", library.display()));
    run.finished
        .assert_error(PLUGIN, &["plugin bad does not declare", "Offline", "it declares SingleStream"]);
    let run = bench.run(&format!("--plugin {} --scenario SingleStream", library.display()));
    run.finished.assert_error(PLUGIN, &["plugin bad: load_model failed"]);
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
