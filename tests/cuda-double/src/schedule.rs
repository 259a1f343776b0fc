//! When work is done: as late as may be, in an order that is drawn.

use std::{slice, time::Instant};

use crate::{
    errors::CudaError,
    opencl::Argument,
    work::{From, Id, Launch, Work},
    world::{Done, GUARD, UNWRITTEN, World},
};

impl World {
    /// Runs work until a stream has passed its target.
    pub fn finish(&mut self, stream: Id) -> Done {
        while !self.streams[&stream].work.is_empty() {
            self.step()?;
        }
        let device = self.streams[&stream].device;
        self.devices[device].lost.map_or(Ok(()), Err)
    }

    /// Does a piece of work of a stream that has some.
    pub fn step(&mut self) -> Done {
        let with_work = self.streams.iter().filter(|(_, stream)| !stream.work.is_empty());
        let ready: Vec<Id> = with_work.map(|(id, _)| *id).collect();
        if ready.is_empty() {
            return Ok(());
        }
        let stream = ready[self.drawn(ready.len())];
        let device = self.streams[&stream].device;
        let work = self.streams.get_mut(&stream).and_then(|stream| stream.work.pop_front());
        let Some(work) = work else { return Ok(()) };
        if self.devices[device].lost.is_some() {
            // The rest is never done.
            self.streams.values_mut().filter(|it| it.device == device).for_each(|it| it.work.clear());
            return self.devices[device].lost.map_or(Ok(()), Err);
        }
        let done = self.perform(device, &work);
        if let Err(error) = done {
            self.devices[device].lost = Some(error);
        }
        done
    }

    fn perform(&mut self, device: usize, work: &Work) -> Done {
        let illegal = |_| CudaError::ERROR_ILLEGAL_ADDRESS;
        match work {
            Work::Launch(launch) => self.run(device, launch)?,
            Work::Product(product) => {
                self.count_launch()?;
                self.counts.products += 1;
                self.check_product(product).map_err(|_| CudaError::ERROR_ILLEGAL_ADDRESS)?;
                product.run();
            }
            Work::Convolution(convolution) => {
                self.count_launch()?;
                self.counts.convolutions += 1;
                self.check_convolution(convolution).map_err(|_| CudaError::ERROR_ILLEGAL_ADDRESS)?;
                convolution.run();
            }
            Work::CopyIn { to, from, bytes } => {
                self.within(device, *to, *bytes, "a copy to the device, when it is done").map_err(illegal)?;
                self.counts.copies += 1;
                let from = match from {
                    From::Taken(taken) => taken.as_ptr(),
                    From::Address(address) => *address as *const u8,
                };
                // SAFETY: the memory lives, as was seen; the caller of the double promises that of the host.
                unsafe { std::ptr::copy(from, *to as *mut u8, *bytes) };
            }
            Work::CopyOut { to, from, bytes } => {
                self.within(device, *from, *bytes, "a copy from the device, when it is done")
                    .map_err(illegal)?;
                self.counts.copies += 1;
                // SAFETY: as above.
                unsafe { std::ptr::copy(*from as *const u8, *to as *mut u8, *bytes) };
            }
            Work::Record { event, time } => {
                if let Some(event) = self.events.get_mut(event) {
                    (event.passed, event.at) = (*time, Some(Instant::now()));
                }
            }
            Work::Graph(id) => {
                let work = self.executables.get(id).map(|graph| graph.work.clone());
                let Some(work) = work else {
                    return self.mistake(
                        CudaError::ERROR_ILLEGAL_ADDRESS,
                        "an executable graph is gone before it ran",
                    );
                };
                for work in &work {
                    self.perform(device, work)?;
                }
                self.counts.graphs += 1;
            }
        }
        Ok(())
    }

    fn count_launch(&mut self) -> Done {
        self.counts.launches += 1;
        let is_lost = self.settings.lost_at == Some(self.counts.launches);
        if is_lost { Err(CudaError::ERROR_ILLEGAL_ADDRESS) } else { Ok(()) }
    }

    fn run(&mut self, device: usize, launch: &Launch) -> Done {
        self.count_launch()?;
        let illegal = |_| CudaError::ERROR_ILLEGAL_ADDRESS;
        self.check_launch(device, launch).map_err(illegal)?;
        let Some(function) = self.functions.get(&launch.function) else {
            return self.mistake(CudaError::ERROR_ILLEGAL_ADDRESS, "the kernel of a launch is gone");
        };
        let run = self.opencl.run(&function.kernel, &launch.arguments, launch.grid, launch.block);
        if let Err(error) = run {
            return self.mistake(CudaError::ERROR_LAUNCH_FAILED, format!("{}: {error}", function.name));
        }
        let name = function.name.clone();
        for (address, allocation) in self.memory.iter().filter(|(_, it)| it.device == device) {
            // SAFETY: there are as many bytes on either side of each allocation.
            let guards = unsafe {
                let behind = (*address + allocation.bytes) as *const u8;
                [slice::from_raw_parts(allocation.begin, GUARD), slice::from_raw_parts(behind, GUARD)]
            };
            if guards.concat().iter().any(|byte| *byte != UNWRITTEN) {
                let what = format!("kernel {name} has written beside {} bytes of memory", allocation.bytes);
                return self.mistake(CudaError::ERROR_ILLEGAL_ADDRESS, what);
            }
        }
        Ok(())
    }

    /// Checks that the kernel and the memory of a launch exist.
    pub fn check_launch(&self, device: usize, launch: &Launch) -> Done {
        let Some(function) = self.functions.get(&launch.function) else {
            return self.mistake(CudaError::ERROR_INVALID_HANDLE, "the kernel of a launch is gone");
        };
        for (number, argument) in launch.arguments.iter().enumerate() {
            if let Argument::Address(address) = argument
                && *address != 0
            {
                self.within(device, *address, 0, &format!("argument {number} of kernel {}", function.name))?;
            }
        }
        Ok(())
    }
}
