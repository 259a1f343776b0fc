use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use super::{
    arrange::{Extension, arranged, names_of_types},
    layout::layouts,
};

const HEADER: &str = "include/proctor_plugin.h";

/// The header that the Rust types make now.
fn generated() -> String {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut config = cbindgen::Config::from_file(crate_folder.join("cbindgen.toml")).unwrap();
    let extensions = extensions(&abi_files(crate_folder));
    for extension in &extensions {
        config.export.include.extend(extension.structures.clone());
    }
    // What stands around the types is no matter of cbindgen's: it would stand among them.
    let (header, trailer) = (config.header.take().unwrap(), config.trailer.take().unwrap());
    let (opaque, guard) = (config.after_includes.take().unwrap(), config.include_guard.take().unwrap());
    let includes: String =
        config.sys_includes.drain(..).map(|include| format!("#include <{include}>\n")).collect();
    let mut builder = cbindgen::Builder::new().with_config(config);
    for file in abi_files(crate_folder) {
        builder = builder.with_src(file);
    }
    let mut text = Vec::new();
    builder.generate().unwrap().write(&mut text);
    let text = String::from_utf8(text).unwrap();
    // Text set apart for rustdoc is set apart in C by its indent.
    let is_fence = |line: &&str| line.trim().starts_with("```");
    let text: String =
        text.lines().filter(|line| !is_fence(line)).map(|line| line.to_owned() + "\n").collect();
    let types = arranged(&text, &extensions);
    let (names, assertions) = (ids(&extensions), assertions());
    format!(
        "{header}\n\n#ifndef {guard}\n#define {guard}\n\n{includes}{opaque}{names}{types}{assertions}{trailer}\n\
         #endif /* {guard} */\n"
    )
}

/// Returns the files of the types, the basic ones first and the extensions last.
fn abi_files(crate_folder: &Path) -> Vec<PathBuf> {
    let order = ["basic", "manifest", "model", "batch", "host", "plugin", "extensions"];
    let position = |path: &PathBuf| {
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        (order.iter().position(|known| *known == name).unwrap_or(order.len()), name)
    };
    let entries = fs::read_dir(crate_folder.join("src/abi")).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort_by_key(position);
    files
}

/// All extensions: the texts that are their ids, and the structures that the comments of these name.
fn extensions(files: &[PathBuf]) -> Vec<Extension> {
    let (mut found, mut comment) = (Vec::new(), String::new());
    for line in files.iter().flat_map(|file| lines(file)) {
        if let Some(text) = line.strip_prefix("///") {
            comment += text;
            continue;
        }
        let constant = line.strip_prefix("pub const ").and_then(|rest| rest.split_once(": &str = "));
        if let Some((name, id)) = constant.filter(|(name, _)| name.contains("EXTENSION_")) {
            let id = id.trim_end_matches(';').trim_matches('"').to_owned();
            let structures = names_of_types(&comment);
            found.push(Extension { constant: name.to_owned(), id, structures });
        }
        comment.clear();
    }
    found
}

fn lines(file: &Path) -> Vec<String> {
    fs::read_to_string(file).unwrap().lines().map(str::to_owned).collect()
}

/// The ids, which cbindgen leaves out as they are texts.
fn ids(extensions: &[Extension]) -> String {
    let mut text = String::new();
    for (title, is_draft) in [("Ids of the extensions", false), ("Ids of drafts", true)] {
        writeln!(text, "\n/* {title}, for ProctorPlugin.extension or ProctorHost.extension. */").unwrap();
        for Extension { constant, id, .. } in extensions.iter().filter(|it| it.is_draft() == is_draft) {
            writeln!(text, "#define {constant} {id:?}").unwrap();
        }
    }
    text
}

#[test]
fn every_id_names_its_structure() {
    let extensions = extensions(&abi_files(Path::new(env!("CARGO_MANIFEST_DIR"))));
    assert!(extensions.len() >= 3);
    for Extension { constant, id, structures } in extensions {
        assert!(id.starts_with("proctor."), "{id}");
        let is_there = |name: &String| layouts().iter().any(|layout| layout.name == *name);
        assert!(
            !structures.is_empty() && structures.iter().all(is_there),
            "the comment of {constant}: {structures:?}"
        );
    }
}

/// Returns declarations that do not compile if a structure has another size than here, such as with packed
/// structures or on a machine of 32 bits.
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
