//! Captures and graphs.

use std::{ffi::c_int, thread};

use super::{functions, give};
use crate::{
    errors::CudaError,
    work::{Id, Work},
    world::{Capture, Graph},
};

functions! {
    fn cuStreamBeginCapture_v2(world, stream: Id, mode: c_int) {
        world.stream(stream)?;
        let of = world.streams.get_mut(&stream);
        let of = of.filter(|of| of.capture.is_none());
        let Some(of) = of else {
            return world.mistake(CudaError::ERROR_ILLEGAL_STATE, "the stream is captured already");
        };
        of.capture = Some(Capture { thread: thread::current().id(), mode, work: Vec::new(), is_broken: false });
        Ok(())
    }

    fn cuStreamEndCapture(world, stream: Id, graph: *mut Id) {
        let device = world.stream(stream)?;
        let capture = world.streams.get_mut(&stream).and_then(|stream| stream.capture.take());
        let Some(capture) = capture else {
            return world.mistake(CudaError::ERROR_ILLEGAL_STATE, "the stream is not captured");
        };
        give(graph, 0)?;
        if capture.mode != 2 && capture.thread != thread::current().id() {
            return world.mistake(CudaError::ERROR_STREAM_CAPTURE_WRONG_THREAD, "another thread has begun the capture");
        }
        if capture.is_broken {
            return Err(CudaError::ERROR_STREAM_CAPTURE_INVALIDATED);
        }
        let id = world.id();
        world.graphs.insert(id, Graph { device, work: capture.work });
        give(graph, id)
    }

    fn cuGraphInstantiateWithFlags(world, executable: *mut Id, graph: Id, _flags: u64) {
        world.current()?;
        let Some(of) = world.graphs.get(&graph) else {
            return world.mistake(CudaError::ERROR_INVALID_HANDLE, "no such graph");
        };
        let made = Graph { device: of.device, work: of.work.clone() };
        let id = world.id();
        world.executables.insert(id, made);
        give(executable, id)
    }

    fn cuGraphLaunch(world, executable: Id, stream: Id) {
        let device = world.stream(stream)?;
        world.not_captured(stream)?;
        let Some(of) = world.executables.get(&executable) else {
            return world.mistake(CudaError::ERROR_INVALID_HANDLE, "no such executable graph");
        };
        if of.device != device {
            return world.mistake(CudaError::ERROR_INVALID_VALUE, "the graph is of another device");
        }
        for work in &of.work {
            match work {
                Work::Launch(launch) => world.check_launch(device, launch)?,
                Work::Product(product) => world.check_product(product).map_err(|_| CudaError::ERROR_INVALID_VALUE)?,
                Work::Convolution(convolution) => {
                    world.check_convolution(convolution).map_err(|_| CudaError::ERROR_INVALID_VALUE)?;
                }
                Work::CopyIn { to, bytes, .. } => world.within(device, *to, *bytes, "a copy in a graph")?,
                Work::CopyOut { from, bytes, .. } => world.within(device, *from, *bytes, "a copy in a graph")?,
                _ => {}
            }
        }
        world.put(stream, Work::Graph(executable))
    }

    fn cuGraphDestroy(world, graph: Id) {
        if world.graphs.remove(&graph).is_none() {
            return world.mistake(CudaError::ERROR_INVALID_HANDLE, "no such graph");
        }
        Ok(())
    }

    fn cuGraphExecDestroy(world, executable: Id) {
        let is_it = |work: &Work| matches!(work, Work::Graph(id) if *id == executable);
        if world.streams.values().any(|stream| stream.work.iter().any(is_it)) {
            return world.mistake(CudaError::ERROR_INVALID_VALUE, "work in a stream uses this executable graph");
        }
        if world.executables.remove(&executable).is_none() {
            return world.mistake(CudaError::ERROR_INVALID_HANDLE, "no such executable graph");
        }
        Ok(())
    }
}
