//! Files in LoadGen's format that are not for the run, or no such files; settings that one source gives twice.

use std::fs;

use proctor_config::{Loader, Settings};
use tempfile::TempDir;

/// The settings of a run in a scenario with this `user.conf`, and its warnings with the file for its path.
fn load(scenario: &str, lines: &[u8]) -> Result<(Settings, Vec<String>), String> {
    let folder = TempDir::new().unwrap();
    let user = folder.path().join("user.conf");
    fs::write(&user, lines).unwrap();
    let path = user.display().to_string();
    let loader = Loader::new().set(&format!("scenario={scenario}")).user_conf(&user);
    let settings = loader.load().map_err(|errors| errors.to_string().replace(&path, "user.conf"))?;
    let warnings = settings.warnings.iter().map(|warning| warning.replace(&path, "user.conf")).collect();
    Ok((settings, warnings))
}

#[test]
fn lines_for_all_scenarios_are_read_without_a_word_in_each() {
    let lines = "*.*.target_latency = 2.5\ndigits-lstm.*.min_query_count = 70\n*.SingleStream.min_duration = 11\n\
                 *.Offline.min_duration = 12\n*.Server.min_duration = 13\n*.Server.target_latency = 30\n\
                 *.Server.target_qps = 0\n*.Server.ttft_latency = 100\n";
    for (scenario, duration_ms) in [("SingleStream", 11), ("Offline", 12)] {
        let (settings, warnings) = load(scenario, lines.as_bytes()).unwrap();
        assert_eq!((settings.test.min_duration_ms, settings.test.min_query_count), (duration_ms, 70));
        assert_eq!(warnings, [""; 0], "{scenario}");
    }
    // Mistakes in them are reported where they are run.
    let error = load("Server", lines.as_bytes()).unwrap_err();
    assert!(
        error.starts_with("user.conf:7 (*.Server.target_qps): server_target_qps = 0 is out of range"),
        "{error}"
    );
}

#[test]
fn a_key_that_its_scenario_does_not_have_is_no_line_for_the_run() {
    let (_, warnings) = load("SingleStream", b"*.*.target_qps = 5\n").unwrap();
    assert_eq!(warnings, ["user.conf: no line of it is read for the model digits-lstm in SingleStream"]);
    let (settings, warnings) = load("Offline", b"*.*.target_qps = 5\n").unwrap();
    assert_eq!((settings.test.offline_expected_qps, warnings), (5.0, Vec::new()));
}

#[test]
fn a_line_for_interactive_names_the_line_that_is_read() {
    let (settings, warnings) =
        load("Server", b"*.Interactive.target_qps = 5\n*.Server.min_duration = 7\n").unwrap();
    assert_eq!(
        warnings,
        [
            "user.conf: line 1: *.Interactive.target_qps is ignored: LoadGen has no scenario Interactive, which it \
             runs as Server: write *.Server.target_qps"
        ]
    );
    assert_eq!(settings.test.server_target_qps, 1000.0);
}

#[test]
fn a_file_that_is_none_is_named_as_what_it_is() {
    let utf16: Vec<u8> = "\u{feff}*.*.min_duration = 5\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let folder = TempDir::new().unwrap();
    for (bytes, what) in [
        (&b"<!DOCTYPE html>\n<html><body>404: Not Found</body>\n"[..], "it is a web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n", "it is a pointer of Git LFS"),
        (b"\x1f\x8b\x08\0\0\0", "it is packed by gzip"),
        (utf16.as_slice(), "it is text in UTF-16: save it as UTF-8"),
    ] {
        let path = folder.path().join("given");
        fs::write(&path, bytes).unwrap();
        let toml = folder.path().join("given.toml");
        fs::write(&toml, bytes).unwrap();
        for (path, loader) in [
            (&path, Loader::new().user_conf(&path)),
            (&path, Loader::new().mlperf_conf(&path)),
            (&path, Loader::new().config_file(&path)),
            (&path, Loader::new().set("arrivals=trace").set(&format!("arrivals_trace={}", path.display()))),
            (&toml, Loader::new().benchmark(toml.display().to_string())),
        ] {
            let error = loader.load().unwrap_err().to_string();
            assert!(error.starts_with(&format!("cannot read {}: {what}", path.display())), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }
}

#[test]
fn two_values_of_one_source_are_told_with_the_one_that_wins() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("proctor.toml");
    fs::write(&file, "min_duration_ms = 5\nmin_duration = 6\n").unwrap();
    let variables = [("PROCTOR_MIN_DURATION", "8"), ("PROCTOR_MIN_DURATION_MS", "7")];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let loader = Loader::new().config_file(&file).environment(variables);
    let loader =
        loader.flag("--duration", "min_duration_ms", "60000").set("min_duration=9").set("min_duration_ms=10");
    let settings = loader.load().unwrap();
    let file = file.display();
    assert_eq!(settings.test.min_duration_ms, 10);
    assert_eq!(
        settings.warnings,
        [
            format!("5 ({file}:1) wins over 6 ({file}:2)"),
            "7 (environment variable PROCTOR_MIN_DURATION_MS) wins over 8 (environment variable PROCTOR_MIN_DURATION)"
                .to_owned(),
            "10 (flag --set min_duration_ms) wins over 9 (flag --set min_duration)".to_owned(),
            "10 (flag --set min_duration_ms) wins over 60000 (flag --duration)".to_owned(),
        ]
        .map(|told| format!("min_duration_ms is set twice: {told}"))
    );
    // The same value, the same flag once more, and a seed in addition to the seed for all.
    let quiet = Loader::new().flag("--duration", "min_duration_ms", "10").set("min_duration=10");
    let quiet = quiet.set("batch_size=2").set("batch_size=3").set("seed=1").set("schedule_rng_seed=2");
    assert_eq!(quiet.load().unwrap().warnings, [""; 0]);
}

#[test]
fn a_suite_without_effect_is_none_of_the_run() {
    let settings = Loader::new().set("suite=edge").load().unwrap();
    assert_eq!(settings.run.suite, None);
    assert_eq!(settings.warnings.len(), 1, "{:?}", settings.warnings);
    // The given settings stay among the settings, as all that is given.
    assert_eq!(settings.effective["suite"].value.to_string(), "edge");
}
