//! Modules, kernels and their launches.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use super::{functions, give};
use crate::{
    errors::CudaError,
    opencl::Argument,
    program,
    work::{Id, Launch, Work},
    world::{Done, Function, Module, World},
};

functions! {
    fn cuModuleLoadData(world, module: *mut Id, image: *const c_void) {
        let device = world.current()?;
        world.not_in_capture()?;
        // SAFETY: the caller has a cubin there, which is longer than the magic number.
        let Some((architecture, text)) = (unsafe { program::read(image.cast()) }) else {
            return world.mistake(CudaError::ERROR_INVALID_IMAGE, "this is no cubin of the double");
        };
        if architecture != world.settings.architecture() {
            return world.mistake(CudaError::ERROR_NO_BINARY_FOR_GPU, format!("the cubin is for {architecture}"));
        }
        let program = world.opencl.build(&text);
        let program = match program {
            Ok(program) => program,
            Err(log) => return world.mistake(CudaError::ERROR_INVALID_IMAGE, log),
        };
        let id = world.id();
        world.modules.insert(id, Module { device, program });
        give(module, id)
    }

    fn cuModuleUnload(world, module: Id) {
        world.current()?;
        world.not_in_capture()?;
        if !world.modules.contains_key(&module) {
            return world.mistake(CudaError::ERROR_INVALID_HANDLE, "no such module");
        }
        let is_of = |function: &Id| world.functions.get(function).is_some_and(|it| it.module == module);
        if world.is_queued(|work| matches!(work, Work::Launch(launch) if is_of(&launch.function))) {
            return world.mistake(CudaError::ERROR_INVALID_VALUE, "work in a stream uses this module");
        }
        let gone: Vec<Id> = world.functions.keys().filter(|function| is_of(function)).copied().collect();
        for function in gone {
            if let Some(function) = world.functions.remove(&function) {
                world.opencl.release(&function.kernel);
            }
        }
        if let Some(module) = world.modules.remove(&module) {
            world.opencl.release_program(&module.program);
        }
        Ok(())
    }

    fn cuModuleGetFunction(world, function: *mut Id, module: Id, name: *const c_char) {
        world.current()?;
        let Some(of) = world.modules.get(&module) else {
            return world.mistake(CudaError::ERROR_INVALID_HANDLE, "no such module");
        };
        // SAFETY: the caller has a text there that ends in a zero.
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
        let kernel = match world.opencl.kernel(&of.program, &name) {
            Ok(kernel) => kernel,
            Err(error) => return world.mistake(CudaError::ERROR_NOT_FOUND, format!("{name}: {error}")),
        };
        let id = world.id();
        world.functions.insert(id, Function { module, name, kernel });
        give(function, id)
    }

    fn cuFuncGetAttribute(world, value: *mut c_int, attribute: c_int, function: Id) {
        world.current()?;
        if !world.functions.contains_key(&function) {
            return world.mistake(CudaError::ERROR_INVALID_HANDLE, "no such kernel");
        }
        let number = match attribute {
            0 => world.settings.threads_max as c_int,
            4 => 32,
            _ => 0,
        };
        give(value, number)
    }

    fn cuLaunchKernel(
        world, function: Id, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
        block_z: c_uint, shared_bytes: c_uint, stream: Id, arguments: *const *const c_void, extra: *const c_void
    ) {
        let device = world.stream(stream)?;
        let [grid, block] = [[grid_x, grid_y, grid_z], [block_x, block_y, block_z]].map(|it| it.map(|it| it as usize));
        world.check_size(grid, block)?;
        if shared_bytes > 0 || !extra.is_null() {
            return world.mistake(CudaError::ERROR_INVALID_VALUE, "shared memory and extra arguments are not supported");
        }
        let Some(of) = world.functions.get(&function) else {
            return world.mistake(CudaError::ERROR_INVALID_HANDLE, "no such kernel");
        };
        if world.modules.get(&of.module).is_none_or(|module| module.device != device) {
            return world.mistake(CudaError::ERROR_INVALID_HANDLE, "the kernel is of another device");
        }
        // SAFETY: the caller has a place for each argument of the kernel, of its size.
        let values = unsafe { values(&of.kernel.argument_bytes, arguments) };
        let launch = Launch { function, arguments: values, grid, block };
        world.check_launch(device, &launch)?;
        world.put(stream, Work::Launch(launch))
    }
}

impl World {
    fn check_size(&self, grid: [usize; 3], block: [usize; 3]) -> Done {
        let threads: usize = block.iter().product();
        if grid.contains(&0) || block.contains(&0) || grid[1] > 65_535 || grid[2] > 65_535 || block[2] > 64 {
            return self
                .mistake(CudaError::ERROR_INVALID_VALUE, format!("a grid of {grid:?} blocks of {block:?}"));
        }
        if threads > self.settings.threads_max {
            return self.mistake(CudaError::ERROR_INVALID_VALUE, format!("a block of {threads} threads"));
        }
        Ok(())
    }
}

/// Copies of arguments.
///
/// # Safety
/// Each is at the address in the list, and has as many bytes.
unsafe fn values(sizes: &[Option<usize>], arguments: *const *const c_void) -> Vec<Argument> {
    let value = |(at, size): (usize, &Option<usize>)| {
        // SAFETY: the caller promises it.
        unsafe {
            let from = *arguments.add(at);
            let Some(size) = size else { return Argument::Address(from.cast::<usize>().read_unaligned()) };
            let mut bytes = [0; 8];
            std::ptr::copy_nonoverlapping(from.cast::<u8>(), bytes.as_mut_ptr(), *size);
            Argument::Number(bytes, *size)
        }
    };
    sizes.iter().enumerate().map(value).collect()
}
