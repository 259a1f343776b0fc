//! Executes batches: one after another, or several at the same time.

use std::{sync::Arc, thread::JoinHandle};

use crossbeam_channel::{Receiver, Sender};
use parking_lot::Mutex;
use proctor_plugin_api::{Batch, Host, Instance, PluginError, SubmittedBatch};

use super::{lane::Lane, loaded::Loaded};
use crate::driver::{DeviceError, DeviceErrorKind, Driver};

/// One co-located copy of a model: a lane for each batch in flight.
pub struct DeviceInstance<D: Driver> {
    lanes: Vec<Arc<Mutex<Lane<D>>>>,
    /// Path of batches to the threads of the lanes, if there is more than one.
    flights: Option<Flights>,
}

impl<D: Driver> DeviceInstance<D> {
    pub(super) fn new(loaded: &Arc<Loaded<D>>, in_flight_max: usize) -> Result<Self, DeviceError> {
        let mut lanes = Vec::new();
        for _ in 0..in_flight_max.max(1) {
            let lane = Lane::new(Arc::clone(loaded))?;
            lane.warm_up()?;
            lanes.push(Arc::new(Mutex::new(lane)));
        }
        let flights = (lanes.len() > 1).then(|| Flights::begin(&lanes, loaded.host)).transpose()?;
        Ok(Self { lanes, flights })
    }
}

impl<D: Driver> Instance for DeviceInstance<D> {
    fn execute(&mut self, batch: &mut Batch<'_>) -> Result<(), PluginError> {
        execute(&self.lanes[0], batch)
    }

    fn in_flight_max(&self) -> u32 {
        match &self.flights {
            Some(flights) => u32::try_from(flights.threads.len()).unwrap_or(u32::MAX),
            None => 0,
        }
    }

    fn submit(&mut self, batch: SubmittedBatch) -> Result<(), PluginError> {
        let flights = self.flights.as_ref();
        let sender = flights.and_then(|flights| flights.sender.as_ref());
        let refused = || PluginError::failed("the threads of this instance have ended");
        sender.ok_or_else(refused)?.send(batch).map_err(|_| refused())
    }
}

/// A thread for each lane, which takes the next batch when it has done one.
struct Flights {
    /// Sender of batches to the threads, until the end.
    sender: Option<Sender<SubmittedBatch>>,
    threads: Vec<JoinHandle<()>>,
}

impl Flights {
    fn begin<D: Driver>(lanes: &[Arc<Mutex<Lane<D>>>], host: Host) -> Result<Self, DeviceError> {
        let (sender, receiver) = crossbeam_channel::bounded(lanes.len());
        let mut flights = Self { sender: Some(sender), threads: Vec::new() };
        for (number, lane) in lanes.iter().enumerate() {
            let (lane, batches) = (Arc::clone(lane), receiver.clone());
            let thread = std::thread::Builder::new().name(format!("lane {number}"));
            let thread = thread.spawn(move || execute_all(&lane, &batches, host));
            flights.threads.push(thread.map_err(|error| DeviceError {
                message: format!("no thread for batch {number} in flight: {error}"),
                code: error.raw_os_error().map_or(0, i64::from),
                kind: DeviceErrorKind::Failed,
            })?);
        }
        Ok(flights)
    }
}

impl Drop for Flights {
    fn drop(&mut self) {
        self.sender = None;
        for thread in self.threads.drain(..) {
            // A panic in a thread has been shown already.
            let _ = thread.join();
        }
    }
}

fn execute_all<D: Driver>(lane: &Mutex<Lane<D>>, batches: &Receiver<SubmittedBatch>, host: Host) {
    for batch in batches {
        batch.finish(&host, |batch| execute(lane, batch));
    }
}

fn execute<D: Driver>(lane: &Mutex<Lane<D>>, batch: &mut Batch<'_>) -> Result<(), PluginError> {
    lane.lock().execute(batch)
}
