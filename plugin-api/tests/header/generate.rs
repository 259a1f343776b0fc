use std::{fmt::Write, fs, path::Path};

use proctor_plugin_api::abi;

use super::layout::layouts;

const HEADER: &str = "include/proctor_plugin.h";

/// The header that the Rust types make now.
fn generated() -> String {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut config = cbindgen::Config::from_file(crate_folder.join("cbindgen.toml")).unwrap();
    // cbindgen leaves out constants that are texts.
    let mut ids =
        "\n/* Ids of the optional features of a plugin, for ProctorPlugin.extension. */\n".to_owned();
    for (name, id) in [
        ("ISSUE", abi::PROCTOR_EXTENSION_ISSUE),
        ("VIRTUAL_TIME", abi::PROCTOR_EXTENSION_VIRTUAL_TIME),
        ("EXPLAIN", abi::PROCTOR_EXTENSION_EXPLAIN),
        ("INSTANCE_THREAD", abi::PROCTOR_EXTENSION_INSTANCE_THREAD),
        ("MEMORY", abi::PROCTOR_EXTENSION_MEMORY),
    ] {
        writeln!(ids, "#define PROCTOR_EXTENSION_{name} {id:?}").unwrap();
    }
    config.after_includes.get_or_insert_default().push_str(&ids);
    let trailer = config.trailer.take().unwrap_or_default();
    config.trailer = Some(assertions() + &trailer);
    let mut builder = cbindgen::Builder::new().with_config(config);
    for file in ["basic", "manifest", "model", "batch", "host", "plugin", "extensions", "instance", "memory"]
    {
        builder = builder.with_src(crate_folder.join(format!("src/abi/{file}.rs")));
    }
    let mut text = Vec::new();
    builder.generate().unwrap().write(&mut text);
    let text = String::from_utf8(text).unwrap();
    // What is set apart for rustdoc is set apart in C by its indent.
    let is_fence = |line: &&str| line.trim().starts_with("```");
    text.lines().filter(|line| !is_fence(line)).map(|line| line.to_owned() + "\n").collect()
}

/// Declarations that do not compile where a structure has another size than here, such as with packed structures or on
/// a machine of 32 bits.
fn assertions() -> String {
    let mut text = "\n/* The ABI is for machines of 64 bits, without packed structures. */\n\
                    #define PROCTOR_ASSERT(name, condition) typedef char proctor_assert_##name[(condition) ? 1 : -1]\n\
                    PROCTOR_ASSERT(pointer, sizeof(void *) == 8);\n"
        .to_owned();
    for layout in layouts() {
        let (name, size) = (layout.name, layout.size);
        writeln!(text, "PROCTOR_ASSERT({name}, sizeof({name}) == {size});").unwrap();
    }
    text
}

/// Fails if the committed header is not the one that the Rust types make. With `PROCTOR_WRITE_HEADER` set it writes
/// the header instead; that is what `cargo xtask header` does.
#[test]
fn the_committed_header_is_the_generated_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(HEADER);
    let generated = generated();
    if std::env::var_os("PROCTOR_WRITE_HEADER").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, generated).unwrap();
        return;
    }
    let committed = fs::read_to_string(&path).unwrap();
    assert!(committed == generated, "{HEADER} is not up to date: run `cargo xtask header`");
}
