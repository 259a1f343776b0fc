//! The C library that programs need, as objdump shows it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Display},
    path::Path,
    process::Command,
    str::FromStr,
};

use anyhow::{Context, Result, bail};

use crate::{command::output, package::machine::gnu_tool};

/// The beginning of the name of a version of the C library, which its number follows.
const GLIBC: &str = "GLIBC_";

/// A feature of the dynamic linker that a file may require instead of a version, and the version that introduced it.
const RELATIVE_RELOCATIONS: (&str, [u32; 2]) = ("ABI_DT_RELR", [2, 36]);

/// Libraries that every system with glibc has: its own, and the unwinder of the compiler.
const SYSTEM_LIBRARIES: [&str; 8] =
    ["ld-linux", "libc.so", "libdl.so", "libgcc_s.so", "libm.so", "libpthread.so", "librt.so", "libutil.so"];

/// Maximum number of symbols that a message names.
const NAMED_MAX: usize = 5;

/// A version of glibc, such as 2.28.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GlibcVersion(Vec<u32>);

impl From<[u32; 2]> for GlibcVersion {
    fn from(numbers: [u32; 2]) -> Self {
        Self(numbers.to_vec())
    }
}

impl FromStr for GlibcVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Result<Vec<u32>, _> = text.split('.').map(str::parse).collect();
        match numbers {
            Ok(numbers) if numbers.len() >= 2 => Ok(Self(numbers)),
            _ => Err(format!("{text:?} is no version of glibc, such as 2.28")),
        }
    }
}

impl Display for GlibcVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&numbers.join("."))
    }
}

/// Returns the newest version of glibc that any of these files for a machine needs. Their names are relative to
/// `folder`.
///
/// # Errors
/// If one needs a version above `newest_allowed`, with its symbols, or a library that not every system has, or if
/// objdump cannot read it.
pub(crate) fn check(
    folder: &Path,
    files: &[String],
    arch: &str,
    newest_allowed: Option<&GlibcVersion>,
) -> Result<GlibcVersion> {
    let mut newest = None;
    for file in files {
        let mut objdump = Command::new(gnu_tool(arch, "objdump"));
        objdump.args(["-p", "-T", "--wide"]).arg(folder.join(file)).env("LC_ALL", "C");
        let shown = output(&mut objdump)?;
        if let Some(library) = foreign_library(&shown) {
            bail!("{file} needs the library {library}, which not every system has");
        }
        let needs = needs(&shown).with_context(|| file.clone())?;
        if let Some(allowed) = newest_allowed {
            refuse_above(allowed, file, &needs)?;
        }
        newest = newest.max(needs.into_keys().next_back());
    }
    newest.with_context(|| {
        format!("none of {} files needs glibc, so they are not what they should be", files.len())
    })
}

/// Returns the first required library of a file that is not the system's, from objdump's output.
fn foreign_library(objdump: &str) -> Option<&str> {
    let mut needed = objdump.lines().filter_map(|line| line.trim().strip_prefix("NEEDED")).map(str::trim);
    needed.find(|library| !SYSTEM_LIBRARIES.iter().any(|beginning| library.starts_with(beginning)))
}

/// Returns the versions in objdump's output about a file, each with its required symbols.
fn needs(objdump: &str) -> Result<BTreeMap<GlibcVersion, BTreeSet<String>>> {
    let mut needs = BTreeMap::<GlibcVersion, BTreeSet<String>>::new();
    for line in objdump.lines() {
        let mut words = line.split_whitespace().map(|word| word.trim_matches(['(', ')']));
        let Some(name) = words.find_map(|word| word.strip_prefix(GLIBC)) else { continue };
        let version = if name == RELATIVE_RELOCATIONS.0 {
            RELATIVE_RELOCATIONS.1.into()
        } else {
            match name.parse() {
                Ok(version) => version,
                Err(_) => bail!("it needs {GLIBC}{name}, which no version of glibc promises to keep: {line}"),
            }
        };
        // No symbol follows the name in the table of versions; in the table of symbols the name comes last.
        needs.entry(version).or_default().extend(words.next_back().map(str::to_owned));
    }
    Ok(needs)
}

fn refuse_above(
    allowed: &GlibcVersion,
    file: &str,
    needs: &BTreeMap<GlibcVersion, BTreeSet<String>>,
) -> Result<()> {
    let above = needs.iter().filter(|(version, _)| *version > allowed);
    let above: Vec<String> = above
        .map(|(version, symbols)| {
            let named: Vec<&str> = symbols.iter().take(NAMED_MAX).map(String::as_str).collect();
            let rest = symbols.len() - named.len();
            let rest = if rest == 0 { String::new() } else { format!(" and {rest} more") };
            format!("{GLIBC}{version} ({}{rest})", named.join(", "))
        })
        .collect();
    if above.is_empty() {
        return Ok(());
    }
    bail!("{file} needs {}, but nothing above {GLIBC}{allowed} is allowed (--glibc)", above.join(", "))
}

#[cfg(test)]
mod tests {
    use std::{env::consts::ARCH, fs};

    use super::*;

    /// Lines of both tables, as GNU objdump 2.40 prints them.
    const OBJDUMP: &str = "
Version References:
  required from libm.so.6:
    0x0b792650 0x00 05 GLIBC_2.29
  required from libc.so.6:
    0x06969191 0x00 02 GLIBC_2.14
    0x069691b4 0x00 03 GLIBC_2.34

DYNAMIC SYMBOL TABLE:
0000000000000000      DF *UND*\t0000000000000000 (GLIBC_2.34) __libc_start_main
0000000000000000  w   DO *UND*\t0000000000000000  environ
0000000000000000      DF *UND*\t0000000000000000 (GLIBC_2.14) memcpy
0000000000000000  w   DF *UND*\t0000000000000000 (GLIBC_2.34) pthread_create
0000000000000000      DF *UND*\t0000000000000000 (GLIBC_2.29) exp
0000000000000000      DF *UND*\t0000000000000000 (GCC_3.3) _Unwind_Resume
0000000000005000 g    DF .text\t000000000000000b  Base        proctor_plugin_entry
";

    fn version(text: &str) -> GlibcVersion {
        text.parse().unwrap()
    }

    #[test]
    fn versions_are_in_the_order_of_their_numbers() {
        assert!(version("2.9") < version("2.28") && version("2.2.5") < version("2.28"));
        assert!(version("2.28") < version("2.28.1"));
        assert_eq!(version("2.28").to_string(), "2.28");
        for text in ["", "2", "2.x", "v2.28", "2.28."] {
            assert!(text.parse::<GlibcVersion>().is_err(), "{text}");
        }
    }

    #[test]
    fn each_version_has_its_symbols() {
        let needs = needs(OBJDUMP).unwrap();
        let needs: Vec<_> = needs
            .iter()
            .map(|(version, symbols)| (version.to_string(), symbols.iter().map(String::as_str).collect()))
            .collect();
        let expected: [(String, Vec<&str>); 3] = [
            ("2.14".into(), vec!["memcpy"]),
            ("2.29".into(), vec!["exp"]),
            ("2.34".into(), vec!["__libc_start_main", "pthread_create"]),
        ];
        assert_eq!(needs, expected);
    }

    #[test]
    fn what_is_above_the_limit_is_named() {
        let needs = needs(OBJDUMP).unwrap();
        assert!(refuse_above(&version("2.34"), "bin/host", &needs).is_ok());
        let refusal = refuse_above(&version("2.28"), "bin/host", &needs).unwrap_err().to_string();
        assert_eq!(
            refusal,
            "bin/host needs GLIBC_2.29 (exp), GLIBC_2.34 (__libc_start_main, pthread_create), but nothing above \
             GLIBC_2.28 is allowed (--glibc)"
        );
    }

    #[test]
    fn a_library_that_not_every_system_has_is_found() {
        let shown = |library: &str| {
            format!("Dynamic Section:\n  NEEDED               libc.so.6\n  NEEDED               {library}\n")
        };
        assert_eq!(foreign_library(&shown("ld-linux-x86-64.so.2")), None);
        assert_eq!(foreign_library(&shown("libgcc_s.so.1")), None);
        assert_eq!(foreign_library(&shown("libstdc++.so.6")), Some("libstdc++.so.6"));
    }

    #[test]
    fn versions_without_a_number_are_known_or_refused() {
        let relocations = needs("    0x0 0x00 04 GLIBC_ABI_DT_RELR").unwrap();
        assert_eq!(relocations.into_keys().collect::<Vec<_>>(), [version("2.36")]);
        let refusal = needs(" DF *UND* 0 (GLIBC_PRIVATE) __x").unwrap_err().to_string();
        assert!(refusal.contains("GLIBC_PRIVATE"), "{refusal}");
    }

    #[test]
    fn a_library_that_takes_a_newer_symbol_is_found_out() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("newer.c");
        // A function of glibc 2.30, and on any machine newer than what the second limit allows.
        fs::write(&source, "int gettid(void); int id(void) { return gettid(); }\n").unwrap();
        let mut cc = Command::new("cc");
        let compiled =
            cc.args(["-shared", "-fPIC", "-o"]).arg(folder.path().join("libnewer.so")).arg(&source);
        match compiled.output() {
            Err(_) => return proctor_test_needs::skip("no cc; `cargo xtask setup` installs one"),
            Ok(compiled) => assert!(compiled.status.success(), "{compiled:?}"),
        }
        let files = ["libnewer.so".to_owned()];
        let found = |limit: &str| check(folder.path(), &files, ARCH, Some(&version(limit)));
        assert_eq!(found("2.30").unwrap(), version("2.30"));
        let refusal = found("2.28").unwrap_err().to_string();
        assert!(refusal.starts_with("libnewer.so needs GLIBC_2.30 (gettid), but"), "{refusal}");
        assert_eq!(check(folder.path(), &files, ARCH, None).unwrap(), version("2.30"));
        assert!(check(folder.path(), &["newer.c".to_owned()], ARCH, None).is_err());
    }
}
