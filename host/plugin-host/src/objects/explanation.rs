//! Text that a plugin passes in pieces.

use std::ffi::c_void;

use proctor_plugin_api::abi::{PROCTOR_TEXT_LENGTH_MAX, ProctorString};

use crate::{error::PluginHostError, foreign::Reader};

/// The part of the explanation that the plugin has written.
pub(crate) struct Explanation<'a> {
    plugin: &'a str,
    text: String,
    /// First error; later ones are dropped.
    problem: Option<PluginHostError>,
}

impl<'a> Explanation<'a> {
    pub(crate) fn new(plugin: &'a str) -> Self {
        Self { plugin, text: String::new(), problem: None }
    }

    /// Returns the whole text; none if there is nothing but white space.
    ///
    /// # Errors
    /// Returns the first piece that is no text, or that there is too much of it.
    pub(crate) fn finish(self) -> Result<Option<String>, PluginHostError> {
        match self.problem {
            Some(problem) => Err(problem),
            None => Ok(Some(self.text).filter(|text| !text.trim().is_empty())),
        }
    }

    /// # Safety
    /// `piece.data` is null, or the plugin vouches for `piece.length` bytes there.
    unsafe fn push(&mut self, piece: ProctorString) {
        if self.problem.is_some() {
            return;
        }
        let reader = Reader { source_name: self.plugin };
        // SAFETY: `text` asks for a null `data` or `length` bytes there, for which the plugin vouches.
        match unsafe { reader.text("its explanation", piece) } {
            Ok(piece) => self.text.push_str(&piece.unwrap_or_default()),
            Err(problem) => self.problem = Some(problem),
        }
        if self.text.len() > PROCTOR_TEXT_LENGTH_MAX {
            let problem = format!("its explanation is longer than {PROCTOR_TEXT_LENGTH_MAX} bytes");
            self.problem = Some(reader.malformed(problem));
        }
    }
}

/// Takes a piece of text for the [`Explanation`] at `context`.
///
/// # Safety
/// `context` is the address of an `Explanation` that lives and that no other code uses during the call; the plugin
/// vouches for the text.
pub(crate) unsafe extern "C" fn collect(context: *mut c_void, text: ProctorString) {
    // SAFETY: `context` is the address that `explain` put into the sink, of a local that it does not touch until the
    // plugin's call has returned.
    if let Some(explanation) = unsafe { context.cast::<Explanation<'_>>().as_mut() } {
        // SAFETY: the plugin vouches for the text that it hands to the sink.
        unsafe { explanation.push(text) };
    }
}
