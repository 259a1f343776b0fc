//! A plugin in C++, compiled against `proctor_plugin.hpp` alone: what its classes do and throw is what the host sees.

use std::path::PathBuf;

use proctor_tests::{Bench, Run, compile_cpp, complaints_about_cpp};

use crate::plugins::c_plugin::first_example;

/// The plugin of `zeros.cpp`, in a folder to run it in.
struct Zeros {
    bench: Bench,
    library: PathBuf,
}

impl Zeros {
    /// Compiles it; `None` without a compiler.
    fn new() -> Option<Self> {
        let bench = Bench::new();
        let library = compile_cpp("zeros.cpp", bench.path(), "zeros_cpp")?;
        Some(Self { bench, library })
    }

    /// A short performance run of SingleStream.
    fn run(&self, flags: &str) -> Run {
        let library = self.library.display();
        self.bench.run(&format!("--plugin {library} --mode performance --duration 50ms {flags}"))
    }
}

#[test]
fn the_example_at_the_top_of_the_header_runs() {
    let bench = Bench::new();
    let source =
        bench.write("mine.cpp", first_example("proctor_plugin.hpp", "#include \"proctor_plugin.hpp\""));
    let Some(library) = compile_cpp(source.to_str().unwrap(), bench.path(), "mine") else { return };
    let run = bench.run(&format!("--plugin {} --mode performance --duration 50ms", library.display()));
    let result = run.assert_valid().result();
    assert_eq!(
        (&result["plugin"]["name"], &result["plugin"]["dispatch"]),
        (&"mine".into(), &"batches".into())
    );
}

/// It would be left out without a word otherwise.
#[test]
fn an_optional_function_that_cannot_be_called_does_not_compile() {
    let bench = Bench::new();
    let source = |of_plugin: &str, of_model: &str, of_instance: &str| {
        format!(
            "#include \"proctor_plugin.hpp\"\n\
             struct Instance {{ void execute(proctor::Batch &) {{}} {of_instance} }};\n\
             class Model {{ public:\n\
             std::unique_ptr<Instance> create_instance(const proctor::Placement &) {{ return nullptr; }}\n\
             void issue(const proctor::Query &) {{}} {of_model} }};\n\
             struct Plugin {{ static proctor::Manifest manifest() {{ return {{\"p\", \"1\", \"MIT\"}}; }}\n\
             Plugin(proctor::Host, const proctor::Options &) {{}}\n\
             std::unique_ptr<Model> load_model(const proctor::ModelRequest &) {{ return nullptr; }} {of_plugin} }};\n\
             PROCTOR_PLUGIN(Plugin)\n"
        )
    };
    let right = source(
        "static const void *extension(std::string_view) { return nullptr; }",
        "static constexpr bool concurrent_issue = true; void prepare_samples(const proctor::SampleSet &) {} \
         void release_samples() {} void start() {} void flush() {} void flush(int) {} int stop() { return 0; } \
         const char *explain() const { return \"\"; } void warm_up(const proctor::Query &) {}",
        "void warm_up(const proctor::Batch &) {}",
    );
    let right = bench.write("right.cpp", right).display().to_string();
    if compile_cpp(&right, bench.path(), "right").is_none() {
        return;
    }
    let wrong = source(
        "void extension(std::string_view) {}",
        "bool concurrent_issue = true; void prepare_samples(proctor::SampleSet &) {} void release_samples(int) {} \
         bool start = false; void flush(int) {} void flush(char *) {} void explain(int) {} void warm_up() {} \
         private: void stop() {}",
        "void warm_up(int) {}",
    );
    assert_complaints(
        &bench,
        wrong,
        &[
            "the plugin's extension is not a public static function of a std::string_view",
            "the model's warm_up is not a public function of a const proctor::Query &",
            "the instance's warm_up is not a public function of a proctor::Batch &",
            "the model's concurrent_issue is not a public static constexpr bool",
            "the model's prepare_samples is not a public function of a const proctor::SampleSet &",
            "the model's release_samples is not a public function without arguments",
            "the model's start is not a public function without arguments",
            "the model's flush is not a public function without arguments",
            "the model's stop is not a public function without arguments",
            "the model's explain is not a public function without arguments",
        ],
    );
    let without_ways = source("", "", "")
        .replace("create_instance(const proctor::Placement &)", "create_instance()")
        .replace("issue(const proctor::Query &)", "issue(proctor::Query &)");
    assert_complaints(
        &bench,
        without_ways,
        &[
            "the model's create_instance is not a public function of a const proctor::Placement &",
            "the model's issue is not a public function of a const proctor::Query &",
        ],
    );
}

/// Asserts that a plugin does not compile, and that the compiler says all of this.
fn assert_complaints(bench: &Bench, plugin: String, words: &[&str]) {
    let path = bench.write("wrong.cpp", plugin).display().to_string();
    let Some(messages) = complaints_about_cpp(&path, bench.path()) else { return };
    for words in words {
        assert!(messages.contains(words), "{words:?} is not in:\n{messages}");
    }
}

#[test]
fn it_runs_batches_and_whole_queries() {
    let Some(zeros) = Zeros::new() else { return };
    for (issue, dispatch) in [(false, "batches"), (true, "whole queries")] {
        let run = zeros.run(&format!("--set issue={issue}"));
        let plugin = &run.assert_valid().result()["plugin"];
        assert_eq!(plugin["dispatch"], dispatch);
        assert!(plugin["metrics"]["prepared"]["last"].as_f64().unwrap() > 0.0, "{plugin}");
        assert_eq!(plugin["stages"]["compute"].is_object(), !issue, "{plugin}");
        assert_eq!(run.result()["performance_run"]["energy"]["joules"], 7.0, "its own extension is found");
    }
    let simulated = zeros.run("--set issue=false --virtual-time");
    assert_eq!(simulated.assert_valid().result()["metric"]["value"], 1e6, "a millisecond each");
    let instances = zeros.run("--set issue=false --scenario Offline --instances 2 --set min_query_count=700");
    assert_eq!(instances.result()["plugin"]["dispatch"], "batches");
}

#[test]
fn it_is_described_and_explains_itself() {
    let Some(zeros) = Zeros::new() else { return };
    let library = zeros.library.display();
    let described = zeros.bench.host(&format!("describe {library}"));
    for text in ["zeros-cpp 1.2.3: Answers every sample with zeros.", "one of slow, fast", "nowhere"] {
        assert!(described.stdout.contains(text), "{described}");
    }
    let explained = zeros.bench.host(&format!("describe {library} --plan digits-lstm"));
    assert!(explained.stdout.contains("It writes zeros."), "{explained}");
}

#[test]
fn what_it_throws_is_a_status_with_its_words() {
    let Some(zeros) = Zeros::new() else { return };
    let run = |astray: &str| {
        // A space divides the flags.
        let file = zeros.bench.write("astray.toml", format!("[zeros-cpp]\nastray = \"{astray}\"\n"));
        zeros.run(&format!("--set issue={} --config {}", astray.starts_with("issue"), file.display()))
    };
    for place in ["open", "load_model", "create_instance", "prepare_samples"] {
        run(place).finished.assert_error(
            3,
            &["plugin zeros-cpp", place, "DEVICE_LOST, code -7", &format!("astray at {place}")],
        );
    }
    for place in ["execute", "issue", "stop"] {
        let words = format!("{place} failed (DEVICE_LOST, code -7): astray at {place}");
        run(place).assert_invalid(&[&words]);
    }
    for (astray, words) in [
        ("execute exception", "execute failed (PANICKED): thrown at execute"),
        ("execute number", "execute failed (PANICKED): an exception that is no std::exception"),
        ("execute memory", "execute failed (OUT_OF_MEMORY): out of memory"),
        ("issue exception", "issue failed (PANICKED): thrown at issue"),
    ] {
        run(astray).assert_invalid(&[words]);
    }
}

#[test]
fn a_sample_fails_alone() {
    let Some(zeros) = Zeros::new() else { return };
    let run = zeros.run("--set issue=false --set zeros-cpp.astray=sample");
    run.assert_invalid(&["1 sample failed"]);
    let stderr = &run.finished.stderr;
    assert!(stderr.contains("failed (FAILED, code 6): the sixth sample"), "{stderr}");
}
