//! Photographs in a folder: which of its pictures are samples, and in which order.
//!
//! A list names them, [`LIST`] or the list of ImageNet, a line for each: its path and its class. Without a list, all
//! pictures of the folder are samples. The name of one may have its class, as `imagenet_03_980.jpg`; those come first,
//! as answers are known of the first samples alone.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::error::DatasetError;

/// Name of the list, a line for each picture: its path and its class.
pub const LIST: &str = "classes.txt";
/// Names of lists, of which the first that is there counts; ImageNet has the second.
const LISTS: [&str; 2] = [LIST, "val_map.txt"];
/// Number of ImageNet's classes.
pub const CLASS_COUNT: u64 = 1000;

/// Returns the list of a folder, if it has one.
#[must_use]
pub fn list(folder: &Path) -> Option<PathBuf> {
    LISTS.iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

/// Returns the names of all pictures of a folder without a list: first those with a class in their names, each in the
/// order of the names.
///
/// # Errors
/// [`DatasetError::Read`] if the folder cannot be read, or [`DatasetError::Malformed`] for a name that is no text, and
/// a folder without pictures.
pub fn pictures(folder: &Path) -> Result<Vec<String>, DatasetError> {
    let unread = |source| DatasetError::Read { path: folder.to_owned(), source };
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(unread)? {
        let path = entry.map_err(unread)?.path();
        let is_picture = path.extension().is_some_and(|extension| {
            extension.eq_ignore_ascii_case("jpg") || extension.eq_ignore_ascii_case("jpeg")
        });
        if !is_picture || !path.is_file() {
            continue;
        }
        let name = path.file_name().and_then(|name| name.to_str());
        let reason = || "the name of the picture is not text in UTF-8; rename it".to_owned();
        let name = name.ok_or_else(|| DatasetError::Malformed { path: path.clone(), reason: reason() })?;
        names.push(name.to_owned());
    }
    if names.is_empty() {
        let reason = format!("it has no picture, that is no file *.jpg or *.jpeg, and no list {LIST}");
        return Err(DatasetError::Malformed { path: folder.to_owned(), reason });
    }
    names.sort_by_cached_key(|name| (class_in_name(name).is_none(), name.clone()));
    Ok(names)
}

/// Returns the class in the name of a picture, as `imagenet_03_980.jpg` has it.
#[must_use]
pub fn class_in_name(name: &str) -> Option<u64> {
    let (stem, _) = name.strip_prefix("imagenet_")?.rsplit_once('.')?;
    let class = stem.rsplit_once('_')?.1;
    class
        .parse()
        .ok()
        .filter(|number| *number < CLASS_COUNT && class.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_the_last_number_of_a_name_of_imagenet() {
        assert_eq!(class_in_name("imagenet_03_980.jpg"), Some(980));
        assert_eq!(class_in_name("imagenet_0_0.JPEG"), Some(0));
        for name in
            ["imagenet_03_1000.jpg", "imagenet_03_+9.jpg", "imagenet_980", "IMG_0123.jpg", "cat_7.jpg", ""]
        {
            assert_eq!(class_in_name(name), None, "{name}");
        }
    }

    #[test]
    fn pictures_with_a_class_come_first() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.jpg", "a.JPEG", "imagenet_01_7.jpg", "imagenet_00_9.jpg", "SOURCE.txt", "c.png"] {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        fs::create_dir(folder.path().join("d.jpg")).unwrap();
        let expected = ["imagenet_00_9.jpg", "imagenet_01_7.jpg", "a.JPEG", "b.jpg"];
        assert_eq!(pictures(folder.path()).unwrap(), expected);
        assert_eq!(list(folder.path()), None);
        fs::write(folder.path().join("val_map.txt"), "").unwrap();
        assert_eq!(list(folder.path()), Some(folder.path().join("val_map.txt")));
        fs::write(folder.path().join(LIST), "").unwrap();
        assert_eq!(list(folder.path()), Some(folder.path().join(LIST)));
    }

    #[test]
    fn a_folder_without_pictures_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = pictures(folder.path()).unwrap_err().to_string();
        assert!(error.contains("it has no picture") && error.contains("classes.txt"), "{error}");
        assert!(matches!(pictures(&folder.path().join("none")), Err(DatasetError::Read { .. })));
    }
}
