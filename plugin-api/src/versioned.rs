//! Reads structures that the other side of the boundary compiled: as much of them as both sides know.
//!
//! A structure that is handed over by itself says its size in its first word, an array the distance of its elements in
//! the structure that carries it. Fields are only appended, and zero means "not there" for each of them. So a structure
//! of an older side is read with zeros at its end, one of a newer side without its end, and neither is ever read beyond
//! its size.

use std::{
    marker::PhantomData,
    mem::{MaybeUninit, offset_of},
    ptr,
};

use crate::abi::*;

/// A structure of the ABI that may grow.
///
/// # Safety
/// The type is `#[repr(C)]`, and zeros are a valid value of all of it and of each of its fields.
pub unsafe trait Versioned: Sized {
    /// Name in the ABI.
    const NAME: &'static str;
    /// Size in ABI 1.0, in bytes. A shorter one is an error.
    const SIZE_FIRST: usize;
}

/// A structure of the ABI that begins with its size.
///
/// # Safety
/// The first field is the size in bytes, a `usize`.
pub unsafe trait SaysSize: Versioned {}

macro_rules! versioned {
    ($($name:ident ends with $last:ident: $type:ty,)+) => {$(
        // SAFETY: the type is one of the ABI: `#[repr(C)]`, and made of integers, floats, raw pointers, `Option<fn>`
        // and structures of these only, for all of which zero is valid.
        unsafe impl Versioned for $name {
            const NAME: &'static str = stringify!($name);
            const SIZE_FIRST: usize = offset_of!($name, $last) + size_of::<$type>();
        }
    )+};
}

macro_rules! says_size {
    ($($name:ident ends with $last:ident: $type:ty,)+) => {
        versioned! { $($name ends with $last: $type,)+ }
        $(
            // SAFETY: the field `size` is a `usize` and the first one, as the assertion says.
            unsafe impl SaysSize for $name {}
            const _: () = assert!(offset_of!($name, size) == 0);
        )+
    };
}

type Function = Option<extern "C" fn()>;

// The last fields of ABI 1.0. They stay the same for as long as the major version does.
says_size! {
    ProctorVersionRange ends with reserved: u32,
    ProctorError ends with vendor_code: i64,
    ProctorPlugin ends with extension: Function,
    ProctorManifest ends with option_stride: usize,
    ProctorOpenRequest ends with option_stride: usize,
    ProctorModelRequest ends with placement_stride: usize,
    ProctorPlacement ends with reserved: u32,
    ProctorSampleSet ends with range_stride: usize,
    ProctorBatch ends with id: u64,
    ProctorQuery ends with total_sample_count: u64,
    ProctorResponses ends with stage_stride: usize,
    ProctorMetric ends with at_ns: u64,
    ProctorProgress ends with task: ProctorString,
    ProctorHost ends with extension: Function,
    ProctorIssue ends with warm_up: Function,
    ProctorVirtualTime ends with execute: Function,
    ProctorTextSink ends with write: Function,
    ProctorExplain ends with explain: Function,
    ProctorInstanceThread ends with end: Function,
    ProctorLiveInstances ends with destroy: Function,
    ProctorAllocation ends with reserved: u32,
    ProctorMemory ends with copy: Function,
    ProctorDevice ends with reserved: u32,
    ProctorDeviceSink ends with add: Function,
    ProctorDevices ends with list: Function,
    ProctorSubmit ends with submit: Function,
    ProctorDone ends with vendor_code: i64,
    ProctorSubmitHost ends with done: Function,
    ProctorEnergy ends with read: Function,
    ProctorInputForm ends with zero_point: i32,
    ProctorInputForms ends with choose: Function,
    ProctorTokens ends with report_stride: usize,
    ProctorTokensHost ends with tokens: Function,
}

versioned! {
    ProctorModelSupport ends with memory_bytes: u64,
    ProctorOptionSpec ends with float_max: f64,
    ProctorOptionValue ends with reserved: u32,
    ProctorTensorSpec ends with element_type: u32,
    ProctorFile ends with path: ProctorString,
    ProctorTensor ends with element_type: u32,
    ProctorPreparedSample ends with input_count: usize,
    ProctorMemoryRange ends with reserved: u32,
    ProctorBatchSample ends with vendor_code: i64,
    ProctorOutput ends with context: usize,
    ProctorQuerySample ends with index: u64,
    ProctorResponse ends with vendor_code: i64,
    ProctorStage ends with end_ns: u64,
    ProctorTokenReport ends with reserved: u32,
}

/// Copies a structure of `size` bytes, as much of it as this side knows; the rest is zero.
///
/// # Safety
/// `size` bytes can be read at `from`.
#[cold]
pub unsafe fn copy_known<T: Versioned>(from: *const T, size: usize) -> T {
    let mut copy = MaybeUninit::<T>::zeroed();
    // SAFETY: the caller vouches for `size` bytes at `from`, and no more than the copy has room for are moved; the copy
    // is a new local. Zeroed or copied, all its bytes are initialised, and by `Versioned` zeros are a valid value.
    unsafe {
        from.cast::<u8>().copy_to_nonoverlapping(copy.as_mut_ptr().cast(), size.min(size_of::<T>()));
        copy.assume_init()
    }
}

/// Copies a structure that begins with its size, as much of it as this side knows.
///
/// # Errors
/// Same as [`with`].
///
/// # Safety
/// Same as [`with`].
pub unsafe fn read<T: SaysSize>(pointer: *const T) -> Result<T, String> {
    // SAFETY: the caller's promise; a structure of the ABI is plain data, so its bytes may be copied.
    unsafe { with(pointer, |structure| ptr::read(structure)) }
}

/// Calls `act` with a structure that begins with its size, as much of it as this side knows: in place, if it
/// has all of that, which most have, or else a copy.
///
/// # Errors
/// Returns a sentence that begins with the structure's name, if the pointer is null or not aligned or the size cannot
/// be.
///
/// # Safety
/// `pointer` is null or not aligned, or as many bytes can be read there as the first word says, and nothing writes to
/// them until `act` returns.
#[inline]
pub unsafe fn with<T: SaysSize, R>(pointer: *const T, act: impl FnOnce(&T) -> R) -> Result<R, String> {
    check_pointer(pointer)?;
    // SAFETY: not null and aligned as just checked, so the caller vouches for the first word, which is the size.
    let size = unsafe { pointer.cast::<usize>().read() };
    check_size::<T>(size)?;
    let copy;
    let structure = if size >= size_of::<T>() {
        // SAFETY: the caller vouches for as many bytes as the first word says, until `act` returns.
        unsafe { &*pointer }
    } else {
        // SAFETY: as above.
        copy = unsafe { copy_known(pointer, size) };
        &copy
    };
    Ok(act(structure))
}

#[inline]
fn check_pointer<T: Versioned>(pointer: *const T) -> Result<(), String> {
    if !pointer.is_null() && pointer.is_aligned() { Ok(()) } else { Err(bad_pointer(pointer)) }
}

#[cold]
fn bad_pointer<T: Versioned>(pointer: *const T) -> String {
    format!("{} is {}", T::NAME, if pointer.is_null() { "null" } else { "not aligned" })
}

#[inline]
fn check_size<T: Versioned>(size: usize) -> Result<(), String> {
    let is_allowed = (T::SIZE_FIRST..=PROCTOR_STRUCTURE_SIZE_MAX).contains(&size);
    if is_allowed && size.is_multiple_of(align_of::<T>()) { Ok(()) } else { Err(bad_size::<T>(size)) }
}

#[cold]
fn bad_size<T: Versioned>(size: usize) -> String {
    format!(
        "{} has {size} bytes, which is not from the {} of ABI 1.0 to {PROCTOR_STRUCTURE_SIZE_MAX} in steps of {}",
        T::NAME,
        T::SIZE_FIRST,
        align_of::<T>()
    )
}

/// An array of the other side, whose elements may be larger or smaller than this side knows them.
#[derive(Debug)]
pub struct Elements<'a, T> {
    first: *mut T,
    count: usize,
    /// Distance of two elements in bytes.
    stride: usize,
    array: PhantomData<&'a T>,
}

impl<T> Clone for Elements<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Elements<'_, T> {}

impl<'a, T: Versioned> Elements<'a, T> {
    /// Creates an array of `count` elements that lie `stride` bytes apart. Nothing is read.
    ///
    /// # Errors
    /// Returns a sentence that begins with the name of the element, if there are elements and the pointer is null or
    /// not aligned, the stride cannot be, or the whole is larger than any memory.
    #[inline]
    pub fn new(first: *const T, count: usize, stride: usize) -> Result<Self, String> {
        let elements = Self { first: first.cast_mut(), count, stride, array: PhantomData };
        if count == 0 {
            return Ok(elements);
        }
        check_pointer(first)?;
        check_size::<T>(stride)?;
        match count.checked_mul(stride).map(isize::try_from) {
            Some(Ok(_)) => Ok(elements),
            _ => Err(format!("{} is an array of {count} elements, which no memory holds", T::NAME)),
        }
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn len(self) -> usize {
        self.count
    }

    /// Returns whether there are no elements.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    /// Returns the address of an element, for fields of ABI 1.0.
    ///
    /// # Panics
    /// If there is no such element.
    #[must_use]
    pub fn pointer(self, index: usize) -> *mut T {
        assert!(index < self.count, "element {index} of {}", self.count);
        self.first.wrapping_byte_add(index * self.stride)
    }

    /// Copies an element, as much of it as this side knows.
    ///
    /// # Safety
    /// The array is as described to [`new`](Self::new), and nothing writes to it meanwhile.
    ///
    /// # Panics
    /// If there is no such element.
    #[must_use]
    #[inline]
    pub unsafe fn get(self, index: usize) -> T {
        let element = self.pointer(index);
        if self.stride >= size_of::<T>() {
            // SAFETY: aligned and of a stride that is a multiple of the alignment, as `new` checked; the caller vouches
            // for `stride` bytes at each element.
            unsafe { ptr::read(element) }
        } else {
            // SAFETY: the caller vouches for `stride` bytes at each element.
            unsafe { copy_known(element, self.stride) }
        }
    }

    /// Copies of all elements, one after another.
    ///
    /// # Safety
    /// Same as [`get`](Self::get), for as long as the iterator is used.
    pub unsafe fn iter(self) -> impl ExactSizeIterator<Item = T> + use<'a, T> {
        // SAFETY: the caller vouches for the array while the iterator is used.
        (0..self.count).map(move |index| unsafe { self.get(index) })
    }

    /// Returns the elements as a slice, if they lie as close as this side knows them.
    ///
    /// # Safety
    /// Same as [`get`](Self::get), for `'a`.
    #[must_use]
    pub unsafe fn as_slice(self) -> Option<&'a [T]> {
        if self.count == 0 {
            return Some(&[]);
        }
        // SAFETY: not null and aligned as `new` checked; the caller vouches for the elements.
        (self.stride == size_of::<T>()).then(|| unsafe { std::slice::from_raw_parts(self.first, self.count) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A response of a minor version that has appended two words, and one of a version before the last field.
    #[repr(C)]
    struct Longer {
        known: ProctorResponse,
        more: [u64; 2],
    }

    fn response(id: u64) -> ProctorResponse {
        ProctorResponse {
            id,
            data: ptr::null(),
            size_bytes: 0,
            status: 3,
            token_count: 7,
            message: ProctorString { data: ptr::null(), length: 0 },
            vendor_code: 11,
        }
    }

    /// The end that this file gives a structure of ABI 1.0 has to be the one in the kept header.
    #[test]
    fn the_ends_of_structures_are_those_of_the_first_version() {
        let first = include_str!("../include/frozen/proctor_plugin_1.0.h");
        let mut compared = 0;
        for line in include_str!("versioned.rs").lines() {
            let Some((name, rest)) = line.trim().split_once(" ends with ") else { continue };
            let Some((last, _)) = rest.split_once(": ") else { continue };
            // A draft, or of a later version.
            let Some((before, _)) = first.split_once(&format!("\n}} {name};")) else { continue };
            let field = before.rsplit('\n').next().unwrap();
            // `uint64_t at_ns;`, or `ProctorStatus (*explain)(...`, whose last line may belong to its arguments.
            let function = before.rsplit("(*").next().unwrap().split(')').next().unwrap();
            let is_end = field.trim_end_matches(';').split([' ', '*']).next_back() == Some(last);
            assert!(
                is_end || (field.ends_with(");") && function == last),
                "{name} ends with {field}, not {last}"
            );
            compared += 1;
        }
        assert!(compared > 25, "{compared}");
    }

    #[test]
    fn elements_of_a_newer_side_lie_further_apart() {
        let longer = [1, 2, 3].map(|id| Longer { known: response(id), more: [u64::MAX; 2] });
        let elements = Elements::new(&raw const longer[0].known, 3, size_of::<Longer>()).unwrap();
        // SAFETY: the array has three elements of that size.
        let ids: Vec<_> =
            unsafe { elements.iter() }.map(|response| (response.id, response.vendor_code)).collect();
        assert_eq!(ids, [(1, 11), (2, 11), (3, 11)]);
        // SAFETY: as above.
        assert!(unsafe { elements.as_slice() }.is_none());
    }

    #[test]
    fn what_an_older_side_lacks_is_zero() {
        let placement = ProctorPlacement {
            size: ProctorPlacement::SIZE_FIRST,
            instance_index: 1,
            instance_count: 2,
            cpus: ptr::null(),
            cpu_count: 5,
            device_index: 3,
            reserved: 0,
        };
        // SAFETY: the structure has as many bytes as are copied.
        let copy: ProctorPlacement =
            unsafe { copy_known(&raw const placement, offset_of!(ProctorPlacement, cpu_count)) };
        assert_eq!((copy.instance_count, copy.cpu_count, copy.device_index), (2, 0, 0));
    }

    #[test]
    fn a_size_or_a_pointer_that_cannot_be_is_refused() {
        let mut range = ProctorVersionRange {
            size: size_of::<ProctorVersionRange>(),
            major_min: 1,
            major_max: 1,
            minor_max: 0,
            reserved: 0,
        };
        // SAFETY: a pointer of null is never read through, nor is one that is not aligned; the other sizes are those of
        // the structure, or refused before anything but the first word is read.
        let mut message = |size| unsafe {
            range.size = size;
            read(&raw const range).err()
        };
        assert_eq!(message(24), None);
        let expected =
            "ProctorVersionRange has 16 bytes, which is not from the 24 of ABI 1.0 to 65536 in steps of 8";
        assert_eq!(message(16).unwrap(), expected);
        assert!(message(25).is_some() && message(1 << 20).is_some());
        // SAFETY: as above.
        unsafe {
            assert_eq!(read(ptr::null::<ProctorHost>()).err().unwrap(), "ProctorHost is null");
            let odd = (&raw const range).wrapping_byte_add(4);
            assert_eq!(read(odd).err().unwrap(), "ProctorVersionRange is not aligned");
        }
        assert!(Elements::<ProctorFile>::new(ptr::null(), 0, 0).is_ok());
        assert_eq!(Elements::<ProctorFile>::new(ptr::null(), 1, 32).unwrap_err(), "ProctorFile is null");
        let file = ProctorFile {
            format: ProctorString { data: ptr::null(), length: 0 },
            path: ProctorString { data: ptr::null(), length: 0 },
        };
        assert!(Elements::new(&raw const file, usize::MAX / 8, 32).is_err());
        assert!(Elements::new(&raw const file, 1, 31).is_err());
    }
}
