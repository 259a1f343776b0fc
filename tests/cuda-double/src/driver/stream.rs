//! Streams and events.

use std::{collections::VecDeque, ffi::c_uint};

use super::{functions, give};
use crate::{
    errors::CudaError,
    work::{Id, Work},
    world::{Done, Event, Stream, World},
};

impl World {
    /// Returns the device of a stream, which has to be the device of the current context.
    pub(crate) fn stream(&self, stream: Id) -> Result<usize, CudaError> {
        let device = self.current()?;
        match self.streams.get(&stream) {
            Some(stream) if stream.device == device => Ok(device),
            Some(_) => self.mistake(CudaError::ERROR_INVALID_HANDLE, "the stream is of another device"),
            None => self.mistake(CudaError::ERROR_INVALID_HANDLE, "no such stream"),
        }
    }

    fn event(&self, event: Id) -> Result<&Event, CudaError> {
        match self.events.get(&event) {
            Some(event) => Ok(event),
            None => self.mistake(CudaError::ERROR_INVALID_HANDLE, "no such event"),
        }
    }

    /// Puts work in a stream, or in the graph that is captured there.
    pub(crate) fn put(&mut self, stream: Id, work: Work) -> Done {
        if let Some(stream) = self.streams.get_mut(&stream) {
            match &mut stream.capture {
                Some(capture) => capture.work.push(work),
                None => stream.work.push_back(work),
            }
        }
        Ok(())
    }

    /// Refuses operations without a meaning for a captured stream, and breaks the capture.
    pub(super) fn not_captured(&mut self, stream: Id) -> Done {
        if let Some(capture) = self.streams.get_mut(&stream).and_then(|stream| stream.capture.as_mut()) {
            capture.is_broken = true;
            return self.mistake(CudaError::ERROR_STREAM_CAPTURE_UNSUPPORTED, "the stream is captured");
        }
        Ok(())
    }
}

functions! {
    fn cuStreamCreate(world, stream: *mut Id, _flags: c_uint) {
        let device = world.current()?;
        let id = world.id();
        world.streams.insert(id, Stream { device, work: VecDeque::new(), capture: None });
        give(stream, id)
    }

    fn cuStreamDestroy_v2(world, stream: Id) {
        world.stream(stream)?;
        world.not_captured(stream)?;
        // CUDA does what is left.
        world.finish(stream)?;
        world.streams.remove(&stream);
        Ok(())
    }

    fn cuStreamSynchronize(world, stream: Id) {
        world.stream(stream)?;
        world.not_captured(stream)?;
        world.not_in_capture()?;
        world.finish(stream)
    }

    fn cuEventCreate(world, event: *mut Id, _flags: c_uint) {
        let device = world.current()?;
        let id = world.id();
        world.events.insert(id, Event { device, recorded: 0, passed: 0, at: None });
        give(event, id)
    }

    fn cuEventDestroy_v2(world, event: Id) {
        world.current()?;
        world.event(event)?;
        let is_it = |work: &Work| matches!(work, Work::Record { event: it, .. } if *it == event);
        if world.is_queued(is_it) {
            return world.mistake(CudaError::ERROR_INVALID_VALUE, "work in a stream uses this event");
        }
        world.events.remove(&event);
        Ok(())
    }

    fn cuEventRecord(world, event: Id, stream: Id) {
        let device = world.stream(stream)?;
        world.not_captured(stream)?;
        if world.event(event)?.device != device {
            return world.mistake(CudaError::ERROR_INVALID_HANDLE, "the event is of another device");
        }
        let mut time = 0;
        if let Some(event) = world.events.get_mut(&event) {
            event.recorded += 1;
            time = event.recorded;
        }
        world.put(stream, Work::Record { event, time })
    }

    fn cuEventSynchronize(world, event: Id) {
        let device = world.current()?;
        world.not_in_capture()?;
        let wanted = world.event(event)?.recorded;
        while world.events[&event].passed < wanted {
            if world.streams.values().all(|stream| stream.work.is_empty()) {
                return world.mistake(CudaError::ERROR_LAUNCH_FAILED, "no stream will pass the event");
            }
            world.step()?;
            world.devices[device].lost.map_or(Ok(()), Err)?;
        }
        Ok(())
    }

    fn cuEventElapsedTime(world, ms: *mut f32, from: Id, to: Id) {
        world.current()?;
        let mut at = [None; 2];
        for (number, event) in [from, to].into_iter().enumerate() {
            let event = world.event(event)?;
            if event.recorded == 0 {
                return world.mistake(CudaError::ERROR_INVALID_HANDLE, "the event was not recorded");
            }
            if event.passed < event.recorded {
                return world.mistake(CudaError::ERROR_NOT_READY, "the device has not passed the event");
            }
            at[number] = event.at;
        }
        let [Some(from), Some(to)] = at else { return Err(CudaError::ERROR_NOT_READY) };
        let seconds = to.saturating_duration_since(from).as_secs_f32() - from.saturating_duration_since(to).as_secs_f32();
        give(ms, seconds * 1e3)
    }
}
