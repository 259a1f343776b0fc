//! The data sets that can be looked after, found by name, and their folders, opened.

use std::path::{Path, PathBuf};

use proctor_datasets::{DataRoot, DatasetEntry, RowAggregation, dataset_entries};
use proctor_published::{OpenFolder, Opened, PUBLISHED, Published};
use proctor_words::{CommandError, DataError, HostError, UsageError};

/// Opens a folder for work on its samples; `rows` groups rows into samples.
///
/// # Errors
/// Does the same as [`try_open`], with the commands that say more about a folder.
pub(crate) fn open(published: &Published, folder: &Path, rows: &RowAggregation) -> Result<Opened, HostError> {
    try_open(published, folder, rows).map_err(|error| match error {
        HostError::Dataset(_) => {
            let (folder, cause) = (folder.to_owned(), Box::new(error));
            HostError::from(DataError::NotOpened { dataset: published.name, folder, cause })
        }
        error => error,
    })
}

/// Opens a folder; `rows` groups rows into samples.
///
/// # Errors
/// If the data set is not there or damaged, or has no rows.
pub(crate) fn try_open(
    published: &Published,
    folder: &Path,
    rows: &RowAggregation,
) -> Result<Opened, HostError> {
    match published.open {
        OpenFolder::Rows(open) => Ok(open(folder, rows)?),
        OpenFolder::Samples(open) if *rows == RowAggregation::default() => Ok(open(folder)?),
        OpenFolder::Samples(_) => {
            let dataset = published.name.to_owned();
            Err(UsageError::NoRows { rows: rows.clone(), of: "rows", dataset }.into())
        }
    }
}

/// Returns the entry of the data set of this name, published or not.
///
/// # Errors
/// [`HostError::Command`] with the near match.
pub(crate) fn entry(name: &str) -> Result<&'static DatasetEntry, HostError> {
    let entries = dataset_entries();
    entries.iter().copied().find(|entry| entry.name == name).ok_or_else(|| {
        let known = entries.iter().map(|entry| entry.name).collect();
        CommandError::UnknownDataset { name: name.to_owned(), known }.into()
    })
}

/// Returns the published data set of this name.
///
/// # Errors
/// As [`entry`], and [`HostError::Command`] for a data set that is not published.
pub(crate) fn find(name: &str) -> Result<&'static Published, HostError> {
    let dataset = entry(name)?.name;
    let found = PUBLISHED.iter().find(|published| published.name == dataset);
    found.ok_or_else(|| CommandError::NotPublished(dataset).into())
}

/// Returns the folder of a data set: the one that the user names, or the one of this name below the data root.
///
/// # Errors
/// If the folder is not there.
pub(crate) fn folder(
    dataset: &'static str,
    named: Option<&Path>,
    root: &DataRoot,
    name: &str,
) -> Result<PathBuf, HostError> {
    match named {
        Some(folder) if folder.is_dir() => Ok(folder.to_owned()),
        Some(folder) => Err(CommandError::NoDataset { folder: folder.to_owned(), dataset }.into()),
        None => Ok(root.find(name)?),
    }
}

#[cfg(test)]
mod tests {
    use proctor_datasets::is_published;

    use super::*;

    #[test]
    fn the_host_knows_the_names_of_all() {
        let mut names: Vec<_> = PUBLISHED.iter().map(|published| published.name).collect();
        names.sort_unstable();
        let known = dataset_entries().into_iter().map(|entry| entry.name).filter(|name| is_published(name));
        assert_eq!(names, known.collect::<Vec<_>>());
    }

    #[test]
    fn a_file_that_is_missing_is_named_with_the_commands_that_say_more() {
        let folder = tempfile::tempdir().unwrap();
        let published = find("imagenet").unwrap();
        let error = open(published, folder.path(), &RowAggregation::default()).err().unwrap().to_string();
        let folder = folder.path().display();
        assert!(error.starts_with(&format!("cannot read {folder}/val_map.txt: ")), "{error}");
        assert!(error.contains("`host data info imagenet`"), "{error}");
        assert!(error.contains(&format!("`host data verify imagenet --folder {folder}`")), "{error}");
    }

    #[test]
    fn an_unknown_data_set_is_answered_with_the_near_one() {
        let error = find("image-net").err().unwrap().to_string();
        assert!(error.starts_with("unknown data set \"image-net\", did you mean \"imagenet\"?"), "{error}");
        let error = find("digits").err().unwrap().to_string();
        assert!(error.starts_with("data set \"digits\" is not a published one, "), "{error}");
    }
}
