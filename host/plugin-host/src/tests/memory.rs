//! Memory of the plugin's own for samples.

use std::{cell::RefCell, collections::BTreeMap, ffi::c_void};

use proctor_plugin_api::MemoryKind;

use super::*;
use crate::PluginRange;

#[repr(C, align(4096))]
struct Page([u8; 4096]);

thread_local! {
    static KIND: std::cell::Cell<u32> = const { std::cell::Cell::new(PROCTOR_MEMORY_PINNED) };
    /// Memory that has not been freed, which may be there for the next allocation, too.
    static PAGES: RefCell<BTreeMap<usize, Box<Page>>> = const { RefCell::new(BTreeMap::new()) };
    static RETURNS_SAME: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

unsafe extern "C" fn allocate(
    _: *mut ProctorModel,
    allocation: *mut ProctorAllocation,
    error: *mut ProctorError,
) -> i32 {
    // SAFETY: the host passes an allocation and room for a message.
    unsafe {
        if (*allocation).size_bytes > size_of::<Page>() {
            say(error, "a page is all that there is");
            return PROCTOR_STATUS_OUT_OF_MEMORY;
        }
        if KIND.get() == u32::MAX {
            return PROCTOR_STATUS_UNSUPPORTED;
        }
        let same = PAGES.with_borrow_mut(|pages| pages.values_mut().next().map(|page| page.0.as_mut_ptr()));
        (*allocation).memory = match same.filter(|_| RETURNS_SAME.get()) {
            Some(page) => page.cast(),
            None => {
                let mut page = Box::new(Page([0xAB; 4096]));
                let memory = page.0.as_mut_ptr();
                PAGES.with_borrow_mut(|pages| pages.insert(memory.addr(), page));
                memory.cast()
            }
        };
        (*allocation).kind = KIND.get();
    }
    called("allocate");
    PROCTOR_STATUS_OK
}

unsafe extern "C" fn free(_: *mut ProctorModel, memory: *mut c_void, _: *mut ProctorError) -> i32 {
    called("free");
    let freed = PAGES.with_borrow_mut(|pages| pages.remove(&memory.addr()));
    if freed.is_some() { PROCTOR_STATUS_OK } else { PROCTOR_STATUS_INVALID_ARGUMENT }
}

unsafe extern "C" fn copy(
    _: *mut ProctorModel,
    to: *mut c_void,
    from: *const c_void,
    size_bytes: usize,
    _: *mut ProctorError,
) -> i32 {
    called(&format!("copy {size_bytes}"));
    // SAFETY: the host passes a page of this plugin, and as many bytes of its own.
    unsafe { to.cast::<u8>().copy_from_nonoverlapping(from.cast(), size_bytes) };
    PROCTOR_STATUS_OK
}

fn memory() -> ProctorMemory {
    ProctorMemory {
        size: size_of::<ProctorMemory>(),
        allocate: Some(allocate),
        free: Some(free),
        copy: Some(copy),
    }
}

fn model(kind: u32, memory: ProctorMemory) -> (Backend, Model) {
    KIND.set(kind);
    MEMORY.set(leak(memory));
    let backend = good_backend();
    let model = backend.load_model(&demand()).unwrap();
    calls();
    (backend, model)
}

fn refusal(model: &Model, size_bytes: usize) -> String {
    model.allocate(size_bytes).map(drop).unwrap_err().to_string()
}

/// Samples 0 and 1 in memory of the plugin, and the bytes of the tensor of each.
struct InRange(PluginRange, usize);

impl SampleBuffers for InRange {
    fn tensor(&self, index: SampleIndex, _: usize) -> &[u8] {
        &self.0.bytes()[64 * usize::try_from(index.0).unwrap()..][..self.1]
    }

    fn ranges(&self) -> Vec<&[u8]> {
        vec![self.0.bytes()]
    }
}

#[test]
fn samples_lie_in_memory_of_the_plugin_until_they_are_released() {
    for (kind, expected) in [
        (PROCTOR_MEMORY_PINNED, &["allocate", "prepare 2", "release_samples", "free"][..]),
        (PROCTOR_MEMORY_DEVICE, &["allocate", "copy 4096", "prepare 2", "release_samples", "free"]),
    ] {
        let (backend, model) = model(kind, memory());
        let mut range = model.allocate(4096).unwrap().unwrap();
        assert!(range.bytes().iter().all(|byte| *byte == 0), "it is cleared");
        range.bytes_mut()[64..72].fill(7);
        range.finish().unwrap();
        let page = PAGES.with_borrow(|pages| *pages.keys().next().unwrap());
        model.prepare(&[SampleIndex(0), SampleIndex(1)], Arc::new(InRange(range, 8))).unwrap();
        assert_eq!(backend.host_side().memory_kinds(), [MemoryKind::from_code(kind).unwrap()]);
        // The plugin sees its own memory, whichever kind it is, and the samples are there.
        assert_eq!(RANGES.take(), [(page, 4096, kind)]);
        assert_eq!(TENSORS.take(), [page, page + 64]);
        assert_eq!(PAGES.with_borrow(|pages| pages[&page].0[64]), 7);
        model.release().unwrap();
        assert_eq!(calls(), expected);
        assert!(PAGES.with_borrow(BTreeMap::is_empty));
        drop((model, backend));
        assert_eq!(calls(), ["unload_model", "close"]);
    }
}

#[test]
fn samples_that_do_not_fit_the_model_give_their_memory_back() {
    let (_backend, model) = model(PROCTOR_MEMORY_PINNED, memory());
    let mut range = model.allocate(4096).unwrap().unwrap();
    range.finish().unwrap();
    // Nothing else holds the range, so it is freed inside of prepare, which must not keep the model locked.
    let refused = model.prepare(&[SampleIndex(0)], Arc::new(InRange(range, 4))).unwrap_err();
    assert!(refused.to_string().contains("4 bytes"), "{refused}");
    assert_eq!(calls(), ["allocate", "free"]);
}

#[test]
fn a_plugin_may_leave_the_memory_to_the_host() {
    let (_backend, model) = model(u32::MAX, memory());
    assert!(model.allocate(4096).unwrap().is_none());
    MEMORY.set(ptr::null());
    assert!(model.allocate(4096).unwrap().is_none());
    // The host gives whole ranges nevertheless, if it has any.
    prepare(&model, &[1]).unwrap();
    assert_eq!(RANGES.take(), []);
}

#[test]
fn memory_that_cannot_be_is_refused() {
    let (_backend, loaded) = model(PROCTOR_MEMORY_PINNED, memory());
    let text = refusal(&loaded, 8192);
    assert_eq!(text, "plugin hand-made: allocate failed (OUT_OF_MEMORY): a page is all that there is");
    let _first = loaded.allocate(4096).unwrap();
    RETURNS_SAME.set(true);
    let text = refusal(&loaded, 4096);
    assert!(text.contains("which it has returned before and not been given back"), "{text}");
    RETURNS_SAME.set(false);
    KIND.set(9);
    assert!(refusal(&loaded, 4096).contains("of the unknown kind 9"));
    KIND.set(PROCTOR_MEMORY_DEVICE);
    MEMORY.set(leak(ProctorMemory { copy: None, ..memory() }));
    assert!(refusal(&loaded, 4096).contains("the required function ProctorMemory.copy is null"));
    MEMORY.set(leak(ProctorMemory { allocate: None, ..memory() }));
    assert!(refusal(&loaded, 4096).contains("the required function ProctorMemory.allocate is null"));
    MEMORY.set(leak(ProctorMemory { size: 16, ..memory() }));
    assert!(refusal(&loaded, 4096).contains("ProctorMemory has 16 bytes"));
    prepare(&loaded, &[1]).unwrap();
    assert!(refusal(&loaded, 4096).contains("allocate does not fit the state"));
}

/// Sample `i` is eight bytes of value `i`. Samples 5 and 2 lie once more behind the last one, recognisable by 100 more.
struct Again {
    samples: Vec<Aligned>,
    copies: [Aligned; 2],
}

impl SampleBuffers for Again {
    fn tensor(&self, index: SampleIndex, _: usize) -> &[u8] {
        &self.samples[usize::try_from(index.0).unwrap()].0
    }

    fn copies(&self) -> &[SampleIndex] {
        &[SampleIndex(5), SampleIndex(2)]
    }

    fn copy(&self, position: usize, _: usize) -> &[u8] {
        &self.copies[position].0
    }
}

#[test]
fn samples_that_follow_the_last_of_the_set_are_the_copies_behind_it() {
    let backend = good_backend();
    let model = backend.load_model(&demand()).unwrap();
    let mut instance = model.create_instance(0).unwrap();
    let samples = (0..10).map(|value| Aligned([value; 8])).collect();
    let copies = [105, 102].map(|value| Aligned([value; 8]));
    model.prepare(&[5, 2, 3, 4].map(SampleIndex), Arc::new(Again { samples, copies })).unwrap();
    model.start().unwrap();
    for (indices, expected) in [
        (&[2, 3, 4][..], &[2, 3, 4][..]),
        (&[3, 4, 5], &[3, 4, 105]),
        (&[4, 5, 2], &[4, 105, 102]),
        (&[5, 2, 3], &[5, 2, 3]),
        (&[4, 2], &[4, 2]),
        (&[4, 5, 5], &[4, 105, 5]),
    ] {
        let (batch, sink) = (query(indices), Kept::default());
        instance.execute(&batch).unwrap();
        instance.complete(&batch, &sink);
        let seen: Vec<_> = sink.take().iter().map(|(_, _, data)| data[0]).collect();
        assert_eq!(seen, expected);
    }
}
