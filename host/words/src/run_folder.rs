//! The run folder: one folder for each run, `<name>.partial` until everything is in it.
//!
//! ```text
//! runs/2026-01-31T12-00-00-digits-lstm-Server/
//!     result.json               everything about the run
//!     mlperf_log_summary.txt    the performance run, in LoadGen's form
//!     mlperf_log_detail.txt
//!     mlperf_log_accuracy.json
//!     mlperf_log_trace.json
//!     samples.bin               its samples, 16 bytes each, see the crate of the load generator
//!     accuracy/                 the accuracy run: the same logs and its samples.bin
//!     crash.txt                 only in a `.partial` folder: the plugin crashed
//!     error.txt                 only in a `.partial` folder: why the run ended early
//!     running.lock              only in a `.partial` folder: locked while the run goes on
//!     room.tmp                  only in a `.partial` folder: keeps room on the disk for the result
//! ```

use std::{
    fs::{self, File, TryLockError},
    io::{self, BufWriter, Read, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use chrono::Local;
use proctor_config::{RunSettings, Settings};
use proctor_results::file_names::{ERROR, LOCK, PARTIAL};
use rustix::{
    fs::{FallocateFlags, fallocate},
    io::{Errno, retry_on_intr},
};
use serde::Serialize;

use crate::error::{HostError, folder::FolderError, usage::UsageError};

/// File that keeps room on the disk until the result takes it: samples may take all else.
const ROOM: &str = "room.tmp";

/// Bytes of room: more than the result of any run has.
const ROOM_BYTES: u64 = 1 << 20;

/// A run folder that is being filled. Its paths are absolute: a plugin may change the working folder.
#[derive(Debug, Clone)]
pub struct RunFolder {
    partial: PathBuf,
    last: PathBuf,
    /// Name of the last folder as given, for the user.
    given: PathBuf,
    /// Locked while this exists; `None` for a folder within another, and if the system has no locks.
    lock: Option<Arc<File>>,
}

impl RunFolder {
    /// Creates the folder that the settings name, or a new one below `runs/`, with the time, the benchmark,
    /// the scenario and `suffix` in its name.
    ///
    /// # Errors
    /// [`HostError::Folder`] if the chosen one is taken, [`HostError::Output`] if nothing can be written there,
    /// [`HostError::Usage`] if it would hold a recording.
    pub fn create(settings: &Settings, suffix: &str) -> Result<Self, HostError> {
        refuse_recording_within(&settings.run)?;
        let mut folder = match &settings.run.output_folder {
            Some(path) => Self::create_chosen(path)?,
            None => {
                let time = Local::now().format("%Y-%m-%dT%H-%M-%S");
                let name = format!("{time}-{}-{}{suffix}", settings.benchmark.id, settings.run.scenario);
                Self::create_new(&Path::new("runs").join(name))?
            }
        };
        folder.lock().and_then(|()| folder.keep_room()).inspect_err(|_| _ = folder.remove_if_empty())?;
        Ok(folder)
    }

    /// Reopens a folder that did not get its name: `path`, with or without the suffix.
    ///
    /// # Errors
    /// [`HostError::Folder`] if there is no such folder.
    pub fn reopen(path: &Path) -> Result<Self, HostError> {
        let whole: PathBuf = path.components().collect();
        let name = whole.as_os_str().to_string_lossy();
        let mut folder = Self::at(Path::new(name.strip_suffix(PARTIAL).unwrap_or(&name)));
        match folder.partial.is_dir() {
            true => folder.lock().and_then(|()| folder.keep_room()).map(|()| folder),
            false if folder.last.is_dir() => Err(FolderError::Complete(folder.given).into()),
            false => Err(FolderError::Missing(folder.partial_name()).into()),
        }
    }

    /// Creates a run folder within this one, with room for its result. Removes an earlier attempt's files.
    ///
    /// # Errors
    /// [`HostError::Output`] if it cannot be made, or there is no room.
    pub fn within(&self, name: &str) -> Result<Self, HostError> {
        let folder = Self::at(&self.path(name));
        for left in [&folder.partial, &folder.last] {
            match fs::remove_dir_all(left) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(output(left, error)),
                _ => {}
            }
        }
        folder.make()?;
        folder.keep_room().inspect_err(|_| _ = folder.remove_if_empty())?;
        Ok(folder)
    }

    fn create_chosen(path: &Path) -> Result<Self, HostError> {
        let taken = |is_file| Err(FolderError::Taken { path: path.to_owned(), is_file }.into());
        match fs::read_dir(path).map(Iterator::count) {
            Ok(0) => {}
            Ok(_) => return taken(false),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => return taken(true),
            Err(source) => return Err(output(path, source)),
        }
        let folder = Self::at(path);
        match folder.make() {
            Err(HostError::Output { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {
                Err(FolderError::Unfinished(folder.partial_name()).into())
            }
            other => other.map(|()| folder),
        }
    }

    /// Creates a folder with an unused name: two runs may start within one second.
    fn create_new(path: &Path) -> Result<Self, HostError> {
        let mut number = 1;
        loop {
            let suffix = if number == 1 { String::new() } else { format!("-{number}") };
            let folder = Self::at(&append(path, &suffix));
            number += 1;
            if folder.last.exists() {
                continue;
            }
            match folder.make() {
                Err(HostError::Output { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {}
                other => return other.map(|()| folder),
            }
        }
    }

    fn at(path: &Path) -> Self {
        // Without the separator at the end that shells add, which would put the suffix into the folder.
        let given: PathBuf = path.components().collect();
        // Without a working folder a path stays as it is.
        let last = std::path::absolute(&given).unwrap_or_else(|_| given.clone());
        Self { partial: append(&last, PARTIAL), last, given, lock: None }
    }

    fn make(&self) -> Result<(), HostError> {
        if let Some(parent) = self.partial.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            fs::create_dir_all(parent).map_err(|source| output(parent, source))?;
        }
        fs::create_dir(&self.partial).map_err(|source| output(&self.partial, source))
    }

    /// Locks the folder as belonging to a run in progress.
    fn lock(&mut self) -> Result<(), HostError> {
        let path = self.path(LOCK);
        let file = File::create(&path).map_err(|source| output(&path, source))?;
        match file.try_lock() {
            Ok(()) => self.lock = Some(Arc::new(file)),
            Err(TryLockError::WouldBlock) => {
                return Err(FolderError::Running(self.partial_name()).into());
            }
            // Some file systems have no locks.
            Err(TryLockError::Error(_)) => {}
        }
        Ok(())
    }

    /// Reserves room on the disk for the result, so that a full disk is noticed before the run and not after it.
    ///
    /// # Errors
    /// [`HostError::Output`] if there is no room.
    pub fn keep_room(&self) -> Result<(), HostError> {
        let path = self.path(ROOM);
        let kept = File::create(&path).and_then(|mut file| {
            // A signal may come meanwhile.
            match retry_on_intr(|| fallocate(&file, FallocateFlags::empty(), 0, ROOM_BYTES)) {
                // Not every file system can, or every sandbox lets it.
                Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::PERM | Errno::INVAL) => {
                    io::copy(&mut io::repeat(0).take(ROOM_BYTES), &mut file)?;
                    file.sync_all()
                }
                kept => Ok(kept?),
            }
        });
        kept.map_err(|source| {
            self.give_room();
            output(&path, source)
        })
    }

    /// Releases the reserved room for the next files.
    pub fn give_room(&self) {
        // Without the file there is nothing to give.
        let _ = fs::remove_file(self.path(ROOM));
    }

    /// Writes a result as JSON, whole or not at all, into the room that was kept for it.
    ///
    /// # Errors
    /// [`HostError::Output`] if it cannot be written.
    pub fn write_result(&self, name: &str, result: &impl Serialize) -> Result<(), HostError> {
        self.give_room();
        write_json(&self.path(name), result)
    }

    /// Returns the path of a file of the run while the folder is being filled.
    pub fn path(&self, name: &str) -> PathBuf {
        self.partial.join(name)
    }

    /// Returns the folder while it is being filled.
    pub fn partial(&self) -> &Path {
        &self.partial
    }

    /// Returns the name that the folder will have, for the user.
    pub fn name(&self) -> &Path {
        &self.given
    }

    /// Returns the path of a file of the run once the folder is whole.
    pub fn whole_path(&self, name: &str) -> PathBuf {
        self.last.join(name)
    }

    /// Returns the name of the folder while it is being filled, for the user.
    pub fn partial_name(&self) -> PathBuf {
        append(&self.given, PARTIAL)
    }

    /// Creates a folder within.
    pub fn subfolder(&self, name: &str) -> Result<PathBuf, HostError> {
        let path = if name.is_empty() { self.partial.clone() } else { self.path(name) };
        fs::create_dir_all(&path).map_err(|source| output(&path, source))?;
        Ok(path)
    }

    /// Keeps a message if it can be written and the folder is not whole yet; the user sees it anyway.
    pub fn note(&self, text: &str) {
        self.give_room();
        let _ = fs::write(self.path(ERROR), format!("{text}\n"));
    }

    /// Removes the message that an earlier attempt has left.
    pub fn forget_note(&self) {
        // Usually there is no message, and one that stays does no harm.
        let _ = fs::remove_file(self.path(ERROR));
    }

    /// Gives the whole folder its name.
    pub fn finish(&self) -> Result<(), HostError> {
        self.give_room();
        let made_safe = || {
            File::open(&self.partial)?.sync_all()?;
            fs::rename(&self.partial, &self.last)?;
            // Only now: without its lock a folder that is not whole may be cleaned away.
            match fs::remove_file(self.last.join(LOCK)) {
                // A plugin may have removed the whole folder, which was made again.
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            }
        };
        made_safe().map_err(|source| output(&self.last, source))
    }

    /// Removes an empty folder. Returns whether it is gone.
    pub fn remove_if_empty(&self) -> bool {
        self.give_room();
        remove_empty(&self.partial) || !self.partial.exists()
    }
}

/// Creates a folder for several runs, each with its own folder in it, and returns its name: the one that the settings
/// name, or a new one below `runs/`. It has its last name at once, as only the runs in it are complete or not.
///
/// # Errors
/// [`HostError::Folder`] if the chosen one is taken, [`HostError::Output`] if nothing can be written there.
pub fn folder_for_runs(settings: &Settings) -> Result<PathBuf, HostError> {
    let folder = RunFolder::create(settings, "-repeats")?;
    folder.finish()?;
    Ok(folder.given)
}

/// Removes a folder that holds nothing but empty files, kept room and such folders, and says whether it did.
fn remove_empty(folder: &Path) -> bool {
    let contents = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in contents {
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => _ = remove_empty(&entry.path()),
            // A file that cannot be removed stays, and so does the folder then.
            Ok(metadata) if metadata.len() == 0 || entry.file_name() == ROOM => {
                _ = fs::remove_file(entry.path());
            }
            _ => {}
        }
    }
    fs::remove_dir(folder).is_ok()
}

/// Refuses a recording within the folder of the results, whose final name must be unused at the end.
fn refuse_recording_within(run: &RunSettings) -> Result<(), HostError> {
    let (Some(output), Some(record)) = (&run.output_folder, &run.record) else { return Ok(()) };
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if !absolute(record).starts_with(absolute(output)) {
        return Ok(());
    }
    Err(UsageError::RecordInOutput { record: record.clone(), output: output.clone() }.into())
}

/// Writes a file whole or not at all: to a temporary name, flushed to the disk, then renamed.
///
/// # Errors
/// [`HostError::Output`] if it cannot be written.
pub fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), HostError> {
    let temporary = append(path, ".tmp");
    let written = || {
        let mut out = BufWriter::new(File::create(&temporary)?);
        write(&mut out)?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        fs::rename(&temporary, path)
    };
    written().map_err(|source| {
        // The rest of the file is of no use, and does no harm if it cannot be removed.
        let _ = fs::remove_file(&temporary);
        output(path, source)
    })
}

/// Writes a value to a file as JSON, indented, with a line end; whole or not at all.
///
/// # Errors
/// [`HostError::Output`] if it cannot be written.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), HostError> {
    write_whole(path, |out| {
        serde_json::to_writer_pretty(&mut *out, value)?;
        out.write_all(b"\n")
    })
}

/// Returns the error that `path` cannot be written.
pub fn output(path: &Path, source: io::Error) -> HostError {
    HostError::Output { path: path.to_owned(), source }
}

fn append(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    fn create(path: &Path) -> Result<RunFolder, HostError> {
        let mut settings = proctor_config::Loader::new().load()?;
        settings.run.output_folder = Some(path.to_owned());
        RunFolder::create(&settings, "")
    }

    #[test]
    fn a_folder_is_partial_until_it_is_finished() {
        let top = tempfile::tempdir().unwrap();
        let wanted = top.path().join("new/run/");
        let folder = create(&wanted).unwrap();
        assert!(!wanted.exists() && top.path().join("new/run.partial").is_dir());
        write_whole(&folder.path("a.txt"), |out| out.write_all(b"whole")).unwrap();
        folder.finish().unwrap();
        let files: Vec<_> = fs::read_dir(&wanted).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(files, ["a.txt"]);
        assert!(!top.path().join("new/run.partial").exists());
    }

    #[test]
    fn its_paths_do_not_depend_on_the_working_folder() {
        let folder = RunFolder::at(Path::new("runs/one/"));
        let here = std::env::current_dir().unwrap();
        assert_eq!(folder.path("a.txt"), here.join("runs/one.partial/a.txt"));
        assert_eq!(folder.name(), Path::new("runs/one"));
        assert_eq!(folder.partial_name(), Path::new("runs/one.partial"));
        assert_eq!(RunFolder::at(Path::new("/elsewhere")).name(), Path::new("/elsewhere"));
    }

    #[test]
    fn an_empty_folder_is_welcome_and_a_full_one_is_not() {
        let top = tempfile::tempdir().unwrap();
        let wanted = top.path().join("run");
        fs::create_dir(&wanted).unwrap();
        create(&wanted).unwrap().finish().unwrap();
        fs::write(wanted.join("other"), "").unwrap();
        let error = create(&wanted).unwrap_err();
        assert!(error.to_string().contains("is not empty: choose another one"), "{error}");
        assert!(matches!(error, HostError::Folder(_)), "{error:?}");
        let error = create(&wanted.join("other")).unwrap_err().to_string();
        assert!(error.contains("is a file"), "{error}");
    }

    #[test]
    fn a_recording_in_the_folder_of_the_results_is_refused_before_anything_is_made() {
        let top = tempfile::tempdir().unwrap();
        for (output, record, is_refused) in [
            ("a", "a", true),
            ("b", "./b/", true),
            ("c", "c/calls", true),
            ("d", "d-calls", false),
            ("e/results", "e", false),
        ] {
            let mut settings = proctor_config::Loader::new().load().unwrap();
            settings.run.output_folder = Some(top.path().join(output));
            settings.run.record = Some(top.path().join(record));
            let refused = RunFolder::create(&settings, "").err().map(|error| error.to_string());
            assert_eq!(refused.is_some(), is_refused, "{output} {record}: {refused:?}");
            let text = refused.unwrap_or_default();
            assert_eq!(text.contains("--record ") && text.contains("--output "), is_refused, "{text}");
            assert_eq!(append(&top.path().join(output), PARTIAL).exists(), !is_refused, "{output}");
        }
    }

    #[test]
    fn a_run_that_did_not_finish_is_not_overwritten() {
        let top = tempfile::tempdir().unwrap();
        let wanted = top.path().join("run");
        let first = create(&wanted).unwrap();
        let error = create(&wanted).unwrap_err().to_string();
        assert!(error.contains("run.partial is there already"), "{error}");
        first.subfolder("accuracy").unwrap();
        fs::write(first.path("samples.bin"), "").unwrap();
        assert!(first.remove_if_empty());
        create(&wanted).unwrap();
    }

    #[test]
    fn what_was_recorded_is_not_removed() {
        let top = tempfile::tempdir().unwrap();
        let folder = create(&top.path().join("run")).unwrap();
        folder.note("error: it broke");
        assert!(!folder.remove_if_empty());
        assert_eq!(fs::read_to_string(folder.path("error.txt")).unwrap(), "error: it broke\n");
    }

    #[test]
    fn room_is_kept_until_it_is_given() {
        let top = tempfile::tempdir().unwrap();
        let folder = create(&top.path().join("run")).unwrap();
        let kept = || fs::metadata(folder.path(ROOM)).map(|file| file.blocks() * 512).unwrap_or_default();
        assert!(kept() >= ROOM_BYTES, "{}", kept());
        folder.give_room();
        assert_eq!(kept(), 0);
        folder.keep_room().unwrap();
        folder.note("error: it broke");
        assert_eq!(kept(), 0);
        folder.keep_room().unwrap();
        folder.write_result("result.json", &7).unwrap();
        assert_eq!((kept(), fs::read_to_string(folder.path("result.json")).unwrap()), (0, "7\n".to_owned()));
        folder.keep_room().unwrap();
        folder.finish().unwrap();
        assert_eq!(fs::read_dir(top.path().join("run")).unwrap().count(), 2, "note and result alone");
    }

    #[test]
    fn a_folder_within_has_room_of_its_own_which_is_no_content() {
        let top = tempfile::tempdir().unwrap();
        let folder = create(&top.path().join("search")).unwrap();
        let run = folder.within("full-run-1").unwrap();
        let kept = fs::metadata(run.path(ROOM)).unwrap();
        assert!(kept.blocks() * 512 >= ROOM_BYTES, "{kept:?}");
        assert!(folder.remove_if_empty());
        let folder = create(&top.path().join("search")).unwrap();
        let run = folder.within("full-run-1").unwrap();
        run.finish().unwrap();
        assert_eq!(fs::read_dir(folder.path("full-run-1")).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_for_runs_has_its_last_name_at_once() {
        let top = tempfile::tempdir().unwrap();
        let mut settings = proctor_config::Loader::new().load().unwrap();
        settings.run.output_folder = Some(top.path().join("both"));
        assert_eq!(folder_for_runs(&settings).unwrap(), top.path().join("both"));
        assert_eq!(fs::read_dir(top.path()).unwrap().count(), 1);
        fs::write(top.path().join("both/other"), "").unwrap();
        assert!(folder_for_runs(&settings).unwrap_err().to_string().contains("is not empty"));
    }

    #[test]
    fn two_runs_in_one_second_have_two_folders() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("now-digits-Server");
        let names: Vec<_> = (0..3).map(|_| RunFolder::create_new(&path).unwrap().last).collect();
        assert_eq!(names, [path.clone(), append(&path, "-2"), append(&path, "-3")]);
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("a");
        fs::write(&path, "old").unwrap();
        let error = write_whole(&path, |out| {
            out.write_all(b"new")?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        });
        assert!(matches!(error, Err(HostError::Output { .. })), "{error:?}");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(top.path()).unwrap().count(), 1);
    }
}
