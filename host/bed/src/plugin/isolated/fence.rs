//! Parts of the machine that the process of a plugin may use.

use std::{
    collections::BTreeSet,
    env, fmt,
    fs::{self, File},
    io::Read as _,
    path::{Path, PathBuf},
};

use proctor_config::Settings;
use proctor_datasets::DataRoot;
use proctor_isolated::protocol::{Fence, OF_SYSTEM};
use proctor_plugin_api::{OptionValue, Options};
use proctor_plugin_host::PluginLocation;
use proctor_results::ModelFilePart;

use crate::files::dataset_folder::dataset_folder;

/// Folders with libraries, first to last, as in PATH.
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// Maximum number of shared libraries to look for, as the plugin's folder may be any folder.
const LIBRARY_COUNT_MAX: usize = 4096;

/// Folder of results if the settings name none.
const RESULTS: &str = "runs";

/// Suffix of the name of a file of weights.
const WEIGHTS: &str = ".safetensors";

/// Folder with the device files.
const DEVICES: &str = "/dev";

/// Devices that a plugin may use: devices that hold no data, and GPUs. Terminals, disks and named shared
/// memory are excluded.
const DEVICE_NAMES: [&str; 7] = ["null", "zero", "full", "random", "urandom", "dri", "kfd"];

/// Prefix of NVIDIA's device names. There is one device for each GPU, and some shared by all.
const NVIDIA: &str = "nvidia";

/// First bytes of an ELF file, such as a library.
const ELF: [u8; 4] = *b"\x7fELF";

/// Returns the parts that a plugin needs to be loaded: its code, devices, and files that the user names.
pub(super) fn to_load(settings: &Settings, location: &PluginLocation) -> Fence {
    let run = &settings.run;
    let mut read = run.isolate_read.clone();
    let mut list = Vec::new();
    if let PluginLocation::Library(path) = location {
        let libraries = libraries_near(path);
        // A library may list its folder to find another.
        list.extend(libraries.iter().filter_map(|library| library.parent()).map(Path::to_owned));
        list.dedup();
        read.extend(libraries);
        read.push(path.clone());
    }
    if let Some(folders) = env::var_os(LIBRARY_PATH) {
        read.extend(env::split_paths(&folders).filter(|folder| folder.is_absolute()));
    }
    let write = run.isolate_devices.clone();
    Fence {
        read,
        list,
        devices: devices(Path::new(DEVICES)),
        write,
        network: run.isolate_network,
        ..Fence::default()
    }
}

/// Adds the parts that it needs to run: the files of its model one by one, the files that the user names in
/// its options, and its cache folder. `set` are the options that the user has set: the plugin itself has
/// chosen its defaults.
pub(super) fn to_run(fence: Fence, files: &[ModelFilePart], set: &Options, home: Option<&Path>) -> Fence {
    let model = files.iter().flat_map(|file| parts_of(&file.path, file.recipe.is_some())).collect();
    let named = set.iter().filter_map(|(_, value)| match value {
        OptionValue::Path(path) => Some(std::path::absolute(path).unwrap_or_else(|_| path.clone())),
        _ => None,
    });
    let read = fence.read.iter().cloned().chain(named).collect();
    Fence { read, model, home: home.map(Path::to_owned), ..fence }
}

/// Returns the devices in a folder that a plugin may use.
fn devices(folder: &Path) -> Vec<PathBuf> {
    let is_named = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        DEVICE_NAMES.contains(&name) || name.starts_with(NVIDIA)
    };
    entries_of(folder).into_iter().filter(is_named).collect()
}

/// A folder of the run within reach of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Exposure {
    /// The folder, with data, answers or results.
    pub(super) folder: PathBuf,
    /// Part of the machine that the plugin was given, under its name.
    pub(super) given: PathBuf,
}

impl fmt::Display for Exposure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { folder, given } = self;
        let remedy = if OF_SYSTEM.iter().any(|path| given == Path::new(path)) {
            "keep them elsewhere than in the folders of the system"
        } else {
            "keep them elsewhere, or name less in isolate_read, isolate_devices, LD_LIBRARY_PATH and the options of the \
             plugin"
        };
        write!(
            f,
            "the plugin could read the answers: {} has data or results, and its process may read {}: {remedy}",
            folder.display(),
            given.display()
        )
    }
}

/// Returns the first folder of the run that the fence leaves within reach, with the answers or results in it.
pub(super) fn exposure(settings: &Settings, fence: &Fence) -> Option<Exposure> {
    let OfRun { folders, others } = OfRun::new(settings);
    // The plugin's cache folder is its own, wherever it lies.
    let whole = fence.home.iter().cloned().map(|given| (given, false));
    let given = OF_SYSTEM.iter().map(PathBuf::from).chain(fence.read.iter().chain(&fence.write).cloned());
    given.map(|given| (given, true)).chain(whole).find_map(|(given, counts_in_part)| {
        let open = fs::canonicalize(&given).ok()?;
        // A library is no data, wherever it lies.
        let counts_in_part = counts_in_part && !is_library(&open);
        let is_within = |folder: &&PathBuf| folder.starts_with(&open);
        let is_part = |folder: &&PathBuf| is_within(folder) || counts_in_part && open.starts_with(folder);
        let folder = folders.iter().find(is_part).or_else(|| others.iter().find(is_within))?;
        Some(Exposure { folder: folder.clone(), given })
    })
}

/// Folders of a run that are closed to a plugin.
struct OfRun {
    /// Folders of data and results.
    folders: BTreeSet<PathBuf>,
    /// Files that links in the data set lead to.
    others: BTreeSet<PathBuf>,
}

impl OfRun {
    fn new(settings: &Settings) -> Self {
        let root = DataRoot::new(settings.run.data_root.as_deref());
        let digits = root.find("digits").ok().and_then(|folder| folder.parent().map(Path::to_owned));
        let set = dataset_folder(settings, &root).ok();
        let results = settings.run.output_folder.clone().unwrap_or_else(|| PathBuf::from(RESULTS));
        let named = [settings.run.data_root.clone(), digits, set.clone(), Some(results)];
        // A run that goes on has its results under another name.
        let canonical = |path: PathBuf| {
            fs::canonicalize(&path).or_else(|_| fs::canonicalize(path.with_added_extension("partial"))).ok()
        };
        let mut folders: BTreeSet<_> = named.into_iter().flatten().filter_map(canonical).collect();
        let links = set.iter().flat_map(|set| entries_of(set)).filter(|path| path.is_symlink());
        let mut others = BTreeSet::new();
        for target in links.filter_map(canonical) {
            if target.is_dir() {
                folders.insert(target);
            } else {
                others.insert(target);
            }
        }
        Self { folders, others }
    }
}

/// Returns whether a file is a shared library by its name.
fn is_library(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    (name.ends_with(".so") || name.contains(".so.")) && path.is_file()
}

/// Returns whether a file is a library, or a program, by its content.
fn is_elf(path: &Path) -> bool {
    let mut beginning = [0; ELF.len()];
    File::open(path).and_then(|mut file| file.read_exact(&mut beginning)).is_ok() && beginning == ELF
}

/// Returns the shared libraries that a library may want to load, such as ONNX Runtime: in its folder, its
/// subfolders and its sibling folders. Nothing else in these folders is allowed. A link that leads out of
/// them is followed only into a system folder, as it could point anywhere.
fn libraries_near(library: &Path) -> Vec<PathBuf> {
    let Some(folder) = library.parent() else { return Vec::new() };
    let above = folder.parent().map(entries_of).unwrap_or_default();
    let beside = above.into_iter().filter(|path| path != folder);
    let is_folder = |path: &PathBuf| path.is_dir() && !path.is_symlink();
    let near = beside.chain(entries_of(folder)).filter(is_folder).chain([folder.to_owned()]);
    let near: BTreeSet<_> = near.filter_map(|folder| fs::canonicalize(folder).ok()).collect();
    let may_be_in =
        |folder: &Path| near.contains(folder) || OF_SYSTEM.iter().any(|of| folder.starts_with(of));
    let files = near.iter().flat_map(|folder| entries_of(folder)).filter(|path| is_library(path));
    let files = files
        .filter_map(|path| fs::canonicalize(path).ok())
        .filter(|file| file.parent().is_some_and(may_be_in) && is_elf(file));
    let found: BTreeSet<_> = files.take(LIBRARY_COUNT_MAX).collect();
    found.into_iter().collect()
}

/// Returns the files and folders in a folder; none if it cannot be read.
fn entries_of(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Returns a model file and the files named after it, which may hold the weights of an ONNX file. A model
/// generated here keeps its weights in a file next to it.
fn parts_of(file: &Path, is_made: bool) -> Vec<PathBuf> {
    let mut parts = vec![file.to_owned()];
    let (Some(folder), Some(stem)) = (file.parent(), file.file_name()) else { return parts };
    let stem = stem.to_string_lossy().into_owned();
    let is_part = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.len() > stem.len() && name.starts_with(&stem) || is_made && name.ends_with(WEIGHTS)
    };
    // A link that leads elsewhere would open its target.
    let own = fs::canonicalize(file).ok();
    let near: Vec<_> = [Some(folder), own.as_deref().and_then(Path::parent)]
        .into_iter()
        .flatten()
        .filter_map(|folder| fs::canonicalize(folder).ok())
        .collect();
    let is_near = |path: &PathBuf| {
        let target = fs::canonicalize(path).ok().filter(|target| target.is_file());
        target.is_some_and(|target| {
            target.parent().is_some_and(|folder| near.iter().any(|near| near == folder))
        })
    };
    parts.extend(entries_of(folder).into_iter().filter(is_part).filter(is_near));
    parts
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use proctor_config::Loader;

    use super::*;

    #[test]
    fn of_the_folder_of_a_model_only_its_own_files_are_given() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["net.onnx", "net.onnx.data", "net.safetensors", "answers.txt"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let parts = |is_made| {
            let mut parts = parts_of(&folder.path().join("net.onnx"), is_made);
            parts.sort();
            parts
        };
        let paths = |names: &[&str]| names.iter().map(|name| folder.path().join(name)).collect::<Vec<_>>();
        assert_eq!(parts(false), paths(&["net.onnx", "net.onnx.data"]));
        assert_eq!(parts(true), paths(&["net.onnx", "net.onnx.data", "net.safetensors"]));
        // Nothing that lies elsewhere comes with it, and no folder.
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("labels"), "").unwrap();
        symlink(elsewhere.path(), folder.path().join("net.onnx.d")).unwrap();
        symlink(elsewhere.path().join("labels"), folder.path().join("net.onnx.x")).unwrap();
        symlink("net.onnx.data", folder.path().join("net.onnx.y")).unwrap();
        fs::create_dir(folder.path().join("net.onnx.z")).unwrap();
        assert_eq!(parts(false), paths(&["net.onnx", "net.onnx.data", "net.onnx.y"]));
    }

    /// Writes a file, with the folders that it lies in.
    fn write(path: &Path, bytes: &[u8]) -> PathBuf {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        path.to_owned()
    }

    #[test]
    fn of_the_folders_near_a_library_only_libraries_are_given() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        let library = |name: &str| write(&root.join(name), &ELF);
        let plugin = library("release/libp_sut.so");
        let mut expected =
            vec![plugin.clone(), library("release/runtime/liba.so.1"), library("runtime/libb.so")];
        for other in
            ["labels.txt", "release/labels.txt", "libc.so", "data/deep/libd.so", "data/labels.so.txt/e"]
        {
            library(other);
        }
        write(&root.join("release/libtext.so"), b"answers");
        let mut found = libraries_near(&plugin);
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_link_beside_a_library_opens_nothing_elsewhere() {
        let [root, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let [root, elsewhere] = [&root, &other].map(|folder| fs::canonicalize(folder.path()).unwrap());
        let secret = write(&elsewhere.join("secret.txt"), b"secret");
        let foreign = write(&elsewhere.join("libforeign.so"), &ELF);
        let plugin = write(&root.join("plugin/libp_sut.so"), &ELF);
        let whole = write(&root.join("plugin/libq.so.1.2"), &ELF);
        let text = write(&root.join("plugin/answers.txt"), b"0 1 2");
        for (target, name) in [
            (&secret, "libcredentials.so.1"),
            (&foreign, "libforeign.so.1"),
            (&text, "libanswers.so"),
            (&elsewhere, "libraries"),
            // As libraries name each of their versions.
            (&whole, "libq.so"),
        ] {
            symlink(target, root.join("plugin").join(name)).unwrap();
        }
        assert_eq!(libraries_near(&plugin), [plugin, whole]);
    }

    #[test]
    fn only_what_the_user_has_set_is_given_of_the_options() {
        let set = Options::from_values([("a".to_owned(), OptionValue::Path("/srv/a".into()))]);
        let loading = Fence { read: vec!["/r".into()], network: true, ..Fence::default() };
        let fence = to_run(loading.clone(), &[], &set, Some(Path::new("/var/own")));
        let expected =
            Fence { read: vec!["/r".into(), "/srv/a".into()], home: Some("/var/own".into()), ..loading };
        assert_eq!(fence, expected);
    }

    #[test]
    fn devices_are_given_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let names =
            ["null", "tty", "pts", "shm", "sda", "nvidia0", "nvidiactl", "nvidia-uvm", "kmsg", "ptmx", "dri"];
        names.iter().for_each(|name| drop(write(&folder.path().join(name), b"")));
        let mut found: Vec<_> =
            devices(folder.path()).iter().map(|path| path.file_name().unwrap().to_owned()).collect();
        found.sort();
        assert_eq!(found, ["dri", "null", "nvidia-uvm", "nvidia0", "nvidiactl"]);
    }

    #[test]
    fn data_in_a_folder_that_is_given_are_within_reach() {
        let [folder, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let [folder, other] = [&folder, &other].map(|folder| fs::canonicalize(folder.path()).unwrap());
        let set = format!("output_folder={}", folder.display());
        let settings = Loader::new().set(&set).load().unwrap();
        let found =
            |read: &Path| exposure(&settings, &Fence { read: vec![read.to_owned()], ..Fence::default() });
        let within = |given: &Path| Some(Exposure { folder: folder.clone(), given: given.to_owned() });
        // If the workspace itself lies in a folder of the system, so do its data.
        let otherwise = found(&other);
        let here = fs::canonicalize(env!("CARGO_MANIFEST_DIR")).unwrap();
        assert_eq!(otherwise.is_some(), OF_SYSTEM.iter().any(|open| here.starts_with(open)));
        if otherwise.is_some() {
            return;
        }
        assert_eq!(found(&folder), within(&folder));
        let above = folder.parent().unwrap();
        assert!(found(above).is_some_and(|it| it.given == above));
        // Even if it is a part of them, unless that is a library, or the plugin's own folder.
        let part = write(&folder.join("results/result.json"), b"{}");
        assert_eq!(found(&part), within(&part));
        assert_eq!(found(&write(&folder.join("libp.so"), &ELF)), None);
        let own = Fence { home: Some(folder.join("results")), ..Fence::default() };
        assert_eq!(exposure(&settings, &own), None);
        let own = Fence { home: Some(folder.clone()), ..Fence::default() };
        assert_eq!(exposure(&settings, &own), within(&folder));
    }

    #[test]
    fn a_data_set_that_the_user_names_is_looked_at_and_where_its_links_lead() {
        let folders = [(); 4].map(|()| tempfile::tempdir().unwrap());
        let [results, set, images, lists] =
            [0, 1, 2, 3].map(|at: usize| fs::canonicalize(folders[at].path()).unwrap());
        symlink(&images, set.join("val")).unwrap();
        let list = write(&lists.join("val_map.txt"), b"");
        symlink(&list, set.join("val_map.txt")).unwrap();
        let assignments = [
            format!("output_folder={}", results.join("run").display()),
            format!("dataset_folder={}", set.display()),
        ];
        fs::create_dir(results.join("run.partial")).unwrap();
        let loader = Loader::new().set_all(assignments);
        let settings = loader.load().unwrap();
        let here = fs::canonicalize(env!("CARGO_MANIFEST_DIR")).unwrap();
        if OF_SYSTEM.iter().any(|open| here.starts_with(open)) {
            return;
        }
        for (read, expected) in [
            (set.clone(), Some(&set)),
            (results.clone(), Some(&results.join("run.partial"))),
            (images.clone(), Some(&images)),
            (images.join("labels"), Some(&images)),
            (lists.clone(), Some(&list)),
            (list.clone(), Some(&list)),
            // Beside a file that a link leads to there may be anything.
            (lists.join("labels"), None),
        ] {
            if read != list {
                fs::create_dir_all(&read).unwrap();
            }
            let found = exposure(&settings, &Fence { read: vec![read.clone()], ..Fence::default() });
            assert_eq!(found.map(|it| it.folder).as_ref(), expected, "{}", read.display());
        }
    }

    #[test]
    fn what_to_do_about_data_within_reach_is_said() {
        let said = |given: &str| Exposure { folder: "/opt/p/data".into(), given: given.into() }.to_string();
        assert!(
            said("/opt").ends_with("may read /opt: keep them elsewhere than in the folders of the system")
        );
        assert!(said("/opt/p").contains("name less in isolate_read"));
    }
}
