//! Layers, origins and errors of whole loads.

use std::{
    fs,
    path::{Path, PathBuf},
};

use proctor_config::{
    ConfigErrors, Deviation, IssueMode, Loader, Origin, RunSettings, Settings, Value, benchmarks,
};
use proctor_vocabulary::{Scenario, TestMode};
use tempfile::TempDir;

fn write(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    path
}

fn variable(name: &str, value: &str) -> [(String, String); 1] {
    [(name.to_owned(), value.to_owned())]
}

fn origin(settings: &Settings, key: &str) -> String {
    settings.origin(key).unwrap().to_string()
}

fn lines(result: Result<Settings, ConfigErrors>) -> Vec<String> {
    result.unwrap_err().to_string().lines().map(ToOwned::to_owned).collect()
}

/// The one deviation of every run of the default benchmark, which no round has.
fn of_own_benchmark() -> Deviation {
    Deviation::Benchmark { benchmark: "digits-lstm".to_owned() }
}

#[test]
fn without_any_source_the_defaults_are_a_quick_single_stream_run() {
    let settings = Loader::new().load().unwrap();
    assert_eq!(settings.run.plugin, "cpu-rnn");
    assert_eq!(settings.benchmark.id, "digits-lstm");
    assert_eq!(settings.test.scenario, Scenario::SingleStream);
    assert_eq!(settings.run.mode, None);
    assert_eq!(settings.run.issue, IssueMode::Auto);
    assert_eq!(settings.run.watchdog_ms, 60_000);
    assert_eq!(settings.test.min_duration_ms, 2000);
    assert_eq!(settings.test.qsl_rng_seed, 6_023_615_788_873_153_749);
    assert_eq!(origin(&settings, "qsl_rng_seed"), "round v5.0");
    assert_eq!(origin(&settings, "min_duration_ms"), "preset quick");
    assert_eq!(origin(&settings, "plugin"), "default");
    assert!(!settings.is_of_official_length());
}

#[test]
fn the_official_preset_is_of_official_length_until_it_is_shortened() {
    for scenario in Scenario::ALL {
        let official = || {
            Loader::new().flag("--preset", "preset", "official").flag(
                "--scenario",
                "scenario",
                scenario.name(),
            )
        };
        let settings = official().load().unwrap();
        assert_eq!(settings.test.min_duration_ms, 600_000);
        assert!(settings.is_of_official_length(), "{scenario}");
        assert!(!official().set("min_duration=599999").load().unwrap().is_of_official_length());
        for limit in ["max_query_count=1", "max_duration_ms=500"] {
            // Offline has one query, and reads no limit.
            let is_official = official().set(limit).load().unwrap().is_of_official_length();
            assert_eq!(is_official, *scenario == Scenario::Offline, "{scenario} {limit}");
        }
    }
}

#[test]
fn each_layer_overrides_the_one_below_and_the_chain_is_kept() {
    let folder = TempDir::new().unwrap();
    let file = write(&folder, "proctor.toml", "scenario = \"Server\"\n\nserver_target_qps = 20\n");
    let mlperf = write(&folder, "mlperf.conf", "*.Server.target_qps = 30\n*.*.qsl_rng_seed = 7\n");
    let user = write(&folder, "user.conf", "# mine\ndigits-lstm.Server.target_qps = 40\n");
    let settings = Loader::new()
        .config_file(&file)
        .mlperf_conf(&mlperf)
        .user_conf(&user)
        .environment(variable("PROCTOR_SERVER_TARGET_QPS", "50"))
        .flag("--target-qps", "target_qps", "60")
        .set("server_target_qps=70")
        .load()
        .unwrap();
    assert_eq!(settings.test.server_target_qps, 70.0);
    assert_eq!(settings.test.qsl_rng_seed, 7);
    let effective = &settings.effective["server_target_qps"];
    assert_eq!(effective.origin, Origin::Flag { flag: "--set server_target_qps".to_owned() });
    let chain: Vec<_> =
        effective.overridden.iter().map(|over| (over.value.clone(), over.origin.to_string())).collect();
    let number = |value: f64, origin: String| (Value::Number(value), origin);
    let (user, mlperf, file) = (user.display(), mlperf.display(), file.display());
    assert_eq!(
        chain,
        [
            number(60.0, "flag --target-qps".to_owned()),
            number(50.0, "environment variable PROCTOR_SERVER_TARGET_QPS".to_owned()),
            number(40.0, format!("{user}:2 (digits-lstm.Server.target_qps)")),
            number(30.0, format!("{mlperf}:1 (*.Server.target_qps)")),
            number(20.0, format!("{file}:3")),
            number(1000.0, "benchmark digits-lstm (digits-lstm.toml)".to_owned()),
            number(1.0, "preset quick".to_owned()),
            number(1.0, "default".to_owned()),
        ]
    );
}

#[test]
fn the_file_of_the_folder_is_read_if_it_is_there() {
    let folder = TempDir::new().unwrap();
    assert_eq!(Loader::new().search_folder(folder.path()).load().unwrap().run.plugin, "cpu-rnn");
    write(&folder, "proctor.toml", "plugin = \"mock\"\nmode = \"accuracy\"\n[mock]\nlatency_us = 5\n");
    let settings = Loader::new().search_folder(folder.path()).load().unwrap();
    assert_eq!(settings.run.plugin, "mock");
    assert_eq!(settings.run.mode, Some(TestMode::AccuracyOnly));
    assert_eq!(settings.test.mode, TestMode::AccuracyOnly);
    assert_eq!(settings.plugin_options["mock.latency_us"], "5");
    assert!(origin(&settings, "mock.latency_us").ends_with("proctor.toml:4"));
}

#[test]
fn a_missing_file_that_was_asked_for_is_an_error() {
    let missing = Loader::new().config_file("no/such/proctor.toml").user_conf("no/such/user.conf");
    let lines = lines(missing.load());
    assert!(lines[0].starts_with("cannot read no/such/proctor.toml: "), "{lines:?}");
    assert!(lines[1].starts_with("cannot read no/such/user.conf: "), "{lines:?}");
}

#[test]
fn all_errors_of_all_layers_are_reported_at_once() {
    let folder = TempDir::new().unwrap();
    let file = write(&folder, "proctor.toml", "min_duration_ms = -5\nbatch_sise = 2\nvirtual_time = 2\n");
    let user = write(&folder, "user.conf", "*.*.min_query_count =5\n");
    let result = Loader::new()
        .config_file(&file)
        .user_conf(&user)
        .environment(variable("PROCTOR_INSTANCES", "many"))
        .flag("--scenario", "scenario", "Sever")
        .set("no assignment")
        .load();
    let (file, user) = (file.display(), user.display());
    let expected = [
        "flag --set: \"no assignment\" is no assignment: write setting=value or plugin.option=value".to_owned(),
        format!("{file}:2: unknown setting \"batch_sise\", did you mean \"batch_size\"?"),
        format!("{file}:1: min_duration_ms = -5 is out of range: give a whole number from 0 to 2592000000 (ms)"),
        format!("{file}:3: virtual_time = 2: give true or false"),
        format!("{user}: line 1: expected `key = value` with spaces around the `=` (found \"=5\")"),
        "environment variable PROCTOR_INSTANCES: instances = many: give a whole number from 1 to 1024".to_owned(),
        "flag --scenario: scenario = Sever: give one of SingleStream, MultiStream, Server, Offline, Interactive, did you \
         mean \"Server\"?"
            .to_owned(),
    ];
    assert_eq!(lines(result), expected);
}

#[test]
fn a_syntax_error_names_file_and_line() {
    let folder = TempDir::new().unwrap();
    let file = write(&folder, "proctor.toml", "plugin = \"mock\"\n\nscenario = Server\n");
    let lines = lines(Loader::new().config_file(&file).load());
    assert!(lines[0].starts_with(&format!("{}:3: ", file.display())), "{lines:?}");
}

#[test]
fn a_value_of_a_loadgen_file_has_to_make_sense_too() {
    let folder = TempDir::new().unwrap();
    let user = write(&folder, "user.conf", "*.*.min_query_count = -1\n");
    let lines = lines(Loader::new().user_conf(&user).load());
    let expected = format!(
        "{}:1 (*.*.min_query_count): min_query_count = 18446744073709551615 is out of range: give a whole number from 0 \
         to 281474976710656",
        user.display()
    );
    assert_eq!(lines, [expected]);
}

#[test]
fn a_user_conf_may_set_the_mode() {
    let folder = TempDir::new().unwrap();
    let user = write(&folder, "user.conf", "*.*.mode = 1\n");
    let settings = Loader::new().user_conf(&user).load().unwrap();
    assert_eq!(settings.run.mode, Some(TestMode::AccuracyOnly));
    let settings = Loader::new().user_conf(&user).set("mode=performance").load().unwrap();
    assert_eq!(settings.run.mode, Some(TestMode::PerformanceOnly));
}

#[test]
fn what_a_user_conf_cannot_do_is_a_warning() {
    let folder = TempDir::new().unwrap();
    let user = write(&folder, "user.conf", "*.*.qsl_rng_seed = 1\n*.*.min_duration=5\n");
    let settings = Loader::new().user_conf(&user).load().unwrap();
    assert_eq!(origin(&settings, "qsl_rng_seed"), "round v5.0");
    let path = user.display();
    assert_eq!(
        settings.warnings,
        [
            format!("{path}: line 1: *.*.qsl_rng_seed is ignored: only mlperf.conf may set this key"),
            format!("{path}: line 2: *.*.min_duration=5 is ignored: write it with spaces around the `=`"),
            format!("{path}: no line of it is read for the model digits-lstm in SingleStream"),
        ]
    );
}

/// Whichever source says which scenario is run, a file is read for that one.
#[test]
fn a_user_conf_is_read_for_the_scenario_that_is_run() {
    let folder = TempDir::new().unwrap();
    let user = write(
        &folder,
        "user.conf",
        "*.SingleStream.min_duration = 11\n*.SingleStream.min_query_count = 3\n*.Server.min_duration = 1234\n\
         *.Server.min_query_count = 77\n*.Server.use_token_latencies = 1\n*.Server.ttft_latency = 2000\n\
         *.Server.sample_concatenate_permutation = 1\n*.Offline.min_query_count = 5\n",
    );
    let file = write(&folder, "proctor.toml", "scenario = \"Server\"\n");
    let loader = || Loader::new().user_conf(&user);
    for loader in [
        loader().config_file(&file),
        loader().environment(variable("PROCTOR_SCENARIO", "Server")),
        loader().flag("--scenario", "scenario", "server"),
        loader().set("scenario=Server"),
    ] {
        let settings = loader.load().unwrap();
        let test = &settings.test;
        assert_eq!((test.min_duration_ms, test.min_query_count), (1234, 77));
        assert!(test.use_token_latencies && test.sample_concatenate_permutation);
        assert_eq!(test.server_ttft_latency, 2_000_000_000);
        assert_eq!(
            origin(&settings, "min_query_count"),
            format!("{}:4 (*.Server.min_query_count)", user.display())
        );
        assert_eq!(settings.warnings, [""; 0]);
    }
    // A lower source does not decide: the flag does.
    let settings = loader().config_file(&file).flag("--scenario", "scenario", "Offline").load().unwrap();
    assert_eq!(settings.test.min_query_count, 5);
}

#[test]
fn a_user_conf_names_models_as_loadgen_does() {
    let folder = TempDir::new().unwrap();
    let user = write(
        &folder,
        "user.conf",
        "3d-unet.Offline.target_qps = 33\n3d-unet.SingleStream.min_duration = 77\n",
    );
    for benchmark in ["3d-unet-kits19", "3d-unet-brats"] {
        let loader = Loader::new().benchmark(benchmark).set("scenario=Offline").user_conf(&user);
        let settings = loader.load().unwrap();
        assert_eq!(settings.test.offline_expected_qps, 33.0, "{benchmark}");
        assert_eq!(settings.warnings, [""; 0]);
    }
}

#[test]
fn a_user_conf_that_is_for_nothing_here_is_told() {
    let folder = TempDir::new().unwrap();
    let warnings = |text: &str| {
        let user = write(&folder, "user.conf", text);
        let settings = Loader::new().set("scenario=Server").user_conf(&user).load().unwrap();
        let path = user.display().to_string();
        settings.warnings.iter().map(|warning| warning.replace(&path, "user.conf")).collect::<Vec<_>>()
    };
    let nothing = "user.conf: no line of it is read for the model digits-lstm in Server";
    assert_eq!(
        warnings("digit-lstm.Server.target_qps = 5\n"),
        [
            "user.conf: line 1: there is no model digit-lstm, did you mean \"digits-lstm\"?; the model of this run is \
             digits-lstm",
            nothing,
        ]
    );
    assert_eq!(warnings("resnet50.Server.target_qps = 5\n*.Offline.target_qps = 5\n"), [nothing]);
    // Lines for other models that there are, and for other scenarios, are no matter if some line is for this run.
    let several = "resnet50.Server.target_qps = 5\ndeepseek-r1.*.min_duration = 5\n*.Server.target_qps = 5\n";
    assert_eq!(warnings(several), [""; 0]);
    assert_eq!(
        warnings("\u{feff}*.Server.target_qps = 123\n"),
        [
            "user.conf: line 1: *.Server.target_qps is ignored: a byte order mark stands before it; save the file \
             without one",
            nothing,
        ]
    );
}

/// Source: the seeds that each round announced, as its result checker has them.
#[test]
fn the_seeds_are_those_of_the_round_below_every_file() {
    for (round, seeds) in [
        ("v0.5", [3133965575612453542, 665484352860916858, 3622009729038561421]),
        ("v0.7", [12786827339337101903, 12640797754436136668, 3135815929913719677]),
        ("v5.0", [6023615788873153749, 15036839855038426416, 9933818062894767841]),
        ("v5.1", [1780908523862526354, 14771362308971278857, 18209322760996052031]),
        ("v6.0", [2465351861681999779, 14276810075590677512, 3936089224930324775]),
        ("v6.1", [2085463073848966840, 2747215439041700203, 16159082839903944936_u64]),
    ] {
        let settings = Loader::new().flag("--rules", "rules", round).load().unwrap();
        let test = &settings.test;
        assert_eq!([test.qsl_rng_seed, test.sample_index_rng_seed, test.schedule_rng_seed], seeds, "{round}");
        for key in ["qsl_rng_seed", "sample_index_rng_seed", "schedule_rng_seed"] {
            assert_eq!(origin(&settings, key), format!("round {round}"));
        }
        assert_eq!(settings.deviations("f32"), [of_own_benchmark()], "{round}");
    }
    let folder = TempDir::new().unwrap();
    // Nobody has set LoadGen's own seeds, so they are not among the replaced ones.
    let replaced = |loader: Loader, key: &str| -> Vec<String> {
        let settings = loader.load().unwrap();
        settings.effective[key].overridden.iter().map(|replaced| replaced.origin.to_string()).collect()
    };
    assert_eq!(replaced(Loader::new(), "qsl_rng_seed"), [""; 0]);
    assert_eq!(replaced(Loader::new(), "accuracy_log_rng_seed"), [""; 0]);
    assert_eq!(replaced(Loader::new().set("seed=8"), "qsl_rng_seed"), ["round v5.0"]);
    let conf = write(&folder, "mlperf.conf", "*.*.qsl_rng_seed = 7\n");
    assert_eq!(Loader::new().mlperf_conf(&conf).load().unwrap().test.qsl_rng_seed, 7);
    assert_eq!(Loader::new().set("seed=8").load().unwrap().test.qsl_rng_seed, 8);
}

#[test]
fn what_is_issued_otherwise_than_in_the_round_deviates() {
    let texts = |assignment: &str| {
        let deviations = Loader::new().set(assignment).load().unwrap().deviations("f32").into_iter();
        let others = deviations.filter(|it| *it != of_own_benchmark());
        others.map(|it| it.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(texts("qsl_rng_seed=1"), ["qsl_rng_seed is 1, and the round announced 6023615788873153749"]);
    assert_eq!(texts("seed=1").len(), 3);
    assert_eq!(texts("test05=true").len(), 3);
    assert_eq!(texts("performance_issue_same=1"), ["performance_issue_same is on, which belongs to audits"]);
    assert_eq!(
        texts("performance_issue_unique=1"),
        ["performance_issue_unique is on, which belongs to audits"]
    );
    assert_eq!(
        texts("sample_concatenate_permutation=1"),
        ["sample_concatenate_permutation is true, and the round wants false"]
    );
}

#[test]
fn the_environment_knows_only_settings() {
    let set = |name, value| Loader::new().environment(variable(name, value));
    assert_eq!(set("PROCTOR_SEED", "9").load().unwrap().test.schedule_rng_seed, 9);
    assert!(set("PROCTOR_LOG", "debug").load().is_ok());
    assert!(set("OTHER_PLUGIN", "x").load().is_ok());
    assert_eq!(
        lines(set("PROCTOR_PLUGINS", "x").load()),
        ["environment variable PROCTOR_PLUGINS: unknown setting \"plugins\", did you mean \"plugin\"?"]
    );
    let path = std::env::join_paths(["a", "b"]).unwrap().into_string().unwrap();
    let settings = set("PROCTOR_PLUGIN_PATH", &path).load().unwrap();
    assert_eq!(settings.run.plugin_path, [PathBuf::from("a"), PathBuf::from("b")]);
}

#[test]
fn unknown_benchmarks_and_scenarios_that_it_does_not_have_are_errors() {
    let known: Vec<_> = benchmarks().map(|benchmark| benchmark.id.as_str()).collect();
    assert!(known.contains(&"gnmt") && known.is_sorted(), "{known:?}");
    assert_eq!(
        lines(Loader::new().benchmark("digits-lsmt").load()),
        [format!(
            // The family is the one in the tests of families, in this very program.
            "flag --benchmark: unknown benchmark \"digits-lsmt\", did you mean \"digits-lstm\"?; known are {}, \
             mlp-<number>, or give the path of a definition (*.toml)",
            known.join(", ")
        )]
    );
    let folder = TempDir::new().unwrap();
    let built_in = include_str!("../../benchmarks/digits-mlp.toml");
    let only_offline =
        built_in.split("[scenarios.SingleStream]").next().unwrap().to_owned() + "[scenarios.Offline]\n";
    let path = write(&folder, "mine.toml", &only_offline).display().to_string();
    assert_eq!(
        lines(Loader::new().benchmark(&path).load()),
        ["default: benchmark digits-mlp has no scenario SingleStream; it has Offline"]
    );
    assert!(Loader::new().benchmark(&path).flag("--scenario", "scenario", "Offline").load().is_ok());
}

#[test]
fn the_explanation_has_every_setting_with_its_help() {
    let settings = Loader::new().set("mock.latency_us=5").load().unwrap();
    let rows = settings.explain();
    assert_eq!(rows.len(), proctor_config::keys().len() + 1);
    assert!(rows.iter().all(|row| !row.help.is_empty() || row.key == "mock.latency_us"));
    assert_eq!(rows[0].key, "plugin");
    assert_eq!(rows.last().unwrap().key, "mock.latency_us");
}

#[test]
fn settings_become_json_with_their_origins() {
    let settings = Loader::new()
        .set("server_target_qps=2.5")
        .set("schedule_rng_seed=18446744073709551615")
        .load()
        .unwrap();
    let json = serde_json::to_value(&settings.effective).unwrap();
    assert_eq!(json["schedule_rng_seed"]["value"], u64::MAX);
    assert_eq!(json["mode"]["value"], serde_json::Value::Null);
    let qps = &json["server_target_qps"];
    let expected = serde_json::json!({
        "value": 2.5,
        "origin": {"kind": "flag", "flag": "--set server_target_qps"},
        "overridden": [
            {"value": 1.0, "origin": {"kind": "preset", "name": "quick"}},
            {"value": 1.0, "origin": {"kind": "default"}},
        ],
    });
    assert_eq!(qps, &expected);
}

#[test]
fn flags_go_before_a_record_without_a_warning() {
    let record = Path::new("runs/a/result.json");
    let loader =
        Loader::new().environment(variable("PROCTOR_BATCH_SIZE", "2")).recorded(record, "batch_size", "3");
    let settings = loader.clone().load().unwrap();
    assert_eq!(settings.effective["batch_size"].value.to_string(), "3");
    assert_eq!(origin(&settings, "batch_size"), "recorded in runs/a/result.json");
    let settings = loader.clone().set("batch_size=4").load().unwrap();
    assert_eq!(settings.effective["batch_size"].value.to_string(), "4");
    assert_eq!(settings.warnings, [""; 0]);
    let errors = lines(loader.recorded(record, "batch_size", "x").load());
    assert!(errors.iter().any(|line| line.contains("recorded in runs/a/result.json")), "{errors:?}");
}

#[test]
fn a_setting_that_is_left_out_is_as_if_the_user_had_said_nothing_of_it() {
    let loader = || Loader::new().set("scenario=Server");
    let mut settings = loader()
        .config_text("proctor.toml", "min_query_count = 7\nnoise = false\n")
        .set("min_query_count=5")
        .set("server_run_count=3")
        .set("mode=accuracy")
        .set("batch_size=4")
        .load()
        .unwrap();
    settings.leave_out(&["min_query_count", "server_run_count", "mode", "noise", "tail", "no.option"]);
    let plain = loader().load().unwrap();
    assert_eq!(settings.test.min_query_count, plain.test.min_query_count, "that of the preset");
    let run = |run: &RunSettings| (run.server_run_count, run.mode, run.noise, run.tail);
    assert_eq!(run(&settings.run), run(&plain.run));
    assert_eq!((settings.run.batch_size, settings.origin("min_query_count")), (4, None));
}
