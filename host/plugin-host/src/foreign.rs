//! Reads data that a plugin points to: sizes, alignment and texts are checked before anything is believed.

use proctor_plugin_api::{
    abi::{PROCTOR_LIST_COUNT_MAX, PROCTOR_NAME_LENGTH_MAX, PROCTOR_TEXT_LENGTH_MAX, ProctorString},
    versioned::{Elements, SaysSize, Versioned, read},
};
use proctor_vocabulary::steers;

use crate::error::PluginHostError;

/// Reads from one plugin; the name is for the errors.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    pub(crate) source_name: &'a str,
}

impl Reader<'_> {
    /// Copies a structure, as much of it as both sides know.
    ///
    /// # Safety
    /// `pointer` is null, or the plugin vouches that as many bytes can be read there as the first word says.
    pub(crate) unsafe fn structure<T: SaysSize>(self, pointer: *const T) -> Result<T, PluginHostError> {
        // SAFETY: the plugin vouches for what is at `pointer`, unless that is null.
        unsafe { read(pointer) }.map_err(|problem| self.malformed(problem))
    }

    /// Copies a list of elements that lie `stride` bytes apart.
    ///
    /// # Safety
    /// `pointer` is null, or the plugin vouches for `count` elements there.
    pub(crate) unsafe fn list<T: Versioned>(
        self,
        what: &str,
        pointer: *const T,
        count: usize,
        stride: usize,
    ) -> Result<Vec<T>, PluginHostError> {
        if count == 0 {
            return Ok(Vec::new());
        }
        self.check_count(what, count)?;
        self.check_pointer(pointer, what)?;
        let elements = Elements::new(pointer, count, stride).map_err(|problem| self.malformed(problem))?;
        // SAFETY: the plugin vouches for `count` elements that lie as far apart as it says.
        Ok(unsafe { elements.iter() }.collect())
    }

    /// Copies a list of texts.
    ///
    /// # Safety
    /// `pointer` is null, or the plugin vouches for `count` texts there.
    pub(crate) unsafe fn texts(
        self,
        what: &str,
        pointer: *const ProctorString,
        count: usize,
    ) -> Result<Vec<String>, PluginHostError> {
        if count == 0 {
            return Ok(Vec::new());
        }
        self.check_count(what, count)?;
        self.check_pointer(pointer, what)?;
        // SAFETY: not null, aligned and of a sane length as just checked; the plugin vouches for the elements.
        let texts = unsafe { std::slice::from_raw_parts(pointer, count) };
        // SAFETY: the plugin vouches for the bytes of each text.
        texts.iter().map(|text| unsafe { self.name(what, *text) }).collect()
    }

    /// Copies a text; null is "not given".
    ///
    /// # Safety
    /// `text.data` is null, or the plugin vouches for `text.length` bytes there.
    pub(crate) unsafe fn text(
        self,
        what: &str,
        text: ProctorString,
    ) -> Result<Option<String>, PluginHostError> {
        if text.data.is_null() && text.length == 0 {
            return Ok(None);
        }
        let bad = |problem: String| self.malformed(format!("{what} is {problem}"));
        if text.data.is_null() {
            return Err(bad(format!("null with a length of {}", text.length)));
        }
        self.check_length(what, text.length)?;
        // SAFETY: not null and of a sane length as just checked; the plugin vouches for the bytes.
        let bytes = unsafe { std::slice::from_raw_parts(text.data, text.length) };
        let text = std::str::from_utf8(bytes).map_err(|error| bad(format!("not UTF-8: {error}")))?;
        Ok(Some(text.to_owned()))
    }

    /// Copies a text of one line; null is "not given".
    ///
    /// # Safety
    /// Same as [`text`](Self::text).
    pub(crate) unsafe fn line(
        self,
        what: &str,
        text: ProctorString,
    ) -> Result<Option<String>, PluginHostError> {
        // SAFETY: `text` asks for what this function asks for: a null `data`, or `length` bytes there.
        let line = unsafe { self.text(what, text) }?;
        line.iter().try_for_each(|line| self.check_line(what, line))?;
        Ok(line)
    }

    /// Holds a text against the rules of a line. A line break or an escape sequence could forge a line of a log or of
    /// the terminal.
    pub(crate) fn check_line(self, what: &str, line: &str) -> Result<(), PluginHostError> {
        self.check_length(what, line.len())?;
        match line.chars().find(|character| steers(*character)) {
            Some(control) => Err(self.malformed(format!("{what} has the control character {control:?}"))),
            None => Ok(()),
        }
    }

    /// Copies a line that may not be left out or empty.
    ///
    /// # Safety
    /// Same as [`text`](Self::text).
    pub(crate) unsafe fn required_line(
        self,
        what: &str,
        text: ProctorString,
    ) -> Result<String, PluginHostError> {
        // SAFETY: `line` asks for what this function asks for: a null `data`, or `length` bytes there.
        let line = unsafe { self.line(what, text) }?;
        let line = line.ok_or_else(|| self.malformed(format!("{what} is null")))?;
        self.check_required_line(what, &line)?;
        Ok(line)
    }

    /// Holds a text against the rules of a line that may not be empty.
    pub(crate) fn check_required_line(self, what: &str, line: &str) -> Result<(), PluginHostError> {
        self.check_line(what, line)?;
        if line.is_empty() { Err(self.malformed(format!("{what} is empty"))) } else { Ok(()) }
    }

    /// Copies a name: an existing short line.
    ///
    /// # Safety
    /// Same as [`text`](Self::text).
    pub(crate) unsafe fn name(self, what: &str, text: ProctorString) -> Result<String, PluginHostError> {
        // SAFETY: `required_line` asks for what this function asks for: a null `data`, or `length` bytes there.
        let name = unsafe { self.required_line(what, text) }?;
        self.check_name(what, &name)?;
        Ok(name)
    }

    /// Holds a text against the rules of a name.
    pub(crate) fn check_name(self, what: &str, name: &str) -> Result<(), PluginHostError> {
        self.check_required_line(what, name)?;
        if name.len() > PROCTOR_NAME_LENGTH_MAX {
            let (length, most) = (name.len(), PROCTOR_NAME_LENGTH_MAX);
            return Err(
                self.malformed(format!("{what} is {length} bytes long, more than the {most} of a name"))
            );
        }
        Ok(())
    }

    pub(crate) fn malformed(self, problem: String) -> PluginHostError {
        PluginHostError::Unusable(format!("{}: {problem}", self.source_name))
    }

    /// Reports that the plugin and the host do not agree; `problem` is the rest of the sentence that begins with the
    /// plugin.
    pub(crate) fn version(self, problem: String) -> PluginHostError {
        PluginHostError::Unusable(format!("{} {problem}", self.source_name))
    }

    pub(crate) fn bad_manifest(self, what: &str) -> PluginHostError {
        self.malformed(format!("the manifest is wrong: {what}"))
    }

    pub(crate) fn check_count(self, what: &str, count: usize) -> Result<(), PluginHostError> {
        if count > PROCTOR_LIST_COUNT_MAX {
            return Err(self.bad_manifest(&format!("{count} {what} are more than {PROCTOR_LIST_COUNT_MAX}")));
        }
        Ok(())
    }

    fn check_length(self, what: &str, length: usize) -> Result<(), PluginHostError> {
        if length > PROCTOR_TEXT_LENGTH_MAX {
            let problem = format!("{what} is {length} bytes long, more than {PROCTOR_TEXT_LENGTH_MAX}");
            return Err(self.malformed(problem));
        }
        Ok(())
    }

    fn check_pointer<T>(self, pointer: *const T, what: &str) -> Result<(), PluginHostError> {
        let problem = if pointer.is_null() {
            "null"
        } else if !pointer.is_aligned() {
            "not aligned"
        } else {
            return Ok(());
        };
        Err(self.malformed(format!("{what} is {problem}")))
    }
}

/// Returns the bytes of a text, at most `length_most` of them; empty for null.
///
/// # Safety
/// `text.data` is null, or `text.length` bytes can be read there for as long as `text` is borrowed.
pub(crate) unsafe fn bytes_of(text: &ProctorString, length_most: usize) -> &[u8] {
    if text.data.is_null() {
        return &[];
    }
    // SAFETY: not null as just checked; the caller vouches for the bytes, of which no more than these are read.
    unsafe { std::slice::from_raw_parts(text.data, text.length.min(length_most)) }
}
