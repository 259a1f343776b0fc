//! Memory of devices and of the host, and copies between them.

use std::ffi::{c_uint, c_void};

use super::{functions, give};
use crate::{
    errors::CudaError,
    work::{From, Id, Work},
    world::{Allocation, GUARD, UNWRITTEN},
};

functions! {
    fn cuMemGetInfo_v2(world, free: *mut usize, total: *mut usize) {
        let device = world.current()?;
        give(free, world.settings.memory - world.devices[device].used)?;
        give(total, world.settings.memory)
    }

    fn cuMemAlloc_v2(world, address: *mut usize, bytes: usize) {
        let device = world.current()?;
        world.not_in_capture()?;
        if bytes == 0 {
            return world.mistake(CudaError::ERROR_INVALID_VALUE, "no bytes");
        }
        if bytes > world.settings.memory - world.devices[device].used {
            return Err(CudaError::ERROR_OUT_OF_MEMORY);
        }
        let whole = bytes + 2 * GUARD;
        let begin = world.opencl.allocate(whole);
        if begin.is_null() {
            return Err(CudaError::ERROR_OUT_OF_MEMORY);
        }
        // SAFETY: as many bytes were allocated, for nobody else.
        unsafe { begin.write_bytes(UNWRITTEN, whole) };
        world.devices[device].used += bytes;
        world.memory.insert(begin as usize + GUARD, Allocation { device, bytes, begin });
        give(address, begin as usize + GUARD)
    }

    fn cuMemFree_v2(world, address: usize) {
        let device = world.current()?;
        world.not_in_capture()?;
        let known = world.memory.get(&address).map(|it| (it.device, it.bytes));
        let Some((_, bytes)) = known.filter(|(of, _)| *of == device) else {
            return world.mistake(CudaError::ERROR_INVALID_VALUE, format!("{address:#x} is no memory of this device"));
        };
        if world.is_queued(|work| work.uses_device(address, address + bytes)) {
            return world.mistake(CudaError::ERROR_INVALID_VALUE, "work in a stream uses this memory");
        }
        world.devices[device].used -= bytes;
        if let Some(allocation) = world.memory.remove(&address) {
            world.opencl.free(allocation.begin);
        }
        Ok(())
    }

    fn cuMemHostAlloc(world, address: *mut *mut u8, bytes: usize, _flags: c_uint) {
        let device = world.current()?;
        world.not_in_capture()?;
        let begin = world.opencl.allocate(bytes.max(1));
        if begin.is_null() {
            return Err(CudaError::ERROR_OUT_OF_MEMORY);
        }
        // SAFETY: as many bytes were allocated, for nobody else.
        unsafe { begin.write_bytes(UNWRITTEN, bytes) };
        world.pinned.insert(begin as usize, Allocation { device, bytes, begin });
        give(address, begin)
    }

    fn cuMemFreeHost(world, address: *mut u8) {
        world.current()?;
        world.not_in_capture()?;
        let begin = address as usize;
        let Some(pinned) = world.pinned.get(&begin) else {
            return world.mistake(CudaError::ERROR_INVALID_VALUE, "no memory of cuMemHostAlloc");
        };
        if world.is_queued(|work| work.uses_host(begin, begin + pinned.bytes)) {
            return world.mistake(CudaError::ERROR_INVALID_VALUE, "work in a stream uses this memory");
        }
        world.opencl.free(pinned.begin);
        world.pinned.remove(&begin);
        Ok(())
    }

    fn cuMemcpyHtoDAsync_v2(world, to: usize, from: *const c_void, bytes: usize, stream: Id) {
        let device = world.stream(stream)?;
        world.within(device, to, bytes, "a copy to the device")?;
        let address = from as usize;
        let is_pinned = world.is_pinned(address, bytes)?;
        let from = if is_pinned || world.streams[&stream].capture.is_some() {
            From::Address(address)
        } else {
            // SAFETY: the caller has as many bytes there.
            From::Taken(unsafe { std::slice::from_raw_parts(from.cast::<u8>(), bytes) }.into())
        };
        world.put(stream, Work::CopyIn { to, from, bytes })
    }

    fn cuMemcpyDtoHAsync_v2(world, to: *mut c_void, from: usize, bytes: usize, stream: Id) {
        let device = world.stream(stream)?;
        world.within(device, from, bytes, "a copy from the device")?;
        world.is_pinned(to as usize, bytes)?;
        world.put(stream, Work::CopyOut { to: to as usize, from, bytes })
    }
}

impl crate::world::World {
    /// Returns whether bytes of the host come from cuMemHostAlloc.
    fn is_pinned(&self, address: usize, bytes: usize) -> Result<bool, CudaError> {
        let found = self.pinned.range(..=address).next_back();
        let found = found.filter(|(begin, pinned)| address < *begin + pinned.bytes);
        let Some((begin, pinned)) = found else { return Ok(false) };
        if address + bytes > begin + pinned.bytes {
            return self
                .mistake(CudaError::ERROR_INVALID_VALUE, "a copy goes beyond memory of cuMemHostAlloc");
        }
        Ok(true)
    }
}
