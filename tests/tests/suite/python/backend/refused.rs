//! Files without a backend and manifests with a mistake: the error names the file and the class.

use proctor_tests::short;

use super::{backend, bench};
use crate::python::bench_with;

const GOOD: &str = "name=\"p\", models=\"digits-*\", formats=\"*\"";

/// Returns a file with a class whose manifest has these arguments.
fn class(name: &str, manifest: &str, body: &str) -> String {
    format!("import proctor\n\n@proctor.backend({manifest})\nclass {name}:\n    {body}\n")
}

#[test]
fn what_is_no_backend_is_told_by_file_and_name() {
    let Some(bench) = bench() else { return };
    let execute = "def execute(self, batch): pass";
    let two = class("One", GOOD, execute) + &class("Two", GOOD, execute);
    for (file, text, plugin, told) in [
        ("none.py", "x = 1".to_owned(), "none.py", "none.py has no backend: decorate a class"),
        (
            "two.py",
            two.clone(),
            "two.py",
            "two.py has 2 backends, \"One\", \"Two\": choose one, as in two.py:One",
        ),
        ("two.py", two, "two.py:Three", "two.py has no backend \"Three\""),
        ("raises.py", "import proctor\n1 / 0".to_owned(), "raises.py", "raises.py: ZeroDivisionError"),
        ("module.py", "import no_such".to_owned(), "module.py", "No module named 'no_such'"),
        ("syntax.py", "def".to_owned(), "syntax.py", "syntax.py: SyntaxError"),
        ("exits.py", "raise SystemExit(3)".to_owned(), "exits.py", "exits.py: SystemExit: 3"),
        (
            "scenario.py",
            class("Mine", &format!("{GOOD}, scenarios=[\"Offlin\"]"), execute),
            "scenario.py",
            "scenario.py: backend \"p\" (class Mine) names the unknown scenario \"Offlin\", did you mean \"Offline\"?",
        ),
        (
            "precision.py",
            class("Mine", &format!("{GOOD}, precisions=\"f31\""), execute),
            "precision.py",
            "names the unknown precision \"f31\"",
        ),
        (
            "both.py",
            class("Mine", GOOD, "def execute(self, batch): pass\n    def issue(self, query): pass"),
            "both.py",
            "has both execute and issue",
        ),
        ("neither.py", class("Mine", GOOD, "pass"), "neither.py", "has neither execute nor issue"),
        (
            "name.py",
            class("Mine", "name=\"No Name\", models=\"*\"", execute),
            "name.py",
            "the name \"No Name\" has more than lower-case letters",
        ),
        ("absent.py", String::new(), "no/absent.py", "cannot read the plugin no/absent.py"),
    ] {
        bench.write(file, text);
        for command in ["describe", "validate"] {
            let finished = bench.host(&format!("{command} {plugin}"));
            assert_ne!(finished.code(), 0, "{plugin}: {finished}");
            let is_told = [&finished.stderr, &finished.stdout].iter().any(|text| text.contains(told));
            assert!(is_told, "{told}: {finished}");
        }
    }
}

#[test]
fn a_process_of_its_own_is_refused() {
    let Some(bench) = bench() else { return };
    let file = backend("faulty.py");
    let run = bench.run(&format!("--benchmark digits-mlp --plugin {file} --isolate {}", short("Offline")));
    run.finished.assert_error(2, &["leave out --isolate"]);
}

#[test]
fn without_numpy_the_line_that_installs_it_is_told() {
    let Some(bench) = bench_with(&[]) else { return };
    // It hides a NumPy of the system, too.
    let text = class("Mine", GOOD, "def execute(self, batch): pass");
    bench.write("p.py", format!("import sys\nsys.modules[\"numpy\"] = None\n{text}"));
    let run =
        bench.run(&format!("--benchmark digits-mlp --plugin p.py --mode performance {}", short("Offline")));
    assert!(run.finished.stderr.contains("needs NumPy"), "{}", run.finished);
    assert!(run.finished.stderr.contains("pip install numpy"), "{}", run.finished);
}
