//! Times of single calls and copies, by the device's clock.
//!
//! # Choices
//! A call is put in the queue several times at once between two events, so that the launch itself is a small
//! part of its time. Calls go in the order of their program, so each finds the results of the ones before it;
//! one that works in place does so several times, which makes its numbers meaningless but not its times.

use crate::{
    driver::{DeviceError, Driver},
    program::{Program, call::Call},
    session::{Memories, Resources, put},
};

/// Returns the median time in ns of each call of a program, in order, with inputs of zeros.
///
/// A call is launched `copies` times in a row, `rounds` times after one that warms up; both at least once.
///
/// # Errors
/// Returns the errors of the device.
pub fn call_times<D: Driver>(
    driver: &D,
    resources: &Resources<D>,
    program: &Program,
    copies: usize,
    rounds: usize,
) -> Result<Vec<u64>, DeviceError> {
    let copies = copies.max(1);
    let memories = Memories::new(driver, resources, program)?;
    for id in program.inputs() {
        put(driver, memories.place(*id), &vec![0; program.buffers()[id.0].bytes])?;
    }
    let sequence_of = |call: &Call| {
        let launches = (0..copies).map(|_| memories.bind(driver, resources, call));
        driver.sequence(launches.collect::<Result<_, _>>()?)
    };
    let sequences: Vec<D::Sequence> = program.calls().iter().map(sequence_of).collect::<Result<_, _>>()?;
    let mut times_ns = vec![Vec::with_capacity(rounds.max(1)); sequences.len()];
    for round in 0..=rounds.max(1) {
        for (sequence, times_ns) in sequences.iter().zip(&mut times_ns) {
            let elapsed_ns = timed(driver, || driver.launch(sequence))?;
            if round > 0 {
                times_ns.push(elapsed_ns / copies as u64);
            }
        }
    }
    Ok(times_ns.into_iter().map(median).collect())
}

/// Returns the median times in ns of a copy of `bytes`, at least 1: to the device, and from it.
///
/// # Errors
/// Returns the errors of the device.
pub fn copy_times<D: Driver>(driver: &D, bytes: usize, rounds: usize) -> Result<[u64; 2], DeviceError> {
    let memory = driver.allocate(bytes)?;
    let mut host = driver.allocate_host(bytes)?;
    let [mut to_ns, mut from_ns] = [Vec::new(), Vec::new()];
    for round in 0..=rounds.max(1) {
        // SAFETY: nobody touches the bytes until `timed` has waited for an event after the copy.
        let to = timed(driver, || unsafe { driver.write(&memory, 0, &host) })?;
        // SAFETY: as above.
        let from = timed(driver, || unsafe { driver.read(&memory, 0, &mut host) })?;
        if round > 0 {
            to_ns.push(to);
            from_ns.push(from);
        }
    }
    Ok([median(to_ns), median(from_ns)])
}

/// Measures the time from an event before work to one after it, in ns. The queue is empty afterwards, also after a
/// failure.
fn timed<D: Driver>(
    driver: &D,
    mut work: impl FnMut() -> Result<(), DeviceError>,
) -> Result<u64, DeviceError> {
    let [mut from, mut to] = [driver.event()?, driver.event()?];
    let put = driver.record(&mut from).and_then(|()| work()).and_then(|()| driver.record(&mut to));
    driver.finish()?;
    put?;
    driver.wait(&from)?;
    driver.wait(&to)?;
    driver.elapsed_ns(&from, &to)
}

fn median(mut times_ns: Vec<u64>) -> u64 {
    times_ns.sort_unstable();
    let at = |place: usize| times_ns.get(place).copied().unwrap_or(0);
    u64::midpoint(at(times_ns.len().saturating_sub(1) / 2), at(times_ns.len() / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_has_half_of_the_times_on_either_side() {
        assert_eq!([vec![], vec![7], vec![9, 1], vec![9, 1, 2]].map(median), [0, 7, 5, 2]);
    }
}
