//! Reading what a plugin points to: sizes, alignment and texts are checked before anything is believed.

use std::mem::{MaybeUninit, offset_of};

use proctor_plugin_api::abi::{
    ProctorExplain, ProctorIssue, ProctorManifest, ProctorModelSupport, ProctorOptionSpec, ProctorPlugin,
    ProctorString, ProctorVirtualTime,
};

use crate::error::PluginHostError;

/// Largest size of a structure that is believed, in bytes. The largest one of ABI 1.0 has 136.
const STRUCTURE_SIZE_MOST: usize = 64 << 10;
/// Largest number of elements of a list that is believed.
const LIST_COUNT_MOST: usize = 65_536;
/// Longest text that is believed, in bytes.
const TEXT_LENGTH_MOST: usize = 1 << 20;

/// A structure of the ABI that starts with its size and may grow.
///
/// # Safety
/// The type is `#[repr(C)]`, its first field is `size: usize`, and all-zero bytes are a valid value of it.
pub(crate) unsafe trait Versioned: Sized {
    /// Name in the ABI.
    const NAME: &'static str;
    /// Size in the first version of the ABI, in bytes. A shorter one is an error; later fields of a structure that
    /// ends here are read as zero, which every later field takes for "not there".
    const SIZE_FIRST: usize;
}

macro_rules! versioned {
    ($($name:ident ends with $last:ident: $type:ty,)+) => {$(
        // SAFETY: the type is a table of the ABI: `#[repr(C)]`, led by `size: usize`, and made of integers, floats,
        // raw pointers and `Option<fn>` only, for all of which zero is valid.
        unsafe impl Versioned for $name {
            const NAME: &'static str = stringify!($name);
            const SIZE_FIRST: usize = offset_of!($name, $last) + size_of::<$type>();
        }
        const _: () = assert!(offset_of!($name, size) == 0);
    )+};
}

versioned! {
    ProctorPlugin ends with extension: Option<extern "C" fn()>,
    ProctorManifest ends with option_count: usize,
    ProctorModelSupport ends with memory_bytes: u64,
    ProctorOptionSpec ends with float_max: f64,
    ProctorIssue ends with issue: Option<extern "C" fn()>,
    ProctorVirtualTime ends with execute: Option<extern "C" fn()>,
    ProctorExplain ends with explain: Option<extern "C" fn()>,
}

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
    pub(crate) unsafe fn structure<T: Versioned>(self, pointer: *const T) -> Result<T, PluginHostError> {
        self.check_pointer(pointer, T::NAME)?;
        // SAFETY: not null and aligned as just checked; the plugin vouches for the first word.
        let size = unsafe { pointer.cast::<usize>().read() };
        if !(T::SIZE_FIRST..=STRUCTURE_SIZE_MOST).contains(&size) {
            let (name, least) = (T::NAME, T::SIZE_FIRST);
            return Err(self.malformed(format!(
                "{name}.size is {size}, which is not between {least} and {STRUCTURE_SIZE_MOST}"
            )));
        }
        let mut copy = MaybeUninit::<T>::zeroed();
        // SAFETY: the plugin vouches for `size` bytes at `pointer`, and no more than the copy has room for are moved;
        // the copy is a new local. Zeroed or copied, all bytes are initialised, which `Versioned` says is enough.
        unsafe {
            let room = copy.as_mut_ptr().cast::<u8>();
            pointer.cast::<u8>().copy_to_nonoverlapping(room, size.min(size_of::<T>()));
            Ok(copy.assume_init())
        }
    }

    /// Copies a list whose elements say their own size, which is the stride.
    ///
    /// # Safety
    /// As [`structure`](Self::structure), for each of the `count` elements.
    pub(crate) unsafe fn list<T: Versioned>(
        self,
        what: &str,
        pointer: *const T,
        count: usize,
    ) -> Result<Vec<T>, PluginHostError> {
        if count == 0 {
            return Ok(Vec::new());
        }
        self.check_count(what, count)?;
        self.check_pointer(pointer, what)?;
        // SAFETY: not null and aligned as just checked; the plugin vouches for the first word of the first element.
        let stride = unsafe { pointer.cast::<usize>().read() };
        let mut list = Vec::new();
        for index in 0..count {
            // The first round checks the stride. A multiple of the alignment is seen to by `check_pointer`.
            let element = pointer.wrapping_byte_add(index * stride.min(STRUCTURE_SIZE_MOST));
            // SAFETY: the plugin vouches for `count` elements that lie `stride` bytes apart.
            list.push(unsafe { self.structure(element) }?);
            // SAFETY: the line above has read this word.
            let size = unsafe { element.cast::<usize>().read() };
            if size != stride {
                let what = format!("{what}[{index}].size is {size}, the first element says {stride}");
                return Err(self.bad_manifest(&what));
            }
        }
        Ok(list)
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
        texts.iter().map(|text| unsafe { self.required_text(what, *text) }).collect()
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
        if text.length > TEXT_LENGTH_MOST {
            return Err(bad(format!("{} bytes long, more than {TEXT_LENGTH_MOST}", text.length)));
        }
        // SAFETY: not null and of a sane length as just checked; the plugin vouches for the bytes.
        let bytes = unsafe { std::slice::from_raw_parts(text.data, text.length) };
        let text = std::str::from_utf8(bytes).map_err(|error| bad(format!("not UTF-8: {error}")))?;
        Ok(Some(text.to_owned()))
    }

    /// Copies a text that may not be left out or empty.
    ///
    /// # Safety
    /// As [`text`](Self::text).
    pub(crate) unsafe fn required_text(
        self,
        what: &str,
        text: ProctorString,
    ) -> Result<String, PluginHostError> {
        // SAFETY: `text` asks for what this function asks for: a null `data`, or `length` bytes there.
        let found = unsafe { self.text(what, text) }?;
        let problem = match found {
            Some(text) if !text.is_empty() => return Ok(text),
            Some(_) => "empty",
            None => "null",
        };
        Err(self.malformed(format!("{what} is {problem}")))
    }

    pub(crate) fn malformed(self, problem: String) -> PluginHostError {
        PluginHostError::Unusable(format!("{}: {problem}", self.source_name))
    }

    /// The plugin and the host do not agree; `problem` is the rest of the sentence that begins with the plugin.
    pub(crate) fn version(self, problem: String) -> PluginHostError {
        PluginHostError::Unusable(format!("{} {problem}", self.source_name))
    }

    pub(crate) fn bad_manifest(self, what: &str) -> PluginHostError {
        self.malformed(format!("the manifest is wrong: {what}"))
    }

    fn check_count(self, what: &str, count: usize) -> Result<(), PluginHostError> {
        if count > LIST_COUNT_MOST {
            return Err(self.bad_manifest(&format!("{count} {what} are more than {LIST_COUNT_MOST}")));
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
