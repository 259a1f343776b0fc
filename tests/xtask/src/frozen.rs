//! The kept headers of the ABI's versions, and the parts that a later header may not change.
//!
//! A later minor version may append fields to a structure that says its size or whose array has a stride, add
//! constants, structures and types, and raise a limit (`PROCTOR_..._MAX`). All else stays: names, values, types, order
//! and sizes. Drafts are not kept.
//!
//! Two headers of a major version are kept: the oldest, against which tests build plugins, and the newest. It contains
//! those between, since a header is only appended to.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

use crate::command::workspace_root;

const HEADER: &str = "plugin-api/include/proctor_plugin.h";
const FROZEN: &str = "plugin-api/include/frozen";

const MAJOR: &str = "PROCTOR_ABI_MAJOR";
const MINOR: &str = "PROCTOR_ABI_MINOR";

/// Prefixes of the names of codes and bits; each name has its own value.
const CODES: [&str; 9] = [
    "PROCTOR_STATUS_",
    "PROCTOR_CAPABILITY_",
    "PROCTOR_MODEL_",
    "PROCTOR_SCENARIO_",
    "PROCTOR_OPTION_",
    "PROCTOR_ELEMENT_",
    "PROCTOR_REQUEST_",
    "PROCTOR_LOG_",
    "PROCTOR_MEMORY_",
];

/// The title of the drafts' section, and the text after it.
const DRAFTS: &str = "\n/* ---- Drafts";
const AFTER_DRAFTS: &str = "\n/* The ABI is for machines";

/// Keeps the present header, without its drafts, under its version, in place of the one before.
///
/// # Errors
/// If the version is kept already, plugins of earlier ones would not fit it, or a file cannot be read or written.
pub(crate) fn freeze() -> Result<()> {
    check()?;
    let core = core_of(&read(&workspace_root().join(HEADER))?)?;
    freeze_in(&workspace_root().join(FROZEN), &core)
}

/// Adds a header to a folder of kept ones, and removes the others of its major version except the oldest.
fn freeze_in(folder: &Path, core: &str) -> Result<()> {
    let [major, minor] = Facts::of(core).version()?;
    let path = folder.join(format!("proctor_plugin_{major}.{minor}.h"));
    if path.exists() {
        bail!("{} is there already: raise PROCTOR_ABI_MINOR in plugin-api/src/abi/basic.rs", path.display());
    }
    let before = kept(folder)?;
    fs::write(&path, core).with_context(|| format!("cannot write {}", path.display()))?;
    println!("kept {}", path.display());
    let of_major = format!("proctor_plugin_{major}.");
    let is_of_major =
        |path: &&PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&of_major));
    for superseded in before.iter().filter(is_of_major).skip(1) {
        fs::remove_file(superseded).with_context(|| format!("cannot remove {}", superseded.display()))?;
        println!("removed {}", superseded.display());
    }
    Ok(())
}

/// Returns major and minor version of the present header.
///
/// # Errors
/// If it cannot be read, or says none.
pub(crate) fn version() -> Result<[String; 2]> {
    Facts::of(&read(&workspace_root().join(HEADER))?).version()
}

/// Compares the present header with each that is kept.
///
/// # Errors
/// With every difference that a plugin would notice, or if a file cannot be read.
pub(crate) fn check() -> Result<()> {
    let present = Facts::of(&core_of(&read(&workspace_root().join(HEADER))?)?);
    let mut problems = Vec::new();
    for path in kept(&workspace_root().join(FROZEN))? {
        let kept = Facts::of(&read(&path)?);
        // Another major version promises nothing to the plugins of this one.
        let is_same_major = kept.constants.get(MAJOR) == present.constants.get(MAJOR);
        let differences = if is_same_major { kept.broken_by(&present) } else { Vec::new() };
        problems.extend(differences.into_iter().map(|it| format!("{}: {it}", path.display())));
    }
    if !problems.is_empty() {
        bail!("plugins of earlier versions would not fit {HEADER}:\n{}", problems.join("\n"));
    }
    Ok(())
}

/// Returns the headers that are kept, the oldest first; at least one.
fn kept(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    if paths.is_empty() {
        bail!("no header is kept in {}", folder.display());
    }
    Ok(paths)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Returns the header without its drafts, their ids and the sizes of their structures.
///
/// # Errors
/// If the section of drafts is not found: then drafts would be kept.
fn core_of(header: &str) -> Result<String> {
    let (before, rest) = header.split_once(DRAFTS).context("the header has no section of drafts")?;
    let (drafts, after) = rest.split_once(AFTER_DRAFTS).context("the section of drafts has no end")?;
    let text = format!("{before}{AFTER_DRAFTS}{after}");
    let is_core = |line: &&str| {
        let is_draft_id = line.starts_with("#define ") && line.ends_with("/0\"");
        let asserted = line.strip_prefix("PROCTOR_ASSERT(").and_then(|rest| rest.split(',').next());
        !is_draft_id
            && !line.starts_with("/* Ids of drafts")
            && !asserted.is_some_and(|name| drafts.contains(&format!("\n}} {name};")))
    };
    Ok(text.lines().filter(is_core).map(|line| line.to_owned() + "\n").collect())
}

/// Declarations that a plugin is compiled against.
#[derive(Debug, Default, PartialEq)]
struct Facts {
    /// Values by name.
    constants: BTreeMap<String, String>,
    /// The fields of each structure, with their types, in order.
    structures: BTreeMap<String, Vec<String>>,
    /// Size of each structure in bytes.
    sizes: BTreeMap<String, u64>,
    /// The other declarations.
    others: Vec<String>,
}

impl Facts {
    fn of(header: &str) -> Self {
        let mut facts = Self::default();
        let mut code = String::new();
        for line in without_comments(header).lines() {
            if let Some(define) = line.strip_prefix("#define ") {
                if let Some((name, value)) = define.split_once(' ').filter(|(name, _)| !name.contains('(')) {
                    facts.constants.insert(name.to_owned(), value.trim().to_owned());
                }
            } else if let Some(assertion) = line.strip_prefix("PROCTOR_ASSERT(") {
                let size =
                    assertion.split("== ").nth(1).and_then(|size| size.trim_end_matches(");").parse().ok());
                let name = assertion.split(',').next().unwrap_or_default();
                facts.sizes.extend(size.map(|size| (name.to_owned(), size)));
            } else if !line.starts_with('#') && line != "extern \"C\" {" && line != "}" {
                code += line;
                code.push(' ');
            }
        }
        facts.declarations(&code);
        facts
    }

    fn declarations(&mut self, code: &str) {
        let mut rest = code;
        while let Some((statement, after)) = statement(rest) {
            rest = after;
            let words = statement.split_whitespace().collect::<Vec<_>>().join(" ");
            match words.split_once('{').filter(|_| words.starts_with("typedef struct ")) {
                Some((head, body)) => {
                    let (body, _) = body.rsplit_once('}').unwrap_or((body, ""));
                    let fields = body.split(';').map(str::trim).filter(|field| !field.is_empty());
                    let name = head.trim_start_matches("typedef struct ").trim();
                    self.structures.insert(name.to_owned(), fields.map(str::to_owned).collect());
                }
                None => self.others.push(words),
            }
        }
    }

    /// Returns whether structures or functions have this structure by value.
    fn is_by_value(&self, name: &str) -> bool {
        let by_value = format!("struct {name} ");
        let has_it = |text: &String| text.split(&by_value).skip(1).any(|rest| !rest.starts_with('*'));
        self.structures.values().flatten().chain(&self.others).any(has_it)
    }

    fn version(&self) -> Result<[String; 2]> {
        let part =
            |name: &str| self.constants.get(name).cloned().with_context(|| format!("{HEADER} has no {name}"));
        Ok([part(MAJOR)?, part(MINOR)?])
    }

    fn minor(&self) -> Option<u64> {
        self.constants.get(MINOR)?.parse().ok()
    }

    /// Lists the differences of a later header that a plugin would notice, and all differences of a header that is not
    /// later.
    fn broken_by(&self, present: &Self) -> Vec<String> {
        let mut found = self.differences(present);
        if present.minor() < self.minor() {
            found.push(format!("{MINOR} is lower now"));
        }
        // Plugins say by their minor version what they may use: what is new has to come with a new one.
        if present.minor() == self.minor() && found.is_empty() && self != present {
            found.push(format!("the header has grown, but {MINOR} has not: raise it"));
        }
        found
    }

    /// Returns the differences of a later header that a plugin would notice.
    fn differences(&self, later: &Self) -> Vec<String> {
        let mut found = Vec::new();
        for (name, value) in self.constants.iter().filter(|(name, _)| *name != MINOR) {
            match later.constants.get(name) {
                None => found.push(format!("the constant {name} is gone")),
                Some(now) if now != value && !is_raised_limit(name, value, now) => {
                    found.push(format!("the constant {name} was {value} and is {now}"))
                }
                Some(_) => {}
            }
        }
        for (name, fields) in &self.structures {
            match later.structures.get(name) {
                None => found.push(format!("the structure {name} is gone")),
                Some(now) => found.extend(self.differences_of(name, fields, now, later)),
            }
        }
        found.extend(later.shared_codes());
        let gone = self.others.iter().filter(|declaration| !later.others.contains(declaration));
        found.extend(gone.map(|declaration| format!("there was `{declaration}`")));
        found
    }

    /// Returns codes of one kind that have the same value.
    fn shared_codes(&self) -> Vec<String> {
        let mut found = Vec::new();
        for kind in CODES {
            let of_kind =
                self.constants.iter().filter(|(name, _)| name.starts_with(kind) && !name.ends_with("_MAX"));
            let mut names: BTreeMap<&String, &String> = BTreeMap::new();
            for (name, value) in of_kind {
                if let Some(other) = names.insert(value, name) {
                    found.push(format!("{other} and {name} are both {value}"));
                }
            }
        }
        found
    }

    fn differences_of(&self, name: &str, fields: &[String], now: &[String], later: &Self) -> Vec<String> {
        let mut found = Vec::new();
        for (position, field) in fields.iter().enumerate() {
            match now.get(position) {
                None => found.push(format!("{name}: field {position} was `{field}` and is gone")),
                Some(other) if other != field => {
                    found.push(format!("{name}: field {position} was `{field}` and is `{other}`"));
                }
                Some(_) => {}
            }
        }
        let (was, is) = (self.sizes.get(name), later.sizes.get(name));
        let has_grown = now.len() > fields.len();
        if has_grown && self.is_by_value(name) {
            found.push(format!("{name} has grown, but others have it by value"));
        } else if is < was || (is != was && !has_grown) {
            let size = |size: Option<&u64>| size.map_or_else(|| "none".to_owned(), u64::to_string);
            found.push(format!("{name} had {} bytes and has {}", size(was), size(is)));
        }
        found
    }
}

/// Returns whether the constant is a limit that has become larger: code that kept to the smaller one still does.
fn is_raised_limit(name: &str, was: &str, is: &str) -> bool {
    let value = |text: &str| {
        let text = text.trim_matches(['(', ')']);
        let (base, shift) = text.split_once("<<").unwrap_or((text, "0"));
        let (base, shift) = (base.trim().parse::<u64>().ok()?, shift.trim().parse::<u32>().ok()?);
        base.checked_shl(shift)
    };
    name.ends_with("_MAX") && value(was).zip(value(is)).is_some_and(|(was, is)| is > was)
}

/// Returns the first statement, and the text after its semicolon, which is outside of braces.
fn statement(code: &str) -> Option<(&str, &str)> {
    let mut depth = 0_u32;
    for (index, c) in code.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ';' if depth == 0 => return Some((&code[..index], &code[index + 1..])),
            _ => {}
        }
    }
    None
}

fn without_comments(text: &str) -> String {
    let mut pieces = text.split("/*");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |code, piece| code + piece.split_once("*/").map_or("", |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use sha2::{Digest as _, Sha256};

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        kept(folder)
            .unwrap()
            .iter()
            .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn the_oldest_header_and_the_newest_are_kept() {
        check().unwrap();
        let folder = workspace_root().join(FROZEN);
        let kept = names(&folder);
        let [first, _newest] = &kept[..] else { panic!("{kept:?}") };
        let hash = Sha256::digest(fs::read(folder.join(first)).unwrap());
        let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let as_published = "5ba98faf4d4047f8b7f045a4c3c82571fc6b9485f29f4937faec7341d475bf22";
        assert_eq!(
            (&**first, &*hash),
            ("proctor_plugin_1.0.h", as_published),
            "a published header is changed"
        );
    }

    #[test]
    fn a_header_replaces_the_one_before_but_not_the_oldest() {
        let folder = tempfile::tempdir().unwrap();
        let header = |version: &str| {
            let (major, minor) = version.split_once('.').unwrap();
            format!("#define {MAJOR} {major}\n#define {MINOR} {minor}\n")
        };
        fs::write(folder.path().join("proctor_plugin_1.0.h"), header("1.0")).unwrap();
        let steps: [(&str, &[&str]); 3] =
            [("1.9", &["1.0", "1.9"]), ("1.10", &["1.0", "1.10"]), ("2.0", &["1.0", "1.10", "2.0"])];
        for (version, left) in steps {
            freeze_in(folder.path(), &header(version)).unwrap();
            let left: Vec<_> = left.iter().map(|version| format!("proctor_plugin_{version}.h")).collect();
            assert_eq!(names(folder.path()), left);
        }
        let again = freeze_in(folder.path(), &header("2.0")).unwrap_err().to_string();
        assert!(again.contains("is there already: raise PROCTOR_ABI_MINOR"), "{again}");
    }

    /// The differences that an edit of the present header makes.
    fn after(edit: impl FnOnce(&str) -> String) -> Vec<String> {
        let header = read(&workspace_root().join(HEADER)).unwrap();
        let edited = edit(&header);
        assert_ne!(edited, header, "the edit did nothing");
        Facts::of(&core_of(&header).unwrap()).broken_by(&Facts::of(&core_of(&edited).unwrap()))
    }

    fn replaced(from: &'static str, to: &'static str) -> Vec<String> {
        after(|header| {
            assert!(header.contains(from), "the header has no `{from}`");
            header.replacen(from, to, 1)
        })
    }

    #[track_caller]
    fn assert_found(differences: &[String], expected: &str) {
        assert!(differences.iter().any(|it| it.contains(expected)), "no \"{expected}\" in {differences:#?}");
    }

    #[test]
    fn the_present_header_is_read_whole() {
        let header = read(&workspace_root().join(HEADER)).unwrap();
        let facts = Facts::of(&core_of(&header).unwrap());
        assert!(facts.constants.len() > 50 && facts.structures.len() > 25, "{facts:?}");
        let sized: Vec<_> = facts.structures.keys().filter(|name| !facts.sizes.contains_key(*name)).collect();
        assert!(sized.is_empty(), "without a size: {sized:?}");
        assert!(facts.others.iter().any(|it| it.contains("proctor_plugin_entry(")), "{:?}", facts.others);
        assert!(!facts.structures.contains_key("ProctorVirtualTime"), "it is a draft");
        assert!(facts.differences(&facts).is_empty());
    }

    #[test]
    fn what_is_removed_is_found() {
        assert_found(
            &replaced("#define PROCTOR_STATUS_BUSY 9\n", ""),
            "the constant PROCTOR_STATUS_BUSY is gone",
        );
        assert_found(&replaced("  uint64_t memory_bytes;\n", ""), "was `uint64_t memory_bytes` and is gone");
        assert_found(
            &replaced("typedef int32_t ProctorStatus;", ""),
            "there was `typedef int32_t ProctorStatus`",
        );
        assert_found(
            &after(|header| header.replace("ProctorProgress", "ProctorAdvance")),
            "ProctorProgress is gone",
        );
        assert_found(&replaced("#define PROCTOR_EXTENSION_ISSUE \"proctor.issue/1\"\n", ""), "ISSUE is gone");
    }

    #[test]
    fn what_is_moved_is_found() {
        let moved = after(|header| {
            let (major, minor) = ("  uint32_t major_min;\n", "  uint32_t major_max;\n");
            header.replacen(major, "  MARK\n", 1).replacen(minor, major, 1).replacen("  MARK\n", minor, 1)
        });
        assert_found(
            &moved,
            "ProctorVersionRange: field 1 was `uint32_t major_min` and is `uint32_t major_max`",
        );
        assert_found(
            &replaced("  uint64_t memory_bytes;\n", "  uint64_t more;\n  uint64_t memory_bytes;\n"),
            "`uint64_t memory_bytes` and is `uint64_t more`",
        );
    }

    #[test]
    fn another_type_or_value_is_found() {
        assert_found(
            &replaced("  double value;\n", "  float value;\n"),
            "was `double value` and is `float value`",
        );
        assert_found(
            &replaced("#define PROCTOR_STATUS_BUSY 9", "#define PROCTOR_STATUS_BUSY 11"),
            "was 9 and is 11",
        );
        assert_found(
            &replaced("typedef int32_t ProctorStatus;", "typedef int64_t ProctorStatus;"),
            "int32_t",
        );
        let function = replaced("(*describe)(void)", "(*describe)(int depth)");
        assert_found(&function, "const struct ProctorManifest *(*describe)(void)` and is");
    }

    #[test]
    fn another_size_is_found() {
        assert_found(
            &replaced("sizeof(ProctorMetric) == 56", "sizeof(ProctorMetric) == 64"),
            "ProctorMetric had 56 bytes and has 64",
        );
        let grown = replaced(
            "  size_t length;\n} ProctorString;",
            "  size_t length;\n  size_t hash;\n} ProctorString;",
        );
        assert_found(&grown, "ProctorString has grown, but others have it by value");
    }

    #[test]
    fn what_is_appended_fits() {
        let appended = after(|header| {
            let longer = "  uint64_t at_ns;\n  uint64_t until_ns;\n} ProctorMetric;";
            next_minor(header)
                .replacen("  uint64_t at_ns;\n} ProctorMetric;", longer, 1)
                .replacen("sizeof(ProctorMetric) == 56", "sizeof(ProctorMetric) == 64", 1)
                .replacen("#define PROCTOR_ABI_MINOR", "#define PROCTOR_NEW 3\n#define PROCTOR_ABI_MINOR", 1)
                .replacen(
                    "/* ---- Extensions",
                    "typedef struct ProctorNew {\n  size_t size;\n} ProctorNew;\n/* ---- Extensions",
                    1,
                )
        });
        assert!(appended.is_empty(), "{appended:#?}");
    }

    #[test]
    fn a_limit_may_only_rise() {
        let raised =
            |from: &'static str, to: &'static str| after(|header| next_minor(&header.replacen(from, to, 1)));
        assert_eq!(raised("TEXT_LENGTH_MAX (1 << 20)", "TEXT_LENGTH_MAX (1 << 21)"), [""; 0]);
        assert_eq!(raised("STAGE_COUNT_MAX 64", "STAGE_COUNT_MAX 65"), [""; 0]);
        assert_found(&replaced("STAGE_COUNT_MAX 64", "STAGE_COUNT_MAX 63"), "was 64 and is 63");
        assert_found(&replaced("TEXT_LENGTH_MAX (1 << 20)", "TEXT_LENGTH_MAX 9"), "was (1 << 20) and is 9");
    }

    #[test]
    fn a_header_without_its_section_of_drafts_is_refused() {
        let header = read(&workspace_root().join(HEADER)).unwrap();
        assert!(core_of(&header.replace("---- Drafts", "---- Sketches")).is_err());
    }

    fn next_minor(header: &str) -> String {
        let [_, minor] = Facts::of(header).version().unwrap();
        let next: u32 = minor.parse::<u32>().unwrap() + 1;
        header.replacen(&format!("#define {MINOR} {minor}"), &format!("#define {MINOR} {next}"), 1)
    }

    #[test]
    fn what_is_new_comes_with_a_new_minor_version() {
        let (from, to) =
            ("#define PROCTOR_LOG_ERROR 1\n", "#define PROCTOR_LOG_ERROR 1\n#define PROCTOR_LOG_NEW 9\n");
        assert_found(&replaced(from, to), "the header has grown, but PROCTOR_ABI_MINOR has not: raise it");
        assert_eq!(after(|header| next_minor(&header.replacen(from, to, 1))), [""; 0]);
        let later = Facts::of(&next_minor(&core_of(&read(&workspace_root().join(HEADER)).unwrap()).unwrap()));
        let present = Facts::of(&core_of(&read(&workspace_root().join(HEADER)).unwrap()).unwrap());
        assert_found(&later.broken_by(&present), "PROCTOR_ABI_MINOR is lower now");
    }

    #[test]
    fn a_code_belongs_to_one_name() {
        let taken = after(|header| {
            next_minor(&header.replacen(
                "#define PROCTOR_STATUS_BUSY 9\n",
                "#define PROCTOR_STATUS_BUSY 9\n#define PROCTOR_STATUS_LATE 9\n",
                1,
            ))
        });
        assert_found(&taken, "PROCTOR_STATUS_BUSY and PROCTOR_STATUS_LATE are both 9");
    }

    #[test]
    fn drafts_may_change() {
        let changed = after(|header| header.replace("uint32_t busy_instances", "uint64_t busy_instances"));
        assert!(changed.is_empty(), "{changed:#?}");
        assert!(after(|header| header.replace("virtual_time/0", "simulation/0")).is_empty());
    }
}
