//! How the files of a crate refer to each other.
//!
//! Read from the text of the sources: each path that starts with `crate::` or `super::`, in a `use` or in the code. The
//! tests inside a source file are left out, since they may look at anything.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::{
    code::without_tests,
    files::{TextFile, assert_none, files, is_test_module, workspace_members},
};

#[test]
fn imports_name_the_module_that_defines() {
    let offences: Vec<_> = crates().iter().flat_map(Crate::detours).collect();
    assert_none(&offences, "an import through a re-export; name the module that defines the thing");
}

#[test]
fn files_do_not_import_each_other_in_a_circle() {
    let offences: Vec<_> = crates().iter().flat_map(Crate::circles).map(|circle| circle.join(", ")).collect();
    assert_none(&offences, "a circle of files; move what they share to where both may import it from");
}

fn crates() -> Vec<Crate> {
    let files = files(&["rs"]);
    workspace_members().iter().map(|member| Crate::of(member, &files)).collect()
}

/// Path of a module inside its crate: empty for the root.
type ModulePath = Vec<String>;

/// The source files of a crate.
struct Crate {
    modules: BTreeMap<ModulePath, Module>,
}

struct Module {
    file: String,
    imports: Vec<Path>,
    /// Names that the module passes on from other modules of the crate.
    reexports: BTreeSet<String>,
}

/// A path in the code, from the root of the crate: the modules as far as they are, then an item.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Path {
    segments: Vec<String>,
    line: usize,
    is_reexport: bool,
}

impl Crate {
    /// Takes the crate in the folder `member` of the workspace from all its files.
    fn of(member: &str, files: &[TextFile]) -> Self {
        let source = format!("{member}/src/");
        let modules = files
            .iter()
            .filter(|file| file.path.starts_with(&source))
            .filter_map(|file| Some((module_path(file.path.strip_prefix(&source)?)?, file)))
            .map(|(path, file)| {
                let module = Module::read(file, &path);
                (path, module)
            })
            .collect();
        Self { modules }
    }

    /// Returns each import whose module only passes the item on.
    fn detours(&self) -> Vec<String> {
        let mut offences = Vec::new();
        for module in self.modules.values() {
            for import in module.imports.iter().filter(|import| !import.is_reexport) {
                let (target, rest) = self.resolve(&import.segments);
                let Some(item) = rest.first() else { continue };
                if self.modules[&target].reexports.contains(item) {
                    let path = import.segments.join("::");
                    offences.push(format!("{}:{}: crate::{path}", module.file, import.line));
                }
            }
        }
        offences
    }

    /// Returns the sets of files that import each other in a circle. An import of a module's own child does not count.
    fn circles(&self) -> Vec<Vec<String>> {
        let mut reachable = BTreeMap::<&ModulePath, BTreeSet<ModulePath>>::new();
        for path in self.modules.keys() {
            let mut found = BTreeSet::new();
            let mut open = vec![path.clone()];
            while let Some(from) = open.pop() {
                for to in self.imported(&from) {
                    if found.insert(to.clone()) {
                        open.push(to);
                    }
                }
            }
            reachable.insert(path, found);
        }
        let mut circles = BTreeSet::new();
        for (path, found) in &reachable {
            let circle: Vec<_> = found
                .iter()
                .filter(|other| reachable[other].contains(*path))
                .map(|other| self.modules[other].file.clone())
                .collect();
            if circle.len() > 1 {
                circles.insert(circle);
            }
        }
        circles.into_iter().collect()
    }

    fn imported(&self, from: &ModulePath) -> BTreeSet<ModulePath> {
        let targets = self.modules[from].imports.iter().map(|import| self.resolve(&import.segments).0);
        targets.filter(|to| to != from && !to.starts_with(from)).collect()
    }

    /// Splits a path into the module that has a file of its own and the rest.
    fn resolve<'a>(&self, segments: &'a [String]) -> (ModulePath, &'a [String]) {
        let length =
            (0..=segments.len()).rev().find(|length| self.modules.contains_key(&segments[..*length]));
        segments
            .split_at_checked(length.unwrap_or(0))
            .map(|(module, rest)| (module.to_vec(), rest))
            .unwrap_or_default()
    }
}

impl Module {
    fn read(file: &TextFile, path: &ModulePath) -> Self {
        let code = without_tests(&file.text);
        let mut imports = paths_after(&code, "crate::", &[]);
        let parent = path.split_last().map_or(&[][..], |(_, parent)| parent);
        imports.extend(paths_after(&code, "super::", parent));
        let own = paths_after(&code, "self::", path);
        // Names that the code takes from an imported module.
        let through: Vec<Path> = imports
            .iter()
            .filter(|import| !import.is_reexport)
            .flat_map(|import| below(import, &code))
            .collect();
        imports.extend(through);
        let passed_on = code.match_indices("pub use ").chain(code.match_indices(") use "));
        let passed_on = passed_on.flat_map(|(start, keyword)| leaves(&code[start + keyword.len()..]));
        // An item of another crate counts where this crate names it.
        let is_ours = |first: &str| {
            ["crate", "self", "super"].contains(&first) || code.contains(&format!("mod {first};"))
        };
        let reexports = passed_on
            .filter(|leaf| leaf.first().is_some_and(|first| is_ours(first)))
            .filter_map(|mut leaf| leaf.pop());
        let reexports = reexports.collect();
        imports.extend(own);
        Self { file: file.path.clone(), imports, reexports }
    }
}

/// Returns the module path of a file, given relative to `src/`; `None` for a crate's further programs and for tests.
fn module_path(file: &str) -> Option<ModulePath> {
    let stem = file.strip_suffix(".rs")?;
    let mut path: ModulePath = stem.split('/').map(str::to_owned).collect();
    if path.iter().any(|part| is_test_module(part) || part == "bin") {
        return None;
    }
    if stem == "lib" || stem == "main" {
        path.pop();
    }
    Some(path)
}

/// Returns every path that follows `prefix` in the code, each below `base`.
fn paths_after(code: &str, prefix: &str, base: &[String]) -> Vec<Path> {
    let mut paths = Vec::new();
    for (start, _) in code.match_indices(prefix) {
        let before = &code[..start];
        if before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$' || c == ':') {
            continue;
        }
        let visibility = before.strip_suffix("use ").map(str::trim_end);
        let is_reexport = visibility.is_some_and(|before| before.ends_with("pub") || before.ends_with(')'));
        let line = before.lines().count().max(1);
        for leaf in leaves(&code[start + prefix.len()..]) {
            let mut base = base.to_vec();
            let mut rest = &leaf[..];
            while rest.first().is_some_and(|segment| segment == "super") {
                base.pop();
                rest = &rest[1..];
            }
            let segments = base.into_iter().chain(rest.iter().cloned()).collect();
            paths.push(Path { segments, line, is_reexport });
        }
    }
    paths
}

/// Returns the paths of the code that begin with the last name of an import, as `b::c` does after `use crate::a::b`.
fn below(import: &Path, code: &str) -> Vec<Path> {
    let Some((name, _)) = import.segments.split_last() else { return Vec::new() };
    let found = paths_after(code, &format!("{name}::"), &import.segments);
    found.into_iter().filter(|path| path.segments.len() > import.segments.len()).collect()
}

/// Returns the paths that a tree of imports stands for, such as `a::b` and `a::c` for `a::{b, c as d}`.
fn leaves(tree: &str) -> Vec<Vec<String>> {
    let name_length = tree.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(tree.len());
    let (name, rest) = tree.split_at(name_length);
    if let Some(branches) = rest.strip_prefix("::").filter(|_| !name.is_empty()) {
        let mut below = leaves(branches);
        if below.is_empty() {
            below.push(Vec::new());
        }
        for leaf in &mut below {
            leaf.insert(0, name.to_owned());
        }
        return below;
    }
    if !name.is_empty() {
        return vec![vec![name.to_owned()]];
    }
    let Some(inside) = tree.strip_prefix('{') else { return Vec::new() };
    let mut found = Vec::new();
    let mut depth = 0_usize;
    let mut branch_start = 0;
    for (index, c) in inside.char_indices() {
        let ends_branch = depth == 0 && (c == ',' || c == '}');
        if ends_branch {
            found.extend(leaves(inside[branch_start..index].trim()));
            branch_start = index + 1;
        }
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            _ => {}
        }
    }
    found
}

#[test]
fn a_tree_of_imports_is_taken_apart() {
    let paths: Vec<_> = leaves("a::{b, c::{D, E as F}, g::*};").iter().map(|path| path.join("::")).collect();
    assert_eq!(paths, ["a::b", "a::c::D", "a::c::E", "a::g"]);
    assert_eq!(leaves("record::slots(1)"), [["record", "slots"]]);
}

#[test]
fn a_detour_and_a_circle_are_found() {
    let file = |path: &str, text: &str| TextFile { path: path.to_owned(), text: text.to_owned() };
    let sources = [
        ("lib.rs", "mod a;\nmod b;\npub use a::A;\npub use std::thread;\n"),
        (
            "a.rs",
            "mod child;\nuse crate::b::B;\npub(crate) use child::Inner;\nuse self::child::inner;\npub struct A;\n",
        ),
        ("a/child.rs", "use super::A;\npub(crate) struct Inner;\n"),
        (
            "b.rs",
            "use crate::{A, a, thread};\nuse crate::a::{Inner, A as Other};\npub struct B;\nfn f() { a::Inner; }\n",
        ),
    ];
    let modules = sources.iter().map(|(path, text)| {
        let module_path = module_path(path).unwrap();
        let module = Module::read(&file(path, text), &module_path);
        (module_path, module)
    });
    let found = Crate { modules: modules.collect() };
    assert_eq!(found.detours(), ["b.rs:1: crate::A", "b.rs:2: crate::a::Inner", "b.rs:4: crate::a::Inner"]);
    assert_eq!(found.circles(), [["a.rs", "b.rs"]]);
}

#[test]
fn the_tests_of_a_crate_are_left_out() {
    assert_eq!(module_path("log.rs"), Some(vec!["log".to_owned()]));
    assert_eq!(module_path("log/detail.rs"), Some(vec!["log".to_owned(), "detail".to_owned()]));
    assert_eq!(module_path("lib.rs"), Some(Vec::new()));
    assert_eq!(module_path("log/tests/a.rs"), None);
}
