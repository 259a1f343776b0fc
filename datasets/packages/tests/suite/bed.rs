//! A folder for data, packages with any contents, and clients that are scripts.

use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    io::{Cursor, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use flate2::{Compression, write::GzEncoder};
use parking_lot::Mutex;
use proctor_packages::{Cause, Converter, Got, PackageError, Request, Step, Thing, Watch, get};
use tempfile::TempDir;
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

/// Variable with the folder of programs, in the process that is to find them alone.
const PROGRAMS: &str = "PROCTOR_PACKAGES_PROGRAMS";

/// A folder for data.
pub(crate) struct Bed {
    top: TempDir,
}

impl Bed {
    pub(crate) fn new() -> Self {
        Self { top: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.top.path().join(name)
    }

    /// Returns the folder for data, which [`get`] makes.
    pub(crate) fn root(&self) -> PathBuf {
        self.path("data")
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    pub(crate) fn get(
        &self,
        thing: &'static Thing,
        from: Option<&Path>,
        user: &User,
    ) -> Result<Got, PackageError> {
        get(&Request { thing, root: &self.root(), from, convert: &joined, watch: user })
    }

    /// Returns what is in a file of a thing.
    pub(crate) fn read(&self, name: &str) -> String {
        String::from_utf8(fs::read(self.root().join(name)).unwrap()).unwrap()
    }

    /// Asserts that the folder for data is as if nothing had been done.
    pub(crate) fn assert_nothing_left(&self) {
        assert!(!self.root().exists(), "{:?}", names_in(&self.root()));
    }
}

/// Returns the names in a folder, in order.
pub(crate) fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The conversion of the tests.
fn joined(_: Converter, files: &[Vec<u8>]) -> Result<Vec<u8>, Cause> {
    match files.iter().all(|file| file.is_ascii()) {
        true => Ok(files.concat()),
        false => Err("it is not ASCII".into()),
    }
}

/// A user who notes what is shown, and may end the work.
#[derive(Default)]
pub(crate) struct User {
    pub(crate) shown: Mutex<Vec<String>>,
    /// Beginning of the step at which the work is to end.
    pub(crate) ends_at: Option<&'static str>,
}

impl User {
    pub(crate) fn shown(&self) -> String {
        self.shown.lock().join("\n")
    }
}

impl Watch for User {
    fn is_interrupted(&self) -> bool {
        self.ends_at.is_some_and(|step| self.shown().contains(step))
    }

    fn show(&self, step: &Step<'_>) {
        self.shown.lock().push(format!("{step:?}"));
    }
}

/// Runs a test of this name once more, in a process that finds programs in one folder alone. Returns this folder in
/// that process, for the scripts of the test, and `None` in the first one, where the test is over.
pub(crate) fn with_own_programs(test: &str) -> Option<PathBuf> {
    if let Some(folder) = env::var_os(PROGRAMS) {
        return Some(folder.into());
    }
    let folder = tempfile::tempdir().unwrap();
    let mut again = Command::new(env::current_exe().unwrap());
    again.args(["--exact", test, "--nocapture"]).env(PROGRAMS, folder.path()).env("PATH", folder.path());
    let output = again.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(output.status.success() && text.contains("1 passed"), "{test}, once more:\n{text}");
    None
}

/// Writes a program of the shell, for which the usual programs are there.
pub(crate) fn script(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    let mut file = File::create(&path).unwrap();
    write!(file, "#!/bin/sh\nPATH=/usr/bin:/bin\n{text}\n").unwrap();
    file.set_permissions(fs::Permissions::from_mode(0o755)).unwrap();
}

/// Returns the text of a client that copies a package to the folder behind an option, or to the current one, and notes
/// that it was called.
pub(crate) fn copying(package: &Path, calls: &Path, option: Option<&str>) -> String {
    let (package, calls) = (package.display(), calls.display());
    let skip = option.map(|option| format!("while [ \"$1\" != {option} ]; do shift; done; cd \"$2\"\n"));
    format!("echo \"$@\" >> {calls}\n{}cp {package} .", skip.unwrap_or_default())
}

/// Returns a zip archive.
pub(crate) fn zip(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, bytes) in members {
        zip.start_file(*name, options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut writer = GzEncoder::new(Vec::new(), Compression::fast());
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

/// Returns the wheel of the first thing, with this as the content of `a.txt`.
pub(crate) fn wheel(a: &str) -> Vec<u8> {
    zip(&[
        ("things/a.txt", a.into()),
        ("things/in.zip", zip(&[("b.txt", "def".into())])),
        ("things/c.gz", gzip(b"ghi")),
        ("test_things-1.0.dist-info/LICENSE", "As you like.".into()),
    ])
}

/// Returns a tar archive of regular files.
pub(crate) fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, content) in members {
        bytes.extend(tar_header(name, content.len() as u64, b'0'));
        bytes.extend(*content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

/// Returns a header of a tar archive.
pub(crate) fn tar_header(name: &str, size: u64, kind: u8) -> [u8; 512] {
    let mut header = [0; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[124..135].copy_from_slice(format!("{size:011o}").as_bytes());
    header[156] = kind;
    header[257..263].copy_from_slice(b"ustar\0");
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    header
}

/// Returns the package of npm of the converted thing.
pub(crate) fn tgz(b: &str) -> Vec<u8> {
    gzip(&tar(&[
        ("package/package.json", b"{}"),
        ("package/a.txt", b"abc"),
        ("package/b.txt", b.as_bytes()),
        ("package/LICENSE", b"As you like."),
    ]))
}

/// Makes the package of Debian, if its program is there, and returns its file.
pub(crate) fn deb(bed: &Bed) -> Option<PathBuf> {
    bed.write(
        "deb/DEBIAN/control",
        "Package: test-things\nVersion: 1.0\nArchitecture: all\nMaintainer: T <t@t>\nDescription: t\n",
    );
    bed.write("deb/usr/share/things/a.txt", "abc");
    bed.write("deb/usr/share/doc/test-things/copyright", "As you like.");
    let made = bed.path("test-things_1.0_all.deb");
    let mut build = Command::new("/usr/bin/dpkg-deb");
    build.env("PATH", OsString::from("/usr/sbin:/usr/bin:/sbin:/bin"));
    let built = build.arg("--build").arg(bed.path("deb")).arg(&made).output();
    if built.is_ok_and(|built| built.status.success()) {
        return Some(made);
    }
    proctor_test_needs::skip("no dpkg-deb (Debian: dpkg)");
    None
}
