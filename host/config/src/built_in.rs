//! Definitions that are compiled in.

use std::{path::Path, sync::OnceLock};

use include_dir::{Dir, File};

use crate::error::ConfigErrors;

/// The definitions in a folder of files `<id>.toml`, each parsed on first use: a program that needs one of them need
/// not wait for all.
pub(crate) struct BuiltIn<T> {
    definitions: Vec<Definition<T>>,
    parse: fn(&str, &Path) -> Result<T, ConfigErrors>,
}

struct Definition<T> {
    id: &'static str,
    file: &'static File<'static>,
    parsed: OnceLock<T>,
}

impl<T> BuiltIn<T> {
    /// Returns the files directly in `folder`.
    pub(crate) fn new(
        folder: &'static Dir<'static>,
        parse: fn(&str, &Path) -> Result<T, ConfigErrors>,
    ) -> Self {
        let definition = |file: &'static File<'static>| {
            let id = file.path().file_name()?.to_str()?.strip_suffix(".toml")?;
            Some(Definition { id, file, parsed: OnceLock::new() })
        };
        let mut definitions: Vec<_> = folder.files().filter_map(definition).collect();
        definitions.sort_by_key(|definition| definition.id);
        Self { definitions, parse }
    }

    /// Returns their ids, in order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &'static str> {
        self.definitions.iter().map(|definition| definition.id)
    }

    /// Returns all of them, in the order of their ids.
    pub(crate) fn all(&self) -> impl Iterator<Item = &T> {
        self.definitions.iter().map(|definition| self.parsed(definition))
    }

    /// Returns the one of this id.
    pub(crate) fn get(&self, id: &str) -> Option<&T> {
        let found = self.definitions.binary_search_by_key(&id, |definition| definition.id).ok()?;
        Some(self.parsed(&self.definitions[found]))
    }

    fn parsed<'a>(&self, definition: &'a Definition<T>) -> &'a T {
        let Definition { file, parsed, .. } = definition;
        parsed.get_or_init(|| {
            let text = file.contents_utf8().expect("definitions are UTF-8, as a test shows");
            (self.parse)(text, file.path()).expect("definitions are right, as a test shows")
        })
    }
}
