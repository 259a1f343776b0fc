//! The files of a machine.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::proc_text::{cgroup_paths, number, number_list, value_of};

/// Maximum number of processors that a list may name.
const PROCESSORS_MAX: usize = 1 << 16;

/// A machine below a root folder.
pub(super) struct Place(PathBuf);

/// A file of a controller in one of this process's cgroups.
pub(super) struct GroupFile {
    /// Path on the machine.
    pub(super) path: String,
    pub(super) text: String,
}

impl Place {
    pub(super) fn new(root: &Path) -> Self {
        Self(root.to_owned())
    }

    /// Returns the text of a file, without white space around it. Paths begin with `/`.
    pub(super) fn read(&self, path: &str) -> io::Result<String> {
        let bytes = fs::read(self.0.join(path.trim_start_matches('/')))?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// Returns the number in a file, if the file contains nothing else.
    pub(super) fn number(&self, path: &str) -> Option<i64> {
        self.read(path).ok().as_deref().and_then(number)
    }

    /// Returns the numbers of a list in a file; `None` if there is no such file, or no list in it.
    pub(super) fn list(&self, path: &str) -> Option<Vec<u32>> {
        let text = self.read(path).ok()?;
        let is_list = text.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '-'));
        is_list.then(|| number_list(&text, PROCESSORS_MAX))
    }

    /// Returns the processors that this process may use, ascending; empty if the system does not say.
    pub(super) fn processors(&self) -> Vec<u32> {
        let status = self.read("/proc/self/status").unwrap_or_default();
        let list = value_of(&status, "Cpus_allowed_list:").unwrap_or_default();
        number_list(list, PROCESSORS_MAX)
    }

    /// Returns the value of a line of `/proc/meminfo`.
    pub(super) fn memory_figure(&self, key: &str) -> Option<u64> {
        let text = self.read("/proc/meminfo").ok()?;
        number(value_of(&text, key)?.trim_end_matches("kB"))
    }

    /// Returns the files of a controller in this process's cgroup and in those above it, of the second version or the
    /// first. `None` if the system has no cgroups.
    pub(super) fn group_files(&self, controller: &str, second: &str, first: &str) -> Option<Vec<GroupFile>> {
        let groups = self.read("/proc/self/cgroup").ok()?;
        let (in_second, in_first) = cgroup_paths(&groups, controller);
        if in_second.is_none() && in_first.is_none() {
            return None;
        }
        let mut files = Vec::new();
        for (hierarchy, group, name) in [
            ("/sys/fs/cgroup".to_owned(), in_second, second),
            (format!("/sys/fs/cgroup/{controller}"), in_first, first),
        ] {
            let Some(group) = group else { continue };
            let mut folder = Some(Path::new(group));
            while let Some(group) = folder {
                let group_path = group.to_string_lossy();
                let path = format!("{hierarchy}{}/{name}", group_path.trim_end_matches('/'));
                if let Ok(text) = self.read(&path) {
                    files.push(GroupFile { path, text });
                }
                folder = group.parent();
            }
        }
        Some(files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::tests::machine;

    #[test]
    fn limits_of_groups_above_are_found_in_either_version() {
        let root = machine(&[
            ("proc/self/cgroup", "4:memory:/a/b\n0::/c/d\n"),
            ("sys/fs/cgroup/c/memory.max", "5\n"),
            ("sys/fs/cgroup/memory/a/b/limit", "6\n"),
            ("sys/fs/cgroup/memory/limit", "7\n"),
        ]);
        let files = Place::new(root.path()).group_files("memory", "memory.max", "limit").unwrap();
        let found: Vec<_> = files.iter().map(|file| (file.path.as_str(), file.text.as_str())).collect();
        assert_eq!(
            found,
            [
                ("/sys/fs/cgroup/c/memory.max", "5"),
                ("/sys/fs/cgroup/memory/a/b/limit", "6"),
                ("/sys/fs/cgroup/memory/limit", "7")
            ]
        );
        assert!(Place::new(&root.path().join("none")).group_files("memory", "x", "y").is_none());
    }
}
