use std::{env, fmt::Write, fs, path::Path, process::Command};

use proctor_test_needs::skip;

use super::layout::layouts;

/// Variable with the machine that is compiled for, if it is another one: `cargo xtask header --aarch64` sets it.
const MACHINE: &str = "PROCTOR_HEADER_MACHINE";

/// Returns a program that prints each size and offset that differs from the Rust types, and fails if one does.
///
/// A system keeps eight bits of a program's exit status, so it returns no count.
fn program() -> String {
    let mut text = String::from("#include \"proctor_plugin.h\"\n#include <stdio.h>\n");
    text += "static int check(const char *what, size_t c, size_t rust) {\n";
    text += "  if (c == rust) return 0;\n";
    text += "  printf(\"%s: C %lu, Rust %lu\\n\", what, (unsigned long)c, (unsigned long)rust);\n  return 1;\n}\n";
    for layout in layouts() {
        writeln!(text, "struct Align{0} {{ char first; {0} second; }};", layout.name).unwrap();
    }
    text += "int main(void) {\n  int wrong = 0;\n";
    for layout in layouts() {
        let name = layout.name;
        writeln!(text, "  wrong += check(\"size of {name}\", sizeof({name}), {});", layout.size).unwrap();
        writeln!(
            text,
            "  wrong += check(\"alignment of {name}\", offsetof(struct Align{name}, second), {});",
            layout.alignment
        )
        .unwrap();
        for (field, offset) in layout.fields {
            writeln!(text, "  wrong += check(\"{name}.{field}\", offsetof({name}, {field}), {offset});")
                .unwrap();
        }
    }
    text += "  return wrong != 0;\n}\n";
    text
}

/// Returns the compiler for another machine, and the start of a command that runs its programs here.
fn across(machine: &str, compiler: &str) -> (String, Vec<String>) {
    let gnu = if compiler == "cc" { "gcc" } else { "g++" };
    let emulator = [format!("qemu-{machine}"), "-L".to_owned(), format!("/usr/{machine}-linux-gnu")];
    (format!("{machine}-linux-gnu-{gnu}"), emulator.into())
}

/// Compiles the program with all warnings as errors, runs it, and fails with its output.
fn compile_and_run(compiler: &str, extension: &str, standard: &str) {
    let (compiler, mut words) = match env::var(MACHINE) {
        Ok(machine) => across(&machine, compiler),
        Err(_) => (compiler.to_owned(), Vec::new()),
    };
    if Command::new(&compiler).arg("--version").output().is_err() {
        return skip(format!("no {compiler}; `cargo xtask setup` installs one"));
    }
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join(format!("layout.{extension}"));
    let binary = folder.path().join("layout");
    fs::write(&source, program()).unwrap();
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let compiled = Command::new(&compiler)
        .arg(format!("-std={standard}"))
        .args(["-pedantic", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(&include)
        .arg("-o")
        .arg(&binary)
        .arg(&source)
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    words.push(binary.to_string_lossy().into_owned());
    let output = Command::new(&words[0]).args(&words[1..]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn c99_sees_the_same_layout() {
    compile_and_run("cc", "c", "c99");
}

#[test]
fn cpp11_sees_the_same_layout() {
    compile_and_run("c++", "cpp", "c++11");
}
