//! Primary contexts.

use std::ffi::c_int;

use super::{functions, give};
use crate::{
    errors::CudaError,
    work::Id,
    world::{CURRENT, World},
};

impl World {
    pub(super) fn device(&self, number: c_int) -> Result<usize, CudaError> {
        let device = usize::try_from(number).ok().filter(|device| *device < self.devices.len());
        device
            .map_or_else(|| self.mistake(CudaError::ERROR_INVALID_DEVICE, format!("no device {number}")), Ok)
    }
}

functions! {
    fn cuDevicePrimaryCtxRetain(world, context: *mut Id, device: c_int) {
        let number = world.device(device)?;
        if world.devices[number].retained == 0 {
            world.devices[number].context = world.id();
        }
        world.devices[number].retained += 1;
        give(context, world.devices[number].context)
    }

    fn cuDevicePrimaryCtxRelease_v2(world, device: c_int) {
        let number = world.device(device)?;
        if world.devices[number].retained == 0 {
            return world.mistake(CudaError::ERROR_INVALID_CONTEXT, "the context is not retained");
        }
        world.devices[number].retained -= 1;
        if world.devices[number].retained > 0 {
            return Ok(());
        }
        world.devices[number].context = 0;
        let leaks = world.leaks(number);
        // Of a device that is lost nothing can be given back.
        if world.devices[number].lost.take().is_none() && !leaks.is_empty() {
            return world.mistake(CudaError::SUCCESS, format!("not given back: {}", leaks.join(", ")));
        }
        let counts = &world.counts;
        let line = format!(
            "released: device {number}, {} launches, {} of them products, {} of them convolutions, {} graphs, {} copies\n",
            counts.launches, counts.products, counts.convolutions, counts.graphs, counts.copies
        );
        world.report(&line);
        Ok(())
    }

    fn cuCtxSetCurrent(world, context: Id) {
        let is_there = context == 0 || world.devices.iter().any(|device| device.context == context);
        if !is_there {
            return world.mistake(CudaError::ERROR_INVALID_CONTEXT, "no such context");
        }
        CURRENT.set(context);
        Ok(())
    }

    fn cuCtxGetCurrent(world, context: *mut Id) {
        let _ = world;
        give(context, CURRENT.get())
    }

    fn cuCtxSynchronize(world) {
        let device = world.current()?;
        world.not_in_capture()?;
        let is_captured = |stream: &&mut crate::world::Stream| stream.device == device && stream.capture.is_some();
        if let Some(capture) = world.streams.values_mut().find(is_captured).and_then(|stream| stream.capture.as_mut()) {
            capture.is_broken = true;
            return world.mistake(CudaError::ERROR_STREAM_CAPTURE_UNSUPPORTED, "a stream of the context is captured");
        }
        let of_device = |world: &World| {
            let busy = world.streams.iter().find(|(_, it)| it.device == device && !it.work.is_empty());
            busy.map(|(id, _)| *id)
        };
        while let Some(stream) = of_device(world) {
            world.finish(stream)?;
        }
        Ok(())
    }
}
